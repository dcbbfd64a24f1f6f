"""What a command keeps to continue after an interruption."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError
from arena.utils import finished_tasks
from arena.utils.finished_tasks import FinishedTasks, resumable, tasks_in_use, where_kept
from arena.utils.parallel import NoProgress
from counted_progress import CountedProgress


def kept(folder: Path, key: str) -> list[list[float]]:
    return [values.tolist() for values in FinishedTasks(folder, NoProgress()).get(key)]


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    with resumable(tmp_path / "kept", NoProgress()) as tasks:
        assert tasks is not None
        assert tasks_in_use() is tasks
        tasks.put("a", [0.1, np.nan])
    assert tasks_in_use() is None
    (file,) = (tmp_path / "kept").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    np.testing.assert_equal(kept(tmp_path / "kept", "a"), [[0.1, np.nan]])
    tasks.remove()
    assert not (tmp_path / "kept").exists()


def test_nothing_is_written_if_there_is_nothing_to_keep(tmp_path: Path) -> None:
    with resumable(tmp_path / "kept", NoProgress()):
        pass
    assert not (tmp_path / "kept").exists()
    with resumable(None, NoProgress()) as tasks:
        assert tasks is None


def test_an_interruption_keeps_everything_and_is_told_where(tmp_path: Path) -> None:
    def interrupted() -> None:
        with resumable(tmp_path, NoProgress()) as tasks:
            assert tasks is not None
            tasks.put("a", [1.0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert where_kept() == tmp_path
    assert kept(tmp_path, "a") == [[1.0]]
    with resumable(tmp_path, NoProgress()):
        assert where_kept() is None


def test_results_are_written_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = FinishedTasks(tmp_path, NoProgress())
    monkeypatch.setattr(finished_tasks, "SECONDS_BETWEEN_FILES", 1e9)
    tasks.put("a", [1.0])
    assert kept(tmp_path, "a") == []
    monkeypatch.setattr(finished_tasks, "SECONDS_BETWEEN_FILES", 0.0)
    tasks.put("a", [2.0])
    assert kept(tmp_path, "a") == [[1.0], [2.0]]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_damaged_or_foreign_file_is_ignored(tmp_path: Path, damage: str) -> None:
    for value in (1.0, 2.0):
        tasks = FinishedTasks(tmp_path, NoProgress())
        tasks.put("a", [value])
        tasks.write()
    first, _ = sorted(tmp_path.iterdir())
    content = first.read_bytes()
    at = len(content) // 2
    first.write_bytes(
        {
            "cut": content[:-1],
            "flipped": content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
            "empty": b"",
            "foreign": b"something else",
        }[damage]
    )
    assert len(kept(tmp_path, "a")) == 1


class Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-a-pickle",)


def arrays(**named: Any) -> bytes:
    body = io.BytesIO()
    np.savez(body, **named)
    return body.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no arrays",
        pickle.dumps(Runs()),
        arrays(keys=np.array([Runs()], object), lengths=np.array([1]), values=np.zeros(1)),
        arrays(others=np.zeros(1)),
        arrays(keys=np.array([b"a"]), lengths=np.array([1, 5]), values=np.zeros(1)),
        arrays(keys=np.array([1.0]), lengths=np.array([1]), values=np.zeros(1)),
    ],
    ids=["empty", "text", "pickle", "objects", "names", "lengths", "keys"],
)
def test_a_whole_file_of_another_form_is_ignored_and_never_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    digest = hashlib.sha256(content).digest()
    (tmp_path / "other.tasks").write_bytes(finished_tasks.MAGIC + digest + content)
    assert not FinishedTasks(tmp_path, NoProgress()).found_any
    assert not (tmp_path / "made-by-a-pickle").exists()


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    first, two = FinishedTasks(tmp_path, NoProgress()), FinishedTasks(tmp_path, NoProgress())
    first.put("a", [1.0])
    two.put("b", [2.0])
    first.write()
    two.write()
    assert kept(tmp_path, "a") == [[1.0]]
    assert kept(tmp_path, "b") == [[2.0]]


def test_a_folder_that_cannot_be_written_does_not_end_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(finished_tasks, "atomic_write", full)
    progress = CountedProgress()
    with resumable(tmp_path / "kept", progress) as tasks:
        assert tasks is not None
        for _ in range(2):
            tasks.put("a", [1.0])
            tasks.write()
    (sentence,) = progress.messages
    assert "no space left on device" in sentence


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="not a folder"),
        resumable(tmp_path / "file", CountedProgress()),
    ):
        pass


def test_what_is_found_is_counted_and_said_once(tmp_path: Path) -> None:
    progress = CountedProgress()
    tasks = FinishedTasks(tmp_path, progress)
    assert (tasks.found_any, tasks.kept_any) == (False, False)
    tasks.say_found(0, 5, "calls")
    tasks.say_found(1_200, 5_000, "repetitions")
    for _ in range(2):
        tasks.say_once("Slow.")
    assert progress.messages == [
        "1,200 of 5,000 repetitions are already done: an interrupted command kept them.",
        "Slow.",
    ]
    tasks.put("a", [1.0])
    tasks.write()
    tasks.write()  # nothing new: no further file
    assert len(list(tmp_path.iterdir())) == 1
    assert (tasks.found_any, tasks.kept_any) == (False, True)
    assert FinishedTasks(tmp_path, progress).found_any
    assert list(tasks.get("b")) == []


def test_files_are_written_so_many_seconds_after_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(finished_tasks.time, "monotonic", lambda: now[0])
    tasks = FinishedTasks(tmp_path, NoProgress())
    for seconds, files in ((9.875, 0), (0.125, 1), (9.875, 1), (0.125, 2)):
        now[0] += seconds
        tasks.put("a", [now[0]])
        assert len(list(tmp_path.iterdir())) == files


def test_a_folder_with_other_files_stays(tmp_path: Path) -> None:
    tasks = FinishedTasks(tmp_path / "kept", NoProgress())
    tasks.put("a", [1.0])
    tasks.write()
    (tmp_path / "kept" / "thesis.doc").touch()
    tasks.put("a", [2.0])
    tasks.remove()
    tasks.write()  # after the end nothing is written any more
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["thesis.doc"]


def test_a_file_of_another_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FinishedTasks(tmp_path, NoProgress())
    tasks.put("a", [1.0])
    tasks.write()
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    assert not FinishedTasks(tmp_path, NoProgress()).found_any
