"""Reads a column of times, of which only the order counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.intake.cells import Place
from arena.interfaces.faults import FaultList, show
from arena.types import FloatArray
from arena.utils.times import in_utc


def read_times(
    text: Any,
    column: str,
    used: npt.NDArray[np.bool_],
    place: Place,
    faults: FaultList,
) -> FloatArray:
    """Return ``(n,)`` times: numbers as they are, ISO 8601 as seconds; 0 in rows not used.

    Times without an offset are UTC. A cell that is neither, or unlike the others, is a fault.
    """
    coded = text.dictionary_encode()
    codes, words = coded.indices.to_numpy().astype(np.intp), coded.dictionary.to_pylist()
    is_used = np.zeros(len(words), dtype=np.bool_)
    is_used[codes[used]] = True
    numbers, dates = (
        np.array(
            [read(word) if is_read else 0.0 for word, is_read in zip(words, is_used, strict=True)]
        )
        for read in (_as(float), _as(_seconds))
    )
    times = min(numbers, dates, key=lambda values: np.isnan(values).sum())
    unclear = np.flatnonzero(used & np.isnan(times)[codes])
    faults.add_each(
        "unknown time",
        unclear.tolist(),
        lambda p: place.fault(
            "unknown time",
            f"{show(words[codes[p]])} is no time: write numbers, or dates such as 2026-12-31 or "
            "2026-12-31T23:59, the same in all rows.",
            p,
            column,
        ),
    )
    return np.asarray(np.where(used, np.nan_to_num(times)[codes], 0.0), dtype=np.float64)


def _as(read: Callable[[str], float]) -> Callable[[str], float]:
    def checked(word: str) -> float:
        try:
            value = read(word)
        except (ValueError, OverflowError):
            return float("nan")
        return value if np.isfinite(value) else float("nan")

    return checked


def _seconds(word: str) -> float:
    time = datetime.fromisoformat(word.strip())
    return in_utc(time).timestamp()
