"""A competition from its first file to a retracted result: each decision, and each refusal.

The events at the end show that a refusal records nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.errors import ArenaError
from kept import check_kept, masked, shortened
from scenario import START, Scenario

DAY = timedelta(days=1)
SETTINGS: dict[str, Any] = {
    "baseline": ["base"],
    "bracket": {"students": {}, "firms": {"ranked": False}},
    "deadline": START + DAY,
    "final_rule": "chosen",
    "final_count": 2,
    "per_day": 3,
    "total": 3,
}
Step = tuple[str, Callable[[Competition], Any]]
SENT: list[Step] = [
    ("qualify dev", lambda c: c.qualify("dev")),
    ("select before a file", lambda c: c.select("Ants", [1])),
    ("verify before the end", lambda c: c.verify_winner(1, "verified")),
    ("publish before the end", lambda c: c.publish()),
    ("retract before the end", lambda c: c.retract("wrong")),
    ("resume what is not paused", lambda c: c.resume()),
    ("pause without a reason", lambda c: c.pause(" ")),
    ("pause", lambda c: c.pause(" New rows. ")),
    ("pause again", lambda c: c.pause("x")),
    ("resume", lambda c: c.resume()),
    ("exempt nothing", lambda c: c.exempt("Ants", reason="ill")),
    ("exempt without a reason", lambda c: c.exempt("Ants", extra=1, reason=" ")),
    ("exempt until the deadline", lambda c: c.exempt("Ants", until=START + DAY, reason="ill")),
    ("exempt", lambda c: c.exempt("Ants", until=START + 2 * DAY, extra=1, reason=" ill ")),
    ("bracket of a baseline", lambda c: c.assign_bracket("base", "students")),
    ("no such bracket", lambda c: c.assign_bracket("Ants", "kids")),
    ("bracket", lambda c: c.assign_bracket("Bees", "students")),
    ("bracket again", lambda c: c.assign_bracket("Bees", "students")),
    ("bracket of another", lambda c: c.assign_bracket("Ants", "students", member=False)),
]
DECIDED: list[Step] = [
    ("select of another team", lambda c: c.select("Ants", [2])),
    ("select too many", lambda c: c.select("Ants", [1, 4, 5])),
    ("select", lambda c: c.select("Ants", [1])),
    ("withdraw of another team", lambda c: c.withdraw("Bees", 1)),
    ("withdraw of a baseline", lambda c: c.withdraw("base", 3)),
    ("withdraw", lambda c: c.withdraw("Ants", 4)),
    ("withdraw again", lambda c: c.withdraw("Ants", 4)),
    ("rename to a baseline", lambda c: c.rename_team("Ants", "base")),
    ("rename to another", lambda c: c.rename_team("Ants", "Bees")),
    ("rename to the same", lambda c: c.rename_team("Ants", "Ants")),
    ("rename to nothing", lambda c: c.rename_team("Ants", " ")),
    ("rename to what no terminal shows", lambda c: c.rename_team("Ants", "x\x1b[31m")),
    ("rename a baseline", lambda c: c.rename_team("base", "x")),
    ("rename an unknown team", lambda c: c.rename_team("Owls", "Cats")),
    ("rename", lambda c: c.rename_team("Ants", "Anteaters")),
    ("rename to a former name", lambda c: c.rename_team("Bees", "Ants")),
    ("disqualify without a reason", lambda c: c.disqualify(2, " ")),
    ("disqualify nothing", lambda c: c.disqualify(9, "copied")),
    ("disqualify", lambda c: c.disqualify(5, "copied")),
    ("disqualify again", lambda c: c.disqualify(5, "copied")),
    ("reinstate without a reason", lambda c: c.reinstate(submission=5, reason=" ")),
    ("reinstate what counts", lambda c: c.reinstate(submission=1, reason="x")),
    ("disqualify a team", lambda c: c.disqualify_team("Bees", "copied")),
    ("disqualify a team again", lambda c: c.disqualify_team("Bees", "copied")),
    ("merge a disqualified team", lambda c: c.merge_teams("Bees", "Ants")),
    ("merge into a disqualified team", lambda c: c.merge_teams("Ants", "Bees")),
    ("merge with a baseline", lambda c: c.merge_teams("Ants", "base")),
    ("reinstate a team", lambda c: c.reinstate(team="Bees", reason="no proof")),
    ("reinstate a team again", lambda c: c.reinstate(team="Bees", reason="no proof")),
    ("merge with itself", lambda c: c.merge_teams("Ants", "Ants")),
    ("merge with a former name", lambda c: c.merge_teams("Anteaters", "Ants")),
]
ENDED: list[Step] = [
    ("select after the end", lambda c: c.select("Bees", [2])),
    ("select late", lambda c: c.select("Bees", [2], late=True)),
    ("withdraw after the end", lambda c: c.withdraw("Bees", 2)),
    ("finalize", lambda c: c.finalize().notes),
    ("verify what is not", lambda c: c.verify_winner(2, "perhaps")),
    ("verify a failed one", lambda c: c.verify_winner(2, "failed")),
    ("verify", lambda c: c.verify_winner(2, "failed", note=" other file ")),
    ("warnings", lambda c: c.publication_warnings()),
    ("publish", lambda c: c.publish()),
    ("publish again", lambda c: c.publish()),
    ("retract without a reason", lambda c: c.retract(" ")),
    ("retract", lambda c: c.retract(" wrong labels ")),
    ("retract again", lambda c: c.retract("x")),
]


def told(competition: Competition, steps: list[Step]) -> list[str]:
    """Return the answer of each step: its result, or why it is refused."""
    lines = []
    for name, step in steps:
        try:
            answer = step(competition)
        except ArenaError as error:
            answer = f"{type(error).__name__}: {error}"
        lines.append(f"{name}: {answer}")
    return lines


def facts_of(competition: CompetitionView) -> list[str]:
    """Return the boards, submissions and decisions of a competition, a line each."""
    facts_by_name: dict[str, Any] = {
        "board": competition.leaderboard(),
        "submissions": competition.submissions(),
        "selections": competition.selections(),
        "brackets": competition.brackets(),
        "exemptions": competition.exemptions(),
        "disqualified": competition.disqualified(),
        "names": competition.current_names(),
        "results": competition.results(),
        "used": {team: competition.quota_used(team) for team in ("Ants", "Bees", "base")},
    }
    lines = []
    for name, facts in facts_by_name.items():
        rows = facts if isinstance(facts, list) else [facts]
        lines += [f"{name}: {json.dumps(shortened(row), default=str)}" for row in rows]
    return lines


def test_answers_and_events_of_a_whole_competition_are_kept(scenario: Scenario) -> None:
    scenario.settings = SETTINGS
    with scenario.create() as competition:
        lines = ["-- before a file", *told(competition, SENT)]
        for team, right in (("Ants", 60), ("Bees", 90), ("base", 50), ("Ants", 70), ("Ants", 80)):
            competition.submit(scenario.file_right_on(right), team)
        scenario.clock.now += timedelta(hours=2)  # another day
        for right in (95, 20):  # of a total of three, and one more by the exemption
            answer = competition.submit(scenario.file_right_on(right), "Ants")
            faults = [fault.message for fault in answer.faults]
            lines.append(f"a file of {right}: {answer.status} {answer.released} {faults}")
        lines += ["-- files", *told(competition, DECIDED), *facts_of(competition)]
        scenario.clock.now += 3 * DAY
        late = competition.submit(scenario.file_right_on(30), "Ants")
        lines.append(f"a late file: {late.status} {late.faults[0].message}")
        lines += ["-- the end", *told(competition, ENDED), *facts_of(competition)]
        lines += [
            f"{event.kind}: {json.dumps(shortened(event.payload), default=str)}"
            for event in competition.events()
            if event.kind not in {"created", "submission", "plugins", "finalized"}
        ]
    check_kept("competition-story.txt", masked("\n".join(lines)) + "\n")
