"""What the kaggle client asks for beside a submission; the client itself is in the slow tests."""

from __future__ import annotations

import io
import zipfile
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from web_site import NAME, URL, WebSite

API = "/api/v1/competitions"
SERVICE = f"{API}.CompetitionApiService"
SAMPLE = b"id,y\na,0\n"


def sent(web: WebSite, client: Any, file: bytes = b"id,y\na,1\n", description: str = "") -> Any:
    """Submit as the client does; return the answer to the last step."""
    place = client.post(f"{API}/{NAME}/submissions/url/{len(file)}/0", data={"fileName": "a.csv"})
    if place.status_code != 200:
        return place
    web.program().put(place.json()["createUrl"].removeprefix(URL), content=file)
    fields = {"blobFileTokens": place.json()["token"], "submissionDescription": description}
    return client.post(f"{API}/submissions/submit/{NAME}", data=fields)


def test_the_sample_is_listed_and_downloaded(web: WebSite) -> None:
    guest = web.program()
    nothing = guest.get(f"{API}/data/download-all/{NAME}")
    assert (nothing.status_code, nothing.json()["code"]) == (404, 404)
    assert "ask the organiser" in nothing.json()["message"]
    assert guest.get(f"{API}/data/list/{NAME}").json()["files"] == []
    web.scorer.publish(sample=SAMPLE)
    for listed in (
        guest.get(f"{API}/data/list/{NAME}").json(),
        guest.post(f"{SERVICE}/ListDataFiles", json={"competitionName": NAME}).json(),
    ):
        assert [(file["name"], file["totalBytes"]) for file in listed["files"]] == [
            ("sample_submission.csv", len(SAMPLE))
        ]
    for asked, name in (
        (guest.get(f"{API}/data/download/{NAME}/sample_submission.csv"), "sample_submission.csv"),
        (guest.get(f"{API}/data/download-all/{NAME}"), f"{NAME}.zip"),
        (
            guest.post(f"{SERVICE}/DownloadDataFiles", json={"competitionName": NAME}),
            f"{NAME}.zip",
        ),
    ):
        # The client takes the name of the file from the redirect, and GETs it also after a POST.
        assert asked.status_code == 303
        assert asked.headers["location"].rpartition("/")[2] == name
        file = guest.get(asked.headers["location"].removeprefix(URL))
        parsedate_to_datetime(file.headers["last-modified"])
        if name.endswith(".zip"):
            archive = zipfile.ZipFile(io.BytesIO(file.content))
            assert archive.read("sample_submission.csv") == SAMPLE
        else:
            assert file.content == SAMPLE
    other = guest.get(f"{API}/data/download/{NAME}/train.csv").json()["message"]
    assert other == "There is no file 'train.csv' here. There is: sample_submission.csv."
    assert guest.get(f"{API}/data/file/{NAME}/../x").status_code == 404


def test_the_board_is_downloaded(web: WebSite) -> None:
    client = web.program(web.token(web.person("Ada", "Ants")))
    assert sent(web, client).status_code == 200
    web.scorer.judge(web.site, 0.5)
    for answer in (
        client.get(f"{API}/{NAME}/leaderboard/download"),
        client.post(f"{SERVICE}/DownloadLeaderboard", json={"competitionName": NAME}),
    ):
        archive = zipfile.ZipFile(io.BytesIO(answer.content))
        text = archive.read(f"{NAME}-publicleaderboard.csv").decode()
        assert text.splitlines()[1].startswith("1,Ants,2")


def test_the_reason_of_a_fault_is_told(web: WebSite) -> None:
    client = web.program(web.token(web.person("Ada", "Ants")))
    assert sent(web, client, description="mine ☂ ünï").status_code == 200
    web.scorer.judge(web.site, faults=({"kind": "missing id", "message": "An id is missing."},))
    (first,) = client.get(f"{API}/submissions/list/{NAME}").json()
    assert (first["status"], first["description"]) == ("error: An id is missing.", "mine ☂ ünï")
    asked = client.post(f"{SERVICE}/ListSubmissions", json={"competitionName": NAME})
    (second,) = asked.json()["submissions"]
    assert second["status"] == "ERROR"  # versions 2 know some words only
    assert second["description"] == "[An id is missing.] mine ☂ ünï"


@pytest.mark.slow
def test_a_spent_limit_is_told_before_the_upload(tmp_path: Path) -> None:
    for limits, told in (
        ({"per_day": 1}, "all of its submissions of today. A new day starts at"),
        ({"per_day": None, "total": 1}, "has used all of its submissions."),
    ):
        web = WebSite(tmp_path / str(len(limits)), **limits)
        client = web.program(web.token(web.person("Ada", "Ants")))

        def left(client: Any = client) -> Any:
            asked = {"competitionName": NAME}
            return client.post(f"{SERVICE}/GetSubmissionLimits", json=asked).json()

        assert (left()["numAllowedNow"], left()["numTotal"]) == (1, 0)
        assert sent(web, client).status_code == 200
        # A file that waits may have faults, which cost nothing: the next one can be sent.
        assert sent(web, client).status_code == 200
        web.scorer.judge(web.site)
        refused = sent(web, client)
        assert refused.status_code == 409
        assert told in refused.json()["message"]
        assert (left()["numAllowedNow"], left()["numTotal"]) == (0, 2)
        web.close()


def test_what_there_is_not_is_a_sentence(web: WebSite) -> None:
    guest = web.program()
    for answer in (
        guest.get(f"{API}/{NAME}/pages"),
        guest.post(f"{API}/create/new", json={}),
        guest.post(f"{SERVICE}/ListTopics", json={}),
    ):
        assert answer.status_code == 404
        assert "It has: list, files, download, submit" in answer.json()["message"]
    unknown = guest.get(f"{API}/data/list/nowhere").json()
    assert unknown["message"] == "There is no competition 'nowhere' on this server."
