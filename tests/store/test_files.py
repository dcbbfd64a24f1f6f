"""The file itself: who may read it, who holds it, what it is not, and what a kill leaves of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from arena.errors import DamagedLogError, StoreBusyError, StoreError, StoreFormatError
from arena.store import SCHEMA_VERSION, Store
from arena.store.errors import translate_error
from arena.store.locks import owner_only
from program import killed_in_the_end

ROOT = Path(__file__).parents[2]


def _python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_only_the_owner_can_read_it_and_its_log(store: Store, database: Path) -> None:
    store.add_submission("a", "f", "s", np.zeros((5, 3)))
    files = sorted(database.parent.iterdir())
    assert [file.name for file in files] == [
        f"{database.name}{end}" for end in ("", ".journal", ".wal")
    ]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_umask_is_narrow_while_anyone_needs_it_and_then_as_before() -> None:
    before = os.umask(0o022)
    first, second = owner_only(), owner_only()
    try:
        masks = []
        for step in (first.__enter__, second.__enter__):
            step()
            masks.append(_umask())
        for holder in (first, second):
            holder.__exit__(None, None, None)
            masks.append(_umask())
    finally:
        os.umask(before)
    assert masks == [0o077, 0o077, 0o077, 0o022]


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_temporary_store_is_gone_when_closed() -> None:
    with Store.open() as store:
        folder = store.path.parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert store.path.exists()
    assert not folder.exists()
    store.close()


def test_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.submissions()


def test_a_write_needs_three_times_its_size_and_64_mb_of_space(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = (64 + 3 * 10) * 2**20
    monkeypatch.setattr(
        "arena.store.database.shutil.disk_usage", lambda _: SimpleNamespace(free=free)
    )
    store.database.require_space(10 * 2**20)
    with pytest.raises(StoreError, match="94 MB are free, and 97 MB are needed. Nothing was writ"):
        store.database.require_space(11 * 2**20)
    free -= 1
    with pytest.raises(StoreError, match="nearly full: 94 MB are free, and 94 MB are needed"):
        store.database.require_space(10 * 2**20)


def test_a_database_keeps_from_128_mb_to_a_gigabyte_in_memory(store: Store) -> None:
    def limit() -> str:
        with store.database.reading() as cursor:
            ((value,),) = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
        return str(value)

    assert limit() == "953.6 MiB"  # 10**9 bytes
    for size, expected in (
        (1, "122.0 MiB"),  # 128 * 10**6 bytes
        (500 * 10**6, "476.8 MiB"),
        (10**10, "953.6 MiB"),
    ):
        store.database.limit_memory(size)
        assert limit() == expected
    with store.database.reading_once():
        assert limit() == "122.0 MiB"
    assert limit() == "953.6 MiB"
    store.database.return_freed_memory()
    assert limit() == "953.6 MiB"


@pytest.mark.slow
def test_another_process_holds_it(database: Path) -> None:
    code = """
        import sys, pathlib
        from arena.store import Store
        with Store.open(pathlib.Path(sys.argv[1])):
            print("open", flush=True)
            sys.stdin.read()
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with killed_in_the_end(holder):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(
            StoreBusyError, match=rf"PID {holder.pid}\).*try again.*--wait SECONDS"
        ) as caught:
            Store.open(database)
        assert "\n" not in str(caught.value)
        holder.communicate("", timeout=900)
    with Store.open(database) as store:
        assert store.submissions() == ()


def test_what_is_no_database_of_arena_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(foreign)) as connection:
        connection.execute("CREATE TABLE meta (a INTEGER)")
    text = tmp_path / "text.csv"
    text.write_text("id,y\n" + "a,1\n" * 100)
    (tmp_path / "empty.duckdb").touch()
    for name in ("foreign.duckdb", "text.csv", "empty.duckdb"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreFormatError, match="use another file"):
            Store.open(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="There is no folder"):
        Store.open(tmp_path / "no" / "x.duckdb")
    with pytest.raises(StoreError, match="There is no database"):
        Store.open(tmp_path / "x.duckdb", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_database_with_empty_tables_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(str(path)).close()
    with pytest.raises(StoreFormatError, match="not of arena"):
        Store.open(path, create=False)
    with Store.open(path) as store:
        assert store.submissions() == ()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (str(SCHEMA_VERSION + 1), "newer arena .*: upgrade arena"),
        (str(SCHEMA_VERSION - 1), "older arena .*: run `arena upgrade`"),
        ("next", "newer arena"),
    ],
)
def test_other_versions_are_refused(
    store: Store, database: Path, version: str, message: str
) -> None:
    store.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", [version])
    with pytest.raises(StoreFormatError, match=message):
        Store.open(database)


def test_damaged_database_is_refused(store: Store, database: Path) -> None:
    store.close()
    whole = database.read_bytes()
    database.write_bytes(whole[:8192] + bytes(len(whole) - 8192))
    with pytest.raises(StoreError) as caught:
        Store.open(database)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind", "meant"),
    [
        (
            duckdb.IOException('Cannot open file "x": Permission denied'),
            StoreError,
            "permission denied",
        ),
        (
            duckdb.IOException("Could not write file: No space left on device"),
            StoreError,
            "disk is full",
        ),
        (
            duckdb.FatalException("Failed to create checkpoint: Permission Error: x.wal"),
            StoreError,
            r"DuckDB stopped \(Failed to create checkpoint: Permission Error: x.wal\)",
        ),
        (
            duckdb.ConnectionException("another configuration"),
            StoreBusyError,
            "already open in this process",
        ),
        (duckdb.InternalException("metadata pointer"), StoreFormatError, "is damaged"),
        (
            duckdb.IOException('Failure while replaying WAL file "x.wal"'),
            DamagedLogError,
            "write-ahead log",
        ),
        (
            duckdb.IOException("Failure while replaying WAL: No space left on device"),
            StoreError,
            "disk is full",
        ),
        (
            duckdb.IOException("Trying to read a database file with version number 99"),
            StoreFormatError,
            "newer DuckDB",
        ),
        (duckdb.IOException("Something new\nLINE 2"), StoreError, "cannot be used: Something new$"),
    ],
)
def test_an_error_of_duckdb_becomes_a_sentence(
    error: duckdb.Error, kind: type[StoreError], meant: str
) -> None:
    translated = translate_error(error, Path("x.duckdb"))
    assert type(translated) is kind
    with pytest.raises(kind, match=meant):
        raise translated


def flipped(path: Path, *places: int) -> None:
    """Flip the bits of a byte in each place."""
    content = bytearray(path.read_bytes())
    for place in places:
        content[place] ^= 0xFF
    path.write_bytes(content)


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("damage", "kind", "meant"),
    [
        (lambda path: flipped(path, 4096, 8192), StoreFormatError, "is damaged"),
        (lambda path: flipped(path, *range(12_288, 200_000, 999)), StoreFormatError, "is damaged"),
        (lambda path: os.truncate(path, 20_000), StoreFormatError, "is damaged"),
        (lambda path: path.write_bytes(b"text" * 5_000), StoreFormatError, "not a DuckDB database"),
        (lambda path: flipped(log_of(path), 8_000), DamagedLogError, "run `arena repair`"),
        (lambda path: path.chmod(0), StoreError, "permission denied"),
    ],
    ids=["headers", "blocks", "cut", "text", "log", "permission"],
)
def test_what_the_engine_says_of_a_fault_is_understood(
    tmp_path: Path, damage: Callable[[Path], object], kind: type[StoreError], meant: str
) -> None:
    """Its errors have no code, so that another version of DuckDB may say it in other words."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE numbers AS FROM range(20_000)")
        connection.execute("CHECKPOINT; PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("INSERT INTO numbers FROM range(2_000)")
    damage(path)
    if kind is StoreError and os.access(path, os.R_OK):
        pytest.skip("The superuser may read every file.")
    with pytest.raises(duckdb.Error) as caught, duckdb.connect(str(path)) as connection:
        connection.execute("SELECT sum(range) FROM numbers").fetchall()
    translated = translate_error(caught.value, path)
    assert type(translated) is kind, caught.value
    assert meant in str(translated)


FULL_DISK = """
    import pathlib, resource, sys
    import numpy as np
    from arena.errors import StoreError
    from arena.intake import read_solution
    from arena.store import Store
    from arena.types import PredictionKind
    folder = pathlib.Path(sys.argv[1])
    with open(folder / "s.csv", "w") as file:
        file.write("id,y\\n" + "".join(f"{i},{i}\\n" for i in range(20_000)))
    solution = read_solution(folder / "s.csv", kind=PredictionKind.VALUE)
    store = Store.open(folder / "x.duckdb")
    store.put_solution(solution)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 2**20, 4 * 2**20))
    rng = np.random.default_rng(0)
    stored = 0
    try:
        for i in range(500):
            store.add_submission(f"t{i}", "f", "s", rng.random((20_000, 1)))
            stored += 1
    except StoreError as error:
        print(stored, type(error).__name__, error, flush=True)
    import os
    os._exit(0)
"""


@pytest.mark.slow
def test_full_disk_is_said_in_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    with killed_in_the_end(_python(FULL_DISK, tmp_path)) as process:
        output, _ = process.communicate(timeout=900)
    stored, kind, sentence = output.split(" ", 2)
    assert kind == "StoreError"
    assert "Free some space" in sentence
    with Store.open(tmp_path / "x.duckdb") as store:
        numbers = [record.submission for record in store.submissions()]
        assert numbers[: int(stored)] == list(range(1, int(stored) + 1))
        assert sum(len(block) for _, block in store.predictions(numbers).blocks(50)) == len(numbers)
