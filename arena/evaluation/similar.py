"""Finds identical and nearly identical predictions of different teams, without any label.

Such predictions suggest one person with several accounts, or a shared file, but do not prove it.
Constant submissions, such as an unchanged sample submission, are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.ranks import doubled_mean_ranks
from arena.interfaces import PredictionBlocks
from arena.types import FloatArray, IntArray, PredictionKind
from arena.utils.text import printable

MOST_NEAR = 0.01
"""Maximum distance of two nearly identical submissions."""
_SHARE_OF_USUAL = 0.25
"""Their maximum distance, relative to the 90th percentile over pairs of teams."""
_USUAL_QUANTILE, _PAIRS_FOR_USUAL, _PAIRS_DRAWN = 0.9, 10, 2_000
_ROWS_COMPARED, _ROWS_COUNTED = 256, 32
_MOST_IN_A_BYTE = 255
_CELLS, _CELLS_OF_MANY, _MANY = 1_024, 256, 2_000
"""Number of cells, and of groups of cells, compared; the second for more than ``_MANY``."""
_MOST_COMPARED = 10_000
_NAMED = 10
_MOST_HASHES = 0.9
_COPIED, _FEWEST_COPIED = 0.25, 20
_TIED = 1e-5
"""Numbers this close, relative to the interquartile range, have the same rank: otherwise the
smallest noise would give many equal numbers, such as clipped ones, ranks far from each other."""
_CATEGORIES = (PredictionKind.LABEL, PredictionKind.TEXT)


@dataclass(frozen=True, slots=True)
class SimilarSubmissions:
    """Submissions of different teams with identical or nearly identical predictions."""

    identical: bool
    """Whether all predictions are equal."""
    submissions: tuple[int, ...]
    """Identical: the first of each team. Nearly identical: the closest pair of two teams."""
    teams: tuple[str, ...]
    """The team of each submission."""
    differing: float
    """The share of predictions that differ."""
    correlation: float | None
    """The correlation of the predictions, or of their ranks if only the order matters; None for
    labels and texts."""

    @property
    def differ_slightly(self) -> bool:
        """Whether most predictions differ, but little, so that the correlation describes them."""
        return self.correlation is not None and self.differing > 1 - _COPIED


def similar_submissions(
    predictions: PredictionBlocks,
    submissions: Sequence[int],
    teams: Sequence[str],
    kind: PredictionKind,
    *,
    block: int = 16,
) -> tuple[SimilarSubmissions, ...]:
    r"""Return the submissions of different teams that are identical or nearly identical.

    The distance of two submissions is the share of predictions that differ or, for numbers, the
    root mean square difference after standardisation (mean 0, variance 1), if that is smaller. For
    probabilities and scores, ranks are compared, because only their order may matter; numbers
    closer than 1e-5 of the interquartile range have the same rank. Two
    submissions are nearly identical if their distance is at most 1%, and at most a quarter of the
    90th percentile over pairs of teams: on an easy task, independent submissions are close too.
    Numbers are also nearly identical if more of them are equal than repeated values explain: the
    share of equal predictions exceeds the share of predictions that repeat a value of the same
    submission by a quarter (and by 20 predictions). Independent models do not agree to the last
    digit, so this finds copies in which many rows were changed.

    On 20 simulated boards of eight teams each (1,000 rows), a copy of the best team's probabilities
    was named on 20, 20 and 20 boards if 1%, 5% and 18% of the rows were changed, on 20 with normal
    noise of 0.1% of their standard deviation on every row, and on none with 1%; copied labels on
    20, 5 and 0, since equal labels are no evidence. No other pair was named.

    Identity and the share that differs are computed from all rows; the share is estimated from
    hashes of 1,024 groups of cells, which works if fewer than about two cells per group differ.
    Differences of numbers are computed from 1,024 cells. Both numbers are 256 with more than 2,000
    submissions. Identical ones are always found among all submissions; if more than 10,000 differ
    from each other, only the last one of each team is compared for near identity, because every
    pair is.

    Parameters
    ----------
    submissions, teams
        ``(m,)`` numbers and teams.
    kind
        What is predicted.
    block
        How many submissions are read at a time.

    Returns
    -------
    Groups of identical submissions first, then pairs of teams, the closest first. Memory: one block
    of submissions, and the compared cells.

    Examples
    --------
    >>> from arena.evaluation.predictions import ArrayPredictions
    >>> values = np.random.default_rng(0).random((4, 500))
    >>> values[2] = values[0]
    >>> values[3] = values[1] + 1e-6
    >>> for one in similar_submissions(
    ...     ArrayPredictions(values), [1, 2, 3, 4], list("abcd"), PredictionKind.VALUE
    ... ):
    ...     describe_similar(one)
    'Identical predictions: submission 1 of a, 3 of c.'
    'Nearly identical predictions: submission 2 of b, 4 of d (correlation 1.000000).'
    """
    comparison = Comparison()
    comparison.begin(kind, predictions.n_submissions)
    for start, part in predictions.blocks(block):
        comparison.add(submissions[start : start + len(part)], part)
    return comparison.similar(teams)


def describe_similar(found: SimilarSubmissions) -> str:
    """Return similar submissions as a sentence for the organiser, which names the first ten."""
    pairs = list(zip(found.submissions, found.teams, strict=True))
    named = ", ".join(f"{number} of {printable(team)}" for number, team in pairs[:_NAMED])
    if len(pairs) > _NAMED:
        named += f" and {len(pairs) - _NAMED:,} more"
    if found.identical:
        return f"Identical predictions: submission {named}."
    how = f"{found.differing:.2%} of the predictions differ"
    if found.differ_slightly:
        how = f"correlation {found.correlation:.6f}"
    return f"Nearly identical predictions: submission {named} ({how})."


@dataclass(slots=True, eq=False)
class _Compared:
    """The compared content of the submissions."""

    digests: list[bytes]
    """The digest of all cells of a submission; empty for a constant one."""
    kept: list[int]
    """``(k,)`` positions of the compared ones: of each group of identical ones, the first."""
    hashes: npt.NDArray[np.uint16]
    """``(k, g)`` hashes of groups of cells: if few cells differ, equally many hashes differ."""
    n_cells: int
    drawn: FloatArray | None
    """``(k, c)`` sampled numbers; None for labels and texts."""
    codes: npt.NDArray[np.uint16]
    """``(k, c)`` hashes of these numbers, which take less time to compare."""
    repeated: FloatArray
    """``(k,)`` shares of these numbers that repeat another one of the same submission."""

    def equal(self, start: int, stop: int) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return shares of equal sampled numbers, and where repeated values do not explain them.

        Both are ``(stop - start, k - start)``; :func:`similar_submissions` has the rule.
        """
        part, n_cells = self.codes[start:], self.codes.shape[1]
        shares = _equal_columns(self.codes[start:stop], part) / n_cells
        repeated = self.repeated[start:]
        excess = shares - np.maximum(repeated[: stop - start, np.newaxis], repeated)
        return shares, excess >= max(_COPIED, _FEWEST_COPIED / n_cells)

    def shares(self, these: npt.NDArray[np.uint16], start: int = 0) -> FloatArray:
        """Return ``(k, m - start)`` estimated shares of the cells that differ; 1 if most do."""
        hashes = self.hashes[start:]
        n_groups = hashes.shape[1]
        return self.from_hashes((n_groups - _equal_columns(these, hashes)) / n_groups)

    def from_hashes(self, differing: FloatArray) -> FloatArray:
        """Return the share of cells that differ, from the share of hashes that differ."""
        n_groups = self.hashes.shape[1]
        known = np.minimum(differing, _MOST_HASHES)
        if self.n_cells > n_groups:  # some groups have two cells that differ
            known = -np.log1p(-known) * (n_groups / self.n_cells)
        return np.where(differing > _MOST_HASHES, 1.0, known)


class Comparison:
    """What :func:`similar_submissions` computes, for predictions that are added block by block.

    Whoever reads every prediction for another reason, as an audit does, need not read them twice.
    """

    def __init__(self) -> None:
        self._kind: PredictionKind | None = None
        self._n_groups = 0
        self._numbers: list[int] = []
        self._digests: list[bytes] = []
        self._known: set[bytes] = {b""}
        self._kept: list[int] = []
        self._hashes: list[npt.NDArray[np.uint16]] = []
        self._drawn: list[FloatArray] = []
        self._codes: list[npt.NDArray[np.uint16]] = []
        self._repeated: list[float] = []
        self._keys = np.zeros(0, dtype=np.uint64)
        self._places = np.zeros(0, dtype=np.intp)
        self._padded = np.zeros((0, 0), dtype=np.uint64)

    def begin(self, kind: PredictionKind, n_submissions: int) -> None:
        """Say what is predicted, and how many submissions will be added."""
        self._kind = kind
        self._n_groups = _CELLS if n_submissions <= _MANY else _CELLS_OF_MANY

    def add(self, submissions: Sequence[int], block: npt.NDArray[Any]) -> None:
        """Add submissions with ``(k, n)`` or ``(k, n, n_columns)`` predictions."""
        kind, flat = self._kind, block.reshape(len(block), -1)
        if not len(self._keys):
            self._draw(flat.shape[1])
        for number, own, rows in zip(submissions, flat, block, strict=True):
            self._numbers.append(int(number))
            if kind is PredictionKind.TEXT:
                from pandas.util import hash_array

                cells = np.asarray(hash_array(own))
            else:
                values = np.ascontiguousarray(own, dtype=np.float64) + 0.0  # no negative zero
                cells = values.view(np.uint64)
            alike = bool((rows == rows[0]).all())
            digest = b"" if alike else hashlib.blake2b(cells.tobytes(), digest_size=16).digest()
            self._digests.append(digest)
            if digest in self._known:
                continue
            self._known.add(digest)
            self._kept.append(len(self._digests) - 1)
            self._keep(own, cells)

    def _draw(self, n_cells: int) -> None:
        """Draw the cells that are compared, and the keys of the hashes."""
        rng = np.random.default_rng(0)
        self._keys = rng.integers(2**63, size=n_cells, dtype=np.uint64) * np.uint64(2)
        self._keys += np.uint64(1)
        self._places = np.sort(rng.permutation(n_cells)[: self._n_groups]).astype(np.intp)
        self._padded = np.zeros((-(-n_cells // self._n_groups), self._n_groups), dtype=np.uint64)

    def _keep(self, own: npt.NDArray[Any], cells: npt.NDArray[np.uint64]) -> None:
        keys, places = self._keys, self._places
        if self._kind not in _CATEGORIES:
            self._drawn.append(own[places].astype(np.float64))
            mixed = (cells[places] ^ (cells[places] >> np.uint64(32))) * keys[0]
            self._codes.append((mixed >> np.uint64(48)).astype(np.uint16))
            self._repeated.append(1 - len(np.unique(cells[places])) / len(places))
        # Neighbouring cells go to different groups, because altered rows are often neighbours.
        self._padded.reshape(-1)[: len(keys)] = (cells ^ (cells >> np.uint64(32))) * keys
        mixed = self._padded.sum(axis=0, dtype=np.uint64)[: len(keys)]
        self._hashes.append((mixed >> np.uint64(48)).astype(np.uint16))

    def similar(self, teams: Sequence[str]) -> tuple[SimilarSubmissions, ...]:
        """Return the similar submissions; ``teams`` are those of the submissions, as added."""
        if self._kind is None:
            return ()
        read = self._compared()
        numbers, owners = np.array(self._numbers, dtype=np.intp), np.asarray(teams, dtype=object)
        found = [
            SimilarSubmissions(
                True, tuple(numbers[own].tolist()), tuple(owners[own].tolist()), 0.0, None
            )
            for own in _identical(read.digests, owners)
        ]
        chosen = np.arange(len(read.kept))
        if len(chosen) > _MOST_COMPARED:
            last = dict(zip(owners[read.kept], chosen.tolist(), strict=True))
            chosen = np.array(sorted(last.values()), dtype=np.intp)
        if len(chosen) > 1:
            kept = np.array(read.kept, dtype=np.intp)[chosen]
            scaled = None if read.drawn is None else _scaled(read.drawn[chosen], self._kind)
            others = replace(read, hashes=read.hashes[chosen])
            if scaled is not None:
                others = replace(others, codes=read.codes[chosen], repeated=read.repeated[chosen])
            found += _near(others, scaled, numbers[kept], owners[kept])
        return tuple(found)

    @property
    def submissions(self) -> tuple[int, ...]:
        """The submissions that were added."""
        return tuple(self._numbers)

    def _compared(self) -> _Compared:
        empty = np.zeros((0, 0), dtype=np.uint16)
        return _Compared(
            self._digests,
            self._kept,
            np.stack(self._hashes) if self._hashes else empty,
            len(self._keys),
            np.stack(self._drawn) if self._drawn else None,
            np.stack(self._codes) if self._codes else empty,
            np.array(self._repeated, dtype=np.float64),
        )


def _identical(digests: Sequence[bytes], owners: npt.NDArray[Any]) -> Iterator[IntArray]:
    """Yield the positions of identical submissions of two or more teams, one of each team."""
    groups: dict[bytes, dict[str, int]] = {}
    for at, (digest, owner) in enumerate(zip(digests, owners, strict=True)):
        if digest:
            groups.setdefault(digest, {}).setdefault(owner, at)
    for group in groups.values():
        if len(group) > 1:
            yield np.array(list(group.values()), dtype=np.intp)


def _near(
    read: _Compared, scaled: FloatArray | None, numbers: IntArray, owners: npt.NDArray[Any]
) -> list[SimilarSubmissions]:
    limit = min(MOST_NEAR, _SHARE_OF_USUAL * _usual_distance(read, scaled, owners))
    closest: dict[tuple[str, str], tuple[float, int, int, float]] = {}
    for start in range(0, len(owners), _ROWS_COMPARED):
        shares = read.shares(read.hashes[start : start + _ROWS_COMPARED], start)
        distances, near = shares, shares <= limit
        if scaled is not None:
            products = scaled[start : start + _ROWS_COMPARED] @ scaled[start:].T
            distances = np.minimum(shares, _distance(products))
            equal, copied = read.equal(start, min(start + _ROWS_COMPARED, len(owners)))
            shares = np.where(shares > MOST_NEAR, 1 - equal, shares)  # so many are better counted
            near = (distances <= limit) | copied
        for row, column in np.argwhere(near).tolist():
            i, j = row + start, column + start
            if i < j and owners[i] != owners[j]:
                pair = (min(owners[i], owners[j]), max(owners[i], owners[j]))
                own_pair = (float(distances[row, column]), i, j, float(shares[row, column]))
                closest[pair] = min(closest.get(pair, own_pair), own_pair)
    found = []
    for _, i, j, share in sorted(closest.values()):
        correlation = None if scaled is None else float(scaled[i] @ scaled[j])
        names, own = (owners[i], owners[j]), (int(numbers[i]), int(numbers[j]))
        found.append(SimilarSubmissions(False, own, names, share, correlation))
    return found


def _equal_columns(
    these: npt.NDArray[np.uint16], others: npt.NDArray[np.uint16]
) -> npt.NDArray[np.uint16]:
    """Return ``(k, m)``: in how many of up to 65,535 columns the rows of two tables are equal.

    Column by column, and counted in bytes: a third of the time that row by row takes.

    >>> ones, others = np.array([[1, 2]], np.uint16), np.array([[1, 2], [1, 3]], np.uint16)
    >>> _equal_columns(ones, others).tolist()
    [[2, 1]]
    """
    n_columns = others.shape[1]
    counts = np.zeros((len(these), len(others)), dtype=np.uint16)
    of_these = np.ascontiguousarray(these.T)[:, :, np.newaxis]
    of_others = np.ascontiguousarray(others.T)
    for first in range(0, len(these), _ROWS_COUNTED):
        part = slice(first, first + _ROWS_COUNTED)
        equal = np.empty(counts[part].shape, dtype=np.bool_)
        for start in range(0, n_columns, _MOST_IN_A_BYTE):
            own = np.zeros(equal.shape, dtype=np.uint8)
            for column in range(start, min(start + _MOST_IN_A_BYTE, n_columns)):
                np.equal(of_these[column, part], of_others[column], out=equal)
                own += equal.view(np.uint8)
            counts[part] += own
    return counts


def _scaled(cells: npt.NDArray[Any], kind: PredictionKind) -> FloatArray:
    """Return the cells, or their ranks, with mean 0 and norm 1; constant ones become 0."""
    ordered = kind in (PredictionKind.PROBABILITY, PredictionKind.SCORE)
    if ordered:
        cells = doubled_mean_ranks(np.stack([_nearly_tied(own) for own in cells])) / 2 - 1
    # Scaled first: the squares of very large numbers would overflow.
    values = cells / np.maximum(np.abs(cells).max(axis=1, keepdims=True), np.finfo(float).tiny)
    values = values - values.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(np.divide(values, norms, out=np.zeros_like(values), where=norms > 0))


def _nearly_tied(values: FloatArray) -> FloatArray:
    """Return the values, rounded to steps so small that only noise is lost.

    >>> _nearly_tied(np.array([0.0, 1e-9, 0.2, 0.6, 1.0])).round(3).tolist()
    [0.0, 0.0, 0.2, 0.6, 1.0]
    """
    low, high = np.quantile(values, [0.25, 0.75])
    with np.errstate(over="ignore", invalid="ignore"):
        step = _TIED * (high - low)
        rounded = np.round(values / step) * step if step > 0 else values
    return rounded if np.isfinite(rounded).all() else values


def _distance(correlations: FloatArray) -> FloatArray:
    distances: FloatArray = np.sqrt(np.maximum(2 - 2 * correlations, 0))
    return distances


def _usual_distance(read: _Compared, scaled: FloatArray | None, owners: npt.NDArray[Any]) -> float:
    """Return the 90th percentile of the distance between submissions of different teams."""
    m = len(owners)
    if m**2 <= _PAIRS_DRAWN:
        pairs = np.argwhere(np.ones((m, m), dtype=bool))
    else:
        pairs = np.random.default_rng(0).integers(m, size=(_PAIRS_DRAWN, 2))
    first, second = pairs.T
    chosen = (first < second) & (owners[first] != owners[second])
    first, second = first[chosen], second[chosen]
    if len(first) < _PAIRS_FOR_USUAL:
        return np.inf
    distances = read.from_hashes((read.hashes[first] != read.hashes[second]).mean(axis=1))
    if scaled is not None:
        products = np.einsum("ij,ij->i", scaled[first], scaled[second])
        distances = np.minimum(distances, _distance(products))
    return float(np.quantile(distances, _USUAL_QUANTILE))
