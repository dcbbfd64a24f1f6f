"""The time and the team that a manifest gives each file, and the sentence of each refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.errors import InputError
from arena.intake import manifest, ordered_by_manifest
from arena.intake.folder import SubmissionFile
from arena.types import Fault

NOW = datetime(2025, 4, 1, tzinfo=UTC)
LONG = Fault(
    "team name", "The team name has 101 characters, but at most 100 are allowed: shorten it."
)
LINK = Fault("link", "The file is a broken link: send the file itself.")
FILES = tuple(
    SubmissionFile(team, Path(name), name, faults)
    for team, name, faults in (
        ("ant", "ant.csv", ()),
        ("bee", "bee/1.csv", ()),
        ("bee", "bee/2.csv", (LINK,)),
        ("x" * 99 + "…", "x" * 101 + ".csv", (LONG,)),
        ("z" * 99 + "…", "z" * 101 + ".csv", (LONG,)),
    )
)
X, Z = FILES[3].name, FILES[4].name


def refusal(path: Path, now: datetime = NOW) -> str:
    with pytest.raises(InputError) as refused:
        ordered_by_manifest(FILES, path, now)
    return str(refused.value).replace(str(path), "m.csv")


def test_files_have_the_time_and_the_team_of_the_manifest(tmp_path: Path) -> None:
    """Files are in the order of their times and names; without a team a file keeps its own."""
    path = tmp_path / "m.csv"
    path.write_text(
        "file,received,team\n"
        f" {X} ,2025-03-02,\n"
        f"{Z},2025-03-03,Yan\n"
        "bee/2.csv,2025-03-01T12:00:00+02:00, Zoe \n"
        "bee/1.csv, 2025-03-01T10:00:00Z ,\n"
        f"ant.csv,2025-04-01,{'y' * 101}\n",
        encoding="utf-8-sig",
    )
    dated = ordered_by_manifest(FILES, path, NOW)
    assert [(file.team, file.name, file.faults, time) for file, time in dated] == [
        ("bee", "bee/1.csv", (), datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("Zoe", "bee/2.csv", (LINK,), datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("x" * 99 + "…", X, (LONG,), datetime(2025, 3, 2, tzinfo=UTC)),
        ("Yan", Z, (), datetime(2025, 3, 3, tzinfo=UTC)),
        ("y" * 99 + "…", "ant.csv", (LONG,), NOW),
    ]
    sentence = "m.csv, row 6: '2025-04-01' is in the future."
    assert refusal(path, NOW - timedelta(microseconds=1)) == sentence


COLUMNS = "the columns are file, received and optionally team."
REFUSED = {
    "file,time\n": f"m.csv has no column received: {COLUMNS}",
    "received,team\n": f"m.csv has no column file: {COLUMNS}",
    "": f"m.csv has no column file: {COLUMNS}",
    "file,received\nant.csv\n": "m.csv, row 2: '' is no time: write it as 2025-03-31T18:05:00Z.",
    "file,received\nant.csv,2025-02-30\n": (
        "m.csv, row 2: '2025-02-30' is no time: write it as 2025-03-31T18:05:00Z."
    ),
    "file,received\nant.csv,2025-03-02\nbee/1.csv,2025-03-02\nant.csv,2025-03-01\n": (
        "m.csv, row 4: 'ant.csv' is there twice."
    ),
    f"file,received\nant.csv,2025-03-02\n{X},2025-03-02\n{Z},2025-03-02\n": (
        "m.csv does not list 'bee/1.csv', 'bee/2.csv': add them, with a time."
    ),
    "".join(
        ["file,received\n", *(f"{file.name},2025-03-02\n" for file in FILES), "d,2025-03-02\n"]
    ): "m.csv lists 'd', which the folder does not have.",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_manifest_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text)
    assert refusal(path) == REFUSED[text]


def test_a_manifest_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(tmp_path) == "m.csv cannot be read: it is a folder, not a file."
    path = tmp_path / "m.csv"
    path.write_bytes(b"file,received\n\xff")
    assert refusal(path) == "m.csv cannot be read: it is not UTF-8 text (byte 15)."
    monkeypatch.setattr(manifest, "_MOST_BYTES", 15)
    assert refusal(path) == "m.csv cannot be read: it is not UTF-8 text (byte 15)."
    path.write_bytes(b"file,received\n\xff\n")
    assert refusal(path) == "m.csv is larger than 200 MiB, the limit for a manifest."
