"""A competition that is looked at: nothing is written, and permission to read is enough."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena import CompetitionView
from arena.competition.boards import finalize
from arena.competition.boards import results as results_module
from arena.errors import StoreBusyError, StoreError
from arena.store import Store
from program import run_here
from scenario import Scenario

LOOKS = [
    ("leaderboard",),
    ("leaderboard", "--private"),
    ("submissions",),
    ("audit",),
    ("replay", "--mechanism", "ladder-free"),
    ("report", "--out", "../report.html", "--public"),
]


@pytest.fixture(scope="module")
def finalized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A competition that was finalized, which no test changes."""
    folder = tmp_path_factory.mktemp("finalized")
    with Scenario(folder).create(resamples=20, intervals=True) as competition:
        for file, team in Scenario(folder).history(4):
            competition.submit(file, team)
        competition.finalize(workers=1)
    return folder


@pytest.fixture
def folder(finalized: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(finalized, tmp_path / "copy")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = sorted(file for file in (folder / "c").rglob("*") if file.is_file())
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.fixture
def no_writing(folder: Path) -> Iterator[Path]:
    """The same where nothing can be written, even by root where that can be arranged."""
    place = folder / "c"
    if os.geteuid() == 0:
        mount = ("mount", "--bind", place, place)
        remount = ("mount", "-o", "remount,ro,bind", place)
        if not shutil.which("mount") or any(
            subprocess.run(call, capture_output=True, check=False).returncode
            for call in (mount, remount)
        ):
            subprocess.run(("umount", place), capture_output=True, check=False)
            pytest.skip("root writes everywhere, and nothing can be mounted here")
        yield folder
        subprocess.run(("umount", place), check=True)
        return
    for path in (*place.iterdir(), place):
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    place.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", LOOKS, ids=" ".join)
def test_read_permission_is_enough_to_look(no_writing: Path, arguments: tuple[str, ...]) -> None:
    called = run_here(*arguments, cwd=no_writing / "c")
    assert called.returncode == 0, called.stderr


@pytest.mark.slow
def test_what_writes_says_what_it_needs(no_writing: Path) -> None:
    file = Scenario(no_writing).file(9, 0.7)
    called = run_here("submit", file, "--team", "late", cwd=no_writing / "c")
    assert called.returncode == 1
    assert "Read and write permission for the file and its folder is needed" in called.stderr


@pytest.mark.slow
def test_no_look_writes_or_releases_again(folder: Path) -> None:
    Scenario(folder).configure(mechanism="ladder-free", resamples=30, intervals=True)
    before = contents(folder)
    with CompetitionView.open(folder / "c") as competition:
        board = competition.leaderboard()
    for arguments in LOOKS:
        called = run_here(*arguments, cwd=folder / "c")
        assert called.returncode == 0, called.stderr
        # The audit reads the database and not competition.toml, which is no part of the record.
        sentence = "changes what the public board shows"
        assert (sentence in called.stderr) == (arguments != ("audit",))
    assert contents(folder) == before
    with Store.open(folder / "c" / "arena.duckdb", read_only=True) as store:
        assert store.releases(2) == ()
    with Scenario(folder).reopen() as competition:
        (note, *_) = competition.notes
        assert note.startswith("The public board was released again: 4 submissions")
        assert len(board) == len(competition.leaderboard())


def test_a_look_knows_what_the_record_does_not_know_yet(folder: Path) -> None:
    with CompetitionView.open(folder / "c") as competition:
        assert competition.outdated() is None
    Scenario(folder).configure(resamples=30, intervals=True, title="New")
    with CompetitionView.open(folder / "c") as competition:
        assert competition.settings.competition.title == "New"
        assert "change of analysis.resamples" in (competition.outdated() or "")
        kinds = [event.kind for event in competition.events()]
    assert "configuration" not in kinds


@pytest.mark.slow
def test_readers_share_the_folder_and_exclude_a_writer(folder: Path) -> None:
    path = folder / "c" / "arena.duckdb"
    with Store.open(path, read_only=True) as first, Store.open(path, read_only=True) as second:
        assert len(first.submissions()) == len(second.submissions()) == 4
        with pytest.raises(StoreError, match="opened read-only"), first.transaction():
            pass
        with pytest.raises(StoreBusyError, match="already open in this process"):
            Store.open(path)
    with (
        Scenario(folder).reopen(),
        pytest.raises(StoreBusyError, match="already open in this process"),
    ):
        CompetitionView.open(folder / "c")


@pytest.mark.slow
def test_a_log_that_a_kill_left_is_read_and_left(folder: Path, tmp_path: Path) -> None:
    path = folder / "c" / "arena.duckdb"
    with Store.open(path) as store:
        with store.transaction() as transaction:
            transaction.append_event("note", "host", {})
        killed = Path(shutil.copytree(folder / "c", tmp_path / "killed")) / "arena.duckdb"
    before = {file.name: file.read_bytes() for file in killed.parent.iterdir()}
    assert "arena.duckdb.wal" in before
    with Store.open(killed, read_only=True) as store:
        assert [event.kind for event in store.events()][-1] == "note"
    assert {file.name: file.read_bytes() for file in killed.parent.iterdir()} == before


@pytest.mark.parametrize(("greater", "ranks"), [(True, (1, 2, 4)), (False, (4, 2, 1))])
def test_the_private_rank_of_a_file_is_that_among_the_finals(
    greater: bool, ranks: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The finals are 0.75, 0.5 and 0.25: a file with 0.5 is second, a better or worse one not.
    scores = {1: 0.9, 2: 0.5, 3: 0.1}
    rows = [{"rank": 1, "score": score} for score in (0.75, 0.5, 0.25)]
    rows += [{"rank": None, "score": 0.99}, {"rank": 4, "score": None}]
    monkeypatch.setattr(finalize, "private_scores", lambda board: scores)
    server = SimpleNamespace(private_scores="own")
    view: Any = SimpleNamespace(
        results=lambda: [{"state": "retracted"}, {"state": "published"}],
        settings=SimpleNamespace(server=server),
        greater_is_better=greater,
        private_leaderboard=lambda: rows,
        _board=None,
    )
    private_scores = CompetitionView.private_scores_for_teams(view)
    assert private_scores == {
        number: (scores[number], rank) for number, rank in enumerate(ranks, 1)
    }
    server.private_scores = "board"
    assert CompetitionView.private_scores_for_teams(view) == {}
    server.private_scores = "own"
    for results in ([], [{"state": "published"}, {"state": "retracted"}]):
        view.results = lambda results=results: results
        assert CompetitionView.private_scores_for_teams(view) == {}


def test_the_last_file_of_a_team_is_that_of_before_a_freeze() -> None:
    noon, later = "2026-03-01T12:00:00+00:00", "2026-03-01T12:00:01+00:00"
    rows = [
        {"team": "a", "status": "accepted", "received": noon},
        {"team": "a", "status": "rejected", "received": later},
        {"team": "b", "status": "accepted", "received": noon},
        {"team": "b", "status": "accepted", "received": later},
    ]
    view: Any = SimpleNamespace(frozen_since=None, submissions=lambda: rows)
    assert CompetitionView.last_entries(view) == {"a": noon, "b": later}
    view.frozen_since = datetime.fromisoformat(noon)
    assert CompetitionView.last_entries(view) == {"a": noon, "b": noon}


def test_the_last_of_several_published_boards_is_shown_without_a_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published = [SimpleNamespace(version=version) for version in (1, 2, 3)]
    monkeypatch.setattr(results_module, "published_results", lambda _: published)
    monkeypatch.setattr(
        results_module, "for_participants", lambda _, result, board: (result, board)
    )
    view: Any = SimpleNamespace(_board="board", leaderboard=lambda *, live: f"live: {live}")
    for version, position in ((None, 2), (1, 0), (3, 2)):
        board = CompetitionView.published_private_leaderboard(view, version)
        assert board == (published[position], "live: True")
    assert CompetitionView.published_private_leaderboard(view, 4) is None
