"""Files and folders to teams."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.errors import InputError
from arena.intake import SubmissionFile, find_submissions
from arena.interfaces.faults import show


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _teams(files: tuple[SubmissionFile, ...]) -> list[tuple[str, str]]:
    return [(file.team, file.name) for file in files]


def test_team_is_the_first_part_of_the_path_or_the_stem(tmp_path: Path) -> None:
    _touch(tmp_path, "a.csv", "b.csv.gz", "c.parquet", "d/x/y.csv", "v1.2.csv", "e.xyz")
    assert _teams(find_submissions([tmp_path])) == [
        ("a", "a.csv"),
        ("b", "b.csv.gz"),
        ("c", "c.parquet"),
        ("d", "d/x/y.csv"),
        ("e", "e.xyz"),
        ("v1.2", "v1.2.csv"),
    ]


def test_files_can_be_named_one_by_one(tmp_path: Path) -> None:
    _touch(tmp_path, "sub/a.csv", "b.csv")
    files = find_submissions([tmp_path / "sub" / "a.csv", tmp_path / "b.csv"])
    assert _teams(files) == [("a", "a.csv"), ("b", "b.csv")]


def test_litter_and_the_sample_are_passed_over(tmp_path: Path) -> None:
    _touch(tmp_path, ".hidden.csv", ".git/config", "Thumbs.db", "__MACOSX/a.csv", "~$a.csv")
    _touch(tmp_path, "sample_submission.csv", "a.csv", "t/sample_submission.csv")
    assert [file.name for file in find_submissions([tmp_path])] == [
        "a.csv",
        "t/sample_submission.csv",
    ]


def test_names_that_differ_in_form_only_are_one_team(tmp_path: Path) -> None:
    _touch(tmp_path, "e\u0301quipe/1.csv", "\u00e9quipe/2.csv", " \u00e9quipe .csv")
    files = find_submissions([tmp_path])
    assert {file.team for file in files} == {"\u00e9quipe"}


@pytest.mark.parametrize(
    ("name", "said", "shown"),
    [
        ("x" * 101 + ".csv", "101 characters", "x" * 99 + "…"),
        ("a\nb.csv", "control characters", "a\\nb"),
        ("a\x1b[2J.csv", "control characters", "a\\x1b[2J"),
        (" .csv", "empty", "(no name)"),
        (os.fsdecode(b"\xff\xfe.csv"), "control characters", "\\udcff\\udcfe"),
    ],
    ids=["long", "newline", "escape", "empty", "no-utf8"],
)
def test_impossible_team_is_a_fault(tmp_path: Path, name: str, said: str, shown: str) -> None:
    try:
        _touch(tmp_path, name)
    except OSError:
        pytest.skip("this file system refuses the name itself")
    (file,) = find_submissions([tmp_path])
    assert said in file.faults[0].message
    assert file.team == shown
    for text in (file.team, file.name, file.faults[0].message):
        assert text.isprintable()
        text.encode()


def test_emoji_and_markup_are_names(tmp_path: Path) -> None:
    _touch(tmp_path, "\U0001f680" * 40 + ".csv", "<b>x.csv", "=1+1.csv")
    assert all(not file.faults for file in find_submissions([tmp_path]))


def test_links_out_of_the_folder_are_faults(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    _touch(tmp_path, "secret.csv", "folder/a/real.csv", "elsewhere/b.csv")
    (folder / "inside.csv").symlink_to(folder / "a" / "real.csv")
    (folder / "outside.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "nowhere.csv").symlink_to(tmp_path / "nothing.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    files = {file.name: file for file in find_submissions([folder])}
    assert set(files) == {
        "a/real.csv", "inside.csv", "linked", "loop.csv", "nowhere.csv", "outside.csv"
    }  # fmt: skip
    assert {name for name, file in files.items() if not file.faults} == {"a/real.csv", "inside.csv"}
    # A link that is named itself, and not found in a folder, is read.
    (named,) = find_submissions([folder / "outside.csv"])
    assert (named.team, named.faults) == ("outside", ())


def test_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        find_submissions([tmp_path / "nothing"])
    assert find_submissions([tmp_path]) == ()


def test_documents_are_not_teams(tmp_path: Path) -> None:
    _touch(tmp_path, "README", "readme.md", "notes.txt", "LICENSE", "t/README.md")
    _touch(tmp_path, "notes.csv", "readme/1.csv", "mynotes.txt")
    assert _teams(find_submissions([tmp_path])) == [
        ("mynotes", "mynotes.txt"),
        ("notes", "notes.csv"),
        ("readme", "readme/1.csv"),
    ]


def test_a_folder_that_cannot_be_listed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk(folder: Path, onerror: Any) -> Iterator[Any]:
        onerror(PermissionError(13, "Permission denied", str(folder / "a")))
        yield from ()

    monkeypatch.setattr(os, "walk", walk)
    with pytest.raises(InputError) as refused:
        find_submissions([tmp_path])
    assert str(refused.value) == (
        f"The folder {show(str(tmp_path / 'a'))} cannot be listed (permission denied)."
    )
