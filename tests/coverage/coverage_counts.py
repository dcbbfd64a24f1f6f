"""Counts of how often intervals held, and the file that keeps those of a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from arena.types import DEFAULT_LEVEL
from arena.utils.atomic_write import atomic_write
from coverage_procedures import Outcome

__all__ = ["OF_OTHERS", "Count", "Store", "bar", "detectable"]

OF_OTHERS = 200
"""Boards for the procedures of others, which are held to no bar, and take most of the time."""


def bar(level: float) -> float:
    """Return the least coverage that is asked for: .94 at a nominal level of .95."""
    return level - 0.2 * (1 - level)


_SIGNIFICANT = 0.01
"""The error probability of the test that a coverage is below the bar."""


def detectable(boards: int, level: float = DEFAULT_LEVEL, power: float = 0.8) -> float:
    """Return the largest true coverage that so many boards show to be below the bar.

    With the probability ``power``, by the test of :meth:`Count.is_low`; NaN with too few boards.

    >>> [round(detectable(boards), 3) for boards in (5, 100, 1_000)]
    [0.327, 0.844, 0.914]
    """
    most = binom.ppf(_SIGNIFICANT, boards, bar(level))
    most -= binom.cdf(most, boards, bar(level)) >= _SIGNIFICANT
    return float(betaincinv(most + 1, boards - most, 1 - power)) if most >= 0 else float("nan")


@dataclass(frozen=True, slots=True)
class Count:
    """How one procedure did on some boards of a cell."""

    boards: int = 0
    offered: int = 0
    """On how many boards it was printed as holding at the level."""
    covered: float = 0
    """On how many of these it held."""
    covered_withheld: float = 0
    """On how many of the other boards it held."""
    width: float = 0.0
    """Sum over the boards on which it was offered."""
    squares: float = 0
    """Sum of the squared shares of a board that held; ``covered`` where they are 0 and 1."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Count:
        """Count outcomes, one per board."""
        outcomes = list(outcomes)
        offered = [outcome for outcome in outcomes if outcome.offered]
        return cls(
            len(outcomes),
            len(offered),
            sum(count.covered for count in offered),
            sum(outcome.covered for outcome in outcomes if not outcome.offered),
            float(sum(count.width for count in offered)),
            sum(count.covered**2 for count in offered),
        )

    def __add__(self, other: Count) -> Count:
        """Return the count over the boards of both."""
        return Count(*(own + more for own, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> float:
        """The measured coverage where it was offered; NaN where it never was."""
        return self.covered / self.offered if self.offered else float("nan")

    @property
    def error(self) -> float:
        """The Monte Carlo standard error of the share."""
        share = (self.covered + 0.5) / (self.offered + 1)
        square = (self.squares + 0.5) / (self.offered + 1)
        return float(np.sqrt((square - share**2) / max(self.offered, 1)))

    @property
    def mean_width(self) -> float:
        """The mean width where it was offered; NaN where it never was."""
        return self.width / self.offered if self.offered else float("nan")

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95% interval of the coverage where it was offered (Clopper and Pearson 1934)."""
        missed = self.offered - self.covered
        tail = 0.025
        low = betaincinv(self.covered, missed + 1, tail) if self.covered else 0.0
        high = betaincinv(self.covered + 1, missed, 1 - tail) if missed > 1e-9 else 1.0
        return float(low), float(high)

    def is_low(self, level: float) -> bool:
        """Return whether the coverage is significantly below the bar (one-sided, at 1%)."""
        held = int(np.floor(self.covered + 1e-9))
        return self.offered > 0 and bool(binom.cdf(held, self.offered, bar(level)) < _SIGNIFICANT)


@dataclass(slots=True)
class Store:
    """The counts of a campaign by cell and procedure, kept in a JSON file."""

    seed: int
    resamples: int
    counts: dict[str, dict[str, Count]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """The processor time that was spent on each cell."""
    last: str = ""
    """The day of the last count, ISO 8601."""

    @classmethod
    def read(cls, path: Path) -> Store:
        """Return the counts in a file."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        counts = {
            cell: {name: Count(*values) for name, values in cell_document["counts"].items()}
            for cell, cell_document in stored["cells"].items()
        }
        seconds = {cell: own["seconds"] for cell, own in stored["cells"].items()}
        return cls(stored["seed"], stored["resamples"], counts, seconds, stored["last"])

    def add(self, cell: str, more: dict[str, Count]) -> None:
        """Add counts over further boards of a cell."""
        own = self.counts.setdefault(cell, {})
        for name, count in more.items():
            own[name] = own.get(name, Count()) + count
        self.last = datetime.now(UTC).date().isoformat()

    def write(self, path: Path) -> None:
        """Write the file, with a line for each cell."""
        head = {"seed": self.seed, "resamples": self.resamples, "last": self.last}
        lines = []
        for cell, cell_counts in sorted(self.counts.items()):
            counts = {
                name: [
                    float(f"{value:.8g}") if value % 1 else int(value) for value in astuple(count)
                ]
                for name, count in sorted(cell_counts.items())
            }
            entry = {"seconds": round(self.seconds.get(cell, 0.0), 1), "counts": counts}
            lines.append(f"{json.dumps(cell)}: {json.dumps(entry)}")
        text = json.dumps(head)[:-1] + ', "cells": {\n' + ",\n".join(lines) + "\n}}\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text.encode(), 0o644)
