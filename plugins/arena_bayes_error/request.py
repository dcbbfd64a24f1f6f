"""A request for an estimate from a file of labels, and the columns that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces.faults import show_all
from arena.types import IntArray
from arena.utils.text import plural
from arena_bayes_error.estimate import Options
from arena_bayes_error.label_file import LabelFile

_WITHOUT_SIGNS = (
    " A probability is not a sign: exact ones are --kind soft and numbers of labels --kind "
    "counts, which need no sign labels."
)


@dataclass(frozen=True, slots=True, eq=False)
class FloorRequest:
    """The file and the options of an estimate, and how its columns are read."""

    file: LabelFile
    columns: tuple[str, ...]
    """Columns of the labels; empty: those that no other option names."""
    sign: str | None
    label: str | None
    positive: str | None
    prior: float | None
    options: Options
    """Without the clusters, which :meth:`settings` adds."""
    cluster: str | None = None
    metric: tuple[str, ...] = ()
    """Metrics whose best possible score is also computed."""
    neighbours: int | None = None

    def numbers(self, names: tuple[str, ...]) -> npt.NDArray[Any]:
        """Return ``(n, k)`` of the columns named, all finite; raises InputError."""
        return self.file.numbers(names)

    def codes(self, name: str, what: str) -> IntArray:
        """Return ``(n,)`` a number for each different text of a column; raises InputError."""
        return self.file.codes(name, what)

    def settings(self) -> Options:
        """Return the options with the groups of the rows, if a column of them was named."""
        if self.cluster is None:
            return self.options
        return {**self.options, "clusters": self.file.codes(self.cluster, "group")}

    def left(self) -> tuple[str, ...]:
        """Return the named columns, else all that no other option names."""
        if self.columns:
            return self.columns
        others = {self.sign, self.label, self.cluster, "id" if self.file.has_header else None}
        return tuple(name for name in self.file.names if name not in others)

    def data_columns(self) -> tuple[str, ...]:
        """Return the columns of the labels: the named ones, else the rest if unambiguous."""
        left = self.left()
        texts = {self.file.starts_with_text(column) for column in left}
        if self.columns or (left and (len(left) == 1 or len(texts) == 1)):
            return left
        raise UsageError(
            f"The columns of labels in {self.file.path} are ambiguous: name them with --column "
            f"({show_all(self.file.names)})."
        )

    def column(self, what: str) -> npt.NDArray[Any]:
        """Return the one column of numbers that a kind reads."""
        names = self.data_columns()
        if len(names) > 1:
            raise UsageError(
                f"{plural(len(names), 'column')} could be the {what}: name one with --column "
                f"({show_all(names)})."
            )
        return np.ascontiguousarray(self.file.numbers(names)[:, 0])

    def signs(self, labels: tuple[str, ...] = ()) -> tuple[npt.NDArray[np.bool_], str]:
        """Return the signs, written with the texts of the labels or with 0, 1 and -1."""
        name = self.sign or ""
        texts = set(self.file.values(name))
        usual = next((pair for pair in (("0", "1"), ("-1", "1")) if texts <= {*pair}), ())
        shared = bool(labels) and texts <= {*labels}
        positive = self.positive if not labels or shared or self.positive in texts else None
        expected_texts = labels if shared else usual
        return self.file.two_texts(
            name, "sign label", positive=positive, allowed=expected_texts, otherwise=_WITHOUT_SIGNS
        )

    def classes(self) -> list[int] | None:
        """Return the positions of the positive classes among the columns; None if not given."""
        return None if self.positive is None else positions_of(self.positive, self.data_columns())


def positions_of(positive: str, names: tuple[str, ...]) -> list[int]:
    """Return the positions of classes that are named, or counted from 0.

    >>> positions_of("cat, dog", ("cat", "cow", "dog")), positions_of("1", ("cat", "cow"))
    ([0, 2], [1])
    """
    positive_names = [name.strip() for name in positive.split(",")]
    by_name = all(name in names for name in positive_names)
    if not by_name and not all(
        name.isdecimal() and int(name) < len(names) for name in positive_names
    ):
        raise UsageError(
            f"--positive takes column names of classes, or positions from 0: {show_all(names)}."
        )
    return [names.index(name) if by_name else int(name) for name in positive_names]
