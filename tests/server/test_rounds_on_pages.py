"""The rounds of a series on the board of a team, and a public board over phases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arena.requests import Answer
from page_text import lines_of
from web_site import NAME, WebSite

NONE = "\u2013"


def round_of(name: str, state: str, **fields: Any) -> dict[str, Any]:
    return {
        "phase": name, "series": "week", "state": state, "start": None, "end": None,
        "public_rows": 1_000, "private_rows": 500, "pending_rows": 300, "metric": "roc_auc",
        "mechanism": "ladder", "shares": [], **fields,
    }  # fmt: skip


def test_the_rounds_show_labels_results_and_the_last_file_of_the_team(web: WebSite) -> None:
    ends = {"end": "2026-03-08T00:00:00+00:00"}
    rounds = (round_of("w1", "ended", **ends), round_of("w2", "open"), round_of("w3", "next"))
    web.scorer.publish(facts=replace(web.facts, phases=rounds, current_phase="w2"))
    result = {"phase": "w1", "state": "published"}
    results = [{**result, "version": 3}, {**result, "version": 4},
               {"phase": "w2", "state": "retracted", "version": 5}]  # fmt: skip
    web.scorer.publish(results=results)
    time = "2026-03-02T12:00:00+00:00"
    answer = Answer(
        request="2" * 32, seq=1, team="Ants", kind="submit", received=time, judged=time,
        status="accepted", submission=7, phase="w2",
    )  # fmt: skip
    web.scorer.publisher.publish(answers=[answer])

    def table(browser: Any) -> list[str]:
        page = lines_of(browser.get(f"/{NAME}/").text).splitlines()
        return page[page.index("Rounds") : page.index("Public board")]

    guest, ants = web.browser(), web.browser(web.person("Ada", "Ants"))
    labels = "1,200 of 1,500"  # of 1,000 public and 500 private rows 300 wait for their labels
    head = ["Round", "State", "Closes", "Labels", "Result"]
    own_head = [*head[:3], "Your last submission", *head[3:]]
    assert table(guest) == [
        "Rounds", *head, "w2", "open", "none", labels, NONE, "w3", "not open yet", "none", labels,
        NONE, "1 round has ended", *head, "w1", "ended", "2026-03-08 00:00 UTC", labels, "4",
    ]  # fmt: skip
    assert table(ants) == [
        "Rounds", *own_head, "w2", "open", "none", "7", ",", "2026-03-02 12:00 UTC", labels, NONE,
        "w3", "not open yet", "none", NONE, labels, NONE, "1 round has ended", *own_head, "w1",
        "ended", "2026-03-08 00:00 UTC", NONE, labels, "4",
    ]  # fmt: skip


def test_a_board_over_phases_shows_the_parts_and_the_own_team(web: WebSite) -> None:
    row = {"n_submissions": 3, "baseline": False, "brackets": {"students": {"rank": 1}}}
    standings = [
        {"rank": 1, "team": "Bees", "score": 0.75, "dev": 0.5, "final": 1.0, **row},
        {"rank": 2, "team": "Ants", "score": 0.5, "dev": 0.25, "final": 0.75, **row},
    ]
    web.scorer.publish(facts=replace(web.facts, boards=("both",), brackets=("students",)))
    ants = web.browser(web.person("Ada", "Ants"))
    assert ants.get(f"/{NAME}/?board=both").status_code == 503  # not published yet
    board = {"metric": "mean", "phases": ["dev", "final"], "mark": None, "standings": standings}
    web.scorer.publish(**{"released both": board})
    page = lines_of(ants.get(f"/{NAME}/?board=both").text).splitlines()
    students = ["students"]
    assert page[page.index("Rank") : page.index("Download as CSV")] == [
        "Rank", "Team", "Score", "dev", "final", "Submissions",
        "1", "Bees", *students, "0.75", "0.50", "1.00", "3",
        "2", "Ants", "you", *students, "0.50", "0.25", "0.75", "3",
    ]  # fmt: skip
    of_bracket = ants.get(f"/{NAME}/?board=both&bracket=students").text
    assert lines_of(of_bracket).split("Submissions\n")[1].startswith("1\nBees\n0.75")
