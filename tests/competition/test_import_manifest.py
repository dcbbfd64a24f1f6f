"""A folder imported with its original times and teams."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from arena.errors import InputError
from arena.intake import find_submissions, ordered_by_manifest
from arena.utils.tabular import read_csv
from scenario import START, Scenario


@pytest.fixture
def folder(tmp_path: Path, scenario: Scenario) -> Path:
    """Write three files."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, name in enumerate(("a", "b", "c")):
        scenario.file(number).rename(folder / f"{name}.csv")
    return folder


def written(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "times.csv"
    path.write_text("\n".join(("file,received,team", *rows)) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_submissions_keep_their_times_and_teams(
    tmp_path: Path, scenario: Scenario, folder: Path
) -> None:
    manifest = written(
        tmp_path,
        "a.csv,2025-03-02T10:00:00,",
        "b.csv,2025-03-01T12:00:00+02:00,Zoe",
        "c.csv,2025-03-01T09:00:00Z,Zoe",
    )
    scenario.clock.now = START + timedelta(days=1)
    with scenario.create(total=1, per_day=1) as competition:
        answers = list(competition.import_folder(folder, manifest=manifest))
        assert [(answer.team, answer.status) for answer in answers] == [
            ("Zoe", "accepted"), ("Zoe", "accepted"), ("a", "accepted")
        ]  # fmt: skip
        stored = competition.submissions()
        assert [(row["file"], row["received"]) for row in stored] == [
            ("c.csv", "2025-03-01T09:00:00+00:00"),
            ("b.csv", "2025-03-01T10:00:00+00:00"),
            ("a.csv", "2025-03-02T10:00:00+00:00"),
        ]
        again = list(competition.import_folder(folder, manifest=manifest))
        assert [answer.submission for answer in again] == [1, 2, 3]
    with scenario.reopen() as competition:
        assert competition.audit() == ()
        assert competition.verify_events() is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("a.csv,2025-03-02,",), "does not list 'b.csv', 'c.csv'"),
        (("a.csv,yesterday,",), "row 2: 'yesterday' is no time"),
        (("a.csv,2925-03-02,",), "is in the future"),
        (("a.csv,2025-03-02,", "a.csv,2025-03-02,"), "row 3: 'a.csv' is there twice"),
        (
            tuple(f"{name}.csv,2025-03-02," for name in "abcd"),
            "lists 'd.csv', which the folder does not have",
        ),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    tmp_path: Path, folder: Path, rows: tuple[str, ...], message: str
) -> None:
    files = find_submissions([folder])
    with pytest.raises(InputError, match=message):
        ordered_by_manifest(files, written(tmp_path, *rows), START)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_small_tables_of_the_organiser_may_have_other_delimiters(
    tmp_path: Path, folder: Path, delimiter: str
) -> None:
    manifest = written(
        tmp_path, "c.csv,2025-03-02,Zoe", "a.csv,2025-03-01,", "b.csv,2025-03-03,Yan"
    )
    manifest.write_text(manifest.read_text().replace(",", delimiter))
    files = find_submissions((folder,))
    dated = ordered_by_manifest(files, manifest, START + timedelta(days=1_000))
    assert [file.team for file, _ in dated] == ["a", "Zoe", "Yan"]
    header, rows = read_csv(manifest)
    assert (header, rows[0]) == (["file", "received", "team"], (2, ["c.csv", "2025-03-02", "Zoe"]))
