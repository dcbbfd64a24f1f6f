"""Copies what a competition shows and offers to where the web process can read it."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from arena.server.records.shared_files import SharedFile, SharedFolder
from arena.utils.file_errors import reason_of

_LOGGER = logging.getLogger("arena.server.scorer")
PAGES, FILES = "pages", "files"
"""Folders of the competition."""
_IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif"}
_PAGE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")
_PAGE_BYTES, _IMAGE_BYTES = 2**20, 20 * 2**20
_MOST_PAGES, _MOST_FILES = 50, 5_000
_PART = 2**20
_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class FolderReader:
    """Reads ``pages/`` and ``files/`` of a competition again when something in them changed.

    A file is copied under the digest of its content before it is named, and a copy that is no
    longer named is removed. Links out of the folder, hidden files and what is not a regular file
    are left out: the folder also holds the labels.
    """

    folder: Path
    """The competition's."""
    target: Path
    """Of the copies: :meth:`~arena.server.records.layout.Layout.shared`."""
    secret: str = ""
    """The digest of the solution file, which is never copied."""
    ended: Callable[[], bool] = lambda: False
    """Ends a long copy."""
    _known: dict[Path, tuple[_Stamp, SharedFile]] = field(default_factory=dict)
    _seen: dict[Path, _Stamp] | None = None

    def changed(self) -> SharedFolder | None:
        """Return the content if it differs from that of the last call, else None.

        Raises
        ------
        OSError
            If a copy cannot be written.
        """
        stamps = self._stamps()
        if stamps == self._seen:
            return None
        content = self._read(stamps)
        if self.ended():
            return None
        self._seen = stamps
        return content

    def remove_old_copies(self, current: SharedFolder) -> None:
        """Remove the copies that are no longer named; call it after ``current`` was published."""
        named = {file.sha256 for file in (*current.images, *current.files)}
        if self.target.is_dir():
            for path in self.target.iterdir():
                if path.name not in named:
                    path.unlink(missing_ok=True)

    def _stamps(self) -> dict[Path, _Stamp]:
        stamps: dict[Path, _Stamp] = {}
        for part in (PAGES, FILES):
            for path in _regular_files(self.folder / part):
                try:
                    stat = path.lstat()
                except FileNotFoundError:
                    continue
                stamps[path] = stat.st_size, stat.st_mtime_ns, stat.st_ino
        return stamps

    def _read(self, stamps: dict[Path, _Stamp]) -> SharedFolder:
        pages: list[tuple[str, str]] = []
        images: list[SharedFile] = []
        files: list[SharedFile] = []
        for path, stamp in stamps.items():
            if path.is_relative_to(self.folder / FILES):
                if len(files) < _MOST_FILES and (made := self._copied(path, stamp, FILES)):
                    files.append(made)
            elif path.parent != self.folder / PAGES or not _PAGE_NAME.fullmatch(path.name):
                continue
            elif path.suffix.lower() == ".md":
                text = page_text(path)
                if text is not None and len(pages) < _MOST_PAGES:
                    pages.append((path.stem, text))
            elif (
                path.suffix.lower() in _IMAGES
                and stamp[0] <= _IMAGE_BYTES
                and (made := self._copied(path, stamp, PAGES))
            ):
                images.append(made)
        pages.sort(key=lambda page: (page[0] != "overview", page[0]))
        return SharedFolder(tuple(pages), tuple(images), tuple(files))

    def _copied(self, path: Path, stamp: _Stamp, part: str) -> SharedFile | None:
        copy = self._known.get(path)
        if copy is not None and copy[0] == stamp and copy[1].path(self.target).exists():
            return copy[1]
        name = path.relative_to(self.folder / part).as_posix()
        try:
            size, digest = self._copy(path)
        except (FileNotFoundError, PermissionError) as error:
            _LOGGER.warning("%s is not offered: %s.", path, reason_of(error))
            return None
        if digest == self.secret:
            _LOGGER.warning("%s is not offered: it is the solution.", path)
            (self.target / digest).unlink(missing_ok=True)
            return None
        shared_file = SharedFile(name, size, digest)
        self._known[path] = stamp, shared_file
        return shared_file

    def _copy(self, path: Path) -> tuple[int, str]:
        self.target.mkdir(mode=0o750, exist_ok=True)
        with path.open("rb") as source:
            before = hashlib.file_digest(source, "sha256").hexdigest()
            if before == self.secret or (self.target / before).exists():
                return source.tell(), before
        partial = self.target / ".part"
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as source, partial.open("wb") as copy:
            while (chunk := source.read(_PART)) and not self.ended():
                digest.update(chunk)
                copy.write(chunk)
                size += len(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        partial.chmod(0o640)
        partial.replace(self.target / digest.hexdigest())
        return size, digest.hexdigest()


def _regular_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder by name, without hidden ones, links and special files."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            file_name for file_name in folders if file_name.isprintable() and file_name[0] != "."
        )
        for name in sorted(names):
            path = Path(parent) / name
            is_named = name.isprintable() and not name.startswith(".")
            if is_named and path.is_file() and not path.is_symlink():
                yield path


def page_text(path: Path) -> str | None:
    """Return the beginning of a page; None, with a warning, if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_PAGE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        _LOGGER.warning("%s is not shown: %s.", path, reason_of(error))
        return None
