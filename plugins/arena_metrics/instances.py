"""Metrics of objects in images, each a run-length encoded mask: several rows per image."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.intake import rows_of_cells
from arena.interfaces import MetricOfSums, Modality
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
)
from arena_metrics.modalities import INSTANCES
from arena_metrics.parameters import require_inside
from arena_metrics.rows import bound_copy
from arena_metrics.segmentation import faults_of_masks

_MASKS = ("mask", "encodedpixels", "rle", "segmentation")
_CLASSES = ("class", "classid", "label", "category", "categoryid", "classname")
_N_COUNTS = 4
"""Of a class in an image: sum of the overlaps of matches, matches, objects without a match that
were sent, and those of the truth."""
_SMALLEST_SHARE = 1e-9
"""Of a class among all objects; less is a step of a numerical derivative."""


class ObjectColumns(NamedTuple):
    """The positions of the columns of a table of objects."""

    mask: int
    label: int | None

    @classmethod
    def of(cls, metric: str, names: Sequence[str]) -> ObjectColumns:
        """Find the columns by their names; MetricError if they are not clear."""
        plain = [name.lower().replace("_", "").replace(" ", "") for name in names]
        masks = [position for position, name in enumerate(plain) if name in _MASKS]
        labels = [number for number, name in enumerate(plain) if name in _CLASSES]
        if not masks and not labels and len(names) <= 2:
            return cls(0, 1 if len(names) == 2 else None)  # no name says what it is
        if len(masks) != 1 or len(labels) > 1 or len(names) != 1 + len(labels):
            raise MetricError(
                f"{metric} needs a column mask with a run-length encoding in each row, and class "
                f"if there are several; the columns are: {', '.join(names)}."
            )
        return cls(masks[0], labels[0] if labels else None)


class _Objects(NamedTuple):
    """The objects of an image; their runs are in ascending order."""

    labels: list[str]
    start: IntArray
    stop: IntArray
    owner: IntArray
    """The position of the object of each run."""

    @property
    def sizes(self) -> FloatArray:
        """The number of pixels of each object."""
        pixels = (self.stop - self.start).astype(np.float64)
        return np.asarray(np.bincount(self.owner, pixels, len(self.labels)), dtype=np.float64)

    @classmethod
    def of(cls, cells: Sequence[str], columns: ObjectColumns) -> _Objects:
        """Read the folded cells of an image; an empty mask is no object."""
        masks = rows_of_cells([cells[columns.mask]])[0][0]
        labels = [""] * len(masks)
        if columns.label is not None:
            labels = rows_of_cells([cells[columns.label]])[0][0]
        objects = [
            (label, np.array(mask.split(), dtype=np.int64).reshape(-1, 2))
            for label, mask in zip(labels, masks, strict=True)
            if mask.strip() not in {"", "-1"}
        ]
        runs = np.concatenate(
            [np.empty((0, 2), dtype=np.int64), *(of_object for _, of_object in objects)]
        )
        owner = np.repeat(np.arange(len(objects)), [len(of_object) for _, of_object in objects])
        order = np.argsort(runs[:, 0], kind="stable")
        start = runs[order, 0]
        return cls([label for label, _ in objects], start, start + runs[order, 1], owner[order])

    @property
    def overlap(self) -> bool:
        """Whether a pixel belongs to two objects."""
        return bool((self.start[1:] < self.stop[:-1]).any())

    def owners_at(self, pixels: IntArray) -> IntArray:
        """Return the object at each pixel; -1: none."""
        run = np.searchsorted(self.start, pixels, side="right") - 1
        inside = run >= 0
        inside[inside] = pixels[inside] < self.stop[run[inside]]
        return np.where(inside, self.owner[run] if len(self.owner) else 0, -1)


def _matches(true: _Objects, sent: _Objects, threshold: float) -> list[tuple[int, FloatArray]]:
    """Return the pairs of objects of one class whose overlap is above a threshold of at least .5.

    No object is in two pairs, because the objects of an image do not share pixels. Each pair is the
    position of the true object, and the intersection over union.
    """
    edges = np.unique(np.concatenate([true.start, true.stop, sent.start, sent.stop]))
    owners = true.owners_at(edges[:-1]), sent.owners_at(edges[:-1])
    both = (owners[0] >= 0) & (owners[1] >= 0)
    pairs, position = np.unique(
        owners[0][both] * len(sent.labels) + owners[1][both], return_inverse=True
    )
    common = np.bincount(position, np.diff(edges)[both], len(pairs))
    of_true, of_sent = np.divmod(pairs, max(1, len(sent.labels)))
    overlap = common / (true.sizes[of_true] + sent.sizes[of_sent] - common)
    return [
        (of_true[pair], overlap[pair])
        for pair in np.flatnonzero(overlap > threshold).tolist()
        if true.labels[of_true[pair]] == sent.labels[of_sent[pair]]
    ]


@dataclass(frozen=True)
class _InstanceMetric(MetricOfSums):
    """Mean over the classes of a function of the sums of counts over the images."""

    _columns: ObjectColumns | None = field(default=None, init=False, repr=False, compare=False)

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.TEXT

    @property
    def _threshold(self) -> float:
        """The overlap above which two objects match."""
        return 0.5

    @abstractmethod
    def _of_class(self, counts: FloatArray, objects: FloatArray) -> FloatArray:
        """Return the values of ``(…, 4)`` counts; ``objects`` is the mean number of both sides."""

    @property
    def traits(self) -> MetricTraits:
        """From 0 to 1; all columns are scored at once."""
        return MetricTraits(score_range=(0.0, 1.0), joint_targets=True, row_weights=False)

    @property
    def modality(self) -> Modality:
        """Several rows per id, one for each object."""
        return INSTANCES

    def for_rows(self, context: RowContext) -> _InstanceMetric:
        """Return the metric for rows with these column names.

        Raises
        ------
        MetricError
            If there is no column of masks.
        """
        return bound_copy(self, _columns=ObjectColumns.of(self.name, context.targets))

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the counts of each class in each image, for all classes in turn."""
        m, n = predictions.shape[:2]
        truth, predictions = truth.reshape(n, -1), predictions.reshape(m, n, -1)
        columns = self._columns or ObjectColumns.of(self.name, [""] * truth.shape[1])
        true = [_Objects.of(cells, columns) for cells in truth.tolist()]
        sent_objects = [
            [_Objects.of(cells, columns) for cells in prediction]
            for prediction in predictions.tolist()
        ]
        labels = {
            label for images in (true, *sent_objects) for image in images for label in image.labels
        }
        codes = {label: code for code, label in enumerate(sorted(labels) or [""])}
        counts = np.zeros((m, n, len(codes), _N_COUNTS))
        for team, images in enumerate(sent_objects):
            for image, (of_truth, of_team) in enumerate(zip(true, images, strict=True)):
                cell = counts[team, image]
                for label in of_team.labels:
                    cell[codes[label], 2] += 1
                for label in of_truth.labels:
                    cell[codes[label], 3] += 1
                for position, overlap in _matches(of_truth, of_team, self._threshold):
                    cell[codes[of_truth.labels[position]]] += (overlap, 1, -1, -1)
        return counts.reshape(m, n, -1)

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the mean over the classes that occur; 1 without any object on either side."""
        counts = sums.reshape(*sums.shape[:-1], -1, _N_COUNTS)
        objects = counts[..., 1] + 0.5 * (counts[..., 2] + counts[..., 3])
        occurs = objects > _SMALLEST_SHARE * objects.sum(axis=-1, keepdims=True)
        values = np.where(occurs, self._of_class(counts, objects), 0.0)
        n_classes = occurs.sum(axis=-1)
        return np.where(n_classes > 0, values.sum(axis=-1) / n_classes, 1.0)

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield masks that are no run-length encodings, and objects that share pixels."""
        columns = ObjectColumns.of(self.name, competition.columns)
        cells = predictions[:, columns.mask].tolist()
        masks, sizes = rows_of_cells(cells)
        rows = np.repeat(np.arange(len(cells)), sizes)
        texts = np.array([*itertools.chain.from_iterable(masks), ""], dtype=object)[:-1]
        column = competition.columns[columns.mask]
        mask_faults = list(faults_of_masks(texts, competition.ids.take(rows), column))
        yield from mask_faults
        if mask_faults:
            return
        for row, image in enumerate(predictions.tolist()):
            if _Objects.of(image, columns).overlap:
                yield Fault(
                    "objects overlap",
                    "Two masks of the image share pixels: a pixel belongs to one object.",
                    id=competition.ids[row].as_py(),
                    column=column,
                )

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Yield the faults of the masks of a solution."""
        return self.faults(truth, competition)

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return up to three objects of two classes per image, and objects moved by some pixels."""
        sizes = rng.integers(0, 4, n_rows)
        starts = [30 * np.arange(size) + 10 for size in sizes]
        classes = [rng.choice(["cat", "dog"], size).tolist() for size in sizes]

        def images() -> list[list[str]]:
            masks = [
                [f"{start + rng.integers(6)} 12" for start in of_image.tolist()]
                for of_image in starts
            ]
            return [
                [_as_cell(image_masks), _as_cell(image_classes)]
                for image_masks, image_classes in zip(masks, classes, strict=True)
            ]

        submissions = [images() for _ in range(n_submissions)]
        return np.array(images(), dtype=object), np.array(submissions, dtype=object)


def _as_cell(texts: Sequence[str]) -> str:
    """Return texts as a folded cell."""
    return str(list(texts)).replace("'", '"')


@dataclass(frozen=True)
class PanopticQuality(_InstanceMetric):
    """Panoptic quality of masks (Kirillov et al. 2019): the mean over the classes.

    The rows of an id are the objects of an image: a ``mask``, run-length encoded as for ``dice``,
    and a ``class`` if there are several. Objects of an image share no pixel; an image without
    objects has one row with empty cells. Two objects of a class match if their intersection over
    union is above one half. The value of a class is the sum of these over the matches, divided by
    the mean of the numbers of true and of predicted objects in all images.

    Notes
    -----
    The counts are summed over images, as by ``panopticapi``, and not averaged over them. Pixels
    without an object are background; there, those of the truth are ignored.

    Examples
    --------
    A match with the overlap 3/5, an object that was missed, and one that is none:

    >>> truth = np.array([['["1 4", "11 4"]']], dtype=object)
    >>> round(PanopticQuality().score(truth, np.array([['["2 4", "21 4"]']], dtype=object)), 6)
    0.3
    """

    name = "panoptic_quality"

    def _of_class(self, counts: FloatArray, objects: FloatArray) -> FloatArray:
        return counts[..., 0] / objects


@dataclass(frozen=True)
class InstanceF1(_InstanceMetric):
    """F1 of the objects in images, as masks: the mean over the classes.

    Tables are those of ``panoptic_quality``. The objects of all images count together: twice the
    matches, divided by the numbers of true and of predicted objects.

    Parameters
    ----------
    iou
        Objects match if their intersection over union is above it; from 0.5, below 1.

    Examples
    --------
    >>> truth = np.array([['["1 4", "11 4"]']], dtype=object)
    >>> InstanceF1().score(truth, np.array([['["2 4", "21 4"]']], dtype=object))
    0.5
    """

    iou: float = 0.5

    name = "instance_f1"
    _least: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        if self.iou != self._least:
            require_inside(self.name, "iou", value=self.iou, low=self._least, high=1.0)

    @property
    def _threshold(self) -> float:
        return self.iou

    def _of_class(self, counts: FloatArray, objects: FloatArray) -> FloatArray:
        return counts[..., 1] / objects
