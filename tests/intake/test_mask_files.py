"""Submissions and solutions as a folder or ZIP of mask files: PNG, NIfTI and .npy."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nibabel
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from arena.intake import (
    ReadSubmission,
    SubmissionForm,
    find_submissions,
    mask_files,
    parse_submission,
    read_solution,
)
from arena.intake.mask_files import run_lengths, seconds_of_masks
from arena.interfaces.faults import FaultList, Refused
from arena.types import PredictionKind, SolutionColumns, Target
from arena_metrics.modalities import MASKS
from program import run_here
from submission_files import kinds, only
from thinned import examples

SHAPE = (4, 6)
CASES = ("a", "b", "c")
OTHER_VALUE = "has more than one value besides 0"


def masks(shape: tuple[int, ...] = SHAPE) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {case: rng.random(shape) < 0.4 for case in CASES}


def png(pixels: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def npy(pixels: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, pixels, **options)
    return buffer.getvalue()


def nifti(pixels: Any, kind: Any = nibabel.Nifti1Image) -> bytes:
    return bytes(kind(pixels.astype(np.uint8), np.eye(4)).to_bytes())


def grey(pixels: Any) -> bytes:
    return png(pixels.astype(np.uint8) * 255)


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def form(ids: tuple[str, ...] = CASES, shape: tuple[int, ...] | None = SHAPE) -> SubmissionForm:
    shapes = None
    if shape is not None:
        shapes = np.tile([*shape, 0][:3], (len(ids), 1)).astype(np.int64)
    target, texts = Target("mask", None), pa.array(ids)
    return SubmissionForm(
        "id", ("mask",), (target,), PredictionKind.TEXT, texts, modality=MASKS, sizes=shapes
    )


def send(path: Path, files: dict[str, bytes], **options: Any) -> ReadSubmission:
    return parse_submission(zipped(path / "team.zip", files), form(**options))


def painted(cell: str, shape: tuple[int, ...]) -> Any:
    """Return the mask of a run-length encoding, pixel by pixel."""
    flat = np.zeros(int(np.prod(shape)), dtype=bool)
    numbers = [int(word) for word in cell.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        for pixel in range(start, start + length):
            flat[pixel - 1] = True
    return flat.reshape(shape, order="F")


@given(st.data())
@settings(max_examples=examples(60))
def test_run_lengths_are_those_of_the_painted_image(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=3)))
    size = int(np.prod(shape))
    flat = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = np.array(flat).reshape(shape)
    cell = run_lengths(mask)
    assert (painted(cell, shape) == mask).all()
    ends = [int(a) + int(b) for a, b in zip(cell.split()[::2], cell.split()[1::2], strict=True)]
    starts = [int(word) for word in cell.split()[::2]]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))  # no run is split


FORMATS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    "grey": (".png", grey),
    "bits": (".PNG", png),
    "shades": (".png", lambda m: png((m * 70).astype(np.uint8))),
    "16 bits": (".png", lambda m: png((m * 300).astype(np.uint16))),
    "colours that are grey": (".png", lambda m: png(np.stack([m * 255] * 3, -1).astype(np.uint8))),
    "bool": (".npy", npy),
    "float": (".npy", lambda m: npy(m.astype(float))),
    "fortran": (".npy", lambda m: npy(np.asfortranarray(m))),
    "one slice": (".npy", lambda m: npy(m[..., None])),
    "nifti": (".nii", nifti),
    "nifti 2": (".nii", lambda m: nifti(m, nibabel.Nifti2Image)),
    "compressed": (".nii.gz", lambda m: gzip.compress(nifti(m))),
    "nifti of one slice": (".nii.gz", lambda m: gzip.compress(nifti(m[:, :, None]))),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_read_from_a_zip_and_from_a_folder(tmp_path: Path, name: str) -> None:
    suffix, write = FORMATS[name]
    files = {f"masks/{case}{suffix}": write(mask) for case, mask in masks().items()}
    folder = tmp_path / "team" / "masks"
    folder.mkdir(parents=True)
    for path, data in files.items():
        (folder.parent / path).write_bytes(data)
    for read in (
        send(tmp_path, {**files, "__MACOSX/masks/._a.png": b"x", "masks/.DS_Store": b"x"}),
        parse_submission(folder.parent, form()),
    ):
        assert read.values is not None, read.faults
        assert len(read.sha256) == 64
        for cell, mask in zip(read.values[:, 0], masks().values(), strict=True):
            assert (painted(cell, SHAPE) == mask).all()


def test_volumes_are_counted_like_arrays(tmp_path: Path) -> None:
    shape = (3, 4, 5)
    held = list(masks(shape).values())
    files = {
        "a.nii": nifti(held[0]),
        "b.nii.gz": gzip.compress(nifti(held[1])),
        "c.npy": npy(held[2]),
    }
    read = send(tmp_path, files, shape=shape)
    assert read.values is not None, read.faults
    for cell, mask in zip(read.values[:, 0], held, strict=True):
        assert (painted(cell, shape) == mask).all()


def test_a_file_of_labels_is_one_mask_per_label(tmp_path: Path) -> None:
    labels = np.array([[0, 1, 2], [2, 2, 7]], dtype=np.uint8)
    ids = ("a:1", "a:2", "a:3", "a:7", "b")
    files = {"a.png": png(labels), "b.npy": npy(labels == 1)}
    read = send(tmp_path, files, ids=ids, shape=(2, 3))
    assert read.values is not None, read.faults
    assert read.values[:, 0].tolist() == ["3 1", "2 1 4 2", "", "6 1", "3 1"]
    other = send(tmp_path, files, ids=ids[:2] + ids[4:], shape=(2, 3))
    assert "label 7, which is none of 1, 2" in only(other, "unknown label").message


def test_the_label_of_an_id_is_a_number_of_at_most_nine_digits(tmp_path: Path) -> None:
    mask = np.array([[0, 1], [1, 1]])
    for identifier, value, is_read in (
        ("a:123456789", 123_456_789, True),
        ("a:1234567890", 1_234_567_890, False),
        ("a:07", 7, False),
        ("a:left", 1, False),
    ):
        read = send(tmp_path, {"a.npy": npy(mask * value)}, ids=(identifier,), shape=(2, 2))
        assert (read.values is not None) == is_read, identifier


def _header(width: int, height: int) -> bytes:
    """Return a PNG that declares a size and holds no pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    start = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", start) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _declared_nifti(shape: tuple[int, ...]) -> bytes:
    made = nibabel.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.eye(4))
    made.header.set_data_shape(shape)
    return bytes(made.header.binaryblock) + b"\0" * 100


def _declared_npy(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + b"\0" * 100


def _npy_of(shape: str) -> bytes:
    """Return an array whose header has this text as its shape."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header) + 1) + header + b"\n" + bytes(24)


PACKED = zlib.compress(bytes(10**8), 1)


def _png_with(kind: bytes, data: bytes) -> bytes:
    """Return a PNG with a chunk before the pixels that ends with 100 MB of packed zeros."""
    data += PACKED
    whole = grey(masks()["a"])
    crc = zlib.crc32(kind + data)
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)
    return whole[:33] + chunk + whole[33:]


def _nifti_with(offset: int, form: str, number: float) -> bytes:
    """Return a volume with another number in its header."""
    made = bytearray(nifti(masks()["a"]))
    struct.pack_into(form, made, offset, number)
    return bytes(made)


GOOD = masks()["a"]
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "a text": ("a.txt", b"1 2", "not a mask file"),
    "no image": ("a.png", b"no image", "damaged mask"),
    "another format": ("a.png", b"GIF89a" + b"\0" * 50, "damaged mask"),
    "truncated png": ("a.png", grey(GOOD)[:50], "damaged mask"),
    "too few pixels": ("a.png", _header(6, 4), "damaged mask"),
    "truncated nifti": ("a.nii", nifti(GOOD)[:-10], "damaged mask"),
    "truncated header": ("a.nii", nifti(GOOD)[:100], "damaged mask"),
    "truncated gzip": ("a.nii.gz", gzip.compress(nifti(GOOD))[:-12], "damaged mask"),
    "no gzip": ("a.nii.gz", nifti(GOOD), "damaged mask"),
    "truncated npy": ("a.npy", npy(GOOD)[:-1], "damaged mask"),
    "empty": ("a.npy", b"", "damaged mask"),
    "pickle": ("a.npy", npy(np.array([[print]], dtype=object), allow_pickle=True), "not a label"),
    "texts": ("a.npy", npy(np.array([["a"]])), "not a label"),
    "one axis": ("a.npy", npy(np.zeros(24)), "wrong shape"),
    "no pixels": ("a.npy", npy(np.zeros((0, 6))), "wrong shape"),
    "four axes": ("a.npy", npy(np.zeros((2, 2, 2, 2))), "wrong shape"),
    "other size": ("a.png", grey(GOOD.T), "wrong shape"),
    "huge png": ("a.png", _header(2**30, 2**30), "damaged mask"),
    "large png": ("a.png", _header(10_000, 10_000), "wrong shape"),
    "huge nifti": ("a.nii", _declared_nifti((30_000, 30_000, 1_000)), "wrong shape"),
    "huge npy": ("a.npy", _declared_npy((10**9, 10**9)), "wrong shape"),
    "fractions": ("a.npy", npy(GOOD * 0.5), "not a label"),
    "nan": ("a.npy", npy(np.full(SHAPE, np.nan)), "not a label"),
    "negative": ("a.npy", npy(-GOOD.astype(int)), "not a label"),
    "shades": ("a.png", png(np.arange(24, dtype=np.uint8).reshape(SHAPE)), "several labels"),
    "colours": ("a.png", png(np.arange(72, dtype=np.uint8).reshape(*SHAPE, 3)), "coloured mask"),
    "traversal": ("../a.png", grey(GOOD), "unsafe name"),
    "absolute": ("/etc/a.png", grey(GOOD), "unsafe name"),
    "another kind of image": ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(50), "damaged mask"),
    "a header that is no literal": ("a.npy", b"\x93NUMPY\1\0\4\0{'a\n", "damaged mask"),
    "negative sizes": ("a.npy", _npy_of("(-4, -6)"), "wrong shape"),
    "sizes that are no numbers": ("a.npy", _npy_of("(4.0, 6.0)"), "damaged mask"),
    "complex numbers": ("a.npy", npy(GOOD.astype(complex)), "not a label"),
    "times": ("a.npy", npy(np.zeros(SHAPE, "M8[ns]")), "not a label"),
    "pixels that unpack to much": ("a.png", _png_with(b"iCCP", b"a\0\0"), "damaged mask"),
    "text that unpacks to much": ("a.png", _png_with(b"zTXt", b"a\0\0"), "damaged mask"),
    "nifti of negative sizes": ("a.nii", _nifti_with(42, "<h", -4), "wrong shape"),
    "nifti of many axes": ("a.nii", _nifti_with(40, "<h", 100), "damaged mask"),
    "nifti of an unknown type": ("a.nii", _nifti_with(70, "<h", 9_999), "damaged mask"),
    "nifti that begins nowhere": ("a.nii", _nifti_with(108, "<f", float("nan")), "damaged mask"),
    "nifti that begins far away": ("a.nii", _nifti_with(108, "<f", 1e30), "damaged mask"),
    "nifti of scaled values": ("a.nii", _nifti_with(112, "<f", 0.5), "not a label"),
    "a drive": ("C:\\a.png", grey(GOOD), "unsafe name"),
}


@pytest.mark.few(15)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_fault_in_a_sentence(tmp_path: Path, name: str) -> None:
    path, data, kind = HOSTILE[name]
    files = {path: data} | {
        f"{case}.png": grey(mask) for case, mask in masks().items() if case != "a"
    }
    read = send(tmp_path, files)
    assert read.values is None
    fault = only(read, kind)
    assert fault.message.endswith((".", "…"))
    assert Path(path).name.split("\\")[-1] in fault.message
    assert not re.search("0x[0-9a-f]{6}|Traceback", fault.message), fault.message


def _png_of(pixels: Any, depth: int, kind: int, palette: bytes = b"") -> bytes:
    """Return a PNG of another depth and type than Pillow writes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    height, width = pixels.shape[:2]
    rows = b""
    for row in pixels:
        bits = "".join(format(int(value), f"0{depth}b") for value in row.ravel())
        bits += "0" * (-len(bits) % 8)
        rows += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    colours = chunk(b"PLTE", palette) if palette else b""
    body = start + colours + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _repeated(n: int) -> Any:
    return np.stack([GOOD.astype(int)] * n, axis=-1)


def _opaque(n: int) -> Any:
    return np.concatenate([_repeated(n), np.full((*SHAPE, 1), 65535)], axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("times", [60, pytest.param(5_000, marks=pytest.mark.campaign)])
def test_a_mutated_file_is_a_mask_or_a_fault_in_a_sentence(
    tmp_path: Path, name: str, times: int
) -> None:
    """Bits are flipped and bytes are lost or doubled, most of them in the header."""
    rng = np.random.default_rng(len(name))
    suffix, write = FORMATS[name]
    good = write(masks()["a"])
    for number in range(times):
        data = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            place = int(rng.integers(min(len(data), 400) if rng.random() < 0.7 else len(data)))
            if number % 3:
                data[place] ^= 1 << int(rng.integers(8))
            elif number % 2:
                del data[place : place + int(rng.integers(1, 40))]
            else:
                data[place:place] = data[place : place + int(rng.integers(1, 40))]
        files = {f"a{suffix}": bytes(data), "b.png": grey(GOOD), "c.png": grey(GOOD)}
        read = send(tmp_path, files)
        assert (read.values is None) == bool(read.faults)
        for fault in read.faults:
            assert fault.message.endswith("."), fault
            assert len(fault.message) < 1_000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_png_of(_repeated(3), 16, 2), "16 bits"),
        (_png_of(_opaque(1), 16, 4), "16 bits"),
        (_png_of(_opaque(3), 16, 6), "16 bits"),
        (_png_of(1 - GOOD.astype(int), 8, 3, b"\xff\xff\xff\0\0\0"), "palette"),
        (_png_of(1 - GOOD.astype(int), 1, 3, b"\xff\xff\xff\0\0\0"), "palette"),
    ],
    ids=["colours", "grey with alpha", "colours with alpha", "white first", "white first, 1 bit"],
)
def test_an_image_whose_values_cannot_be_known_is_refused(
    tmp_path: Path, data: bytes, said: str
) -> None:
    fault = only(send(tmp_path, {"a.png": data}, ids=("a",)), "coloured mask")
    assert said in fault.message


def test_a_palette_says_what_is_outside_unless_black_is_another_colour_that_occurs(
    tmp_path: Path,
) -> None:
    white, grey_1, black = b"\xff" * 3, b"\1" * 3, b"\0" * 3
    for palette, is_read in (
        (white + grey_1 + black, True),  # no pixel has the colour 2
        (white + grey_1, True),
        (white + black, False),
        (b"\0\0\1" + black, False),
        (black + black, True),
    ):
        data = _png_of(GOOD.astype(int), 8, 3, palette)
        read = send(tmp_path, {"a.png": data}, ids=("a",))
        if is_read:
            assert read.values is not None
            assert read.values.tolist() == [[run_lengths(GOOD)]]
        else:
            assert only(read, "coloured mask").message == (
                "'a.png' has a palette in which black is not the colour 0, so that it does not say "
                "what is outside the mask: save it in shades of grey, 0 outside."
            )


LAST_NOT_OPAQUE = np.where(np.arange(24).reshape(*SHAPE, 1) == 23, 254, 255)


@pytest.mark.parametrize(
    ("pixels", "kind", "is_grey"),
    [  # types of PNG: 2 colours, 4 grey with alpha, 6 colours with alpha
        (_repeated(3), 2, True),
        (_repeated(3) * [1, 1, 0], 2, False),
        (_repeated(3) * [1, 0, 1], 2, False),
        (np.dstack([_repeated(1), np.full(SHAPE, 255)]), 4, True),
        (np.dstack([_repeated(1), LAST_NOT_OPAQUE]), 4, False),
        (np.dstack([_repeated(3), np.full(SHAPE, 255)]), 6, True),
        (np.dstack([_repeated(3), LAST_NOT_OPAQUE]), 6, False),
        (np.dstack([_repeated(3) * [1, 1, 0], np.full(SHAPE, 255)]), 6, False),
    ],
)
def test_an_image_is_grey_if_all_its_colours_are_equal_and_opaque(
    tmp_path: Path, pixels: Any, kind: int, is_grey: bool
) -> None:
    read = send(tmp_path, {"a.png": _png_of(pixels, 8, kind)}, ids=("a",))
    if is_grey:
        assert read.values is not None
        assert read.values.tolist() == [[run_lengths(GOOD)]]
    else:
        assert "coloured or transparent" in only(read, "coloured mask").message


@pytest.mark.parametrize(
    ("kind", "depth"),
    [*((0, depth) for depth in (1, 2, 4, 8, 16)), *((3, depth) for depth in (1, 2, 4, 8))],
)
def test_the_values_of_an_image_are_those_in_the_file(
    tmp_path: Path, kind: int, depth: int
) -> None:
    """Of greys (type 0) and of a palette (type 3)."""
    pixels = GOOD.astype(int) * (1 if depth == 1 else 2)
    palette = b"\0\0\0" + bytes(range(1, 10)) if kind == 3 else b""
    data = _png_of(pixels, depth, kind, palette[: 3 * 2**depth])
    read = send(tmp_path, {"a.png": data}, ids=("a:1", "a:2"))
    assert read.values is not None, read.faults
    cells = run_lengths(pixels == 1), run_lengths(pixels == 2)
    assert read.values[:, 0].tolist() == list(cells)


def test_ids_in_other_forms_are_found(tmp_path: Path) -> None:
    """A solution with decomposed ids, files with composed names, and the label 0."""
    data = npy(GOOD.astype(np.uint8))
    for ids, held in (
        (("e\u0301",), ("\u00e9",)),
        (("e\u0301:1", "e\u0301:2"), ("\u00e9",)),
        (("e\u0301:1", "e\u0301:2"), ("e\u0301",)),
        (("\u00e9", "e\u0301"), ("\u00e9", "e\u0301")),
        (("a:0", "a:1"), ("a",)),
    ):
        read = send(tmp_path, {f"{name}.npy": data for name in held}, ids=ids, shape=None)
        assert read.values is not None, (ids, held, read.faults)
    assert read.values[:, 0].tolist() == [run_lengths(~GOOD), run_lengths(GOOD)]


def test_a_large_file_is_refused_by_its_declared_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_files, "MOST_BYTES", 10_000)
    monkeypatch.setattr(mask_files, "limited_content", None)  # nothing is decompressed
    fault = only(send(tmp_path, {"a.nii": bytes(10_001)}, ids=("a",)), "mask too large")
    assert "'a.nii' has more than 10,000 bytes" in fault.message


def test_a_header_that_is_nested_too_deeply_names_its_file(tmp_path: Path) -> None:
    header = b"-" * 9_000 + b"1\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
    fault = only(send(tmp_path, {"a.npy": data}, ids=("a",)), "damaged mask")
    assert "a.npy" in fault.message


def test_a_label_of_many_digits_is_short_in_the_message(tmp_path: Path) -> None:
    read = send(tmp_path, {"a.npy": npy(GOOD * 1e300)}, ids=("a:1", "a:2"))
    assert "has the label 1e+300," in only(read, "unknown label").message


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.nii", _declared_nifti((30_000, 30_000, 1_000)), "mask too large"),
        ("a.npy", _declared_npy((10**9, 10**9)), "mask too large"),
    ],
    ids=["nifti", "npy"],
)
def test_a_huge_mask_is_refused_where_the_size_is_unknown(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    assert only(send(tmp_path, {name: data}, ids=("a",), shape=None), kind)


@pytest.mark.slow
def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(2**29 + 1), 1)
    assert only(send(tmp_path, {"a.nii.gz": bomb}, ids=("a",), shape=None), "mask too large")


def test_links_duplicates_and_missing_cases_are_named(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("b.png")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("x/a.png", grey(GOOD))
        archive.writestr("y/a.npy", npy(GOOD))
    read = parse_submission(tmp_path / "team.zip", form())
    assert {"not a file", "duplicate case", "missing id"} <= kinds(read)
    assert only(read, "duplicate case").id == "a"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.png").write_bytes(grey(GOOD))
    (folder / "b.png").symlink_to(folder / "a.png")
    assert "not a file" in kinds(parse_submission(folder, form()))


@pytest.mark.parametrize("in_folder", [True, False])
def test_masks_that_are_written_while_they_are_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_folder: bool
) -> None:
    """The sha256 is computed before a mask of an archive is read, and must be of the same bytes."""
    files = {f"{case}.png": grey(GOOD) for case in CASES}
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    path = folder if in_folder else zipped(tmp_path / "team.zip", files)
    assert parse_submission(path, form()).values is not None
    limited = mask_files.limited_content

    def write_and_read(opened: Any, name: str, faults: Any) -> bytes:
        written = folder / f"{CASES[0]}.png" if in_folder else path
        os.utime(written, ns=(0, written.stat().st_mtime_ns + 10**9))
        return limited(opened, name, faults)

    monkeypatch.setattr(mask_files, "limited_content", write_and_read)
    read = parse_submission(path, form())
    assert "changed while it was read" in only(read, "unreadable file").message


def test_a_file_without_a_name_is_left_out(tmp_path: Path) -> None:
    files = {f"{case}.png": grey(mask) for case, mask in masks().items()}
    path = zipped(tmp_path / "team.zip", files)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"x")
    assert parse_submission(path, form()).faults == ()


def test_names_are_compared_in_normal_form(tmp_path: Path) -> None:
    held = {"e\u0301.png": grey(GOOD), "o\u0308.png": grey(GOOD)}
    read = send(tmp_path, held, ids=("\u00e9", "o\u0308"))
    assert read.values is not None, read.faults
    folder = tmp_path / "folder"
    folder.mkdir()
    Path(os.fsdecode(bytes(folder) + b"/\xff.png")).write_bytes(grey(GOOD))
    assert "missing id" in kinds(parse_submission(folder, form(ids=("a",))))


def test_an_archive_that_is_too_large_or_empty_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert kinds(parse_submission(empty, form())) == {"empty file"}
    (empty / "a.png").write_bytes(grey(GOOD))
    small = SubmissionForm(
        "id", ("mask",), (Target("mask", None),), PredictionKind.TEXT, pa.array(["a"]),
        max_bytes=10, modality=MASKS,
    )  # fmt: skip
    assert kinds(parse_submission(empty, small)) == {"file too large"}
    assert kinds(parse_submission(zipped(tmp_path / "a.zip", {"a.png": b""}), small)) == {
        "file too large"
    }


def test_without_the_extra_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("PIL.Image", "nibabel"):
        monkeypatch.setitem(sys.modules, module, None)
    for name, data, package in (("a.png", grey(GOOD), "Pillow"), ("a.nii", b"", "nibabel")):
        fault = only(send(tmp_path, {name: data}, ids=("a",)), "missing package")
        assert package in fault.message
        assert "[segmentation]" in fault.message


def test_a_mask_beyond_the_image_is_a_fault_on_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "solution.csv"
    path.write_text("id,mask,height,width\na,24 1,4,6\nb,,4,6\n")
    options: dict[str, Any] = {"kind": PredictionKind.TEXT, "modality": MASKS}
    columns = SolutionColumns(targets=("mask",))
    solution = read_solution(path, columns=columns, **options)
    checked = SubmissionForm.of(solution, modality=MASKS)
    sent = tmp_path / "team.csv"
    sent.write_text("id,mask\nb,24 2\na,24 1\n")
    fault = only(parse_submission(sent, checked), "mask beyond the image")
    assert (fault.row, fault.id, fault.column) == (2, "b", "mask")
    assert "4 x 6" in fault.message
    sent.write_text("id,mask\na,24 1\nb,24 2\n")
    in_order = only(parse_submission(sent, checked), "mask beyond the image")
    assert (in_order.row, in_order.id) == (3, "b")
    sent.write_text("id,mask\nb,24 2\na,24 1\n")
    path.write_text("id,mask,height,width,Usage\na,24 1,4,6,Private\nb,,4,6,Ignored\n")
    ignored = SubmissionForm.of(read_solution(path, columns=columns, **options), modality=MASKS)
    assert parse_submission(sent, ignored).faults == (fault,)  # says nothing about the usage
    path.write_text("id,mask,height,width\na,24 2,4,6\nb,,4,6\n")
    with pytest.raises(Exception, match="beyond the last pixel"):
        read_solution(path, columns=columns, **options)


def test_a_folder_of_masks_is_one_submission(tmp_path: Path) -> None:
    for name in ("ann/x/a.png", "ann/b.nii.gz", "ann/.hidden", "bob/a.csv", "bob/plot.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    submission_files = find_submissions([tmp_path])
    assert [(file.team, file.name) for file in submission_files] == [
        ("ann", "ann"), ("bob", "bob/a.csv"), ("bob", "bob/plot.png"),
    ]  # fmt: skip


@pytest.mark.slow
def test_masks_are_scored_ranked_and_submitted(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    truth = {f"case{number:02d}": rng.random(SHAPE) < 0.5 for number in range(12)}
    (tmp_path / "truth").mkdir()
    for case, mask in truth.items():
        (tmp_path / "truth" / f"{case}.png").write_bytes(grey(mask))
    done = run_here("masks", "truth", "-o", "solution.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sent = {case: mask ^ (rng.random(SHAPE) < 0.2) for case, mask in truth.items()}
    teams = tmp_path / "teams"
    (teams / "ann").mkdir(parents=True)
    for case, mask in sent.items():
        (teams / "ann" / f"{case}.npy").write_bytes(npy(mask))
    zipped(teams / "bob.zip", {f"{case}.nii": nifti(mask) for case, mask in sent.items()})
    done = run_here("masks", "truth", "-o", "teams/best.csv", "--no-sizes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    arguments = ("solution.csv", "teams", "--metric", "dice")
    assert run_here("validate", *arguments, cwd=tmp_path).returncode == 0
    done = run_here("score", *arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    overlap = [2 * (truth[c] & sent[c]).sum() / (truth[c].sum() + sent[c].sum()) for c in truth]
    scores = {row["team"]: row["score"] for row in json.loads(done.stdout)["standings"]}
    assert scores == pytest.approx(
        {"best": 1.0, "ann": np.mean(overlap), "bob": np.mean(overlap)}, abs=1e-12
    )
    done = run_here("init", "game", "--solution", "solution.csv", "--metric", "dice", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for path in ("ann", "bob.zip"):
        submit = ("submit", f"teams/{path}", "--team", path[:3], "-C", "game")
        done = run_here(*submit, cwd=tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout


def test_the_command_says_what_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a.png").write_bytes(png(np.array([[0, 1], [2, 1]], dtype=np.uint8)))
    done = run_here("masks", "truth", "-o", "a.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert OTHER_VALUE in " ".join(done.stderr.split())
    done = run_here("masks", "truth", "-o", "a.csv", "--labels", "1,2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.csv").read_text() == ("id,mask,height,width\na:1,3 2,2,2\na:2,2 1,2,2\n")
    for wrong in (("--labels", "0,1"), ("--labels", "x"), ("--column", "id"), ()):
        assert run_here("masks", "truth", "-o", "b.csv" if wrong else "a.csv", *wrong,
                        cwd=tmp_path).returncode == 2  # fmt: skip
    assert run_here("masks", "none", "-o", "b.csv", cwd=tmp_path).returncode == 1
    assert run_here("masks", "a.csv", "-o", "b.csv", cwd=tmp_path).returncode == 1


def test_masks_may_take_time_for_each_and_for_their_pixels() -> None:
    shapes = np.array([[2_500, 2_000, 0], [1_000, 1_000, 5]])  # 5 and 5 million pixels
    assert seconds_of_masks(3, None) == 3 * 0.02
    assert seconds_of_masks(2, shapes) == 2 * 0.02 + 10e6 / 5e6


def test_a_file_has_at_most_the_bytes_that_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, is_read in ((4, True), (3, False)):
        monkeypatch.setattr(mask_files, "MOST_BYTES", most)
        faults = FaultList()
        opened = partial(io.BytesIO, b"abcd")
        if is_read:
            assert mask_files.limited_content(opened, "a", faults) == b"abcd"
            continue
        with pytest.raises(Refused):
            mask_files.limited_content(opened, "a", faults)
        assert faults.to_tuple()[0].message == (
            "'a' has more than 3 bytes decompressed: send a smaller one."
        )


@pytest.mark.parametrize(("slope", "is_read"), [(1.0, True), (2.0, False)])
def test_pixels_that_are_scaled_take_eight_bytes_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slope: float, is_read: bool
) -> None:
    data = bytearray(nifti(np.ones((100, 50))))  # 5,000 bytes after the header
    struct.pack_into("<f", data, 112, slope)
    monkeypatch.setattr(mask_files, "MOST_BYTES", len(data))
    read = send(tmp_path, {"a.nii": bytes(data)}, ids=("a",), shape=None)
    if is_read:
        assert read.values is not None
    else:
        assert "declares the shape 100 x 50" in only(read, "mask too large").message


def test_the_last_run_of_a_mask_is_looked_at_if_it_can_be_counted() -> None:
    digits = "9" * 15
    cells = np.array([f"1 {digits}", f"1 {digits}9", "1 4", "2 4", "9 9 1 4"], dtype=object)
    shapes = np.array([[2, 2, 0]] * 5)
    assert mask_files.pixels_beyond(cells, shapes).tolist() == [True, False, False, True, False]
    assert not mask_files.pixels_beyond(cells, np.zeros((5, 3), dtype=int)).any()


def test_a_case_has_the_first_known_size_of_its_ids(tmp_path: Path) -> None:
    ids = ("a:1", "a:2", "b")
    form_with_sizes = replace(form(ids), sizes=np.array([[0, 0, 0], [*SHAPE, 0], [0, 0, 0]]))
    files = {"a.npy": npy(GOOD * 2), "b.npy": npy(GOOD.T)}
    read = parse_submission(zipped(tmp_path / "team.zip", files), form_with_sizes)
    assert read.values is not None, read.faults
    assert read.values[:, 0].tolist() == ["", run_lengths(GOOD), run_lengths(GOOD.T)]
    files["a.npy"] = npy(GOOD.T * 2)
    read = parse_submission(zipped(tmp_path / "team.zip", files), form_with_sizes)
    assert "has the shape 6 x 4, but the case has 4 x 6" in only(read, "wrong shape").message


@pytest.mark.parametrize(
    ("name", "is_read"), [("__MACOSX/a.png", True), ("masks/__MACOSX", False), ("b/.c.png", True)]
)
def test_files_of_a_system_among_masks_are_passed_over(
    tmp_path: Path, name: str, is_read: bool
) -> None:
    read = send(tmp_path, {"a.png": grey(GOOD), name: b"x"}, ids=("a",))
    assert (read.values is not None) is is_read
    assert kinds(read) == (set() if is_read else {"not a mask file"})


def test_an_encrypted_archive_of_masks_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "team.zip", {"a.png": grey(GOOD)})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the encryption flag in the central directory
    path.write_bytes(data)
    fault = only(parse_submission(path, form(("a",))), "damaged file")
    assert fault.message == "The ZIP archive is encrypted: send it open."


def test_masks_have_a_spacing_and_a_third_axis_where_one_of_them_has() -> None:
    table: Any = SimpleNamespace(shapes=((4, 6), (3, 4, 5)), spacings=((1.0, 1.0), (1.0, 0.5, 2.0)))
    assert mask_files.mask_columns(table) == {
        "height": [4, 3], "width": [6, 4], "depth": [1, 5],
        "spacing_height": [1.0, 1.0], "spacing_width": [1.0, 0.5], "spacing_depth": [1.0, 2.0],
    }  # fmt: skip
    table.spacings = ((1.0, 1.0), (1.0, 1.0, 1.0))
    assert list(mask_files.mask_columns(table)) == ["height", "width", "depth"]
    assert mask_files.mask_columns(SimpleNamespace(shapes=(), spacings=())) == {}  # type: ignore[arg-type]


def test_sizes_of_a_solution_are_whole_numbers_from_one() -> None:
    extra = {
        "height": np.array([4.0, 0.0, 2.5, 2.0**29, 2.0**29 + 1, 1.0]),
        "width": np.array([6.0, 6.0, 6.0, 1.0, 1.0, 1.0]),
        "depth": np.array([5.0, 5.0, 5.0, 0.0, 1.0, 0.5]),
    }
    shapes = mask_files.shapes_of(extra)
    assert shapes is not None
    assert shapes.tolist() == [[4, 6, 5], [0] * 3, [0] * 3, [2**29, 1, 0], [0] * 3, [1, 1, 0]]
    assert mask_files.shapes_of({"height": extra["height"]}) is None
    del extra["depth"]
    flat = mask_files.shapes_of(extra)
    assert flat is not None
    assert flat[0].tolist() == [4, 6, 0]


def _solution_masks(path: Path, files: dict[str, bytes], **options: Any) -> tuple[Any, list[str]]:
    """Return the masks of a solution, or None if it is refused, and the messages of its faults."""
    faults, masks_of_solution = FaultList(), None
    with contextlib.suppress(Refused):
        masks_of_solution = mask_files.read_masks(
            zipped(path / "truth.zip", files), ("id", "mask"), faults, max_bytes=10**6, **options
        )
    return masks_of_solution, [fault.message for fault in faults.to_tuple()]


def test_masks_are_refused_in_a_sentence_beyond_each_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thousand_labels = {"a.npy": npy(np.arange(1_001)[np.newaxis])}
    more_labels = {"a.npy": npy(np.arange(1_002)[np.newaxis])}
    assert _solution_masks(tmp_path, thousand_labels, is_truth=True)[0].labels == tuple(
        range(1, 1_001)
    )
    assert _solution_masks(tmp_path, more_labels, is_truth=True)[1] == [
        "'a.npy' has 1,001 values besides 0, and at most 1,000 can be labels: write one whole "
        "number for each kind of object."
    ]
    monkeypatch.setattr(mask_files, "_MOST_FILES", 2)
    files = {f"{case}.npy": npy(GOOD) for case in "abc"}
    assert _solution_masks(tmp_path, files)[1] == ["The archive contains 3 files."]
    del files["c.npy"]
    assert _solution_masks(tmp_path, files)[0].cases == ("a", "b")
    monkeypatch.setattr(mask_files, "MOST_BYTES", 200)
    monkeypatch.setattr(mask_files, "limited_content", lambda opened, *_: opened().read())
    monkeypatch.setattr(mask_files, "_refuse_size", lambda *_: None)
    for size, messages in (
        (100, []),
        (101, [
            "'a.npy' declares the shape 2 x 101, which takes more than 200 bytes: save it as "
            "integers of 8 bits."
        ]),
    ):  # fmt: skip
        files = {"a.npy": npy(np.ones((2, size), np.uint8))}
        assert _solution_masks(tmp_path, files)[1] == messages


def test_a_spacing_has_six_digits_and_is_1_where_a_volume_has_none(tmp_path: Path) -> None:
    for steps, spacing in (
        ((0.7, -0.5, 1 / 3), (0.7, 0.5, 0.333333)),
        ((0.0, np.nan, np.inf), (1.0, 1.0, 1.0)),
    ):
        volume = bytearray(nifti(np.ones((2, 3, 4))))
        struct.pack_into("<3f", volume, 80, *steps)  # the place of pixdim[1] to pixdim[3]
        masks, messages = _solution_masks(tmp_path, {"a.nii": bytes(volume)})
        assert messages == []
        assert masks.spacings == (spacing,)


def test_labels_that_are_none_are_named_beside_the_first_twenty(tmp_path: Path) -> None:
    labels, first = range(1, 22), ", ".join(map(str, range(1, 21)))
    for value, label in ((22, "22"), (2**16, "65536"), (1e15, "1e+15"), (2**16 - 1, "65535")):
        masks, messages = _solution_masks(
            tmp_path, {"a.npy": npy(np.array([[0, 1, value]]))}, labels=labels
        )
        assert masks.labels == ()
        assert messages == [
            f"'a.npy' has the label {label}, which is none of {first}: write one of them, or 0 "
            "outside."
        ]


@pytest.mark.parametrize(
    ("files", "cells", "sentence"),
    [
        ({"a.npy": [[0, 0]], "b.npy": [[0, 7]]}, {"a": "", "b": "2 1"}, None),
        ({"a.npy": [[0, 0]], "b.npy": [[0, 0]]}, {"a": "", "b": ""}, None),
        (
            {"a.npy": [[1, 0]], "b.npy": [[0, 255]], "c.npy": [[2, 0]]},
            {"a:1": "1 1", "a:2": "", "a:255": "", "b:1": "", "b:2": "", "b:255": "2 1",
             "c:1": "", "c:2": "1 1", "c:255": ""},
            None,
        ),
        (
            {"a.npy": [[1, 0]], "b.npy": [[0, 255]]}, None,
            "Some masks have the value 1 and some 255: write the same value in all of them if they "
            "mean the same.",
        ),
        (
            {"a.npy": 5}, None,
            "'a.npy' has the shape of a single number: send an image or a volume.",
        ),
        (
            {"a.npy": [[[[[[[[[[1, 2]]]]]]]]]]}, None,
            "'a.npy' has the shape 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1: send an image or a volume.",
        ),
        (
            {"a.npy": [[1, 0]], "x/a.npy": [[1, 0]]}, {"a": "1 1"},
            "'a.npy' and 'x/a.npy' are both the mask of one case: send one.",
        ),
        (
            {"a.npy": [[1, -1]], "b.npy": [[0.5, 0]]}, {"a": "", "b": ""},
            "'a.npy' has negative values: write labels.",
        ),
    ],
)  # fmt: skip
def test_masks_of_a_solution_have_a_row_for_each_label_of_any_file(
    tmp_path: Path, files: dict[str, Any], cells: dict[str, str] | None, sentence: str | None
) -> None:
    arrays = {name: npy(np.array(pixels)) for name, pixels in files.items()}
    masks, messages = _solution_masks(tmp_path, arrays, is_truth=True)
    assert messages[:1] == ([] if sentence is None else [sentence])
    if cells is not None:
        names, column = masks.table.columns
        assert dict(zip(names.to_pylist(), column.to_pylist(), strict=True)) == cells
