"""Error messages about files that cannot be read or written: all have the same form."""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arena.config import read_settings
from arena.errors import InputError
from arena.intake.manifest import ordered_by_manifest
from arena.report.heading import picture_of
from arena.runner.server import RunnerKey
from arena.simulation.data_file import read_frame
from arena.utils.file_errors import reason_of, unreadable
from arena.utils.tabular import read_csv
from arena_bayes_error.label_file import read_label_file
from arena_competitors.lightgbm.grid import read_grid
from arena_readers.files import read_json
from arena_sota.board_file import read_numbers

ROOT = Path(__file__).parents[2]

READERS: dict[str, Callable[[Path], Any]] = {
    "settings.toml": read_settings,
    "labels.csv": read_label_file,
    "grid.toml": read_grid,
    "values.json": read_json,
    "scores.txt": read_numbers,
    "manifest.csv": lambda path: ordered_by_manifest([], path, datetime.now(UTC)),
    "logo.png": picture_of,
    "runner.json": RunnerKey.read,
    "frame.csv": read_frame,
    "board.csv": read_csv,
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_says_that_a_path_is_a_folder_in_the_same_words(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.mkdir()
    with pytest.raises(InputError) as error:
        READERS[name](path)
    assert str(error.value) == f"{path} cannot be read: it is a folder, not a file."


@pytest.mark.parametrize("name", sorted({*READERS} - {"settings.toml"}))
def test_every_reader_says_that_there_is_no_file_in_the_same_words(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    with pytest.raises(InputError) as error:
        READERS[name](path)
    assert str(error.value) == f"{path} cannot be read: there is no such file or folder."


def test_a_reason_is_the_end_of_a_sentence() -> None:
    def of_system(number: int) -> OSError:
        return OSError(number, os.strerror(number), "a/path")

    reasons = {
        of_system(errno.ENOENT): "there is no such file or folder",
        of_system(errno.EISDIR): "it is a folder, not a file",
        of_system(errno.ENOTDIR): "a part of the path is not a folder",
        of_system(errno.ELOOP): "it is a link to itself",
        of_system(errno.ENAMETOOLONG): "the name is too long",
        of_system(errno.EACCES): "permission denied",
        OSError("A bucket answers 503."): "A bucket answers 503",
        OSError(): "OSError",
        ValueError("line 1\n  line 2"): "line 1 line 2",
        ValueError("x" * 200): "x" * 200,
        ValueError("x" * 201): "x" * 199 + "…",
        ValueError("\x1b[31mred"): "\\x1b[31mred",
        UnicodeDecodeError("utf-8", b"id\xff", 2, 3, "invalid"): "it is not UTF-8 text (byte 3)",
    }
    assert [reason_of(error) for error in reasons] == list(reasons.values())
    assert str(unreadable("a\x1b", "two\nlines.")) == "a\\x1b cannot be read: two lines."


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            '"x" y,1',
            "text follows a closing quotation mark in line 3: double each one that is part of a "
            "text",
        ),
        ('"x,1', "a quotation mark is opened and never closed: close or remove it"),
    ],
)
def test_a_misplaced_quotation_mark_is_refused_where_it_is(
    tmp_path: Path, row: str, reason: str
) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(f'file,received\n"a ""b""",1\n{row}\n')
    for reader in ("manifest.csv", "board.csv"):
        with pytest.raises(InputError) as refused:
            READERS[reader](path)
        assert str(refused.value) == f"{path} cannot be read: {reason}."


@pytest.mark.slow
def test_no_message_quotes_an_error_of_a_file_itself() -> None:
    is_about_a_file = re.compile(r"cannot be (read|written|made|listed|unpacked)\b")
    quotes_an_error = re.compile(r"\{(str\()?error(\.strerror)?\b")
    messages = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", ast.unparse(node))
        for folder in ("arena", "plugins")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if is_about_a_file.search(text := path.read_text("utf-8")) and quotes_an_error.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.JoinedStr)
    ]
    quoting = [
        place
        for place, message in messages
        if is_about_a_file.search(message) and quotes_an_error.search(message)
    ]
    assert messages
    assert not quoting
