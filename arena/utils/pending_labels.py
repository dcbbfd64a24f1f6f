"""How many rows of a board have no label yet, for everybody."""

from __future__ import annotations

from typing import NamedTuple

from arena.utils.text import plural


class PendingLabels(NamedTuple):
    """How many rows of a board have no label yet."""

    pending: int
    n_rows: int
    """The number of rows that have a label."""

    @property
    def sentence(self) -> str:
        """What a board without these labels is computed on.

        >>> PendingLabels(60, 40).sentence
        'The board is computed on 40 of 100 rows: the labels of the others are to arrive.'
        """
        total = self.pending + self.n_rows
        return (
            f"The board is computed on {self.n_rows:,} of {plural(total, 'row')}: the labels of "
            "the others are to arrive."
        )
