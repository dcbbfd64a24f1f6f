"""Places for immutable objects that are named by the digest of their content.

An object is durable when ``put`` returns, and none is ever incomplete under its name: a file is
written and synced under another name first, and a bucket stores a whole object or nothing. Reading
does not check the content; :mod:`arena.store.prediction_objects` does.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from arena.errors import StoreError
from arena.utils.distribution import how_to_install
from arena.utils.file_errors import reason_of
from arena.utils.locations import folder_of

_SUFFIX = ".parquet"
_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".part-"
_MARKER = "README.txt"
_MARKED = (
    b"Predictions of competitions of arena: a folder for each database, and in it a Parquet file\n"
    b"for each content, named by its SHA-256. Do not change them: arena audit would name it.\n"
)
READ_TOGETHER = 64
"""The most objects that are requested from a bucket at the same time."""
_USERINFO = re.compile(r"//[^/@\s]*@")


def object_name(content: bytes | memoryview) -> str:
    """Return the name of an object: the SHA-256 of its content.

    >>> object_name(b"")[:8]
    'e3b0c442'
    """
    return sha256(content).hexdigest()


class ObjectPlace(Protocol):
    """A place for objects."""

    @property
    def url(self) -> str:
        """What messages call it."""

    def path(self, name: str) -> str:
        """Return what messages call an object."""

    def prepare(self) -> None:
        """Check that objects can be written: write a note on what the place holds.

        Raises
        ------
        StoreError
            If that fails.
        """

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects by name; one that is there already is not stored twice.

        Raises
        ------
        StoreError
            If one of them could not be stored; others may have been.
        """

    def get(self, names: Sequence[str], size: int) -> Iterator[bytes | OSError | None]:
        """Yield the content of objects, in order; None: there is no such object.

        An error: this object alone cannot be read.

        ``size`` is about the bytes of one; 64 MB of them are requested at the same time.

        Raises
        ------
        StoreError
            If the place does not answer, or refuses.
        """

    def names(self) -> Iterator[str]:
        """Yield the names of all objects, in no order."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects, and what interrupted writes have left."""


def place_at(url: str, home: Path, identity: str) -> ObjectPlace:
    """Return the place of one database's objects at a location that was checked.

    Parameters
    ----------
    home
        The folder of the database, which a relative folder is relative to.
    identity
        Of the database: its objects are in a folder of this name, so that databases can share a
        location, and none removes the objects of another.
    """
    folder = folder_of(url, home)
    if folder is not None:
        return FolderPlace(folder, identity)
    return RemotePlace(url.rstrip("/"), identity)


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder; created if missing, with access for its owner only."""

    root: Path
    identity: str

    @property
    def url(self) -> str:
        """The path of the folder."""
        return str(self._folder)

    @property
    def _folder(self) -> Path:
        return self.root / self.identity

    def prepare(self) -> None:
        """Create the folder and write a note on what it holds."""
        with self._explaining("written"):
            self._make(self.root)
            if not (self.root / _MARKER).exists():
                self._write(self.root, _MARKER, _MARKED)

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return str(self._path(name))

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write files, each under another name first, and sync them and their names to disk."""
        with self._explaining("written"):
            if not self._folder.is_dir():
                if not (self.root / _MARKER).exists():
                    # Perhaps a disk that is not mounted: a new folder would be hidden below it.
                    raise StoreError(
                        f"Predictions in '{self.url}' cannot be written: there is no "
                        f"'{self.root / _MARKER}', which marks the place. Is its disk mounted?"
                    )
                self._make(self._folder)
            for name, content in objects.items():
                path = self._path(name)
                # A damaged one is replaced: the name says what it must hold.
                if not (path.exists() and object_name(path.read_bytes()) == name):
                    self._write(self._folder, path.name, content)
            _sync(self._folder)

    def get(
        self,
        names: Sequence[str],
        size: int,  # noqa: ARG002
    ) -> Iterator[bytes | OSError | None]:
        """Read one file after another."""
        for name in names:
            content: bytes | OSError | None
            try:
                content = self._path(name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                content = None
            except OSError as error:  # such as a damaged sector of the disk
                content = error
            yield content

    def names(self) -> Iterator[str]:
        """List the folder."""
        with self._explaining("listed"):
            if not self._folder.is_dir():
                return
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(_SUFFIX)
                    if _NAME.fullmatch(name) and name != entry.name:
                        yield name

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""
        with self._explaining("removed"):
            unfinished = [*self._folder.glob(f"{_UNFINISHED}*")] if self._folder.is_dir() else []
            for path in (*map(self._path, names), *unfinished):
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

    @staticmethod
    def _make(folder: Path) -> None:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):  # not at once: the mode of parents would be another
            path.mkdir(mode=0o700, exist_ok=True)
            _sync(path.parent)

    @staticmethod
    def _write(folder: Path, name: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=_UNFINISHED, delete=False) as file:
            temporary = Path(file.name)  # mode 0600
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(folder / name)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise

    @contextlib.contextmanager
    def _explaining(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = reason_of(error)
            raise StoreError(f"Predictions in '{self.url}' cannot be {what}: {reason}.") from error


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A bucket, or a folder in one, that fsspec can open with credentials of the environment."""

    root: str
    identity: str

    @property
    def url(self) -> str:
        """The URL of the objects."""
        return f"{self.root}/{self.identity}"

    def prepare(self) -> None:
        """Write a note on what the place holds."""
        with self._explaining("written") as files:
            files.pipe_file(f"{self.root}/{_MARKER}", _MARKED)

    def path(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self.url}/{name}{_SUFFIX}"

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects, several at the same time; the same one again replaces itself."""
        with self._explaining("written") as files:
            files.pipe({self.path(name): content for name, content in objects.items()})

    def get(self, names: Sequence[str], size: int) -> Iterator[bytes | OSError | None]:
        """Request several objects at the same time."""
        together = max(1, min(READ_TOGETHER, 2**26 // max(1, size)))
        for start in range(0, len(names), together):
            paths = [self.path(name) for name in names[start : start + together]]
            with self._explaining("read") as files:
                content_of_path = files.cat(list(dict.fromkeys(paths)), on_error="return")
                contents = [content_of_path[files._strip_protocol(path)] for path in paths]
            for path, content in zip(paths, contents, strict=True):
                if isinstance(content, Exception) and not isinstance(content, FileNotFoundError):
                    # The others are not tried: each would wait as long for a network that is down.
                    raise self._fault("read", content, path) from content
            for content in contents:
                yield content if isinstance(content, bytes) else None

    def names(self) -> Iterator[str]:
        """List the objects."""
        with self._explaining("listed") as files:
            try:
                paths = files.ls(self.url, detail=False)
            except FileNotFoundError:
                return
        for path in paths:
            file_name = str(path).rsplit("/", 1)[-1]
            name = file_name.removesuffix(_SUFFIX)
            if _NAME.fullmatch(name) and name != file_name:
                yield name

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects."""
        if names:
            with self._explaining("removed") as files:
                files.rm([self.path(name) for name in names])

    @contextlib.contextmanager
    def _explaining(self, what: str) -> Iterator[Any]:
        try:
            yield opened_file_system(self.root)
        except StoreError:
            raise
        except Exception as error:
            raise self._fault(what, error, self.url) from error

    @staticmethod
    def _fault(what: str, error: Exception, where: str) -> StoreError:
        first = (str(error).splitlines() or [""])[0].rstrip(".")
        reason = _USERINFO.sub("//", first)
        return StoreError(
            f"Predictions at {where} cannot be {what}: {type(error).__name__}"
            f"{f' ({reason})' if reason else ''}. Check the URL, the network, and the credentials "
            "in the environment."
        )


@lru_cache
def opened_file_system(root: str) -> Any:
    """Return the file system of a URL."""
    scheme = root.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        # A listing that is cached would hide what another process wrote.
        files, _ = url_to_fs(root, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        command = "pip install gcsfs" if scheme == "gs" else how_to_install("objects")
        raise StoreError(
            f"Predictions at {scheme}:// need a package that is not installed: {command}."
        ) from error
    return files


def _sync(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
