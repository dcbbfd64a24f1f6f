"""What the kaggle client asks for beside a submission; the client itself is in the slow tests."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from arena.requests import Answer
from arena.server.records.published import Publisher
from kept import check_kept
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
    for answer, name in (
        (guest.get(f"{API}/data/download/{NAME}/sample_submission.csv"), "sample_submission.csv"),
        (guest.get(f"{API}/data/download-all/{NAME}"), f"{NAME}.zip"),
        (
            guest.post(f"{SERVICE}/DownloadDataFiles", json={"competitionName": NAME}),
            f"{NAME}.zip",
        ),
    ):
        # The client takes the name of the file from the redirect, and GETs it also after a POST.
        assert answer.status_code == 303
        assert answer.headers["location"].rpartition("/")[2] == name
        file = guest.get(answer.headers["location"].removeprefix(URL))
        parsedate_to_datetime(file.headers["last-modified"])
        if name.endswith(".zip"):
            archive = zipfile.ZipFile(io.BytesIO(file.content))
            assert archive.read("sample_submission.csv") == SAMPLE
        else:
            assert file.content == SAMPLE
    other = guest.get(f"{API}/data/download/{NAME}/train.csv").json()["message"]
    assert other == "There is no file 'train.csv' here. There is: sample_submission.csv."
    long = guest.get(f"{API}/data/download/{NAME}/{'x' * 101}").json()["message"]
    assert long == f"There is no file '{'x' * 100}' here. There is: sample_submission.csv."
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
    (accepted,) = client.get(f"{API}/submissions/list/{NAME}").json()
    assert (accepted["errorDescription"], accepted["publicScore"]) == (None, "0.5")


def test_the_reason_of_a_fault_is_told(web: WebSite) -> None:
    client = web.program(web.token(web.person("Ada", "Ants")))
    assert sent(web, client, description="mine ☂ ünï").status_code == 200
    web.scorer.judge(web.site, faults=({"kind": "missing id", "message": "An id is missing."},))
    (first,) = client.get(f"{API}/submissions/list/{NAME}").json()
    assert (first["status"], first["description"]) == ("error: An id is missing.", "mine ☂ ünï")
    assert first["errorDescription"] == "An id is missing."
    asked = client.post(f"{SERVICE}/ListSubmissions", json={"competitionName": NAME})
    (second,) = asked.json()["submissions"]
    assert second["status"] == "ERROR"  # versions 2 know some words only
    assert second["description"] == "[An id is missing.] mine ☂ ünï"


def test_a_spent_limit_is_told_before_the_upload(tmp_path: Path) -> None:
    for limits, message, by_total in (
        ({"per_day": 1}, "of today. A new day starts at 2026-05-07 00:00 UTC.", False),
        ({"per_day": None, "total": 1}, "Your team has used all of its submissions.", True),
        ({"per_day": 3, "total": 1}, "Your team has used all of its submissions.", True),
    ):
        web = WebSite(tmp_path / str(limits), **limits)
        now = datetime.now(UTC).replace(hour=12)
        web.site.clock = lambda now=now: now
        client = web.program(web.token(web.person("Ada", "Ants")))
        has_days = limits["per_day"] is not None

        def left(client: Any = client) -> Any:
            body = {"competitionName": NAME}
            return client.post(f"{SERVICE}/GetSubmissionLimits", json=body).json()

        def shown(now: int, today: int, total: int, by_total: bool = by_total) -> Any:
            return {
                "numAllowedNow": now, "numToday": today, "numTotal": total,
                "limitedByTotal": by_total,
            }  # fmt: skip

        most = limits["per_day"] or 0
        assert left() == shown(1, most - 1 if has_days else 0, 0)
        assert sent(web, client).status_code == 200
        # A file that waits may have faults, which cost nothing: the next one can be sent.
        assert sent(web, client).status_code == 200
        assert left() == shown(0, most, 2)
        web.scorer.judge(web.site)
        refused = sent(web, client)
        assert refused.status_code == 409
        day = (now + timedelta(days=1)).strftime("%Y-%m-%d")
        assert refused.json()["message"].endswith(message.replace("2026-05-07", day))
        assert left() == shown(0, most, 2)
        web.close()
    web = WebSite(tmp_path / "none", per_day=None)
    client = web.program(web.token(web.person("Ada", "Ants")))
    answer = client.post(f"{SERVICE}/GetSubmissionLimits", json={"competitionName": NAME})
    assert answer.json() == {
        "numAllowedNow": 1_000, "numToday": 0, "numTotal": 0, "limitedByTotal": False,
    }  # fmt: skip
    web.close()


def test_a_place_is_for_one_file_of_its_size(web: WebSite) -> None:
    client = web.program(web.token(web.person("Ada", "Ants")))
    places = f"{API}/{NAME}/submissions/url"
    most = web.facts.largest_upload
    large = client.post(f"{places}/{most + 1}/0", data={"fileName": "a.csv"})
    assert (large.status_code, large.json()["message"]) == (
        413, f"The file is too large: the limit is {most:,} bytes.",
    )  # fmt: skip
    place = client.post(f"{places}/{most}/0", data={"fileName": "a.csv"}).json()
    start = {"competitionName": NAME, "fileName": "a.csv", "contentLength": "x"}
    assert client.post(f"{SERVICE}/StartSubmissionUpload", json=start).status_code == 200
    for answer, status, message in (
        (client.post(f"{places}/x/0"), 404, "This server does not have this service"),
        (
            client.put("/api/v1/uploads/none", content=b"x"),
            404,
            "This upload's address has expired. Submit the file again.",
        ),
        (
            client.post(f"{API}/submissions/submit/{NAME}", data={"blobFileTokens": "none"}),
            404,
            "There is no such upload. Submit the file again.",
        ),
        (
            client.post(
                f"{API}/submissions/submit/{NAME}", data={"blobFileTokens": place["token"]}
            ),
            409,
            "The file did not arrive. Submit it again.",
        ),
        (client.post(f"{SERVICE}/ListSubmissions", content=b"{"), 400, "The body is not JSON."),
        (client.get(f"{API}/data/file/{NAME}/x.csv"), 404, "There is no such file."),
    ):
        assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text
        assert answer.json()["message"].startswith(message), answer.text


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
    assert (unknown["code"], unknown["message"]) == (
        404, "There is no competition 'nowhere' on this server.",
    )  # fmt: skip


def test_responses_to_the_client_are_kept(tmp_path: Path) -> None:
    deadline = "2026-06-01T12:00:00.250000+00:00"
    also = {"moons": {"title": "", "board": "members", "per_day": None, "deadline": None}}
    web = WebSite(tmp_path, also=also, deadline=deadline, team_size=3)
    now = datetime(2026, 5, 6, 12, 30, 15, 999_999, tzinfo=UTC)
    web.site.clock, web.site.started = lambda: now, now
    ada = web.person("Ada", "Ants")
    client, guest = web.program(web.token(ada)), web.program()

    def answer(seq: int, kind: str = "submit", status: str = "accepted", **about: Any) -> Answer:
        received = (now - timedelta(hours=9 - seq)).isoformat()
        return Answer(
            f"r{seq}", seq, team="Ants", kind=kind, status=status, received=received, member=ada,
            **about,
        )  # fmt: skip

    faults = ({"kind": "missing id", "message": "An id is missing."}, {"kind": "other"})
    web.scorer.publisher.publish(
        answers=[
            answer(1, submission=1, released=0.12345678949, file="a.csv"),
            answer(2, submission=2, released=None, file="b.csv"),
            answer(3, "select", "done"),
            answer(4, status="rejected", faults=faults, file="c.csv"),
            answer(5, status="refused", message="The limit is reached.", file="d.csv"),
            answer(6, status="set_aside", file="e.csv"),
            answer(7, status="withdrawn", submission=3, file="f.csv"),
        ]
    )
    payload = {"upload": "u", "file": "g.csv", "bytes": 7, "sha256": "0", "description": "last"}
    web.site.intake.append(
        competition=NAME, team="Ants", member=ada, kind="submit", payload=payload, received=now
    )
    rows = [
        {"rank": 1, "team": "Ants", "score": 0.12345678949, "submission": 1},
        {"rank": 2, "team": "Base", "score": None, "submission": 9},
    ]
    web.scorer.publish(board=rows, sample=SAMPLE)
    with closing(Publisher(web.site.settings.layout.public("moons"))) as publisher:
        publisher.publish(documents={"board": rows})  # only members see how many teams it has

    of_race, parts = {"competitionName": NAME}, list[str]()
    for sender, method, path, body in (
        (client, "GET", f"{API}/list", {}),
        (guest, "GET", f"{API}/list?search=MOONS&page=1", {}),
        (guest, "GET", f"{API}/list?page=2", {}),
        (guest, "POST", f"{SERVICE}/ListCompetitions", {"search": "CUSTOMER"}),
        (client, "GET", f"{API}/submissions/list/{NAME}", {}),
        (client, "GET", f"{API}/submissions/list/{NAME}?page=2", {}),
        (client, "POST", f"{SERVICE}/ListSubmissions", of_race),
        (guest, "GET", f"{API}/{NAME}/leaderboard/view", {}),
        (guest, "POST", f"{SERVICE}/GetLeaderboard", of_race),
        (guest, "GET", f"{API}/data/list/{NAME}", {}),
        (guest, "GET", f"{API}/moons/leaderboard/view", {}),
    ):
        sent_body = {"json": body} if method == "POST" else {}
        document = sender.request(method, path, **sent_body).json()
        text = json.dumps(document).replace("}, {", "},\n{")  # one record on a line
        parts.append(f"== {method} {path} {json.dumps(body)}\n{text}\n")
    web.close()
    check_kept("kaggle.txt", "\n".join(parts).replace(ada, "ADA"))
