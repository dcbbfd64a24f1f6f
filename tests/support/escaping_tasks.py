"""Tasks for a worker process that try, as broken code does, to outlive it or to break its pipe."""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SLEEPS = "import time; time.sleep(3600)"
FOREVER = 3_600.0
"""Longer than any test waits: what is left behind is still there when it looks."""
HELD: list[bytes] = []


def hang() -> None:
    time.sleep(FOREVER)


def hold_bytes(size: int) -> int:
    HELD.append(bytes(size))
    return os.getpid()


def cancel_the_watchdog() -> None:
    faulthandler.cancel_dump_traceback_later()
    time.sleep(FOREVER)


def fork_and_keep_the_pipe() -> None:
    if os.fork() == 0:
        time.sleep(FOREVER)
    os._exit(3)


def start_a_session() -> None:
    subprocess.Popen([sys.executable, "-c", SLEEPS], start_new_session=True)
    time.sleep(FOREVER)


def leave_a_session_behind() -> int:
    subprocess.Popen([sys.executable, "-c", SLEEPS], start_new_session=True)
    return 5


def become_daemons() -> None:
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(FOREVER)
            os._exit(0)
    time.sleep(FOREVER)


def _descriptors() -> list[int]:
    """Return those of this process but for the standard streams, however many its parent had."""
    return [number for number in map(int, os.listdir("/dev/fd")) if number > 2]  # noqa: PTH208


def answer_without_end() -> None:
    """Announce an answer of two gigabytes on every pipe, and write a byte of it now and then."""
    pipes = []
    for descriptor in _descriptors():
        try:
            os.write(descriptor, struct.pack("!i", 2**31 - 1))
        except OSError:
            continue
        pipes.append(descriptor)
    while True:
        time.sleep(0.2)
        for pipe in pipes:
            os.write(pipe, b"x")


def return_twice() -> int:
    os.fork()
    return 7


def raise_order_to_stop() -> None:
    raise KeyboardInterrupt("not from a keyboard")


def square(number: int) -> int:
    return number**2


def use_a_pool() -> list[int]:
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(square, [1, 2, 3])


def allocate() -> int:
    return len([bytearray(80 * 2**20) for _ in range(20)])


def connect(port: int) -> str:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError as error:
        return type(error).__name__
    return "connected"


def write(folder: str) -> str:
    try:
        Path(folder, "written").touch()
    except OSError as error:
        return str(error.strerror)
    return "written"


def may_make_namespaces(flag: int) -> Any:
    import ctypes

    return ctypes.CDLL(None).unshare(flag) == 0 or ctypes.CDLL(None).unshare(flag | 1 << 28) == 0


def sleep_and_return(seconds: float, value: int) -> int:
    time.sleep(seconds)
    return value


def end_at_zero(value: int) -> int:
    if value == 0:
        os._exit(3)
    return value


def kill_at_zero(value: int) -> int:
    if value == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def killed_the_first_time(folder: str, value: int) -> int:
    """Return a value; a value of 0 kills the process that is the first to return it."""
    with (Path(folder) / f"runs-{value}").open("a") as runs:
        runs.write(".")
        first = runs.tell() == 1
    if value == 0 and first:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def take_two_parts(seconds: float) -> str:
    from arena.utils.processes import start_clock

    for _ in range(2):
        start_clock()
        time.sleep(seconds)
    return "done"


class Unsendable:
    """Not among the types of an answer."""


class _Executed:
    """What runs a command when it is unpickled."""

    def __init__(self, path: str) -> None:
        self._command = f"touch {path}"

    def __reduce__(self) -> Any:
        return os.system, (self._command,)


def forge(content: str, path: str) -> None:
    """Send on every socket what a process could send that a hostile file has taken over."""
    code = f"open({path!r}, 'w')"
    body = {
        "pickle": pickle.dumps((1, True, _Executed(path), True)),
        "name": json.dumps({"tuple": [1, True, {"os.system": {"command": path}}, True]}).encode(),
        "shape": b"[1, true]",
        "order": json.dumps({"tuple": [1, False, "no exception", True]}).encode(),
        "array": json.dumps({"tuple": [1, True, {"array": ["O", [1], True]}, True]}).encode(),
        "error": json.dumps(
            {"tuple": [1, False, {"error": ["builtins", "exec", [code], []]}, True]}
        ).encode(),
        "deep": b"[" * 4000,
    }[content]
    for descriptor in _descriptors():
        try:
            os.write(descriptor, struct.pack("!QQ", len(body), 0) + body)
        except OSError:
            continue
    time.sleep(FOREVER)


def end_or_count(shared: list[int] | None = None) -> int | str:
    """Append to a list and return its length; a list that begins with 0 ends the process."""
    if shared is None:
        return "nothing"
    if shared[0] == 0:
        os._exit(3)
    shared.append(1)
    return len(shared)


class Counted:
    """Counts how many of its kind a process has received."""

    received = 0

    def __init__(self, number):
        self.number = number

    def __setstate__(self, state):
        self.__dict__.update(state)
        Counted.received += 1


def seen(counted, task):
    return counted.number, task, Counted.received


def fails_on(counted):
    raise ValueError(f"fails on {counted.number}")


class UnreadableAtFirst:
    """Each process can receive it from the second time on."""

    tried = False

    def __reduce__(self):
        return receive_later, ()


def receive_later():
    tried, UnreadableAtFirst.tried = UnreadableAtFirst.tried, True
    if not tried:
        raise ValueError("not at first")
    return "received"


def identity(value):
    return value


def kill_the_own_group(value: int) -> int:
    if value == 0:
        os.killpg(0, signal.SIGKILL)
    return value
