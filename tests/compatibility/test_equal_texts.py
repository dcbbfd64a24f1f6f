"""Points in time and accents match however a program writes them, in every kind of file."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.scoring.rank import rank
from arena.types import PredictionKind, SolutionColumns

TIMES = pd.to_datetime(["2024-03-31 01:30:00", "2024-03-31 00:00:00", "2024-10-27 23:59:59"])
VALUES = [1.0, 2.0, 4.0]


def _write(path: Path, ids: Any, values: Any, name: str = "y") -> Path:
    table = pa.table({"id": ids, name: values})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        table.to_pandas().to_csv(path, index=False)
    return path


def _forms(zone: str | None) -> dict[str, Any]:
    times = TIMES.tz_localize(zone) if zone else TIMES
    forms = {unit: pa.array(times).cast(pa.timestamp(unit, zone)) for unit in ("s", "us", "ns")}
    texts = {
        "iso": [time.isoformat() for time in times],
        "spaces": [str(time) for time in times],
        "milliseconds": [time.isoformat(sep=" ", timespec="milliseconds") for time in times],
    }
    if zone:
        forms["another zone"] = pa.array(times.tz_convert("America/New_York"))
        texts["Z"] = [f"{time.tz_convert(None).isoformat()}Z" for time in times]
    return forms | {name: pa.array(written) for name, written in texts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_points_in_time_match_in_every_form(tmp_path: Path, zone: str | None) -> None:
    forms = _forms(zone)
    for written, ids in forms.items():
        for suffix in ("csv", "parquet"):
            path = _write(tmp_path / f"solution.{suffix}", ids, VALUES)
            solution = read_solution(path, kind=PredictionKind.VALUE)
            for sent_form, instants in forms.items():
                file = _write(
                    tmp_path / f"team.{suffix}", instants.take([2, 0, 1]), [4.0, 1.0, 2.0]
                )
                read = parse_submission(file, SubmissionForm.of(solution))
                assert read.values is not None, (written, sent_form, read.faults)
                assert read.values.ravel().tolist() == VALUES


def test_other_points_in_time_do_not_match(tmp_path: Path) -> None:
    solution = read_solution(
        _write(tmp_path / "s.csv", pa.array(["2024-01-01 01:00:00"] * 1 + ["2024-01-02"]), [1, 2]),
        kind=PredictionKind.VALUE,
    )
    for other in ("2024-01-01 01:00:00Z", "2024-01-01 02:00:00", "2024-01-01 01:00:00.001"):
        file = _write(tmp_path / "t.csv", pa.array([other, "2024-01-02"]), [1, 2])
        faults = parse_submission(file, SubmissionForm.of(solution)).faults
        assert {fault.kind for fault in faults} == {"unknown id", "missing id"}
    twice = pa.array(["2024-01-01T01:00:00", "2024-01-01 01:00"])
    file = _write(tmp_path / "t.csv", twice, [1, 2])
    faults = parse_submission(file, SubmissionForm.of(solution)).faults
    assert {fault.kind for fault in faults} == {"duplicate id", "missing id"}


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_accents_match_in_both_forms(tmp_path: Path, forms: tuple[str, str]) -> None:
    ours, theirs = (
        {name: unicodedata.normalize(form, name) for name in ("é1", "ö2", "größe", "café")}
        for form in forms
    )
    columns = SolutionColumns(targets=(theirs["größe"],), classes=(theirs["café"], "b"))
    path = _write(tmp_path / "s.csv", [ours["é1"], ours["ö2"]], [ours["café"], "b"], ours["größe"])
    solution = read_solution(path, kind=PredictionKind.LABEL, columns=columns)
    ids = [theirs["ö2"], theirs["é1"]]
    file = _write(tmp_path / "t.csv", ids, ["b", theirs["café"]], theirs["größe"])
    read = parse_submission(file, SubmissionForm.of(solution))
    assert read.values is not None, read.faults
    assert read.values.ravel().tolist() == [0.0, 1.0]
    assert solution.columns == (unicodedata.normalize("NFC", "größe"),)


def test_accents_of_two_files_of_cases_are_one(tmp_path: Path) -> None:
    paths = []
    for form in ("NFC", "NFD"):
        name, case = (unicodedata.normalize(form, text) for text in ("modèle", "cas é"))
        frame = pd.DataFrame(
            {
                "algorithm": [name, name],
                "case": [case, "b"] if form == "NFC" else [case + "2", "c"],
                "value": [0.5, 0.25],
            }
        )
        paths.append(tmp_path / f"{form}.csv")
        frame.to_csv(paths[-1], index=False)
    board = rank(paths, greater_is_better=True, resamples=20)
    assert [standing["team"] for standing in board.standings] == [
        unicodedata.normalize("NFC", "modèle")
    ]
    assert np.isclose(board.standings[0]["score"], 0.375)
