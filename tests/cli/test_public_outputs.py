"""Public outputs hold no label; tables hold no formula, also for hostile team names."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from competition_folder import IDS, change, write_file
from program import UNPROTECTED, run_here, write_csv

pytestmark = pytest.mark.slow

LABELS = [f"{row * 7919 % 100003}.{row:04d}77" for row in range(1, len(IDS) + 1)]


def test_no_label_is_in_any_public_output_or_export(tmp_path: Path) -> None:
    """Of numbers that occur nowhere else; the export holds predictions, but no label either."""
    write_csv(tmp_path / "solution.csv", ["id", "y"], list(zip(IDS, LABELS, strict=True)))
    files = tmp_path / "files"
    for number, team in enumerate("abc"):
        write_csv(files / f"{team}.csv", ["id", "y"], [(i, row * number + 1) for row, i in
                                                       enumerate(IDS)])  # fmt: skip
    write_csv(files / "d.csv", ["id", "y"], [(i, "x") for i in IDS[3:]])
    init = (
        "init",
        "c",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "mae",
        "--public-share",
        0.5,
    )
    calls = [run_here(*init, cwd=tmp_path)]
    change(tmp_path / "c", "resamples = 1000", "resamples = 40")
    call_there = partial(run_here, cwd=tmp_path / "c")
    for command in (
        ("import", "../files"),
        ("finalize",),
        ("leaderboard", "--private"),
        ("leaderboard", "--html", "../board.html"),
        ("report", "--public", "--out", "../public.html"),
        ("replay", "--mechanism", "full"),
        ("rescore", "--solution", "../solution.csv"),
        ("export", "../out"),
        ("verify", "../out", "../solution.csv"),
        ("verify", "../out", "../files/a.csv"),
        ("submit", "../solution.csv", "-t", "thief"),
        ("audit", "--json"),
        ("repair",),
    ):
        calls.append(call_there(*command, "--verbose"))
    codes = {" ".join(map(str, call.args)): call.returncode for call in calls}
    assert list(codes.values()).count(0) >= len(calls) - 2, codes
    output = "".join(call.stdout + call.stderr for call in calls)
    written = [tmp_path / "board.html", tmp_path / "public.html", *(tmp_path / "out").rglob("*")]
    beside = (p for p in (tmp_path / "c").iterdir() if p.suffix != ".duckdb" and p.is_file())
    texts = [output, *(p.read_text(encoding="utf-8") for p in (*written, *beside) if p.is_file())]
    assert len(texts) > 12
    assert not [label for label in LABELS for text in texts if label in text]


HOSTILE = (
    "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\uff1d1+1", "\uff20x", "\u202e=1", "\u200f=1",
    "|x",
    "<b>[red]x[/red]</b>", "\U0001f600" * 100, 'a"b,c', "'=1", "\N{ZERO WIDTH JOINER}=1",
)  # fmt: skip
LEADS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def test_no_table_of_the_program_starts_a_formula(here: Path) -> None:
    call = partial(run_here, cwd=here / "c")
    change(here / "c", "resamples = 1000", "resamples = 40")
    for number, team in enumerate(HOSTILE):
        file = write_file(here / f"{team[:1] if number < 4 else number}x.csv", number)
        called = call("submit", file, f"--team={team}")
        assert called.returncode == 0, called.stderr
    for spaced in ("\t=1", "\r=1", " =1"):
        file = write_file(here / "spaced.csv", 77)
        call("submit", file, f"--team={spaced}")
    assert call("finalize").returncode == 0
    assert call("export", "../out").returncode == 0
    assert run_here("verify", "out", "solution.csv", cwd=here).returncode == 0
    tables = {path.name: path.read_text("utf-8") for path in (here / "out").glob("*.csv")}
    for options in ((), ("--private",)):
        tables[f"leaderboard {options}"] = call("leaderboard", "--csv", *options).stdout
    assert len(tables) == 6
    for name, text in tables.items():
        assert not set(text) & {"\u202e", "\u200f", "\t", "\r"}, name
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                assert not cell.startswith(LEADS) or _is_number(cell), (name, cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell[0] in "-"


# -- disks -----------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 80 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can mount a disk for this test")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_full_or_read_only_is_told_in_a_line(here: Path, small_disk: Path) -> None:
    change(here / "c", "resamples = 1000", "resamples = 40")
    folder = Path(shutil.copytree(here / "c", small_disk / "c"))
    call = partial(run_here, cwd=folder)
    assert call("submit", here / "files" / "a.csv", "-t", "a").returncode == 0
    assert call("finalize").returncode == 0
    (small_disk / "filler").write_bytes(bytes(40 * 2**20))
    for command in (
        ("submit", here / "files" / "b.csv", "-t", "b"),
        ("import", here / "files"),
        ("finalize",),
    ):
        called = call(*command)
        assert (called.returncode, called.stdout) == (1, "")
        assert len(called.stderr.splitlines()) == 1
        assert "Free some space" in called.stderr
    assert call("audit").returncode == 0  # an audit writes nothing
    (small_disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for command in (
        ("submit", here / "files" / "b.csv", "-t", "b"),
        ("export", folder / "out"),
        ("repair",),
        ("init", small_disk / "d", "--solution", here / "solution.csv", "--metric", "roc_auc"),
    ):
        called = call(*command)
        assert (called.returncode, called.stdout) == (1, ""), command
        assert len(called.stderr.splitlines()) == 1
        assert "ead-only" in called.stderr or "Read and write permission" in called.stderr
    assert call("audit").returncode == 0
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert call("submit", here / "files" / "b.csv", "-t", "b").returncode == 0
    assert call("audit").returncode == 0
