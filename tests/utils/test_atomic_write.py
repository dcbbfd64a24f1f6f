"""Files and folders that are written on a shared folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.utils.atomic_write import atomic_folder, atomic_write


@pytest.mark.parametrize(("is_done", "is_removed"), [(True, False), (False, False), (False, True)])
def test_a_rename_that_was_done_and_is_not_acknowledged_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_done: bool, is_removed: bool
) -> None:
    replace = Path.replace

    def replace_twice(source: Path, target: Any) -> Path:
        if is_done:
            replace(source, target)
        if is_removed:
            shutil.rmtree(source) if source.is_dir() else source.unlink()
        raise FileNotFoundError(source)

    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", replace_twice)
    failures = []
    try:
        atomic_write(file, b"new")
    except FileNotFoundError as error:
        failures.append(error)
    try:
        with atomic_folder(folder) as partial:
            (partial / "x").touch()
    except FileNotFoundError as error:
        failures.append(error)
    assert len(failures) == (0 if is_done else 2)
    assert file.read_bytes() == (b"new" if is_done else b"old")
    assert [path.name for path in tmp_path.rglob("*")].count("x") == is_done
    assert not list(tmp_path.glob(".arena-*")) + list(tmp_path.glob("*.part"))
