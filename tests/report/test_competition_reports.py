"""Which board a competition's reports are of, and what they add to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from arena.cli.reporting import board_report_if
from arena.config import Settings
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.report import competition as module
from arena.report.competition import (
    final_board,
    finalized_report,
    public_board_of,
    rejections_of,
)
from arena.report.history import DESCRIBED
from arena.report.model import Board, Rejection, Report
from arena.types import Fault
from board_results import a_result
from recorded_calls import RecordedObject, recorded_function


def test_the_final_board_is_the_stored_one_or_the_same_computed_again() -> None:
    result = a_result()
    lines: list[str] = []
    as_finalized = result.to_dict()
    for stored, computed, expected in ((result, None, result), (None, result, result)):
        answers = {"as_finalized": stored, "final_result": as_finalized, "evaluate": computed}
        competition: Any = RecordedObject(lines, {}, answers)
        assert final_board(competition) is expected
    assert lines == [
        "  as_finalized()", "  as_finalized()", "  final_result()", "  evaluate(progress=None)"
    ]  # fmt: skip
    answers = {"final_result": {**as_finalized, "seed": 1}, "evaluate": result}
    competition = RecordedObject([], {}, answers)
    with pytest.raises(UsageError) as refusal:
        final_board(competition)
    assert str(refusal.value) == (
        "The private board would differ from the finalized one: submissions, settings, labels or "
        "versions changed since. Run arena finalize again first."
    )


def public_competition(**attributes: Any) -> Any:
    rows = [
        {"rank": 1, "team": "a", "score": 0.5, "n_submissions": 1_000, "brackets": {}},
        {"rank": 2, "team": "b", "score": 0.25, "n_submissions": 234,
         "brackets": {"new": {"rank": 1}}},
    ]  # fmt: skip
    metric = SimpleNamespace(greater_is_better=True)
    all_attributes = {
        "settings": Settings.of(metric="accuracy", title="Race"), "phase": "",
        "board_metric": "accuracy",
        "manager": SimpleNamespace(metrics=SimpleNamespace(resolve=lambda _: metric)),
        **attributes,
    }  # fmt: skip
    return RecordedObject([], all_attributes, {"leaderboard": rows})


@pytest.fixture
def _no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "facts_for_participants", lambda _: [("Own", "fact")])


@pytest.mark.usefixtures("_no_facts")
def test_a_public_board_names_metric_teams_and_phase() -> None:
    board = public_board_of(public_competition())
    assert board.facts == (
        ("Metric", "accuracy (larger is better)"), ("Teams on the public board", "2"),
        ("Their submissions", "1,234"), ("Own", "fact"),
    )  # fmt: skip
    assert (board.title, board.metric, board.greater_is_better) == ("Race", "accuracy", True)
    smaller = SimpleNamespace(greater_is_better=False)
    manager = SimpleNamespace(metrics=SimpleNamespace(resolve=lambda _: smaller))
    of_phase = public_board_of(public_competition(phase="two", manager=manager))
    assert of_phase.facts[:2] == (("Phase", "two"), ("Metric", "accuracy (smaller is better)"))


@pytest.mark.usefixtures("_no_facts")
@pytest.mark.parametrize(
    ("title", "bracket", "board_title", "teams"),
    [
        ("Race", None, "Race", ["a", "b"]),
        ("Race", "new", "Race: new", ["b"]),
        ("", "new", "new", ["b"]),
    ],
)
def test_a_public_report_of_a_bracket_has_its_teams(
    monkeypatch: pytest.MonkeyPatch,
    title: str,
    bracket: str | None,
    board_title: str,
    teams: list[str],
) -> None:
    def report_of(public: Any, _: Any, *, sections: bool) -> Report:
        assert [row["team"] for row in public.standings] == teams
        board = Board("b", public.title, caption="", columns=())
        return Report(
            public.title, (), verdicts=(), boards=(board,), sections=("section",) * sections
        )  # type: ignore[arg-type]

    monkeypatch.setattr(module, "public_report", report_of)
    monkeypatch.setattr(module, "last_entries", lambda _: "last")
    monkeypatch.setattr(
        module, "with_last_entries", lambda board, names, last: (board.title, names, last)
    )
    monkeypatch.setattr(module, "how_to_submit", lambda _: "how to submit")
    competition = public_competition(settings=Settings.of(metric="accuracy", title=title))
    report = module.public_competition_report(competition, bracket=bracket)
    assert report.boards == ((board_title, teams, "last"),)
    assert report.sections == ("section", "how to submit")
    without = module.public_competition_report(competition, sections=False, bracket=bracket)
    assert without.sections == ("how to submit",)


def test_rejected_and_disqualified_submissions_are_named_with_their_reasons() -> None:
    fault = Fault("lines", "A line is too long.")
    records = [
        SimpleNamespace(submission=n, file=f"{n}.csv", team="a", faults=faults)
        for n, faults in ((1, ()), (2, (fault,)), (3, ()), (4, (fault,)))
    ]
    competition: Any = RecordedObject(
        [], {}, {"records": records, "disqualified": {3: "copied", 4: "two accounts"}}
    )
    second, third, fourth = rejections_of(competition)
    assert second.file == "2.csv"
    assert second.reasons
    assert third == Rejection("3.csv", "a", reasons=("Disqualified: copied",))
    assert fourth.reasons == (*second.reasons, "Disqualified: two accounts")


def test_a_report_is_one_step_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    progress: Any = RecordedObject(lines, {}, {})
    report_function = recorded_function(lines, "board_report", "the report")
    monkeypatch.setattr("arena.report.contents.board_report", report_function)
    result: Any = SimpleNamespace(rejected=())
    manager = PluginManager(entry_points=False)
    assert board_report_if(False, result, manager=manager, progress=progress) is None
    assert board_report_if(True, result, manager=manager, progress=progress) == "the report"
    for name in ("board_report", "public_board_of", "history_section", "copies_section"):
        answer = SimpleNamespace(title="Race", facts="facts")
        monkeypatch.setattr(module, name, recorded_function(lines, name, answer))
    answers = {"events": ["events"], "similar_submissions": ["pairs"], "records": []}
    competition: Any = RecordedObject(lines, {"manager": manager}, answers | {"disqualified": {}})
    finalized_report(competition, result, progress=progress)
    step = "  start('Putting the report together', 1)"
    assert lines == [
        step,
        "  board_report(SimpleNamespace, PluginManager)",
        step,
        "  public_board_of(RecordedObject)",
        "  disqualified()",
        "  records()",
        f"  events({', '.join(map(repr, DESCRIBED))})",
        "  history_section(['events'])",
        "  similar_submissions()",
        "  copies_section(['pairs'])",
        "  board_report(SimpleNamespace, PluginManager, title='Race', facts='facts', "
        "public=SimpleNamespace, rejections=[], history=SimpleNamespace, similar=SimpleNamespace)",
    ]
