"""Files made to crash, swell or stall their reader: each is one refused file, soon and cheaply."""

from __future__ import annotations

import gzip
import io
import os
import re
import resource
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.intake import ReadSubmission, read_submission, reader
from arena.types import Solution
from arena.utils.processes import HAS_LIMITS, Ended, Limits, call_limited, workers
from submission_files import N_ROWS, die, fail, kinds, rows_of, swell

Read = Callable[[bytes], ReadSubmission]

IDS = [f"{i:03d}" for i in range(N_ROWS)]
VALID = ("id,y\n" + rows_of()).encode()
NO_TEXT = b"a\xffb"
SECONDS = 120
MIB = 2**20


def parquet(columns: dict[str, Any]) -> bytes:
    """Return a Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


WHOLE = parquet({"id": IDS, "y": [0.5] * N_ROWS})


def text_of(cells: list[bytes]) -> pa.Array:
    """Return a column of text that is not UTF-8."""
    return pa.array(cells).view(pa.string())


def archive(
    *members: tuple[str, bytes], attributes: int = 0, **places: tuple[int, int, str, int]
) -> bytes:
    """Return a ZIP archive; ``places`` overwrite numbers in all local or central headers.

    A place is the offset in the central header, that in the local one (0: none), a struct format
    and the number.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, attributes
            zip_file.writestr(info, content)
    data = bytearray(file.getvalue())
    for in_central, in_local, form, number in places.values():
        for signature, offset in ((b"PK\1\2", in_central), (b"PK\3\4", in_local)):
            position = data.find(signature)
            while offset and position >= 0:
                struct.pack_into(form, data, position + offset, number)
                position = data.find(signature, position + 1)
    return bytes(data)


def overlapping(names: list[str], content: bytes) -> bytes:
    """Return an archive whose entries all have the data of the first one."""
    packed = archive((names[0], content))
    local = packed[: packed.index(b"PK\1\2")]
    entry = packed[len(local) : packed.index(b"PK\5\6")]
    entries = b"".join(entry.replace(names[0].encode(), name.encode()) for name in names)
    count = min(len(names), 0xFFFF)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(entries), len(local), 0)
    return local + entries + end


def quoting(names: list[str], content: bytes) -> bytes:
    """Return an archive whose entries quote the headers of all later ones (Fifield, 2019)."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeeze.compress(content) + squeeze.flush()
    out, central, text, length = packed, [], content, len(packed)
    for name in reversed(names):
        sizes = (zlib.crc32(text), length, len(text), len(name), 0)
        header = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0, *sizes) + name.encode()
        stored = b"\0" + struct.pack("<HH", len(header), len(header) ^ 0xFFFF)
        central.append((name, sizes, len(header) + len(stored)))
        out, text = stored + header + out, header + text
        length += len(header) + len(stored)
    out, position, entries = out[5:], 0, b""  # nothing quotes the first header
    for name, sizes, step in reversed(central):
        numbers = (20, 20, 0, 8, 0, 0, *sizes, 0, 0, 0, 0, position)
        entries += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", *numbers) + name.encode()
        position += step
    count = len(names)
    return out + entries + struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(entries), len(out), 0
    )  # fmt: skip


def json_lines(value: str) -> bytes:
    return "".join(f'{{"id": "{i}", "y": {value}}}\n' for i in IDS).encode()


def footer_of(length: int) -> bytes:
    return WHOLE[:-8] + struct.pack("<I", length) + b"PAR1"


HOSTILE: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "cell that is no text": (
        lambda: parquet({"id": IDS, "y": text_of([NO_TEXT] * N_ROWS)}),
        {"wrong encoding"},
    ),
    "list of nulls": (
        lambda: parquet({"id": ["a"] * 1000, "y": [[None] * 10_000] * 1000}),
        {"wrong type"},
    ),
    "nulls of fixed size": (
        lambda: parquet({"id": ["a"] * 1000, "y": pa.nulls(1000, pa.binary(MIB))}),
        {"wrong type"},
    ),
    "struct": (lambda: parquet({"id": IDS, "y": [{"a": 1}] * N_ROWS}), {"wrong type"}),
    "packed repeated ids": (
        lambda: gzip.compress(b"id,y\n" + b"000,0.5\n" * (20 * MIB)),
        {"unreadable file"} if HAS_LIMITS else {"too many rows"},
    ),
    "rows without end": (lambda: b"id,y\n" + b",\n" * (25 * MIB), {"too many rows"}),
    "lines that are no text": (
        lambda: b"id,y\n" + b"\xff\n" * (105 * 1024),
        {"wrong encoding", "no text"},
    ),
    "quotes without end": (
        lambda: b"id,y\n" + b'"' * (16 * MIB),
        {"truncated file", "missing id"},
    ),
    "one long line": (lambda: b"a" * (32 * MIB), {"unreadable header"}),
    "columns without end": (lambda: b"," * (3 * MIB), {"unreadable header"}),
    # archives
    "archive of overlapping files": (
        lambda: overlapping([f"{i:04d}" for i in range(5_000)], b"0" * 10 * MIB),
        {"wrong format"},
    ),
    "archive of quoted files": (
        lambda: quoting([f"{i:04d}.csv" for i in range(300)], b"0" * 10 * MIB),
        {"wrong format"},
    ),
    "archive in an archive": (
        lambda: archive(("a.zip", archive(("a.csv", VALID)))),
        {"wrong format"},
    ),
    "names that differ in case": (
        lambda: archive(("a.csv", VALID), ("A.csv", VALID)),
        {"wrong format"},
    ),
    "link in an archive": (
        lambda: archive(("a.csv", b"/etc/passwd"), attributes=0o120777 << 16),
        {"not a file"},
    ),
    "encrypted archive": (
        lambda: archive(("a.csv", VALID), flag=(8, 6, "<H", 1)),
        {"damaged file"},
    ),
    "archive with a false size": (
        lambda: archive(("a.csv", VALID), size=(24, 0, "<I", 1)),
        {"damaged file"},
    ),
    "archive with a false place": (
        lambda: archive(("a.csv", VALID), offset=(42, 0, "<I", 2**32 - 2)),
        {"damaged file"},
    ),
    "archive with an unknown method": (
        lambda: archive(("a.csv", VALID), method=(10, 8, "<H", 99)),
        {"damaged file"},
    ),
    "archive of a file without a name": (lambda: archive(("", VALID)), {"wrong format"}),
    "tar archive": (
        lambda: gzip.compress(b"../x.csv".ljust(512, b"\0") * 4),
        {"NUL byte", "no rows"},
    ),
    "pickle": (lambda: b"\x80\x04\x95" + b"cos\nsystem\n(S'x'\ntR.", {"wrong format"}),
    # JSON
    "deep list": (lambda: json_lines("[" * 10_000 + "]" * 10_000), {"damaged file"}),
    "deep objects": (lambda: b'[{"a":' * 50_000, {"damaged file"}),
    "long whole number": (lambda: json_lines("9" * 5_000), {"damaged file"}),
    "large whole number": (lambda: json_lines("9" * 4_000), {"infinite value"}),
    "huge exponent": (lambda: json_lines("1e999999999999"), {"infinite value"}),
    "half a character": (lambda: json_lines('"\\ud800"'), {"unreadable file", "not a number"}),
    # Parquet
    "times of 96 bits": (
        lambda: parquet({"id": IDS, "y": pa.array([0] * N_ROWS, pa.timestamp("ns"))}),
        {"not a number"},
    ),
    "decimals": (
        lambda: parquet({"id": IDS, "y": pa.array([Decimal("9" * 76)] * N_ROWS)}),
        {"out of range"},
    ),
    "map": (
        lambda: parquet(
            {"id": IDS, "y": pa.array([[("a", 1)]] * N_ROWS, pa.map_("string", "int8"))}
        ),
        {"wrong type"},
    ),
    "long dictionary": (
        lambda: parquet({"id": pa.array(["x" * 10 * MIB] * N_ROWS).dictionary_encode()}),
        {"wrong type", "missing column"},
    ),
    "footer of no bytes": (lambda: footer_of(0), {"damaged file"}),
    "footer beyond the file": (lambda: footer_of(2**31 - 1), {"damaged file"}),
    "encrypted footer": (lambda: b"PARE" + WHOLE[4:-4] + b"PARE", {"damaged file"}),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_bounded_time_and_memory(read: Read, name: str) -> None:
    make, expected = HOSTILE[name]
    content = make()
    read(VALID)  # the process has started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    solution = read(content)
    assert time.monotonic() - started < SECONDS
    assert solution.values is None
    assert kinds(solution)
    assert kinds(solution) <= expected
    for fault in solution.faults:
        assert len(fault.message) < 500
        assert not re.search(r"0x[0-9a-f]{6}|\bsys\.|Traceback|\n", fault.message), fault.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
    assert read(VALID).faults == ()


@pytest.mark.slow
def test_a_file_that_ends_its_reader_costs_no_other(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(VALID).values is not None
    with monkeypatch.context() as patch:
        patch.setattr(reader, "parse_submission", die)
        (fault,) = read(VALID).faults
    assert fault.kind == "unreadable file"
    assert fault.message == (
        "The file could not be read: its process crashed or was killed, possibly out of memory. "
        "Write and send it again."
    )
    assert read(VALID).values is not None


@pytest.mark.parametrize(("broken", "name"), [(fail, "KeyError"), (swell, "MemoryError")])
def test_a_fault_of_the_reader_itself_is_a_fault_of_that_file(
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    broken: Callable[..., Any],
    name: str,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(reader, "parse_submission", broken)
        (fault,) = read(VALID).faults
    assert fault.message == f"The file could not be read: {name}. Write and send it again."
    assert f"ended with {name}" in caplog.text
    assert "secret" not in caplog.text + str(fault)
    assert read(VALID).values is not None


def flipped(bit: int) -> bytes:
    """Return the Parquet file with one bit changed."""
    data = bytearray(WHOLE)
    data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


def assert_bit_flips_are_answered(read: Read, bits: Any) -> None:
    for bit in bits:
        solution = read(flipped(int(bit)))
        if solution.values is None:
            assert solution.faults
        else:
            assert solution.values.shape == (N_ROWS, 1)
            assert ((solution.values >= 0) & (solution.values <= 1)).all()


def test_bits_flipped_in_the_footer(read: Read) -> None:
    footer = int.from_bytes(WHOLE[-8:-4], "little") + 8
    bits = np.random.default_rng(0).integers(8 * (len(WHOLE) - footer), 8 * len(WHOLE), 60)
    assert_bit_flips_are_answered(read, bits)
    assert read(WHOLE).faults == ()


@pytest.mark.parametrize(
    "step", [pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.campaign)]
)
def test_bits_flipped_throughout(read: Read, step: int) -> None:
    """Every fifth bit, so that each byte has one or two, or every bit."""
    assert_bit_flips_are_answered(read, range(0, 8 * len(WHOLE), step))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_LIMITS, reason="this system has no limit on memory")
def test_memory_and_open_files_are_limited() -> None:
    limits = Limits(memory=64 * MIB, open_files=16)
    with pytest.raises(MemoryError):
        call_limited(bytearray, 128 * MIB, seconds=60.0, limits=limits)
    assert len(call_limited(bytearray, 16 * MIB, seconds=60.0, limits=limits)) == 16 * MIB
    unused = 500  # a process of the tests has many open files, and the call answers by one of them
    assert call_limited(os.dup2, 0, unused, seconds=60.0, purpose="unlimited") == unused
    with pytest.raises(OSError, match="Bad file descriptor"):
        call_limited(os.dup2, 0, unused, seconds=60.0, limits=limits)
    soon = Limits(memory=64 * MIB, processor_seconds=1)
    ended = call_limited(sum, range(10**12), seconds=300.0, limits=soon)
    assert isinstance(ended, Ended)
    assert ended.too_long


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["9007199254740993", "1e401", "9007199254740992.5"])
def test_labels_that_are_different_numbers_are_never_merged(tmp_path: Path, text: str) -> None:
    from arena.intake import read_solution
    from arena.types import PredictionKind

    labels = ["9007199254740992", "1e400"]
    path = tmp_path / "solution.csv"
    path.write_text("id,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    solution: Solution = read_solution(path, kind=PredictionKind.LABEL)
    assert solution.targets[0].classes == tuple(labels)
    (tmp_path / "team.csv").write_text(f"id,y\n0,{text}\n1,10e399\n")
    read = read_submission(tmp_path / "team.csv", solution)
    assert [(fault.kind, fault.row) for fault in read.faults] == [("unknown label", 2)]
    (tmp_path / "team.csv").write_text("id,y\n0,9007199254740992.0\n1,10e399\n")
    read = read_submission(tmp_path / "team.csv", solution)
    assert read.values is not None
    assert read.values.tolist() == [[0], [1]]


def test_the_process_that_read_good_labels_reads_the_next_file(tmp_path: Path) -> None:
    from arena.intake import read_solution
    from arena.types import PredictionKind

    path, processes = tmp_path / "solution.csv", []
    for n_rows in (20, 20, 90):  # the last one is another competition of about the same size
        rows = "".join(f"{i},{'cat' if i % 2 else 'dog'}\n" for i in range(n_rows))
        path.write_text(f"id,y\n{rows}")
        solution: Solution = read_solution(path, kind=PredictionKind.LABEL)
        assert read_submission(path, solution).values is not None
        processes.append({worker.process.pid for worker in workers.idle_workers})
    assert processes[0] == processes[1] == processes[2]
