"""What the board and *My submissions* say beyond scores: changes, comparisons, private scores."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from arena.requests import Answer
from arena.server.records.published import TeamFacts
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


def test_choices_of_several_phases_are_saved_as_the_page_shows_them(web: WebSite) -> None:
    ada = web.person("Ada", "Ants")
    limits = {"start": None, "end": None, "per_day": None, "per_week": None, "total": None}
    same = {**limits, "metric": "mae", "mechanism": "full"}
    phases = tuple({"phase": name, **same} for name in ("dev", "final"))
    web.scorer.publish(facts=replace(web.facts, phases=phases, current_phase="dev", final_count=1))
    in_phases = {1: "dev", 2: "dev", 3: "final", 4: "final"}
    web.scorer.publisher.publish(
        answers=[
            Answer(f"q{number}", number, "Ants", "submit", "accepted", submission=number,
                   phase=phase, received=f"2026-03-0{number}T12:00:00+00:00")
            for number, phase in in_phases.items()
        ],
        teams=[TeamFacts("Ants", selected=(1, 3))],
    )  # fmt: skip
    web.scorer.publish()
    browser, seen = web.browser(ada), [0]

    def chosen(*numbers: int) -> list[object]:
        page = browser.post(f"/{NAME}/selection", data={"submission": [*map(str, numbers)]})
        assert page.status_code == 303, page.text
        requests = web.site.intake.after(NAME, seen[0])
        seen[0] = max(request.seq for request in requests) if requests else seen[0]
        return [(request.payload["phase"], request.payload["submissions"]) for request in requests]

    assert chosen(1, 3) == []
    assert chosen(1, 4) == [("final", [4])]
    by_program = {"submissions": [], "phase": "dev"}
    program = web.program(web.token(ada))
    assert program.put(f"{API}/selection", json=by_program).status_code == 202
    assert chosen(3) == [("dev", []), ("dev", [])]
    page = browser.post(f"/{NAME}/selection", data={"submission": ["1", "2", "3"]})
    assert (page.status_code, "Choose at most 1 submission." in page.text) == (422, True)
    page = browser.post(f"/{NAME}/selection", data={"submission": ["1", "3", "5"]})
    assert "Submission 5 is not an accepted submission" in page.text
    for body, said in (
        ({"submissions": []}, "Several phases are open. Name one of them: dev, final."),
        (
            {"submissions": [], "phase": "x"},
            "There is no such phase. Choose one of these: dev, final.",
        ),
    ):
        assert program.put(f"{API}/selection", json=body).json()["detail"] == said
    more = "More are chosen, since teams were merged"
    for selected, is_said in (((1, 3), False), ((1, 2, 3), True), ((1, 3, 4), False)):
        web.scorer.publisher.publish(teams=[TeamFacts("Ants", selected=selected)])
        assert (more in browser.get(f"/{NAME}/submissions").text) is is_said


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
