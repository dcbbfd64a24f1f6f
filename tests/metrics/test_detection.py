"""Mean average precision of boxes: against pycocotools, and from a file to a board."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from arena import BoardSettings, ScoreSettings, SolutionColumns, score
from arena.competition.record.samples import sample_values
from arena.errors import InputError, MetricError
from arena.scoring.submissions import read_truth
from arena.types import RowContext
from arena_metrics.detection import MeanAveragePrecision
from competition_info import info_of

RNG = np.random.default_rng(3)
TRUTH, SENT = MeanAveragePrecision().example(12, 2, RNG)


def by_coco(truth: Any, predictions: Any, crowds: Any = None) -> float:
    """Return the first of COCO's twelve figures for folded cells."""
    names = {"cat": 1, "dog": 2}
    sides = []
    for cells in (truth, predictions):
        annotations = []
        for image, row in enumerate(cells):
            for label, x, y, u, v, *more in zip(*map(json.loads, row), strict=True):
                box = [float(x), float(y), float(u) - float(x), float(v) - float(y)]
                crowd = 0
                if crowds is not None and not more:
                    crowd = int(crowds[image][sum(a["image_id"] == image for a in annotations)])
                annotations.append(
                    {
                        "id": len(annotations) + 1, "image_id": image, "bbox": box,
                        "category_id": names[label], "area": box[2] * box[3], "iscrowd": crowd,
                        "score": float(more[0]) if more else 1.0,
                    }
                )  # fmt: skip
        side = COCO()
        side.dataset = {
            "images": [{"id": image} for image in range(len(cells))],
            "categories": [{"id": name} for name in names.values()],
            "annotations": annotations,
        }
        side.createIndex()
        sides.append(side)
    run = COCOeval(*sides, "bbox")
    run.evaluate()
    run.accumulate()
    run.summarize()
    return float(run.stats[0])


@pytest.mark.parametrize("drawn", [np.arange(12), np.array([0, 0, 0, 4, 4, 7, 8, 9, 9, 11])])
def test_it_is_cocos_also_on_drawn_images(drawn: Any) -> None:
    counts = np.bincount(drawn, minlength=12)
    for predictions in SENT:
        with contextlib.redirect_stdout(io.StringIO()):
            expected = by_coco(TRUTH[drawn], predictions[drawn])
        score = MeanAveragePrecision().score(TRUTH, predictions, counts)
        assert score == pytest.approx(expected, rel=1e-12)


def test_a_detection_of_a_crowd_counts_neither_as_correct_nor_as_wrong() -> None:
    """It has the highest score, so that none is counted before the correct one."""
    names = ("class", "xmin", "ymin", "xmax", "ymax", "iscrowd")
    context = RowContext("id", pa.array(["a"]), names, (*names[:-1], "score"))
    metric = MeanAveragePrecision().for_rows(context)
    assert metric == MeanAveragePrecision()  # for any column names
    truth = [["cat", "cat"], ["0", "20"], ["0", "20"], ["10", "40"], ["10", "40"], ["0", "1"]]
    predictions = [
        ["cat", "cat"],
        ["0", "21"],
        ["0", "21"],
        ["10", "30"],
        ["10", "30"],
        ["0.5", "0.9"],
    ]
    for box_of_first, precision in (("10", 1.0), ("9", 0.9)):
        predictions[3][0] = box_of_first  # a share of 0.9 is enough at nine of ten overlaps
        cells = [
            np.array([[json.dumps(row) for row in side]], dtype=object)
            for side in (truth, predictions)
        ]
        assert metric.score(*cells) == pytest.approx(precision)


def test_iscrowd_is_0_or_1_or_empty() -> None:
    names = ("class", "xmin", "ymin", "xmax", "ymax", "iscrowd")
    metric = MeanAveragePrecision()
    info = info_of(metric, names, ["a", "b"])
    of_both = [["cat"] * 3, ["0"] * 3, ["0"] * 3, ["10"] * 3, ["10"] * 3]
    rows = [[*of_both, ["0", " 1", ""]], [*of_both, ["2", "0", "x"]]]
    truth = np.array([[json.dumps(texts) for texts in row] for row in rows], dtype=object)
    faults = list(metric.faults_of_truth(truth, info))
    assert [(fault.kind, fault.id, fault.column) for fault in faults] == [
        ("not 0 or 1", "b", "iscrowd")
    ] * 2
    assert list(metric.faults_of_truth(truth[:, :5], replace(info, columns=names[:5]))) == []


@pytest.mark.slow
def test_boxes_around_crowds_are_cocos() -> None:
    rng = np.random.default_rng(5)
    truth, submissions = MeanAveragePrecision().example(12, 2, rng)
    crowds = [
        [str(int(value)) for value in rng.random(len(json.loads(row[0]))) < 0.4] for row in truth
    ]
    crowds[0] = ["1"] * len(crowds[0])
    marked = np.column_stack([truth, [json.dumps(own) for own in crowds]]).astype(object)
    names = ("class", "xmin", "ymin", "xmax", "ymax", "iscrowd")
    context = RowContext("id", pa.array(map(str, range(12))), names, (*names[:-1], "score"))
    metric = MeanAveragePrecision().for_rows(context)
    for predictions in submissions:
        with contextlib.redirect_stdout(io.StringIO()):
            expected = by_coco(truth, predictions, crowds)
        assert metric.score(marked, predictions) == pytest.approx(expected, rel=1e-12)
        assert expected != pytest.approx(MeanAveragePrecision().score(truth, predictions))
    marked[3, 5] = json.dumps(["2"] * len(crowds[3]))
    info = info_of(metric, names, context.ids)
    assert {fault.kind for fault in metric.faults_of_truth(marked, info)} == {"not 0 or 1"}


@pytest.mark.slow
def test_a_submission_has_no_column_iscrowd(tmp_path: Path) -> None:
    text = "image,class,x,y,width,height,IsCrowd\n1,cat,0,0,10,10,0\n1,cat,20,20,9,9,1\n"
    (tmp_path / "solution.csv").write_text(text)
    sent = "image,class,x,y,width,height,score\n1,cat,0,0,10,10,0.5\n1,cat,21,21,5,5,0.9\n"
    (tmp_path / "team.csv").write_text(sent)
    columns = SolutionColumns(id="image")
    board = BoardSettings(workers=1, intervals=False)
    settings = ScoreSettings("mean_average_precision", columns, board=board)
    (row,) = score(tmp_path / "solution.csv", [tmp_path / "team.csv"], settings).standings
    assert row["score"] == pytest.approx(1.0)


@pytest.mark.slow
def test_boxes_are_scored_from_files(tmp_path: Path) -> None:
    boxes = "1,cat,0,0,10,10\n1,dog,5,5,10,10\n2,cat,1,1,9,9\n3,,,,,\n"
    solution = f"image,class,x,y,width,height\n{boxes}"
    (tmp_path / "solution.csv").write_text(solution)
    good = (
        "score,image,class,x,y,width,height\n0.9,1,cat,0,0,10,10\n0.9,1,dog,5,5,10,10\n"
        "0.8,2,cat,1,1,9,9\n,3,,,,,\n"
    )
    for team, text in {
        "good": good,
        "half": good.replace("2,cat,1,1", "2,cat,100,1"),
        "lost": good.replace("0.8,2,cat,1,1,9,9\n", ""),
        "word": good.replace("0.8", "high"),
    }.items():
        (tmp_path / "sent").mkdir(exist_ok=True)
        (tmp_path / "sent" / f"{team}.csv").write_text(text)
    settings = ScoreSettings(
        "mean_average_precision", SolutionColumns(id="image"), board=BoardSettings(9, workers=1)
    )
    result = score(tmp_path / "solution.csv", [tmp_path / "sent"], settings)
    first, second = result.standings
    assert (first["team"], first["score"], second["team"]) == ("good", 1.0, "half")
    assert second["score"] < 0.9
    faults = {
        rejected.file: [(fault.kind, fault.id) for fault in rejected.faults]
        for rejected in result.rejected
    }
    assert faults == {"lost.csv": [("missing id", "2")], "word.csv": [("not a number", "2")]}


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (["0", "0", "2", "2", "0.5"], []),
        (["", " ", "", "", "x"], []),
        (["", "0", "2", "2", "0.5"], [("not a number", "xmin")]),
        (["0", "0", "2", "inf", ""], [("not a number", "ymax"), ("not a number", "score")]),
        (["2", "2", "0", "4", "0.5"], [("negative size", "xmax")]),
        (["0", "-1e308", "2", "1e308", "0.5"], [("negative size", "ymax")]),
    ],
)
def test_boxes_that_cannot_be_matched_are_faults(row: Any, found: Any) -> None:
    columns = ("xmin", "ymin", "xmax", "ymax", "score")
    metric = MeanAveragePrecision()
    info = info_of(metric, columns, ["a"])
    cells = np.array([[json.dumps(["1", text]) for text in row]], dtype=object)
    cells[0, 2:4] = [json.dumps(["3", text]) for text in row[2:4]]
    faults = list(metric.faults(cells, info))
    assert [(fault.kind, fault.column) for fault in faults] == found


@pytest.mark.parametrize("empty", ["", "c,,,,,\n"])
def test_the_sample_is_valid_and_does_not_say_whether_there_are_empty_images(
    tmp_path: Path, empty: str
) -> None:
    (tmp_path / "s.csv").write_text(
        f"id,class,xmin,ymin,xmax,ymax\na,cat,0,0,1,1\na,cat,2,2,3,3\n{empty}"
    )
    metric = MeanAveragePrecision()
    solution = read_truth(tmp_path / "s.csv", metric, SolutionColumns())
    assert sample_values(solution, metric) == ["", "0", "0", "0", "0", "0"]


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,x,y\na,1,2\n")
    with pytest.raises((MetricError, InputError), match="needs the columns xmin, ymin, xmax, ymax"):
        score(tmp_path / "s.csv", [tmp_path], ScoreSettings("mean_average_precision"))
