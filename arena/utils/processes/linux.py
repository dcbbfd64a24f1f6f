"""For Linux only: the guard of a worker, limits of a process, and namespaces."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

from arena.utils.processes.limits import HAS_LIMITS, Confinement, Limits

_SECONDS_TO_END = 5.0
"""Time for a guard to kill all its descendants."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@functools.cache
def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def adopt_descendants() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Let the system kill this process when its parent ends."""
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def guard(worker: int, watched: Any) -> None:
    """Wait until the worker ends or the socket is closed, then kill all descendants."""
    import select

    signal.signal(signal.SIGTERM, lambda *_: end_descendants())
    events = select.poll()
    events.register(watched, select.POLLIN)
    try:
        events.register(os.pidfd_open(worker), select.POLLIN)
        events.poll()
    except (AttributeError, OSError):  # a kernel before 5.3, or a system call filter
        while not events.poll(50) and os.waitpid(worker, os.WNOHANG)[0] == 0:
            pass
    end_descendants()


def end_descendants() -> None:
    """Kill all descendants of this process, then exit."""
    until = time.monotonic() + _SECONDS_TO_END
    while (pids := descendants(os.getpid())) and time.monotonic() < until:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)
    os._exit(0)


def descendants(root: int) -> list[int]:
    """Return the ids of the running descendants of a process (Linux).

    >>> descendants(2**22 + 1)
    []
    """
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # State and parent follow the name, which is in brackets and may contain brackets.
                fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(folder.name))
    pids: list[int] = []
    reached = [root]
    while reached:
        child_pids = children.get(reached.pop(), [])
        pids += child_pids
        reached += child_pids
    return pids


def has_left_processes() -> bool:
    """Return whether processes that a task of this guarded worker started are still running."""
    worker, guard = os.getpid(), os.getppid()
    try:
        tasks = [Path(f"/proc/{guard}/task/{guard}"), *Path(f"/proc/{worker}/task").iterdir()]
        pids = " ".join((task / "children").read_text() for task in tasks).split()
    except OSError:  # a kernel without these lists, or a thread that has just ended
        pids = [str(pid) for pid in descendants(guard)]
    return set(pids) != {str(worker)}


def data_bytes() -> int:
    """Return the bytes of this process that ``RLIMIT_DATA`` counts."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()


def limit(limits: Limits, at_start: int) -> None:
    """Limit this process, which held so many bytes before its first task."""
    import resource

    values = {
        resource.RLIMIT_DATA: at_start + limits.memory,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    if limits.processor_seconds is not None:
        values[resource.RLIMIT_CPU] = math.ceil(time.process_time()) + limits.processor_seconds
    for kind, value in values.items():
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, hard))


_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_LOCKED_FLAGS = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8} if HAS_LIMITS else {}


def confine(confinement: Confinement) -> None:
    """Apply each limit that this kernel supports."""
    import resource

    if confinement.memory is not None:
        # Allocated memory, not address space: libraries map far more than they use.
        most = int(confinement.memory * 2**20)
        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            capped = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (capped, capped))
    if not confinement.network and _unshare(_CLONE_NEWNET):
        _start_loopback()
    if confinement.read_only is not None and _unshare(_CLONE_NEWNS):
        _make_read_only(confinement.read_only)


def _unshare(namespace: int) -> bool:
    """Enter a new namespace, together with a new user namespace if that needs privileges."""
    if _libc().unshare(namespace) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if _libc().unshare(_CLONE_NEWUSER | namespace) != 0:
        return False
    # Keep the same user and group ids inside the user namespace.
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
    for name, own_id in (("uid_map", user), ("gid_map", group)):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(f"{own_id} {own_id} 1")
    return True


def _start_loopback() -> None:
    import fcntl
    import socket
    import struct

    up_and_running = 0x1 | 0x40
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        set_flags = 0x8914
        fcntl.ioctl(loopback, set_flags, struct.pack("16sh22x", b"lo", up_and_running))


def _make_read_only(folder: Path) -> None:
    mount, path = _libc().mount, os.fsencode(folder)
    if mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return
    if mount(path, path, None, _MS_BIND | _MS_REC, None) != 0:
        return
    with contextlib.suppress(OSError):
        now = os.statvfs(path).f_flag
        kept_flags = sum(flag for mount_flag, flag in _LOCKED_FLAGS.items() if now & mount_flag)
        mount(path, path, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept_flags, None)
