"""Digests of everything that the result of a task depends on: values, code and versions.

An input that cannot be compared has no digest, and what depends on it is not kept. A digest may
differ for equal inputs, which costs time; equal digests of different inputs would be a wrong
result.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import types
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.utils.distribution import DISTRIBUTION

_MOST_MODULES = 300
"""A package of more modules is known by its version, if it has one and is not a part of arena;
without one, by the sizes and times of its files."""
MOST_FILES = 10_000
"""If there are more in the folder of a metric, with folders, nothing is kept: to compare them would
take too long."""
_MOST_BYTES = 2**16
"""Of a file that is compared by its content; a larger one is by its size and time of change."""
_WRITTEN = re.compile(r"\.duckdb|\.tasks$|^[0-9a-f]{64}\.parquet$")
"""Databases, finished tasks and predictions outside a database: arena writes them as it works."""
_VERSIONS_OF = (
    DISTRIBUTION,
    "lightgbm",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "scipy",
)


class _NotComparableError(Exception):
    """An input has no digest."""


def digest_of(*objects: Any) -> str | None:
    """Return a digest of objects with their code, or None if they cannot be compared.

    It holds the values of the objects, as pickled; the code of the packages of their classes and
    functions, and of what these import; the files and folders that the objects name; and the
    versions of arena, of the libraries that compute and of Python.

    >>> digest_of("seed", 1) == digest_of("seed", 1) != digest_of("seed", 2)
    True
    >>> digest_of(lambda: 1) is None
    True
    """
    import platform

    hasher = _hasher()
    try:
        whole = hashlib.sha256(hasher.hash(objects).encode())
        for name in outermost_packages(hasher.modules):
            whole.update(code_of(name).encode())
        whole.update(_files_at(sorted(hasher.paths)).encode())
    # What pickle raises depends on the object.
    except Exception:  # noqa: BLE001 - then nothing is kept
        return None
    whole.update(repr((versions_of_code(), sys.version, platform.machine())).encode())
    return whole.hexdigest()


def array_digest(array: npt.NDArray[Any]) -> str:
    """Return a digest of the cells, their type and the shape of an array of numbers or texts.

    >>> array_digest(np.array(["ab", "c"], object)) == array_digest(np.array(["a", "bc"], object))
    False
    """
    digest = hashlib.sha256(repr((array.dtype.str, array.shape)).encode())
    if not array.dtype.hasobject:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()
    cells = array.reshape(-1).tolist()
    if all(type(cell) is str for cell in cells):
        lengths = np.fromiter(map(len, cells), dtype=np.int64, count=len(cells))
        digest.update(lengths.data)
        digest.update("".join(cells).encode("utf-8", "surrogatepass"))
    else:
        digest.update(_hasher().hash(cells).encode())
    return digest.hexdigest()


def _hasher() -> Any:
    """Return joblib's hasher of any objects, which also notes classes and paths."""
    from joblib.hashing import NumpyHasher

    class Hasher(NumpyHasher):  # type: ignore[misc]
        def __init__(self) -> None:
            # joblib.hash knows MD5 and SHA-1, for which there are collisions.
            super().__init__(hash_name="sha256", coerce_mmap=True)
            self.modules: set[str] = set()
            self.paths: set[Path] = set()

        def save(self, obj: Any) -> None:
            if isinstance(obj, type):
                self.modules |= {base.__module__ for base in obj.__mro__}
            elif isinstance(obj, types.FunctionType | types.BuiltinFunctionType):
                self.modules.add(obj.__module__ or "")
            elif isinstance(obj, types.MethodType):
                self.modules.add(obj.__func__.__module__)
            elif isinstance(obj, PurePath):
                self.paths.add(Path(obj))
            super().save(obj)

    return Hasher()


@functools.cache
def versions_of_code() -> tuple[tuple[str, str], ...]:
    """Return the versions of the packages on which the result of a task depends."""
    versions = []
    for name in _VERSIONS_OF:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append((name, metadata.version(name)))
    return tuple(versions)


def outermost_packages(modules: set[str]) -> list[str]:
    """Return the outermost packages of modules, and of what their modules have imported.

    Not of what arena has: some of it is imported only when it is needed, such as the display of
    progress, and the libraries with which arena computes are known by their versions.
    """
    waiting = {name.partition(".")[0] for name in modules} | {"arena"}
    packages: set[str] = set()
    while waiting:
        name = waiting.pop()
        if not name or name in packages or (name in sys.stdlib_module_names and name != "__main__"):
            continue
        packages.add(name)
        if name == "arena" or _is_known_by_version(name):
            continue
        for loaded, module in list(sys.modules.items()):
            if loaded.partition(".")[0] == name:
                waiting |= _imported_by(module)
    return sorted(packages)


def _imported_by(module: types.ModuleType) -> set[str]:
    names = set()
    for value in list(getattr(module, "__dict__", {}).values()):
        if isinstance(value, types.ModuleType):
            names.add(value.__name__)
        elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            names.add(value.__module__ or "")
    return {name.partition(".")[0] for name in names if isinstance(name, str)}


def _own_files(name: str) -> Iterator[Path]:
    """Yield the modules of a package, or the file of a module, in no order."""
    module = sys.modules.get(name)
    places = list(getattr(module, "__path__", ()))
    if places:
        kinds = {".py", ".so", ".pyd"}
        files = (file for place in places for file in Path(place).rglob("*"))
        yield from (file for file in files if file.suffix in kinds)
        return
    file = getattr(module, "__file__", None)
    if file:
        yield Path(file)


@functools.cache
def _is_known_by_version(name: str) -> bool:
    if name.partition("_")[0] == "arena":
        return False
    # Not a list: scipy has 2,000 modules.
    return any(True for _ in islice(_own_files(name), _MOST_MODULES, None))


@functools.cache
def code_of(name: str) -> str:
    """Return a text that changes with the code of a package."""
    if _is_known_by_version(name):
        version = getattr(sys.modules[name], "__version__", None)
        if version is not None:
            return repr((name, str(version)))
        about = [(str(file), file.stat()) for file in sorted(_own_files(name))]
        return repr((name, [(file, status.st_size, status.st_mtime_ns) for file, status in about]))
    files = sorted(_own_files(name))
    if name == "__main__" and not files:
        raise _NotComparableError(name)
    return repr((name, [(str(file), _content_of(file)) for file in files]))


def _files_at(paths: Sequence[Path]) -> str:
    """Return a text that changes with these files, and with the files of these folders."""
    files = [file for path in paths for file in (walk_files(path) if path.is_dir() else [path])]
    digests = {str(file): _content_of(file) if file.exists() else None for file in files}
    return repr((list(map(str, paths)), sorted(digests.items())))


def walk_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder.

    Left out are hidden files, those that arena writes while it works, and those to which this
    command prints.
    """
    printed, count = _printed_to(), 0
    for place, folders, files in os.walk(folder, followlinks=True):
        left_out = {"__pycache__", *(["server"] if "arena.duckdb" in files else [])}
        folders[:] = [
            folder for folder in folders if not folder.startswith(".") and folder not in left_out
        ]
        for name in files:
            file = Path(place, name)
            if name.startswith(".") or _WRITTEN.search(name):
                continue
            try:
                about = file.stat()
            except OSError as error:
                if file.is_symlink():
                    continue  # to nothing
                raise _NotComparableError(file) from error
            if (about.st_dev, about.st_ino) in printed or not stat.S_ISREG(about.st_mode):
                continue
            count += 1
            yield file
        count += 1
        if count > MOST_FILES:
            raise _NotComparableError(folder)


def _printed_to() -> set[tuple[int, int]]:
    files = set()
    for number in (1, 2):
        with contextlib.suppress(OSError):
            about = os.fstat(number)
            files.add((about.st_dev, about.st_ino))
    return files


def _content_of(file: Path) -> str:
    try:
        about = file.stat()
        if file.suffix == ".py" or about.st_size <= _MOST_BYTES:
            return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise _NotComparableError(file) from error
    return f"{about.st_size} {about.st_mtime_ns}"
