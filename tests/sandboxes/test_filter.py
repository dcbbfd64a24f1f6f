"""The rules for system calls: as a profile of containers, and as a program of BPF."""

from __future__ import annotations

import errno
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import SandboxError
from arena_sandboxes.filter import RULES, container_profile, program_filter
from kept import check_kept_document

UNKNOWN = "vhangup"


class Library:
    """A stand-in for libseccomp: it records its calls, and lacks one system call."""

    ALLOW, KILL_PROCESS = "allow", "kill"
    EQ, GT, MASKED_EQ = "==", ">", "masked"
    Attr = SimpleNamespace(ACT_BADARCH="other mode")

    def __init__(self) -> None:
        self.steps: list[Any] = []

    def SyscallFilter(self, defaction: str) -> Library:  # noqa: N802
        self.steps.append(defaction)
        return self

    def set_attr(self, *arguments: str) -> None:
        self.steps.append(arguments)

    def ERRNO(self, number: int) -> int:  # noqa: N802
        return -number

    def Arg(self, *arguments: Any) -> tuple[Any, ...]:  # noqa: N802
        return arguments

    def system_arch(self) -> str:
        return "here"

    def resolve_syscall(self, arch: str, call: str) -> int:
        assert arch == "here"
        return -1 if call == UNKNOWN else 0 if call == "mount" else 7

    def add_rule(self, *arguments: Any) -> None:
        self.steps.append(arguments)

    def export_bpf(self, file: Any) -> None:
        file.write(b"program")


def test_the_filter_of_system_calls_is_kept() -> None:
    check_kept_document("system-calls", json.loads(container_profile()))


def test_every_rule_for_a_known_call_is_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "pyseccomp", library)
    assert program_filter.__wrapped__() == b"program"
    assert library.steps[:3] == [
        "allow", ("other mode", "kill"), (-errno.EPERM, "mount"),
    ]  # fmt: skip
    rules = [rule for rule in library.steps[2:] if rule[1] != UNKNOWN]
    assert len(rules) == len(library.steps) - 2 == sum(len(rule.calls) for rule in RULES) - 1
    # Of clone the flag for mounts must be set; a family above the last, AF_NETLINK = 16, is none.
    for rule in (
        (-errno.ENOSYS, "clone3"),
        (-errno.EPERM, "clone", (0, "masked", 1 << 17, 1 << 17)),
        (-errno.EPERM, "ioctl", (1, "masked", 0xFFFFFFFF, 0x5412)),
        (0, "fadvise64", (3, "masked", 0xFFFFFFFF, 4)),
        (-errno.EPERM, "socket", (0, ">", 16)),
        (-errno.EPERM, "socketpair", (0, "==", 3)),
    ):
        assert rules.count(rule) == 1, rule


def test_without_the_library_there_is_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(SandboxError, match=r"^The filter of system calls cannot be made: install"):
        program_filter.__wrapped__()
