"""Many tasks on the workers of a machine: in order, and few of them held at a time."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from arena.errors import InputError
from arena.utils.parallel import (
    NoProgress,
    Progress,
    available_workers,
    one_thread_each,
    run_tasks,
)
from escaping_tasks import kill_at_zero
from thread_counts import blas_threads


class Block:
    """What is too large to stand in memory many times."""


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_tasks_are_held_than_are_under_way(workers: int) -> None:
    alive: weakref.WeakSet[Block] = weakref.WeakSet()

    def tasks() -> Iterator[tuple[Block]]:
        for _ in range(30):
            block = Block()
            alive.add(block)
            yield (block,)
            del block

    held = list(run_tasks(lambda _: len(alive), tasks(), workers=workers))
    assert len(held) == 30
    assert max(held) <= (1 if workers == 1 else workers + 2)
    assert not alive


def test_as_many_tasks_as_workers_run_at_a_time() -> None:
    """Each of two tasks waits for the other one."""
    both = threading.Barrier(2, timeout=10)
    assert sorted(run_tasks(both.wait, [()] * 2, workers=2)) == [0, 1]


def test_a_single_task_is_given_to_no_other_thread() -> None:
    here = threading.get_ident()
    assert list(run_tasks(threading.get_ident, [()], workers=2)) == [here]
    assert here not in list(run_tasks(threading.get_ident, [()] * 4, workers=2))
    assert list(run_tasks(threading.get_ident, [], workers=2)) == []


@pytest.mark.few(2)
@pytest.mark.parametrize(("workers", "processes"), [(1, False), (1, True), (2, False), (2, True)])
def test_results_come_in_the_order_of_the_tasks(workers: int, processes: bool) -> None:
    tasks = ((base, 2) for base in range(20))
    found = list(run_tasks(pow, tasks, workers=workers, processes=processes))
    assert found == [base**2 for base in range(20)]


@pytest.mark.slow
def test_a_worker_process_that_is_killed_is_a_sentence_and_the_next_run_has_others() -> None:
    with pytest.raises(InputError, match="A worker process of this machine crashed or was killed"):
        list(run_tasks(kill_at_zero, [(1,), (0,), (2,)], workers=2, processes=True))
    assert list(run_tasks(pow, [(2, 3), (3, 2)], workers=2, processes=True)) == [8, 9]


def test_processes_are_other_processes_and_threads_are_not() -> None:
    own = os.getpid()
    assert own not in list(run_tasks(os.getpid, [()] * 3, workers=2, processes=True))
    assert set(run_tasks(os.getpid, [()] * 3, workers=2)) == {own}
    assert set(run_tasks(os.getpid, [()] * 3, workers=1, processes=True)) == {own}


@pytest.mark.few(1)
@pytest.mark.parametrize(("workers", "processes"), [(1, False), (2, False), (2, True)])
def test_what_a_task_raises_is_raised_here(workers: int, processes: bool) -> None:
    results = run_tasks(divmod, [(7, 2), (1, 0), (9, 2)], workers=workers, processes=processes)
    with pytest.raises(ZeroDivisionError):
        list(results)
    assert list(run_tasks(divmod, [(7, 2)], workers=workers, processes=processes)) == [(3, 1)]


@pytest.mark.parametrize(("workers", "processes"), [(1, False), (2, False), (2, True)])
def test_every_task_has_one_thread_of_blas(workers: int, processes: bool) -> None:
    counts = list(run_tasks(blas_threads, [()] * 3, workers=workers, processes=processes))
    assert counts == [{1}] * 3


def test_blas_has_its_threads_again_afterwards() -> None:
    with threadpool_limits(2):
        before = blas_threads()
        with one_thread_each():
            assert blas_threads() == {1}
        assert list(run_tasks(blas_threads, [()], workers=1)) == [{1}]
        assert blas_threads() == before


def test_processes_follow_the_caller_into_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert set(run_tasks(os.getcwd, [(), ()], workers=2, processes=True)) == {str(folder)}


def test_only_what_is_asked_for_is_run_by_one_worker() -> None:
    run: list[int] = []
    results = run_tasks(run.append, ((number,) for number in range(9)), workers=1)
    next(results)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert run == [0, 1]


def test_the_workers_are_the_processors_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    assert available_workers() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_workers() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_workers() == 1


def test_no_progress_hears_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress: Progress = NoProgress()
    progress.say("A sentence.")
    progress.start("A stage", 3)
    progress.advance(2)
    assert capsys.readouterr() == ("", "")
