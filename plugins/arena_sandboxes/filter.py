"""The system calls that a program in a sandbox may make, as filters of seccomp."""

from __future__ import annotations

import errno
import functools
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena.errors import SandboxError

_REFUSED = (
    # file systems and namespaces
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "unshare", "setns", "quotactl", "quotactl_fd",
    "open_by_handle_at", "name_to_handle_at", "fanotify_init",
    # the kernel itself
    "bpf", "io_uring_setup", "io_uring_enter", "io_uring_register", "perf_event_open",
    "userfaultfd", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
    "reboot", "swapon", "swapoff", "syslog", "acct", "iopl", "ioperm", "nfsservctl",
    "lookup_dcookie", "vhangup", "uselib",
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    # keyrings and clocks
    "add_key", "request_key", "keyctl", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "sethostname", "setdomainname",
    # memory of another node, which slows others down
    "mbind", "migrate_pages", "move_pages", "set_mempolicy",
)  # fmt: skip
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Families of sockets that the network namespace covers, or that stay in the sandbox."""
_NAMESPACES = (1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)
"""Flags of ``clone`` that make namespaces: of mounts, control groups, host names, messages between
processes, users, processes and networks."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_LOW_32_BITS = 0xFFFFFFFF
_FADV_DONTNEED = 4
_HUGE_PAGES = {"mmap": (3, 0x40000), "memfd_create": (1, 0x4), "shmget": (2, 0o4000)}
"""Calls by which a program gets pages of memory that the machine has set apart, and their flags."""


@dataclass(frozen=True, slots=True)
class Rule:
    """System calls that are not made: they return an error number, or 0 as if they were."""

    calls: tuple[str, ...]
    error: int
    argument: int = 0
    """The place of the argument that decides, if there are conditions."""
    comparison: str = ""
    """``EQ``, ``GT`` or ``MASKED_EQ``, as libseccomp calls them; empty: without a condition."""
    value: int = 0
    mask: int = 0
    """Of ``MASKED_EQ``: the bits of the argument that count."""


def _rules() -> Iterator[Rule]:
    yield Rule(_REFUSED, errno.EPERM)
    # The flags of clone3 are in memory, where a filter cannot read them. Libraries then call clone.
    yield Rule(("clone3",), errno.ENOSYS)
    for flag in _NAMESPACES:
        yield Rule(("clone",), errno.EPERM, 0, "MASKED_EQ", flag, flag)
    for request in (_TIOCSTI, _TIOCLINUX):
        yield Rule(("ioctl",), errno.EPERM, 1, "MASKED_EQ", request, _LOW_32_BITS)
    # Advice that does nothing: by dropping copies of files, a program could inform a later one.
    yield Rule(("fadvise64",), 0, 3, "MASKED_EQ", _FADV_DONTNEED, _LOW_32_BITS)
    for call, (argument, flag) in _HUGE_PAGES.items():  # no control group of memory counts them
        yield Rule((call,), errno.ENOMEM, argument, "MASKED_EQ", flag, flag)
    sockets = ("socket", "socketpair")
    yield Rule(sockets, errno.EPERM, 0, "GT", max(_FAMILIES))
    for family in sorted(set(range(max(_FAMILIES))) - set(_FAMILIES)):
        yield Rule(sockets, errno.EPERM, 0, "EQ", family)


RULES = tuple(_rules())
"""All other system calls are made, but none of another processor mode: they end the process."""


@functools.cache
def program_filter() -> bytes:
    """Return the rules as a program of BPF.

    Raises
    ------
    SandboxError
        If libseccomp is missing.
    """
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError) as error:
        raise SandboxError(
            "The filter of system calls cannot be made: install libseccomp (apt-get install "
            "libseccomp2), and pyseccomp (pip install 'arena-leaderboard[programs]')."
        ) from error
    syscall_filter = seccomp.SyscallFilter(defaction=seccomp.ALLOW)
    syscall_filter.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    for rule in RULES:
        conditions = []
        if rule.comparison:
            comparison = getattr(seccomp, rule.comparison)
            values = (rule.mask, rule.value) if rule.comparison == "MASKED_EQ" else (rule.value,)
            conditions.append(seccomp.Arg(rule.argument, comparison, *values))
        for call in rule.calls:
            if seccomp.resolve_syscall(seccomp.system_arch(), call) >= 0:
                syscall_filter.add_rule(seccomp.ERRNO(rule.error), call, *conditions)
    with os.fdopen(os.memfd_create("filter"), "w+b", buffering=0) as file:
        syscall_filter.export_bpf(file)
        file.seek(0)
        return file.read()


def container_profile() -> str:
    """Return the rules as a JSON profile, as podman and other container engines read it."""
    calls: list[dict[str, Any]] = []
    for rule in RULES:
        call: dict[str, Any] = {
            "names": rule.calls,
            "action": "SCMP_ACT_ERRNO",
            "errnoRet": rule.error,
        }
        if rule.comparison:
            masked = rule.comparison == "MASKED_EQ"
            condition = {
                "index": rule.argument,
                "op": f"SCMP_CMP_{rule.comparison}",
                "value": rule.mask if masked else rule.value,
                "valueTwo": rule.value if masked else 0,
            }
            call["args"] = [condition]
        calls.append(call)
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": calls})
