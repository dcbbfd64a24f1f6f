"""Control groups of both versions, on files that imitate those of the kernel."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.errors import SandboxError
from arena.interfaces import Box
from arena.testing.sandboxes import groups_of
from arena_sandboxes import groups

# A group has 64 MB more, for copies of files.
BOX = Box(seconds=1, memory_mb=64, disk_mb=8, cores=1.5, processes=10, output_bytes=1)
ALL = "cpuset cpu io memory pids"


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def level(folder: Path, controllers: str = ALL, handed_down: str = "", processes: str = "") -> Path:
    """Write a group of version 2."""
    return write(
        folder,
        cgroup__controllers=controllers,
        cgroup__subtree_control=handed_down,
        cgroup__procs=processes,
    )


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that imitates what the kernel says of mounts and of this process."""

    def imitate(mounts: str, memberships: str) -> None:
        write(tmp_path, mountinfo=mounts.replace("{}", str(tmp_path)), cgroup=memberships)
        monkeypatch.setattr(groups, "MOUNTS", tmp_path / "mountinfo")
        monkeypatch.setattr(groups, "MEMBERSHIPS", tmp_path / "cgroup")

    return imitate


def test_version_2_limits_a_group(tmp_path: Path, kernel: Callable[[str, str], None]) -> None:
    kernel("30 20 0:5 / {}/v2 rw - cgroup2 cgroup2 rw\n", "0::/user/she:ll\n")
    level(tmp_path / "v2", handed_down="memory")
    level(tmp_path / "v2" / "user", handed_down="cpu memory pids")
    level(tmp_path / "v2" / "user" / "she:ll")
    group = groups.new_group()
    assert group is not None
    folder = write(group.folders["memory"], memory__swap__max="max")
    # The highest one that hands its controllers down, or can be made to.
    assert folder.parent == tmp_path / "v2"
    group.limit(BOX)
    wanted = {
        "memory.max": str(128 * 2**20), "memory.swap.max": "0", "memory.oom.group": "1",
        "pids.max": "15", "cpu.max": "150000 100000",
    }  # fmt: skip
    assert {name: (folder / name).read_text() for name in wanted} == wanted
    write(
        folder,
        cpu__stat="usage_usec 2500000\nuser_usec 1\n",
        memory__stat="anon 100\nfile 7000\nshmem 20\n",
        memory__events="max 3\noom 1\noom_kill 0\n",
        cgroup__procs="12\n13\n",
    )
    assert (group.cpu_seconds(), group.memory()) == (2.5, 120)
    assert (group.is_out_of_memory(), group.processes()) == (False, {12, 13})
    write(folder, memory__events="oom_kill 1\n", memory__current="8192\n")
    group.forget()
    assert (folder / "memory.reclaim").read_text() == "8192"
    assert group.is_out_of_memory()


def test_version_2_without_controllers_is_none(
    tmp_path: Path, kernel: Callable[[str, str], None]
) -> None:
    kernel("30 20 0:5 / {}/v2 rw - cgroup2 cgroup2 rw\n", "0::/user\n")
    level(tmp_path / "v2", controllers="")
    level(tmp_path / "v2" / "user", controllers="memory pids")
    assert groups.new_group() is None


def test_a_group_of_ones_own_is_vacated(
    tmp_path: Path, kernel: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel("30 20 0:5 / {}/v2 rw - cgroup2 cgroup2 rw\n", "0::/service\n")
    level(tmp_path / "v2", controllers="")
    service = level(tmp_path / "v2" / "service", processes="12\n13\n")
    tries = iter([False, True])  # the kernel refuses while the group holds processes
    monkeypatch.setattr(groups, "hands_down", lambda group: next(tries))
    group = groups.new_group()
    assert group is not None
    assert group.folders["cpu"].parent == service
    assert (service / "arena-own" / "cgroup.procs").read_text() == "13"


def test_version_1_limits_each_controller(
    tmp_path: Path, kernel: Callable[[str, str], None]
) -> None:
    mounts = "".join(
        f"3{number} 20 0:{number} / {{}}/{name} rw - cgroup cgroup rw,{name}\n"
        for number, name in enumerate(("memory", "pids", "cpu,cpuacct"))
    )
    kernel(mounts, "3:memory:/me\n2:pids:/\n1:cpu,cpuacct:/\n0::/\n")
    write(tmp_path / "memory" / "me")
    for name in ("pids", "cpu,cpuacct"):
        write(tmp_path / name)
    group = groups.new_group()
    assert group is not None
    assert len(group.doors) == 3
    for folder in group.folders.values():
        write(folder)
    write(group.folders["memory"], memory__limit_in_bytes="-1", memory__memsw__limit_in_bytes="-1")
    group.limit(BOX)
    values = {
        path.name: path.read_text()
        for folder in group.folders.values()
        for path in folder.iterdir()
    }
    assert values == {
        "memory.limit_in_bytes": str(128 * 2**20),
        "memory.memsw.limit_in_bytes": str(128 * 2**20),
        "pids.max": "15",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "150000",
    }
    write(group.folders["memory"], memory__oom_control="oom_kill_disable 0\noom_kill 2\n")
    write(group.folders["cpuacct"], cpuacct__usage="2500000000\n")
    assert (group.is_out_of_memory(), group.cpu_seconds()) == (True, 2.5)
    write(group.folders["memory"], memory__oom_control="oom_kill 0\n")
    write(group.folders["memory"], memory__stat="rss 1\ntotal_rss 300\ntotal_shmem 40\n")
    assert (group.is_out_of_memory(), group.memory()) == (False, 340)
    group.forget()
    assert (group.folders["memory"] / "memory.force_empty").read_text() == "0"


def test_version_1_without_one_of_its_controllers_is_none(
    tmp_path: Path, kernel: Callable[[str, str], None]
) -> None:
    mounts = "".join(
        f"30 20 0:5 / {{}}/{name} rw - cgroup cgroup rw,{name}\n"
        for name in ("memory", "cpu,cpuacct")
    )
    kernel(mounts, "3:memory:/\n1:cpu,cpuacct:/\n")
    for name in ("memory", "cpu,cpuacct"):
        write(tmp_path / name)
    assert groups.new_group() is None


@pytest.fixture
def version_2(tmp_path: Path, kernel: Callable[[str, str], None]) -> Path:
    """Return the group of this process, below which groups can be made."""
    kernel("30 20 0:5 / {}/v2 rw - cgroup2 cgroup2 rw\n", "0::/\n")
    return level(tmp_path / "v2", handed_down="cpu memory pids")


def test_a_group_exists_while_its_run_lasts(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel removes the files of a group with its folder.
    monkeypatch.setattr(groups, "remove_group", shutil.rmtree)
    monkeypatch.setattr(groups.Group, "processes", lambda group: set())
    with groups.group_for(BOX) as group:
        assert group is not None
        (folder,) = {*group.folders.values()}
        assert folder.name.startswith(f"arena-run-{os.getpid()}-")
        assert (folder / "pids.max").read_text() == "15"
        with pytest.raises(BlockingIOError):
            groups.lock_group(folder)
    assert not folder.exists()


def test_a_group_that_cannot_be_limited_is_named(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limit(group: groups.Group, box: Box) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(groups.Group, "processes", lambda group: set())
    monkeypatch.setattr(groups._Version2, "limit", limit)
    monkeypatch.setattr(groups._Version2, "forget", lambda group: None)
    with pytest.raises(SandboxError) as refused, groups.group_for(BOX):
        pass
    assert str(refused.value) == "The control group of a run cannot be limited: no such file."
    assert list(version_2.glob("arena-run-*")) == []


def test_a_group_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "SECONDS_TO_END", 0.01)
    write(tmp_path / "group", tasks="")
    with pytest.raises(SandboxError, match="^The control group of a run is left: .*not empty"):
        groups.remove_group(tmp_path / "group")


def test_the_kernel_has_time_to_end_processes_and_to_remove_their_group(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = groups.new_group()
    assert group is not None
    killed: list[tuple[int, int]] = []
    left = [{12}, {12}, set()]
    monkeypatch.setattr(groups.os, "kill", lambda *call: killed.append(call))
    monkeypatch.setattr(groups.Group, "processes", lambda group: left.pop(0))
    write(group.folders["pids"])
    group.kill()
    assert killed == [(12, signal.SIGKILL)] * 2
    answers = [OSError("busy"), OSError("busy"), None]

    def remove(folder: Path) -> None:
        if (error := answers.pop(0)) is not None:
            raise error

    monkeypatch.setattr(Path, "rmdir", remove)
    groups.remove_group(version_2 / "group")
    assert answers == []


def test_what_a_killed_runner_left_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = []
    monkeypatch.setattr(groups.os, "kill", lambda *call: killed.append(call))
    monkeypatch.setattr(groups, "remove_group", shutil.rmtree)
    no_process = 2**22 + 1
    for number in (no_process, os.getpid()):  # of those that stay one is listed before the others
        write(tmp_path / f"arena-run-{number}-1", cgroup__procs="0\n14\n")
    write(tmp_path / f"arena-run-{no_process}-0", cgroup__procs="12\n13\n")
    write(tmp_path / f"arena-run-{os.getpid()}-0", cgroup__procs="12\n")
    write(tmp_path / f"arena-run-{no_process}-3", cgroup__procs="0\n14\n")
    write(tmp_path / f"arena-run-{no_process}-2", cgroup__procs="15\n")
    lock = groups.lock_group(tmp_path / f"arena-run-{no_process}-2")  # its runner is seen elsewhere
    groups.remove_left_groups(tmp_path)
    os.close(lock)
    assert sorted(killed) == [(12, signal.SIGKILL), (13, signal.SIGKILL)]
    stay = [(os.getpid(), 0), (os.getpid(), 1), *((no_process, number) for number in (1, 2, 3))]
    assert {path.name for path in tmp_path.iterdir()} == {
        f"arena-run-{process}-{number}" for process, number in stay
    }


def test_controllers_are_handed_down_if_the_kernel_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = level(tmp_path / "group", handed_down="cpu")
    assert groups.hands_down(group)
    assert (group / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"

    def refuse(path: Path, text: str) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    assert not groups.hands_down(group)


def test_processes_are_killed_by_the_group_or_one_by_one(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = groups.new_group()
    assert group is not None
    killed = []
    monkeypatch.setattr(groups.os, "kill", lambda *call: killed.append(call))
    folder = write(group.folders["pids"])
    group._kill({12})
    assert killed == [(12, signal.SIGKILL)]
    write(folder, cgroup__kill="")
    group._kill({13})
    assert (killed, (folder / "cgroup.kill").read_text()) == ([(12, signal.SIGKILL)], "1")


def test_without_control_groups_there_is_none(kernel: Callable[[str, str], None]) -> None:
    kernel("", "")
    assert groups.new_group() is None
    with groups.group_for(BOX) as group:
        assert group is None


def test_processes_that_do_not_end_are_a_fault_of_the_machine(
    tmp_path: Path, kernel: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel("30 20 0:5 / {}/v2 rw - cgroup2 cgroup2 rw\n", "0::/\n")
    level(tmp_path / "v2", handed_down="cpu memory pids")
    group = groups.new_group()
    assert group is not None
    write(group.folders["pids"], cgroup__procs=f"{2**22 + 1}\n")
    monkeypatch.setattr(groups, "SECONDS_TO_END", 0.01)
    with pytest.raises(SandboxError, match="Of the processes of a program 1 could not be ended"):
        group.kill()


@pytest.mark.slow
@pytest.mark.skipif(not groups.has_groups(), reason="this user can make no control groups")
def test_the_next_run_ends_what_a_killed_runner_left() -> None:
    """Between two system calls, bubblewrap does not end with its runner."""
    group, no_process = groups.new_group(), 2**22 + 1
    assert group is not None
    with subprocess.Popen(["sleep", "100"]) as left:
        for door in group.doors:
            other = door.parent.with_name(f"arena-run-{no_process}-0")
            other.mkdir()
            (other / door.name).write_text(str(left.pid))
        with groups.group_for(BOX):
            assert left.wait(10) == -signal.SIGKILL
    assert groups_of(no_process) == []
