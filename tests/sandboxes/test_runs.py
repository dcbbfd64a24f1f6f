"""Programs end as their limits and their own exit codes say, and nothing of them is left."""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.errors import InputError, SandboxError
from arena.interfaces import Box, End, Job, Outcome, Sandbox
from arena.programs.digests import digest_of_folder
from arena.programs.environments import unpack_environment
from arena_sandboxes.bubblewrap import Bubblewrap
from arena_sandboxes.groups import has_groups
from arena_sandboxes.podman import Podman

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]
SANDBOXES = {"bwrap": Bubblewrap(), "podman": Podman()}
each_sandbox = pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param(
            sandbox,
            id=name,
            marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}"),
        )
        for name, sandbox in SANDBOXES.items()
    ],
)
OUTPUT = "open('/output/predictions.csv', 'w').write('id,y\\n1,2\\n')\n"
LIMITS: dict[str, Any] = {
    "seconds": 20, "memory_mb": 128, "disk_mb": 16, "cores": 1, "processes": 16,
    "output_bytes": 1000,
}  # fmt: skip
ENDS = {
    "it writes its output": (OUTPUT + "print('log')", {}, End.OK, b"log\n"),
    "it reads its input": ("print(open('/input/rows.csv').read())", {}, End.NO_OUTPUT, b"row\n\n"),
    "it fails after its output": (OUTPUT + "raise SystemExit(3)", {}, End.CRASH, b""),
    "a signal ends it": (OUTPUT + "import os; os.abort()", {}, End.CRASH, b""),
    "it runs on": (OUTPUT + "while True: pass", {"seconds": 0.5}, End.TIME, b""),
    "it needs memory": ("bytearray(2**28)", {}, End.MEMORY, b""),
    "it needs disk": ("open('/tmp/x', 'wb').write(bytes(2**25))", {}, End.DISK, None),
    "it writes too much": (
        "open('/output/predictions.csv', 'w').write('x' * 1001)", {}, End.OUTPUT_TOO_LARGE, b"",
    ),
    "its log is cut": (OUTPUT + "print('x' * 10**6)", {"log_bytes": 10}, End.OK, b"x" * 10),
}  # fmt: skip


def run(
    folder: Path,
    program: str,
    outputs: Sequence[str] = ("predictions.csv",),
    sandbox: Sandbox | None = None,
    environment: Path | None = None,
    command: tuple[str, ...] = ("python3", "main.py"),
    **limits: Any,
) -> Outcome:
    for name in ("program", "input", "target"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "program" / "main.py").write_text(program)
    (folder / "input" / "rows.csv").write_text("row\n")
    job = Job(
        program=folder / "program",
        command=command,
        inputs=folder / "input",
        outputs=tuple(outputs),
        target=folder / "target",
        environment=environment,
    )
    return (sandbox or Bubblewrap()).run(job, Box(**(LIMITS | limits)))


@each_sandbox
@pytest.mark.parametrize("case", ENDS)
def test_a_program_ends_as_it_must(case: str, sandbox: Sandbox, tmp_path: Path) -> None:
    program, limits, end, log = ENDS[case]
    outcome = run(tmp_path, program, sandbox=sandbox, **limits)
    assert (outcome.end, outcome.output is not None) == (end, end is End.OK), outcome.log
    assert log is None or outcome.log == log
    assert outcome.seconds < limits.get("seconds", 20) + 1
    assert 0 < outcome.peak_mb <= LIMITS["memory_mb"]
    assert [path.read_text() for path in (tmp_path / "target").iterdir()] == (
        ["id,y\n1,2\n"] if end is End.OK else []
    )


def test_a_folder_is_packed(tmp_path: Path) -> None:
    program = "import os; os.makedirs('/output/predictions/a')\n" + "".join(
        f"open('/output/predictions/{name}', 'w').write('x')\n" for name in ("b.png", "a/c.png")
    )
    outcome = run(tmp_path, program, outputs=("predictions.csv", "predictions/"))
    assert outcome.output is not None
    shutil.unpack_archive(outcome.output, tmp_path / "unpacked")
    assert outcome.output.name == "predictions.zip"
    assert sorted(path.name for path in (tmp_path / "unpacked").rglob("*.png")) == [
        "b.png",
        "c.png",
    ]


def test_a_machine_that_cannot_run_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="A run needs 1 GPUs, and /dev/nvidia"):
        run(tmp_path, OUTPUT, gpus=1)


@each_sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_a_run_gets_its_devices_and_no_others(tmp_path: Path, sandbox: Bubblewrap | Podman) -> None:
    """Stand-ins for GPUs: nodes of /dev/zero and /dev/null."""
    names = ("arena-gpu0", "arena-gpu1", "arena-gpuctl")
    nodes = [Path("/dev") / f"{tmp_path.name}-{name}" for name in names]
    program = f"""\
import os
seen = sorted(name for name in os.listdir("/dev") if "arena-gpu" in name)
assert open("/dev/{nodes[0].name}", "rb").read(3) == bytes(3)
print(*seen)
"""
    try:
        for node in nodes:
            os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 5))
            node.chmod(0o666)
        with_gpus = replace(sandbox, gpu_devices=f"/dev/{tmp_path.name}-arena-gpu*")
        outcome = run(tmp_path, program, sandbox=with_gpus, gpus=1)
    finally:
        for node in nodes:
            node.unlink(missing_ok=True)
    assert outcome.log.decode().split() == [nodes[0].name, nodes[2].name], outcome.log


def kept_pages(path: Path) -> int:
    """Return of how many pages of a file the system has a copy in memory; asks without reading."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as seen:
        pages = (ctypes.c_ubyte * (len(seen) // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(seen)
        answer = libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), len(seen), pages)
        del start
    assert answer == 0
    return sum(page & 1 for page in pages)


@each_sandbox
def test_no_trace_of_what_was_read_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    """By the time of reading, a later program could tell the bits of an earlier one."""
    if not has_groups():
        pytest.skip("this user can make no control groups")
    large = tmp_path / "input" / "large"
    program = OUTPUT + f"print(len(open('/input/{large.name}', 'rb').read()))"
    large.parent.mkdir()
    with large.open("wb") as file:
        file.write(bytes(2**22))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if kept_pages(large):
        pytest.skip("this file system is in memory")
    outcome = run(tmp_path, program, sandbox=sandbox)
    assert (outcome.log, kept_pages(large)) == (b"4194304\n", 0)


def image(path: Path) -> Path:
    """Write an image with a shell, its libraries, a model, a device and a setuid program."""
    listing = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"/\S+\.so\S*", listing)
    with tarfile.open(path, "w") as archive:
        for name in ("/bin/sh", *libraries):
            archive.add(Path(name).resolve(), name)
        for name, kind, mode in (
            ("usr", tarfile.DIRTYPE, 0o755),
            ("opt/model.txt", tarfile.REGTYPE, 0o4755),
            ("dev/sda", tarfile.BLKTYPE, 0o666),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.size = kind, mode, 8 * (kind == tarfile.REGTYPE)
            archive.addfile(member, io.BytesIO(b"weights\n"))
        for name, target in (("etc", "/etc"), ("opt/a:b", "/etc/passwd")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return path


@each_sandbox
def test_an_image_is_seen_instead_of_the_system(sandbox: Sandbox, tmp_path: Path) -> None:
    environment = unpack_environment(image(tmp_path / "image.tar"), tmp_path / "environments")
    root = environment.folders["root"]
    assert not (root / "dev" / "sda").exists()
    assert stat.S_IMODE((root / "opt" / "model.txt").stat().st_mode) == 0o755
    program = (
        "read what < /opt/model.txt; echo $what /usr/* /home/* $TRICK; "
        "[ -e /etc/passwd ] && echo seen; echo id > /output/predictions.csv"
    )
    outcome = run(
        tmp_path,
        program,
        sandbox=sandbox,
        environment=environment.folder,
        command=("/bin/sh", "main.py"),
    )
    assert (outcome.end, outcome.log) == (End.OK, b"weights /usr/* /home/*\n")
    assert digest_of_folder(root) == environment.digest


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"x" * 1024)
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../../a"))
    with tarfile.open(tmp_path / "saved.tar", "w") as archive:  # by podman save, with settings
        settings = b'{"config": {"Env": ["LD_PRELOAD=/a.so"], "Volumes": {"/data": {}}}}'
        member = tarfile.TarInfo("config.json")
        member.size = len(settings)
        archive.addfile(member, io.BytesIO(settings))
    for name, message in (
        ("a", "cannot be unpacked"), ("b", "holds no file system"), ("c", "cannot be unpacked"),
        ("d", "cannot be unpacked"), ("saved", "write one with podman export"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            unpack_environment(tmp_path / f"{name}.tar", tmp_path / "environments")
    assert list((tmp_path / "environments").iterdir()) == []


@each_sandbox
def test_a_check_finds_this_machine_able(sandbox: Sandbox) -> None:
    sentences = sandbox.check()
    assert all(
        "runner is root" in sentence or "control group" in sentence for sentence in sentences
    )
    assert {"linux", sandbox.name} <= set(sandbox.versions())


@pytest.mark.skipif(shutil.which("podman") is None, reason="there is no podman")
def test_only_podman_itself_can_say_that_it_could_not_run_a_program(tmp_path: Path) -> None:
    """Otherwise a program could choose its exit code so that its failure does not count."""
    assert run(tmp_path, "raise SystemExit(125)", sandbox=Podman()).end is End.CRASH
    with pytest.raises(SandboxError, match="podman could not run a program: Error"):
        run(tmp_path, OUTPUT, sandbox=Podman(oci_runtime="false"))


@pytest.mark.skipif(shutil.which("podman") is None, reason="there is no podman")
def test_a_runner_whose_new_files_are_its_own_shows_them_to_the_program(tmp_path: Path) -> None:
    """systemd starts it with UMask=0077."""
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "rows.csv").touch()
    mask = os.umask(0o077)
    try:
        outcome = run(tmp_path, OUTPUT + "print(open('/etc/passwd').read())", sandbox=Podman())
    finally:
        os.umask(mask)
    assert (outcome.end, outcome.log) == (End.OK, b"user:x:1000:1000::/tmp:/bin/sh\n\n")


@pytest.mark.skipif(shutil.which("podman") is None, reason="there is no podman")
def test_inputs_that_the_user_of_a_program_cannot_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "a.csv").touch(mode=0o600)
    with pytest.raises(SandboxError, match=r"a.csv cannot be read .* chmod -R o\+rX .*input"):
        run(tmp_path, OUTPUT, sandbox=Podman())


@pytest.mark.parametrize("pattern", ["/nowhere/bwrap", "/bin/false"])
def test_a_machine_without_bubblewrap_is_told_what_to_do(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").symlink_to(pattern)
    monkeypatch.setenv("PATH", str(tmp_path))
    (sentence,) = Bubblewrap().check()
    assert sentence.startswith(
        "There is no bubblewrap on this machine: apt-get install"
        if "nowhere" in pattern
        else "bwrap could not run a program: it was killed. Run arena programs check"
    )
