"""Checking a file costs nothing and is never counted: no answer depends on the private rows.

For every kind of prediction and every modality, two competitions differ in everything that only
private rows have. The forms by which files are checked are the same, field by field, and so are
the answers, the sample and what plugins receive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.create import sample_note
from arena.competition.record.samples import sample_values
from arena.config import SAMPLE_NAME
from arena.intake import reader
from arena.intake.columns import SubmissionForm
from arena.intake.submission import ReadSubmission, parse_submission
from arena.interfaces import modality_of
from arena.plugin.manager import PluginManager
from arena.scoring.submissions import competition_info
from arena.types import PredictionKind
from program import write_csv

MANAGER = PluginManager()
N_PUBLIC, N_PRIVATE = 4, 4

Case = tuple[str, Mapping[str, Sequence[Any]], Mapping[str, Sequence[Any]], Mapping[str, Any]]
CASES: Mapping[str, Case] = {
    "labels": ("accuracy", {"y": "aabb"}, {"y": "bbaa"}, {}),
    "labels of private rows only": ("accuracy", {"y": "abzz"}, {"y": "qrst"}, {}),
    "labels of two targets": (
        "accuracy", {"y": "aabb", "w": "cddd"}, {"y": "bbza", "w": "cccq"},
        {"target": ["y", "w"]},
    ),
    "scores of two classes": ("roc_auc", {"y": "0101"}, {"y": "1110"}, {}),
    "scores of several classes": ("roc_auc", {"y": "abca"}, {"y": "ccba"}, {}),
    "probabilities": ("log_loss", {"y": "0101"}, {"y": "1110"}, {}),
    "probabilities of several classes": ("log_loss", {"y": "abca"}, {"y": "ccba"}, {}),
    "values": ("rmse", {"y": [1, 2, 3, 4]}, {"y": [1e60, -5, 0.5, 7]}, {}),
    "values at the end of a range": ("rmsle", {"y": [1, 2, 3, 4]}, {"y": [0, 1e9, 5, 7]}, {}),
    "weights": (
        "rmse", {"y": [1, 2, 3, 4], "w": [1, 2, 3, 4]}, {"y": [9, 9, 9, 9], "w": [7, 0, 1, 1]},
        {"weight": "w"},
    ),
    "groups": (
        "accuracy", {"y": "aabb", "g": "pqrs"}, {"y": "bbaa", "g": "pppp"}, {"cluster": "g"}
    ),
    "extra numbers of a metric": (
        "concordance_index", {"y": [3, 2, 9, 4], "event": [1, 0, 1, 0]},
        {"y": [1, 1, 8, 5], "event": [1, 1, 1, 1]}, {},
    ),
    "texts": ("map_at_k(k=2)", {"y": ["a", "b", "a b", "c"]}, {"y": ["1", "2", "3", "4"]}, {}),
    "texts that are numbers": ("map_at_k(k=2)", {"y": "1234"}, {"y": "abcd"}, {}),
    "masks": (
        "dice",
        {"mask": ["1 3", "2 2", "", "5 1"], "height": [2, 4, 2, 4], "width": [6, 6, 6, 6]},
        {"mask": ["", "1 12", "3 3", "24 1"], "height": [2, 4, 2, 4], "width": [6, 6, 6, 6]},
        {},
    ),
    "masks of unknown size": (
        "dice", {"mask": ["1 3", "2 2", "", "5 1"]}, {"mask": ["", "900 90", "3 3", "24 1"]}, {}
    ),
    "boxes": (
        "mean_average_precision",
        {"xmin": "1234", "ymin": "1234", "xmax": "6789", "ymax": "6789", "label": "aabb"},
        {"xmin": "0000", "ymin": "0000", "xmax": "9999", "ymax": "9999", "label": "bzba"},
        {},
    ),
    "objects": (
        "panoptic_quality",
        {"mask": ["1 3", "2 2", "", "5 1"], "class": "aabb"},
        {"mask": ["9 9", "", "3 3", "7 100"], "class": "bzba"},
        {},
    ),
    "several numbers": ("crps", {"y": [1, 2, 3, 4]}, {"y": [1e9, -5, 0.5, 7]}, {}),
    "documents of queries": (
        "trec_map",
        {"documents": ['{"a": 1}', '{"b": 1, "c": 0}', '{"a": 2}', '{"c": 1}']},
        {"documents": ['{"z": 1}', '{"b": 0, "c": 1}', '{"q": 2}', '{"a": 1}']},
        {},
    ),
}  # fmt: skip
"""Metric, columns of the first private rows (also of the public ones), of the others, roles."""
CELLS = ("a", "z", "q", "1", "0", "-1", "0.5", "1e400", "", "nan", "1 3", "24 2", "99999 2", "3 a")


def made(folder: Path, case: Case, private: Mapping[str, Sequence[Any]]) -> Competition:
    metric, public, _, roles = case
    folder.mkdir()
    rows = [
        (f"r{number}", *(column[position] for column in columns.values()), usage)
        for start, columns, usage in ((0, public, "Public"), (N_PUBLIC, private, "Private"))
        for position, number in enumerate(range(start, start + N_PRIVATE))
    ]
    write_csv(folder / "solution.csv", ["id", *public, "Usage"], rows)
    return Competition.create(
        folder / "c", folder / "solution.csv", metric=metric, manager=MANAGER, seed=1, **roles
    )


def files(folder: Path, columns: Sequence[str]) -> Iterator[Path]:
    """Write files with each cell, in public and in private rows, and with other columns."""
    ids = [f"r{number}" for number in range(N_PUBLIC + N_PRIVATE)]
    headers = [list(columns), [*columns[:-1], "z"], [*columns, "q"], [*columns, "zz", "height"]]
    number = 0
    for header in headers:
        for cell in CELLS if header == headers[0] else CELLS[:2]:
            for odd in (0, N_PUBLIC):
                rows = [[id, *("1" if position != odd else cell for _ in header)]
                        for position, id in enumerate(ids)]  # fmt: skip
                number += 1
                path = folder / f"{number}.csv"
                write_csv(path, ["id", *header], rows)
                yield path


@pytest.fixture
def forms() -> Iterator[list[SubmissionForm]]:
    """Return the forms by which files are checked, here instead of in another process."""
    seen_forms: list[SubmissionForm] = []

    def read(path: Path, form: SubmissionForm) -> ReadSubmission:
        if path.name != SAMPLE_NAME:  # the organiser's
            seen_forms.append(form)
        return parse_submission(path, form)

    reader.read_by(read)
    yield seen_forms
    reader.read_by(None)


def fields_of(record: Any) -> dict[str, str]:
    """Return the fields of a form, or of what plugins receive, as texts."""
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    if isinstance(record, SubmissionForm) and record.kind is PredictionKind.LABEL:
        # Labels that may not be sent are answered as unknown ones.
        fields["targets"] = [target.name for target in record.targets]
        fields["sendable"] = record.sendable or tuple(target.classes for target in record.targets)
    arrays = {name: getattr(value, "tolist", None) for name, value in fields.items()}
    return {name: str(arrays[name]() if arrays[name] else fields[name]) for name in fields}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_no_check_depends_on_private_rows(
    tmp_path: Path, name: str, forms: list[SubmissionForm]
) -> None:
    case = CASES[name]
    answers, others = [], []
    for number, private in enumerate(case[1:3]):
        with made(tmp_path / str(number), case, private) as competition:
            solution = competition.solution
            metric = MANAGER.metrics.resolve(case[0])
            paths = files(tmp_path, solution.columns)
            answers.append([competition.check_file(path, "a.csv") for path in paths])
            others.append((
                (tmp_path / str(number) / "c" / SAMPLE_NAME).read_bytes(),
                sample_values(solution, metric),
                sample_note(solution, metric),
                fields_of(competition_info(metric, solution)),
            ))  # fmt: skip
    first, second = forms[: len(forms) // 2], forms[len(forms) // 2 :]
    assert [fields_of(record) for record in first] == [fields_of(record) for record in second]
    assert answers[0] == answers[1]
    assert others[0] == others[1]
    assert any(faults for faults in answers[0])


def test_every_kind_and_every_modality_is_tried() -> None:
    metrics = [MANAGER.metrics.resolve(case[0]) for case in CASES.values()]
    # PROBABILITY is CLASS_PROBABILITIES of two classes; a metric of whole files has no rows.
    kinds = {*PredictionKind} - {PredictionKind.PROBABILITY}
    assert {metric.prediction for metric in metrics} == kinds
    modalities = {modality_of(entry.item).name for entry in MANAGER.metrics}
    assert {modality_of(metric).name for metric in metrics} == modalities
