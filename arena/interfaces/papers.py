"""The interface of papers whose figures ``arena reproduce`` computes again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from arena.types import Chart
from arena.utils.parallel import Progress


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """How a paper is reproduced."""

    data: Path | None = None
    """A folder of data published with the papers; None: without them."""
    quick: bool = False
    """Whether to repeat simulations less often, for a first look."""
    charts: bool = True
    """Whether charts are wanted."""
    models: Path | None = None
    """A folder that keeps trained models; None: a temporary one."""
    seed: int = 0
    workers: int = 0
    engine: str = "local"
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A published number and the computed one."""

    where: str
    """The table, figure or section of the paper."""
    quantity: str
    published: float | None
    """None: the paper prints no number."""
    computed: float | None
    """None: it cannot be computed here."""
    agrees: bool | None
    """Whether they agree; None: there is nothing to compare."""
    note: str = ""
    """The reason for a difference, or the allowances of the comparison."""


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """The reproduced results of a paper."""

    figures: tuple[Reproduced, ...]
    charts: tuple[Chart, ...]
    missing: tuple[str, ...]
    """Results that need data that are not public or not here, in sentences."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; charts by name."""
        return {
            "figures": [asdict(figure) for figure in self.figures],
            "charts": [chart.name for chart in self.charts],
            "missing": list(self.missing),
        }


@runtime_checkable
class Paper(Protocol):
    """A paper whose numbers and charts can be computed again."""

    @property
    def name(self) -> str:
        """The name for ``arena reproduce``."""

    @property
    def title(self) -> str:
        """Authors, year and title."""

    def reproduce(self, options: PaperOptions, progress: Progress) -> Reproduction:
        """Compute the numbers and draw the charts."""


def rounded(
    where: str, quantity: str, published: float, computed: float, decimals: int, note: str = ""
) -> Reproduced:
    """Return a comparison of numbers that agree if they are equal as the paper prints them.

    >>> rounded("Table 3", "mean", 0.9173, 0.91726, 4).agrees
    True
    """
    agrees = round(computed, decimals) == published
    return Reproduced(where, quantity, published, computed, agrees, note)


def within(
    where: str, quantity: str, published: float, computed: float, reach: float, note: str = ""
) -> Reproduced:
    """Return a comparison of numbers that agree if they differ by at most ``reach``.

    >>> within("Figure 3", "loss", 0.43, 0.425, 0.01).agrees
    True
    """
    agrees = abs(computed - published) <= reach
    why = note or f"they may differ by {reach:.2g}: both are simulated"
    return Reproduced(where, quantity, published, computed, agrees, why)
