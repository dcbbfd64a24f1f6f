"""Runs a program as a participant sent it: unpacked, alone on this machine, within its limits."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from arena.errors import InputError, SandboxError
from arena.interfaces import Box, Job, Outcome, Sandbox
from arena.programs.environments import environment_folder
from arena.programs.unpack import unpack_program
from arena.types import Fault
from arena.utils.file_errors import reason_of

OUTPUTS = (
    "predictions.csv",
    "predictions.csv.gz",
    "predictions.parquet",
    "predictions.json",
    "predictions.jsonl",
    "predictions.txt",
    "predictions.npy",
    "predictions.zip",
    "predictions/",
)
"""What a program may write to ``/output``; the first that exists is its submission."""


def runner_folder() -> Path:
    """Return the folder in which this machine keeps environments, inputs and its lock.

    It is ``$ARENA_RUNNER``; else ``/var/lib/arena-runner`` if that exists; else
    ``~/.local/share/arena-runner``.
    """
    folder = os.environ.get("ARENA_RUNNER")
    if folder:
        return Path(folder)
    system = Path("/var/lib/arena-runner")
    return system if system.is_dir() else Path.home() / ".local" / "share" / "arena-runner"


def environment_of(digest: str) -> Path | None:
    """Return the folder of an environment on this machine; None if the digest is empty.

    Raises
    ------
    InputError
        If this machine does not hold it.
    """
    if not digest:
        return None
    folder = environment_folder(environments_folder(), digest)
    if not folder.is_dir():
        raise InputError(
            f"This machine does not hold the environment {digest}: make it with arena programs "
            f"environment --requirements FILE."
        )
    return folder


def environments_folder() -> Path:
    """Return the folder in which this machine keeps environments."""
    return runner_folder() / "environments"


def run_program(
    program: Path,
    inputs: Path,
    target: Path,
    *,
    command: Sequence[str],
    environment: Path | None,
    box: Box,
    sandbox: Sandbox,
    stop: threading.Event | None = None,
) -> Outcome | tuple[Fault, ...]:
    """Run a program; return how it ended, or the faults of a file that cannot be unpacked.

    Waits until no other program runs on this machine: programs that run at the same time could
    exchange information.

    Parameters
    ----------
    program
        A ``.py`` file or a ZIP archive, as it was sent.
    inputs
        The folder that the program sees as ``/input``.
    target
        An existing folder, to which the output is copied under its name.
    command
        Starts the program; its last word names the file that must be in the archive.
    stop
        As in :attr:`~arena.interfaces.Job.stop`.

    Raises
    ------
    InputError
        If there are no inputs.
    SandboxError
        If the machine could not run it.
    """
    try:
        if not inputs.is_dir():
            raise InputError(f"The folder of inputs {inputs} does not exist.")
        with alone() as work, tempfile.TemporaryDirectory(dir=work) as folder:
            faults = unpack_program(program, Path(folder), command[-1])
            if faults:
                return faults
            job = Job(
                program=Path(folder),
                command=tuple(command),
                inputs=inputs,
                outputs=OUTPUTS,
                target=target,
                environment=environment,
                stop=stop,
            )
            return sandbox.run(job, box)
    except OSError as error:
        raise SandboxError(f"This machine could not run a program: {reason_of(error)}.") from error


@contextlib.contextmanager
def alone() -> Iterator[Path]:
    """Wait until no other program of this machine's runner runs, and keep others waiting.

    Yields an empty folder for the run.
    """
    folder = runner_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)  # of a runner that was killed
        work.mkdir(mode=0o700)
        yield work
