"""A ZIP of mask files that was uploaded is judged like a CSV file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import ServerSection, Settings
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.published import Published
from arena.server.scorer.scorer import Scorer
from program import write_csv
from served import send

pytestmark = pytest.mark.slow

CASES = [f"case{number:02d}" for number in range(12)]


def zipped(masks: dict[str, Any]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        for name, mask in masks.items():
            content = io.BytesIO()
            np.save(content, mask)
            files.writestr(f"{name}.npy", content.getvalue())
    return archive.getvalue()


def test_a_zip_of_masks_is_uploaded_and_scored(tmp_path: Path) -> None:
    mask = np.zeros((4, 5), dtype=np.uint8)
    mask[:2] = 1  # in column-major order: rows 1 and 2 of every column of 4
    runs = " ".join(f"{4 * column + 1} 2" for column in range(5))
    rows = [(case, runs, 4, 5) for case in CASES]
    write_csv(tmp_path / "solution.csv", ["id", "mask", "height", "width"], rows)
    settings = Settings.model_validate(
        {"metric": {"name": "dice"}, "public": {"mechanism": "full"}}
    )
    folder = tmp_path / "race"
    created = Competition.create(
        folder, tmp_path / "solution.csv", settings, public_share=0.5, seed=1
    )
    created.close()
    layout = Layout(tmp_path / "server")
    layout.create()
    intake = Intake(layout.intake)
    half = np.zeros_like(mask)
    half[0] = 1  # Dice 2 * 5 / (10 + 5)
    requests = [
        send(layout, intake, "red", zipped(dict.fromkeys(CASES, mask)), "masks.zip"),
        send(layout, intake, "blue", zipped(dict.fromkeys(CASES, half)), "masks.zip"),
        send(layout, intake, "green", zipped(dict.fromkeys(CASES[1:], mask)), "masks.zip"),
        send(layout, intake, "black", zipped(dict.fromkeys(CASES, mask.T)), "masks.zip"),
    ]
    with (
        Competition.open(folder) as competition,
        Scorer(competition, "race", layout, ServerSection()) as scorer,
    ):
        while scorer.step():
            pass
    public = Published(layout.public("race"))
    try:
        answers = [public.answer(request.request) for request in requests]
    finally:
        public.close()
    assert all(answer is not None for answer in answers)
    red, blue, green, black = (answer for answer in answers if answer is not None)
    assert (red.status, red.released) == ("accepted", 1.0)
    assert blue.released is not None
    assert abs(blue.released - 2 / 3) < 1e-9
    for answer, sentence in ((green, "case00"), (black, "4 x 5")):
        assert answer.status == "rejected"
        assert sentence in str(answer.faults)
