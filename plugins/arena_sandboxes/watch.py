"""Watches a program while it runs: its time, memory, disk and what it prints."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from arena.errors import SandboxError
from arena.interfaces import Box, End
from arena_sandboxes.groups import Group

_SECONDS = 0.02
"""How often memory and disk are checked."""
_PART = 2**16


@dataclass(slots=True)
class Watch:
    """What was observed of a program, from its start on."""

    box: Box
    group: Group | None
    log_pipe: int
    disk_is_full: Callable[[], bool]
    stop: threading.Event | None = None
    log: bytes = b""
    peak: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    _disk_was_full: bool = False

    def until(self, status_pipe: int, exit_code: Callable[[bytes], int | None]) -> End | None:
        """Wait until the program ends or exceeds a limit; None: it ended without an exit code.

        Parameters
        ----------
        status_pipe
            Can be read when the program has ended; it is closed by its other side at the latest.
        exit_code
            Returns the exit code from what was read of it; None: the program runs on.

        Raises
        ------
        SandboxError
            If the run is to be stopped.
        """
        started = time.monotonic()
        used_before = self.group.cpu_seconds() if self.group else 0.0
        status, code, is_open = b"", None, True
        pipes = [self.log_pipe, status_pipe]
        end: End | None = None
        while is_open and code is None and end is None:
            ready = select.select(pipes, [], [], _SECONDS)[0]
            if self.log_pipe in ready and not self._read_log():
                pipes.remove(self.log_pipe)
            if status_pipe in ready:
                part = os.read(status_pipe, _PART)
                is_open, status = bool(part), status + part
                code = exit_code(status)
            end = self._limit_exceeded(time.monotonic() - started)
        self.seconds = time.monotonic() - started
        if self.group:
            self.cpu_seconds = self.group.cpu_seconds() - used_before
        self._read_rest_of_log()
        if end or code is None:
            return end
        if code == 0:
            return End.OK
        return End.DISK if self._disk_was_full else End.CRASH

    def _limit_exceeded(self, seconds: float) -> End | None:
        if self.stop is not None and self.stop.is_set():
            raise SandboxError("The run was stopped.")
        self._disk_was_full = self._disk_was_full or self.disk_is_full()
        if self.group is not None:
            most = self.box.memory_mb * 2**20
            self.peak = max(self.peak, self.group.memory())
            if self.peak > most or self.group.is_out_of_memory():
                self.peak = most
                return End.MEMORY
        return End.TIME if seconds > self.box.seconds else None

    def _read_log(self) -> bool:
        """Read a part of what was printed; return whether more may come."""
        part = os.read(self.log_pipe, _PART)
        bytes_left = self.box.log_bytes - len(self.log)
        self.log += part[:bytes_left]
        if part and bytes_left <= 0:
            time.sleep(_SECONDS / 4)  # one that prints without end must not cost a core
        return bool(part)

    def _read_rest_of_log(self) -> None:
        """Read what is in the pipe; processes of the program may still hold its other end."""
        while len(self.log) < self.box.log_bytes and select.select([self.log_pipe], [], [], 0)[0]:
            if not self._read_log():
                return
