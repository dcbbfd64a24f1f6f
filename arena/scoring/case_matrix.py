"""Turns records of algorithms on cases into a matrix: repeats averaged, missing values treated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import InputError, UsageError
from arena.evaluation.clusters import time_blocks
from arena.intake.alignment import alike
from arena.intake.equal_texts import first_written
from arena.interfaces import CaseScores
from arena.interfaces.faults import first_of_each_kind, show, show_all
from arena.types import Fault, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CaseMatrix:
    """The values of m algorithms on n cases; each is the mean of the repeated answers."""

    algorithms: tuple[str, ...]
    """In the order of their first record."""
    cases: tuple[str, ...]
    """Unique names, of task and case if there are several tasks."""
    values: FloatArray
    """``(m, n)``; NaN where missing."""
    repeats: IntArray
    """``(m, n)`` numbers of answers."""
    within: FloatArray
    """``(m, n)`` variance of the answers to a case; NaN with fewer than two."""
    clusters: IntArray | None = None
    """``(n,)`` codes from 0."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the tasks, if there are several."""
    task_names: tuple[str, ...] = ()

    def subset(self, algorithms: Sequence[int]) -> CaseMatrix:
        """Return the matrix of the algorithms at these positions."""
        positions = list(algorithms)
        return replace(
            self,
            algorithms=tuple(self.algorithms[j] for j in positions),
            values=self.values[positions],
            repeats=self.repeats[positions],
            within=self.within[positions],
        )

    def with_cases(self, cases: Sequence[int]) -> CaseMatrix:
        """Return the matrix of the cases at these positions."""
        positions = list(cases)
        clusters = None if self.clusters is None else self.clusters[positions]
        return replace(
            self,
            cases=tuple(self.cases[i] for i in positions),
            values=self.values[:, positions],
            repeats=self.repeats[:, positions],
            within=self.within[:, positions],
            clusters=None if clusters is None else np.unique(clusters, return_inverse=True)[1],
            tasks=None if self.tasks is None else self.tasks[positions],
        )

    def filled_from(self, algorithm: str) -> tuple[CaseMatrix, int]:
        """Return the matrix with the values of an algorithm for missing ones, and their number.

        Raises
        ------
        UsageError
            If there is no such algorithm.
        """
        if algorithm not in self.algorithms:
            raise UsageError(
                f"There is no algorithm {show(algorithm)} to fill missing values from; there are "
                f"{show_all(self.algorithms)}."
            )
        filling = self.values[self.algorithms.index(algorithm)]
        absent = np.isnan(self.values) & ~np.isnan(filling)
        return replace(self, values=np.where(absent, filling, self.values)), int(absent.sum())

    def missing(self) -> dict[int, tuple[Fault, ...]]:
        """Return the faults of each algorithm that lacks values."""
        faults = {}
        for j, row in enumerate(self.values):
            absent = np.flatnonzero(np.isnan(row)).tolist()
            if absent:
                faults[j] = first_of_each_kind(
                    Fault(
                        "missing value",
                        "There is no value: add it, or choose what it counts with --missing.",
                        id=self.cases[i],
                    )
                    for i in absent
                )
        return faults


def combine(parts: Sequence[CaseScores]) -> CaseScores:
    """Return the records of several files as those of one.

    Raises
    ------
    InputError
        If the files state different metrics, directions or ranges, or only some have a task,
        cluster or repeat.
    """
    if not parts:
        raise InputError("There are no values to rank.")
    first = parts[0]
    for name, what in (
        ("metric", "values"),
        ("greater_is_better", "directions"),
        ("value_range", "ranges"),
    ):
        stated = {getattr(part, name) for part in parts}
        if len(stated) > 1:
            listed = ", ".join(sorted(map(str, stated)))
            raise InputError(
                f"The files hold different {what} ({listed}): rank one kind at a time, or choose "
                f"the values with --value."
            )
    columns: dict[str, Any] = {}
    for name in ("algorithms", "cases", "tasks", "clusters", "moments", "repeats"):
        part_values = [getattr(part, name) for part in parts]
        if any(part_value is None for part_value in part_values):
            if any(part_value is not None for part_value in part_values):
                raise InputError(f"Only some of the files have {name}: add them to all, or none.")
            columns[name] = None
        else:
            columns[name] = (
                np.concatenate(part_values)
                if name == "moments"
                else pa.concat_arrays([_text(part_value) for part_value in part_values])
            )
    return replace(
        first,
        **columns,
        values=np.concatenate([part.values for part in parts]),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        kind=first.kind if all(part.kind == first.kind for part in parts) else "cases",
    )


def case_matrix(
    scores: CaseScores, worst: float | None = None, *, infinite: bool = False
) -> CaseMatrix:
    """Return the matrix of records.

    Parameters
    ----------
    scores
        The records.
    worst
        Counts for each missing value; None: they stay missing.
    infinite
        Whether a value may be infinite, because only ranks are compared.

    Raises
    ------
    InputError
        If an algorithm has two values for a case (and repeat), a value is infinite, a case is in
        two clusters, or two cases or algorithms seem to be one that is written in two ways.

    Examples
    --------
    >>> scores = CaseScores(["a", "a", "b"], ["1", "1", "2"], np.array([1.0, 0.0, 1.0]),
    ...                     repeats=["x", "y", "x"])
    >>> case_matrix(scores).values.tolist(), case_matrix(scores, 0.0).values.tolist()
    ([[0.5, nan], [nan, 1.0]], [[0.5, 0.0], [0.0, 1.0]])
    """
    values = np.asarray(scores.values, dtype=np.float64)
    if not infinite and np.isinf(values).any():
        position = int(np.flatnonzero(np.isinf(values))[0])
        algorithm, case = (str(column[position]) for column in (scores.algorithms, scores.cases))
        raise InputError(
            f"{show(algorithm)} has an infinite value for the case {show(case)}, and a mean needs "
            "finite values: write a finite number, leave the cell empty, or rank the algorithms on "
            "each case with --aggregate rank-then-mean."
        )
    algorithms, names = _codes(scores.algorithms)
    case_codes, case_names = _with_equal_times(*_codes(scores.cases))
    several = scores.tasks is not None
    task_codes, task_names = _codes(scores.tasks) if several else (np.zeros_like(case_codes), [""])
    keys = task_codes * len(case_names) + case_codes
    _, first, cases = np.unique(keys, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    order = np.argsort(first, kind="stable")
    place[order] = np.arange(len(first))
    cases, first = place[cases], first[order]
    m, n = len(names), len(first)
    cells = algorithms * n + cases
    _refuse_duplicates(scores, cells)
    several = several and len(task_names) > 1
    labels = [
        f"{task_names[task_codes[position]]}/{case_names[case_codes[position]]}"
        if several
        else case_names[case_codes[position]]
        for position in first
    ]
    with_value = cells[~np.isnan(scores.values)]
    present = np.bincount(with_value, minlength=m * n).reshape(m, n) > 0
    if not present.all():
        _refuse_alike("algorithms", names, present)
        _refuse_alike("cases", labels, present.T)
    if len(set(labels)) < n:
        labels = [f"{label} ({i})" for i, label in enumerate(labels, start=1)]
    if worst is not None:
        values = np.where(np.isnan(values), worst, values)
    counts = np.bincount(cells, minlength=m * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cells, weights=values, minlength=m * n) / counts
        squares = np.bincount(cells, weights=np.square(values - means[cells]), minlength=m * n)
        within = np.where(counts > 1, squares / (counts - 1), np.nan)
    means[counts == 0] = np.nan if worst is None else worst
    return CaseMatrix(
        algorithms=tuple(names),
        cases=tuple(labels),
        values=means.reshape(m, n),
        repeats=counts.reshape(m, n),
        within=within.reshape(m, n),
        clusters=_clusters(scores, cases, first, labels),
        tasks=task_codes[first] if several else None,
        task_names=tuple(task_names) if several else (),
    )


def _text(column: Any) -> Any:
    return column if isinstance(column, pa.Array) else pa.array(map(str, column), pa.string())


def _codes(column: Any) -> tuple[IntArray, list[str]]:
    """Return codes in the order of first appearance, and the texts."""
    encoded = _text(column).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.intp), encoded.dictionary.to_pylist()


def _with_equal_times(codes: IntArray, names: list[str]) -> tuple[IntArray, list[str]]:
    """Return codes and names in which each point in time is one, as it is written first."""
    written = first_written(names)
    if written == names:
        return codes, names
    code_of, different = _codes(written)
    return code_of[codes], different


def _refuse_alike(what: str, names: Sequence[str], present: npt.NDArray[np.bool_]) -> None:
    """Refuse names of which two seem to be one: none of the others has values of both.

    Parameters
    ----------
    present
        ``(n_names, n_others)`` whether there is a value.
    """
    pair = alike(names, lambda a, b: bool((present[a] & present[b]).any()))
    if pair is not None:
        raise InputError(
            f"The {what} {show(pair[0])} and {show(pair[1])} seem to be one, written in two "
            "ways: write it in one way everywhere, or rename one if they are different."
        )


def _refuse_duplicates(scores: CaseScores, cells: IntArray) -> None:
    keys = cells
    if scores.repeats is not None:
        repeats, texts = _codes(scores.repeats)
        keys = cells * len(texts) + repeats
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    if (counts == 1).all():
        return
    position = int(first[counts > 1].min())
    case = _text(scores.cases)[position].as_py()
    algorithm = _text(scores.algorithms)[position].as_py()
    what = "two values" if scores.repeats is None else "two values of one repeat"
    raise InputError(
        f"{show(algorithm)} has {what} for the case {show(case)}. If a case was answered several "
        f"times, name the column that numbers the answers with --repeat; if cases of several tasks "
        f"share names, name the column of the tasks with --task; else remove one of the rows."
    )


def _clusters(
    scores: CaseScores, cases: IntArray, first: IntArray, labels: Sequence[str]
) -> IntArray | None:
    """Return ``(n,)`` codes of the groups of the cases, or of blocks of time."""
    if scores.clusters is not None:
        (codes, _), what = _codes(scores.clusters), "in two clusters"
    elif scores.moments is not None:
        codes, what = np.unique(scores.moments, return_inverse=True)[1], "at two times"
    else:
        return None
    cluster_codes: npt.NDArray[np.intp] = codes[first]
    other = np.flatnonzero(cluster_codes[cases] != codes)
    if len(other):
        label = labels[cases[other[0]]]
        raise InputError(f"The case {show(label)} is {what}: each case has one.")
    if scores.clusters is None:
        return time_blocks(cluster_codes.astype(np.float64))
    return np.asarray(np.unique(cluster_codes, return_inverse=True)[1], dtype=np.intp)
