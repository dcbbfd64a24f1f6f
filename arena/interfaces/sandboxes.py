"""The interface of sandboxes, which run the programs of participants."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable


class End(StrEnum):
    """The kind of end of a run: all that a team learns about a failed hidden run."""

    OK = "ok"
    TIME = "time"
    MEMORY = "memory"
    DISK = "disk"
    CRASH = "crash"
    """The program ended with an exit code other than 0, or by a signal."""
    NO_OUTPUT = "no output"
    """It ended with 0, but wrote none of the names in :attr:`Job.outputs` as it must."""
    OUTPUT_TOO_LARGE = "output too large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program and the files that it runs on.

    The program sees ``program`` as ``/program`` and ``inputs`` as ``/input``, both read-only, and
    writes to ``/output``. It starts in ``/program``, without a network.
    """

    program: Path
    """A folder with the unpacked program."""
    command: tuple[str, ...]
    """Such as ``("python3", "main.py")``."""
    inputs: Path
    """A folder."""
    outputs: tuple[str, ...]
    """Names in ``/output``, such as ``predictions.csv``; the first that exists is taken.

    A name that ends with ``/`` is a folder. Its files are packed as a ZIP archive,
    ``predictions.zip`` for ``predictions/``.
    """
    target: Path
    """An existing folder, to which the output is copied under its name."""
    environment: Path | None = None
    """A folder that ``arena programs environment`` made; None: only what the machine has."""
    stop: threading.Event | None = None
    """Once it is set, the program is ended and :meth:`Sandbox.run` raises SandboxError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The limits of a run."""

    seconds: float
    """Wall-clock time; processor time is limited by ``seconds * cores``."""
    memory_mb: int
    """Of all processes together, and of the files that they write."""
    disk_mb: int
    """Of ``/output``, ``/tmp`` and ``/dev/shm`` together; they are in memory."""
    cores: float
    processes: int
    """Threads count."""
    output_bytes: int
    """Of the output, a folder's files together."""
    output_files: int = 10_000
    """Of an output that is a folder, its inner folders included."""
    log_bytes: int = 2**16
    """Of standard output and standard error together; what follows is dropped."""
    gpus: int = 0

    @classmethod
    def of(cls, limits: Mapping[str, Any], *, trial: bool, output_bytes: int) -> Self:
        """Return the limits of a trial or of another run, from the keys of ``[programs]``."""
        return cls(
            seconds=float(limits["trial_seconds" if trial else "seconds"]),
            memory_mb=int(limits["memory_mb"]),
            disk_mb=int(limits["disk_mb"]),
            cores=float(limits["cores"]),
            processes=int(limits["processes"]),
            output_bytes=int(output_bytes),
            gpus=int(limits["gpus"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run."""

    end: End
    seconds: float
    """Wall-clock time from the start of the program to its end."""
    cpu_seconds: float
    """Processor time of all its processes."""
    peak_mb: float
    """The most memory that it used at once, in units of 2**20 bytes."""
    log: bytes
    """What it printed, at most :attr:`Box.log_bytes`. It may quote the inputs."""
    output: Path | None
    """The copy of its output in :attr:`Job.target`; None unless ``end`` is ``OK``."""


@runtime_checkable
class Sandbox(Protocol):
    """Runs a program so that it reaches nothing but its own files.

    A sandbox that is a dataclass takes its fields as parameters: ``podman(oci_runtime=crun)``.
    """

    @property
    def name(self) -> str:
        """The name of the sandbox."""

    def check(self) -> Sequence[str]:
        """Return what this machine cannot hold: a sentence each, with what to do about it."""

    def versions(self) -> Mapping[str, str]:
        """Return the versions that a record of a run names, such as those of kernel and sandbox."""

    def run(self, job: Job, box: Box) -> Outcome:
        """Run a program; when this returns or raises, none of its processes is left.

        Raises
        ------
        SandboxError
            If the machine could not run it, which is no fault of the program.
        """
