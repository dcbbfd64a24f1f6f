"""Writes DuckDB's log into the database file in a way that a kill cannot interrupt half-way.

A checkpoint of DuckDB writes new blocks, then a header that refers to them. The blocks of metadata
are an exception: DuckDB adds new pages to a block that the current header uses, and writes the
whole block in place. The pages in use do not change, but the block's checksum does. A process that
is killed during this write, or a power failure, leaves a block whose checksum is wrong, and DuckDB
refuses the database. (DuckDB 2.0: ``MetadataManager::AllocateHandle`` and ``Flush``.)

So these blocks are saved first, in a file next to the database. If the header is still the one of
before when the database is opened, the blocks are put back: the log has everything since.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from arena.errors import StoreError
from arena.utils.file_errors import reason_of

_MAGIC = b"arena rollback 1"
_HEADERS_SIZE = _BLOCKS_AT = 3 * 4096
"""The main header has the identifier of the database; two others behind it take turns."""
_PREFIX = struct.Struct("<QQ")
"""The size of a block and the number of blocks; their numbers, headers and contents follow."""


def rollback_path(path: Path) -> Path:
    """Return the path of the file with the blocks that a checkpoint is about to overwrite."""
    return path.with_name(f"{path.name}.rollback")


def checkpoint(path: Path, descriptor: int, connection: duckdb.DuckDBPyConnection) -> None:
    """Write the log of a database into its file.

    Parameters
    ----------
    descriptor
        The file, opened by the caller: closing any descriptor of it would drop DuckDB's lock.
    connection
        A connection without an open transaction; no other one may write.

    Raises
    ------
    OSError
        If the blocks cannot be saved; the database is unchanged.
    duckdb.Error
        If DuckDB cannot write.
    """
    rollback = rollback_path(path)
    with connection.cursor() as cursor:
        ((size,),) = cursor.execute("SELECT block_size FROM pragma_database_size()").fetchall()
        query = "SELECT block_id FROM pragma_metadata_info() WHERE len(free_list) > 0 ORDER BY ALL"
        numbers = [number for (number,) in cursor.execute(query).fetchall()]
        save_blocks(rollback, SavedBlocks.of(descriptor, size, numbers))
        cursor.execute("CHECKPOINT")
    rollback.unlink()


def undo_interrupted_checkpoint(path: Path, *, read_only: bool = False) -> None:
    """Put back the blocks that a checkpoint has overwritten, if it did not end.

    No descriptor of the file may be open in this process: its locks would be dropped. If another
    process has the database open, nothing is changed.

    Parameters
    ----------
    read_only
        Write only if a block differs.

    Raises
    ------
    StoreError
        If the blocks cannot be written.
    """
    rollback = rollback_path(path)
    try:
        if not rollback.exists():
            return
        if read_only:
            # Another process may be writing: then DuckDB refuses to open the file.
            with path.open("rb") as reading:
                saved = SavedBlocks.parsed(rollback.read_bytes())
                if saved is None or not saved.differs(reading.fileno()):
                    return
        with path.open("r+b") as writing, _locked(writing.fileno()) as alone:
            if not alone:
                return
            # Not earlier: another process may have ended this checkpoint and begun the next.
            saved = SavedBlocks.parsed(rollback.read_bytes())
            if saved is not None and saved.differs(writing.fileno()):
                saved.put_back(writing.fileno())
            rollback.unlink()
    except FileNotFoundError:
        # Another process has put them back meanwhile, or the database was removed.
        if not read_only and not path.exists():
            rollback.unlink(missing_ok=True)
    except OSError as error:
        raise _failed(path, error) from error


@dataclass(frozen=True, slots=True)
class SavedBlocks:
    """Blocks of a database, its identifier and the headers that refer to them."""

    headers: bytes
    numbers: tuple[int, ...]
    blocks: tuple[bytes, ...]
    size: int

    @classmethod
    def of(cls, descriptor: int, size: int, numbers: Sequence[int]) -> SavedBlocks:
        """Read the headers and some blocks of a database."""
        headers = os.pread(descriptor, _HEADERS_SIZE, 0)
        blocks = (os.pread(descriptor, size, _BLOCKS_AT + size * number) for number in numbers)
        return cls(headers, tuple(numbers), tuple(blocks), size)

    @classmethod
    def parsed(cls, content: bytes) -> SavedBlocks | None:
        """Return the content of a file; None if it is incomplete: then nothing was overwritten."""
        checked = content[len(_MAGIC) + 4 :]
        checksum = zlib.crc32(checked).to_bytes(4, "little")
        if content[: len(_MAGIC) + 4] != _MAGIC + checksum:
            return None
        size, count = _PREFIX.unpack_from(checked)
        numbers = struct.unpack_from(f"<{count}q", checked, _PREFIX.size)
        offset = _PREFIX.size + 8 * count
        headers, offset = checked[offset : offset + _HEADERS_SIZE], offset + _HEADERS_SIZE
        blocks = tuple(checked[offset + size * n : offset + size * (n + 1)] for n in range(count))
        return cls(headers, numbers, blocks, size)

    def content(self) -> bytes:
        """Return the bytes of the file that keeps them."""
        count = len(self.numbers)
        prefix = _PREFIX.pack(self.size, count) + struct.pack(f"<{count}q", *self.numbers)
        checked = b"".join((prefix, self.headers, *self.blocks))
        return _MAGIC + zlib.crc32(checked).to_bytes(4, "little") + checked

    def differs(self, descriptor: int) -> bool:
        """Whether a block differs, and the headers do not: the checkpoint has not ended."""
        now = SavedBlocks.of(descriptor, self.size, self.numbers)
        return now.headers == self.headers and now.blocks != self.blocks

    def put_back(self, descriptor: int) -> None:
        """Write the blocks and the headers to a database as they were."""
        for number, block in zip(self.numbers, self.blocks, strict=True):
            os.pwrite(descriptor, block, _BLOCKS_AT + self.size * number)
        os.fsync(descriptor)


def save_blocks(path: Path, saved: SavedBlocks) -> None:
    """Write the blocks, and sync the file and its name to disk."""
    with path.open("wb") as file:
        file.write(saved.content())
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(OSError):  # not every system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _locked(descriptor: int) -> Iterator[bool]:
    """Lock the file as DuckDB does, until the descriptor is closed; yield whether it succeeded."""
    try:
        import fcntl
    except ImportError:  # Windows: a file that DuckDB has open cannot be opened for writing
        yield True
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"A process was killed while it wrote to the database '{path}', and this cannot be undone: "
        f"{reason_of(error)}. Grant read and write permission for the file and its folder, and run "
        "the command again. Nothing is lost."
    )
