"""What hostile programs may use."""

from __future__ import annotations

from arena.testing.hostile_programs import PROGRAMS
from arena.testing.sandboxes import LIMITS


def test_programs_that_run_until_their_time_is_up_have_a_second() -> None:
    """The others have the ten seconds of everyone, but for the one that makes many files."""
    one_second = {
        "fork-bomb", "thread-bomb", "loop", "ignore-signals", "stops-itself", "output-then-hangs",
        "closes-log-runs-on", "log-flood", "more-cores",
    }  # fmt: skip
    limits = {program.name: dict(program.limits) for program in PROGRAMS if program.limits}
    assert limits.pop("inodes") == {"seconds": 3.0}
    assert limits == {name: {"seconds": 1.0} for name in one_second}
    assert LIMITS == {
        "seconds": 10.0, "memory_mb": 128, "disk_mb": 32, "cores": 1, "processes": 32,
        "output_bytes": 10_000, "output_files": 100, "log_bytes": 5_000,
    }  # fmt: skip
