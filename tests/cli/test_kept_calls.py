"""What each command asks of the rest of arena, and what it says of each answer."""

from __future__ import annotations

import importlib
import shlex
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.cli.folder import changed_outside, find_folder
from arena.competition.other_platforms import ImportedSettings
from arena.competition.programs.local_runs import SubmittedProgram
from arena.competition.rescore import RankChange
from arena.competition.submit import Submitted
from arena.errors import InputError
from arena.interfaces import End, Outcome
from arena.plugin.manager import PluginManager
from arena.server.supervisor import User
from arena.simulation.competition.likeness import Compared, Likeness
from arena.types import Fault
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


class Told:
    """Runs commands whose competition is recorded, and keeps what they call and print."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.lines: list[str] = []

    def function(self, place: str, answer: Any = None) -> None:
        """Let a function of arena write its call and give an answer."""
        name = place.rpartition(".")[2]
        self.monkeypatch.setattr(f"arena.{place}", recorded_function(self.lines, name, answer))

    def object(self, place: str, attributes: dict[str, Any] | None = None, **answers: Any) -> None:
        """Let a class of arena write how it is made, and the calls of what is made."""
        self.function(place, RecordedObject(self.lines, attributes or {}, answers))

    def block(self, place: str) -> None:
        name = place.rpartition(".")[2]
        self.monkeypatch.setattr(f"arena.{place}", recorded_block(self.lines, name))

    def signals(self, command: str) -> None:
        """Let a command write which signals it handles, and handle none."""
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


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setenv("COLUMNS", "16")  # sentences are not wrapped where they may be copied
    folder = tmp_path / "c"
    folder.mkdir()
    return Told(folder, monkeypatch)


def test_what_an_organiser_decides_is_asked_and_told_as_kept(told: Told) -> None:
    told.run("pause --reason wrong --wait 2")
    told.run("resume -C .")
    told.run("exempt [b]a --extra 2 --reason ill", submissions=[])
    told.run("exempt a --until 2027-01-05T12:00Z --reason ill", submissions=[1])
    told.run("bracket a student")
    told.run("bracket a student --remove", submissions=[1], outdated="Old.")
    notes = {"consequences_of_disqualifying": "It releases nothing."}
    told.run("disqualify 2 --reason [b]copied --preview", **notes)
    told.run("disqualify 2 --reason copied", **notes)
    told.run("disqualify 2 --reason copied", **notes, disqualify="two [b]accounts")
    told.run("disqualify --team [b]a --reason copied", **notes)
    told.run("disqualify --team a --reason mistake --undo", **notes)
    told.run("disqualify 2 --reason mistake --undo", **notes)
    told.run("disqualify --reason mistake", **notes)
    told.run("disqualify 2 --team a --reason mistake", **notes)
    told.run("select --team ' a' 3 1 3 --late", select="chosen")
    told.run("select --team a --phase one", select="best public")
    told.run("withdraw 3 --team a")
    records = [SimpleNamespace(team="b"), SimpleNamespace(team="A")]
    told.run("team rename b a", records=records)
    told.run("team rename b c", records=records)
    told.run("team merge [b]a b", submissions=[1])
    told.run("team merge a b", submissions=[1, 2])
    told.check_kept("calls-of-decisions.txt")


CHANGES = [
    RankChange("[b]a", 1, rank_after=2, score_before=0.5, score_after=0.25),
    RankChange("b", None, rank_after=1, score_before=None, score_after=1 / 3, phase="two"),
    RankChange("c", 3, rank_after=3, score_before=0.125, score_after=0.125),
]


def test_what_changes_the_data_is_asked_and_told_as_kept(told: Told) -> None:
    told.monkeypatch.setenv("COLUMNS", "75")
    told.run("labels add l.csv --workers 2", add_labels=CHANGES, outdated="Old.")
    told.run("labels add l.csv --json", add_labels=CHANGES[2:])
    told.run("rescore --solution s.csv", rescore=CHANGES, outdated="Old.")
    told.run("rescore --apply", rescore=CHANGES[2:], outdated="Old.")
    told.run("rescore --apply --json", rescore=CHANGES)
    told.run("rows add r.csv")
    told.run("publish --phase two", publication_warnings=["[b]Wait."], publish=3)
    told.run("retract --reason wrong", retract=3)
    told.run("export out", export=["one"])
    told.run("export out", export=["one", "two"])
    told.run("export out --site --phase one")
    told.function("server.archive.write_site", 12)
    told.run("export out --site")
    told.function("server.archive.write_site", PermissionError(13, "Permission denied"))
    told.run("export out --site")
    (told.folder / "out").mkdir()
    told.run("export out --site")
    (told.folder / "out" / "file").touch()
    told.run("export out --site")
    told.run("export out/file --site")
    told.check_kept("calls-of-data.txt")


def answer_of(submission: int, status: str) -> Submitted:
    faults = (
        ()
        if status == "accepted"
        else (Fault("lines", "A line is longer than a line of this terminal."),)
    )
    return Submitted(submission, "[b]a", status=status, released=0.5, faults=faults)


def test_what_is_sent_or_imported_is_asked_and_told_as_kept(told: Told) -> None:
    accepted, rejected = answer_of(1, "accepted"), answer_of(2, "rejected")
    files = [{"submission": 1, "file": "[b]a.csv"}, {"submission": 2, "file": "b.csv"}]
    told.run("import files", import_folder=[accepted, rejected], submissions=files)
    told.run("import files --strict", import_folder=[accepted, rejected], submissions=files)
    told.run("import files --strict", import_folder=[accepted], submissions=files)
    told.run(
        "import files --json", import_folder=[rejected], submissions=files, settings=OF_PROGRAMS
    )
    told.run("import files --manifest m.csv", import_folder=[], submissions=[])
    told.run("import files --codabench bundle --json")
    told.run("import files --codabench bundle --evalai challenge")
    imported = ImportedSettings(
        row_sets={"Public": "[b]p.csv", "Private": "q.csv"}, left_out=["fee: [b]1"]
    )
    told.monkeypatch.setattr(
        ImportedSettings,
        "write",
        lambda _, folder: [folder / "settings.toml", folder / "[b]page.md"],
    )
    told.function("competition.other_platforms.settings_from_codabench", imported)
    told.function(
        "competition.other_platforms.settings_from_evalai", replace(imported, row_sets={})
    )
    told.run("import 'my files' --codabench bundle")
    told.run("import files --evalai challenge")
    told.check_kept("calls-of-files.txt")


TRIAL = Outcome(end=End.OK, seconds=1.5, cpu_seconds=1.25, peak_mb=20.0, log=b"[b]log", output=None)


def test_how_programs_are_sent_and_run_is_asked_and_told_as_kept(told: Told) -> None:
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
        told.run(
            f"submit main.py --team a {options}",
            settings=OF_PROGRAMS,
            submit_program=SubmittedProgram(trial, submitted),
        )
    told.signals("runner")
    opened_runner = RecordedObject(told.lines, {"key": SimpleNamespace(name="[b]m")}, {})
    runner = recorded_function(told.lines, "Runner", opened_runner)
    runner.digests = list  # type: ignore[attr-defined]
    told.monkeypatch.setattr("arena.runner.Runner", runner)
    key = SimpleNamespace(read=recorded_function(told.lines, "read", "the key"))
    told.monkeypatch.setattr("arena.runner.RunnerKey", key)
    for options in (
        "--inputs i --to http://a --once", "--sample s --work w", "--to http://a", "--inputs i",
        "--inputs i --to http://a --work w",
    ):  # fmt: skip
        told.run(f"runner --token-file t --sandbox bwrap {options}")
    told.function("competition.programs.runners.add_runner", Path("runners/m.json"))
    told.function("cli.commands.programs.find_folder", Path("c"))
    told.run("programs runner m")
    for options in ("-r r.txt", "--image i.tar", "", "-r r.txt --image i.tar"):
        for name in ("make_environment", "unpack_environment"):
            digest = SimpleNamespace(digest="f" * 64)
            told.function(f"programs.environments.{name}", digest)
        told.monkeypatch.setattr("arena.programs.running.environments_folder", lambda: Path("e"))
        told.run(f"programs environment {options}")
    told.check_kept("calls-of-programs.txt")


def test_how_a_folder_is_kept_whole_is_asked_and_told_as_kept(told: Told) -> None:
    (told.folder / "competition.toml").touch()
    told.function("cli.commands.repair.repair_database", SimpleNamespace(sentence="[b]Repaired."))
    told.run("repair")
    opened = RecordedObject(told.lines, {}, {"remove_unused_objects": ["x"] * 1_200})
    store = SimpleNamespace(open=recorded_function(told.lines, "open", opened))
    told.monkeypatch.setattr("arena.cli.commands.repair.Store", store)
    told.run("repair --remove-unused")
    told.function("cli.commands.upgrade.upgrade_competition", ["[b]One.", "Two."])
    told.run("upgrade")
    told.function("server.backup.backup", 1_234_567_890)
    told.block("cli.commands.backup.borrow_served")
    for place, missing in (
        (None, 0), ("inside", 1_200), (str(told.folder / "p"), 0), ("s3://bucket/p", 0)
    ):  # fmt: skip
        settings = SimpleNamespace(store=SimpleNamespace(predictions=place))
        opened = RecordedObject(
            told.lines, {"settings": settings}, {"missing_predictions": missing}
        )
        competition = SimpleNamespace(open=recorded_function(told.lines, "open", opened))
        told.monkeypatch.setattr("arena.cli.commands.backup.Competition", competition)
        told.run("backup [b]copy" if place else "backup copy --data d --wait 2")
    told.function("cli.commands.verify.verify_bundle", [])
    told.function("cli.commands.verify.receipt_problems", ["[b]Lost."])
    told.function("cli.commands.verify.read_claims", SimpleNamespace(events=["e"]))
    told.run("verify e s.csv")
    told.run("verify e s.csv --receipt r.json")
    told.check_kept("calls-of-folders.txt")


def test_how_competitions_are_served_is_asked_and_told_as_kept(told: Told) -> None:
    folders = [told.folder / "Race_1", told.folder / "cup"]
    for folder, sandbox in zip(folders, ("", "bwrap"), strict=True):
        folder.mkdir()
        (folder / "competition.toml").write_text(
            f'[metric]\nname = "mae"\n[programs]\nsandbox = "{sandbox}"\n'
        )
    (race, cup), lines, patch = folders, told.lines, told.monkeypatch
    opened = RecordedObject(lines, {}, {})
    store = SimpleNamespace(open=recorded_function(lines, "open", opened))
    patch.setattr("arena.store.Store", store)
    for place in ("marker.note_records", "permissions.prepare", "scorer.main.run"):
        told.function(f"server.{place}")
    for place in ("marker.locked", "marker.marked", "checker.listen"):
        told.block(f"server.{place}")
    for place in ("processes.run_web", "checker.serve_files"):
        told.function(f"server.{place}")
    told.function("intake.reader.read_by")
    told.block("cli.commands.serve.borrow_served")
    told.signals("serve")
    patch.setattr("os.umask", recorded_function(lines, "umask"))
    bound = RecordedObject(lines, {}, {"getsockname": ("127.0.0.1", 8_001), "fileno": 7})
    told.function("server.supervisor.bind", bound)
    told.object("server.supervisor.Supervisor")
    told.object("server.records.accounts.Accounts", organiser_link="http://sign-in")
    told.run(f"serve -C {race} -C {cup} --port 0 --same-user")
    told.run(f"serve -C {cup} --url https://a.org/ --data d --host 10.1.2.3 --same-user")
    told.run(f"serve -C {race} --host 0.0.0.0")
    told.run(f"serve -C {race} --name '../race'")
    told.run(f"serve -C {race} --name health")
    told.run(f"serve -C {race} -C {race}")
    told.run(f"serve -C {race} -C {cup} --name both")
    user = User("ann", 1_000, gid=1_000)
    told.function("server.supervisor.User.named", user)
    told.run(f"serve -C {race} --checker-user ann")
    for number in (1_000, 0):
        patch.setattr("os.geteuid", lambda number=number: number)
        told.run(f"serve -C {race} --web-user a --checker-user b --host 0.0.0.0 --url http://a")
    told.run(f"serve -C {race} --part scorer --data d")
    told.run(f"serve -C {race} --part scorer --data d --url http://a/ --checker-user ann")
    told.run("serve --part web --name race,cup --data d --url http://a/ --host h --port 81")
    told.run("serve --part link --name race --data d --url http://a/")
    told.run("serve --part checker --name race --data d")
    told.run("serve --part web --data d")
    told.run("serve --part web --name race")
    for missing, differences, not_compared, revealing in (
        ([], [], [], None), (["[b]No contact."], ["Lost."], [], "One file shows labels."),
        ([], [], ["The queue is old."], "One file shows labels."),
    ):  # fmt: skip
        compared = SimpleNamespace(differences=differences, not_compared=not_compared)
        told.function("server.check.problems", missing)
        told.function("server.compare.stored_differences", compared)
        told.function("public_board.advice.too_much_revealed", revealing)
        attributes = dict.fromkeys(("settings", "solution", "manager"))
        view = SimpleNamespace(
            open=recorded_function(lines, "view", RecordedObject(lines, attributes, {}))
        )
        patch.setattr("arena.competition.view.CompetitionView", view)
        told.run(f"serve -C {race} --check --url http://a/")
    told.run(f"serve -C {race} -C {cup} --check")
    told.function("server.records.sqlite.damage", "file is not a database")
    told.run(f"serve -C {race}")
    told.function("server.marker.served_folder", SimpleNamespace(url="http://b"))
    told.run(f"serve -C {race}")
    told.check_kept("calls-of-servers.txt")


def test_how_scores_and_reports_are_asked_and_told_as_kept(told: Told) -> None:
    patch, lines = told.monkeypatch, told.lines
    told.function("cli.commands.demo.write_competition", ["a", "b"])
    told.function("cli.commands.demo.score", "the result")
    told.function("report.contents.board_report", "the report")
    told.function("cli.commands.demo.show_result")
    told.run("demo --seed 3")
    told.run("demo --out d --title T --json")
    for opens in (True, False):
        patch.setattr("webbrowser.open", recorded_function(lines, "open", opens))
        told.run("demo --out 'my demo' --report r.html --open")
    trial = replace(TRIAL, end=End.TIME)
    answers = [("a", SubmittedProgram(TRIAL, answer_of(1, "accepted")))]
    answers += [("b", SubmittedProgram(trial, None)), ("c", SubmittedProgram(None, None))]
    told.function("cli.commands.demo_programs.run_demo", answers)
    told.run("demo --programs --out 'my programs' --seed 3")
    (told.folder / "file").touch()
    for options in ("--out .", "--out file", "--programs --out ."):
        told.run(f"demo {options}")
    for option in ("--json", "--report r.html", "--charts c", "--open"):
        told.run(f"demo --programs {option}")
    told.function("report.competition.public_competition_report", "the public report")
    told.function("report.competition.competition_report", "the report")
    told.function("report.final_page.final_page", "the page")
    told.function("cli.commands.report.write_outputs")
    for options in ("", "--public --phase one --charts c", "--final --title T", "--public --final"):
        told.run(f"report --out r.html {options}")
    told.check_kept("calls-of-reports.txt")


def test_how_simulations_are_asked_and_told_as_kept(told: Told) -> None:
    told.monkeypatch.setenv("COLUMNS", "100")
    places = "simulation.competition"
    told.function(f"{places}.simulate.prepare_simulation", SimpleNamespace(notes=["[b]Prepared."]))
    told.function(f"{places}.run.stored_submissions", 1_200)
    told.function("cli.commands.simulate_competition.show_report")
    stories = [SimpleNamespace(notes=notes) for notes in (("[b]One.", "Two."), ("Two.",))]
    simulation = SimpleNamespace(folder=Path("s"), stories=stories)
    finished = SimpleNamespace(simulation=simulation, document=None)
    told.function(f"{places}.simulate.run_simulation", finished)
    for options in ("", "--seeds 2", "--drawn", "--json"):
        told.run(f"simulate competition [b]s --metric mae {options}")
    for options, error in (
        ("", KeyboardInterrupt()),
        ("--seeds 2", RuntimeError("INTERRUPTED by the user")),
        ("", RuntimeError("Another error.")),
    ):
        told.function(f"{places}.simulate.run_simulation", error)
        told.run(f"simulate competition [b]s --metric mae {options}")
    told.function("simulation.ranks.prepare.prepare", "the study")
    told.function("cli.commands.simulate_ranks.show_report")
    shutil = SimpleNamespace(rmtree=recorded_function(told.lines, "rmtree"))
    told.monkeypatch.setattr("arena.cli.commands.simulate_ranks.shutil", shutil)
    told.monkeypatch.setattr("tempfile.mkdtemp", recorded_function(told.lines, "mkdtemp", "t"))
    for ended, n_models in (
        ("the ranks", 0), (KeyboardInterrupt(), 1_200), (InputError("Bad."), 3),
        (InputError("Bad."), 0),
    ):  # fmt: skip
        told.function("simulation.ranks.prepare.run", ended)
        told.function("simulation.ranks.prepare.count_models", n_models)
        for options in ("", "--models [b]m"):
            told.run(f"simulate ranks {options}")
    likeness = Likeness(
        {"a": 5}, 40, compared=(Compared("teams with one entry", "a", real=1.0, low=0.5, high=1.0),)
    )
    for boards in (1, 2):
        told.function("simulation.past.boards.read_boards", ["a board"] * boards)
        told.function(f"{places}.likeness.compare_with_past", likeness)
        told.run("simulate likeness past.csv --simulated 1200 --seed 2")
    told.run("simulate likeness past.csv --json")
    told.check_kept("calls-of-simulations.txt")


def test_what_is_not_given_to_init_is_named(told: Told) -> None:
    for arguments, missing in (
        ("", "FOLDER and --solution and --metric"), ("c --solution s.csv", "--metric"),
        ("c --metric mae", "--solution"), ("--solution s.csv --metric mae", "FOLDER"),
    ):  # fmt: skip
        told.run(f"init {arguments}")
        assert told.lines[-2:] == [f"arena: Give {missing}: see arena init --help.", "[2]\n"]


def test_a_folder_without_a_database_gets_none_when_a_command_fails(told: Told) -> None:
    (told.folder / "competition.toml").touch()
    assert find_folder(told.folder) == told.folder
    assert changed_outside() is None
    assert [path.name for path in told.folder.iterdir()] == ["competition.toml"]


def test_a_database_that_another_program_changed_is_named_with_the_first_difference(
    told: Told,
) -> None:
    (told.folder / "competition.toml").touch()
    find_folder(told.folder)
    for problems in ([], ["One.", "Two."]):
        store = RecordedObject(told.lines, {}, {"audit": problems})
        opened = SimpleNamespace(open=recorded_function(told.lines, "open", store))
        told.monkeypatch.setattr("arena.store.Store", opened)
        assert changed_outside() == (
            f"The database '{told.folder}/arena.duckdb' was changed by another program: One. "
            "Restore a backup; `arena audit` names every difference."
            if problems
            else None
        )
    path = f"{told.folder}/arena.duckdb"
    calls = [f"  open({path}, create=False, read_only=True)", "  audit(outside=False)"]
    assert told.lines == 2 * [*calls, "  it is closed"]


def test_what_plugins_provide_is_listed_and_checked_as_kept(told: Told) -> None:
    told.monkeypatch.setenv("COLUMNS", "100")
    manager = PluginManager()
    for module in ("items", "commands.metrics"):
        told.monkeypatch.setattr(f"arena.cli.{module}.PluginManager", lambda: manager)
    for line in (
        "metrics accuracy", "metrics 'f1(average=macro)'", "metrics mcc", "metrics --check",
        "mechanisms 'ladder(eta=0.5)' --json", "mechanisms 'ladder(eta=0.5)'",
        "analyses --check", "programs sandboxes bwrap",
    ):  # fmt: skip
        told.run(line)
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
            told.function(f"testing.{suite}", conformance)
        for line in ("metrics accuracy", "mechanisms full", "mechanisms full --json"):
            told.run(f"{line} --check")
    told.check_kept("items.txt")
