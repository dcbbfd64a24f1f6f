"""When a private board can be published or retracted, and as which version."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.boards import finalize, kept_board, outdated_board, results
from arena.competition.boards.consequences import changed_marks
from arena.competition.boards.results import (
    publishable_board,
    require_end,
    retract,
    unmarked_versions,
)
from arena.competition.record.combined_boards import ABOUT_PHASES
from arena.competition.record.rebuild import LABELS_ADDED
from arena.competition.record.roster import BRACKET
from arena.config import Settings
from arena.errors import UsageError
from arena.scoring.rejected_file import RejectedFile
from arena.store.digests import document_digest, text_digest
from arena.types import Chart, Fault, Finding, Mark, Section, Table
from event_records import event_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BOARD = {"standings": [1]}


def result(version: int, state: str = "published", **attributes: Any) -> Any:
    return SimpleNamespace(version=version, state=state, mark=None, **attributes)


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(UsageError) as error:
        call(*arguments)
    return str(error.value)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a finalized competition without phases; ``published`` are its results."""
    competition: Any = SimpleNamespace(
        phase=None, with_phases=None, clock=lambda: NOW, published=[]
    )
    competition.recorded, competition.old, competition.elsewhere = [], None, {}
    competition.store = SimpleNamespace(results=lambda: competition.published)
    competition.phase_fields = {}
    competition.record = lambda kind, payload: competition.recorded.append(payload)
    for name, answer in {
        "final_document": lambda _: BOARD,
        "outdated": lambda _: competition.old,
        "phases_of_final_boards": lambda _: ("b", "c"),
        "deciding_elsewhere": lambda _, phase, now: competition.elsewhere.get(phase, ()),
        "published_results": lambda state: state.published,
    }.items():
        monkeypatch.setattr(results, name, answer)
    return competition


def test_the_next_result_is_one_more_than_there_are(state: Any) -> None:
    digest = document_digest(BOARD)
    assert publishable_board(state) == (1, BOARD, digest)
    state.published = [result(1, sha256="other"), result(2, sha256="other")]
    assert publishable_board(state) == (3, BOARD, digest)
    state.published[1].sha256 = digest
    assert (
        refusal(publishable_board, state) == "This private board is published already, as result 2."
    )
    state.published[1].state = "retracted"
    assert publishable_board(state)[0] == 3
    state.elsewhere = {"c": ["d", "e"]}
    assert refusal(publishable_board, state) == (
        "The rows that decide the phase c decide d, e as well: publish when all of these have "
        "ended."
    )
    state.old = "It is out of date."
    assert refusal(publishable_board, state) == "It is out of date."


def test_a_board_is_published_after_the_deadline(state: Any) -> None:
    dates = SimpleNamespace(deadline=NOW - MINUTE)
    state.settings = SimpleNamespace(competition=dates)
    require_end(state)
    for deadline, clock_time in ((NOW, "12:00"), (NOW + MINUTE, "12:01")):
        dates.deadline = deadline
        assert refusal(require_end, state) == (
            f"Files are received until 2026-03-01 {clock_time} UTC: publish after that, or set an "
            f"earlier deadline in competition.toml."
        )
    dates.deadline = None
    require_end(state)
    state.phase = "dev"
    assert refusal(require_end, state) == (
        "The phase dev has no end, so its files are still received: set its end in "
        "competition.toml, and publish after it."
    )


def test_the_last_result_is_retracted_with_a_reason(state: Any) -> None:
    nothing = "No result is published, so there is nothing to retract."
    assert refusal(retract, state, "x") == nothing
    state.published = [result(1), result(2)]
    assert refusal(retract, state, " ").startswith("A retraction needs a reason")
    assert retract(state, " wrong labels ") == 2
    assert state.recorded == [{"version": 2, "reason": "wrong labels"}]
    state.published[1].state = "retracted"
    assert refusal(retract, state, "x") == nothing


def test_a_decision_marks_the_results_that_had_no_mark(state: Any) -> None:
    marked = SimpleNamespace(version=2, state="replaced", mark="cause")
    state.published = [result(1), marked, result(3)]
    assert unmarked_versions(state) == (1, 3)
    after: Any = SimpleNamespace(
        published=[result(1), marked, SimpleNamespace(version=3, state="published", mark="x")]
    )
    for side in (state, after):
        side.of_all_phases, side.store = side, SimpleNamespace(results=lambda: ["any"])
    assert changed_marks(state, after) == ((3,), ())
    assert changed_marks(after, state) == ((), (3,))
    state.published = [marked]
    assert changed_marks(state, after) == ((), ())


def test_a_published_result_shows_the_chosen_scores_besides_the_one_that_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results, "metric_of_each_target", lambda metric: metric)
    monkeypatch.setattr(results, "target_column", lambda metric, target: f"{metric} of {target}")
    final = SimpleNamespace(columns=())
    competition: Any = SimpleNamespace(
        settings=SimpleNamespace(final=final, metric=SimpleNamespace(secondary=("f1", "mse"))),
        metric="mae",
        solution=SimpleNamespace(targets=[SimpleNamespace(name=name) for name in ("x", "y")]),
    )
    for columns, scores in (
        ((), ()),
        (("mse",), ("mse",)),
        (("y", "f1", "gone"), ("mae of y", "f1")),
    ):
        final.columns = columns
        assert results.published_scores(competition) == scores


def test_a_combined_board_is_published_with_its_parts_and_without_public_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = {"team": "Ants", "rank": 1, "score": 0.5, "dev": 0.4, "public_score": 1, "public_rank": 2}
    monkeypatch.setattr(results, "_rows_for_everybody", lambda state, board, names: [row])
    board = {
        "metric": "mean",
        "greater_is_better": True,
        "level": 0.95,
        "resamples": 9,
        "findings": [{"analysis": "ranks", "verdict": "Ants leads."}],
        "standings": [row],
    }
    nobody: Any = None
    for about, verdicts in (
        ({}, ["Ants leads."]),
        ({ABOUT_PHASES: "Of 2."}, ["Ants leads.", "Of 2."]),
    ):
        public = results.combined_board_for_everybody(nobody, {**board, **about}, nobody)
        assert public["verdicts"] == verdicts
        assert public["leaderboard"] == [{"rank": 1, "team": "Ants", "score": 0.5, "dev": 0.4}]


def test_changed_settings_that_a_private_board_follows_from(monkeypatch: Any) -> None:
    """A phase follows its final rule and its secondary metrics, and no other setting of it."""
    dev = {"private_rows": ["dev"], "final": {"rule": "best", "columns": ["mcc"]},
           "metric": {"name": "f1", "secondary": ["mcc"]}}  # fmt: skip
    document = {
        "final": {"rule": "best", "columns": ["mcc"]}, "analysis": {"level": 0.9},
        "bracket": {"students": {"teams": ["a"]}}, "board": {}, "limits": {"per_day": 2},
        "metric": {"name": "f1", "secondary": ["mcc"]},
        "phase": {"dev": dev, "other": dev, "both": dev},
    }  # fmt: skip
    state: Any = SimpleNamespace(
        phase="dev", with_phases=SimpleNamespace(to_document=lambda: document)
    )
    monkeypatch.setattr(outdated_board, "phases_of_final_boards", lambda _: ["both"])
    for key, before, counts in (
        ("final.rule", "last", True), ("final.rule", "best", False),
        ("final.columns", [], False), ("limits.per_day", 1, False),
        ("analysis.level", 0.95, True), ("bracket.students", None, True),
        ("board.season", {"phases": "all"}, True), ("board.season", None, False),
        ("metric.secondary", [], True), ("metric.name", "mcc", False),
        ("phase.dev", {**dev, "final": {"rule": "last", "columns": ["mcc"]}}, True),
        ("phase.dev", {**dev, "final": {"rule": "best", "columns": []}}, False),
        ("phase.dev", {**dev, "metric": {"name": "f1", "secondary": []}}, True),
        ("phase.dev", {**dev, "metric": {"name": "mcc", "secondary": ["mcc"]}}, False),
        ("phase.dev", None, True), ("phase.other", None, False), ("phase.both", None, True),
    ):  # fmt: skip
        changes = [(key, before, "now"), (key, "later", "now")]  # the first has the original value
        changed = outdated_board.changed_settings(state, changes)
        assert changed == [key] * counts, (key, before)


def board_of(**changes: Any) -> Any:
    """Return a stored board of the teams a and b, of which c is not ranked."""
    return {"standings": [], "unranked": [{"team": "c", "submission": 3}],
            "brackets": {"new": ["a"]}, **changes}  # fmt: skip


FINALIZED = event_of(5, "finalized", {"sha256": "digest", "finals": {"a": [1], "b": [2]}})
LATER = [f"2026-03-01T12:0{minute}:00+00:00" for minute in range(10)]
RULE = [("final.rule", "last", "best")]


@pytest.mark.parametrize(
    ("later", "counted", "what", "mark"),
    [
        ([], {}, None, None),
        ([("team renamed", {})], {"finals": {"z": (1,), "b": (2,)}}, "a change of a team's name",
         None),
        ([("selection", {}), ("rescored", {})], {}, "the last rescore",
         (2, "all submissions were scored again")),
        ([("finalized", {"sha256": "other"}), (LABELS_ADDED, {})], {}, "labels that arrived",
         (2, "labels arrived")),
        ([("selection", {}), ("configuration", {"changes": RULE}), ("configuration", {})], {},
         "the change of final.rule in competition.toml",
         (2, "a setting of the final board was changed")),
        ([("configuration", {"changes": [("limits.per_day", 1, 2)]}), ("withdrawal", {}),
          ("selection", {})], {"finals": {"a": (4,), "b": (2,)}},
         "a change of the submissions that count", (2, "a team withdrew a submission")),
        ([("configuration", {"changes": [("competition.baseline", "x", "y")]})],
         {"unranked": [SimpleNamespace(submission=9, received=LATER[7])]},
         "a change of the submissions that count",
         (1, "a setting of the final board was changed")),
        ([(BRACKET, {})], {"brackets": {"new": ("b",)}}, "a change of the teams in the brackets",
         (1, "a team is in another bracket")),
        # Files that were sent at minutes 0, 7 and 8; the last of the kept board at minute 0.
        ([], {"finals": {"a": (1, 4), "b": (2,)}}, "a change of the submissions that count",
         (7, "other submissions count")),
    ],
)  # fmt: skip
def test_a_stored_board_says_what_it_is_older_than(
    monkeypatch: pytest.MonkeyPatch, later: Any, counted: Any, what: str | None, mark: Any
) -> None:
    """The event at minute k is the k-th after the board was finalized at minute 0."""
    for name in ("phases_of_final_boards", "files_in_phases"):
        monkeypatch.setattr(outdated_board, name, lambda _: [])
    events = [FINALIZED] + [
        event_of(5 + minute, kind, payload, time=LATER[minute])
        for minute, (kind, payload) in enumerate(later, start=1)
    ]
    names = {"a": "z"} if "z" in counted.get("finals", {}) else {}
    document = {"final": {"rule": "best"}, "competition": {}, "limits": {"per_day": 2}}
    state: Any = SimpleNamespace(
        events=lambda *kinds: [event for event in events if event.kind in kinds],
        unrecorded=[], phase="", with_phases=SimpleNamespace(to_document=lambda: document),
        ledger=SimpleNamespace(
            teams=lambda: SimpleNamespace(current=lambda team: names.get(team, team))
        ),
        clock=lambda: NOW,
    )  # fmt: skip
    records = [SimpleNamespace(submission=number, received=LATER[minute])
            for number, minute in ((1, 0), (4, 8), (5, 7))]  # fmt: skip
    usual = {
        "finals": {"a": (1,), "b": (2,)},
        "unranked": [SimpleNamespace(submission=3, received=LATER[0])],
        "brackets": {"new": (names.get("a", "a"),)},
    }
    counted_now = {**usual, **counted}
    counts = SimpleNamespace(
        records=records,
        unranked=counted_now["unranked"],
        roster=SimpleNamespace(brackets=counted_now["brackets"]),
        finals_document={team: list(numbers) for team, numbers in counted_now["finals"].items()},
    )
    reason = outdated_board.reason_outdated(state, lambda: counts, board_of(), "digest")  # type: ignore[arg-type,return-value]
    expected = None if mark is None else Mark(LATER[mark[0]], mark[1])
    assert reason == (None if what is None else (what, expected))
    if what is None:
        assert outdated_board.reason_outdated(state, lambda: counts, board_of(), "x") is None  # type: ignore[arg-type,return-value]
    state.unrecorded = RULE
    if not later:  # a file that was edited counts from now on
        assert outdated_board.reason_outdated(state, lambda: counts, board_of()) == (  # type: ignore[arg-type,return-value]
            "the change of final.rule in competition.toml",
            Mark(NOW.isoformat(), "a setting of the final board was changed"),
        )


class Transaction(list[Any]):
    """Keeps what is stored."""

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def put_meta(self, name: str, text: str, *, computed: bool) -> None:
        self.append((name, text, computed))

    def append_event(self, kind: str, actor: str, payload: Any, *, time: Any) -> None:
        self.append((kind, actor, payload, time))


@pytest.mark.parametrize(
    ("earlier", "reason", "is_stored"),
    [
        ([], None, True),
        (["other", "same"], None, False),
        (["same", "other"], None, True),
        (["same"], ("a change of a team's name", None), True),
    ],
)
def test_a_board_is_stored_unless_the_last_one_is_the_same_and_current(
    monkeypatch: pytest.MonkeyPatch, earlier: list[str], reason: Any, is_stored: bool
) -> None:
    monkeypatch.setattr(finalize, "reason_outdated", lambda state, count: reason)
    monkeypatch.setattr(finalize, "document_digest", lambda _: "same")
    stored = Transaction()
    state: Any = SimpleNamespace(
        events=lambda kind: [SimpleNamespace(payload={"sha256": digest}) for digest in earlier],
        settings=SimpleNamespace(final=SimpleNamespace(rule="best")), phase_fields={"phase": "dev"},
        event_fields={}, store=SimpleNamespace(transaction=lambda: stored), actor="host",
        name_of=lambda key: f"{key} of dev", clock=lambda: NOW,
    )  # fmt: skip
    result: Any = SimpleNamespace(to_dict=lambda: {"standings": []})
    counted: Any = SimpleNamespace(finals_document={"a": [1]})
    assert finalize.keep_board(state, result, counted, with_report=False) is result
    payload = {"sha256": "same", "rule": "best", "finals": {"a": [1]}, "phase": "dev"}
    name = f"{finalize.FINAL_RESULT} of dev"
    assert stored == [
        (name, '{"standings": []}', True), ("finalized", "host", payload, NOW),
    ][: 2 * is_stored]  # fmt: skip


def test_what_a_report_needs_is_kept_and_read_by_the_same_software_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, chart = Table("t", ("a",), ((1,),)), Chart("c", "title", "about", {"mark": "bar"})
    finding = Finding("ranks", "Ants leads.", {"x": 1}, tables=(table,), charts=(chart,))
    section = Section("s", text="A text.", tables=(table,), charts=(chart,))
    manager: Any = SimpleNamespace(failures=[], plugins=[
        SimpleNamespace(name="p", version="2", failed_to_load=False),
        SimpleNamespace(name="broken", version="1", failed_to_load=True),
    ])  # fmt: skip
    result: Any = SimpleNamespace(
        inputs=(("solution.csv", "ab"),), findings=(finding,), sections=(section,)
    )
    text = kept_board.to_keep(result, manager)
    assert text is not None
    assert json.loads(text)["software"][1:] == [["p", "2"]]
    document: dict[str, Any] = {
        **dict.fromkeys(("metric", "greater_is_better", "split", "n_rows", "positive", "resamples",
                         "resamples_redrawn", "resamples_undefined", "level", "seed",
                         "best_score_corrected", "baseline"), 7),
        "standings": [], "notes": ["n"], "unranked": [], "brackets": {"new": ["a"]},
        "findings": [{"analysis": "ranks", "verdict": "Ants leads.", "document": {"x": 1}}],
        "rejected": [{"file": "f.csv", "faults": [{"kind": "zip", "message": "Torn."}]}],
    }  # fmt: skip
    metas = {"final_report of dev": text}
    settings = Settings.of(metric="f1", decimals=3, ties="secondary", secondary="mcc")
    state: Any = SimpleNamespace(
        manager=manager, name_of=lambda key: f"{key} of dev",
        store=SimpleNamespace(meta=metas.get), settings=settings,
    )  # fmt: skip
    again: Any = kept_board.restored(state, document, text_digest(text))
    assert (again.findings, again.sections) == ((finding,), (section,))
    assert (again.inputs, again.brackets) == (result.inputs, {"new": ("a",)})
    assert (again.n_pending, again.metric, again.seed) == (0, 7, 7)
    assert again.display == settings.display(public=False)
    assert again.rejected == (RejectedFile("f.csv", (Fault("zip", "Torn."),)),)
    assert kept_board.restored(state, document, "another digest") is None
    manager.plugins[0].version = "3"
    assert kept_board.restored(state, document, text_digest(text)) is None
    metas.clear()
    assert kept_board.restored(state, document, text_digest(text)) is None
    result.inputs = {1, 2}  # what JSON cannot hold
    assert kept_board.to_keep(result, manager) is None
    for changed_result, failures in ((None, []), ((section,), ["a failure"])):
        result.inputs, result.sections, manager.failures = (), changed_result, failures
        assert kept_board.to_keep(result, manager) is None
