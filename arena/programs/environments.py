"""Environments: the libraries, or the whole system, that programs of participants find.

An environment is a folder with ``environment.json`` and what it consists of::

    packages/     installed from a requirements file; the program runs with the machine's Python
    root/         a whole system, from an image
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.errors import InputError
from arena.interfaces import Box
from arena.programs.digests import digest_of_folder
from arena.utils.atomic_write import atomic_write
from arena.utils.text import printable

_FILE = "environment.json"
_SYSTEM = Path("/usr")
_NOT_COUNTED = {"__pycache__", "RECORD", "direct_url.json"}


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment on this machine."""

    folder: Path
    digest: str
    """``sha256:…`` of its files and of the version of its Python."""
    folders: Mapping[str, Path]
    """``root``, or ``packages`` and ``python``: what a sandbox shows, by name."""

    @classmethod
    def read(cls, folder: Path) -> Environment:
        """Return the environment in a folder.

        Raises
        ------
        InputError
            If there is none, or its Python is not on this machine any more.
        """
        try:
            document = json.loads((folder / _FILE).read_text("utf-8"))
            digest, python = str(document["digest"]), Path(document.get("python", _SYSTEM))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} holds no environment: make one with arena programs environment "
                f"--requirements FILE."
            ) from error
        folders = {name: folder / name for name in ("packages", "root") if (folder / name).is_dir()}
        if "packages" in folders and not python.is_relative_to(_SYSTEM):
            folders["python"] = python
        if not python.is_dir():
            raise InputError(
                f"The Python of the environment {folder} is not in {python} any more: make the "
                f"environment again."
            )
        return cls(folder, digest, folders)


def make_environment(requirements: Path, parent: Path) -> Environment:
    """Install what a requirements file lists into a new folder, named by its digest.

    pip installs it, with its settings from ``pip.conf`` and from variables such as
    ``PIP_NO_INDEX``, so that it may come from a folder of wheels. Only this step uses a network.

    Raises
    ------
    InputError
        If the file cannot be read, or pip fails; the message has its last line.
    """
    if not requirements.is_file():
        raise InputError(f"{requirements} is no file: write one with a line for each library.")
    python = Path(sys.base_prefix).resolve()
    interpreter = str(python / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
    with _new(parent) as made:
        packages, installer = made / "packages", made.with_name("installer")
        packages.mkdir()
        # A new virtual environment has pip, without a network; that of arena may have no pip.
        _call([interpreter, "-m", "venv", str(installer)])
        install = ["-m", "pip", "install", "--no-compile", "--target", str(packages)]
        _call([str(installer / "bin" / "python"), *install, "-r", str(requirements)])
        shutil.rmtree(packages / "bin", ignore_errors=True)  # scripts name the installer's Python
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        _call([interpreter, *compiling, "-s", str(packages), "-p", "/packages", str(packages)])
        return _named(made, parent, {"digest": _digest(packages), "python": str(python)})


def unpack_environment(image: Path, parent: Path) -> Environment:
    """Unpack the file system of an image into a new folder, named by its digest.

    Devices are left out, and no file keeps the right to run as another user.

    Parameters
    ----------
    image
        A TAR archive, such as ``podman export`` writes.

    Raises
    ------
    InputError
        If it cannot be read, or holds no ``usr`` folder.
    """
    with _new(parent) as made:
        root = made / "root"
        root.mkdir()
        try:
            with tarfile.open(image) as archive:
                members = (member for member in archive if not member.isdev())
                archive.extractall(root, members=members, filter="tar")
        except (OSError, tarfile.TarError, EOFError) as error:
            reason = str(error).partition("\n")[0].rstrip(":")  # the others name each compression
            raise InputError(f"The image {image} cannot be unpacked: {reason}.") from error
        if not (root / "usr").is_dir():
            raise InputError(
                f"{image} holds no file system: write one with podman export CONTAINER."
            )
        return _named(made, parent, {"digest": digest_of_folder(root)})


@contextlib.contextmanager
def _new(parent: Path) -> Iterator[Path]:
    """Yield a folder for an environment, which is removed unless it was renamed."""
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=parent) as temporary:
        environment = Path(temporary) / "environment"
        environment.mkdir()
        yield environment


def _named(made: Path, parent: Path, document: Mapping[str, str]) -> Environment:
    """Describe an environment, and give its folder the name by which it is found."""
    atomic_write(made / _FILE, json.dumps(document).encode(), mode=0o644)
    folder = environment_folder(parent, document["digest"])
    if not folder.exists():
        made.rename(folder)
    return Environment.read(folder)


def environment_folder(parent: Path, digest: str) -> Path:
    """Return the folder of an environment with a digest, whether there is one or not."""
    return parent / digest.removeprefix("sha256:")[:16]


def variables(box: Box, folders: Mapping[str, Path]) -> Mapping[str, str]:
    """Return the environment variables of a program, in an environment with these folders."""
    places = ["/usr/local/bin", "/usr/bin", "/bin"]
    cores = str(max(1, int(box.cores)))
    of_packages = {"PYTHONPATH": "/packages"} if "packages" in folders else {}
    return {
        "PATH": ":".join(["/python/bin", *places] if "python" in folders else places),
        "HOME": "/tmp",  # noqa: S108 - in the sandbox
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": cores,
        "OPENBLAS_NUM_THREADS": cores,
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        **of_packages,
    }


def _digest(packages: Path) -> str:
    """Return the digest of libraries and Python.

    What pip records of the installation differs between machines, and so does compiled code.
    """
    files = digest_of_folder(packages, counts=lambda path: path.name not in _NOT_COUNTED)
    return f"sha256:{hashlib.sha256(f'{files} {sys.version}'.encode()).hexdigest()}"


def _call(command: Sequence[str]) -> None:
    """Run a command; raise InputError with the last line that it printed if it fails."""
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    process = subprocess.run(  # noqa: S603 - this machine's Python
        command, capture_output=True, text=True, check=False, env=variables
    )
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines() or ["it printed nothing"]
        raise InputError(f"The environment cannot be made: {printable(lines[-1])}")
