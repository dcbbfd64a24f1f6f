"""Unpacks a program: one Python file, or a ZIP archive, either of which may be hostile."""

from __future__ import annotations

import contextlib
import shutil
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from arena.interfaces.faults import FaultList, Refused, show
from arena.types import Fault
from arena.utils.host_errors import is_of_host
from arena.utils.processes import Ended, Limits, call_limited
from arena.utils.text import plural

_PART = 2**20
_SECONDS, MEMORY = 300.0, 2**29
"""What the process that reads an archive may use: seconds, and bytes of memory."""
_LONGEST_NAME, _LONGEST_PATH = 200, 1000
_IS_UTF8, _IS_ENCRYPTED = 0x800, 0x1
_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)
"""Kinds of members; 0: the archive does not say."""


@dataclass(frozen=True, slots=True)
class PackedLimits:
    """The largest program."""

    packed_bytes: int = 100 * 10**6
    unpacked_bytes: int = 2 * 10**9
    files: int = 10_000


def unpack_program(path: Path, folder: Path, entry: str) -> tuple[Fault, ...]:
    """Unpack a program into an empty folder; return its faults, and an empty tuple if it has none.

    A file whose name ends with ``.py`` is copied as ``entry``; any other must be a ZIP archive that
    holds ``entry``. A process with limits reads it. What was unpacked of one with faults must not
    be used.

    Parameters
    ----------
    entry
        The file that the command starts, such as ``main.py``.

    Raises
    ------
    OSError
        If this machine cannot write the files.
    """
    task = (str(path), str(folder), entry, PackedLimits())
    bounds = Limits(memory=MEMORY)
    try:
        answer = call_limited(
            unpack_here, *task, seconds=_SECONDS, limits=bounds, purpose="programs"
        )
    except MemoryError:
        message = (
            f"The ZIP archive needs more than {MEMORY >> 20} MiB to be read: send fewer files."
        )
        return (Fault("too much work", message),)
    if isinstance(answer, Ended):
        return (Fault("too much work", f"The ZIP archive cannot be unpacked: {answer}."),)
    return tuple(Fault(kind, message) for kind, message in answer)


def unpack_here(
    path: str, folder: str, entry: str, limits: PackedLimits
) -> tuple[tuple[str, str], ...]:
    """Unpack an archive in this process and return its faults, each as a code and a sentence."""
    faults = FaultList()
    with contextlib.suppress(Refused):
        _check_file(Path(path), limits, faults)
        if Path(path).suffix == ".py":
            shutil.copyfile(path, Path(folder) / entry)
        else:
            _unpack_archive(Path(path), Path(folder), limits, faults)
        _check_entry(Path(folder), entry, faults)
    return tuple((fault.kind, fault.message) for fault in faults.to_tuple())


def _check_file(path: Path, limits: PackedLimits, faults: FaultList) -> None:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        faults.refuse("not a file", "The program is no regular file: send a .py file or a ZIP.")
    if status.st_size > limits.packed_bytes:
        faults.refuse(
            "file too large",
            f"The program has {plural(status.st_size, 'byte')}, and may have "
            f"{limits.packed_bytes:,}.",
        )
    if status.st_size == 0:
        faults.refuse("empty file", "The program is empty: send a .py file or a ZIP.")


def _unpack_archive(path: Path, folder: Path, limits: PackedLimits, faults: FaultList) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > limits.files:
                faults.refuse(
                    "too many files",
                    f"The ZIP archive holds {plural(len(members), 'file')}, and may hold "
                    f"{limits.files:,}.",
                )
            _check_members(members, faults)
            bytes_left = limits.unpacked_bytes
            for member in members:
                bytes_left -= _write(archive, member, folder, bytes_left)
                if bytes_left < 0:
                    faults.refuse(
                        "file too large",
                        "The ZIP archive unpacks to more than "
                        f"{plural(limits.unpacked_bytes, 'byte')}; unpacking was stopped.",
                    )
    except Exception as error:  # of many kinds: the library also computes with what it reads
        if isinstance(error, Refused | MemoryError) or is_of_host(error):
            raise
        faults.refuse(
            "damaged file",
            f"The program is neither a .py file nor a ZIP archive that can be read "
            f"({_said(error)}): send main.py, or a new archive with main.py at its top.",
        )


def _check_members(members: list[zipfile.ZipInfo], faults: FaultList) -> None:
    """Refuse what could be written elsewhere, or be something else than it seems."""
    files: set[PurePosixPath] = set()
    folders: set[PurePosixPath] = set()
    for member in members:
        problem = _problem_of(member)
        if problem is not None:
            faults.refuse(*problem)
        path = PurePosixPath(member.filename)
        if path in files or (path in folders and not member.is_dir()):
            faults.refuse(
                "repeated name", f"{show(member.filename)} is twice in the ZIP archive: keep one."
            )
        (folders if member.is_dir() else files).add(path)
        for parent in path.parents:
            if parent in folders:  # and so are those above
                break
            if parent in files:
                faults.refuse(
                    "repeated name",
                    f"A folder on the way to {show(member.filename)} is also a file: rename one.",
                )
            folders.add(parent)


def _problem_of(member: zipfile.ZipInfo) -> tuple[str, str] | None:
    """Return kind and message of the first fault of a member, or None."""
    name = member.filename
    parts = name.rstrip("/").split("/")
    quoted = show(name)
    odd = name != member.orig_filename or not name.isprintable() or "\\" in name
    leads_out = name.startswith("/") or any(part in {"", ".", ".."} for part in parts)
    long = len(name) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts)
    checks = (
        (
            not member.flag_bits & _IS_UTF8 and not name.isascii(),
            "wrong encoding",
            f"The name {quoted} is not in UTF-8: rename it with letters of ASCII, or make the ZIP "
            f"archive with a program that writes UTF-8.",
        ),
        (odd, "bad name", f"The name {quoted} has characters that no file may have: rename it."),
        (leads_out, "bad name", f"The name {quoted} leads out of the archive: use relative names."),
        (long, "bad name", f"The name {quoted} is too long: rename it."),
        (
            bool(member.flag_bits & _IS_ENCRYPTED),
            "encrypted",
            f"{quoted} is encrypted: make a ZIP archive without a password.",
        ),
        (
            stat.S_IFMT(member.external_attr >> 16) not in _KINDS,
            "not a file",
            f"{quoted} is a link or a device: send the file itself.",
        ),
    )
    return next(((kind, message) for holds, kind, message in checks if holds), None)


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, most: int) -> int:
    """Write a member; return its bytes, or more than ``most`` as soon as there are more."""
    path = folder / member.filename
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(member) as packed, path.open("xb") as unpacked:
        while part := packed.read(_PART):
            size += len(part)
            if size > most:
                return size
            unpacked.write(part)
    runs = (member.external_attr >> 16) & stat.S_IXUSR
    path.chmod(0o755 if runs else 0o644)
    return size


def _check_entry(folder: Path, entry: str, faults: FaultList) -> None:
    if (folder / entry).is_file():
        return
    paths = (path for path in folder.rglob(Path(entry).name) if path.is_file())
    others = sorted(path.relative_to(folder).as_posix() for path in paths)
    where = f": move {show(others[0])} there" if others else ""
    faults.refuse("no entry point", f"There is no {entry} at the top of the ZIP archive{where}.")


def _said(error: BaseException) -> str:
    is_about_archive = str(error) and not isinstance(error, OSError)
    return str(error)[:100] if is_about_archive else type(error).__name__
