"""Files damaged at random places: a sentence that says what to do, or everything as it was."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from arena.errors import ArenaError, StoreError, StoreFormatError
from arena.store import Store
from arena.store.journal import checked_line
from arena.store.repair import repair
from submit_work import make_solution, submit, values_of

N_ROWS, N_SUBMISSIONS = 300, 6
FILES = {"database": "x.duckdb", "log": "x.duckdb.wal", "journal": "x.duckdb.journal"}
SAYS_WHAT_TO_DO = re.compile(
    r"run `arena (repair|upgrade)`|restore a backup|use another file|upgrade |Free some space|"
    r"permission for ",
    re.IGNORECASE,
)

Damage = Callable[[bytes, int, np.random.Generator], bytes]
DAMAGES: dict[str, Damage] = {
    "flip": lambda c, at, rng: c[:at] + bytes([c[at] ^ int(rng.integers(1, 256))]) + c[at + 1 :],
    "zeros": lambda c, at, rng: (c[:at] + bytes(64) + c[at + 64 :])[: len(c)],
    "junk": lambda c, at, rng: (c[:at] + rng.bytes(16) + c[at + 16 :])[: len(c)],
    "cut": lambda c, at, rng: c[:at],
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a kill leaves it: three submissions in the file, three in its log."""
    folder = tmp_path_factory.mktemp("open")
    path = folder / FILES["database"]
    for half in (0, 1):
        with Store.open(path) as store:
            store.put_solution(make_solution(N_ROWS))
            for number in range(3 * half + 1, 3 * half + 4):
                submit(store, number, values_of(number, N_ROWS))
            if half:
                return Path(shutil.copytree(folder, tmp_path_factory.mktemp("killed") / "x"))
    raise AssertionError


def assert_says_what_to_do(error: ArenaError) -> None:
    assert "\n" not in str(error)
    assert SAYS_WHAT_TO_DO.search(str(error)), error


def assert_names_what_is_damaged(error: StoreFormatError, file: str) -> None:
    """Of the log, what passed its checksums and is missed in the predictions all the same."""
    assert_says_what_to_do(error)
    assert file == "database" or (file == "log" and "The predictions of submission" in str(error))


def is_whole(path: Path) -> bool:
    """Read everything; False if that ends in a sentence. Nothing wrong may be read."""
    try:
        with Store.open(path, create=False) as store:
            records = store.submissions()
            assert store.verify_events() is None
            kept_numbers = [record.submission for record in records if record.status == "accepted"]
            assert [release.submission for release in store.releases()] == kept_numbers
            for _, block in store.predictions(kept_numbers).blocks(9):
                expected = [values_of(number, N_ROWS)[:, 0] for number in kept_numbers]
                np.testing.assert_array_equal(block, expected)
            store.solution()
            return len(records) == N_SUBMISSIONS
    except ArenaError as error:
        assert_says_what_to_do(error)
        return False


@pytest.mark.parametrize(
    "trials",
    [pytest.param(4, marks=pytest.mark.slow), pytest.param(30, marks=pytest.mark.campaign)],
)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", FILES)
def test_damage_anywhere_is_told_or_does_no_harm(
    killed: Path, tmp_path: Path, file: str, damage: str, trials: int
) -> None:
    rng = np.random.default_rng([list(FILES).index(file), list(DAMAGES).index(damage), trials])
    whole = (killed / FILES[file]).read_bytes()
    unharmed = 0
    for trial in range(trials):
        folder = Path(shutil.copytree(killed, tmp_path / f"{trial}"))
        place = int(rng.integers(len(whole)))
        (folder / FILES[file]).write_bytes(DAMAGES[damage](whole, place, rng))
        path = folder / FILES["database"]
        if is_whole(path):
            unharmed += 1
            continue
        try:
            report = repair(path)
        except StoreFormatError as error:
            assert_names_what_is_damaged(error, file)
            continue
        # Closing writes the end of a file that was cut, and that may have been all that it lacked.
        assert report.quarantine is not None or file == "database"
        assert is_whole(path)
    if file == "journal":
        assert unharmed == trials


@pytest.mark.slow
def test_predictions_that_the_log_lost_without_a_word_are_told(
    killed: Path, tmp_path: Path
) -> None:
    """Equal words of the log that turn zero in pairs leave its checksum as it was."""
    whole = (killed / FILES["log"]).read_bytes()
    begin = whole.index(np.full(N_ROWS, 5, dtype=np.int32).tobytes())
    unseen = 0
    for number in range(begin, begin + 8):  # where a word of the checksum begins is not known
        path = Path(shutil.copytree(killed, tmp_path / f"{number}")) / FILES["database"]
        path.with_name(FILES["log"]).write_bytes(whole[:number] + bytes(64) + whole[number + 64 :])
        with contextlib.suppress(ArenaError), Store.open(path, create=False):
            unseen += 1
            shutil.copytree(path.parent, tmp_path / "unseen", dirs_exist_ok=True)
    assert unseen
    with pytest.raises(StoreFormatError, match="predictions of submission 5 in .* are incomplete"):
        repair(tmp_path / "unseen" / FILES["database"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        b"7",
        b"null",
        b"[" * 100_000,
        b'{"submission": 1}',
        b'{"event": "x", "hash": 1}',
        b"\xff\x00",
    ],
)
def test_a_forged_line_of_the_journal_is_not_believed(
    killed: Path, tmp_path: Path, line: bytes
) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    with path.with_name(FILES["journal"]).open("ab") as file:
        file.write(line + b"\n")
    assert is_whole(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"event": "2", "hash": 5},
        {"event": None, "hash": None},
        {"event": 2**80, "hash": "x"},
        {"submission": "a", "team": 5, "file": None, "sha256": [], "status": {}, "received": 1},
        dict.fromkeys(("submission", "team", "file", "sha256", "status", "received"), "x"),
        {"scoring": 5},
        {"scoring": {"team": "a", "file": "f", "sha256": "s", "received": "now", "attempt": "x"}},
    ],
)
def test_a_line_of_the_journal_with_other_types_is_damage_also_if_its_checksum_is_right(
    killed: Path, tmp_path: Path, fields: dict[str, object]
) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    with path.with_name(FILES["journal"]).open("ab") as file:
        file.write(checked_line(fields))
    assert is_whole(path)


def test_a_journal_that_is_a_pipe_is_not_waited_for(killed: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    journal = path.with_name(FILES["journal"])
    journal.unlink()
    os.mkfifo(journal)
    with pytest.raises(StoreError, match="not a regular file"):
        Store.open(path, create=False)


@pytest.mark.slow
def test_one_changed_digit_of_the_journal_is_no_loss(killed: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    journal = path.with_name(FILES["journal"])
    journal.write_bytes(journal.read_bytes().replace(b"0001", b"0009"))
    assert is_whole(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE events", "The table events of the database is missing"),
        ("DROP TABLE meta", "not of arena: use another"),
        ("ALTER TABLE meta RENAME COLUMN name TO title", "not of arena: use another"),
        ("UPDATE meta SET value = 'other' WHERE name = 'application'", "not of arena"),
        ("DELETE FROM meta WHERE name = 'identity'", "not of arena"),
    ],
)
def test_tables_that_another_program_changed_are_told(
    killed: Path, tmp_path: Path, statement: str, said: str
) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    for attempt in (lambda: Store.open(path, create=False).events(), lambda: repair(path)):
        with pytest.raises(StoreFormatError, match=said) as caught:
            attempt()
        assert_says_what_to_do(caught.value)


def test_a_missing_column_that_opening_reads_is_named(killed: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE other AS SELECT * EXCLUDE (sequence) FROM events")
        connection.execute("DROP TABLE events")
        connection.execute("ALTER TABLE other RENAME TO events")
    with pytest.raises(StoreFormatError, match=r"The column events.sequence .* is missing"):
        Store.open(path, create=False)


def test_repair_reads_every_block_before_it_says_that_all_is_whole(
    killed: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(killed, tmp_path / "x")) / FILES["database"]
    Store.open(path).close()
    content = path.read_bytes()
    offset = content.rfind(np.float64(values_of(1, N_ROWS)[0, 0]).tobytes())
    places = [offset] if offset >= 0 else range(len(content) - 4096, 12_288, -65_536)
    sentences = set()
    for place in places:
        path.write_bytes(DAMAGES["zeros"](content, place, np.random.default_rng(0)))
        try:
            sentences.add(repair(path).sentence.split(": ")[-1])
        except StoreFormatError as error:
            assert_says_what_to_do(error)
            sentences.add("damaged")
    assert "damaged" in sentences
