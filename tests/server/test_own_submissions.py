"""What the board and *My submissions* say beyond scores: changes, comparisons, private scores."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from web_site import NAME, WebSite

API = f"/api/v1/{NAME}"


def submit(web: WebSite, account: str, content: bytes, score: float) -> None:
    answer = web.program(web.token(account)).post(f"{API}/submissions", content=content)
    assert answer.status_code == 202
    web.scorer.judge(web.site, score)


def test_the_board_says_how_ranks_changed_today_and_when_teams_were_active(web: WebSite) -> None:
    for number, team in enumerate(("Ants", "Bees")):
        submit(web, web.person(team, team), b"id,y\na,%d\n" % number, 0.6 + number / 10)
    since = datetime.now(UTC).strftime("%Y-%m-%dT00:00:00+00:00")
    web.scorer.publish(**{"ranks before": {"since": since, "ranks": {"Ants": 1, "Bees": 2}}})
    web.scorer.publisher.publish(
        teams=[replace(web.site.competitions[NAME].published.team("Bees"), last=since)]
    )
    page = web.browser().get(f"/{NAME}/").text
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr")[1:]
    assert [row.count("▲") for row in rows] == [1, 0]
    assert [row.count("▼") for row in rows] == [0, 1]
    assert [since in row for row in rows] == [True, False]


def test_two_own_files_are_compared_and_private_scores_shown(web: WebSite) -> None:
    ada = web.person("Ada", "Ants")
    for number in range(2):
        submit(web, ada, b"id,y\na,%d\n" % number, 0.6 + number / 10)
    web.scorer.publish(chance={"difference": 0.25})
    browser = web.browser(ada)
    page = browser.get(f"/{NAME}/submissions?first=1&second=2").text
    compared = page.partition('id="compared"')[2].partition("</section>")[0]
    assert ("0.1." in compared, "less than 0.25" in compared) == (True, True)
    assert "Private score" not in page
    for wrong in ("first=1", "first=1&second=9", "first=x&second=2"):
        assert 'id="compared"' not in browser.get(f"/{NAME}/submissions?{wrong}").text
    answers = web.site.competitions[NAME].published.answers("Ants")
    web.scorer.publisher.publish(
        answers=[replace(answer, private=0.4321, private_rank=7) for answer in answers[:1]]
    )
    page = browser.get(f"/{NAME}/submissions").text
    assert ("Private score" in page, "0.4321" in page) == (True, True)
    requests = web.program(web.token(ada)).get(f"{API}/submissions").json()["requests"]
    assert [request["private_rank"] for request in requests] == [7, None]
    assert "0.4321" in browser.get(f"/{NAME}/submissions.csv").text


def test_own_submissions_are_withdrawn_by_a_program_and_by_a_form(web: WebSite) -> None:
    ada = web.person("Ada", "Ants")
    for number in range(2):
        submit(web, ada, b"id,y\na,%d\n" % number, 0.6)
    submit(web, web.person("Bo", "Bees"), b"id,y\na,2\n", 0.5)
    program, browser = web.program(web.token(ada)), web.browser(ada)
    for submission, status in ((3, 422), (4, 422), (1, 202)):
        answer = program.post(f"{API}/withdrawals", json={"submission": submission})
        assert answer.status_code == status
    for fields, sentence in (
        ({"submission": "2"}, "Confirm the step by its check box."),
        ({"submission": "x", "sure": "1"}, "Fill in all fields of the form."),
    ):
        assert sentence in browser.post(f"/{NAME}/withdrawals", data=fields).text
    answer = browser.post(f"/{NAME}/withdrawals", data={"submission": "2", "sure": "1"})
    assert answer.status_code == 303
    requests = [request for request in web.site.intake.after(NAME, 0) if request.kind == "withdraw"]
    assert [request.payload for request in requests] == [{"submission": 1}, {"submission": 2}]
    assert answer.headers["location"] == f"/{NAME}/submissions/{requests[1].request}"
