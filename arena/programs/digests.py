"""The digest of a folder, by which two machines can compare their files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from arena.errors import InputError
from arena.utils.file_errors import unreadable


def digest_of_folder(folder: Path, *, counts: Callable[[Path], bool] = lambda _: True) -> str:
    """Return ``sha256:…`` of the names and contents of all files, links as such.

    Times, owners and rights do not count.

    Parameters
    ----------
    counts
        Whether a path counts, relative to the folder; a folder that does not is left out.

    Raises
    ------
    InputError
        If it is no folder, or holds something else than files, folders and links, or a file
        cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest_of_folder(Path(folder))[:15]
    'sha256:e3b0c442'
    """
    digest = hashlib.sha256()
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.")
    try:
        for path in _files(folder, Path(), counts):
            full_path = folder / path
            if full_path.is_symlink():
                content = hashlib.sha256(b"link " + bytes(full_path.readlink()))
            elif not full_path.is_file():  # by which a program could reach others, or be reached
                raise InputError(f"{full_path} is a pipe, socket or device: remove it.")
            else:
                with full_path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256")
            name = bytes(path)
            digest.update(len(name).to_bytes(8, "big") + name + content.digest())
    except OSError as error:
        raise unreadable(error.filename, error) from error
    return f"sha256:{digest.hexdigest()}"


def _files(root: Path, inner: Path, counts: Callable[[Path], bool]) -> Iterator[Path]:
    for path in sorted((root / inner).iterdir(), key=lambda path: bytes(Path(path.name))):
        relative = inner / path.name
        if not counts(relative):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(root, relative, counts)
        else:
            yield relative
