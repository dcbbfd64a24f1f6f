"""Competitions that an earlier version wrote, kept as files: they are upgraded, audited and run on.

Each has a team that was renamed, a disqualification, a corrected solution and a final result. The
name of their folder has the version of their tables: in 7 a release did not say whose score it is,
in 8 a submission had no phase, and in 9 settings had the keys ``publish_secondary`` and ``epoch``.
"""

from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.earlier_settings import upgrade_competition, use_current_keys
from arena.competition.record.settings_agreement import check_agreement
from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, StoreFormatError
from arena.utils.parallel import NoProgress
from scenario import MANAGER

FOLDER = Path(__file__).parent / "competitions-7"
FOLDER_8 = FOLDER.with_name("competitions-8")
FOLDER_9 = FOLDER.with_name("competitions-9")
SOURCES = {
    "kaggle": {},
    "ladder-free": {3: 2, 5: 2, 6: 4},
    "noisy-ladder": {3: 2, 5: 2, 6: 4},
    "thresholdout": {5: 3, 6: 4},
}
"""The mechanism -> the submissions that were shown an earlier score, and whose score it is."""


def later() -> datetime:
    return datetime(2026, 12, 1, tzinfo=UTC)


def unpacked(archive_file: Path, folder: Path, version: int) -> Path:
    """Unpack a competition into a folder, and upgrade it from its version."""
    with tarfile.open(archive_file) as archive:
        archive.extractall(folder, filter="data")
    with pytest.raises((InputError, StoreFormatError), match="arena upgrade"):
        Competition.open(folder, manager=MANAGER, clock=later)
    done = upgrade_competition(folder, actor="host", time=later())
    assert f"upgraded from version {version} to" in done[0]
    assert "[public] epoch was removed" in done[1]
    return folder


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", SOURCES)
def test_an_older_competition_is_upgraded_and_runs_on(tmp_path: Path, mechanism: str) -> None:
    unpacked(FOLDER / f"{mechanism}.tar.xz", tmp_path, 7)
    with Competition.open(tmp_path, manager=MANAGER, clock=later) as competition:
        assert competition.audit() == ()
        assert competition.mark(private=True) is None
        board = competition.leaderboard()
        repeated = {
            release.submission: release.release.source
            for release in competition._state.store.releases(1)
            if release.release.source is not None
        }
        assert repeated == SOURCES[mechanism]
        if mechanism in {"kaggle", "ladder-free"}:  # a changed score gets noise of its own
            (again,) = competition.replay([competition.settings.public.mechanism]).replayed
            assert {(standing["team"], standing["score"]) for standing in again.standings} == {
                (row["team"], row["score"]) for row in board
            }
        assert competition.quota_used("A") == 3
        competition.disqualify(5, "a leak")
        assert competition.mark(private=True) is not None
        assert competition.audit() == ()


@pytest.mark.slow
def test_a_result_that_was_public_becomes_the_first_version(tmp_path: Path) -> None:
    unpacked(FOLDER / "published.tar.xz", tmp_path, 7)
    with Competition.open(tmp_path, manager=MANAGER, clock=later) as competition:
        board = competition.published_private_leaderboard(1)
        assert board is not None
        assert [row["team"] for row in board["leaderboard"]] == ["A", "B"]
        assert board["leaderboard"][0]["public_score"] == 0.9
        competition.disqualify(1, "a leak")
        (result,) = competition.results()
        assert (result["state"], result["mark"] is not None) == ("published", True)
        competition.finalize()
        assert competition.publish() == 2
        assert competition.audit() == ()


@pytest.mark.slow
def test_a_competition_of_version_8_keeps_its_board_its_late_files_and_its_results(
    tmp_path: Path,
) -> None:
    unpacked(FOLDER_8 / "ladder-free.tar.xz", tmp_path, 8)
    with Competition.open(tmp_path, manager=MANAGER, clock=later) as competition:
        assert competition.audit() == ()
        assert [(row["team"], row["score"]) for row in competition.leaderboard()] == [
            ("A", 0.87),
            ("base", 0.84),
            ("B", 0.77),
        ]
        assert [row["score"] for row in competition.late_files()] == [0.86]
        assert [result["state"] for result in competition.results()] == ["replaced", "published"]
        assert competition.outdated() is None
        assert {record.phase for record in competition.records()} == {""}
        competition.export(tmp_path / "export")  # with the settings as they were recorded
        settings = json.loads((tmp_path / "export" / "settings.json").read_text("utf-8"))
        assert "phase" not in settings
        competition.reinstate(submission=4, reason="one person after all")
        assert competition.outdated() is not None
        assert competition.audit() == ()


@pytest.mark.slow
def test_keys_of_version_9_become_columns_and_its_export_is_verified(tmp_path: Path) -> None:
    folder = unpacked(FOLDER_9 / "kaggle.tar.xz", tmp_path, 9)
    text = (folder / CONFIG_NAME).read_text(encoding="utf-8")
    assert 'columns = ["mse", "x", "y_1"]' in text
    assert not {"epoch", "publish_secondary", "raise", "increase"} & set(text.split())
    with Competition.open(folder, manager=MANAGER, clock=later) as competition:
        assert competition.audit() == ()
        assert competition.published_scores == ("mse", "mae of x", "mae of y_1")
        row = competition.published_private_leaderboard(1)["leaderboard"][0]
        assert row["mae of x"] == pytest.approx(0.349671, abs=1e-6)
        assert [row["score"] for row in competition.leaderboard()] == [0.35, 0.55, 0.75]
        assert competition.outdated() is None
        competition.export(tmp_path / "again")
    for export in (folder / "export", tmp_path / "again"):
        assert verify_bundle(export, folder / "solution.csv", MANAGER, NoProgress()) == ()
    (sentence,) = upgrade_competition(folder, actor="host")
    assert "nothing was changed" in sentence


def test_phases_publish_the_columns_that_they_published() -> None:
    settings = {
        "data": {"target": ["x", "y"]},
        "metric": {"name": "mae", "secondary": ["mse"], "publish_secondary": True},
        "public": {"mechanism": "full", "epoch": 2},
        "phase": {
            "as-all": {"private_rows": "as-all", "metric": {"decimals": 2}},
            "same": {"private_rows": "same", "metric": {"publish_secondary": True}},
            "hidden": {"private_rows": "hidden", "metric": {"publish_secondary": False}},
            "other": {
                "private_rows": "other",
                "metric": {"name": "rmse", "secondary": ["r2"], "publish_secondary": True},
            },
            "by-name": {"private_rows": "by-name", "metric": "r2"},
        },
    }
    assert len(use_current_keys(settings)) == 6
    assert settings == {
        "data": {"target": ["x", "y"]},
        "metric": {"name": "mae", "secondary": ["mse"]},
        "final": {"columns": ["mse", "x", "y"]},
        "public": {"mechanism": "full"},
        "phase": {
            "as-all": {"private_rows": "as-all", "metric": {"decimals": 2}},
            "same": {"private_rows": "same", "metric": {}},
            "hidden": {"private_rows": "hidden", "metric": {}, "final": {"columns": []}},
            "other": {
                "private_rows": "other",
                "metric": {"name": "rmse", "secondary": ["r2"]},
                "final": {"columns": ["r2", "x", "y"]},
            },
            "by-name": {"private_rows": "by-name", "metric": "r2", "final": {"columns": []}},
        },
    }
    assert use_current_keys(settings) == []
    check_agreement(Settings.model_validate(settings))
    of_one_target = {
        "data": {"target": ["x"]},
        "metric": {"name": "mae", "secondary": ["mse"], "publish_secondary": True},
    }
    use_current_keys(of_one_target)
    assert of_one_target["final"] == {"columns": ["mse"]}


def test_every_kept_competition_has_its_case() -> None:
    assert {path.name for path in FOLDER_9.iterdir()} == {"kaggle.tar.xz"}
    assert {path.name for path in FOLDER_8.iterdir()} == {"ladder-free.tar.xz"}
    names = {path.name.removesuffix(".tar.xz") for path in FOLDER.iterdir()}
    assert names == {*SOURCES, "published"}
