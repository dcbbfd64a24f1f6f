"""The words for what a board ranks and for what it ranks on: teams, algorithms or models.

Sentences are written for teams, their submissions and rows. A board of values per case ranks
algorithms on cases, and an evaluation of language models ranks models on questions, so the same
sentences are reworded for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from arena.types import Chart, Finding, Section, Table
from arena.utils.text import shorten

WORDS: Mapping[str, Mapping[str, str]] = {
    "rows": {},
    "cases": {"team": "algorithm", "submission": "algorithm", "row": "case"},
    "questions": {
        "team": "model",
        "submission": "model",
        "algorithm": "model",
        "row": "question",
        "case": "question",
    },
}
"""Kind of board -> word in the singular -> the word in its place."""


@cache
def _pattern(kind: str, kept: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a name to keep, or of a word with its article and its plural.

    The row of a table or chart, as in "the team in its row", is another one.
    """
    names = "|".join(re.escape(name) for name in sorted(kept, key=len, reverse=True))
    words = rf"(?:\b(an?) )?\b(?<!in its )({'|'.join(WORDS[kind])})(s?)\b"
    return re.compile(f"(?:{names})|{words}" if names else words, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wording:
    """Rewords sentences, titles and labels for a kind of board.

    Examples
    --------
    >>> say = Wording("cases")
    >>> say("A team leads 3 teams on these rows.")
    'An algorithm leads 3 algorithms on these cases.'
    >>> Wording.of("cases", ["row net"])("row net beats each team.")
    'row net beats each algorithm.'
    """

    kind: str = "rows"
    """A key of :data:`WORDS`."""
    kept: tuple[str, ...] = ()
    """Names that are not replaced although they contain one of the words."""

    @classmethod
    def of(cls, kind: str, names: Iterable[str]) -> Wording:
        """Return the wording of a board with these names, which it does not change."""
        words = cls(kind)
        found = (one for name in names if words(name) != name for one in (name, shorten(name)))
        return cls(kind, tuple(dict.fromkeys(found)))

    def __call__(self, text: str) -> str:
        """Return a text with the words of this kind of board."""
        if not WORDS[self.kind]:
            return text
        return _pattern(self.kind, self.kept).sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        article, word, plural = found.groups()
        if word is None:  # a name
            return found[0]
        new = WORDS[self.kind][word.lower()] + plural
        if article is None:
            return new.capitalize() if word[0].isupper() else new
        return f"{article[0]}{'n' if new[0] in 'aeiou' else ''} {new}"

    def finding(self, finding: Finding) -> Finding:
        """Return a finding with these words; its document and columns are unchanged."""
        return replace(
            finding,
            verdict=self(finding.verdict),
            tables=tuple(map(self.table, finding.tables)),
            charts=tuple(map(self.chart, finding.charts)),
        )

    def section(self, section: Section) -> Section:
        """Return a section of a report with these words."""
        return replace(
            section,
            title=self(section.title),
            text=self(section.text),
            tables=tuple(map(self.table, section.tables)),
            charts=tuple(map(self.chart, section.charts)),
        )

    def table(self, table: Table) -> Table:
        """Return a table with these words; numbers of submissions beside a team are left out."""
        if not WORDS[self.kind]:
            return table
        numbered = {"team", "submission"} <= set(table.columns)
        kept = [at for at, one in enumerate(table.columns) if not numbered or one != "submission"]
        return Table(
            self(table.title),
            tuple(self(table.columns[at]) for at in kept),
            tuple(tuple(row[at] for at in kept) for row in table.rows),
        )

    def chart(self, chart: Chart) -> Chart:
        """Return a chart with these words in its titles, axes and tooltips."""
        if not WORDS[self.kind]:
            return chart
        return replace(
            chart,
            title=self(chart.title),
            description=self(chart.description),
            specification=self.specification(chart.specification),
        )

    def specification(self, part: Any) -> Any:
        """Return a Vega-Lite specification, or a part of one, with these words; data is kept."""
        if not WORDS[self.kind]:
            return part
        if isinstance(part, Mapping):
            return {key: self._member(key, value) for key, value in part.items()}
        if isinstance(part, list | tuple):
            return [self.specification(one) for one in part]
        return part

    def _member(self, key: str, value: Any) -> Any:
        if key in {"title", "description"} and isinstance(value, str):
            return self(value)
        if key in {"values", "datasets"}:
            return value
        if key == "tooltip" and isinstance(value, list):  # without a title the field is shown
            value = [
                {"title": one["field"], **one} if isinstance(one, Mapping) and "field" in one
                else one
                for one in value
            ]  # fmt: skip
        return self.specification(value)
