"""The time to report faults is linear in the number of bad lines, rows or columns."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.intake import SubmissionForm, parse_submission
from arena.types import Solution
from submission_files import rows_of

VALID = "id,y\n" + rows_of()

GROWING: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "lines that are not UTF-8": (4_000, lambda n: VALID.encode() + b"\xff\n" * n),
    "lines with a NUL byte": (4_000, lambda n: VALID.encode() + b"a\0,1\n" * n),
    "one long line that is not UTF-8": (4_000, lambda n: VALID.encode() + b"\xff" * n),
    "rows with too few fields": (4_000, lambda n: (VALID + "x\n" * n).encode()),
    "rows in quotes": (20_000, lambda n: (VALID + '"a\nb",x\n' * n).encode()),
    "unknown ids": (40_000, lambda n: (VALID + "".join(f"x{i},1\n" for i in range(n))).encode()),
    "duplicate ids": (40_000, lambda n: (VALID + "007,1\n" * n).encode()),
    "cells that are no number": (40_000, lambda n: (VALID + "007,a\n" * n).encode()),
    "extra columns": (
        4_000,
        lambda n: (f"id,y,{','.join(f'c{i}' for i in range(n))}\n" + f"000,1{',1' * n}\n").encode(),
    ),
    "columns of one name": (4_000, lambda n: f"id{',y' * n}\n000{',1' * n}\n".encode()),
    "columns that resemble": (
        4_000,
        lambda n: (f"id,{','.join(f'Y{i}' for i in range(n))}\n000{',1' * n}\n").encode(),
    ),
}


def seconds(content: bytes, path: Path, form: SubmissionForm) -> float:
    """Return the processor time of a reading, without collections of other tests' garbage."""
    path.write_bytes(content)
    gc.disable()
    started = time.process_time()
    faults = parse_submission(path, form).faults
    took = time.process_time() - started
    gc.enable()
    assert faults
    return took


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWING)
def test_eight_times_the_size_takes_less_than_24_times_as_long(
    name: str, tmp_path: Path, solution: Solution
) -> None:
    """Quadratic time would be 64 times as long, linear time eight times."""
    size, make = GROWING[name]
    form = SubmissionForm.of(solution)
    small, large = make(size // 4), make(2 * size)
    short = long = math.inf
    for _ in range(60):  # until no other process disturbed either
        short = min(short, seconds(small, tmp_path / "small.csv", form))
        long = min(long, seconds(large, tmp_path / "large.csv", form))
        if long < 24 * short:
            break
    assert long < 24 * short
