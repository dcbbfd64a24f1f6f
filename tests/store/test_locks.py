"""One lock and one descriptor of a file for all its stores in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arena.store.locks import FileLock, lock_of


def test_a_descriptor_is_open_until_the_last_store_has_closed_the_file(tmp_path: Path) -> None:
    path, lock, begun = tmp_path / "x", FileLock(), []
    path.write_bytes(b"content")
    for round_number in (1, 2):
        with lock.opened(lambda: begun.append(True)):
            with lock.opened(lambda: begun.append(False)):
                descriptor = lock.descriptor(path)
                assert lock.descriptor(path) == descriptor
            assert os.pread(descriptor, 4, 0) == b"cont"
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
        assert begun == [True] * round_number
    with lock.opened(lambda: None):
        pass  # without a descriptor there is none to close


def test_a_transaction_is_open_once_at_a_time_in_a_thread(tmp_path: Path) -> None:
    lock = lock_of(tmp_path / "x")
    assert lock_of(tmp_path / "below" / ".." / "x") is lock
    for _ in range(2):
        with lock.held(), pytest.raises(RuntimeError, match="do not nest"), lock.held():
            pass
