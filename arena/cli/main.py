"""The program ``arena``: finds commands, runs one, and reports an error in one line."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from arena.cli import discovery as commands
from arena.cli import interrupts, program
from arena.cli.console import say_error
from arena.errors import ArenaError, PluginError
from arena.utils.file_errors import reason_of
from arena.utils.text import printable, type_and_text

_SIGNALLED = 128
"""The exit code after a signal is this and its number: 130 after Ctrl-C, 143 after SIGTERM."""
_FAULT_IN_ARENA = 3
# Not by the module: that of the base of usage errors, which is not exported, varies with versions.
_ERRORS_OF_TYPER = (typer.Exit, typer.Abort, *typer.BadParameter.__bases__[0].__bases__)


class _UnloadedCommand(TyperCommand):
    """A command that is not imported; its module is read only when its help is shown."""

    def __init__(self, installed: commands.InstalledCommand) -> None:
        super().__init__(name=installed.name)
        self._found = installed

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the line of the command in the help."""
        self.help = self._found.help_line()
        return super().get_short_help_str(limit)


class LazyCommands(TyperGroup):
    """Commands that are imported when they are called, and not for the help."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._found = {command.name: command for command in commands.installed()}
        for name in sorted(self._found):
            self.add_command(_UnloadedCommand(self._found[name]), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command by its name, then import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = self._found[name].load()
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error becomes one message and an exit code."""
        verbose = bool(ctx.params.get("verbose"))
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if _is_for_typer(error):
                _say_what_an_option_is(error)
                raise
            code, message = explained_error(error)
            say_error(message)
            if verbose:
                traceback.print_exc()
        raise typer.Exit(code)


def _is_for_typer(error: BaseException) -> bool:
    """Return whether typer handles the error: usage errors, exits and a closed pipe."""
    closed_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE
    return closed_pipe or isinstance(error, _ERRORS_OF_TYPER)


def _say_what_an_option_is(error: BaseException) -> None:
    """Add the help of a missing option to the error, as what it is that is missing."""
    option: Any = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and getattr(option, "help", None):
        error.message = error.message or option.help  # type: ignore[attr-defined]


def explained_error(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    # Ctrl-C inside of a library can reach the caller as an error of that library, or of a plugin.
    of_library = isinstance(error, PluginError) or not isinstance(error, ArenaError)
    if isinstance(error, KeyboardInterrupt) or (interrupts.received and of_library):
        message = f"Interrupted. Data stored before are intact.{_what_was_kept()}"
        return _code_after_signal(), message
    if isinstance(error, ArenaError):
        return error.exit_code, str(error)
    if isinstance(error, OSError) and error.strerror:
        reason = reason_of(error)
        clause = (
            f"{printable(str(error.filename))}: {reason}"
            if error.filename
            else f"{reason[:1].upper()}{reason[1:]}"
        )
        return 1, f"{clause}. Nothing more was written."
    folder = sys.modules.get("arena.cli.folder")  # of commands that open a competition
    if folder is not None and (changed := folder.changed_outside()) is not None:
        return ArenaError.exit_code, changed
    if isinstance(error, SystemExit):  # not even its code is believed: it may be 0
        return _FAULT_IN_ARENA, "A plugin or a library called exit. --verbose shows where."
    what = type_and_text(error).splitlines()[0]
    return _FAULT_IN_ARENA, f"This is a fault in arena: {what.rstrip('.:')}. --verbose shows where."


def _code_after_signal() -> int:
    return _SIGNALLED + (interrupts.received or [signal.SIGINT])[-1]


def _what_was_kept() -> str:
    """Return that the command continues, if it keeps finished tasks."""
    module = sys.modules.get("arena.utils.finished_tasks")
    folder = None if module is None else module.where_kept()
    if folder is None:
        return ""
    what = printable(str(folder))
    return (
        f" The finished part of the work is kept in {what}: the same command continues from there."
    )


app = typer.Typer(
    cls=LazyCommands,
    name="arena",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich takes 90 ms
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from arena.utils.distribution import installed_version

        typer.echo(f"arena {installed_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the whole traceback of an error.")
    ] = False,
) -> None:
    """Run a prediction competition on your own machine and rank it with honest uncertainty."""


def main(arguments: list[str] | None = None) -> None:
    """Run the program; ``--verbose`` may be anywhere in the arguments."""
    program.starts(alone=arguments is None)
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupts.note_interrupt)
        # systemctl stop and batch systems send it. A program that calls main handles it itself.
        if arguments is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, interrupts.note_interrupt)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for good
        elif getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # the encoding may lack a character
    # Messages of the computing modules, such as that a kernel is being compiled.
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    command_line = sys.argv[1:] if arguments is None else arguments
    logging.getLogger("arena").setLevel(
        logging.DEBUG if "--verbose" in command_line else logging.INFO
    )
    rest = [argument for argument in command_line if argument != "--verbose"]
    ahead = ["--verbose"] if len(rest) < len(command_line) else []
    try:
        if "_ARENA_COMPLETE" in os.environ:  # a shell asks for completions
            from typer import completion

            completion.completion_init()  # type: ignore[attr-defined]
        group = typer.main.get_command(app)
    except ArenaError as error:
        say_error(str(error))
        sys.exit(error.exit_code)
    try:
        with interrupts.repeated_until_handled():
            group.main(args=ahead + rest, prog_name="arena")
    except SystemExit as end:
        if interrupts.received and end.code:  # while arguments were read, typer ends with 1
            end.code = _code_after_signal()
        write_rest_of_stdout(end)
        raise
    except OSError as error:  # of --help or --version, which are written before a command runs
        code, message = explained_error(error)
        say_error(message)
        failed = SystemExit(code)
        write_rest_of_stdout(failed)
        raise failed from None


def write_rest_of_stdout(end: SystemExit) -> None:
    """Write what stdout still holds; Python would report a failure as a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not end.code:
            end.code, message = explained_error(error)
            say_error(message)
