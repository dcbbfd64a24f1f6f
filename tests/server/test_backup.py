"""A copy of a competition: what is in it, who can read it, and what cannot be copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.config import UNFINISHED_NAME
from arena.errors import InputError
from arena.server.backup import BACKUP_NOTE, backup
from arena.server.records.layout import Layout


def test_a_copy_has_the_folder_and_the_whole_uploads(tmp_path: Path, layout: Layout) -> None:
    folder = tmp_path / "race"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "overview.md").write_text("Hello.")
    layout.intake.touch()
    (layout.uploads / "whole").write_bytes(b"12345")
    (layout.uploads / "begun.part").touch()
    (layout.uploads / "link").symlink_to("nowhere")
    (folder / ".served.json").touch()
    target = tmp_path / "copy"
    count = backup(folder, layout, target=target)
    files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert files == {
        "pages/overview.md", "server/intake/intake.sqlite", "server/intake/uploads/whole",
    }  # fmt: skip
    assert count == sum((target / file).stat().st_size for file in files)
    assert target.stat().st_mode & 0o777 == 0o700
    assert (target / "server/intake/uploads/link").is_symlink()
    assert (folder / BACKUP_NOTE).exists()
    for place, reason in ((target, "exists: name a new folder"), (folder / "x", "is inside the")):
        with pytest.raises(InputError, match=reason):
            backup(folder, layout, target=place)


def test_files_that_cannot_be_copied_are_counted(tmp_path: Path, layout: Layout) -> None:
    folder = tmp_path / "race"
    folder.mkdir()
    for number, others in enumerate(("", " and 1 more file", " and 2 more files")):
        (folder / f"{number}").symlink_to("nowhere")
        with pytest.raises(InputError) as refusal:
            backup(folder, layout, target=tmp_path / "copy")
        first, _, reason = str(refusal.value).partition(f"{others} cannot be copied: ")
        assert Path(first).parent == folder
        assert reason == "there is no such file or folder. There is no copy."
        assert not (tmp_path / "copy").exists()


def test_a_copy_lacks_the_records_in_the_folder_and_unfinished_work(tmp_path: Path) -> None:
    folder, target = tmp_path / "race", tmp_path / "copy"
    layout = Layout(folder / "records")
    layout.create()
    for name in ("rules.md", UNFINISHED_NAME, BACKUP_NOTE, f"pages/{UNFINISHED_NAME}"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("abc")
    assert backup(folder, layout, target=target) == 6
    assert sorted(path.name for path in target.iterdir()) == ["pages", "rules.md"]
    assert (target / "pages" / UNFINISHED_NAME).exists()
