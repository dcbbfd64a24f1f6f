"""Reads a folder or a ZIP archive with one mask file per case as a table of run-length encodings.

A mask file is an image (PNG), a volume (NIfTI) or an array (``.npy``). The files are read one by
one: at most one of them is in memory. Sizes are taken from the header and checked before anything
is decoded. PNG needs Pillow and NIfTI needs nibabel (extra ``segmentation``).
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib
import io
import logging
import math
import os
import stat
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from arena.intake.content import CHANGED, was_written
from arena.intake.table import count_from_one
from arena.interfaces import CellFault
from arena.interfaces.faults import FaultList, Refused, show
from arena.types import FloatArray, RawTable
from arena.utils.distribution import how_to_install
from arena.utils.lazy import pa
from arena.utils.text import plural

SHAPE_COLUMNS = ("height", "width", "depth")
"""Columns of a solution with the size of each mask: its first, second and third axis."""

SPACING_COLUMNS = tuple(f"spacing_{name}" for name in SHAPE_COLUMNS)
"""Columns of a solution with the distance between neighbouring pixels along each axis."""

LABEL_SEPARATOR = ":"
"""The id ``case:2`` is the mask of the pixels with value 2 in the file of ``case``."""

_PNG, _NIFTI, _NUMPY = ".png", (".nii", ".nii.gz"), ".npy"
_SUFFIXES = (*_NIFTI, _PNG, _NUMPY)
_CHUNK = 2**20
_MOST_FILES = 1_000_000
_MOST_LABELS = 1_000
MOST_BYTES = 2**29
"""Maximum size of one file, decompressed, and of its decoded pixels: 512 MiB."""
_COUNTED_LABELS = 2**16
_SECONDS_PER_MASK = 0.02
_PIXELS_PER_SECOND = 5e6
_PNG_GREY = 0
"""The type of a PNG without colours, transparency and palette."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A file of a folder may be another one by the time it is opened."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskTable:
    """The masks of a folder or ZIP archive."""

    table: RawTable
    """The id and the run-length encoding of each mask."""
    shapes: tuple[tuple[int, ...], ...]
    """The shape of each mask: two or three sizes."""
    sha256: str
    """Of the archive; of a folder: of the names and the content of its files."""
    spacings: tuple[tuple[float, ...], ...] = ()
    """The distance between neighbouring pixels along each axis of each mask; 1 if unknown."""
    cases: tuple[str, ...] = ()
    """The case of each mask."""
    labels: tuple[int, ...] = ()
    """The label of each mask; 0: the file is one mask."""
    tables: tuple[tuple[str, bytes], ...] = ()
    """The name and content of the CSV files among the masks, if they were asked for."""


def is_mask_file(name: str) -> bool:
    """Return whether a file has the name of a mask file.

    >>> is_mask_file("case_01.nii.gz"), is_mask_file("predictions.csv")
    (True, False)
    """
    return name.lower().endswith(_SUFFIXES)


def holds_masks(path: Path) -> bool:
    """Return whether this is a folder, or a ZIP archive that contains a mask file."""
    if path.is_dir():
        return True
    try:
        if not path.is_file() or not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            return any(is_mask_file(member.filename) for member in archive.infolist())
    except Exception:  # noqa: BLE001 - the reader of other files reports what is wrong
        return False


def read_masks(
    path: Path,
    columns: tuple[str, str],
    faults: FaultList,
    *,
    max_bytes: int,
    labels: Sequence[int] = (),
    ids: Any = (),
    shapes: npt.NDArray[np.int64] | None = None,
    is_truth: bool = False,
) -> MaskTable:
    """Return the masks of a folder or ZIP archive, one row per mask, in the order of the names.

    A file without ``labels`` is one mask: the pixels that are not 0, which must have one value.

    Parameters
    ----------
    path
        A folder, or a ZIP archive; folders in it do not matter.
    columns
        The names of the id column and of the column of masks.
    faults
        Receives the faults of files, each named.
    max_bytes
        Maximum size of the archive, or of all files of the folder together.
    labels
        The values that are masks: each file becomes a row ``case:label`` for each of them.
    ids
        The ids of the solution, in place of ``labels``: a case has the labels of its ids.
    shapes
        ``(n, 3)`` known shape of the mask of each id; 0: unknown, or no third axis.
    is_truth
        Whether these are the masks of a solution: if the files have several values, each of them
        becomes a row ``case:label`` for every case, and CSV files are returned.

    Raises
    ------
    Refused
        If it cannot be read at all; the fault has been added.
    """
    asked_masks = _Asked.of(ids, labels, shapes, every=is_truth)
    digest = hashlib.sha256()
    rows: list[_Row] = []
    images: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {}
    tables: list[tuple[str, bytes]] = []
    seen: dict[str, str] = {}
    files = _in_folder if path.is_dir() else _in_archive
    for name, read in files(path, max_bytes, digest, faults):
        file_name = PurePosixPath(name).name
        suffix = next((end for end in _SUFFIXES[::-1] if file_name.lower().endswith(end)), None)
        if is_truth and file_name.lower().endswith(".csv"):
            with _named(name, None, faults):
                tables.append((name, read()))
            continue
        if suffix is None:
            kinds = ", ".join(sorted(_SUFFIXES))
            message = f"{show(name)} is not a mask file ({kinds}): leave it out."
            faults.add("not a mask file", message)
            continue
        case = asked_masks.case_of(file_name[: -len(suffix)].encode("utf-8", "replace").decode())
        if case in seen:
            message = (
                f"{show(seen[case])} and {show(name)} are both the mask of one case: send one."
            )
            faults.add("duplicate case", message, id=case)
            continue
        seen[case] = name
        with _named(name, case, faults):
            data = read()
            if suffix == ".nii.gz":
                data = limited_content(partial(gzip.open, io.BytesIO(data)), name, faults)
            pixels, spacing = _decode(
                data,
                suffix,
                expected=asked_masks.shapes.get(case),
                name=name,
                case=case,
                faults=faults,
            )
            images[case] = pixels.shape, spacing or (1.0,) * pixels.ndim
            rows += _masks(pixels, case, asked=asked_masks, name=name, faults=faults)
    if not seen and not faults:
        faults.refuse("empty file", "There is no mask file: send one file per case.")
    if is_truth:
        rows = _every_label(rows, list(images), faults)
    names = [
        row.case if row.label is None else f"{row.case}{LABEL_SEPARATOR}{row.label}" for row in rows
    ]
    masks = pa.array([row.mask for row in rows], pa.large_string())
    return MaskTable(
        table=RawTable(columns, (pa.array(names, pa.string()), masks), count_from_one),
        shapes=tuple(images[row.case][0] for row in rows),
        sha256=digest.hexdigest(),
        spacings=tuple(images[row.case][1] for row in rows),
        cases=tuple(row.case for row in rows),
        labels=tuple(row.label or 0 for row in rows),
        tables=tuple(tables),
    )


@contextlib.contextmanager
def _named(name: str, case: str | None, faults: FaultList) -> Iterator[None]:
    """Report what ends the reading of one file, so that the other files are checked too."""
    try:
        yield
    except Refused:
        pass  # the fault has been added
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - parsers raise almost anything
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        message = f"{show(name)} cannot be read ({show(reason)}): write and send it again."
        faults.add("damaged mask" if case is not None else "damaged table", message, id=case)


def mask_columns(masks: MaskTable) -> dict[str, list[int] | list[float]]:
    """Return the columns with the sizes of the masks, and with their spacings unless all are 1."""
    n_axes = max(map(len, masks.shapes), default=0)
    padded = [(*shape, 1)[:n_axes] for shape in masks.shapes]
    columns: dict[str, list[int] | list[float]] = {
        name: [shape[axis] for shape in padded] for axis, name in enumerate(SHAPE_COLUMNS[:n_axes])
    }
    if any(step != 1.0 for spacing in masks.spacings for step in spacing):
        steps = [(*spacing, 1.0)[:n_axes] for spacing in masks.spacings]
        columns |= {
            name: [spacing[axis] for spacing in steps]
            for axis, name in enumerate(SPACING_COLUMNS[:n_axes])
        }
    return columns


def shapes_of(extra: Mapping[str, FloatArray]) -> npt.NDArray[np.int64] | None:
    """Return ``(n, 3)`` sizes from the extra columns of a solution; None: it has no sizes.

    A row without a height and a width that are whole numbers of 1 or more is 0: unknown.
    """
    if not set(SHAPE_COLUMNS[:2]) <= set(extra):
        return None
    none = np.zeros(len(extra[SHAPE_COLUMNS[0]]))
    shapes = np.column_stack([extra.get(name, none) for name in SHAPE_COLUMNS])
    valid = (shapes >= 1) & (shapes <= MOST_BYTES) & (shapes == np.rint(shapes))
    known_shapes = np.where(valid & valid[:, :2].all(axis=1, keepdims=True), shapes, 0.0)
    return known_shapes.astype(np.int64)


def pixels_beyond(masks: npt.NDArray[Any], shapes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` whether the last run of each mask ends beyond its image of ``(n, 3)`` sizes.

    False where the size is unknown, and for texts that are no run-length encodings.

    >>> masks = np.array(["1 4", "1 5", "", "x"], dtype=object)
    >>> pixels_beyond(masks, np.array([[2, 2, 0]] * 4)).tolist()
    [False, True, False, False]
    """
    sizes = np.maximum(shapes, 1).prod(axis=1)
    beyond = np.zeros(len(masks), dtype=np.bool_)
    for row in np.flatnonzero(shapes[:, 0]).tolist():
        last_run = masks[row].rsplit(maxsplit=2)[-2:]
        if len(last_run) == 2 and all(part.isdecimal() and len(part) < 16 for part in last_run):
            beyond[row] = int(last_run[0]) + int(last_run[1]) - 1 > sizes[row]
    return beyond


def masks_beyond(masks: npt.NDArray[Any], shapes: npt.NDArray[np.int64]) -> Iterator[CellFault]:
    """Yield the ``(n, k)`` masks that end beyond the last pixel of their image."""
    for column, cells in enumerate(masks.T):
        for row in np.flatnonzero(pixels_beyond(cells, shapes)).tolist():
            sizes = _shape([size for size in shapes[row].tolist() if size])
            message = f"The mask ends beyond the last pixel of the image, whose size is {sizes}."
            yield CellFault("mask beyond the image", row, column, message)


def seconds_of_masks(n_masks: int, shapes: npt.NDArray[np.int64] | None) -> float:
    """Return the processor seconds that reading masks of these ``(n, 3)`` sizes may take."""
    pixels = 0 if shapes is None else np.maximum(shapes, 1).prod(axis=1)
    return float(n_masks * _SECONDS_PER_MASK + np.sum(pixels) / _PIXELS_PER_SECOND)


def run_lengths(mask: npt.NDArray[np.bool_]) -> str:
    """Return the run-length encoding of a mask as on Kaggle: ``start length start length …``.

    Pixels are counted from 1, the first axis varies fastest: down the columns of an image.

    >>> run_lengths(np.array([[0, 1], [1, 1]], dtype=bool))
    '2 3'
    >>> run_lengths(np.zeros((2, 2), dtype=bool))
    ''
    """
    flat = np.concatenate(([False], mask.ravel(order="F"), [False]))
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    runs = np.column_stack([edges[::2] + 1, edges[1::2] - edges[::2]])
    return " ".join(map(str, runs.ravel().tolist()))


@dataclass(frozen=True, slots=True)
class _Row:
    """One mask."""

    case: str
    label: int | None
    """None: the file is one mask."""
    mask: str
    """The run-length encoding."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What the solution says about its cases."""

    ids: frozenset[str]
    labels: Mapping[str, tuple[int, ...]]
    shapes: Mapping[str, tuple[int, ...]]
    default: tuple[int, ...]
    every: bool
    """Whether every value is a label, as in a solution."""
    composed: Mapping[str, str]
    """Each id and labelled case by its composed form (NFC)."""

    @classmethod
    def of(
        cls,
        ids: Any,
        labels: Sequence[int],
        shapes: npt.NDArray[np.int64] | None,
        *,
        every: bool = False,
    ) -> _Asked:
        names = ids.to_pylist() if len(ids) else []
        labels_of: dict[str, list[int]] = {}
        shape_of: dict[str, tuple[int, ...]] = {}
        for row, name in enumerate(names):
            case, separator, label = name.rpartition(LABEL_SEPARATOR)
            # No other spelling of the number: the id of a mask is made of case and label again.
            labelled = bool(
                separator and label.isdecimal() and len(label) < 10 and label == str(int(label))
            )
            if labelled:
                labels_of.setdefault(case, []).append(int(label))
            if shapes is not None and shapes[row, 0] > 0:
                shape = tuple(size for size in shapes[row].tolist() if size > 0)
                for case_name in (name, case) if labelled else (name,):
                    shape_of.setdefault(case_name, shape)
        sorted_labels = {case: tuple(sorted(values)) for case, values in labels_of.items()}
        composed = {unicodedata.normalize("NFC", name): name for name in (*labels_of, *names)}
        return cls(frozenset(names), sorted_labels, shape_of, tuple(labels), every, composed)

    def case_of(self, name: str) -> str:
        """Return the case that a file is named after.

        Systems differ in how they write the same accents: macOS decomposes the names of files.
        """
        if name in self.ids or name in self.labels:
            return name
        composed = unicodedata.normalize("NFC", name)
        return self.composed.get(composed, composed)

    def labels_of(self, case: str) -> tuple[int, ...]:
        """Return the labels that are masks of a case; empty: the file is one mask."""
        return () if case in self.ids else self.labels.get(case, self.default)


def _masks(
    pixels: npt.NDArray[Any], case: str, asked: _Asked, name: str, faults: FaultList
) -> Iterable[_Row]:
    """Return the masks in a file."""
    held = pixels[pixels != 0]
    if held.dtype.kind == "f" and not (np.isfinite(held).all() and (held == np.rint(held)).all()):
        faults.refuse(
            "not a label",
            f"{show(name)} has values that are not whole numbers: write 0 outside the mask and a "
            "whole number inside.",
            id=case,
        )
    if held.size and held.min() < 0:
        faults.refuse("not a label", f"{show(name)} has negative values: write labels.", id=case)
    labels = asked.labels_of(case)
    if asked.every:
        values = np.unique(held)
        if len(values) > _MOST_LABELS:
            faults.refuse(
                "too many labels",
                f"{show(name)} has {plural(len(values), 'value')} besides 0, and at most "
                f"{_MOST_LABELS:,} can be labels: write one whole number for each kind of object.",
                id=case,
            )
        return [_Row(case, int(value), run_lengths(pixels == value)) for value in values.tolist()]
    if not labels:
        if held.size and held.min() != held.max():
            faults.refuse(
                "several labels",
                f"{show(name)} has more than one value besides 0, and the mask of one case has "
                "one: write 0 outside and 1 (or 255) inside.",
                id=case,
            )
        return [_Row(case, None, run_lengths(pixels != 0))]
    small = held.size == 0 or held.max() < _COUNTED_LABELS
    counted = np.bincount(held.astype(np.int64)) if small else None
    present = np.unique(held) if counted is None else np.flatnonzero(counted)
    unknown = [value for value in present.tolist() if value not in labels]
    if unknown:
        faults.refuse(
            "unknown label",
            f"{show(name)} has the label {unknown[0]:.15g}, which is none of "
            f"{', '.join(map(str, labels[:20]))}: write one of them, or 0 outside.",
            id=case,
        )
    return [_Row(case, label, run_lengths(pixels == label)) for label in labels]


def _every_label(rows: Sequence[_Row], cases: Sequence[str], faults: FaultList) -> list[_Row]:
    """Return a row for each case and label; with one value in all files, a row for each case."""
    labels = sorted({row.label for row in rows if row.label is not None})
    if labels == [1, 255]:
        faults.refuse(
            "several labels",
            "Some masks have the value 1 and some 255: write the same value in all of them if they "
            "mean the same.",
        )
    masks = {(row.case, row.label): row.mask for row in rows}
    if len(labels) < 2:
        value = next(iter(labels), None)
        return [_Row(case, None, masks.get((case, value), "")) for case in cases]
    return [_Row(case, label, masks.get((case, label), "")) for case in cases for label in labels]


# -- folders and archives --------------------------------------------------------------------------


def _in_folder(
    folder: Path, max_bytes: int, digest: Any, faults: FaultList
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    total = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted([*(file for file in names if not file.startswith(".")), *linked]):
            path = Path(parent, name)
            below = path.relative_to(folder).as_posix()
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                message = f"{show(below)} is a link, pipe or device: send the file itself."
                faults.add("not a file", message)
                continue
            total += status.st_size
            if total > max_bytes:
                faults.refuse(
                    "file too large",
                    f"The files have more than the allowed {plural(max_bytes, 'byte')}: compress "
                    "them.",
                )

            def read(path: Path = path, below: str = below) -> bytes:
                with os.fdopen(os.open(path, _FLAGS), "rb") as file:
                    before = os.fstat(file.fileno())
                    data = limited_content(partial(contextlib.nullcontext, file), below, faults)
                    if was_written(before, os.fstat(file.fileno())):
                        faults.refuse("unreadable file", f"{show(below)}: {CHANGED}")
                digest.update(f"{len(below)} {below} {len(data)} ".encode("utf-8", "replace"))
                digest.update(data)
                return data

            yield below, read


def _in_archive(
    path: Path, max_bytes: int, digest: Any, faults: FaultList
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    size = path.stat().st_size
    if size > max_bytes:
        faults.refuse(
            "file too large",
            f"The file has {plural(size, 'byte')}, but at most {max_bytes:,} are allowed.",
        )
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        while piece := file.read(_CHUNK):
            digest.update(piece)
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if not _is_of_a_system(member)]
            if len(members) > _MOST_FILES:
                faults.refuse(
                    "file too large", f"The archive contains {plural(len(members), 'file')}."
                )
            for member in sorted(members, key=lambda member: member.filename):
                parts = PurePosixPath(member.filename.replace("\\", "/")).parts
                if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
                    message = (
                        f"The name {show(member.filename)} leads out of the archive: rename it."
                    )
                    faults.add("unsafe name", message)
                    continue
                if stat.S_ISLNK(member.external_attr >> 16):
                    message = f"{show(member.filename)} is a link: send the file itself."
                    faults.add("not a file", message)
                    continue
                if member.flag_bits & 1:
                    faults.refuse("damaged file", "The ZIP archive is encrypted: send it open.")
                name = "/".join(parts)
                yield name, partial(_of_archive, archive, member, name, faults)
        if was_written(before, os.fstat(file.fileno())):
            faults.refuse("unreadable file", CHANGED)


def _is_of_a_system(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename).parts
    hidden = not parts or parts[0] == "__MACOSX" or parts[-1].startswith(".")
    return hidden or member.is_dir()  # which fails for an empty name before Python 3.13


def _of_archive(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, faults: FaultList
) -> bytes:
    """Return what a file of an archive contains; its declared size is never exceeded."""
    if member.file_size > MOST_BYTES:
        _refuse_size(name, faults)
    return limited_content(partial(archive.open, member), name, faults)


def _refuse_size(name: str, faults: FaultList) -> NoReturn:
    message = f"{show(name)} has more than {MOST_BYTES:,} bytes decompressed: send a smaller one."
    faults.refuse("mask too large", message)


def limited_content(opened: Callable[[], Any], name: str, faults: FaultList) -> bytes:
    """Return what a file contains; a file of more than 512 MiB is a fault."""
    pieces, total = [], 0
    with opened() as file:
        while piece := file.read(_CHUNK):
            total += len(piece)
            if total > MOST_BYTES:
                _refuse_size(name, faults)
            pieces.append(piece)
    return b"".join(pieces)


# -- formats ---------------------------------------------------------------------------------------


def _decode(
    data: bytes,
    suffix: str,
    expected: tuple[int, ...] | None,
    name: str,
    case: str,
    faults: FaultList,
) -> tuple[npt.NDArray[Any], tuple[float, ...] | None]:
    """Return the pixels of a file, along two or three axes, and their spacing if it is known."""

    def check(shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[int, ...]:
        """Check what the header declares, before the pixels are decoded."""
        sizes = tuple(int(size) for size in shape)
        while len(sizes) > 2 and sizes[-1] == 1:
            sizes = sizes[:-1]
        if dtype.kind not in "buif":
            faults.refuse("not a label", f"{show(name)} does not contain numbers.", id=case)
        if len(sizes) not in (2, 3) or min(sizes) < 1:
            faults.refuse(
                "wrong shape",
                f"{show(name)} has the shape {_shape(sizes)}: send an image or a volume.",
                id=case,
            )
        if expected is not None and sizes != expected:
            faults.refuse(
                "wrong shape",
                f"{show(name)} has the shape {_shape(sizes)}, but the case has {_shape(expected)}: "
                "send the mask at the size of the case.",
                id=case,
            )
        if math.prod(sizes) * dtype.itemsize > MOST_BYTES:
            faults.refuse(
                "mask too large",
                f"{show(name)} declares the shape {_shape(sizes)}, which takes more than "
                f"{MOST_BYTES:,} bytes: save it as integers of 8 bits.",
                id=case,
            )
        return sizes

    if suffix == _PNG:
        return _decode_png(data, check, name=name, case=case, faults=faults), None
    if suffix == _NUMPY:
        return _decode_numpy(data, check, faults=faults, name=name, case=case), None
    return _decode_nifti(data, check, faults)


_Check = Callable[[Sequence[int], "np.dtype[Any]"], tuple[int, ...]]


def _shape(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes[:8])) or "of a single number"


def _decode_png(
    data: bytes, check: _Check, name: str, case: str, faults: FaultList
) -> npt.NDArray[Any]:
    image = _import("PIL.Image", "PNG", "Pillow", faults)
    with warnings.catch_warnings(), _no_png(image, name, case, faults):
        warnings.simplefilter("ignore")  # on large images: their size is checked here
        with image.open(io.BytesIO(data), formats=["PNG"]) as opened:
            bands = len(opened.getbands())
            check((opened.height, opened.width), np.dtype(np.uint32))
            pixels = np.asarray(opened)
            palette = opened.getpalette("RGB") if opened.mode == "P" else None
    depth, kind = data[24:26]  # of the header, which every PNG begins with
    if depth == 16 and kind != _PNG_GREY:
        faults.refuse(
            "coloured mask",
            f"{show(name)} has colours of 16 bits: save it in shades of grey, 0 outside the mask.",
            id=case,
        )
    if depth in (2, 4) and kind == _PNG_GREY:
        pixels = pixels // np.uint8(255 // (2**depth - 1))  # Pillow stretches them to 8 bits
    if palette and any(palette[:3]):
        black = [red // 3 for red in range(0, len(palette), 3) if not any(palette[red : red + 3])]
        if np.isin(pixels, black).any():
            faults.refuse(
                "coloured mask",
                f"{show(name)} has a palette in which black is not the colour 0, so that it does "
                "not say what is outside the mask: save it in shades of grey, 0 outside.",
                id=case,
            )
    if pixels.ndim == 3:
        opaque = bands in (1, 3) or bool((pixels[..., -1] == np.iinfo(pixels.dtype).max).all())
        colours = pixels[..., : bands - (bands in (2, 4))]
        if not opaque or (colours != colours[..., :1]).any():
            faults.refuse(
                "coloured mask",
                f"{show(name)} is a coloured or transparent image: save it in shades of grey, 0 "
                "outside the mask.",
                id=case,
            )
        pixels = colours[..., 0]
    return pixels


@contextlib.contextmanager
def _no_png(image: Any, name: str, case: str, faults: FaultList) -> Iterator[None]:
    """Report a file that is no PNG image: Pillow's message has an address in memory."""
    try:
        yield
    except image.UnidentifiedImageError:
        message = f"{show(name)} is no PNG image: write and send it again."
        faults.refuse("damaged mask", message, id=case)


def _decode_numpy(
    data: bytes, check: _Check, faults: FaultList, name: str, case: str
) -> npt.NDArray[Any]:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        faults.refuse("damaged mask", f"{show(name)} is no array of numbers.", id=case)
    try:
        shape, _, dtype = read_header(file)
    except MemoryError:  # what Python raises for an expression that is nested too deeply
        faults.refuse("damaged mask", f"{show(name)} is no array of numbers.", id=case)
    sizes = check(shape, dtype)
    file.seek(0)
    array: npt.NDArray[Any] = np.load(file, allow_pickle=False)
    return array.reshape(sizes, order="A")


def _decode_nifti(
    data: bytes, check: _Check, faults: FaultList
) -> tuple[npt.NDArray[Any], tuple[float, ...]]:
    nibabel = _import("nibabel", "NIfTI", "nibabel", faults)
    logging.getLogger("nibabel.global").setLevel(logging.CRITICAL)
    second = int.from_bytes(data[:4], "little") == 540 or int.from_bytes(data[:4], "big") == 540
    volume = (nibabel.Nifti2Image if second else nibabel.Nifti1Image).from_bytes(data)
    # Scaled values are float64.
    scaled = volume.dataobj.slope != 1 or volume.dataobj.inter != 0
    sizes = check(volume.shape, np.dtype(float) if scaled else volume.get_data_dtype())
    pixels: npt.NDArray[Any] = np.asanyarray(volume.dataobj)
    # Stored as float32, whose further digits mean nothing.
    steps = [float(f"{abs(float(step)):.6g}") for step in volume.header.get_zooms()[: len(sizes)]]
    spacing = tuple(step if np.isfinite(step) and step > 0 else 1.0 for step in steps)
    return pixels.reshape(sizes, order="F"), spacing


def _import(module: str, what: str, package: str, faults: FaultList) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        faults.refuse(
            "missing package",
            f"Masks as {what} need {package}: the organiser runs {how_to_install('segmentation')}.",
        )
