"""Output of ``trec_eval -q``: a measure, a query and a value on each line, and ``all`` at the end.

A file holds one run, or several one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena_readers.files import chosen, file_start, find, refusing

_LINE = re.compile(r"(?P<measure>[A-Za-z]\S*)\s+(?P<query>\S+)\s+(?P<value>\S+)\s*")
_NAMED = re.compile(
    rb"(?m)^(num_ret|num_rel|num_rel_ret|map|gm_map|Rprec|P_\d+|ndcg\S*)[ \t]+\S+\t"
)
_ALL, _RUN = "all", "runid"
_FIRST = ("map", "ndcg_cut_10", "ndcg")
"""The measure that counts if several are printed and none is chosen."""
_ROUNDED = 6e-5
"""More than half of the last digit of a printed mean."""


@dataclass(frozen=True, slots=True)
class TrecEvalReader:
    """Values per query of retrieval runs, as trec_eval prints them with ``-q``."""

    name: str = "trec-eval"
    description: str = "trec_eval -q: a file with a value per query for each run"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or is a folder that holds only, output of trec_eval."""
        return bool(_files(path))

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read every run. ``value`` is a measure; None: ``map``, if it is printed."""
        files = _files(path)
        if not files:
            raise unreadable(path, "it holds no output of trec_eval -q")
        for file in files:
            yield from _read(file, value)


def _files(path: Path) -> list[Path]:
    return [file for file in find(path, "*") if _NAMED.search(file_start(file)) is not None]


@dataclass(slots=True)
class _Run:
    """The values of one run: measure -> query -> value."""

    name: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)


@refusing
def _read(file: Path, value: str | None) -> list[CaseScores]:
    scores = []
    for run in _runs(file):
        names = [*filter(run.values.__contains__, _FIRST), *run.values]
        measure = chosen(value, list(dict.fromkeys(names)), file)
        values = np.array([*run.values[measure].values()])
        notes = [] if value is not None else [f"The values are those of {measure} (--value)."]
        mean = run.means.get(measure)
        if mean is not None and not abs(values.mean() - mean) < _ROUNDED:
            notes.append(
                f"{run.name}: trec_eval prints {mean:g} for {measure} of all queries, which is not "
                f"the mean {values.mean():.4f} of those printed."
            )
        scores.append(
            CaseScores(
                algorithms=[run.name] * len(values),
                cases=[*run.values[measure]],
                values=values,
                metric=measure,
                notes=tuple(notes),
            )
        )
    if not scores:
        raise unreadable(file, "it has no values of single queries: call trec_eval with -q")
    return scores


def _runs(file: Path) -> Iterator[_Run]:
    """Yield the runs of a file, named by the line ``runid``, else after the file."""
    run, at_end = _Run(file.stem), False
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        fields = _LINE.fullmatch(line)
        if fields is None:
            if line.strip():
                raise unreadable(f"{file}, line {number},", "it is no measure, query and value")
            continue
        measure, query, text = fields.groups()
        if query != _ALL and at_end:
            if run.values:
                yield run
            run, at_end = _Run(file.stem), False
        if query == _ALL:
            at_end = True
            if measure == _RUN:
                run.name = text
            else:
                run.means[measure] = float(text)
        elif measure != _RUN:
            values = run.values.setdefault(measure, {})
            if query in values:
                raise unreadable(
                    f"{file}, line {number},", f"{measure} of {query} is printed twice"
                )
            values[query] = float(text)
    if run.values:
        yield run
