"""The program itself: quick help, lazy commands, one line for an error."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import signal
import sys
import time
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from arena import intake
from arena.cli import interrupts, program
from arena.cli import main as main_module
from arena.errors import InputError, PluginError, UsageError
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from checkout import python_path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
OWN_COMMANDS = PROJECT["project"]["entry-points"]["arena.commands"]


def test_help_lists_every_command_with_a_line_that_fits(arena: Any) -> None:
    lines = arena("--help").stdout.splitlines()
    commands = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in commands] == sorted(OWN_COMMANDS)
    assert not [line for line in commands if line.endswith("...")]
    # Where its module is not found, a command is described by its distribution.
    assert not [line for line in commands if "(from " in line]


def _install_command(folder: Path, source: str, module: str = "strange_commands") -> dict[str, str]:
    (folder / f"{module}.py").write_text(source)
    info = folder / "strange-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[arena.commands]\nstrange = {module}:app\n")
    return {"PYTHONPATH": python_path(folder)}


@pytest.mark.slow
def test_a_command_of_a_plugin_is_imported_only_when_called(arena: Any, tmp_path: Path) -> None:
    source = (
        '"""Do something strange."""\n'
        "import typer\n"
        "open('imported', 'w').close()\n"
        "app = typer.Typer()\n"
        "@app.command()\n"
        "def strange(times: int = 1):\n"
        "    print('strange ' * times)\n"
    )
    environment = _install_command(tmp_path, source)
    output = arena("--help", environment=environment).stdout
    assert re.search(r"^  strange +Do something strange\.$", output, flags=re.MULTILINE)
    assert not (tmp_path / "imported").exists()
    assert arena("strange", "--times", 2, environment=environment).stdout == "strange strange \n"
    assert (tmp_path / "imported").exists()


@pytest.mark.slow
def test_a_broken_command_is_named_and_harms_no_other(arena: Any, tmp_path: Path) -> None:
    environment = _install_command(tmp_path, '"""Break."""\nimport nothing_of_that_name\n')
    output = arena("--help", environment=environment).stdout
    assert re.search(r"^  strange +Break\.$", output, flags=re.MULTILINE)
    called = arena("strange", environment=environment)
    assert called.returncode == 3
    assert called.stderr.startswith("arena: The command 'strange' of strange 1.0 cannot be loaded")
    assert len(called.stderr.splitlines()) == 1
    assert arena("plugins", environment=environment).returncode == 0


@pytest.mark.slow
def test_two_commands_of_one_name_are_refused(arena: Any, tmp_path: Path) -> None:
    environment = _install_command(tmp_path, "")
    other = tmp_path / "strange-1.0.dist-info" / "entry_points.txt"
    other.write_text("[arena.commands]\nscore = strange_commands:app\n")
    called = arena("--help", environment=environment)
    assert called.returncode == 1
    assert "both provide 'score'" in called.stderr


def test_a_mistyped_command_is_a_usage_error(arena_here: Any) -> None:
    called = arena_here("plugin")
    assert called.returncode == 2
    assert "Did you mean 'plugins'" in called.stderr


def test_a_traceback_comes_only_when_asked_for(arena_here: Any, competition: Path) -> None:
    arguments = ("score", "solution.csv", "submissions", "--metric", "roc_uac")
    quiet = arena_here(*arguments)
    assert quiet.returncode == 1
    assert quiet.stderr == "arena: There is no metric 'roc_uac'. Did you mean 'roc_auc'?\n"
    assert quiet.stdout == ""
    assert "Traceback" in arena_here(*arguments, "--verbose").stderr


def test_plugins_are_listed(arena_here: Any) -> None:
    document = json.loads(arena_here("plugins", "--json").stdout)
    by_name = {plugin["name"]: plugin for plugin in document["plugins"]}
    names = ["ranks", "task-aggregates", "task-critical-difference", "total-failures"]
    assert by_name["arena_ranking"]["provides"]["analyses"] == names
    assert "roc_auc" in by_name["arena_metrics"]["provides"]["metrics"]
    assert "helm" in by_name["arena_readers"]["provides"]["case_readers"]
    assert not by_name["arena_metrics"]["failures"]
    assert {"name": "score", "origin": "arena-leaderboard 0.1.0"} in document["commands"]
    output = arena_here("plugins").stdout
    for name, provides in (
        ("arena_mechanisms", "7 mechanisms"),
        ("arena_ranking", "1 ranker, 4 analyses"),
        ("arena_sandboxes", "2 sandboxes"),
        ("arena_sota", "1 analysis, 1 paper"),
    ):
        assert re.search(rf"{name} +arena-leaderboard 0\.1\.0 +{provides} *\n", output)


def test_failures_of_a_plugin_are_listed_beside_it(
    arena_here: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        @hookimpl
        def provide_metrics(self) -> None:
            raise ValueError("no licence")

    manager = PluginManager(entry_points=False)
    manager.register(Broken(), "mine")
    monkeypatch.setattr("arena.cli.commands.plugins.PluginManager", lambda: manager)
    (plugin,) = json.loads(arena_here("plugins", "--json").stdout)["plugins"]
    assert plugin["provides"] == {}
    assert plugin["failures"] == [
        "plugin 'mine' failed while running provide_metrics: ValueError: no licence"
    ]
    assert re.search(r"\bmine +.+ +1 *\n", arena_here("plugins").stdout)


@pytest.mark.parametrize("name", ["roc_auc", "f1(average=macro)", "sklearn:jaccard_score"])
def test_a_metric_is_described(arena_here: Any, name: str) -> None:
    document = json.loads(arena_here("metrics", name, "--json").stdout)
    assert document["metrics"][0]["greater_is_better"] is True
    assert name in arena_here("metrics", name).stdout


def test_metrics_are_listed(arena_here: Any) -> None:
    output = arena_here("metrics").stdout
    assert "quadratic_weighted_kappa" in output
    assert "sklearn:NAME" in output


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_terminal_cannot_show_is_replaced(
    arena: Any, arena_here: Any, encoding: str
) -> None:
    listed = arena("metrics", environment={"PYTHONIOENCODING": encoding})
    assert listed.returncode == 0
    assert "?" in listed.stdout
    assert "\N{HORIZONTAL ELLIPSIS}" in arena_here("metrics").stdout


def test_a_narrow_terminal_cuts_nothing_from_the_list_of_metrics(
    arena_here: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = arena_here("metrics").stdout
    table = output[: output.index("module:function:")]
    assert "class" in table
    assert "probabilities" in table
    assert "predicts=time" in table
    assert "\N{HORIZONTAL ELLIPSIS}" not in table
    assert max(map(len, table.splitlines())) <= 80


def test_what_a_library_makes_of_an_interrupt_is_no_fault_of_arena(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main_module.explained_error(ValueError("half a result"))[0] == 3
    monkeypatch.setattr(interrupts, "received", [])
    with pytest.raises(KeyboardInterrupt):
        interrupts.note_interrupt(2, None)
    for error in (ValueError("half a result"), PluginError("Plugin 'x' failed: half a result")):
        code, sentence = main_module.explained_error(error)
        assert (code, sentence) == (130, "Interrupted. Data stored before are intact.")
    assert main_module.explained_error(UsageError("There is no such file."))[0] == 2


def end_of(command: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a function as the command of the program, and return the exit code."""

    class Group:
        def main(self, **_: Any) -> None:
            try:
                command()
            except KeyboardInterrupt:
                sys.exit(1)  # as typer does at a prompt, or while arguments are read

    monkeypatch.setattr(main_module.typer.main, "get_command", lambda _: Group())
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main_module.main([])
    finally:
        signal.signal(signal.SIGINT, before)
        interrupts.received.clear()
    return ended.value.code


def test_an_interrupt_that_typer_answers_ends_with_the_same_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert end_of(lambda: signal.raise_signal(signal.SIGINT), monkeypatch) == 130


def swallow() -> None:
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


class Callback:
    """Is interrupted where Python only reports an exception."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def import_interrupted() -> None:
    """Import a module in whose code the signal comes; compiled code may ignore what it raises."""
    with contextlib.suppress(KeyboardInterrupt):
        import_module("interrupted")
    assert sys.modules.pop("interrupted").whole


@pytest.mark.parametrize("first", [swallow, lambda: Callback() and None, import_interrupted])
def test_an_interrupt_that_other_code_swallows_ends_the_command(
    first: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = "import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n"
    (tmp_path / "interrupted.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(interrupts, "_SECONDS_TO_REPEAT", 0.01)
    cleaned_up = []

    def command() -> None:
        first()
        try:
            time.sleep(60)
        finally:
            time.sleep(0.05)
            cleaned_up.append(True)

    started = time.monotonic()
    assert end_of(command, monkeypatch) == 130
    assert time.monotonic() - started < 50
    assert cleaned_up
    assert capsys.readouterr().err == ""


def test_the_details_of_a_computation_are_said_only_when_asked_for(arena_here: Any) -> None:
    for arguments, level in ((("phases",), logging.INFO), (("phases", "--verbose"), logging.DEBUG)):
        arena_here(*arguments)
        assert logging.getLogger("arena").level == level


KEPT = " The finished part of the work is kept in [b]f: the same command continues from there."
STOPPED = "Interrupted. Data stored before are intact."


@pytest.mark.parametrize(
    ("error", "signals", "code", "message"),
    [
        # 128 and the number of the last signal: 2 is Ctrl-C and 15 SIGTERM.
        (KeyboardInterrupt(), [], 130, STOPPED),
        (KeyboardInterrupt(), [2, 15], 143, STOPPED),
        (PluginError("p: no."), [15], 143, STOPPED),
        (ValueError("no"), [2], 130, STOPPED),
        (PluginError("p: no."), [], 3, "p: no."),
        (InputError("No file."), [2], 1, "No file."),
        (UsageError("No option."), [], 2, "No option."),
        (OSError(28, "No space left", "f"), [], 1, "f: no space left. Nothing more was written."),
        (OSError(28, "No space left"), [], 1, "No space left. Nothing more was written."),
        (SystemExit(0), [], 3, "A plugin or a library called exit. --verbose shows where."),
        *(
            (error, [], 3, f"This is a fault in arena: {what}. --verbose shows where.")
            for error, what in (
                (OSError("none"), "OSError: none"),
                (ValueError("One.\nTwo."), "ValueError: One"),
                (ValueError(), "ValueError"),
            )
        ),
    ],
)
def test_every_kind_of_error_has_its_code_and_its_message(
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    signals: list[int],
    code: int,
    message: str,
) -> None:
    changed: list[str | None] = [None, "It was changed."]
    monkeypatch.setattr(interrupts, "received", signals)
    monkeypatch.setattr("arena.cli.folder.changed_outside", lambda: changed[0])
    monkeypatch.setattr("arena.utils.finished_tasks.where_kept", lambda: None)
    assert main_module.explained_error(error) == (code, message)
    # If another program changed the database, that explains what would be a fault in arena.
    changed.reverse()
    is_fault = message.endswith("--verbose shows where.")
    expected = (1, "It was changed.") if is_fault else (code, message)
    assert main_module.explained_error(error) == expected
    monkeypatch.setattr("arena.utils.finished_tasks.where_kept", lambda: Path("[b]f"))
    explanation = (code, message + KEPT) if message == STOPPED else expected
    assert main_module.explained_error(error) == explanation


def test_a_full_disk_is_reported_when_the_rest_of_the_output_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full() -> None:
        raise OSError(28, "No space left")

    messages: list[str] = []
    monkeypatch.setattr(main_module, "say_error", messages.append)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(flush=full, fileno=lambda: 1))
    codes = []
    for code in (0, 3):
        end = SystemExit(code)
        main_module.write_rest_of_stdout(end)
        codes.append(end.code)
    assert (codes, messages) == ([1, 3], ["No space left. Nothing more was written."])


def test_readers_are_forked_with_what_a_process_that_reads_too_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forked: list[tuple[int, bool]] = []
    monkeypatch.setattr(pa, "compute", import_module("pyarrow.compute"))
    monkeypatch.delitem(sys.modules, "pyarrow.compute")
    monkeypatch.setattr(program, "_commands", [True])
    monkeypatch.setattr(
        intake,
        "prepare_reader",
        lambda count: forked.append((count, "pyarrow.compute" in sys.modules)),
    )
    program.prepare_readers(3, reads_too=False)
    program.prepare_readers(3)
    assert forked == [(3, False), (3, True)]
