"""How a simulation is prepared, with stand-ins for what it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.config import CONFIG_NAME, DATABASE_NAME, Settings
from arena.errors import InputError, SandboxError, UsageError
from arena.interfaces import End
from arena.plugin.manager import PluginManager
from arena.simulation.competition import existing, prepare, run, sent_programs
from arena.simulation.competition.existing import OwnCompetition, read_own_competition
from arena.simulation.competition.folder import open_folder
from arena.simulation.competition.prepare import (
    existing_competition,
    new_competition,
    notes_on_limits,
    refusal_of_kind,
    with_programs,
    without_what_cannot_play,
)
from arena.simulation.competition.run import stored_submissions
from arena.simulation.competition.sent_programs import why_no_program_runs
from arena.simulation.requests import SimulationRequest
from arena.types import Fault
from recorded_calls import RecordedObject, recorded_function

ACCURACY = Settings.of(metric="accuracy")
MANAGER = PluginManager()


def kind(name: str, *, sends_programs: bool = False) -> Any:
    return SimpleNamespace(
        specification=name, sends_programs=sends_programs, share=0.25, plugin="hands"
    )


@dataclass(frozen=True)
class Participation:
    """The information for a player: the number of its visits, and the public baseline."""

    visits: int
    baseline: Any = None


@dataclass(frozen=True)
class Prepared:
    """A simulation whose data are not read."""

    root: Path
    mechanisms: tuple[str, ...]
    kinds: tuple[Any, ...]
    baseline: Any
    request: Any = field(default_factory=lambda: SimpleNamespace(drawn=False))
    data: Any = None

    def open_folder(self) -> Path:
        return self.root


# -- the competition of the folder ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "deadline", "files", "target"),
    [
        ("Race", datetime(2030, 1, 1, tzinfo=UTC), True, None),
        ("", None, True, "other"),
        ("Race", None, False, None),
    ],
)
def test_the_own_competition_gives_settings_and_rows(
    monkeypatch: pytest.MonkeyPatch, title: str, deadline: Any, files: bool, target: str | None
) -> None:
    lines: list[str] = []
    solution = SimpleNamespace(targets=[SimpleNamespace(name="ill"), SimpleNamespace(name="two")])
    settings = Settings.of(metric="accuracy", title=title, deadline=deadline)
    rows = (SimpleNamespace(n_classes=3), "features")
    data = SimpleNamespace(columns={"id": "pid"})
    for name, answer in (
        ("read_own_competition", OwnCompetition(title, settings, solution=solution)),  # type: ignore[arg-type]
        ("read_rows", rows), ("shape_for", None), ("data_from_solution", data),
    ):  # fmt: skip
        monkeypatch.setattr(prepare, name, recorded_function(lines, name, answer))
    manager = SimpleNamespace(metrics=SimpleNamespace(resolve=lambda name: f"metric {name}"))
    paths = {"data": Path("train.csv"), "test": Path("test.csv")} if files else {}
    request = SimulationRequest(
        directory=Path("c"), target=target, seed=3, days=5, train_rows=40, **paths
    )
    root, returned_data, simulated = existing_competition(request, manager)  # type: ignore[arg-type]
    assert (root, returned_data) == (Path("c/simulated-seed-3"), data)
    assert simulated.competition.title == f"SIMULATED: {title or 'a competition'}"
    # Without a deadline it is five days after the first one of simulations, 2001-01-01.
    assert simulated.competition.deadline == (deadline or datetime(2001, 1, 6, tzinfo=UTC))
    assert simulated.data.id == "pid"
    reading_calls = lines[1:-1]
    # 40 rows to train on and the default of 1,000 for early stopping.
    assert (
        reading_calls
        == [
            f"  read_rows(train.csv, test.csv, target='{target or 'ill'}', "
            "solution=SimpleNamespace, most=1040, seed=3)",
            "  shape_for('metric accuracy', 3)",
        ][: 2 * files]
    )


def test_a_competition_with_submissions_of_teams_is_not_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings.of(metric="accuracy", title="Race", baseline="dice")
    for teams, is_refused in ((["dice"], False), ([], False), (["dice", "owls"], True)):
        records = [SimpleNamespace(team=team) for team in teams]
        view = RecordedObject(
            [], {"settings": settings, "solution": "the solution"}, {"records": records}
        )
        opened = SimpleNamespace(open=lambda folder, manager, view=view: view)
        monkeypatch.setattr(existing, "CompetitionView", opened)
        if is_refused:
            with pytest.raises(InputError) as error:
                read_own_competition(Path("c"), "plugins")  # type: ignore[arg-type]
            assert str(error.value) == (
                "c holds submissions of real teams, so no simulation is run there. Simulate in a "
                "new folder."
            )
        else:
            competition = read_own_competition(Path("c"), "plugins")  # type: ignore[arg-type]
            assert (competition.title, competition.settings, competition.solution) == (
                "Race",
                settings,
                "the solution",
            )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": Path("d.csv")}, "--data and --target go together."),
        ({"target": "y"}, "--data and --target go together."),
        (
            {"test": Path("t.csv")},
            "--test is for a DIR that holds a competition; here --data is divided.",
        ),
    ],
)
def test_files_of_a_new_competition_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        new_competition(SimulationRequest(directory=Path("c"), **options), None)  # type: ignore[arg-type]
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("options", "mechanism", "per_day"),
    [
        ({"metric": None}, "ladder-free(minimum_step=0.002)", 2),
        ({"metric": "roc_auc", "per_day": 1}, "ladder-free(minimum_step=0.002)", 1),
        ({"metric": "log_loss", "per_day": 3}, "kaggle", 3),
    ],
)
def test_a_new_competition_has_a_mechanism_that_suits_its_scores(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], mechanism: str, per_day: int
) -> None:
    lines: list[str] = []
    data = SimpleNamespace(columns={"id": "pid"})
    for name in ("synthetic_world", "data_from_world", "with_drift", "with_held_out_rows"):
        monkeypatch.setattr(prepare, name, recorded_function(lines, name, data))
    request = SimulationRequest(directory=Path("c"), teams=1, days=5, seed=3, **options)
    root, returned_data, settings = new_competition(request, MANAGER)
    assert (root, returned_data) == (Path("c"), data)
    assert settings.metric.name == (options["metric"] or "accuracy")
    assert (settings.public.mechanism, settings.limits.per_day) == (mechanism, per_day)
    assert (settings.competition.title, settings.competition.deadline) == (
        "SIMULATED: 1 team in 5 days, seed 3", datetime(2001, 1, 6, tzinfo=UTC),
    )  # fmt: skip
    assert (settings.competition.reference, settings.data.id) == ("simulated baseline", "pid")
    sizes = "Sizes(training=3000, validation=1000, population=6000)"
    steps = [f"synthetic_world({sizes}, 3, 0.0)", "data_from_world(SimpleNamespace)"]
    assert [line.strip() for line in lines] == steps
    lines.clear()
    new_competition(replace(request, drift=0.5), MANAGER)
    assert lines[2:] == ["  with_drift(SimpleNamespace, 0.3, 0.5, 3)"]


# -- who can play ---------------------------------------------------------------------------------


def test_further_seeds_have_the_kinds_that_played_with_the_first() -> None:
    request = SimulationRequest(directory=Path("c"))
    first = SimpleNamespace(request=request, kinds=(kind("a"), kind("b")), baseline=kind("base"))
    further_request = without_what_cannot_play(first)  # type: ignore[arg-type]
    assert (further_request.kinds, further_request.baseline) == ("a=0.25, b=0.25", "base")
    first.baseline = None
    assert without_what_cannot_play(first).baseline == "none"  # type: ignore[arg-type]
    for options in ({"drawn": True}, {"kinds": "c=1", "baseline": "d"}):
        first.request = SimulationRequest(directory=Path("c"), **options)  # type: ignore[arg-type]
        assert without_what_cannot_play(first) == first.request  # type: ignore[arg-type]


def test_teams_that_send_programs_are_left_out_where_none_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_answer(reason: str | None, *kinds: Any) -> Any:
        monkeypatch.setattr(prepare, "why_no_program_runs", lambda *_: reason)
        return with_programs(ACCURACY, kinds, manager=None)  # type: ignore[arg-type]

    files, programs = kind("files"), kind("programs", sends_programs=True)
    assert with_answer("unasked", files) == (ACCURACY, (files,), [])
    running, kinds, notes = with_answer(None, files, programs)
    assert (running.programs.sandbox, kinds, notes) == ("bwrap", (files, programs), [])
    why = "programs is left out: this machine runs no programs. No sandbox."
    assert with_answer("No sandbox.", files, programs) == (ACCURACY, (files,), [why])
    with pytest.raises(UsageError) as refusal:
        with_answer("No sandbox.", programs, programs)
    assert str(refusal.value) == f"{why} {why}"


def test_a_kind_that_cannot_start_is_refused_or_left_out() -> None:
    def refuse(*_: Any) -> None:
        raise UsageError("It needs rows.")

    broken = kind("broken")
    broken.competitor = SimpleNamespace(start=refuse)
    assert refusal_of_kind(broken, None, tolerated=True) == "It needs rows."  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^It needs rows\.$"):
        refusal_of_kind(broken, None, tolerated=False)  # type: ignore[arg-type]
    broken.competitor = SimpleNamespace(start=lambda *_: "a player")
    assert refusal_of_kind(broken, None, tolerated=False) is None  # type: ignore[arg-type]


def with_player(name: str, start: Any) -> Any:
    return SimpleNamespace(**vars(kind(name)), competitor=SimpleNamespace(start=start))


def fail(*_: Any) -> None:
    raise UsageError("It needs rows.")


ABLE, BROKEN = with_player("able", lambda *_: "a player"), with_player("broken", fail)
TRIES = [("0", "full", ("full",)), ("1", "ladder", ("ladder",))]


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the folder and mechanism of each competition that is tried."""

    @contextmanager
    def opened(root: Path, trial: Any, mechanism: str, _: Any) -> Iterator[Any]:
        tried.append((root.name, mechanism, trial.mechanisms))
        yield SimpleNamespace(solution="solution", notes=("Few rows.", "Few rows.")), None

    tried: list[Any] = []
    for name, function in (
        ("open_competition", opened), ("check_target", lambda *_: None),
        ("published", lambda *_, visits: Participation(visits)), ("sample_prediction", str),
    ):  # fmt: skip
        monkeypatch.setattr(prepare, name, function)
    return tried


def test_every_competition_is_tried_and_every_kind_in_the_first(
    tries: list[Any], tmp_path: Path
) -> None:
    simulation = Prepared(tmp_path, ("full", "ladder"), (BROKEN, ABLE), BROKEN)
    drop: Any = {"manager": None, "drop_kinds": True, "drop_baseline": True}
    fitting, notes = prepare.dry_run(simulation, **drop)  # type: ignore[arg-type]
    assert (fitting, tries) == (replace(simulation, kinds=(ABLE,), baseline=None), TRIES)
    assert notes == [
        "full: Few rows.",
        "The public baseline is the sample submission: It needs rows.",
        "broken is left out: It needs rows.",
        "ladder: Few rows.",
    ]
    with pytest.raises(UsageError, match="None of the kinds of teams can play here"):
        prepare.dry_run(replace(simulation, kinds=(BROKEN,)), **drop)  # type: ignore[arg-type]


def test_kinds_and_a_baseline_that_were_asked_for_must_play(
    tries: list[Any], tmp_path: Path
) -> None:
    simulation: Any = Prepared(tmp_path, ("full", "ladder"), (BROKEN, ABLE), BROKEN)
    manager: Any = None
    for requested_simulation, drop in (
        (simulation, {"drop_kinds": True}),
        (replace(simulation, baseline=ABLE), {"drop_baseline": True}),
    ):
        with pytest.raises(UsageError, match=r"^It needs rows\.$"):
            prepare.dry_run(requested_simulation, manager, **drop)
    simulation.request.drawn = True  # the teams of drawn competitions have no kinds
    notes = ["full: Few rows.", "ladder: Few rows."]
    assert prepare.dry_run(simulation, manager) == (simulation, notes)
    assert tries == [TRIES[0], TRIES[0], *TRIES]


@pytest.mark.parametrize(
    ("per_day", "total", "entries", "note"),
    [
        # Three days with 2 a day allow 6, of four teams one sent more.
        (2, None, [1, 6, 7, 6], "25% of the past teams sent more than the 6 submissions that 3 "
         "days with 2 a day allow; teams like them send as many as allowed."),
        (2, 5, [1, 6, 7, 6], "75% of the past teams sent more than the 5 submissions that 3 days "
         "with 2 a day allow; teams like them send as many as allowed."),
        (2, 7, [1, 6, 6], None),
        # Without a limit simulated teams send at most three a day.
        (None, None, [9, 10], "50% of the past teams sent more than the 9 submissions that 3 days "
         "with 3 a day allow; teams like them send as many as allowed."),
        (2, None, None, None),
    ],
)  # fmt: skip
def test_a_note_counts_past_teams_that_sent_more_than_is_allowed(
    per_day: int | None, total: int | None, entries: list[int] | None, note: str | None
) -> None:
    board = SimpleNamespace(entries=None if entries is None else np.array(entries))
    settings = Settings.of(metric="accuracy", per_day=per_day, total=total)
    notes = notes_on_limits(SimpleNamespace(boards=(board,)), settings, days=3)  # type: ignore[arg-type]
    assert notes == ([] if note is None else [note])


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (SimpleNamespace(end=End.OK), None),
        (SimpleNamespace(end=End.MEMORY), "A small program failed in it (memory)."),
        ((Fault("zip", "It is no archive."), Fault("zip", "Two.")), "It is no archive."),
        (SandboxError("No sandbox."), "No sandbox."),
    ],
)
def test_a_small_program_shows_whether_programs_run(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, reason: str | None
) -> None:
    call: dict[str, Any] = {}

    def run_program(program: Path, inputs: Path, target: Path, **options: Any) -> Any:
        call.update(options, files=[path.name for path in inputs.iterdir()], empty=target.is_dir())
        call["rows"] = (inputs / "rows.csv").read_text()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(sent_programs, "run_program", run_program)
    manager = SimpleNamespace(sandboxes=SimpleNamespace(resolve=lambda name: f"the {name}"))
    programs = ACCURACY.programs.model_copy(update={"sandbox": "bwrap"})
    assert why_no_program_runs(programs, manager) == reason  # type: ignore[arg-type]
    assert (call["files"], call["rows"], call["empty"]) == (["rows.csv"], "id\n", True)
    assert call["sandbox"] == "the bwrap"


# -- folders --------------------------------------------------------------------------------------

ABOUT = {"seed": 3, "teams": 5, "kinds": "a"}
DATA = SimpleNamespace(write=lambda path: path.write_text("id,y\n"))


def opened_folder(root: Path, **changes: Any) -> Any:
    return open_folder(root, {**ABOUT, **changes}, DATA)  # type: ignore[arg-type]


def test_a_folder_is_marked_as_a_simulation_and_opened_with_the_same_options(
    tmp_path: Path,
) -> None:
    root = tmp_path / "s"
    for _ in range(2):
        folder = opened_folder(root)
        assert (folder.root, folder.seed) == (root, 3)
    document = json.loads((root / "simulation.json").read_text())
    assert (document["schema"], document["teams"]) == ("arena/simulation/1", 5)
    (root / "solution.csv").unlink()
    opened_folder(root)
    assert (root / "solution.csv").read_text() == "id,y\n"
    with pytest.raises(InputError) as other:
        opened_folder(root, seed=4, kinds="b")
    assert str(other.value) == (
        f"{root} holds a simulation with another seed, other kinds of teams. Repeat the options of "
        "its first run, or name another folder."
    )
    (root / "simulation.json").write_text("{")
    with pytest.raises(InputError) as damaged:
        opened_folder(root)
    assert str(damaged.value) == f"{root / 'simulation.json'} is damaged; simulate elsewhere."


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (CONFIG_NAME, "holds a real competition. Simulate in another folder."),
        (DATABASE_NAME, "holds a real competition. Simulate in another folder."),
        ("note.txt", "is not an empty folder. Choose a new one."),
        ("", "is not an empty folder. Choose a new one."),
    ],
)
def test_a_folder_of_something_else_is_no_simulation(
    tmp_path: Path, file: str, reason: str
) -> None:
    root = tmp_path / "s"
    if file:
        root.mkdir()
        (root / file).touch()
    else:
        root.touch()
    with pytest.raises(InputError) as refusal:
        opened_folder(root)
    assert str(refusal.value) == f"{root} {reason}"


def test_stored_submissions_are_counted_over_the_mechanisms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def open_(path: Path, *, create: bool, read_only: bool) -> Any:
        assert (create, read_only) == (False, True)
        if path.parent.name == "damaged":
            raise InputError("It is damaged.")
        return RecordedObject([], {}, {"submissions": ["one"] * len(path.parent.name)})

    monkeypatch.setattr(run, "Store", SimpleNamespace(open=open_))
    for name in ("full", "damaged", "ladder"):
        (tmp_path / name).mkdir()
        (tmp_path / name / DATABASE_NAME).touch()
    simulation = SimpleNamespace(
        mechanisms=("full", "damaged", "missing", "ladder"), folder_of=lambda name: tmp_path / name
    )
    assert stored_submissions(simulation) == len("full") + len("ladder")  # type: ignore[arg-type]
