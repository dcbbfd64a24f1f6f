"""Predictions outside the database: read back alike, and nothing is trusted unchecked."""

from __future__ import annotations

import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.errors import ObjectError, StoreError
from arena.store import Incoming, Store, object_places
from arena.store.keepers import CellForm
from arena.store.object_places import (
    READ_TOGETHER,
    FolderPlace,
    RemotePlace,
    object_name,
    place_at,
)
from arena.store.prediction_objects import ObjectReader, object_of
from arena.store.repair import repair
from arena.types import PredictionKind, Solution, Target
from arena.utils.distribution import how_to_install
from arena.utils.locations import check_location

ROOT = Path(__file__).parents[2]
N_ROWS = 30
LABEL = "a label that no file may hold"


def solution_of(kind: PredictionKind, n_columns: int = 1) -> Solution:
    columns = tuple(f"y{number}" for number in range(n_columns))
    classes = ("0", "1", "2") if kind is PredictionKind.LABEL else None
    is_text = kind is PredictionKind.TEXT
    shape = (N_ROWS, n_columns) if n_columns > 1 else N_ROWS
    truth: npt.NDArray[Any] = np.full(shape, LABEL, dtype=object) if is_text else np.zeros(shape)
    return Solution(
        id_column="id",
        targets=tuple(Target(name, classes) for name in columns),
        columns=columns,
        kind=kind,
        ids=pa.array([str(row) for row in range(N_ROWS)]),
        truth=truth.astype(np.intp) if classes else truth,
        usage=np.ones(N_ROWS, dtype=np.uint8),
        sha256="0",
    )


def values_of(number: int, kind: PredictionKind, n_columns: int = 1) -> npt.NDArray[Any]:
    rng = np.random.default_rng(number)
    if kind is PredictionKind.TEXT:
        words = np.array(["", "ü", "a\nb", f"word {number}", "\U0001f600"], dtype=object)
        return np.asarray(words[rng.integers(5, size=(N_ROWS, n_columns))], dtype=object)
    if kind is PredictionKind.LABEL:
        return rng.integers(3, size=(N_ROWS, n_columns)).astype(float)
    return rng.normal(size=(N_ROWS, n_columns)) * 10.0 ** rng.integers(-300, 300)


def filled(
    path: Path,
    place: str | None = "predictions",
    kind: PredictionKind = PredictionKind.VALUE,
    n_columns: int = 1,
    n: int = 4,
) -> Store:
    store = Store.open(path)
    with store.transaction() as transaction:
        if place is not None:
            transaction.keep_predictions_at(place)
        transaction.put_solution(solution_of(kind, n_columns))
        transaction.append_event("created", "host", {})
        transaction.add_submissions(
            [incoming(number, values_of(number, kind, n_columns)) for number in range(1, n + 1)]
        )
        transaction.append_event("imported", "host", {})
    return store


def incoming(number: int, values: npt.NDArray[Any]) -> Incoming:
    return Incoming(f"t{number}", "f", f"sha {number}", values)


def add(store: Store, number: int, values: npt.NDArray[Any]) -> None:
    with store.transaction() as transaction:
        record = transaction.add_submission(incoming(number, values))
        transaction.append_event("submission", "host", {"submission": record.submission})


def objects_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def object_file(store: Store, number: int) -> Path:
    with store.database.reading() as cursor:
        query = "SELECT name FROM objects WHERE submission = ?"
        ((name,),) = cursor.execute(query, [number]).fetchall()
    (path,) = store.path.parent.rglob(f"{name}.parquet")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c" / "x.duckdb"


@pytest.fixture(autouse=True)
def _folder(path: Path) -> None:
    path.parent.mkdir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_columns"),
    [
        (PredictionKind.TEXT, 2),
        pytest.param(PredictionKind.VALUE, 3, marks=pytest.mark.slow),
        pytest.param(PredictionKind.VALUE, 1, marks=pytest.mark.slow),
        pytest.param(PredictionKind.LABEL, 1, marks=pytest.mark.slow),
    ],
)
def test_both_places_give_the_same_blocks(
    tmp_path: Path, path: Path, kind: PredictionKind, n_columns: int
) -> None:
    rows = np.array([4, 2, 9])
    submissions = [3, 1, 4, 1]
    read = []
    for place, database in ((None, tmp_path / "table.duckdb"), ("predictions", path)):
        with filled(database, place, kind, n_columns) as store:
            whole = store.predictions(submissions)
            blocks = [block for _, block in whole.blocks(2)]
            blocks += [block for _, block in store.predictions(submissions, rows=rows).blocks(3)]
            blocks += [block for _, block in whole.subset(np.array([2, 0])).blocks(9)]
            read.append(blocks)
            assert store.audit() == ()
            assert store.unused_objects() == []
            assert (whole.for_workers() is None) == (place is None)
            if place is not None:
                unpickled = pickle.loads(pickle.dumps(whole.for_workers()))  # noqa: S301 - our own
                blocks += [block for _, block in unpickled.blocks(4)]
                np.testing.assert_array_equal(blocks.pop(), np.concatenate(blocks[:2]))
    for inside, outside in zip(*read, strict=True):
        assert inside.dtype == outside.dtype
        np.testing.assert_array_equal(inside, outside)
    assert not any(LABEL.encode() in file.read_bytes() for file in objects_in(path.parent))
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM predictions").fetchall() == [(0,)]


def test_equal_predictions_are_one_object_that_only_the_owner_can_read(path: Path) -> None:
    with filled(path, n=2) as store:
        add(store, 3, values_of(1, PredictionKind.VALUE))
        (_, block), *_ = store.predictions([1, 3]).blocks(2)
        np.testing.assert_array_equal(block[0], block[1])
        assert object_file(store, 1) == object_file(store, 3)
        (event,) = (event for event in store.events() if event.payload.get("submission") == 3)
        assert event.payload["facts"]["objects"] == {"3": object_file(store, 3).stem}
    files = objects_in(path.parent)
    assert len(files) == 2
    assert [object_name(file.read_bytes()) for file in files] == [file.stem for file in files]
    everything = [*(path.parent / "predictions").rglob("*"), path.parent / "predictions"]
    assert {path.stat().st_mode & 0o777 for path in everything} == {0o600, 0o700}
    assert len(everything) == len(files) + 3  # the folder, the one of the database, the note


@pytest.mark.parametrize(
    ("cells", "codec"),
    [
        (np.arange(100.0), "ZSTD"),
        (np.arange(101.0), "LZ4"),
        # Of 3,000 cells every third is looked at.
        (np.where(np.arange(3_000) % 3, np.arange(3_000.0), 0), "ZSTD"),
        (np.where(np.arange(3_000) % 2, np.arange(3_000.0), 0), "LZ4"),
        (np.array(["a", "b"], dtype=object), "ZSTD"),
    ],
    ids=["100", "101", "thirds", "halves", "texts"],
)
def test_few_different_values_are_coded_and_others_split_into_bytes(
    cells: npt.NDArray[Any], codec: str
) -> None:
    content = object_of(cells.reshape(-1, 1))
    assert content == object_of(cells.reshape(-1, 1))
    file = pq.ParquetFile(pa.BufferReader(content))
    assert file.metadata.num_row_groups == 1
    column = file.metadata.row_group(0).column(0)
    assert (column.compression, column.is_stats_set) == (codec, False)
    coded = "RLE_DICTIONARY" if codec == "ZSTD" else "BYTE_STREAM_SPLIT"
    assert coded in column.encodings
    assert file.read().column("0").to_pylist() == cells.tolist()


def remove(file: Path, _: Store) -> None:
    file.unlink()


def truncate(file: Path, _: Store) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def empty(file: Path, _: Store) -> None:
    file.write_bytes(b"")


def flip(file: Path, _: Store) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 1  # in the footer: the parser would end the process
    file.write_bytes(content)


def exchange(file: Path, store: Store) -> None:
    shutil.copy(object_file(store, 3), file)


@pytest.mark.slow
def test_a_damaged_object_is_named(path: Path) -> None:
    with filled(path, n=3) as store:
        file = object_file(store, 2)
        whole = file.read_bytes()
        for damage in (remove, truncate, empty, flip, exchange):
            damage(file, store)
            state = "are missing" if damage is remove else "were changed or truncated"
            with pytest.raises(ObjectError, match=f"of submission 2 {state}") as caught:
                list(store.predictions([1, 2, 3]).blocks(3))
            assert str(file) in str(caught.value)
            assert store.audit() == (str(caught.value),)
            (_, block), *_ = store.predictions([1, 3]).blocks(3)
            assert len(block) == 2
            file.write_bytes(whole)
        file.unlink()
        file.mkdir()
        with pytest.raises(ObjectError, match=r"submission 2 cannot be read from .*: it is"):
            list(store.predictions([1, 2, 3]).blocks(3))
        remove(object_file(store, 3), store)
        assert [str(file) in problem for problem in store.audit()] == [True, False]
        add(store, 4, values_of(3, PredictionKind.VALUE))
        file.rmdir()
        # The same predictions from anybody put it back.
        file.write_bytes(whole[:-1])
        add(store, 5, values_of(2, PredictionKind.VALUE))
        assert file.read_bytes() == whole
        assert store.audit() == ()


def test_an_audit_names_every_object_that_is_not_the_recorded_one(path: Path) -> None:
    with filled(path, n=5) as store:
        first, second, third = (object_file(store, number) for number in (1, 2, 3))
        fourth = object_file(store, 4)
        remove(first, store)
        truncate(second, store)
        with store.database.transaction() as cursor:
            cursor.execute("UPDATE objects SET name = ? WHERE submission = 4", [third.stem])
            cursor.execute("DELETE FROM objects WHERE submission = 3")
        problems = store.audit()
        problems_of_contents = store.audit(outside=False)
        assert store.lacking_objects() == [first.stem]
        assert store.unused_objects() == [fourth.stem]
        assert store.remove_unused_objects() == [fourth.stem]
        assert store.unused_objects() == []
        with (
            pytest.raises(StoreError, match=re.escape(f" are at {fourth.parent} and cannot be mo")),
            store.transaction() as transaction,
        ):
            transaction.keep_predictions_at(None)
    named, event = "The object with the predictions of submission", "event 2 (imported, "
    assert [sentence[: sentence.find(event)] for sentence in problems[:2]] == [
        f"{named} 3 is not named in the database: ",
        f"{named} 4 is named {third.stem} in the database: ",
    ]
    assert problems[1].endswith(f") recorded {fourth.stem}.")
    assert [sentence[:55] for sentence in problems[2:]] == [
        "The predictions of submission 3 are incomplete.",
        f"The predictions of submission 1 are missing: there is no {first}"[:55],
        "The predictions of submission 2 were changed or truncated"[:55],
        "The predictions of submission 4 were changed: event 2 ("[:55],
    ]
    # Where objects are not read, their names are compared.
    assert problems_of_contents == problems[:3]


class Failing:
    """A bucket whose calls fail, except for reading the first object."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return path.removeprefix("s3://")

    def cat(self, paths: list[str], on_error: str) -> dict[str, Any]:
        return {
            self._strip_protocol(path): self.error if number else b"content"
            for number, path in enumerate(paths)
        }

    def pipe(self, contents: dict[str, bytes]) -> None:
        raise self.error

    def ls(self, path: str, detail: bool) -> list[str]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            OSError("no route to https://me:secret@host/x.\nmore"),
            "OSError (no route to https://host/x)",
        ),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_bucket_that_fails_is_named_by_its_url_without_secrets(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    monkeypatch.setattr(object_places, "opened_file_system", lambda _: Failing(error))
    place = place_at("s3://bucket/race/", Path("home"), "id")
    assert place.url == "s3://bucket/race/id"
    advice = "Check the URL, the network, and the credentials in the environment."
    for participle, call in {
        "read": lambda: list(place.get(["a", "b"], 1)),
        "written": lambda: place.put({"a": b""}),
        "listed": lambda: list(place.names()),
    }.items():
        where = f"{place.url}/b.parquet" if participle == "read" else place.url
        with pytest.raises(StoreError) as raised:
            call()
        message = f"Predictions at {where} cannot be {participle}: {reason}. {advice}"
        assert str(raised.value) == message


def test_a_bucket_is_asked_for_at_most_64_mb_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_paths: list[int] = []

    class Counting(Failing):
        def cat(self, paths: list[str], on_error: str) -> dict[str, Any]:
            n_paths.append(len(paths))
            return {self._strip_protocol(path): b"" for path in paths}

    monkeypatch.setattr(object_places, "opened_file_system", lambda _: Counting(OSError()))
    place = place_at("s3://bucket", Path("home"), "id")
    names = [str(number) for number in range(65)]
    for size, expected in ((1, [64, 1]), (2**21, [32, 32, 1]), (2**26 + 1, [1] * 65)):
        n_paths.clear()
        assert list(place.get(names, size)) == [b""] * 65
        assert n_paths == expected


def test_a_bucket_that_no_installed_package_can_open_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    for url, reason in {
        "s3://bucket/x": f"s3:// need a package that is not installed: {how_to_install('objects')}",
        "gs://bucket": "gs:// need a package that is not installed: pip install gcsfs",
    }.items():
        with pytest.raises(StoreError, match=re.escape(f"Predictions at {reason}.")):
            object_places.opened_file_system(url)


EDITS = {
    "UPDATE objects SET name = (SELECT name FROM objects WHERE submission = 2) "
    "WHERE submission = 3": [
        "The object with the predictions of submission 3 is named",
        "The predictions of submission 3 were changed",
    ],
    "DELETE FROM objects WHERE submission = 3": [
        "submission 3 is not named in the database",
        "The predictions of submission 3 are incomplete",
    ],
    "INSERT INTO objects SELECT 7, name FROM objects WHERE submission = 3": [
        "The predictions of submission 7 are not in the record"
    ],
    "INSERT INTO predictions VALUES (3, 0.5)": [
        "The database contains predictions, but they are kept at"
    ],
    "UPDATE meta SET value = 'elsewhere' WHERE name = 'predictions'": [
        "'predictions' in meta was changed"
    ],
    "DELETE FROM meta WHERE name = 'predictions'": ["'predictions' in meta is missing"],
}


@pytest.mark.slow
def test_an_edit_is_named(path: Path) -> None:
    with filled(path, n=3) as store:
        with store.database.reading() as cursor:
            (third,) = cursor.execute("SELECT name FROM objects WHERE submission = 3").fetchall()
        for edit, parts in EDITS.items():
            with store.database.transaction() as cursor:
                cursor.execute(edit)
            problems = store.audit()
            assert len(problems) == len(parts), problems
            assert all(part in problem for part, problem in zip(parts, problems, strict=True)), (
                problems
            )
            with store.database.transaction() as cursor:
                cursor.execute("DELETE FROM predictions")
                cursor.execute("DELETE FROM objects WHERE submission > 2")
                cursor.execute("INSERT INTO objects VALUES (3, ?)", third)
                cursor.execute("INSERT OR REPLACE INTO meta VALUES ('predictions', 'predictions')")
        assert store.audit() == ()


@pytest.mark.slow
def test_an_object_of_another_form_is_refused(path: Path) -> None:
    with filled(path, n=1) as store:
        content = object_of(np.zeros((N_ROWS, 2)))
        (object_file(store, 1).parent / f"{object_name(content)}.parquet").write_bytes(content)
        with store.transaction() as transaction:
            transaction._cursor.execute("UPDATE objects SET name = ?", [object_name(content)])
        with pytest.raises(ObjectError, match="not a table of 30 rows and 1 column"):
            list(store.predictions([1]).blocks(1))


def add_and_stop(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.add_submission(Incoming("t", "f", "s", values_of(2, PredictionKind.VALUE)))
        transaction.write_objects()
        raise KeyboardInterrupt


@pytest.mark.slow
def test_a_transaction_that_fails_stores_nothing_and_leaves_a_harmless_object(path: Path) -> None:
    with filled(path, n=1) as store:
        with pytest.raises(KeyboardInterrupt):
            add_and_stop(store)
        assert len(store.submissions()) == 1
        (unused,) = store.unused_objects()
        assert store.audit() == ()
        (object_file(store, 1).parent / ".part-x").touch()
        assert store.remove_unused_objects() == [unused]
        assert [file.stem for file in objects_in(path.parent)] == [object_file(store, 1).stem]
        assert not [*path.parent.rglob(".part-*")]
        assert store.audit() == ()


KILLED = """
    import os, signal, sys
    from pathlib import Path
    sys.path[:0] = sys.argv[3:]
    from test_objects import add, values_of
    from arena.store import Store
    from arena.store.object_places import FolderPlace
    from arena.store.transaction import Transaction
    from arena.types import PredictionKind

    def end(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    def write_and_end(self):
        write(self)
        end()

    if sys.argv[2] == "after":
        write = Transaction.write_objects
        Transaction.write_objects = write_and_end
    else:
        Path.replace = end
    with Store.open(Path(sys.argv[1])) as store:
        add(store, 2, values_of(2, PredictionKind.VALUE))
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["after", pytest.param("before", marks=pytest.mark.slow)])
def test_a_kill_before_the_commit_leaves_no_submission(path: Path, when: str) -> None:
    filled(path, n=1).close()
    called = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), path, when, Path(__file__).parent, ROOT],
        check=False,
    )
    assert called.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        assert len(store.submissions()) == 1
        assert store.audit() == ()
        left = store.unused_objects()
        assert len(left) == (1 if when == "after" else 0)
        assert len([*path.parent.rglob(".part-*")]) == (0 if when == "after" else 1)
        add(store, 2, values_of(2, PredictionKind.VALUE))
        assert object_file(store, 2).stem in {*left, object_file(store, 2).stem}
        assert store.unused_objects() == []
        (_, block), *_ = store.predictions([2]).blocks(1)
        np.testing.assert_array_equal(block[0], values_of(2, PredictionKind.VALUE)[:, 0])
        store.remove_unused_objects()
        assert not [*path.parent.rglob(".part-*")]
        assert store.audit() == ()


@pytest.mark.slow
def test_a_place_that_cannot_be_written_stores_nothing(path: Path) -> None:
    with filled(path, n=1) as store:
        folder = object_file(store, 1).parent
        folder.rename(folder.with_name("aside"))
        folder.touch()
        with pytest.raises(StoreError, match="cannot be written: a part of the path is"):
            add(store, 2, values_of(2, PredictionKind.VALUE))
        assert len(store.submissions()) == 1
        folder.unlink()
        folder.with_name("aside").rename(folder)
        root = folder.parent.rename(path.parent / "not mounted")
        folder.parent.mkdir()
        with pytest.raises(StoreError, match="which marks the place. Is its disk mounted"):
            add(store, 2, values_of(2, PredictionKind.VALUE))
        assert len(store.submissions()) == 1
        folder.parent.rmdir()
        root.rename(folder.parent)
        assert store.audit() == ()


@pytest.mark.slow
def test_objects_can_be_moved_when_all_were_copied(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other"

    def move(store: Store, place: str | None) -> None:
        with store.transaction() as transaction:
            transaction.keep_predictions_at(place)
            transaction.append_event("configuration", "host", {})

    with filled(path) as store:
        with pytest.raises(StoreError, match="4 objects are not at .*other.*Copy everything from"):
            move(store, str(other))
        with pytest.raises(StoreError, match="cannot be moved into it"):
            move(store, None)
        shutil.copytree(path.parent / "predictions", other, dirs_exist_ok=True)
        move(store, f"file://{other}")
        shutil.rmtree(path.parent / "predictions")
        assert len(next(store.predictions([1, 2, 3, 4]).blocks(4))[1]) == 4
        assert store.audit() == ()
    with Store.open(path, read_only=True) as store:
        assert store.audit() == ()
        assert str(store.predictions_outside).startswith(str(other))
    with filled(tmp_path / "table.duckdb", None) as store:
        with pytest.raises(StoreError, match="cannot be moved out of it"):
            move(store, str(other))
        assert store.audit() == ()
    with filled(tmp_path / "empty.duckdb", n=0) as store:
        move(store, None)
        add(store, 1, values_of(1, PredictionKind.VALUE))
        assert store.predictions_outside is None
        assert store.audit() == ()


@pytest.mark.slow
def test_repair_tries_a_submission_without_leaving_an_object(path: Path) -> None:
    filled(path).close()
    before = objects_in(path.parent)
    shutil.rmtree(before[0].parent)  # it does not read them either
    assert "were not read: run arena audit" in repair(path).sentence
    assert objects_in(path.parent) == []


@pytest.mark.slow
class Bucket:
    """The part of fsspec's interface that is used, with one fault."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.fault: Exception | None = None

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return path.partition("://")[2]

    def pipe_file(self, path: str, content: bytes) -> None:
        self.pipe({path: content})

    def pipe(self, contents: dict[str, bytes]) -> None:
        if self.fault is not None:
            raise self.fault
        self.files |= {self._strip_protocol(path): own for path, own in contents.items()}

    def cat(self, paths: list[str], on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        names = map(self._strip_protocol, paths)
        return {name: self.fault or self.files.get(name, FileNotFoundError(name)) for name in names}

    def ls(self, path: str, detail: bool) -> list[str]:
        assert not detail
        names = [name for name in self.files if name.startswith(f"{self._strip_protocol(path)}/")]
        if not names:
            raise FileNotFoundError(path)
        return names

    def rm(self, paths: list[str]) -> None:
        for path in paths:
            del self.files[self._strip_protocol(path)]


@pytest.mark.slow
def test_a_bucket_keeps_them_and_its_faults_are_sentences(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = Bucket()
    monkeypatch.setattr(object_places, "opened_file_system", lambda root: bucket)
    monkeypatch.setattr(object_places, "READ_TOGETHER", 3)
    with filled(path, "s3://bucket/race/") as store:
        assert all(name.startswith("bucket/race/") for name in bucket.files)
        assert len(bucket.files) == 5  # and the note
        add(store, 5, values_of(1, PredictionKind.VALUE))
        assert len(bucket.files) == 5
        (_, block), *_ = store.predictions([1, 2, 5, 3, 4]).blocks(5)
        np.testing.assert_array_equal(block[0], block[2])
        assert store.audit() == ()
        bucket.fault = OSError("no route to https://me:password@host/x")
        with pytest.raises(StoreError, match=r"cannot be read: OSError .*https://host/x") as caught:
            store.audit()
        assert "password" not in str(caught.value)
        with pytest.raises(StoreError, match="cannot be written"):
            add(store, 6, values_of(6, PredictionKind.VALUE))
        bucket.fault = None
        assert len(store.submissions()) == 5
        extra = f"{str(store.predictions_outside).removeprefix('s3://')}/{'a' * 64}.parquet"
        bucket.files[extra] = b""
        assert store.unused_objects() == ["a" * 64]
        store.remove_unused_objects()
        del bucket.files[next(name for name in bucket.files if name.endswith(".parquet"))]
        assert {sentence.partition(":")[0] for sentence in store.audit()} == {
            "The predictions of submission 1 are missing",
            "The predictions of submission 5 are missing",
        }
        assert "s3://bucket/race/" in store.audit()[0]


@pytest.mark.parametrize("kind", [FolderPlace, RemotePlace])
def test_every_place_keeps_lists_and_removes_objects(tmp_path: Path, kind: Any) -> None:
    root = tmp_path / "disk" / "objects" if kind is FolderPlace else f"memory://{tmp_path.name}"
    contents = [b"", b"one", b"two" * 1000]
    empty, one, two = names = [object_name(content) for content in contents]
    place, other = kind(root, "a" * 8), kind(root, "b" * 8)
    assert list(place.names()) == []
    place.prepare()
    other.put({one: b"one"})
    place.put(dict(zip(names, contents, strict=True)))
    place.put({one: b"one"})
    assert sorted(place.names()) == sorted(names)
    absent = object_name(b"absent")
    names_to_read = [two, absent, one, two, empty] * (READ_TOGETHER // 2)
    assert list(place.get(names_to_read, size=2**20)) == [
        {two: b"two" * 1000, one: b"one", empty: b""}.get(name) for name in names_to_read
    ]
    place.remove([one])
    assert (sorted(place.names()), list(other.names())) == (sorted([empty, two]), [one])
    assert place.path(one).endswith(f"{'a' * 8}/{one}.parquet")
    place.remove([])


@pytest.mark.parametrize(
    ("kind", "n_columns"),
    [(PredictionKind.TEXT, 2), (PredictionKind.VALUE, 3), (PredictionKind.LABEL, 1)],
)
def test_an_object_is_read_as_it_was_written_or_named(
    tmp_path: Path, kind: PredictionKind, n_columns: int
) -> None:
    place = FolderPlace(tmp_path / "objects", "a")
    values = {number: values_of(number, kind, n_columns) for number in (1, 2)}
    contents = {number: object_of(array) for number, array in values.items()}
    names = {number: object_name(content) for number, content in contents.items()}
    place.prepare()
    place.put({names[number]: content for number, content in contents.items()})
    reader = ObjectReader(place, names, CellForm(N_ROWS, n_columns, kind))
    for rows in (None, np.array([4, 2, 9])):
        block = reader.read(np.array([2, 1, 2]), rows)
        expected = [
            values[number] if rows is None else values[number][rows] for number in (2, 1, 2)
        ]
        assert (block.dtype == object) == (kind is PredictionKind.TEXT)
        np.testing.assert_array_equal(block, expected)
    path = Path(place.path(names[1]))
    faults: dict[str, Callable[[], object]] = {
        "were changed or truncated": lambda: path.write_bytes(contents[1][:-1]),
        "are missing: there is no": path.unlink,
        "cannot be read from .*: it is a folder, not a file": path.mkdir,
    }
    for sentence, damage in faults.items():
        damage()
        with pytest.raises(ObjectError, match=sentence):
            reader.read(np.array([1]), None)
    with pytest.raises(ObjectError, match="submission 3 are missing: the database names no object"):
        reader.read(np.array([3]), None)
    with pytest.raises(ObjectError, match=f"not a table of {N_ROWS} rows and {n_columns + 1} col"):
        ObjectReader(place, names, CellForm(N_ROWS, n_columns + 1, kind)).read(np.array([2]), None)


def test_a_folder_is_the_owners_and_nothing_is_written_where_its_mark_is_missing(
    tmp_path: Path,
) -> None:
    place, content = FolderPlace(tmp_path / "disk" / "objects", "a"), b"one"
    name = object_name(content)
    with pytest.raises(StoreError, match="cannot be written: there is no .* Is its disk mounted"):
        place.put({name: content})
    assert not place.root.parent.exists()
    place.prepare()
    place.put({name: content})
    path = Path(place.path(name))
    modes = {stat.S_IMODE(folder.stat().st_mode) for folder in (*path.parents[:3], path)}
    assert modes == {0o700, 0o600}
    path.write_bytes(b"damaged")
    (path.parent / ".part-x").touch()
    (path.parent / "notes.parquet").touch()
    place.put({name: content})
    assert (path.read_bytes(), list(place.names())) == (content, [name])
    place.remove([name])
    assert [file.name for file in path.parent.iterdir()] == ["notes.parquet"]
    path.mkdir()
    ((error,),) = (place.get([name], 1),)
    assert isinstance(error, IsADirectoryError)
    with pytest.raises(StoreError, match="cannot be removed: it is a folder|not permitted"):
        place.remove([name])


def test_a_place_can_be_sent_to_a_worker(tmp_path: Path) -> None:
    for place in (FolderPlace(tmp_path, "x"), RemotePlace("s3://b", "x")):
        assert pickle.loads(pickle.dumps(place)) == place  # noqa: S301 - our own


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "s3://",
        "s3:///folder",
        "s3://me@bucket",
        "s3://me:password@bucket/x",
        "file://me:password@host/x",
        "s3://bucket/x?password=1",
        "s3://bucket/x#password",
        "s3://bucket/../x",
        "s3://bucket/*",
        "https://bucket/password",
        "memory://x",
        "simplecache::s3://bucket",
        "s3://bucket/x::file",
        "S3://bucket",
        "file://host/x",
        "a\nb",
        "s3://[::1/x",
        " ",
        "s3:bucket/x",
        "file:/x",
    ],
)
def test_a_location_that_is_not_one_or_has_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]") as caught:
        check_location(url)
    assert "me:" not in str(caught.value)
    assert "1" not in str(caught.value)
