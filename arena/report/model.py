"""What a report holds, as data: everything in it is text of anyone, escaped when it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from arena.types import Section

__all__ = ["Board", "Column", "Rejection", "Report"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a board."""

    title: str
    meaning: str
    """What it says, in plain words; empty where the title is enough."""
    cells: tuple[str, ...]
    order: tuple[float | None, ...] | None = None
    """What the rows are sorted by; None: the cells are text."""
    bars: tuple[tuple[float, float] | None, ...] | None = None
    """Start and width in per cent of a bar under each cell."""

    @property
    def numeric(self) -> bool:
        """Whether it is set and sorted as numbers."""
        return self.order is not None


@dataclass(frozen=True, slots=True)
class Board:
    """A table of standings, the best first."""

    name: str
    """Of letters and hyphens, unique in a report."""
    title: str
    caption: str
    columns: tuple[Column, ...]
    """The one titled ``team`` heads each row."""
    tiers: tuple[int | None, ...] = ()
    """The tier of every row, for the bands; empty: none."""
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells) if self.columns else 0


@dataclass(frozen=True, slots=True)
class Rejection:
    """A submission that does not count."""

    file: str
    team: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything on a page, in its order."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """Name and value of what describes the competition, at the head."""
    verdicts: tuple[str, ...]
    """Sentences; the first is the heading's."""
    boards: tuple[Board, ...]
    """The first stands above the sections, the others below."""
    sections: tuple[Section, ...] = ()
    rejections: tuple[Rejection, ...] | None = None
    """None: the page says nothing of them."""
    technical: tuple[Section, ...] = ()
    """How the figures were computed; the last part."""
