"""Lists the test files by their processor seconds: ``pytest --processor-time 40``.

Child processes that were waited for are counted. Seconds on a clock say little on a busy machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest


def processor_seconds() -> float:
    """Return what this process and its ended children have used so far."""
    return sum(os.times()[:4])


class ProcessorTime:
    """A plugin that adds up the seconds of each file, also those of the workers of xdist."""

    def __init__(self, n_files: int) -> None:
        self.n_files = n_files
        self.seconds_of_file: Counter[str] = Counter()
        self._last = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._last = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = processor_seconds()
        report.processor_seconds, self._last = now - self._last, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        # A worker that died measured nothing.
        seconds = getattr(report, "processor_seconds", 0.0)
        self.seconds_of_file[report.nodeid.partition("::")[0]] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        of_tests = self.seconds_of_file.total()
        terminalreporter.section("processor seconds")
        for file, seconds in self.seconds_of_file.most_common(self.n_files):
            terminalreporter.write_line(f"{seconds:8.2f}  {file}")
        terminalreporter.write_line(f"{of_tests:8.2f}  all tests")
        rest = processor_seconds() - of_tests
        terminalreporter.write_line(f"{rest:8.2f}  to start, import and collect")
