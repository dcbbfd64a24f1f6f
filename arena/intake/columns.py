"""Defines the columns that a submission must have and matches the columns of a file to them."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.alterations import ALTERATIONS
from arena.intake.content import MAX_BYTES
from arena.intake.table import Bounds
from arena.interfaces import TABLE, Modality
from arena.interfaces.faults import FaultList, show, show_all
from arena.types import KNOWN_TARGET, IntArray, PredictionKind, Solution, Target, UsageArray
from arena.utils.text import plural

PROBABILITIES = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)
_CUTOFF = 0.6
_MAX_GUESSED = 20
_LONGEST_GUESSED = 100
MORE_ROWS, _MORE_COLUMNS = 100_000, 10_000
"""So many more than a submission needs are read, so that faults can name them."""
_BYTES_OF_CELL = 32
_MEMORY_OF_BYTE = 16
_LEAST_MEMORY = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Layout:
    """The expected content of a file, given its column names."""

    columns: tuple[str, ...]
    bounds: tuple[float, float]
    sums_to_one: bool
    keeps_last: bool
    """Whether both classes are given, of which only the positive class's column is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class SubmissionForm:
    """The form of a submission: everything that checking needs, without the truth."""

    id_column: str
    columns: tuple[str, ...]
    targets: tuple[Target, ...]
    kind: PredictionKind
    ids: Any
    """``pyarrow.StringArray`` of the unique ids."""
    prediction_range: tuple[float, float] = (-np.inf, np.inf)
    """Closed range of valid numbers; probabilities must also be in [0, 1]."""
    max_bytes: int = MAX_BYTES
    """Maximum file size in bytes, compressed and decompressed."""
    modality: Modality = TABLE
    sizes: IntArray | None = None
    """``(n, k)`` what :meth:`~arena.interfaces.Modality.sizes` knows of each id."""
    sendable: tuple[tuple[str, ...], ...] | None = None
    """For each target the labels that may be sent; None: all. The others are unknown to whoever
    sends a file, and so is whether they exist."""

    header: tuple[str, ...] = ()
    """The columns of a file without a header line; empty: it must have one."""
    optional: npt.NDArray[np.bool_] | None = None
    """``(n, n_columns)`` which cells may be empty, because there is nothing to compare them with;
    None: none. It tells where the solution lacks values."""
    row_sets: UsageArray | None = None
    """``(n,)`` the set of each row: a file has all rows of a set, or none of them, which are NaN.
    None: it has every row."""

    @classmethod
    def of(
        cls, solution: Solution, *, gaps: bool = False, by_usage: bool = False, **rules: Any
    ) -> SubmissionForm:
        """Return the form of a solution's submissions; ``rules`` are the fields after ``ids``.

        With ``gaps`` a cell may be empty where the solution has no value; with ``by_usage`` a file
        may lack all rows of a usage.
        """
        optional = None
        if gaps and solution.outline().gaps:
            known_columns = (solution.extra.get(KNOWN_TARGET + name) for name in solution.columns)
            everywhere = np.ones(solution.n_rows)
            optional = (
                np.stack([everywhere if k is None else k for k in known_columns], axis=1) == 0
            )
        return cls(
            solution.id_column,
            solution.columns,
            solution.targets,
            solution.kind,
            solution.ids,
            sizes=rules.get("modality", TABLE).sizes(solution.extra),
            optional=optional,
            row_sets=solution.usage if by_usage else None,
            **rules,
        )

    def expected_rows(self, positions: IntArray) -> npt.NDArray[np.bool_]:
        """Return ``(n,)`` which rows a file must have if it has the rows at some positions.

        A negative position is an id that the solution does not have.
        """
        if self.row_sets is None or not (positions >= 0).any():
            return np.ones(len(self.ids), dtype=np.bool_)
        return np.isin(self.row_sets, self.row_sets[positions[positions >= 0]])

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels of the first target that may be sent; empty for a numeric target."""
        return (self.targets[0].classes or ()) if self.sendable is None else self.sendable[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All valid column names."""
        return (self.id_column, *self.columns, *self.classes)

    @property
    def bounds(self) -> Bounds:
        """The largest table that is read in full, so that its faults can be reported."""
        each = max(10, self.modality.most_rows)
        return Bounds(
            each * len(self.ids) + MORE_ROWS, 2 * len(self.names) + _MORE_COLUMNS, self.max_bytes
        )

    @property
    def max_memory(self) -> int:
        """The memory limit for reading one file, in bytes.

        Sixteen times the size of a valid file at 32 bytes per cell, plus 256 MiB; texts may be as
        long as a file. A file of 200,000 rows with two faults each took 8 times its size.
        """
        cells = len(self.ids) * len(self.columns) * _BYTES_OF_CELL
        text = self.max_bytes if self.kind is PredictionKind.TEXT else 0
        return _LEAST_MEMORY + _MEMORY_OF_BYTE * (int(self.ids.nbytes) + cells + text)

    def layout(self, names: Sequence[str]) -> Layout:
        """Return the expected content of a file with these column names."""
        probabilities = self.kind in PROBABILITIES
        low, high = self.prediction_range
        one_target = len(self.targets) == 1
        both_classes = (
            probabilities
            and one_target
            and len(self.classes) == 2
            and set(self.classes) <= set(names)
            and (self.columns[0] in self.classes or self.columns[0] not in names)
        )
        several = self.kind is PredictionKind.CLASS_PROBABILITIES and len(self.columns) > 1
        return Layout(
            columns=self.classes if both_classes else self.columns,
            bounds=(max(low, 0.0), min(high, 1.0)) if probabilities else (low, high),
            sums_to_one=both_classes or (several and one_target),
            keeps_last=both_classes,
        )


def match_columns(
    names: Sequence[str],
    expected: Sequence[str],
    faults: FaultList,
    *,
    never_guessed: Collection[str] = (),
    row: int | None = None,
) -> dict[str, int]:
    """Return the position of each expected column; report wrong names as faults.

    A misspelt column is matched to the most similar name, so that its cells are checked too.

    Parameters
    ----------
    names
        The column names in the file.
    expected
        The names that must occur, each exactly once, and no others.
    never_guessed
        Names that are not matched to a missing column merely because no other is left.
    row
        The line number of the header.

    Examples
    --------
    >>> faults = FaultList()
    >>> match_columns(["ID", "target"], ["id", "target"], faults)
    {'target': 1, 'id': 0}
    >>> faults.to_tuple()[0].message
    "Column 'ID' is unknown; did you mean 'id'? Upper and lower case must match. Rename it."
    """
    for name, count in Counter(names).items():
        if count > 1:
            message = f"Column {show(name)} occurs {plural(count, 'time')}: keep one of them."
            faults.add("repeated column", message, row=row, column=name)
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    matched = {name: first[name] for name in dict.fromkeys(expected) if name in first}
    expected_names = set(expected)
    missing = [name for name in expected if name not in matched]
    extra = [name for name in dict.fromkeys(names) if name not in expected_names]
    guesses = _guess(missing, extra, never_guessed)
    for name, (written, why) in guesses.items():
        message = f"Column {show(written)} is unknown; did you mean {show(name)}? {why}Rename it."
        faults.add("misnamed column", message, row=row, column=written)
        matched[name] = first[written]
    has, keep = show_all(names), show_all(expected)
    for name in (name for name in missing if name not in guesses):
        message = f"Column {show(name)} is missing; the file has {has}. Add it."
        faults.add("missing column", message, row=row, column=name)
    guessed_names = {written for written, _ in guesses.values()}
    for name in (name for name in extra if name not in guessed_names):
        message = (
            f"Column {show(name)} is not allowed: keep only {keep}."
            if name.strip()
            else "A column without a name, such as the index that pandas writes, is not allowed: "
            "write the file with index=False."
        )
        faults.add("extra column", message, row=row, column=name)
    return matched


def _guess(
    missing: Sequence[str], extra: Sequence[str], never_guessed: Collection[str]
) -> Mapping[str, tuple[str, str]]:
    """Return missing name -> (most similar name in the file, reason)."""
    guesses: dict[str, tuple[str, str]] = {}
    left = list(extra)
    for alteration in (a for a in ALTERATIONS if not a.may_be_meant):
        rest = [name for name in missing if name not in guesses]
        if not left or not rest:
            break
        keys, wanted_keys = (
            alteration.undone(pa.array(names)).to_pylist() for names in (left, rest)
        )
        original = dict(zip(reversed(keys), reversed(left), strict=True))
        why = f"{alteration.reason[0].upper()}{alteration.reason[1:]}. "
        for name, key in zip(rest, wanted_keys, strict=True):
            if key in original:
                guesses[name] = (original.pop(key), why)
        guessed_names = {written for written, _ in guesses.values()}
        left = [name for name in left if name not in guessed_names]
    near = [e for e in left if len(e) <= _LONGEST_GUESSED][:_MAX_GUESSED]
    for name in [name for name in missing if name not in guesses][:_MAX_GUESSED]:
        if len(name) <= _LONGEST_GUESSED:
            for written in difflib.get_close_matches(name, near, n=1, cutoff=_CUTOFF):
                guesses[name] = (written, "")
                near.remove(written)
                left.remove(written)
    rest = [name for name in missing if name not in guesses]
    left = [name for name in left if name.strip() and name not in never_guessed]
    if len(rest) == 1 and len(left) == 1:
        guesses[rest[0]] = (left[0], "No other name is left. ")
    return guesses
