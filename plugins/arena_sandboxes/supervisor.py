"""The process that holds a run: its namespaces, and one file system in memory.

It starts the program in a sandbox of its own, reports how that ended, and waits. When the runner
has taken the output, or has ended itself, it is killed, and with it all that it holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job
from arena_sandboxes.groups import SECONDS_TO_END
from arena_sandboxes.output import take_output

_SMALLEST_FREE_SHARE = 0.01
"""A file system with a smaller share of free blocks or files is full."""
_MOST_SECONDS = 60.0
"""Within which the outer process must have started the program, or made its output readable."""


class Supervisor:
    """The outer process of a run, with its pipes, and the file system that it holds."""

    def __init__(self, stack: contextlib.ExitStack, scratch: Path) -> None:
        """``scratch``: where the outer process mounts the file system of the program."""
        self._stack = stack
        self.scratch_path = scratch
        self._passed: list[int] = []
        self.orders, self.log, self.status, self.outer_status = (self._pipe() for _ in range(4))
        self._reported = b""
        self._pid = 0
        self._first: int | None = None
        self._scratch: int | None = None

    def _pipe(self) -> tuple[IO[bytes], IO[bytes]]:
        reading, writing = os.pipe()
        return (
            self._stack.enter_context(open(reading, "rb", buffering=0)),  # noqa: PTH123
            self._stack.enter_context(open(writing, "wb", buffering=0)),  # noqa: PTH123
        )

    def file(self, content: bytes) -> str:
        """Return the descriptor, which the outer process inherits, of a file in memory."""
        opened = self._stack.enter_context(open(os.memfd_create("arena"), "wb", buffering=0))  # noqa: PTH123, SIM115
        opened.write(content)
        opened.seek(0)
        self._passed.append(opened.fileno())
        return str(opened.fileno())

    @contextlib.contextmanager
    def running(self, command: Sequence[str]) -> Iterator[None]:
        """Start the outer process, which waits for :meth:`begin`; kill it at the end."""
        reported = [pipe[1] for pipe in (self.status, self.outer_status)]
        process = subprocess.Popen(  # noqa: S603 - the program that was found
            command,
            stdin=self.orders[0],
            stdout=self.log[1],
            stderr=self.log[1],
            pass_fds=(*self._passed, *(pipe.fileno() for pipe in reported)),
            start_new_session=True,
            cwd="/",
            env={},
        )
        try:
            for end in (self.orders[0], self.log[1], *reported):
                end.close()
            yield
        finally:
            process.kill()
            process.wait()
            if self._scratch is not None:
                os.close(self._scratch)
            if self._first is not None:
                # It would wait forever if its own parent was killed while it started.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(self._first, signal.SIGKILL)
                # The first process of the namespace ends after all others, a moment later.
                ended = select.select([self._first], [], [], SECONDS_TO_END)[0]
                os.close(self._first)
                if not ended:
                    raise SandboxError(
                        "Processes of a program could not be ended. Restart this machine before it "
                        "runs another one."
                    )

    def begin(self) -> None:
        """Let the program start, if the outer process could."""
        status = self.report()
        if status:
            self._pid = json.loads(status)["child-pid"]
            with contextlib.suppress(ProcessLookupError):
                self._first = os.pidfd_open(self._pid)
            self.order()

    def order(self) -> None:
        """Let the outer process go on, which waits."""
        with contextlib.suppress(BrokenPipeError):
            self.orders[1].write(b"\n")

    def report(self) -> bytes:
        """Return the next line that the outer process reports of itself; empty: it has ended.

        Raises
        ------
        SandboxError
            If it reports nothing for a minute.
        """
        while b"\n" not in self._reported:
            if not select.select([self.outer_status[0]], [], [], _MOST_SECONDS)[0]:
                raise SandboxError(
                    f"A sandbox did nothing for {_MOST_SECONDS:g} s: the machine is overloaded."
                )
            part = self.outer_status[0].read(4096)
            if not part:
                return b""
            self._reported += part
        line, _, self._reported = self._reported.partition(b"\n")
        return line

    def scratch(self) -> int | None:
        """Return a descriptor of the file system of the program; None: there is none yet."""
        if self._scratch is None:
            with contextlib.suppress(OSError):
                path = f"/proc/{self._pid}/root{self.scratch_path}"
                self._scratch = os.open(path, os.O_PATH | os.O_DIRECTORY)
        return self._scratch

    def disk_is_full(self) -> bool:
        """Return whether the file system of the program is full."""
        scratch = self.scratch()
        if scratch is None:
            return False
        status = os.statvfs(scratch)
        free = min(status.f_bavail / status.f_blocks, status.f_favail / status.f_files)
        return free < _SMALLEST_FREE_SHARE

    def take(self, job: Job, box: Box) -> tuple[End, Path | None]:
        """Return the output, copied."""
        scratch = self.scratch()
        if scratch is None:
            raise SandboxError("The output of a program cannot be read: /proc hides it.")
        return take_output(scratch, job, box)
