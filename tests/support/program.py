"""The installed program, and files to feed it."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arena.cli.main import main

UNPROTECTED = ("--mechanism", "full", "--per-day", 0)
"""Options of ``arena init``: the board shows every score, and nothing is limited."""

MOST_SECONDS = 900
"""After this time a process is killed, so that no test waits without end."""

ARENA = str(Path(sys.executable).with_name("arena"))


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def with_options(command: Sequence[object], *given: object) -> list[object]:
    """Return a command with further options, which replace its own of the same name.

    >>> with_options(("init", "c", "--seed", 1, "--quiet"), "--seed", 2)
    ['init', 'c', '--seed', 2, '--quiet']
    """
    positional: list[object] = []
    options: dict[object, list[object]] = {}
    for arguments in (command, given):
        values, seen_options = positional, set()
        for argument in arguments:
            if isinstance(argument, str) and re.match(r"--?[a-z]", argument):
                values = options.setdefault(argument, [])
                if argument not in seen_options:
                    values.clear()
                seen_options.add(argument)
                values.append(argument)
            else:
                values.append(argument)
    return [*positional, *(value for values in options.values() for value in values)]


def run_program(
    *arguments: object, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the installed ``arena`` in a process of its own."""
    return subprocess.run(
        [ARENA, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        timeout=MOST_SECONDS,
        check=False,
    )


def start_program(
    *arguments: object, cwd: Path, start_new_session: bool = False
) -> subprocess.Popen[str]:
    """Start the installed ``arena`` in a process of its own, and do not wait for it."""
    command = [ARENA, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, cwd=cwd, start_new_session=start_new_session
    )


@contextlib.contextmanager
def killed_in_the_end(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kill a process that still runs at the end, or after the most seconds, and close its pipes."""
    watchdog = threading.Timer(MOST_SECONDS, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.wait(timeout=600)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def run_here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the same program in this process: what it imports is there already."""
    texts = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(texts)
        except SystemExit as stop:
            code = stop.code or 0
    return subprocess.CompletedProcess(texts, int(str(code)), out.getvalue(), err.getvalue())
