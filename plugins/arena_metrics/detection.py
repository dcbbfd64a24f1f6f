"""Mean average precision of detected boxes: several rows per image."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.intake import rows_of_cells
from arena.interfaces import BaseMetric, Modality
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
)
from arena.utils.distribution import how_to_install
from arena_metrics.modalities import BOXES, CROWD
from arena_metrics.rows import bound_copy

_CORNERS = (("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"))
_SIZES = (("x", "y", "w", "h"), ("x", "y", "width", "height"), ("xmin", "ymin", "width", "height"))
_CLASSES = ("class", "classid", "label", "category", "categoryid", "classname")
_SCORES = ("score", "confidence", "conf")
_MOST_DETECTIONS = 100
_RECALLS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class _Columns:
    """The positions of the columns of a table of boxes."""

    box: tuple[int, int, int, int]
    sizes: bool
    """Whether the last two are width and height, not the opposite corner."""
    label: int | None
    score: int | None
    crowd: int | None = None
    """Of the solution: 1 for a box around several objects, as in COCO."""

    @classmethod
    def of(cls, names: Sequence[str], with_score: bool) -> _Columns:
        """Find the columns by their names, or by position if no name says what it is."""
        plain = [name.lower().replace("_", "").replace(" ", "") for name in names]
        for forms, sizes in ((_CORNERS, False), (_SIZES, True)):
            for form in forms:
                if set(form) <= set(plain):
                    box = tuple(plain.index(name) for name in form)
                    label = next(
                        (plain.index(class_) for class_ in _CLASSES if class_ in plain), None
                    )
                    score = next(
                        (plain.index(column) for column in _SCORES if column in plain), None
                    )
                    if with_score and score is None:
                        break
                    crowd = plain.index(CROWD) if CROWD in plain and not with_score else None
                    return cls(box, sizes, label, score, crowd)  # type: ignore[arg-type]
        known_names = {*itertools.chain(*_CORNERS, *_SIZES), *_CLASSES, *_SCORES, CROWD}
        if len(names) == 5 + with_score and not known_names & set(plain):
            return cls((1, 2, 3, 4), False, 0, 5 if with_score else None)
        need = "xmin, ymin, xmax, ymax (or x, y, width, height)" + (" and score" * with_score)
        raise MetricError(
            f"mean_average_precision needs the columns {need}, and class if there are several; "
            f"the {'submission' if with_score else 'solution'} has: {', '.join(names)}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """The boxes of n images."""

    image: IntArray
    label: npt.NDArray[np.str_]
    box: FloatArray
    """``(k, 4)`` x, y, width, height."""
    score: FloatArray
    crowd: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, cells: npt.NDArray[Any], columns: _Columns) -> _Boxes:
        """Read ``(n, n_columns)`` folded cells; a row with an empty box is no box."""

        def values(column: int) -> list[str]:
            return list(itertools.chain.from_iterable(rows_of_cells(cells[:, column].tolist())[0]))

        sizes = rows_of_cells(cells[:, columns.box[0]].tolist())[1]
        image = np.repeat(np.arange(len(cells)), sizes)
        texts = np.array([values(column) for column in columns.box], dtype=object).T.reshape(-1, 4)
        has_box = np.array([any(text.strip() for text in row) for row in texts], dtype=np.bool_)
        box = texts[has_box].astype(np.float64)
        if not columns.sizes:
            box[:, 2:] -= box[:, :2]
        label = np.array(values(columns.label) if columns.label is not None else [""] * len(image))
        score = (np.ones(len(image)) if columns.score is None else np.array(values(columns.score)))[
            has_box
        ]
        crowd = np.zeros(len(image), dtype=np.bool_)
        if columns.crowd is not None:
            crowd = np.array(
                [text.strip() == "1" for text in values(columns.crowd)], dtype=np.bool_
            )
        return cls(
            image[has_box],
            label.astype(str)[has_box],
            box,
            score.astype(np.float64),
            crowd[has_box],
        )


@dataclass(frozen=True)
class MeanAveragePrecision(BaseMetric):
    """Mean average precision of boxes, as COCO's: the mean over classes and overlaps.

    The rows of an id are the boxes of an image: ``xmin, ymin, xmax, ymax`` or
    ``x, y, width, height``, a ``class`` if there are several, and in a submission a ``score``. An
    image without boxes has one row with empty cells. A detection is correct if its overlap with a
    box of its class that no better detection has taken is at least the threshold; of each image
    the 100 best detections of a class count. Precision is interpolated at 101 recalls. A column
    ``iscrowd`` of the solution is 1 for a box around several objects: it need not be found, and
    detections inside it count neither as correct nor as wrong.

    Parameters
    ----------
    iou
        The threshold of the overlap (intersection over union), in (0, 1); 0: the mean over 0.50,
        0.55, …, 0.95.

    Notes
    -----
    Lin et al. (2014), *Microsoft COCO*; matching by ``pycocotools`` (extra ``detection``). Boxes
    are matched within an image, so that a resample of images needs no new matching.

    Examples
    --------
    >>> truth = np.array([['["cat"]', '["0"]', '["0"]', '["10"]', '["10"]']], dtype=object)
    >>> sent = np.array([['["cat"]', '["0"]', '["0"]', '["10"]', '["8"]', '["0.9"]']], dtype=object)
    >>> round(MeanAveragePrecision(iou=0.5).score(truth, sent), 9)
    1.0
    >>> round(MeanAveragePrecision().score(truth, sent), 9)  # an overlap of 0.8
    0.7
    """

    iou: float = 0.0
    _names: tuple[Sequence[str], Sequence[str]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    name = "mean_average_precision"
    greater_is_better = True
    prediction = PredictionKind.TEXT

    def __post_init__(self) -> None:
        if isinstance(self.iou, bool) or not 0 <= self.iou < 1:
            raise UsageError("mean_average_precision: iou must be in (0, 1), or 0 for COCO's mean.")

    @property
    def traits(self) -> MetricTraits:
        """All columns are scored at once; resamples need whole counts of images."""
        return MetricTraits(
            score_range=(0.0, 1.0),
            joint_targets=True,
            row_weights=False,
        )

    @property
    def modality(self) -> Modality:
        """Several rows per id; a submission has a score besides the columns of the solution."""
        return BOXES

    def for_rows(self, context: RowContext) -> MeanAveragePrecision:
        """Return the metric for rows with these column names.

        Raises
        ------
        MetricError
            If a column of the boxes is missing.
        """
        _Columns.of(context.targets, with_score=False)
        _Columns.of(context.columns, with_score=True)
        return bound_copy(self, _names=(context.targets, context.columns))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of ``(n, n_columns)`` folded cells; NaN without a box in the truth."""
        counts = np.ones(len(truth), dtype=np.intp) if weight is None else np.asarray(weight)
        return self.prepare(truth, prediction)(counts.astype(np.intp))

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Match the boxes once; return the score as a function of ``(n,)`` counts of the images."""
        names = self._names or ([""] * truth.shape[1], [""] * prediction.shape[1])
        boxes = _Boxes.of(truth, _Columns.of(names[0], with_score=False))
        sent_boxes = _Boxes.of(prediction, _Columns.of(names[1], with_score=True))
        thresholds = np.linspace(0.5, 0.95, 10) if self.iou == 0 else np.array([self.iou])
        return _Matched(_match(boxes, sent_boxes, len(truth), thresholds))

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return boxes and scores that are no numbers, and boxes with a negative size."""
        columns = _Columns.of(competition.columns, with_score=True)
        return _faults(predictions, columns, competition)

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return boxes that are no numbers or have a negative size, and ``iscrowd`` but 0 or 1."""
        columns = _Columns.of(competition.columns, with_score=False)
        yield from _faults(truth, columns, competition)
        if columns.crowd is None:
            return
        texts_of_rows, _ = rows_of_cells(truth[:, columns.crowd].tolist())
        for row, texts in enumerate(texts_of_rows):
            for text in texts:
                if text.strip() not in {"", "0", "1"}:
                    where = {"id": competition.ids[row].as_py(), "column": CROWD}
                    yield Fault("not 0 or 1", "A row of the id is neither 0 nor 1.", **where)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return one to three boxes of two classes per image, and shifted ones."""
        sizes = rng.integers(1, 4, n_rows)

        def cells(values: npt.NDArray[Any]) -> list[str]:
            parts = np.split(values, np.cumsum(sizes)[:-1])
            return [str([str(number) for number in part]).replace("'", '"') for part in parts]

        labels = rng.choice(["cat", "dog"], sizes.sum())
        corners = rng.integers(0, 50, (sizes.sum(), 2))
        boxes = np.column_stack([corners, corners + rng.integers(20, 30, (sizes.sum(), 2))])
        truth = np.array([cells(labels), *map(cells, boxes.T)], dtype=object).T
        submissions = []
        for _ in range(n_submissions):
            moved = boxes + rng.integers(-4, 5, boxes.shape)
            scores = np.round(rng.random(len(boxes)), 6)
            columns = [cells(labels), *map(cells, moved.T), cells(scores)]
            submissions.append(np.array(columns, dtype=object).T)
        return truth, np.stack(submissions)


def _faults(
    cells: npt.NDArray[Any], columns: _Columns, competition: CompetitionInfo
) -> Iterable[Fault]:
    names = competition.columns
    places = [*columns.box, *(() if columns.score is None else (columns.score,))]
    for row, row_cells in enumerate(cells[:, places].tolist()):
        for texts in zip(*rows_of_cells(row_cells)[0], strict=True):
            if not any(text.strip() for text in texts[:4]):
                continue  # no box
            numbers = [_finite(text) for text in texts]
            where = competition.ids[row].as_py()
            for place, number in zip(places, numbers, strict=True):
                if number is None:
                    message = f"A row of the id has no number in {names[place]}: write one."
                    yield Fault("not a number", message, id=where, column=names[place])
            if None in numbers:
                continue
            left, top, right, bottom = numbers[:4]
            ends = (right, bottom) if columns.sizes else (right - left, bottom - top)
            for place, size in zip(columns.box[2:], ends, strict=True):
                if not 0 <= size < np.inf:
                    message = "A box of the id has a width or height that is negative or too large."
                    yield Fault("negative size", message, id=where, column=names[place])


def _finite(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """The detections of one class, best first, and the boxes that there are to find."""

    image: IntArray
    """``(d,)``."""
    correct: npt.NDArray[np.bool_]
    """``(n_thresholds, d)``."""
    counted: npt.NDArray[np.bool_]
    """``(n_thresholds, d)``; False for detections of a crowd, which are not correct either."""
    boxes: IntArray
    """``(n,)`` number of boxes of each image that are no crowd."""


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """The score of a submission as a function of ``(n,)`` counts of its images."""

    classes: list[_Class]

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        values = []
        for class_ in self.classes:
            total = int((class_.boxes * weight).sum())
            if not total:
                continue
            n_correct, tried = (
                np.cumsum(np.repeat(which, weight[class_.image], axis=1), axis=1)
                for which in (class_.correct, class_.counted)
            )
            recall = n_correct / total
            precision = n_correct / np.maximum(tried, 1)
            precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
            for reached, best in zip(recall, precision, strict=True):
                places = np.searchsorted(reached, _RECALLS, side="left")
                padded = np.append(best, 0.0)
                values.append(padded[np.minimum(places, len(best))].mean())
        return float(np.mean(values)) if values else float("nan")


def _match(boxes: _Boxes, sent: _Boxes, n: int, thresholds: FloatArray) -> list[_Class]:
    """Match detections with boxes, image by image and class by class."""
    try:
        coco = importlib.import_module("pycocotools.coco")
        evaluation = importlib.import_module("pycocotools.cocoeval")
    except ImportError as error:
        need = f"mean_average_precision needs pycocotools: {how_to_install('detection')}."
        raise MetricError(need) from error
    names = sorted(set(boxes.label))
    codes = {name: code for code, name in enumerate(names, start=1)}
    sides = []
    for side in (boxes, sent):
        annotations = [
            {
                "id": number, "image_id": int(image), "category_id": codes[label], "bbox": box,
                "area": box[2] * box[3], "iscrowd": crowd, "score": score,
            }
            for number, (image, label, box, score, crowd) in enumerate(
                zip(
                    side.image, side.label, side.box.tolist(), side.score.tolist(),
                    side.crowd.astype(int).tolist(), strict=True,
                ),
                start=1,
            )
            if label in codes
        ]  # fmt: skip
        ground_truth = coco.COCO()
        ground_truth.dataset = {
            "images": [{"id": number} for number in range(n)],
            "categories": [{"id": code} for code in codes.values()],
            "annotations": annotations,
        }
        sides.append(ground_truth)
    with contextlib.redirect_stdout(io.StringIO()):
        for ground_truth in sides:
            ground_truth.createIndex()
        run = evaluation.COCOeval(*sides, "bbox")
        run.params.iouThrs = thresholds
        run.params.areaRng, run.params.areaRngLbl = [[0, np.inf]], ["all"]
        run.params.maxDets = [_MOST_DETECTIONS]
        run.evaluate()
    classes_matched = []
    for start in range(0, len(run.evalImgs), n):
        images = [
            (position, image)
            for position, image in enumerate(run.evalImgs[start : start + n])
            if image
        ]
        scores = np.concatenate([of_image["dtScores"] for _, of_image in images] or [np.zeros(0)])
        order = np.argsort(-scores, kind="mergesort")
        sizes = [len(of_image["dtScores"]) for _, of_image in images]
        image = np.repeat(np.array([position for position, _ in images], dtype=np.intp), sizes)
        ignored = [of_image["dtIgnore"].astype(np.bool_) for _, of_image in images]
        matches = [of_image["dtMatches"] > 0 for _, of_image in images]
        none = np.zeros((len(thresholds), 0), dtype=np.bool_)
        counts = np.zeros(n, dtype=np.intp)
        counts[[position for position, _ in images]] = [
            int((np.asarray(of_image["gtIgnore"]) == 0).sum()) for _, of_image in images
        ]
        counted = ~np.concatenate([none, *ignored], axis=1)[:, order]
        correct = np.concatenate([none, *matches], axis=1)[:, order] & counted
        classes_matched.append(_Class(image[order], correct, counted, counts))
    return classes_matched
