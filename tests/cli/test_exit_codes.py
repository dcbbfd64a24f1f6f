"""How the program ends: at once, with its exit code, after all else that is called at the end."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from arena import __main__ as program


class Ended(BaseException):
    """The process would have ended."""


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (SystemExit(), 0),
        (SystemExit(0), 0),
        (SystemExit(3), 3),
        (SystemExit("a sentence"), None),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError(), None),
    ],
    ids=repr,
)
def test_the_program_ends_at_once_with_the_code_of_its_exit(
    monkeypatch: pytest.MonkeyPatch, end: BaseException, code: int | None
) -> None:
    called: list[Any] = []

    def main() -> None:
        raise end

    def leave(number: int) -> None:
        called.append(number)
        raise Ended

    monkeypatch.setattr("arena.cli.main.main", main)
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(atexit, "_ncallbacks", lambda: 0)
    monkeypatch.setattr(atexit, "register", lambda *call: called.append(call))
    monkeypatch.setattr(os, "_exit", leave)
    for name in ("PYDANTIC_DISABLE_PLUGINS", "OPENBLAS_THREAD_TIMEOUT"):
        monkeypatch.setenv(name, "as it was")
    with pytest.raises((SystemExit, ZeroDivisionError)) as raised:
        program.run()
    if code == 130:
        assert isinstance(raised.value, SystemExit)
        assert raised.value.code == 130
    (at_the_end, codes), *later = called
    assert later == [(program._ignore_interrupts,)]
    called.clear()
    if code is None:
        at_the_end(codes)  # Python ends as usual
        assert called == []
        return
    with pytest.raises(Ended):
        at_the_end(codes)
    assert called == [code]
    for error in (BrokenPipeError(), ValueError("closed")):
        stream = SimpleNamespace(flush=lambda error=error: fail(error))
        monkeypatch.setattr(sys, "stderr", stream)
        at_the_end(codes)  # Python reports what cannot be written
    assert called == [code]


def test_an_interrupt_after_a_command_keeps_its_exit_code() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    try:
        program._ignore_interrupts()
        assert [signal.getsignal(number) for number in numbers] == [signal.SIG_IGN] * 2
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_functions_that_are_called_at_the_end_of_a_caller_are_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered: list[Any] = []
    monkeypatch.setattr("arena.cli.main.main", lambda: None)
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(atexit, "_ncallbacks", lambda: 1)
    monkeypatch.setattr(atexit, "register", registered.append)
    program.run()
    assert registered == []
