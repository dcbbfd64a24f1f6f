"""The organiser's manager of submissions, and the files that are kept for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from arena.server.records.published import ORDERS
from web_site import NAME, WebSite

API = f"/api/v1/{NAME}"
FAULT = {"kind": "missing ids", "message": "Row 3 has no id.", "row": 3}


@pytest.fixture
def filled(web: WebSite) -> WebSite:
    """Two teams: an accepted file each, the same, and a rejected one of the second."""
    for number, team in enumerate(("Ants", "Bees")):
        client = web.program(web.token(web.person(f"Member of {team}", team)))
        named = {"file": f"first-{team}.csv", "description": f"baseline {team}"}
        assert client.post(f"{API}/submissions", params=named, content=b"x\n").status_code == 202
        web.scorer.judge(web.site, 0.6 + number / 10)
    client.post(f"{API}/submissions", params={"file": "bad.csv"}, content=b"y\n")
    web.scorer.judge(web.site, faults=(FAULT,))
    return web


QUERIES: dict[str, list[str]] = {
    "": ["bad.csv", "first-Bees.csv", "first-Ants.csv"],
    "team=Ants": ["first-Ants.csv"],
    "status=rejected": ["bad.csv"],
    "day=2020-01-01": [],
    "phase=final": [],
    "search=MISSING": ["bad.csv"],
    "search=baseline ants": ["first-Ants.csv"],
    "search=first&order=oldest": ["first-Ants.csv", "first-Bees.csv"],
    "order=highest": ["first-Bees.csv", "first-Ants.csv", "bad.csv"],
    "order=lowest": ["first-Ants.csv", "first-Bees.csv", "bad.csv"],
    "order=team": ["first-Ants.csv", "bad.csv", "first-Bees.csv"],
    "search=%25_": [],
    "search='": [],
    "page=2": [],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("query", QUERIES)
def test_the_list_is_filtered_searched_and_sorted(filled: WebSite, query: str) -> None:
    assert {
        query_text.partition("order=")[2] for query_text in QUERIES if "order" in query_text
    } <= set(ORDERS)
    organiser = filled.person("Org", organiser=True)
    page = filled.browser(organiser).get(f"/{NAME}/admin/submissions?{query}").text
    files = re.findall(r"<tr>\s*<th scope=\"row\"[^>]*><a [^>]*><bdi>([^<]*)", page)
    assert files == QUERIES[query]
    answer = filled.program(filled.token(organiser, "admin")).get(
        f"{API}/admin/submissions?{query}"
    )
    assert [row["file"] for row in answer.json()["rows"]] == QUERIES[query]
    assert answer.json()["total"] == (3 if query == "page=2" else len(QUERIES[query]))


@pytest.mark.parametrize("query", ["status=odd", "order=odd", "day=odd"])
def test_a_wrong_question_is_refused(filled: WebSite, query: str) -> None:
    organiser = filled.person("Org", organiser=True)
    page = filled.browser(organiser).get(f"/{NAME}/admin/submissions?{query}")
    assert (page.status_code, 'role="alert"' in page.text) == (422, True)


def _request_of(web: WebSite, file: str) -> str:
    answers = web.site.competitions[NAME].published.answers(None)
    return next(answer.request for answer in answers if answer.file == file)


def test_one_submission_is_seen_downloaded_and_decided_on(filled: WebSite) -> None:
    host = filled.browser(filled.person("Org", organiser=True))
    request = _request_of(filled, "first-Ants.csv")
    page = host.get(f"/{NAME}/admin/submissions/{request}").text
    for text in ("Member of Ants", "baseline Ants", "first-Bees.csv", "0.6"):  # the same file
        assert text in page
    assert host.get(f"/{NAME}/submissions/{request}/file").content == b"x\n"
    path = f"/{NAME}/admin/submissions/{request}/disqualify"
    assert "Give the reason" in host.post(path, data={"reason": " "}).text
    assert host.post(path, data={"reason": "copied"}).status_code == 303
    waiting = filled.site.intake.after(NAME, filled.scorer.cursor)
    assert [(request.kind, dict(request.payload)) for request in waiting] == [
        ("disqualify", {"submission": 1, "reason": "copied"})
    ]
    rejected = _request_of(filled, "bad.csv")
    refused = host.post(f"/{NAME}/admin/submissions/{rejected}/undo", data={"reason": "x"})
    assert refused.status_code == 409


def test_a_file_is_for_its_team_and_the_organiser(filled: WebSite) -> None:
    request = _request_of(filled, "first-Ants.csv")
    teams = {team.name: members for team, members in filled.site.accounts.teams(NAME)}
    ada, bo = (filled.browser(teams[name][0].account) for name in ("Ants", "Bees"))
    for path in (f"/{NAME}/submissions/{request}/file", f"{API}/requests/{request}/file"):
        answer = ada.get(path)
        assert answer.content == b"x\n"
        assert answer.headers["content-disposition"] == 'attachment; filename="first-Ants.csv"'
        assert bo.get(path).status_code == 404
        assert filled.browser().get(path).status_code == 401
    assert "Download the file" in ada.get(f"/{NAME}/submissions/{request}").text
    for upload in filled.site.uploads.folder.iterdir():
        upload.unlink()
    assert ada.get(f"{API}/requests/{request}/file").status_code == 404
    assert "Download the file" not in ada.get(f"/{NAME}/submissions/{request}").text


def test_a_rejected_file_is_judged_again(filled: WebSite) -> None:
    admin = filled.program(filled.token(filled.person("Org", organiser=True), "admin"))
    rejected, accepted = (_request_of(filled, file) for file in ("bad.csv", "first-Ants.csv"))
    assert admin.post(f"{API}/admin/submissions/{accepted}/rerun").status_code == 409
    answer = admin.post(f"{API}/admin/submissions/{rejected}/rerun")
    assert (answer.status_code, answer.json()["status"]) == (202, "waiting")
    filled.scorer.judge(filled.site, 0.9)
    again = filled.site.competitions[NAME].published.answer(answer.json()["request"])
    assert again is not None
    assert (again.team, again.status, again.file) == ("Bees", "accepted", "bad.csv")


@pytest.mark.slow
def test_kept_files_never_stand_in_the_way_of_new_ones(tmp_path: Path) -> None:
    """The oldest judged files of an account are removed when it has no other room."""
    web = WebSite(tmp_path, max_stored_bytes=30, max_waiting_per_team=100)
    client = web.program(web.token(web.person("Ada", "Ants")))

    def sent(number: int) -> Any:
        return client.post(f"{API}/submissions", content=b"%09d\n" % number)

    for number in range(5):
        assert sent(number).status_code == 202
        web.scorer.judge(web.site)
    contents = sorted(path.read_bytes() for path in web.site.uploads.folder.iterdir())
    assert contents == [b"%09d\n" % number for number in (2, 3, 4)]
    assert [sent(number).status_code for number in range(5, 9)] == [202, 202, 202, 507]
    web.close()


def test_the_result_is_seen_before_it_is_published(web: WebSite) -> None:
    organiser = web.person("Org", organiser=True)
    host, member = web.browser(organiser), web.browser(web.person("Ada", "Ants"))
    assert host.get(f"/{NAME}/admin/result").status_code == 404
    row = {"rank": 1, "team": "Ants", "submission": 1, "score": 0.7, "rank_low": 1,
           "rank_high": 3, "tier": 1, "possible_winner": True, "brier": 0.2,
           **dict.fromkeys(("score_low", "score_high", "rank_median", "win_rate"))}  # fmt: skip
    document = {"leaderboard": [row], "verdicts": ["Two may be first."], "version": 2,
                "failed": [], "unverified": [], "warnings": [], "state": "published",
                "best_score_corrected": {"estimate": 0.65, "low": 0.6, "high": 0.7}}  # fmt: skip
    about = {"retracted": None, "replaced": None, "mark": None, "published": ""}
    web.scorer.publisher.publish(documents={"next result": {**document, **about}})
    assert "/admin/result" in host.get(f"/{NAME}/admin").text
    page = host.get(f"/{NAME}/admin/result").text
    for text in ("Two may be first.", "1 \u2013 3", "0.65", "brier", "Tier", "may be first",
                  "published as result 2"):  # fmt: skip
        assert text in page
    assert member.get(f"/{NAME}/admin/result").status_code == 404
    assert member.get(f"/{NAME}/private").status_code == 404
    program = web.program(web.token(organiser, "admin"))
    assert program.get(f"{API}/admin/result").json()["version"] == 2
