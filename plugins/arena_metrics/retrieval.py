"""Metrics of retrieval runs against judgements (qrels), as trec_eval computes them.

A query is a row. Its judgements, and the scores of the documents of a run, are JSON objects of
document -> number. Files in the formats of TREC, and such objects in JSON, are read as they are.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.content import read_content
from arena.interfaces import Modality, ReadFile
from arena.interfaces.faults import FaultList, show
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RawTable,
    SolutionColumns,
)
from arena.utils.strict_json import unique_keys
from arena.utils.text import plural
from arena_metrics.parameters import require_whole
from arena_metrics.pointwise import Pointwise

_QUERY, _DOCUMENTS = "query", "documents"
_QREL_FIELDS, _RUN_FIELDS = 4, 6
_Value = tuple[int | None, str, str, Any]
"""The line, the query, the document, and its judgement or score."""
_EXAMPLE_DOCUMENTS = tuple(f"d{number}" for number in range(8))


@dataclass(frozen=True)
class Retrieval(Modality):
    """TREC's files: qrels (query, iteration, document, judgement) and runs (six columns).

    Both may also be JSON documents ``{query: {document: value}}``.
    """

    name = "retrieval"

    def read_solution(
        self,
        path: Path,
        columns: SolutionColumns,  # noqa: ARG002
        max_bytes: int,
        faults: FaultList,
    ) -> ReadFile | None:
        """Return the judgements of a file of qrels; None: it is a table."""
        return _read(path, (_QUERY, _DOCUMENTS), max_bytes=max_bytes, faults=faults)

    def read_submission(
        self,
        path: Path,
        ids: Any,
        columns: Sequence[str],
        sizes: IntArray | None,  # noqa: ARG002
        max_bytes: int,
        faults: FaultList,
    ) -> ReadFile | None:
        """Return the scores of a run; queries that it lacks, and others, are as in trec_eval -c."""
        names, queries = (columns[0], columns[1]), ids.to_pylist()
        return _read(path, names, max_bytes=max_bytes, faults=faults, queries=queries)

    def sample_cell(self, column: str, truth: Sequence[str]) -> str:  # noqa: ARG002
        """Return a run without documents."""
        return "{}"


def _read(
    path: Path,
    names: tuple[str, str],
    *,
    max_bytes: int,
    faults: FaultList,
    queries: Sequence[str] | None = None,
) -> ReadFile | None:
    """Return the table of a run with scores of documents for these queries.

    Without queries the file holds judgements, and the table is that of a solution. None: it is
    another file.
    """
    content = read_content(path, max_bytes, faults)
    text = content.data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    judged = _values_of_json(text)
    if judged is None:
        judged = _values_of_lines(text, faults, is_run=queries is not None)
    if judged is None:
        return None
    values: dict[str, dict[str, float]] = {query: {} for query in queries or ()}
    for row, query, document, value in judged:
        if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(value):
            message = f"The value of document {show(document)} is not a number."
            faults.add("not a number", message, row=row, id=query)
            continue
        if queries is not None and query not in values:
            continue  # trec_eval ignores queries without judgements
        of_query = values.setdefault(query, {})
        if document in of_query:
            message = "The document occurs twice for its query: keep one line."
            faults.add("duplicate document", message, row=row, id=query)
        of_query[document] = value
    cells = [json.dumps(of_query) for of_query in values.values()]
    table = RawTable(
        names,
        (pa.array(list(values), pa.string()), pa.array(cells, pa.string())),
        lambda position: position + 1,
    )
    columns = SolutionColumns()
    if queries is None:
        columns = SolutionColumns(id=names[0], targets=names[1:])
    return ReadFile(table, content.sha256.hexdigest(), columns)


def _values_of_json(text: str) -> Iterator[_Value] | None:
    """Return the values of ``{query: {document: value}}``; None: it is another file."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        values_of_query = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return None
    is_nested = all(isinstance(of_query, dict) for of_query in values_of_query.values())
    if not values_of_query or not is_nested:
        return None
    return (
        (None, query, document, value)
        for query, of_query in values_of_query.items()
        for document, value in of_query.items()
    )


def _values_of_lines(text: str, faults: FaultList, *, is_run: bool) -> Iterator[_Value] | None:
    """Return the values of lines in TREC's format; None: it is another file."""
    n_fields, position = (_RUN_FIELDS, 4) if is_run else (_QREL_FIELDS, 3)
    lines = [(row, line.split()) for row, line in enumerate(text.splitlines(), 1) if line.strip()]
    first = lines[0][1] if lines else []
    if len(first) != n_fields or "," in " ".join(first) or first[0].startswith(("{", "[")):
        return None
    for row, fields in lines:
        if len(fields) != n_fields:
            message = f"The line has {plural(len(fields), 'field')}, and the first one {n_fields}."
            faults.add("wrong number of fields", message, row=row)
    return (
        (row, fields[0], fields[2], _number(fields[position]))
        for row, fields in lines
        if len(fields) == n_fields
    )


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return np.nan


def _ranked(cell: str) -> list[str]:
    """Return the documents as trec_eval ranks them: by score, then by name, both descending.

    Scores are compared in single precision, as trec_eval does.
    """
    scores = json.loads(cell) if cell else {}
    return sorted(scores, key=lambda name: (np.float32(scores[name]), name), reverse=True)


@dataclass(frozen=True)
class _RunsMetric(Pointwise):
    """The mean over the queries of a value of the ranked documents."""

    greater_is_better = True
    prediction = PredictionKind.TEXT
    modality: ClassVar[Retrieval] = Retrieval()

    @property
    def traits(self) -> MetricTraits:
        """Row values lie between 0 and 1."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    @abstractmethod
    def _value(self, gains: FloatArray, judged: FloatArray) -> float:
        """Return the value of a query.

        ``gains`` are the judgements of the ranked documents, 0 where there is none; ``judged`` all
        judgements of the query.
        """

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` values of the queries."""
        judgements = [json.loads(cell) if cell else {} for cell in truth]
        values = np.empty(predictions.shape)
        for (submission, row), cell in np.ndenumerate(predictions):
            judged = judgements[row]
            gains = np.array([judged.get(name, 0.0) for name in _ranked(cell)])
            values[submission, row] = self._value(gains, np.array(list(judged.values())))
        return values

    def faults(self, predictions: npt.NDArray[Any], competition: CompetitionInfo) -> list[Fault]:
        """Return the cells that are no JSON objects of documents and scores."""
        faults = []
        for row, cell in enumerate(predictions[:, 0].tolist()):
            if not _is_run(cell):
                message = 'The cell is no object of documents and scores, such as {"d1": 2.5}.'
                id, column = competition.ids[row].as_py(), competition.columns[0]
                faults.append(Fault("not a run", message, id=id, column=column))
        return faults

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return judgements of eight documents, and ``(m, n)`` runs."""

        def draw(shape: tuple[int, ...], high: int) -> npt.NDArray[Any]:
            cells = []
            for _ in np.ndindex(shape):
                names = rng.permutation(_EXAMPLE_DOCUMENTS)[: rng.integers(1, 8)].tolist()
                cells.append(json.dumps({name: int(rng.integers(0, high)) for name in names}))
            return np.array(cells, dtype=object).reshape(shape)

        return draw((n_rows,), 3), draw((n_submissions, n_rows), 50)


def _is_run(cell: str) -> bool:
    try:
        scores = json.loads(cell) if cell else {}
    except (ValueError, RecursionError):
        return False
    return isinstance(scores, dict) and all(
        isinstance(score, int | float) and not isinstance(score, bool) and abs(score) < 1e30
        for score in scores.values()
    )


@dataclass(frozen=True)
class TrecMap(_RunsMetric):
    """Average precision of complete rankings, averaged over the queries: ``map`` of trec_eval.

    The sum of the precisions at the relevant documents is divided by the number of all relevant
    ones, and documents have scores; ``map_at_k``, Kaggle's metric of lists, divides by
    ``min(k, relevant)`` and cuts the list, so that its values are larger.

    Examples
    --------
    >>> truth = np.array(['{"a": 1, "b": 0, "c": 1}'], dtype=object)
    >>> TrecMap().score(truth, np.array(['{"b": 3, "a": 2}'], dtype=object))
    0.25
    """

    name = "trec_map"

    def _value(self, gains: FloatArray, judged: FloatArray) -> float:
        hits, n_relevant = gains > 0, int((judged > 0).sum())
        precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        return float(precisions[hits].sum() / n_relevant) if n_relevant else 0.0


@dataclass(frozen=True)
class TrecNdcg(_RunsMetric):
    """Normalised discounted cumulative gain with linear gains: ``ndcg`` of trec_eval.

    ``ndcg_at_k`` takes a row for each document and gains of 2**relevance - 1 by default.

    Parameters
    ----------
    k
        The number of documents that count; 0: all, else as ``ndcg_cut``.

    Examples
    --------
    >>> truth = np.array(['{"a": 1, "b": 0}'], dtype=object)
    >>> TrecNdcg().score(truth, np.array(['{"b": 3, "a": 2}'], dtype=object)).__round__(6)
    0.63093
    """

    k: int = 0

    name = "trec_ndcg"

    def __post_init__(self) -> None:
        require_whole(self.name, "k", self.k, 0)

    def _value(self, gains: FloatArray, judged: FloatArray) -> float:
        best = np.sort(judged[judged > 0])[::-1]
        gain, ideal = (self._discounted(np.maximum(ranked, 0.0)) for ranked in (gains, best))
        return gain / ideal if ideal else 0.0

    def _discounted(self, gains: FloatArray) -> float:
        counted_gains = gains[: self.k] if self.k else gains
        return float((counted_gains / np.log2(np.arange(2, len(counted_gains) + 2))).sum())


@dataclass(frozen=True)
class TrecReciprocalRank(_RunsMetric):
    """Reciprocal rank of the first relevant document: ``recip_rank`` of trec_eval.

    Parameters
    ----------
    k
        The number of documents that count; 0: all. MS MARCO takes 10.

    Examples
    --------
    >>> truth = np.array(['{"a": 1}'], dtype=object)
    >>> TrecReciprocalRank().score(truth, np.array(['{"b": 3, "a": 2}'], dtype=object))
    0.5
    """

    k: int = 0

    name = "trec_mrr"

    def __post_init__(self) -> None:
        require_whole(self.name, "k", self.k, 0)

    def _value(self, gains: FloatArray, judged: FloatArray) -> float:  # noqa: ARG002
        hits = np.flatnonzero((gains[: self.k] if self.k else gains) > 0)
        return 1.0 / (1.0 + float(hits[0])) if len(hits) else 0.0


@dataclass(frozen=True)
class TrecRecall(_RunsMetric):
    """Share of the relevant documents among the first k: ``recall_k`` of trec_eval.

    Parameters
    ----------
    k
        The number of documents that count, at least 1.

    Examples
    --------
    >>> truth = np.array(['{"a": 1, "c": 2}'], dtype=object)
    >>> TrecRecall().score(truth, np.array(['{"b": 3, "a": 2}'], dtype=object))
    0.5
    """

    k: int = 100

    name = "trec_recall"

    def __post_init__(self) -> None:
        require_whole(self.name, "k", self.k, 1)

    def _value(self, gains: FloatArray, judged: FloatArray) -> float:
        n_relevant = int((judged > 0).sum())
        return float((gains[: self.k] > 0).sum() / n_relevant) if n_relevant else 0.0
