"""A process that is killed while it writes the log to the file loses nothing."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import duckdb
import numpy as np
import pytest

from arena.store import Store
from arena.store import checkpoint as module
from arena.store.checkpoint import checkpoint, rollback_path
from arena.store.database import Database
from submit_work import make_solution, submit, values_of

N_ROWS = 50
BLOCK, BLOCKS_AT = 262_144, 3 * 4096
SHARES = (4096, BLOCK // 2, BLOCK - 4096)
"""How much of a block is written when the process is killed: a kill ends a write between pages."""


def submit_next(store: Store) -> None:
    number = len(store.submissions()) + 1
    submit(store, number, values_of(number, N_ROWS))


def require_sound(path: Path, n_submissions: int) -> None:
    """Fail unless everything is there, and more can be stored."""
    with Store.open(path, read_only=True) as store:
        assert len(store.submissions()) == n_submissions
    with Store.open(path) as store:
        assert store.audit() == ()
        submit_next(store)
    with Store.open(path) as store:
        numbers = [*range(1, n_submissions + 2)]
        assert [submission.submission for submission in store.submissions()] == numbers
        assert store.audit() == ()
        ((_, predictions),) = store.predictions(numbers).blocks(N_ROWS)
        for number, values in zip(numbers, predictions, strict=True):
            assert np.array_equal(values.reshape(-1, 1), values_of(number, N_ROWS))


def test_a_store_that_only_reads_does_not_write_a_log_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "open" / "x.duckdb"
    path.parent.mkdir()
    with Store.open(path) as store:
        store.put_solution(make_solution(N_ROWS))
        crashed = copied(path, tmp_path / "crashed")
    assert crashed.with_name("x.duckdb.wal").stat().st_size > 0
    written: list[Path] = []
    monkeypatch.setattr("arena.store.database.checkpoint", lambda path, *_: written.append(path))
    with Store.open(crashed, read_only=True) as store:
        assert store.solution().n_rows == N_ROWS
    assert written == []  # the folder may be one that cannot be written


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A database before a checkpoint, and just before the checkpoint's new header."""
    path = tmp_path_factory.mktemp("killed") / "after" / "x.duckdb"
    path.parent.mkdir()
    with Store.open(path) as store, store.transaction() as transaction:
        transaction.put_solution(make_solution(N_ROWS))
        transaction.append_event("created", "host", {})
    for _ in range(3):
        with Store.open(path) as store:
            submit_next(store)
    store = Store.open(path)
    submit_next(store)
    before = shutil.copytree(path.parent, path.parent.with_name("before")) / path.name

    def interrupted(path: Path, descriptor: int, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("SET debug_checkpoint_abort = 'after_free_list_write'")
        checkpoint(path, descriptor, connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena.store.database.checkpoint", interrupted)
        store.close()
    return before, path


def copied(path: Path, folder: Path) -> Path:
    return shutil.copytree(path.parent, folder) / path.name


def changed_blocks(before: bytes, after: bytes) -> list[int]:
    """Return where blocks that were there before are different."""
    places = range(BLOCKS_AT, len(before), BLOCK)
    return [
        start for start in places if before[start : start + BLOCK] != after[start : start + BLOCK]
    ]


@pytest.mark.slow
def test_a_kill_between_the_pages_of_a_block_loses_nothing(
    killed: tuple[Path, Path], tmp_path: Path
) -> None:
    before, after = (path.read_bytes() for path in killed)
    saved = module.SavedBlocks.parsed(rollback_path(killed[1]).read_bytes())
    assert saved is not None
    changed = changed_blocks(before, after)
    in_use = [start for start in changed if (start - BLOCKS_AT) // BLOCK in saved.numbers]
    # The header refers to no other block: all of them at once, each at every share of the others.
    torn = [*([start] for start in in_use), [start for start in changed if start not in in_use]]
    refused = 0
    for number, (places, share) in enumerate(itertools.product(torn, SHARES)):
        path = copied(killed[1], tmp_path / str(number))
        with path.open("r+b") as file:
            for start in places:
                file.seek(start + share)
                file.write(before[start + share : start + BLOCK])
        try:
            duckdb.connect(str(path), read_only=True).close()
        except duckdb.Error as error:
            refused += "checksum" in str(error)
        require_sound(path, 4)
    # Otherwise DuckDB does not overwrite blocks in use any more, and no block needs to be saved.
    assert refused


@pytest.mark.slow
def test_blocks_are_put_back_until_the_new_header_is_written(
    killed: tuple[Path, Path], tmp_path: Path
) -> None:
    path = copied(killed[1], tmp_path / "c")
    assert rollback_path(path).exists()
    assert path.with_name(f"{path.name}.wal").exists()
    require_sound(path, 4)
    assert not rollback_path(path).exists()
    # A checkpoint that ended is not undone.
    shutil.copy2(rollback_path(killed[1]), rollback_path(path))
    require_sound(path, 5)


@pytest.mark.slow
def test_blocks_of_a_database_that_was_removed_are_not_put_into_a_new_one(
    killed: tuple[Path, Path], tmp_path: Path
) -> None:
    path = copied(killed[1], tmp_path / "c")
    content = rollback_path(path).read_bytes()
    for file in path.parent.iterdir():
        if file != rollback_path(path):
            file.unlink()
    Store.open(path).close()
    assert not rollback_path(path).exists()
    # Its headers are the same: it was written as often, and has as many blocks.
    headers = path.read_bytes()[4096:BLOCKS_AT]
    start = content.index(killed[0].read_bytes()[4096:BLOCKS_AT])
    same = content[20:start] + headers + content[start + len(headers) :]
    rollback_path(path).write_bytes(content[:16] + zlib.crc32(same).to_bytes(4, "little") + same)
    before = path.read_bytes()
    Store.open(path).close()
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 5_000])
def test_blocks_that_were_not_saved_whole_are_not_put_back(
    killed: tuple[Path, Path], tmp_path: Path, length: int
) -> None:
    path = copied(killed[0], tmp_path / "c")
    rollback_path(path).write_bytes(rollback_path(killed[1]).read_bytes()[:length])
    require_sound(path, 4)


@pytest.mark.slow
def test_without_the_blocks_saved_there_is_no_checkpoint(
    killed: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    path = copied(killed[0], tmp_path / "c")
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(module, "save_blocks", full)
        with Store.open(path) as store:
            submit_next(store)
    assert "Nothing is lost" in caplog.text
    assert path.read_bytes() == content
    require_sound(path, 5)


@pytest.mark.slow
def test_after_an_error_of_duckdb_the_log_is_kept(
    killed: tuple[Path, Path], tmp_path: Path
) -> None:
    """It may wait for ever in a checkpoint, for an index that it could not load."""
    path = copied(killed[0], tmp_path / "c")
    content = path.read_bytes()
    database = Database(path)
    with pytest.raises(duckdb.Error, match="damaged"), database.reading() as cursor:
        cursor.execute("SELECT error('damaged')")
    database.close()
    assert path.read_bytes() == content
    require_sound(path, 4)


SAVED_SIZE = 16
"""Bytes of a block of :func:`small_file`, which no DuckDB reads."""


@pytest.fixture
def small_file(tmp_path: Path) -> tuple[Path, module.SavedBlocks]:
    """A file of headers and five blocks, two of which are saved beside it."""
    path = tmp_path / "x.duckdb"
    content = bytes(np.random.default_rng(1).integers(256, size=BLOCKS_AT + 5 * SAVED_SIZE))
    path.write_bytes(content)
    with path.open("rb") as file:
        saved = module.SavedBlocks.of(file.fileno(), SAVED_SIZE, [3, 1])
    starts = [BLOCKS_AT + SAVED_SIZE * number for number in (3, 1)]
    assert saved.blocks == tuple(content[start : start + SAVED_SIZE] for start in starts)
    module.save_blocks(rollback_path(path), saved)
    return path, saved


@pytest.mark.parametrize("is_read_only", [False, True])
@pytest.mark.parametrize(
    ("changed", "is_put_back"),
    [
        ([BLOCKS_AT + SAVED_SIZE], True),
        ([BLOCKS_AT + 4 * SAVED_SIZE - 1], True),
        ([BLOCKS_AT + SAVED_SIZE, BLOCKS_AT - 1], False),  # a new header: the checkpoint has ended
        ([BLOCKS_AT + 2 * SAVED_SIZE], False),  # of another block
        ([], False),
    ],
)
def test_saved_blocks_are_put_back_if_they_changed_under_the_same_header(
    small_file: tuple[Path, module.SavedBlocks],
    changed: list[int],
    is_put_back: bool,
    is_read_only: bool,
) -> None:
    path, saved = small_file
    assert module.SavedBlocks.parsed(rollback_path(path).read_bytes()) == saved
    before = path.read_bytes()
    content = bytearray(before)
    for place in changed:
        content[place] ^= 1
    path.write_bytes(content)
    module.undo_interrupted_checkpoint(path, read_only=is_read_only)
    assert path.read_bytes() == (before if is_put_back else content)
    assert rollback_path(path).exists() == (is_read_only and not is_put_back)


def test_no_damaged_copy_of_blocks_is_put_back(
    small_file: tuple[Path, module.SavedBlocks],
) -> None:
    path, _ = small_file
    content = rollback_path(path).read_bytes()
    damaged = [content[:length] for length in (0, 10, 19, 20, len(content) - 1)]
    damaged += [content[:place] + b"?" + content[place + 1 :] for place in (0, 17, 30, 500)]
    assert [module.SavedBlocks.parsed(copy) for copy in damaged] == [None] * len(damaged)
    rollback_path(path).write_bytes(damaged[-1])
    path.unlink()
    module.undo_interrupted_checkpoint(path, read_only=True)
    assert rollback_path(path).exists()
    module.undo_interrupted_checkpoint(path)
    assert not rollback_path(path).exists()
    module.undo_interrupted_checkpoint(path)


@pytest.mark.slow
def test_a_second_store_in_a_process_does_not_drop_the_lock(store: Store, database: Path) -> None:
    connect = f"import duckdb; duckdb.connect({str(database)!r})"
    for _ in range(2):
        Store.open(database).close()
        done = subprocess.run(
            [sys.executable, "-c", connect],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert "Could not set lock" in done.stderr
