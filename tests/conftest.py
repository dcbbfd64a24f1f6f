"""What holds for all tests: the same examples always, one BLAS thread each, SIGINT as usual.

In a campaign every test with hypothesis runs again, with all of its examples.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

import thinned
from checkout import python_path
from processor_time import ProcessorTime

if TYPE_CHECKING:
    from scenario import Scenario

# Until all tests are collected: few of the objects that this makes are ever freed.
gc.disable()

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Without it every worker and every child compiles arena, the tests and the libraries again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine makes any command last long enough to show its progress on stderr.
os.environ["ARENA_PROGRESS"] = "0"

# The workers of pytest-xdist have a width of a terminal, and what is printed would depend on it.
os.environ.pop("COLUMNS", None)

# A child imports the checkout, as this process does by the setting ``pythonpath``.
os.environ["PYTHONPATH"] = python_path()

# A runner that was started in the background ignores SIGINT, and so would every child of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# No test fails because the machine is busy, nor by the luck of an example.
settings.register_profile(
    "arena",
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("arena")
# hypothesis also tries the constants of the modules that are imported so far. Which ones these are
# depends on the tests that ran before in the process, and reading them takes seconds. No setting
# turns it off, and a registered backend of our own draws examples again that were tried before.
vars(providers).update(_get_local_constants=lambda: providers._local_constants)


class _Examples:
    """A plugin for all folders; the hooks of this file are only called for those below it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, Any, Any]:
        """Search only files with examples for them: that costs an import of the whole file."""
        collectors = yield
        if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
            collectors = [item for item in collectors if type(item) is pytest.Module]
        return collectors


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run list what costs most."""
    parser.addoption(
        "--processor-time", type=int, metavar="N", help="list the N files that take longest"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Learn which run this is, before any test is imported."""
    thinned.full = config.option.markexpr == "campaign"
    removes_files = config.option.markexpr in {_DEFAULT_RUN, "slow"}
    if removes_files and "TMPDIR" not in os.environ and _has_memory():
        os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY
    config.pluginmanager.register(_Examples())
    if config.option.processor_time is not None:
        config.pluginmanager.register(ProcessorTime(config.option.processor_time))


def _has_memory() -> bool:
    """Return whether there are folders in memory, with space, in which programs can be started.

    There a commit of a database does not wait for the disk. A process that is killed loses nothing
    that it wrote to either. A campaign needs more space.
    """
    try:
        status = os.statvfs(_MEMORY)
    except (AttributeError, OSError):
        return False
    has_space = status.f_bavail * status.f_frsize >= _LEAST_SPACE
    return has_space and os.access(_MEMORY, os.W_OK) and not status.f_flag & os.ST_NOEXEC


_MEMORY, _LEAST_SPACE = "/dev/shm", 2**31  # noqa: S108 - pytest makes a folder of its user in it
_DEFAULT_RUN = "not slow and not campaign"
_LEFT_OUT_AS_A_WHOLE = re.compile(rb"^pytestmark = .*\bmark\.(slow|campaign)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of which the default run takes no test."""
    if config.option.markexpr != _DEFAULT_RUN or collection_path.suffix != ".py":
        return None
    return bool(_LEFT_OUT_AS_A_WHOLE.search(collection_path.read_bytes())) or None


def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> list[Any] | None:
    """Do not make the cases of functions that the default run leaves out: there are thousands."""
    if collector.config.option.markexpr != _DEFAULT_RUN or not name.startswith("test"):
        return None
    names = {mark.name for mark in getattr(obj, "pytestmark", ())}
    return [] if names & {"slow", "campaign"} else None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run more slow tests at once than there are cores: many wait for processes and browsers."""
    if config.option.markexpr != "slow" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return 2 * (os.cpu_count() or 1)


def _left_out(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "campaign"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of tests marked ``few(n)`` to the slow run; add hypothesis to a campaign.

    What takes hours is never in the slow run, also if another mark says that it is slow.
    """
    for item in items:
        if item.get_closest_marker("campaign"):
            item.own_markers[:] = [marker for marker in item.own_markers if marker.name != "slow"]
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not _left_out(item):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        kept = group[0].get_closest_marker("few").args[0]  # type: ignore[union-attr]
        chosen = {round(i * (len(group) - 1) / max(kept - 1, 1)) for i in range(kept)}
        for position, item in enumerate(group):
            if position not in chosen:
                item.add_marker("slow")
    # What takes long must not start last, when the other workers have nothing left to do.
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items if thinned.full else ():
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("campaign")


def pytest_collection_finish() -> None:
    """Leave what was imported to itself for good: pytest and statsmodels have all searched.

    So is the garbage of the imports, a sixth of the objects: to find it takes half a second.
    The usual thresholds search what the tests import later again and again.
    """
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Return a competition that can be made in the folder of the test."""
    from scenario import Scenario

    return Scenario(tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return Chromium. Not for the session: while it runs, no other test can use asyncio."""
    from browser import chromium

    with chromium() as started:
        yield started
