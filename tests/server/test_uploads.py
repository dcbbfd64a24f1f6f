"""Files that arrive: no other file is written, and none is larger than allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.server.records import uploads
from arena.server.records.uploads import Uploads, UploadTooLargeError


def test_an_upload_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    folder = Uploads(tmp_path)
    stored = folder.put([b"123", b"45"], max_bytes=5)
    assert (stored.bytes, folder.path(stored.name).stat().st_mode & 0o777) == (5, 0o640)
    with pytest.raises(UploadTooLargeError, match="^The file has more than 5 bytes, which is the"):
        folder.put([b"123", b"456"], max_bytes=5)
    assert [path.name for path in tmp_path.iterdir()] == [stored.name]


def test_a_file_with_the_name_of_an_upload_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "new_id", lambda: "name")
    (tmp_path / "name.part").write_bytes(b"other")
    with pytest.raises(FileExistsError):
        Uploads(tmp_path).begin(5)
    assert (tmp_path / "name.part").read_bytes() == b"other"


def test_uploads_that_no_request_names_are_counted_and_removed(tmp_path: Path) -> None:
    folder = Uploads(tmp_path)
    for name in ("kept", "a", "b", "c.part"):
        (tmp_path / name).touch()
    assert folder.unnamed({"kept"}) == 2
    assert folder.sweep({"kept"}, complete=False) == 1
    assert folder.sweep({"kept"}) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_links_and_folders_are_no_uploads(tmp_path: Path) -> None:
    folder = Uploads(tmp_path / "uploads")
    folder.folder.mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (folder.folder / "link").symlink_to(secret)
    (folder.folder / "folder").mkdir()
    (folder.folder / "file").write_bytes(b"id")
    with folder.opened(["link", "folder", "file", "none", "../secret"]) as paths:
        assert paths.keys() == {"file"}
        (folder.folder / "file").rename(folder.folder / "moved")
        (folder.folder / "file").write_bytes(b"other")
        assert paths["file"].read_bytes() == b"id"
