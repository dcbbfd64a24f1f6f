"""Brackets in the store: who is in one, its boards, marks, exports, and who is not ranked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.competition.boards.finalize import final_board_settings
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.roster import BRACKET, Roster
from arena.competition.record.teams import MERGED, RENAMED
from arena.config import Settings
from arena.errors import UsageError
from arena.scoring.board import BoardRun
from arena.store import Event
from arena.utils.parallel import NoProgress
from event_records import event_of
from scenario import MANAGER, Scenario, settings_of

SETTINGS: dict[str, Any] = {
    "baseline": ["base", "dull"],
    "resamples": 50,
    "intervals": True,
    "bracket": {"students": {}, "staff": {"ranked": False}, "empty": {}},
}
SENT = [("base", 50), ("dull", 40), ("A", 90), ("B", 81), ("S", 95), ("C", 70)]


def event(number: int, kind: str, **payload: Any) -> Event:
    return event_of(number, kind, payload)


def test_a_team_keeps_its_brackets_by_any_name_and_a_merged_one_has_those_of_both() -> None:
    events = [
        event(1, BRACKET, team="a", bracket="students", member=True),
        event(2, BRACKET, team="s", bracket="staff", member=True),
        event(3, BRACKET, team="b", bracket="students", member=True),
        event(4, BRACKET, team="b", bracket="students", member=False),
        event(5, BRACKET, team="b", bracket="no longer in the settings", member=True),
        event(6, RENAMED, team="a", to="ants"),
        event(7, BRACKET, team="c", bracket="students", member=True),
        event(8, RENAMED, team="c", to="cats"),
        event(9, BRACKET, team="cats", bracket="students", member=False),
    ]
    settings = settings_of(**SETTINGS)
    roster = Roster.of(settings, events)
    assert roster.brackets == {"students": ("ants",), "staff": ("s",), "empty": ()}
    assert roster.unranked == ("base", "dull", "s")
    assert roster.boards == {"students": ("ants",), "empty": ()}
    merged = Roster.of(settings, [*events, event(10, MERGED, team="s", to="ants")])
    assert merged.brackets_of("ants") == ("students", "staff")
    assert merged.boards == {"students": (), "empty": ()}


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        ({"bracket": {"x": {"ranked": False}}, "scope": "rank"}, "have no rank"),
        ({"bracket": {"a, b": {}}}, "no comma"),
        ({"bracket": {"": {}}}, "printable characters"),
        ({"baseline": ["a", "a"]}, "named once"),
    ],
)
def test_what_contradicts_itself_is_refused(keys: dict[str, Any], refusal: str) -> None:
    with pytest.raises(UsageError, match=refusal):
        settings_of(**keys)


def test_a_bracket_that_changes_is_a_change_of_the_settings() -> None:
    before, after = (
        Settings.of(metric="f1", bracket=brackets)
        for brackets in ({"x": {}}, {"y": {"ranked": False}})
    )
    assert before.changes_to(after) == [
        ["bracket.y", None, {"ranked": False}],
        ["bracket.x", {"ranked": True}, None],
    ]


@pytest.mark.slow
def test_boards_of_brackets_from_the_first_file_to_the_export(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(**SETTINGS) as competition:
        scenario.send(competition, *SENT)
        for team, bracket in (("S", "staff"), ("B", "students"), ("C", "students")):
            competition.assign_bracket(team, bracket)
        for team, bracket, message in (
            ("S", "staff", "is in the bracket"),
            ("base", "staff", "is a baseline"),
            ("A", "x", "There is no bracket 'x'"),
        ):
            with pytest.raises(UsageError, match=message):
                competition.assign_bracket(team, bracket)
        board = {row["team"]: (row["rank"], row["brackets"]) for row in competition.leaderboard()}
        assert board == {
            "S": (None, {"staff": {"rank": None}}),
            "A": (1, {}),
            "B": (2, {"students": {"rank": 1}}),
            "C": (3, {"students": {"rank": 2}}),
            "base": (None, {}),
            "dull": (None, {}),
        }
        result = competition.finalize()
        assert [row["team"] for row in result.standings] == ["A", "B", "C"]
        assert [row["team"] for row in result.unranked] == ["dull", "S"]
        # With two ranked brackets each is at level 1 - 0.05 / 2, among its own teams only.
        in_bracket = {row["team"]: row["brackets"].get("students") for row in
               competition.private_leaderboard()}  # fmt: skip
        assert in_bracket["A"] is None
        expected = board_among(competition, ["B", "C"], level=0.975)
        assert {team: in_bracket[team] for team in expected} == expected
        assert competition.as_finalized() is not None
        competition.publish()
        competition.export(tmp_path / "export")
        competition.rename_team("B", "Bees")
        assert competition.outdated() is not None
        assert competition.results()[0]["mark"] is None  # the name alone
        competition.assign_bracket("A", "students")
        assert "teams in the brackets" in str(competition.outdated())
        assert competition.results()[0]["mark"]["cause"] == "a team is in another bracket"
        competition.assign_bracket("A", "students", member=False)
        assert competition.results()[0]["mark"] is None
        assert competition.audit() == ()
    with scenario.reopen() as competition:
        published = competition.published_private_leaderboard()
        assert published is not None
        assert published["brackets"] == ["students", "staff", "empty"]
        assert {row["team"]: row["brackets"] for row in published["leaderboard"]}["S"] == {
            "staff": {"rank": None}
        }
    for change, message in EDITS:
        assert any(message in problem for problem in verified(tmp_path, change)), message
    assert verified(tmp_path, lambda _: None) == ()


def board_among(competition: Any, teams: list[str], level: float) -> dict[str, Any]:
    """Return the columns of a board of these teams only, from the same files."""
    state = competition._state
    settings = replace(final_board_settings(state.settings, competition.final_result()["seed"]),
                       level=level, workers=1)  # fmt: skip
    run = BoardRun(
        specification="accuracy", metric=state.metric, solution=state.solution, split="private",
        settings=settings, store=state.store, manager=MANAGER, progress=NoProgress(),
    )  # fmt: skip
    result = run.result([record for record in competition.records() if record.team in teams])
    keys = ("rank", "rank_low", "rank_high", "tier", "possible_winner")
    return {row["team"]: {key: row[key] for key in keys} for row in result.standings}


def edit_result(change: Callable[[Any], object]) -> Callable[[Path], None]:
    def edit(export: Path) -> None:
        path = export / "result.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return edit


def finding(document: Any) -> Any:
    (brackets,) = [entry for entry in document["findings"] if entry["analysis"] == "brackets"]
    return brackets["document"]


EDITS: list[tuple[Callable[[Path], None], str]] = [
    (
        edit_result(lambda document: document["brackets"]["students"].remove("C")),
        "The teams of the bracket students differ",
    ),
    (
        edit_result(lambda document: finding(document)["students"][0].update(rank_high=1)),
        "The ranks in the bracket students differ",
    ),
    (
        edit_result(lambda document: document["findings"].clear()),
        "The ranks in the bracket students differ",
    ),
    (
        lambda export: (export / "public.csv").write_text(
            (export / "public.csv").read_text().replace("students", "staff")
        ),
        "brackets is staff",
    ),
    (
        lambda export: (export / "public.csv").write_text(
            (export / "public.csv").read_text().replace(",S,", "4,S,")
        ),
        "public.csv",
    ),
]
"""What somebody changes in an export, and what is said."""


def verified(folder: Path, change: Callable[[Path], Any]) -> tuple[str, ...]:
    export = folder / "export"
    originals = {path: path.read_text() for path in (export / "result.json", export / "public.csv")}
    change(export)
    problems = verify_bundle(export, folder / "solution.csv", MANAGER, NoProgress())
    for path, text in originals.items():
        path.write_text(text)
    return problems
