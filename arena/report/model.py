"""The content of a report, as data; participants may have written any of its text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arena.report.heading import NO_HEADING, Heading
from arena.types import TEAMS, Section, Vocabulary


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a board."""

    title: str
    meaning: str
    """The text in plain words; empty if the title says enough."""
    cells: tuple[str, ...]
    order: tuple[float | None, ...] | None = None
    """The sort keys of the rows; None: the cells are text."""
    bars: tuple[tuple[float, float] | None, ...] | None = None
    """Start and width in per cent of a bar under each cell."""
    importance: int | None = 1
    """1 is shown in the narrowest terminal; None: never shown in a terminal."""
    key: str = ""
    """Its first key in a standing: titles depend on the words of a result."""

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
    """The one titled ``team``, in the words of the board, heads each row."""
    tiers: tuple[int | None, ...] = ()
    """The tier of every row, for the bands; empty: none, as where they do not follow the ranks."""
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells) if self.columns else 0


@dataclass(frozen=True, slots=True)
class Place:
    """One of the first places of a board."""

    rank: int
    team: str
    score: str
    ranks: str
    """The rank interval; empty where it is unknown."""
    bar: tuple[float, float] | None
    """Start and width in per cent of the bar of the rank interval."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The first screen of a report: the first places as a picture, and facts on the best."""

    places: tuple[Place, ...]
    highest: int
    """The rank at the right end of the bars."""
    n_teams: int
    lines: tuple[tuple[str, str], ...]
    """Name and value."""


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
    """The first is shown above the sections, the others below them; may be empty."""
    sections: tuple[Section, ...] = ()
    rejections: tuple[Rejection, ...] | None = None
    """None: the page does not mention them."""
    technical: tuple[Section, ...] = ()
    """How the figures were computed; the last part."""
    summary: Summary | None = None
    """The first places, at the head."""
    words: Vocabulary = TEAMS
    """The nouns for teams and rows in the page's own sentences."""
    heading: Heading = NO_HEADING
    """The organiser, date and logo above the title; :attr:`title` is shown, not its title."""

    def under(self, heading: Heading) -> Report:
        """Return the report with this heading; an empty title leaves that of the report."""
        return replace(self, title=heading.title or self.title, heading=heading)
