"""Finds identical and nearly identical predictions of different teams, without any label.

Such predictions suggest one person with several accounts, or a shared file, but do not prove it.
Constant submissions, such as an unchanged sample submission, are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
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
MOST_COMPARED = 10_000
"""Of more different submissions, the last of each team is compared, and every repeated one."""
_NAMED = 10
_MOST_HASHES = 0.9
_COPIED, _FEWEST_COPIED = 0.25, 20
_TIED = 1e-5
"""Numbers this close, relative to the interquartile range, have the same rank: otherwise the
smallest noise would give many equal numbers, such as clipped ones, ranks far from each other."""
_ROUNDING = 1e-9
_SPARSE = 64
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
    first_equal: IntArray | None = None,
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

    Identity and the share that differs are computed from all rows; the share is estimated from
    hashes of 1,024 groups of cells, which works if fewer than about two cells per group differ.
    Differences of numbers are computed from 1,024 cells. Both numbers are 256 with more than 2,000
    submissions. Identical ones are always found among all submissions; if more than 10,000 differ
    from each other, only the last new one of each team is compared for near identity, because every
    pair is.

    Parameters
    ----------
    submissions, teams
        ``(m,)`` numbers and teams.
    kind
        What is predicted.
    block
        How many submissions are read at a time.
    first_equal
        ``(m,)`` the position of the first submission that is known to have the same predictions.
        Only these are read; if there are more than 10,000, only the compared ones and those with
        equals. None: nothing is known, and all are read.

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
    >>> for group in similar_submissions(
    ...     ArrayPredictions(values), [1, 2, 3, 4], list("abcd"), PredictionKind.VALUE
    ... ):
    ...     describe_similar(group)
    'Identical predictions: submission 1 of a, 3 of c.'
    'Nearly identical predictions: submission 2 of b, 4 of d (correlation 1.000000).'
    """
    comparison = Comparison()
    read = comparison.begin(kind, submissions, first_equal, teams)
    chosen = predictions if len(read) == len(submissions) else predictions.subset(read)
    for start, part in chosen.blocks(block):
        comparison.add(read[start : start + len(part)], part)
    return comparison.similar(teams)


def _to_read(first: IntArray, owners: npt.NDArray[Any]) -> IntArray:
    """Return the positions whose predictions are needed to find all similar submissions."""
    different, sizes = np.unique(first, return_counts=True)
    if len(different) <= MOST_COMPARED:
        return different
    return np.union1d(different[sizes > 1], _last_of_each_team(different, owners))


def _last_of_each_team(positions: IntArray, owners: npt.NDArray[Any]) -> IntArray:
    last = dict(zip(owners[positions], positions.tolist(), strict=True))
    return np.array(sorted(last.values()), dtype=np.intp)


def describe_similar(pair: SimilarSubmissions) -> str:
    """Return similar submissions as a sentence for the organiser, which names the first ten."""
    pairs = list(zip(pair.submissions, pair.teams, strict=True))
    named = ", ".join(f"{number} of {printable(team)}" for number, team in pairs[:_NAMED])
    if len(pairs) > _NAMED:
        named += f" and {len(pairs) - _NAMED:,} more"
    if pair.identical:
        return f"Identical predictions: submission {named}."
    how = f"{pair.differing:.2%} of the predictions differ"
    if pair.differ_slightly:
        how = f"correlation {pair.correlation:.6f}"
    return f"Nearly identical predictions: submission {named} ({how})."


@dataclass(slots=True, eq=False)
class ComparedContent:
    """The compared content of the submissions."""

    positions: IntArray
    """``(k,)`` positions of the compared submissions."""
    hashes: npt.NDArray[np.uint16]
    """``(k, g)`` hashes of groups of cells: if few cells differ, equally many hashes differ."""
    n_cells: int
    drawn: FloatArray | None
    """``(k, c)`` sampled numbers; None for labels and texts."""
    codes: npt.NDArray[np.uint16]
    """``(k, c)`` hashes of these numbers, which take less time to compare."""
    repeated: FloatArray
    """``(k,)`` shares of these numbers that repeat another one of the same submission."""

    def near_in(
        self,
        scaled: FloatArray | None,
        start: int,
        limit: float,
        hashes: EqualColumns,
        codes: EqualColumns,
    ) -> Iterator[tuple[float, int, int, float]]:
        """Yield distance, both positions and share that differs of the similar pairs i < j.

        ``start`` is the first of a block of i; ``hashes`` and ``codes`` count the columns in which
        pairs are equal. :func:`similar_submissions` has the rules.
        """
        n_groups, stop = self.hashes.shape[1], min(start + _ROWS_COMPARED, len(self.hashes))
        by_count = self.from_hashes((n_groups - np.arange(n_groups + 1)) / n_groups)
        pair_blocks = [hashes.at_least(int(np.count_nonzero(by_count > limit)), start, stop)]
        products = None
        if scaled is not None:
            products = scaled[start:stop] @ scaled[start:].T
            rows, columns = np.nonzero(products >= 1 - (1 + _ROUNDING) * limit**2 / 2)
            pair_blocks.append((rows + start, columns + start))
            pair_blocks.append(codes.at_least(_copied_from(self.codes.shape[1]), start, stop))
        pairs = np.unique(
            np.concatenate([np.stack(pair_columns, axis=1) for pair_columns in pair_blocks]), axis=0
        )
        first, second = pairs[pairs[:, 0] < pairs[:, 1]].T
        shares = by_count[(self.hashes[first] == self.hashes[second]).sum(axis=1)]
        distances, near = shares, shares <= limit
        if products is not None:
            distances = np.minimum(shares, _distance(products[first - start, second - start]))
            same = (self.codes[first] == self.codes[second]).sum(axis=1) / self.codes.shape[1]
            excess = same - np.maximum(self.repeated[first], self.repeated[second])
            near = (distances <= limit) | (excess >= _least_copied(self.codes.shape[1]))
            shares = np.where(shares > MOST_NEAR, 1 - same, shares)  # so many are better counted
        columns_of = (distances[near], first[near], second[near], shares[near])
        yield from zip(*(column.tolist() for column in columns_of), strict=True)

    def from_hashes(self, differing: FloatArray) -> FloatArray:
        """Return the share of cells that differ, from the share of hashes that differ."""
        n_groups = self.hashes.shape[1]
        shares = np.minimum(differing, _MOST_HASHES)
        if self.n_cells > n_groups:  # some groups have two cells that differ
            shares = -np.log1p(-shares) * (n_groups / self.n_cells)
        return np.where(differing > _MOST_HASHES, 1.0, shares)


class Comparison:
    """What :func:`similar_submissions` computes, for predictions that are added block by block.

    An audit, which reads every prediction anyway, need not read them twice.
    """

    def __init__(self) -> None:
        self._kind: PredictionKind | None = None
        self._n_groups = 0
        self._numbers: list[int] = []
        self._first: list[int] = []
        self._is_needed = np.zeros(0, dtype=np.bool_)
        self._digests: dict[int, bytes] = {}
        self._constant: set[bytes] = set()
        self._kept: dict[bytes, int] = {}
        self._hashes: list[npt.NDArray[np.uint16]] = []
        self._drawn: list[FloatArray] = []
        self._codes: list[npt.NDArray[np.uint16]] = []
        self._repeated: list[float] = []
        self._keys = np.zeros(0, dtype=np.uint64)
        self._places = np.zeros(0, dtype=np.intp)
        self._padded = np.zeros((0, 0), dtype=np.uint64)

    def begin(
        self,
        kind: PredictionKind,
        submissions: Sequence[int],
        first_equal: IntArray | None,
        teams: Sequence[str],
    ) -> IntArray:
        """Announce the submissions; return the positions of those whose predictions are needed.

        The arguments are those of :func:`similar_submissions`. Teams may have other names here than
        in :meth:`similar`, and there one team may be several of these.
        """
        self._kind, self._numbers = kind, [int(number) for number in submissions]
        self._n_groups = _CELLS if len(submissions) <= _MANY else _CELLS_OF_MANY
        needed = np.arange(len(submissions))
        self._first = needed.tolist()
        if first_equal is not None:
            self._first = first_equal.tolist()
            needed = _to_read(first_equal, np.asarray(teams, dtype=object))
        self._is_needed = np.zeros(len(submissions), dtype=np.bool_)
        self._is_needed[needed] = True
        return needed

    def add(self, positions: IntArray, block: npt.NDArray[Any]) -> None:
        """Add ``(k, n)`` or ``(k, n, n_columns)`` predictions; those not needed are passed over."""
        kind, flat = self._kind, block.reshape(len(block), -1)
        if not len(self._keys):
            self._draw(flat.shape[1])
        for position in np.flatnonzero(self._is_needed[positions]).tolist():
            kept_cells, rows = flat[position], block[position]
            if kind is PredictionKind.TEXT:
                from pandas.util import hash_array

                cells = np.asarray(hash_array(kept_cells))
            else:
                values = (
                    np.ascontiguousarray(kept_cells, dtype=np.float64) + 0.0
                )  # no negative zero
                cells = values.view(np.uint64)
            digest = hashlib.blake2b(cells.tobytes(), digest_size=16).digest()
            self._digests[int(positions[position])] = digest
            if digest in self._kept:
                continue
            self._kept[digest] = int(positions[position])
            self._keep(kept_cells, cells)
            if bool((rows == rows[0]).all()):
                self._constant.add(digest)

    def _draw(self, n_cells: int) -> None:
        """Draw the cells that are compared, and the keys of the hashes."""
        rng = np.random.default_rng(0)
        self._keys = rng.integers(2**63, size=n_cells, dtype=np.uint64) * np.uint64(2)
        self._keys += np.uint64(1)
        self._places = np.sort(rng.permutation(n_cells)[: self._n_groups]).astype(np.intp)
        self._padded = np.zeros((-(-n_cells // self._n_groups), self._n_groups), dtype=np.uint64)

    def _keep(self, kept_cells: npt.NDArray[Any], cells: npt.NDArray[np.uint64]) -> None:
        keys, places = self._keys, self._places
        if self._kind not in _CATEGORIES:
            self._drawn.append(kept_cells[places].astype(np.float64))
            mixed = (cells[places] ^ (cells[places] >> np.uint64(32))) * keys[0]
            self._codes.append((mixed >> np.uint64(48)).astype(np.uint16))
            self._repeated.append(1 - len(np.unique(cells[places])) / len(places))
        # Neighbouring cells go to different groups, because altered rows are often neighbours.
        self._padded.reshape(-1)[: len(keys)] = (cells ^ (cells >> np.uint64(32))) * keys
        mixed = self._padded.sum(axis=0, dtype=np.uint64)[: len(keys)]
        self._hashes.append((mixed >> np.uint64(48)).astype(np.uint16))

    def similar(self, teams: Sequence[str]) -> tuple[SimilarSubmissions, ...]:
        """Return the similar submissions; ``teams`` are those of :meth:`begin`, in its order."""
        if self._kind is None:
            return ()
        numbers, owners = np.array(self._numbers, dtype=np.intp), np.asarray(teams, dtype=object)
        # Predictions that were not needed have no equal, so that any other digest serves.
        digests = [self._digests.get(number, number.to_bytes(8, "big")) for number in self._first]
        groups = [
            SimilarSubmissions(
                True,
                tuple(numbers[group].tolist()),
                teams=tuple(owners[group].tolist()),
                differing=0.0,
                correlation=None,
            )
            for group in _identical(digests, self._constant, owners)
        ]
        read = self._compared(owners, len(set(digests)))
        if len(read.positions) > 1:
            scaled = None if read.drawn is None else _scaled(read.drawn, self._kind)
            groups += _near(read, scaled, numbers[read.positions], owners[read.positions])
        return tuple(groups)

    @property
    def submissions(self) -> tuple[int, ...]:
        """The submissions that were announced."""
        return tuple(self._numbers)

    def _compared(self, owners: npt.NDArray[Any], n_different: int) -> ComparedContent:
        """Return the content of those that are compared: constant ones are not."""
        positions = np.array([*self._kept.values()], dtype=np.intp)
        chosen = np.array([digest not in self._constant for digest in self._kept], dtype=np.bool_)
        if n_different > MOST_COMPARED:
            chosen &= np.isin(positions, _last_of_each_team(positions, owners))

        def of(content: Sequence[Any]) -> Any:
            chosen_rows = list(compress(content, chosen))
            return np.stack(chosen_rows) if chosen_rows else np.zeros((0, 0))

        numbers = self._kind not in _CATEGORIES
        return ComparedContent(
            positions[chosen],
            of(self._hashes),
            n_cells=len(self._keys),
            drawn=of(self._drawn) if numbers else None,
            codes=of(self._codes) if numbers else np.zeros((0, 0), dtype=np.uint16),
            repeated=np.asarray(of(self._repeated) if numbers else ()),
        )


def _identical(
    digests: Sequence[bytes], constant: Collection[bytes], owners: npt.NDArray[Any]
) -> Iterator[IntArray]:
    """Yield the positions of identical submissions of two or more teams, one of each team."""
    groups: dict[bytes, dict[str, int]] = {}
    for position, (digest, owner) in enumerate(zip(digests, owners, strict=True)):
        if digest not in constant:
            groups.setdefault(digest, {}).setdefault(owner, position)
    for group in groups.values():
        if len(group) > 1:
            yield np.array(list(group.values()), dtype=np.intp)


def _near(
    read: ComparedContent, scaled: FloatArray | None, numbers: IntArray, owners: npt.NDArray[Any]
) -> list[SimilarSubmissions]:
    limit = min(MOST_NEAR, _SHARE_OF_USUAL * _usual_distance(read, scaled, owners))
    closest: dict[tuple[str, str], tuple[float, int, int, float]] = {}
    hashes, codes = EqualColumns.of(read.hashes), EqualColumns.of(read.codes)
    for start in range(0, len(owners), _ROWS_COMPARED):
        for own_pair in read.near_in(scaled, start, limit=limit, hashes=hashes, codes=codes):
            _, i, j, _ = own_pair
            if owners[i] != owners[j]:
                pair = (min(owners[i], owners[j]), max(owners[i], owners[j]))
                closest[pair] = min(closest.get(pair, own_pair), own_pair)
    pairs = []
    for _, i, j, share in sorted(closest.values()):
        correlation = None if scaled is None else float(scaled[i] @ scaled[j])
        names, pair_numbers = (owners[i], owners[j]), (int(numbers[i]), int(numbers[j]))
        pairs.append(
            SimilarSubmissions(
                False, pair_numbers, teams=names, differing=share, correlation=correlation
            )
        )
    return pairs


def _least_copied(n_cells: int) -> float:
    """Return the excess of equal numbers, as a share of those compared, that is a copy's."""
    return max(_COPIED, _FEWEST_COPIED / n_cells)


def _copied_from(n_cells: int) -> int:
    """Return how many numbers of a copy are equal at least."""
    return int(_least_copied(n_cells) * n_cells * (1 - _ROUNDING))


@dataclass(frozen=True, slots=True, eq=False)
class EqualColumns:
    """In how many columns the rows of a table are equal, pair by pair.

    Where few cells of a column are equal, as with numbers of several digits, the equal ones are
    found by sorting each column, and all other pairs cost nothing.
    """

    table: npt.NDArray[np.uint16]
    """``(k, c)``."""
    pairs: tuple[IntArray, IntArray] | None
    """Ascending ``i * k + j`` of the pairs i < j that are equal in some column, and in how many;
    None: there are too many such pairs."""

    @classmethod
    def of(cls, table: npt.NDArray[np.uint16]) -> EqualColumns:
        """Count, unless so many cells of a column are equal that sorting does not pay off.

        Memory: two tables of positions, and 32 bytes for each two equal cells.

        >>> EqualColumns.of(np.array([[1, 2], [1, 3], [1, 2]], np.uint16)).pairs is None
        True
        """
        k = len(table)
        columns = np.ascontiguousarray(table.T)
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        ordered = np.take_along_axis(columns, order, axis=1)
        differs = np.ones(ordered.shape, dtype=np.bool_)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=differs[:, 1:])
        sizes = np.diff(np.flatnonzero(differs), append=differs.size)  # of groups of equal cells
        longest = int(sizes.max(initial=0))
        if longest > k // _SPARSE + 1:
            return cls(table, None)
        pair_blocks = []
        for lag in range(1, longest):
            column, row = np.nonzero(ordered[:, lag:] == ordered[:, :-lag])
            # A stable order: of equal cells the first row comes first.
            pair_blocks.append(order[column, row].astype(np.intp) * k + order[column, row + lag])
        keys, counts = np.unique(
            np.concatenate([np.empty(0, dtype=np.intp), *pair_blocks]), return_counts=True
        )
        return cls(table, (keys, counts))

    def at_least(self, count: int, start: int, stop: int) -> tuple[IntArray, IntArray]:
        """Return the pairs i < j with start <= i < stop that are equal in so many columns.

        Pairs that are equal in none may be left out.
        """
        k = len(self.table)
        if self.pairs is None:
            equal = _equal_columns(self.table[start:stop], self.table[start:])
            first, second = np.nonzero(np.triu(equal >= count, k=1))
            return first + start, second + start
        keys, counts = self.pairs
        block_keys = slice(*np.searchsorted(keys, [start * k, stop * k]))
        chosen = keys[block_keys][counts[block_keys] >= count]
        return chosen // k, chosen % k


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
            n_equal = np.zeros(equal.shape, dtype=np.uint8)
            for column in range(start, min(start + _MOST_IN_A_BYTE, n_columns)):
                np.equal(of_these[column, part], of_others[column], out=equal)
                n_equal += equal.view(np.uint8)
            counts[part] += n_equal
    return counts


def _scaled(cells: npt.NDArray[Any], kind: PredictionKind) -> FloatArray:
    """Return the cells, or their ranks, with mean 0 and norm 1; constant ones become 0."""
    ordered = kind in (PredictionKind.PROBABILITY, PredictionKind.SCORE)
    if ordered:
        cells = doubled_mean_ranks(round_nearly_tied(cells)) / 2 - 1
    # Scaled first: the squares of very large numbers would overflow.
    values = cells / np.maximum(np.abs(cells).max(axis=1, keepdims=True), np.finfo(float).tiny)
    values = values - values.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(np.divide(values, norms, out=np.zeros_like(values), where=norms > 0))


def round_nearly_tied(values: FloatArray) -> FloatArray:
    """Return the values, each row rounded to steps so small that only noise is lost.

    >>> round_nearly_tied(np.array([[0.0, 1e-9, 0.2, 0.6, 1.0]])).round(3).tolist()
    [[0.0, 0.0, 0.2, 0.6, 1.0]]
    """
    low, high = np.quantile(values, [0.25, 0.75], axis=1)
    with np.errstate(all="ignore"):
        step = (_TIED * (high - low))[:, np.newaxis]
        rounded = np.round(values / step) * step
    usable = (step > 0).ravel() & np.isfinite(rounded).all(axis=1)
    return np.where(usable[:, np.newaxis], rounded, values)


def _distance(correlations: FloatArray) -> FloatArray:
    distances: FloatArray = np.sqrt(np.maximum(2 - 2 * correlations, 0))
    return distances


def _usual_distance(
    read: ComparedContent, scaled: FloatArray | None, owners: npt.NDArray[Any]
) -> float:
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
