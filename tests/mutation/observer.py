"""A plugin of pytest that writes which lines of arena each test runs, and how long the test takes.

Loaded by ``coverage_map.py``, which names the folder for what is written in ``ARENA_OBSERVED``.
Lines are also seen in child processes, except in those that are killed. What a fixture of a whole
file runs counts for every test of the file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

OUT = Path(os.environ["ARENA_OBSERVED"])
CONFIG = OUT / "coverage.ini"
_coverage = Coverage(config_file=str(CONFIG), context="")
_seconds: dict[str, float] = {}
_failed: set[str] = set()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to trace, in what runs tests; children read the same configuration."""
    if not getattr(session.config.option, "numprocesses", None):
        os.environ["COVERAGE_PROCESS_START"] = str(CONFIG)
        _coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace one test."""
    started = time.monotonic()
    _coverage.switch_context(item.nodeid)
    answer = yield
    _coverage.switch_context("")
    _seconds[item.nodeid] = time.monotonic() - started
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    """Count what several tests share for all tests of the file."""
    is_shared = fixturedef.scope != "function"
    item = request._pyfuncitem if hasattr(request, "_pyfuncitem") else request.node
    if is_shared:
        _coverage.switch_context(item.nodeid.partition("::")[0])
    answer = yield
    if is_shared:
        _coverage.switch_context(item.nodeid)
    return answer


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what fails: it cannot notice a change."""
    if report.failed or report.skipped:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was seen."""
    if getattr(session.config.option, "numprocesses", None):
        return
    _coverage.stop()
    _coverage.save()
    passed = {test: seconds for test, seconds in _seconds.items() if test not in _failed}
    (OUT / f"seconds-{os.getpid()}.json").write_text(json.dumps(passed), encoding="utf-8")
