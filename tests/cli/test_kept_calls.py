"""The calls of each command to the rest of arena, and what it prints for each answer."""

from __future__ import annotations

import functools
import importlib
import json
import shlex
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.cli.commands import init
from arena.cli.discovery import InstalledCommand
from arena.cli.folder import changed_outside, find_folder
from arena.competition.other_platforms.imported_settings import ImportedSettings
from arena.competition.programs.local_runs import SubmittedProgram
from arena.competition.replay import Replay, ReplayedBoard
from arena.competition.rescore import RankChange
from arena.competition.submit import Submitted
from arena.errors import InputError
from arena.evaluation.similar import SimilarSubmissions
from arena.interfaces import End, Outcome
from arena.plugin.manager import PluginManager
from arena.scoring.rejected_file import RejectedFile
from arena.server.supervisor import User
from arena.simulation.competition.likeness import Compared, Likeness
from arena.types import Fault, Release, Usage
from arena.utils.formatting import BoardDisplay
from kept import check_kept
from program import run_here
from recorded_calls import RecordedObject, recorded_block, recorded_function

SETTINGS = SimpleNamespace(
    display=lambda public: BoardDisplay(),
    programs=SimpleNamespace(sandbox=""),
    public=SimpleNamespace(mechanism="ladder"),
    store=SimpleNamespace(predictions=None),
)
OF_PROGRAMS = SimpleNamespace(**{**vars(SETTINGS), "programs": SimpleNamespace(sandbox="bwrap")})


class RecordedCommands:
    """Runs commands on a stand-in for a competition, and records their calls and output."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.lines: list[str] = []

    def function(self, place: str, answer: Any = None) -> None:
        """Replace a function of arena by one that writes its call and returns an answer."""
        name = place.rpartition(".")[2]
        self.monkeypatch.setattr(f"arena.{place}", recorded_function(self.lines, name, answer))

    def object(self, place: str, attributes: dict[str, Any] | None = None, **answers: Any) -> None:
        """Replace a class of arena by one that writes its construction and all calls of methods."""
        self.function(place, RecordedObject(self.lines, attributes or {}, answers))

    def block(self, place: str) -> None:
        name = place.rpartition(".")[2]
        self.monkeypatch.setattr(f"arena.{place}", recorded_block(self.lines, name))

    def signals(self, command: str) -> None:
        """Write which signals a command handles, and install no handler."""
        recorded = {**vars(signal), "signal": recorded_function(self.lines, "signal")}
        place = f"arena.cli.commands.{command}.signal"
        self.monkeypatch.setattr(place, SimpleNamespace(**recorded))

    def run(self, line: str, *, settings: Any = SETTINGS, **answers: Any) -> None:
        """Run a command; ``answers`` are those of its competition to the calls of its methods."""
        attributes = {"settings": settings, "folder": self.folder}
        competition = RecordedObject(self.lines, attributes, answers)
        answers.setdefault("in_phase", competition)
        words = shlex.split(line)
        module = importlib.import_module(f"arena.cli.commands.{MODULES.get(words[0], words[0])}")
        for name in ("open_competition", "look_at_competition"):
            if hasattr(module, name):
                opened = recorded_function(self.lines, "open", competition)
                self.monkeypatch.setattr(module, name, opened)
        self.lines.append(f"$ arena {line}")
        process = run_here(*words, cwd=self.folder)
        self.lines += [line.rstrip() for line in f"{process.stdout}{process.stderr}".splitlines()]
        self.lines.append(f"[{process.returncode}]\n")

    def check_kept(self, name: str) -> None:
        text = "\n".join(self.lines).replace(str(self.folder), "HERE")
        check_kept(name, text)


MODULES = {"import": "import_"}
LOAD = functools.cache(InstalledCommand.load)
"""Converting a function into a command takes a fifth of the time of a call."""


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedCommands:
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setattr(InstalledCommand, "load", LOAD)
    monkeypatch.setenv("COLUMNS", "16")  # sentences are not wrapped where they may be copied
    folder = tmp_path / "c"
    folder.mkdir()
    return RecordedCommands(folder, monkeypatch)


def test_commands_for_decisions_call_and_print_as_kept(commands: RecordedCommands) -> None:
    commands.run("pause --reason wrong --wait 2")
    commands.run("resume -C .")
    commands.run("exempt [b]a --extra 2 --reason ill", submissions=[])
    commands.run("exempt a --until 2027-01-05T12:00Z --reason ill", submissions=[1])
    commands.run("bracket a student")
    commands.run("bracket a student --remove", submissions=[1], outdated="Old.")
    notes = {"consequences_of_disqualifying": "It releases nothing."}
    commands.run("disqualify 2 --reason [b]copied --preview", **notes)
    commands.run("disqualify 2 --reason copied", **notes)
    commands.run("disqualify 2 --reason copied", **notes, disqualify="two [b]accounts")
    commands.run("disqualify --team [b]a --reason copied", **notes)
    commands.run("disqualify --team a --reason mistake --undo", **notes)
    commands.run("disqualify 2 --reason mistake --undo", **notes)
    commands.run("disqualify --reason mistake", **notes)
    commands.run("disqualify 2 --team a --reason mistake", **notes)
    commands.run("select --team ' a' 3 1 3 --late", select="chosen")
    commands.run("select --team a --phase one", select="best public")
    commands.run("withdraw 3 --team a")
    records = [SimpleNamespace(team="b"), SimpleNamespace(team="A")]
    commands.run("team rename b a", records=records)
    commands.run("team rename b c", records=records)
    commands.run("team merge [b]a b", submissions=[1])
    commands.run("team merge a b", submissions=[1, 2])
    commands.check_kept("calls-of-decisions.txt")


CHANGES = [
    RankChange("[b]a", 1, rank_after=2, score_before=0.5, score_after=0.25),
    RankChange("b", None, rank_after=1, score_before=None, score_after=1 / 3, phase="two"),
    RankChange("c", 3, rank_after=3, score_before=0.125, score_after=0.125),
]


def test_commands_that_change_data_call_and_print_as_kept(commands: RecordedCommands) -> None:
    commands.monkeypatch.setenv("COLUMNS", "75")
    commands.run("labels add l.csv --workers 2", add_labels=CHANGES, outdated="Old.")
    commands.run("labels add l.csv --json", add_labels=CHANGES[2:])
    commands.run("rescore --solution s.csv", rescore=CHANGES, outdated="Old.")
    commands.run("rescore --apply", rescore=CHANGES[2:], outdated="Old.")
    commands.run("rescore --apply --json", rescore=CHANGES)
    commands.run("rows add r.csv")
    commands.run("publish --phase two", publication_warnings=["[b]Wait."], publish=3)
    commands.run("retract --reason wrong", retract=3)
    commands.monkeypatch.setenv("COLUMNS", "12")  # what may be copied is not wrapped
    commands.run("export out", export=["one"])
    commands.run("export the-archive", export=["one", "two"])
    commands.run("export out --site --phase one")
    commands.function("server.archive.write_site", 12)
    commands.run("export out --site")
    commands.function("server.archive.write_site", PermissionError(13, "Permission denied"))
    commands.run("export out --site")
    (commands.folder / "out").mkdir()
    commands.run("export out --site")
    (commands.folder / "out" / "file").touch()
    commands.run("export out --site")
    commands.run("export out/file --site")
    commands.check_kept("calls-of-data.txt")


def answer_of(submission: int, status: str) -> Submitted:
    faults = (
        ()
        if status == "accepted"
        else (Fault("lines", "A line is longer than a line of this terminal."),)
    )
    return Submitted(submission, "[b]a", status=status, released=0.5, faults=faults)


def test_commands_that_import_call_and_print_as_kept(commands: RecordedCommands) -> None:
    accepted, rejected = answer_of(1, "accepted"), answer_of(2, "rejected")
    files = [{"submission": 1, "file": "[b]a.csv"}, {"submission": 2, "file": "b.csv"}]
    commands.run("import files", import_folder=[accepted, rejected], submissions=files)
    commands.run("import files --strict", import_folder=[accepted, rejected], submissions=files)
    commands.run("import files --strict", import_folder=[accepted], submissions=files)
    commands.run(
        "import files --json", import_folder=[rejected], submissions=files, settings=OF_PROGRAMS
    )
    commands.run("import files --manifest m.csv", import_folder=[], submissions=[])
    commands.run("import files --codabench bundle --json")
    commands.run("import files --codabench bundle --evalai challenge")
    imported = ImportedSettings(
        row_sets={"Public": "[b]p.csv", "Private": "q.csv"}, left_out=["fee: [b]1"]
    )
    commands.monkeypatch.setattr(
        ImportedSettings,
        "write",
        lambda _, folder: [folder / "settings.toml", folder / "[b]page.md"],
    )
    commands.function("competition.other_platforms.codabench.settings_from_codabench", imported)
    commands.function(
        "competition.other_platforms.evalai.settings_from_evalai", replace(imported, row_sets={})
    )
    commands.run("import 'my files' --codabench bundle")
    commands.run("import files --evalai challenge")
    commands.check_kept("calls-of-files.txt")


TRIAL = Outcome(end=End.OK, seconds=1.5, cpu_seconds=1.25, peak_mb=20.0, log=b"[b]log", output=None)


def test_commands_for_programs_call_and_print_as_kept(commands: RecordedCommands) -> None:
    accepted, rejected = answer_of(1, "accepted"), answer_of(2, "rejected")
    for options, trial, submitted in (
        ("", TRIAL, accepted),
        ("", replace(TRIAL, end=End.CRASH), None),
        ("", None, rejected),
        ("--json", TRIAL, accepted),
        ("--json", replace(TRIAL, end=End.CRASH), None),
        ("--json", None, rejected),
        ("--key k", None, None),
        ("--answer q=1", None, None),
    ):
        commands.run(
            f"submit main.py --team a {options}",
            settings=OF_PROGRAMS,
            submit_program=SubmittedProgram(trial, submitted),
            disqualified_teams={},
        )
    commands.signals("runner")
    opened_runner = RecordedObject(commands.lines, {"key": SimpleNamespace(name="[b]m")}, {})
    runner = recorded_function(commands.lines, "Runner", opened_runner)
    runner.digests = list  # type: ignore[attr-defined]
    commands.monkeypatch.setattr("arena.runner.Runner", runner)
    key = SimpleNamespace(read=recorded_function(commands.lines, "read", "the key"))
    commands.monkeypatch.setattr("arena.runner.RunnerKey", key)
    for options in (
        "--inputs i --to http://a --once", "--sample s --work w", "--to http://a", "--inputs i",
        "--inputs i --to http://a --work w",
    ):  # fmt: skip
        commands.run(f"runner --token-file t --sandbox bwrap {options}")
    commands.function("competition.programs.runners.add_runner", Path("runners/m.json"))
    commands.function("cli.commands.programs.find_folder", Path("c"))
    commands.run("programs runner m")
    for options in ("-r r.txt", "--image i.tar", "", "-r r.txt --image i.tar"):
        for name in ("make_environment", "unpack_environment"):
            digest = SimpleNamespace(digest="f" * 64)
            commands.function(f"programs.environments.{name}", digest)
        commands.monkeypatch.setattr(
            "arena.programs.running.environments_folder", lambda: Path("e")
        )
        commands.run(f"programs environment {options}")
    commands.check_kept("calls-of-programs.txt")


def test_commands_for_repair_and_backup_call_and_print_as_kept(commands: RecordedCommands) -> None:
    (commands.folder / "competition.toml").touch()
    commands.function(
        "cli.commands.repair.repair_database",
        SimpleNamespace(sentence="[b]Repaired: nothing was lost."),
    )
    commands.run("repair")
    opened = RecordedObject(commands.lines, {}, {"remove_unused_objects": ["x"] * 1_200})
    store = SimpleNamespace(open=recorded_function(commands.lines, "open", opened))
    commands.monkeypatch.setattr("arena.cli.commands.repair.Store", store)
    commands.run("repair --remove-unused")
    commands.function(
        "cli.commands.upgrade.upgrade_competition", ["[b]One is a long sentence.", "Two."]
    )
    commands.run("upgrade")
    commands.function("server.backup.backup", 1_234_567_890)
    commands.block("cli.commands.backup.borrow_served")
    for place, missing in (
        (None, 0), ("inside", 1_200), (str(commands.folder / "p"), 0), ("s3://bucket/p", 0)
    ):  # fmt: skip
        settings = SimpleNamespace(store=SimpleNamespace(predictions=place))
        opened = RecordedObject(
            commands.lines, {"settings": settings}, {"missing_predictions": missing}
        )
        competition = SimpleNamespace(open=recorded_function(commands.lines, "open", opened))
        commands.monkeypatch.setattr("arena.cli.commands.backup.Competition", competition)
        commands.run("backup [b]copy" if place else "backup copy --data d --wait 2")
    commands.function("cli.commands.verify.verify_bundle", [])
    commands.function("cli.commands.verify.receipt_problems", ["[b]Lost."])
    commands.function("cli.commands.verify.read_claims", SimpleNamespace(events=["e"]))
    commands.run("verify e s.csv")
    commands.run("verify e s.csv --receipt r.json")
    commands.check_kept("calls-of-folders.txt")


def test_commands_learn_whether_a_file_is_readable_by_reading_it(
    commands: RecordedCommands,
) -> None:
    """The permissions that the system reports do not hold on every file system."""
    commands.monkeypatch.setattr("os.access", lambda *_: False)
    for name in ("s.csv", "t.csv", "v.csv"):
        (commands.folder / name).touch()
    commands.function("cli.commands.validate.validate_files", ((), ()))
    commands.function("cli.commands.validate.prepare_readers")
    commands.function("cli.commands.rank.read_cases", InputError("It was read."))
    for line in ("validate s.csv t.csv --metric mae", "rank v.csv", "import new --manifest t.csv"):
        commands.run(line, import_folder=[], submissions=[])
        assert commands.lines[-1] != "[2]\n"


def test_score_fails_without_a_ranked_team_or_with_a_rejected_file_if_strict(
    commands: RecordedCommands,
) -> None:
    commands.function("cli.commands.score.show_result")
    commands.function("cli.commands.score.prepare_readers")
    commands.monkeypatch.setattr("arena.cli.commands.score.replace", lambda result, **_: result)
    commands.monkeypatch.setattr("arena.cli.commands.score._hint_at_columns", lambda *_: None)
    for standings, rejected, option, code in (
        ([1], [], "--strict", 0), ([1], [1], "", 0), ([1], [1], "--strict", 1),
        ([], [1], "", 1), ([], [], "--strict", 1),
    ):  # fmt: skip
        result = SimpleNamespace(standings=standings, rejected=rejected)
        commands.function("cli.commands.score.score_files", result)
        commands.run(f"score s.csv t.csv --metric mae {option}")
        assert commands.lines[-1] == f"[{code}]\n", (standings, rejected, option)
        assert ("No submission could be ranked" in commands.lines[-2]) == (not standings)


def test_serve_calls_and_prints_as_kept(commands: RecordedCommands) -> None:
    folders = [commands.folder / "Race_1", commands.folder / "cup"]
    for folder, sandbox in zip(folders, ("", "bwrap"), strict=True):
        folder.mkdir()
        (folder / "competition.toml").write_text(
            f'[metric]\nname = "mae"\n[programs]\nsandbox = "{sandbox}"\n'
        )
    (race, cup), lines, patch = folders, commands.lines, commands.monkeypatch
    opened = RecordedObject(lines, {}, {})
    store = SimpleNamespace(open=recorded_function(lines, "open", opened))
    patch.setattr("arena.store.Store", store)
    for place in ("marker.note_records", "permissions.prepare", "scorer.main.run"):
        commands.function(f"server.{place}")
    for place in ("marker.locked", "marker.marked", "checker.listen"):
        commands.block(f"server.{place}")
    for place in ("processes.run_web", "checker.serve_files"):
        commands.function(f"server.{place}")
    commands.function("intake.reader.read_by")
    commands.block("cli.commands.serve.borrow_served")
    commands.signals("serve")
    patch.setattr("os.umask", recorded_function(lines, "umask"))
    bound = RecordedObject(lines, {}, {"getsockname": ("127.0.0.1", 8_001), "fileno": 7})
    commands.function("server.supervisor.bind", bound)
    commands.object("server.supervisor.Supervisor")
    commands.object("server.records.accounts.Accounts", organiser_link="http://sign-in")
    commands.run(f"serve -C {race} -C {cup} --port 0 --same-user")
    commands.run(f"serve -C {cup} --url https://a.org/ --data d --host 10.1.2.3 --same-user")
    commands.run(f"serve -C {race} --host 0.0.0.0")
    commands.run(f"serve -C {race} --name '../race'")
    commands.run(f"serve -C {race} --name health")
    commands.run(f"serve -C {race} -C {race}")
    commands.run(f"serve -C {race} -C {cup} --name both")
    user = User("ann", 1_000, gid=1_000)
    commands.function("server.supervisor.User.named", user)
    commands.run(f"serve -C {race} --checker-user ann")
    for number in (1_000, 0):
        patch.setattr("os.geteuid", lambda number=number: number)
        commands.run(f"serve -C {race} --web-user a --checker-user b --host 0.0.0.0 --url http://a")
    commands.run(f"serve -C {race} --part scorer --data d")
    commands.run(f"serve -C {race} --part scorer --data d --url http://a/ --checker-user ann")
    commands.run("serve --part web --name race,cup --data d --url http://a/ --host h --port 81")
    commands.run("serve --part link --name race --data d --url http://a/")
    commands.run("serve --part checker --name race --data d")
    commands.run("serve --part web --data d")
    commands.run("serve --part web --name race")
    for missing, differences, not_compared, revealing in (
        ([], [], [], None), (["[b]No contact."], ["Lost."], [], "One file shows labels."),
        ([], [], ["The queue is old."], "One file shows labels."),
    ):  # fmt: skip
        compared = SimpleNamespace(differences=differences, not_compared=not_compared)
        commands.function("server.check.problems", missing)
        commands.function("server.compare.stored_differences", compared)
        commands.function("public_board.advice.too_much_revealed", revealing)
        attributes = dict.fromkeys(("settings", "solution", "manager"))
        view = SimpleNamespace(
            open=recorded_function(lines, "view", RecordedObject(lines, attributes, {}))
        )
        patch.setattr("arena.competition.view.CompetitionView", view)
        commands.run(f"serve -C {race} --check --url http://a/")
    commands.run(f"serve -C {race} -C {cup} --check")
    commands.function("server.records.sqlite.damage", "file is not a database")
    commands.run(f"serve -C {race}")
    commands.function("server.marker.served_folder", SimpleNamespace(url="http://b"))
    commands.run(f"serve -C {race}")
    commands.check_kept("calls-of-servers.txt")


def test_demo_and_report_call_and_print_as_kept(commands: RecordedCommands) -> None:
    patch, lines = commands.monkeypatch, commands.lines
    commands.function("cli.commands.demo.write_competition", ["a", "b"])
    commands.function("cli.commands.demo.score", "the result")
    commands.function("report.contents.board_report", "the report")
    commands.function("cli.commands.demo.show_result")
    commands.run("demo --seed 3")
    commands.run("demo --out d --title T --json")
    for opens in (True, False):
        patch.setattr("webbrowser.open", recorded_function(lines, "open", opens))
        commands.run("demo --out 'my demo' --report r.html --open")
    trial = replace(TRIAL, end=End.TIME)
    answers = [("a", SubmittedProgram(TRIAL, answer_of(1, "accepted")))]
    answers += [("b", SubmittedProgram(trial, None)), ("c", SubmittedProgram(None, None))]
    commands.function("cli.commands.demo_programs.run_demo", answers)
    commands.run("demo --programs --out 'my programs' --seed 3")
    (commands.folder / "file").touch()
    for options in ("--out .", "--out file", "--programs --out ."):
        commands.run(f"demo {options}")
    for option in ("--json", "--report r.html", "--charts c", "--open"):
        commands.run(f"demo --programs {option}")
    commands.function("report.competition.public_competition_report", "the public report")
    commands.function("report.competition.competition_report", "the report")
    commands.function("report.final_page.final_page", "the page")
    commands.function("cli.commands.report.write_outputs")
    for options in ("", "--public --phase one --charts c", "--final --title T", "--public --final"):
        commands.run(f"report --out r.html {options}")
    commands.check_kept("calls-of-reports.txt")


def test_commands_that_simulate_call_and_print_as_kept(commands: RecordedCommands) -> None:
    commands.monkeypatch.setenv("COLUMNS", "100")
    places = "simulation.competition"
    commands.function(
        f"{places}.simulate.prepare_simulation", SimpleNamespace(notes=["[b]Prepared."])
    )
    commands.function(f"{places}.run.stored_submissions", 1_200)
    commands.function("cli.commands.simulate_competition.show_report")
    stories = [SimpleNamespace(notes=notes) for notes in (("[b]One.", "Two."), ("Two.",))]
    simulation = SimpleNamespace(folder=Path("s"), stories=stories)
    finished = SimpleNamespace(simulation=simulation, document=None)
    commands.function(f"{places}.simulate.run_simulation", finished)
    for options in ("", "--seeds 2", "--drawn", "--json"):
        commands.run(f"simulate competition [b]s --metric mae {options}")
    for options, error in (
        ("", KeyboardInterrupt()),
        ("--seeds 2", RuntimeError("INTERRUPTED by the user")),
        ("", RuntimeError("Another error.")),
    ):
        commands.function(f"{places}.simulate.run_simulation", error)
        commands.run(f"simulate competition [b]s --metric mae {options}")
    commands.function("simulation.ranks.prepare.prepare", "the study")
    commands.function("cli.commands.simulate_ranks.show_report")
    shutil = SimpleNamespace(rmtree=recorded_function(commands.lines, "rmtree"))
    commands.monkeypatch.setattr("arena.cli.commands.simulate_ranks.shutil", shutil)
    commands.monkeypatch.setattr(
        "tempfile.mkdtemp", recorded_function(commands.lines, "mkdtemp", "t")
    )
    for ended, n_models in (
        ("the ranks", 0), (KeyboardInterrupt(), 1_200), (InputError("Bad."), 3),
        (InputError("Bad."), 0),
    ):  # fmt: skip
        commands.function("simulation.ranks.prepare.run", ended)
        commands.function("simulation.ranks.prepare.count_models", n_models)
        for options in ("", "--models [b]m"):
            commands.run(f"simulate ranks {options}")
    likeness = Likeness(
        {"a": 5}, 40, compared=(Compared("teams with one entry", "a", real=1.0, low=0.5, high=1.0),)
    )
    for boards in (1, 2):
        commands.function("simulation.past.boards.read_boards", ["a board"] * boards)
        commands.function(f"{places}.likeness.compare_with_past", likeness)
        commands.run("simulate likeness past.csv --simulated 1200 --seed 2")
    commands.run("simulate likeness past.csv --json")
    commands.check_kept("calls-of-simulations.txt")


def test_plan_and_score_write_their_outputs_as_kept(commands: RecordedCommands) -> None:
    patch, lines = commands.monkeypatch, commands.lines
    sections = [SimpleNamespace(charts=()), SimpleNamespace(charts=("chart",))]
    charts, no_charts = (
        RecordedObject(lines, {"sections": some}, {"under": f"the page under {name}"})
        for some, name in ((sections, "a heading"), (sections[:1], "another"))
    )
    answer = {"to_dict": {"[b]schema": 1}}
    advice = RecordedObject(lines, {"notes": ["[b]One.", "Two."]}, answer)
    commands.block("cli.commands.plan.resumable")
    commands.function("cli.commands.plan.prepare_readers")
    for place in ("pilot.plan_competition", "pilot.plan_files", "questions.plan_table"):
        commands.function(f"simulation.plan.{place}", advice)
    commands.function("simulation.plan.queue.plan_of", advice)
    for name in ("plan", "questions", "queue"):
        commands.function(f"report.plan.{name}_report", charts)
    commands.function("report.terminal.print_report")
    commands.function("cli.reporting.console", RecordedObject(lines, {}, {}))
    commands.function("report.page", "é" * 30)  # 60 bytes
    commands.function("report.write_file")
    commands.function("report.write_charts", ["file"] * 1_200)
    patch.setattr("arena.cli.reporting.picture_of", recorded_function(lines, "picture", "data:"))
    for name in ("s.csv", "t.csv"):
        (commands.folder / name).touch()
    pilot = "plan s.csv t.csv --metric mae"
    heading = "--title T --organiser O --date D --logo s.csv"
    for line in (
        "plan", "plan --json", "plan -C . --phase one --wait 2 --resume r", f"{pilot} --resume r",
        f"{pilot} --json --report [b]r.html", f"{pilot} --report r.html {heading}",
        f"{pilot} --charts [b]c", f"{pilot} -C .", "plan --from t.csv", "plan --from t.csv --json",
        "plan --from t.csv --phase one", "plan --programs 20 --charts c",
        "plan --programs 20 --json", "plan --programs 20 --wait 1", "plan --title T",
        "plan --logo s.csv", "plan --report missing/r.html", "plan --charts s.csv",
    ):  # fmt: skip
        commands.run(line)
    commands.function("report.plan.queue_report", no_charts)
    commands.run("plan --programs 20 --charts c")
    story = [SimpleNamespace(folder=str(commands.folder / "[b]seed")), SimpleNamespace(folder=".")]
    commands.function("simulation.competition.seeds.read_stories", ("", story))
    commands.run("plan --rehearsal .")
    for name in ("f/x", "d/x", "b/x", "a/x", "c/x", "e/x"):
        (commands.folder / "[b]seed" / name).mkdir(parents=True)
        (commands.folder / "[b]seed" / name / "competition.toml").touch()
    commands.run("plan --rehearsal .")
    commands.run("plan --rehearsal . -C c")

    result = RecordedObject(lines, {"notes": ["[b]One."], "standings": [1], "rejected": []}, answer)
    commands.function("cli.commands.score.score_files", result)
    commands.function("cli.commands.score.prepare_readers")
    patch.setattr("arena.cli.commands.score.replace", lambda result, **_: result)
    commands.function("cli.board.print_result")
    commands.function("report.contents.board_report", charts)
    commands.function("report.text_tables.board_table", "the table")
    for options in (
        "", "--wide", "--json", "--table [b]t.md", "--report r.html", "--charts c --json",
        "--table t.txt", "--table missing/t.md", "--no-intervals --report r.html",
        "--no-intervals --charts c",
    ):  # fmt: skip
        commands.run(f"score s.csv t.csv --metric mae {options}")
    commands.check_kept("calls-of-outputs.txt")


def test_commands_for_the_final_result_call_and_print_as_kept(commands: RecordedCommands) -> None:
    commands.monkeypatch.setenv("COLUMNS", "75")
    pair = SimilarSubmissions(
        identical=True, submissions=(1, 2), teams=("[b]a", "b"), differing=0.0, correlation=None
    )
    result = SimpleNamespace(notes=["[b]One."], to_dict=lambda: {"schema": 1})
    commands.block("utils.engines.open_engine")
    commands.function("cli.commands.finalize._report", "the report")
    commands.function("cli.commands.finalize.show_result")
    for options, pairs in (
        ("--wait 2", 0), ("--phase one --no-intervals --workers 2", 2), ("--report r.html", 21),
        ("--charts c --wide --title T --report r.html", 20), ("--no-intervals --charts c", 0),
        ("--workers -1", 0),
    ):  # fmt: skip
        answers = {"finalize": result, "similar_submissions": [pair] * pairs}
        board = RecordedObject(commands.lines, {"phase": "two"}, answers)
        commands.run(f"finalize {options}", in_phase=board)
    for options, teams in (("", []), ("--team a -t [b]b", ["a", "[b]b"]), ("--apply", ["a"])):
        admitted = SimpleNamespace(teams=teams, notes=["[b]Near."])
        commands.run(f"qualify [b]final {options}", qualify=admitted)
    boards = {
        "": [
            {"rank": 1, "team": "[b]a", "submission": 4},
            {"rank": 2, "team": "b", "submission": 5, "possible_winner": True,
             "verification": "failed", "verification_note": "No [b]code."},
            {"rank": 3, "team": "c", "submission": 6, "verification": "verified"},
            {"rank": 4, "team": "d", "submission": 7},
        ],
        "[b]speed": [{"rank": None, "team": "a", "submission": 4}],
    }  # fmt: skip
    published_results = {"private_leaderboards": boards, "publication_warnings": ["[b]Wait."]}
    commands.run("winners", **published_results, outdated="[b]Finalize again.")
    commands.run(
        "winners --phase one", private_leaderboards={}, publication_warnings=[], outdated=None
    )
    commands.run("winners 4 --state verified --note ok --phase one --wait 2")
    for options in ("4", "--state verified", "4 --state wrong"):
        commands.run(f"winners {options}")
    rows = [{"team": name, "rank": rank, "score": score} for name, rank, score in (
        ("[b]a", 1, 0.75), ("b" * 33, 2, 0.5), ("c", None, 0.25),
    )]  # fmt: skip
    commands.monkeypatch.setenv("COLUMNS", "140")
    release = Release(0.5, improved=True)
    boards_shown = [
        ReplayedBoard("ladder(eta=0.01)", "team", {1: release, 2: release}, rows),
        ReplayedBoard(
            "[b]" + 38 * "k", "competition", {1: replace(release, improved=False)}, rows[1:]
        ),
    ]
    for options, history in (("", [1, 2]), ("--scope team --phase one", [1]), ("", [])):
        replayed: Any = Replay(
            title="Race", metric="mae", greater_is_better=False, released=boards_shown[0],
            replayed=(boards_shown[1],), history=history, notes=("[b]One.",),
        )  # fmt: skip
        commands.run(f"replay --mechanism 'ladder(eta=0.01,a=2),kaggle' {options}", replay=replayed)
    document = SimpleNamespace(notes=["[b]One."], to_dict=lambda: {"title": "Race"})
    commands.run("replay --mechanism full --json", replay=document)
    commands.check_kept("calls-of-ends.txt")


def test_files_are_submitted_here_or_to_a_server_as_kept(commands: RecordedCommands) -> None:
    commands.function("cli.commands.submit.prepare_readers")
    accepted = answer_of(1, "accepted")
    protected = {"submit": accepted, "disqualified_teams": {accepted.team: "[b]two accounts"}}
    full = SimpleNamespace(**{**vars(SETTINGS), "public": SimpleNamespace(mechanism="full")})
    rounds = replace(answer_of(1, "accepted"), rounds=(answer_of(2, "rejected"),))
    for options, settings, answers in (
        ("--team a --key k --phase one --answer q=b=c --answer r=", SETTINGS, protected),
        ("--team a --wait 2 -C .", SETTINGS, {"submit": answer_of(2, "rejected")}),
        ("--team a", full, {"submit": rounds, "has_submissions": False, "disqualified_teams": {}}),
        ("--team a --json", full, {"submit": answer_of(3, "refused"), "has_submissions": True}),
        ("--team a --answer q", SETTINGS, {}),
        ("", SETTINGS, {}),
    ):  # fmt: skip
        commands.run(f"submit f.csv {options}", settings=settings, **answers)
    (commands.folder / "token").write_text(" arena_token\n")
    (commands.folder / "bytes").write_bytes(b"\xff")
    state = {
        "status": "accepted", "submission": 7, "score": 0.5, "receipt": None, "place": None,
        "faults": [], "message": "", "request": "q1",
    }  # fmt: skip
    waiting, rejected = (
        {**state, "status": "waiting", "score": None},
        {**state, "status": "rejected"},
    )
    for first_state, last_state, options in (
        (state, None, "--key k --phase one --answer q=b"), (waiting, state, "--wait 2"),
        (waiting, waiting, "--json"), (waiting, rejected, ""),
        ({**state, "rounds": [rejected]}, None, ""), (rejected, None, "--json"),
    ):  # fmt: skip
        commands.object("client.Client", submit=first_state, wait=last_state)
        commands.run(f"submit f.csv --to http://a/race --token-file token {options}")
    for options in (
        "--to http://a", "--to http://a --token-file none", "--to http://a --token-file bytes",
        "--to http://a --team a", "--to http://a -C .", "--token-file token",
    ):  # fmt: skip
        commands.run(f"submit f.csv {options}")
    commands.check_kept("calls-of-submissions.txt")


def test_score_validate_and_rank_pass_on_every_option_as_kept(
    commands: RecordedCommands,
) -> None:
    lines, patch = commands.lines, commands.monkeypatch
    (commands.folder / "b.csv").write_text("team,bracket\n[b]a,x\n")
    for name in ("s.csv", "t.csv"):
        (commands.folder / name).touch()
    columns = (
        "--id i --target a,b --target c --usage u --positive p --classes n,p --cluster c "
        "--tasks k --weight w --soft-labels q,r --no-header i,a --columns x,y"
    )
    board = "--resamples 20 --level 0.9 --seed 3 --ranker bootstrap --decimals 2 --unit s"
    result = SimpleNamespace(standings=[1], rejected=[1])
    for name in ("score", "rank"):
        place = f"cli.commands.{name}"
        patch.setattr(f"arena.{place}.replace", recorded_function(lines, "replace", result))
        commands.function(f"{place}.board_report_if", "the report")
        commands.function(f"{place}.show_result")
    for name in ("score", "validate"):
        commands.function(f"cli.commands.{name}.prepare_readers")
    commands.function("cli.commands.score.score_files", result)
    commands.function("cli.commands.rank.read_cases", "the cases")
    commands.function("cli.commands.rank.rank_table", result)
    commands.block("cli.commands.score.resumable")
    commands.block("utils.engines.open_engine")
    score = "score s.csv t.csv --metric mae"
    for options in (
        f"--metric rmse {columns} {board} --combine mean --weights mae=2 --brackets b.csv "
        "--lower-is-better --split all --db d --no-intervals --full-bootstrap "
        "--workers 2 --engine dask --scheduler a:1 --resume r",
        "--greater-is-better --no-stratify --report r.html --strict --time t", "--stratify",
    ):  # fmt: skip
        commands.run(f"{score} {options}")
    valid, rejected = ["a.csv"] * 1_200, [RejectedFile("[b]b.csv", (Fault("k", "Mend it."),))]
    for files, options in (
        ((valid, ()), ""),
        ((valid[:1], rejected), columns),
        (((), rejected), "--json"),
    ):
        commands.function("cli.commands.validate.validate_files", files)
        commands.run(f"validate s.csv t.csv --metric mae {options}")
    for options in (
        "", f"{board} --lower-is-better --aggregate median --ties min --missing baseline "
        "--baseline b --combine mean_rank --weights k=2 --opposite k,l --value-range 0 inf "
        "--algorithm a --case c --value v --task k --cluster g --repeat r "
        "--algorithm-from folder --records x.y --no-header a,b --format table --workers 2",
        "--greater-is-better --missing -1.5 --strict --time t", "--missing none", "--weights k",
    ):  # fmt: skip
        commands.run(f"rank t.csv {options}")
    result.standings = []
    commands.run("rank t.csv")
    commands.check_kept("calls-of-scores.txt")


def test_lists_as_json_and_without_rows_are_printed_as_kept(commands: RecordedCommands) -> None:
    row = {"phase": "one", "submission": 1, "team": "[b]a"}
    for name, rows in (
        ("phases", [row]),
        ("submissions", [row]),
        ("phases", []),
        ("submissions", []),
    ):
        commands.run(f"{name} --json", **{name: rows}, qualified_follow=True)
        if not rows:
            commands.run(name, **{name: rows})
    commands.run("submissions --team a", submissions=[])
    commands.check_kept("calls-of-lists.txt")


def test_init_names_the_arguments_that_are_missing(commands: RecordedCommands) -> None:
    for arguments, missing in (
        ("", "FOLDER and --solution and --metric"), ("c --solution s.csv", "--metric"),
        ("c --metric mae", "--solution"), ("--solution s.csv --metric mae", "FOLDER"),
    ):  # fmt: skip
        commands.run(f"init {arguments}")
        assert commands.lines[-2:] == [f"arena: Give {missing}: see arena init --help.", "[2]\n"]


def test_init_refuses_options_that_exclude_each_other_as_kept(commands: RecordedCommands) -> None:
    for name in ("empty", "inputs"):
        (commands.folder / name).mkdir()
    for path in ("inputs/rows.csv", "settings.toml"):
        (commands.folder / path).touch()
    base = "c --solution s.csv --metric mae"
    for arguments in (
        f"{base} --programs inputs", f"{base} --sample-inputs inputs",
        f"{base} --programs empty --sample-inputs inputs",
        f"{base} --programs inputs --sample-inputs inputs/rows.csv",
        f"{base} --predictions ftp://host/p", f"{base} --deadline tomorrow",
        "c --solution s.csv --metric ' '", f"{base} --title 'a\tb'", "c --settings settings.toml",
        "--solution s.csv --settings settings.toml",
        *(f"c --solution s.csv --settings settings.toml {option}" for option in (
            "--metric mae", "--lower-is-better", "--title T", "--id row",
        )),
    ):  # fmt: skip
        commands.run(f"init {arguments}")
    commands.check_kept("calls-of-init.txt")


def test_init_creates_competitions_by_its_options_as_kept(commands: RecordedCommands) -> None:
    for name in ("hidden", "shown"):
        (commands.folder / name).mkdir()
        (commands.folder / name / "rows.csv").touch()
    for name, text in (("plain", ""), ("own", '[public]\nmechanism = "ladder"\n')):
        (commands.folder / f"{name}.toml").write_text(f'[metric]\nname = "mae"\n{text}')
    own_settings = SimpleNamespace(
        programs=SimpleNamespace(inputs="i", sample="files/s"),
        server=SimpleNamespace(rules="rules.md"), data=SimpleNamespace(usage="part"),
    )  # fmt: skip
    created = RecordedObject(commands.lines, {"settings": own_settings}, {})

    def create(folder: Path, solution: Path, settings: Any, **others: Any) -> Any:
        changes = settings.model_dump(mode="json", exclude_defaults=True)
        commands.lines.append(f"  {json.dumps(changes)}")
        return recorded_function(commands.lines, "create", created)(folder, solution, **others)

    commands.monkeypatch.setattr("arena.cli.commands.init.Competition.create", create)
    commands.function("cli.commands.init.say_what_was_made")
    base = "init c --solution s.csv --metric mae"
    columns = (
        "--id i --target a,b --positive p --classes n,p --cluster c --tasks k --weight w "
        "--soft-labels q,r --no-header i,a --columns x,y"
    )
    for options, pages in (
        ("", []),
        (f"{columns} --usage part --title [b]T --lower-is-better --mechanism full --per-day 0 "
         "--deadline 2030-01-02T03:04 --public-share 0.2 --predictions p --seed 3", ["rules.md"]),
        ("--per-day 7 --programs hidden --sample-inputs shown", ["pages/overview.md"]),
    ):  # fmt: skip
        commands.function("cli.commands.init.write_pages", pages)
        (commands.folder / "c" / "files").mkdir(parents=True, exist_ok=True)
        commands.run(f"{base} {options}")
    files = [path.relative_to(commands.folder) for path in commands.folder.glob("c/**/rows.csv")]
    assert sorted(map(str, files)) == ["c/files/s/rows.csv", "c/i/rows.csv"]
    for options in ("plain.toml", "own.toml --public-share 0.2 --seed 3"):
        commands.run(f"init c --solution s.csv --settings {options}")
    answers = {
        "folder": Path("my c"), "solution": Path("s.csv"), "metric": "f1", "positive": "yes",
        "public_share": 0.25, "per_day": 0, "deadline": "2030-01-02T03:04", "mechanism": None,
    }  # fmt: skip
    commands.function("cli.commands.init.ask", answers)
    for in_terminal, err_in_terminal in ((True, False), (False, True), (True, True)):
        terminal, err_terminal = (
            SimpleNamespace(isatty=lambda answer=answer: answer)
            for answer in (in_terminal, err_in_terminal)
        )
        streams = SimpleNamespace(stdin=terminal, stderr=err_terminal)
        commands.monkeypatch.setattr("arena.cli.commands.init.sys", streams)
        commands.run(
            "init --solution t.csv --positive p --id i --target a --target b --predictions p "
            "--per-day 3 --title 'my race' --greater-is-better --seed 3 --programs hidden "
            "--sample-inputs shown"
        )
    commands.check_kept("calls-of-creations.txt")


def test_init_describes_the_new_competition_as_kept(
    commands: RecordedCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "arena.cli.commands.init"
    calls: list[Any] = []

    def protection_notes(
        _: Any, solution: Any, *, has_public_rows: bool, phase: str, **__: Any
    ) -> list[str]:
        calls.append((has_public_rows, phase))
        return ["It is not protected."]

    for name, answer in (
        ("notes_of", ["A note."]), ("meaning_of_columns", ["Columns."]),
        ("soft_label_warnings", []),
    ):  # fmt: skip
        commands.monkeypatch.setattr(f"{place}.{name}", lambda *_, answer=answer: answer)
    commands.monkeypatch.setattr(f"{place}.protection_notes", protection_notes)

    def say(usage: str, *, has_rows: bool = True, n_pending: int = 0, phases: int = 0) -> None:
        kinds = {"p": Usage.PUBLIC, "q": Usage.PRIVATE, "i": Usage.IGNORED}
        solution = SimpleNamespace(
            usage=np.array([kinds[letter] for letter in usage]),
            pending=np.arange(len(usage)) >= len(usage) - n_pending,
        )
        deadline = datetime(2999 if phases == 1 else 1999, 1, 2, 3, 4, tzinfo=UTC)
        board = SimpleNamespace(
            phase="one" if phases else "", solution=solution,
            settings=SimpleNamespace(competition=SimpleNamespace(deadline=deadline)),
            pending_labels=lambda *, private: "pending" if n_pending > 1 else None,
        )  # fmt: skip
        questions = {
            key: SimpleNamespace(choices=choices, required=required, shown=shown_to)
            for key, choices, required, shown_to in (
                ("a", ['x "$y"', "z"], True, "board"), ("b", [], True, "board"),
                ("c", [], False, "board"), ("d", [], True, "organiser"),
            )
        }  # fmt: skip
        settings = SimpleNamespace(
            metric=SimpleNamespace(specification="m"), programs=SimpleNamespace(sandbox=""),
            question=questions if phases else {},
        )  # fmt: skip
        commands.monkeypatch.setattr(
            f"{place}.modality_of", lambda _: SimpleNamespace(has_rows=has_rows)
        )
        competition: Any = SimpleNamespace(
            solution=solution, settings=settings, in_phase=lambda: board,
            manager=SimpleNamespace(metrics=SimpleNamespace(resolve=str)),
            phases=lambda: [{"state": "open"}] * phases + [{"state": "over"}],
        )  # fmt: skip
        init.say_what_was_made(Path("my c"), competition)
        commands.lines += [*capsys.readouterr().out.splitlines(), ""]

    say("ppqi")
    say("p" + "q" * 1_200 + "iii", n_pending=2, phases=1)
    say("qqi", n_pending=1, phases=2)
    say("qi", has_rows=False)
    assert calls == [(True, ""), (True, "one"), (False, "one"), (False, "")]
    commands.check_kept("made-competitions.txt")


def test_a_folder_without_a_database_gets_none_when_a_command_fails(
    commands: RecordedCommands,
) -> None:
    (commands.folder / "competition.toml").touch()
    assert find_folder(commands.folder) == commands.folder
    assert changed_outside() is None
    assert [path.name for path in commands.folder.iterdir()] == ["competition.toml"]


def test_a_database_that_another_program_changed_is_named_with_the_first_difference(
    commands: RecordedCommands,
) -> None:
    (commands.folder / "competition.toml").touch()
    find_folder(commands.folder)
    for problems in ([], ["One.", "Two."]):
        store = RecordedObject(commands.lines, {}, {"audit": problems})
        opened = SimpleNamespace(open=recorded_function(commands.lines, "open", store))
        commands.monkeypatch.setattr("arena.store.Store", opened)
        assert changed_outside() == (
            f"The database '{commands.folder}/arena.duckdb' was changed by another program: One. "
            "Restore a backup; `arena audit` names every difference."
            if problems
            else None
        )
    path = f"{commands.folder}/arena.duckdb"
    expected = [f"  open({path}, create=False, read_only=True)", "  audit(outside=False)"]
    assert commands.lines == 2 * [*expected, "  it is closed"]


def test_lists_and_checks_of_plugins_are_printed_as_kept(commands: RecordedCommands) -> None:
    commands.monkeypatch.setenv("COLUMNS", "100")
    manager = PluginManager()
    for module in ("items", "commands.metrics"):
        commands.monkeypatch.setattr(f"arena.cli.{module}.PluginManager", lambda: manager)
    for line in (
        "metrics accuracy", "metrics 'f1(average=macro)'", "metrics mcc", "metrics --check",
        "mechanisms 'ladder(eta=0.5)' --json", "analyses --check", "programs sandboxes bwrap",
    ):  # fmt: skip
        commands.run(line)
    commands.monkeypatch.setenv("COLUMNS", "16")
    for line in ("metrics mcc", "mechanisms 'ladder(eta=0.5)'"):
        commands.run(line)
    commands.monkeypatch.setenv("COLUMNS", "100")
    checks = [("passed", "one", ""), ("skipped", "[b]two", "Not now."), ("failed", "three", "Why?")]
    results = [
        SimpleNamespace(outcome=outcome, name=name, message=message)
        for outcome, name, message in checks
    ]
    for some_results in (results[:1], results):
        failed = [check for check in some_results if check.outcome == "failed"]
        document = {"checks": [check.name for check in some_results]}
        conformance = SimpleNamespace(
            checks=some_results, failed=failed, to_dict=lambda d=document: d
        )
        for suite in ("check_metric", "check_mechanism"):
            commands.function(f"testing.{suite}", conformance)
        for line in ("metrics accuracy", "mechanisms full", "mechanisms full --json"):
            commands.run(f"{line} --check")
    commands.check_kept("items.txt")
