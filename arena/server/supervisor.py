"""Starts the processes of a server, restarts those that end, and ends them all together."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pwd
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.errors import InputError, UsageError
from arena.server.checker import listen
from arena.server.records.layout import OIDC_SECRET, Layout
from arena.server.records.mails import SMTP_PASSWORD
from arena.utils.file_errors import reason_of

_LOGGER = logging.getLogger("arena.server")
_POLL_SECONDS = 0.1
_QUICK_SECONDS, _LONGEST_PAUSE = 5.0, 60.0
"""A process that ends sooner is started again after a pause, which doubles up to the longest."""
_SAME_AGAIN_SECONDS = 3600.0
"""Time until it is logged again that a process which ends soon has ended in the same way."""
_SECRETS = {
    "web": (SMTP_PASSWORD, OIDC_SECRET),
    "scorer": ("AWS_", "BOTO_", "FSSPEC_", "GCSFS_", "GOOGLE_"),
}
"""Prefixes of environment variables that only one role has."""
_SECONDS_TO_END = {"web": 35.0, "scorer": 120.0, "checker": 5.0, "runner": 10.0}
"""Uploads under way may end; the scorer finishes its group; a run is given up."""
_BACKLOG = 2048
_HTTP = 80
ROUTED_ADDRESSES = {
    "0.0.0.0": (socket.AF_INET, "192.0.2.1"),  # noqa: S104 - compared with the requested one
    "::": (socket.AF_INET6, "2001:db8::1"),
}
"""The wildcard addresses, each with an address for documentation (RFC 5737, RFC 3849)."""


@dataclass(frozen=True, slots=True)
class Served:
    """A served competition."""

    name: str
    """Its name in addresses."""
    folder: Path
    sandbox: str = ""
    """In which a runner of this server runs its programs; empty: none does."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of the system for a process."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> User:
        """Return a user by name.

        Raises
        ------
        UsageError
            If there is no such user.
        """
        try:
            entry = pwd.getpwnam(name)
        except KeyError as error:
            raise UsageError(f"There is no user {name!r} on this machine.") from error
        return cls(name, entry.pw_uid, entry.pw_gid)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host in {"localhost", "::1"} or host.startswith("127.")


def address_of(host: str, port: int) -> str:
    """Return the address under which a browser finds a server.

    One that listens on all addresses is named by that with which this machine reaches others.

    >>> address_of("127.0.0.1", 8000), address_of("::1", 80)
    ('http://127.0.0.1:8000', 'http://[::1]')
    """
    if host in ROUTED_ADDRESSES:
        with (
            contextlib.suppress(OSError),  # without a network
            socket.socket(ROUTED_ADDRESSES[host][0], socket.SOCK_DGRAM) as asking,
        ):
            asking.connect((ROUTED_ADDRESSES[host][1], 9))  # sends nothing
            host = asking.getsockname()[0]
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}" if port == _HTTP else f"http://{named}:{port}"


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises
    ------
    InputError
        If the address cannot be used; the message says why.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"{host} port {port} cannot be used: {reason_of(error)}. Choose another one "
            f"with --host and --port."
        ) from error
    return bound


@dataclass(slots=True)
class ChildProcess:
    """A process that is kept running."""

    role: str
    name: str
    arguments: Mapping[str, Any]
    descriptors: tuple[int, ...] = ()
    user: User | None = None
    group: int | None = None
    """A further group of the process."""
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0
    again_at: float = 0.0
    logged: tuple[int, float] | None = None
    """The exit code that was last logged, and when; None: it did not end soon."""

    def start(self, pipe: int) -> None:
        """Start the process; it ends when the other end of the pipe is closed."""
        arguments = json.dumps({**self.arguments, "pipe": pipe})
        rights: dict[str, Any] = {}
        if self.user is not None:
            groups = [] if self.group is None else [self.group]
            rights = {"user": self.user.uid, "group": self.user.gid, "extra_groups": groups}
        # Only the web process sends mails and signs people in, and only the scorer opens a bucket
        # with predictions: the other process must not have these secrets.
        others = tuple(
            begin for role, begins in _SECRETS.items() if role != self.role for begin in begins
        )
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, on our own code
            [sys.executable, "-m", "arena.server.processes", self.role, arguments],
            env={name: value for name, value in os.environ.items() if not name.startswith(others)},
            pass_fds=(pipe, *self.descriptors),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            # The working directory may be one that its user cannot enter.
            cwd=None if self.user is None else "/",
            **rights,
        )
        self.started = time.monotonic()

    def look(self, pipe: int) -> None:
        """Start the process again if it has ended, not too often."""
        now = time.monotonic()
        if self.process is not None and (code := self.process.poll()) is not None:
            quick = now - self.started < _QUICK_SECONDS
            self.pause = min(max(2 * self.pause, 0.1), _LONGEST_PAUSE) if quick else 0.0
            self.again_at = now + self.pause
            self.process = None
            self._log_end(code, now, quick=quick)
        if self.process is None and now >= self.again_at:
            self.start(pipe)

    def _log_end(self, code: int, now: float, *, quick: bool) -> None:
        """Log that the process ended.

        A process that keeps ending is logged when its exit code changes, and otherwise once an
        hour.
        """
        if quick and self.logged is not None:
            before, logged = self.logged
            if code == before and now - logged < _SAME_AGAIN_SECONDS:
                return
        self.logged = (code, now) if quick else None
        _LOGGER.warning(
            "The process %s %s ended with code %d and is started again%s.",
            self.role,
            self.name,
            code,
            f", at least every {_LONGEST_PAUSE:g} s" if quick else "",
        )

    def end(self) -> None:
        """Ask the process to end, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait until the process has ended, if it was started."""
        if self.process is None:
            return
        try:
            self.process.wait(_SECONDS_TO_END[self.role])
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # its own session, and so its group
            self.process.wait()


@dataclass(slots=True)
class Supervisor:
    """Runs one web process and a scorer for each competition.

    Every process also ends when the supervisor is killed: it waits for the end of a pipe.
    """

    layout: Layout
    competitions: Sequence[Served]
    url: str
    socket: socket.socket | None
    """The bound socket; None: without a web process."""
    with_scorers: bool = True
    web_user: User | None = None
    """The user of the web process; None: the same as that of the others."""
    checker_user: User | None = None
    """The user of the processes that read files; None: that of the scorer, which starts them."""
    _children: list[ChildProcess] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Keep the processes running until the event is set, then end them."""
        reading, writing = os.pipe()
        stack = contextlib.ExitStack()
        try:
            self._children = list(self._planned(stack))
            while not stop.is_set():
                for child in self._children:
                    child.look(reading)
                stop.wait(_POLL_SECONDS)
        finally:
            # The web process first: the scorer finds the last requests at its next start.
            # The scorer needs its checker until it has finished its group.
            for checkers in (False, True):
                ending = [
                    child for child in self._children if (child.role == "checker") is checkers
                ]
                for child in ending:
                    child.end()
                for child in ending:
                    child.wait()
            os.close(writing)
            os.close(reading)
            stack.close()

    def _planned(self, stack: contextlib.ExitStack) -> Iterator[ChildProcess]:
        root = str(self.layout.root)
        if self.with_scorers:
            for competition in self.competitions:
                arguments: dict[str, Any] = {
                    "folder": str(competition.folder.absolute()),
                    "name": competition.name,
                    "root": root,
                    "checker": self.checker_user is not None,
                }
                owner = None
                if self.web_user is not None:
                    owner = _owner_of(competition.folder)
                if self.checker_user is not None:
                    path = self.layout.checker(competition.name)
                    socket_of = stack.enter_context(
                        listen(path, None if owner is None else owner.uid)
                    )
                    yield ChildProcess(
                        "checker",
                        competition.name,
                        {"socket": socket_of.fileno()},
                        descriptors=(socket_of.fileno(),),
                        user=self.checker_user,
                    )
                yield ChildProcess(
                    "scorer",
                    competition.name,
                    arguments,
                    user=owner,
                    group=None if self.web_user is None else self.web_user.gid,
                )
        if self.socket is not None:
            names = [competition.name for competition in self.competitions]
            listening = self.socket.fileno()
            for served in self.competitions:
                if served.sandbox:
                    yield ChildProcess(
                        "runner",
                        served.name,
                        {
                            "folder": str(served.folder.absolute()),
                            "url": f"{loopback_of(self.socket)}/{served.name}",
                            "sandbox": served.sandbox,
                        },
                        user=None if self.web_user is None else _owner_of(served.folder),
                    )
            yield ChildProcess(
                "web",
                "",
                {"socket": listening, "root": root, "competitions": names, "url": self.url},
                descriptors=(listening,),
                user=self.web_user,
            )


def loopback_of(bound: socket.socket) -> str:
    """Return the address of a socket for processes of this machine."""
    host, port = bound.getsockname()[:2]
    return address_of({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)  # noqa: S104


def _owner_of(folder: Path) -> User:
    status = folder.stat()
    return User(str(status.st_uid), status.st_uid, status.st_gid)
