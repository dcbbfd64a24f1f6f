"""The competitions of ``arena demo``: their models, programs and files."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.cli.commands import demo_programs, demo_teams
from kept import check_kept
from recorded_calls import RecordedObject, recorded_function


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text())))


def test_the_models_of_the_teams_are_kept() -> None:
    models = list(demo_teams.demo_models(3))
    assert len(models) == demo_teams.N_TEAMS
    lines = [f"{team}: {' '.join(repr(model).split())}" for team, model in models]
    check_kept("demo-models.txt", "\n".join(lines) + "\n")


class SecondDigit:
    """A model that predicts the second digit that it learned, and keeps the images."""

    def fit(self, images: Any, digits: Any) -> SecondDigit:
        self.images, self.digits = images, digits
        return self

    def predict(self, images: Any) -> Any:
        self.predicted_images = images
        return np.full(len(images), self.digits[1])


def test_each_team_trains_on_500_images_and_predicts_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SecondDigit()
    monkeypatch.setattr(demo_teams, "demo_models", lambda seed: [(f"team-{seed}", model)])
    for _ in range(2):  # into a folder that has the files of a demo already
        assert list(demo_teams.write_competition(tmp_path, seed=3)) == ["team-3"]
    # scikit-learn ships 1,797 images of 8 x 8 pixels, whose grey values are 0 to 16.
    assert (model.images.shape, model.predicted_images.shape) == ((500, 64), (1_297, 64))
    assert (model.images.min(), model.images.max()) == (0, 1)
    solution = rows_of(tmp_path / "solution.csv")
    submission = rows_of(tmp_path / "submissions" / "team-3.csv")
    assert (solution[0], submission[0]) == (["id", "digit", "Usage"], ["id", "digit"])
    assert [row[0] for row in solution] == [row[0] for row in submission]
    assert [solution[place][0] for place in (1, -1)] == ["image-0000", "image-1296"]
    assert {digit for _, digit in submission[1:]} == {str(model.digits[1])}
    n_public = sum(usage == "Public" for *_, usage in solution)
    assert n_public + sum(usage == "Private" for *_, usage in solution) == 1_297
    assert abs(n_public - 0.3 * 1_297) < 2 * np.sqrt(0.3 * 0.7 * 1_297)


def test_the_programs_are_stored_with_what_they_learn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    competition = RecordedObject(lines, {}, {"submit_program": "answer"})

    def create(folder: Path, solution: Path, settings: Any, *, seed: int) -> RecordedObject:
        recorded_function(lines, "create")(folder, solution, seed=seed)
        programs = settings.programs.model_dump(exclude_defaults=True)
        lines.append(f"  {settings.competition.title}, {settings.metric.name}")
        lines.append(f"  {sorted(programs.items())}")
        return competition

    monkeypatch.setattr(demo_programs.Competition, "create", create)
    answers = list(demo_programs.run_demo(tmp_path, seed=3))
    assert answers == [
        (team, "answer") for team in ("averages", "every-fourth-pixel", "no-such-file", "leaks")
    ]
    assert [line.replace(str(tmp_path), "HERE") for line in lines] == [
        "  create(HERE/race, HERE/solution.csv, seed=3)",
        "  Programs read digits, accuracy",
        "  [('inputs', '../hidden'), ('memory_mb', 512), ('sample', '../sample'), "
        "('sandbox', 'bwrap'), ('seconds', 60.0), ('trial_seconds', 60.0)]",
        *(f"  submit_program(HERE/programs/{team}.zip, '{team}')" for team, _ in answers),
        "  it is closed",
    ]
    solution = rows_of(tmp_path / "solution.csv")
    hidden, sample = (rows_of(tmp_path / name / "images.csv") for name in ("hidden", "sample"))
    pixels = [f"p{number}" for number in range(64)]
    assert hidden[0] == sample[0] == ["id", *pixels]
    assert [row[0] for row in hidden[1:]] == [row[0] for row in solution[1:]]
    assert (len(hidden), hidden[1][0], hidden[-1][0]) == (1_298, "image-0000", "image-1296")
    assert {value for row in hidden[1:] for value in row[1:]} == set(map(str, range(17)))
    n_public = sum(usage == "Public" for *_, usage in solution)
    assert abs(n_public - 0.3 * 1_297) < 2 * np.sqrt(0.3 * 0.7 * 1_297)
    sources = []
    for team, _ in answers:
        with zipfile.ZipFile(tmp_path / "programs" / f"{team}.zip") as archive:
            assert archive.namelist() == ["main.py", "train.csv"]
            sources.append(archive.read("main.py").decode())
            training = list(csv.reader(io.StringIO(archive.read("train.csv").decode())))
        assert training[0] == ["id", "digit", *pixels]
        assert [training[place][0] for place in (1, -1)] == ["train-0000", "train-0499"]
        # The sample is the first 20 images of the training, without their digits.
        assert sample[1:] == [[name, *row] for name, _, *row in training[1:21]]
    assert [sources[0].count("[::1]"), sources[1].count("[::4]")] == [2, 2]
    for source in sources:
        compile(source, "main.py", "exec")
