"""The batches and the keys with which the files of a finished competition are stored."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.evaluation.predictions import ArrayPredictions
from arena.intake import ReadSubmission, SubmissionFile
from arena.scoring import admit, submissions
from arena.scoring.score import notes_on_similar, similar_files
from arena.types import Fault, MetricTraits, PredictionKind
from arena.utils.parallel import NoProgress

VALUE, TEXT = PredictionKind.VALUE, PredictionKind.TEXT
EIGHT_BYTES = np.zeros((1, 1))
SOLUTION: Any = None
"""No part of it is read."""


def metric_of(kind: PredictionKind, bounds: tuple[float, float]) -> Any:
    traits = MetricTraits(prediction_range=bounds)
    return SimpleNamespace(name="gain", prediction=kind, traits=traits)


@pytest.mark.parametrize(
    ("n_files", "most_bytes", "batches"),
    [
        (15, 10**6, [15]),
        (16, 10**6, [16, 0]),
        (17, 10**6, [16, 1]),
        (5, 16, [2, 3, 0]),  # the rejected third file takes no memory
        (5, 17, [4, 1]),
    ],
)
def test_a_batch_ends_at_sixteen_files_or_a_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch, n_files: int, most_bytes: int, batches: list[int]
) -> None:
    rejected = ReadSubmission(None, (Fault("empty file", "It is empty."),), "")
    read = [
        (file, rejected if file == 2 else ReadSubmission(EIGHT_BYTES, (), f"{file}"))
        for file in range(n_files)
    ]
    stored_batches: list[list[Any]] = []
    announced: list[str] = []

    def add(batch: list[Any]) -> list[Any]:
        stored_batches.append(batch)
        return [incoming.file for incoming in batch]

    def examined(files: Any, *_: Any, **__: Any) -> Any:
        return ((files[number], result) for number, result in read)

    monkeypatch.setattr(admit, "examine", examined)
    monkeypatch.setattr(admit, "_BATCH_BYTES", most_bytes)
    monkeypatch.setattr(admit, "competition_info", lambda *_: "info")
    store: Any = SimpleNamespace(add_submissions=add)
    manager: Any = SimpleNamespace(submission_scored=lambda record, *rest: announced.append(record))
    files: Any = [SubmissionFile("a", Path(), f"{number}.csv") for number in range(n_files)]
    arguments: Any = (store, files, None, metric_of(VALUE, (0, 1)), manager)
    records = admit.admit(*arguments, progress=NoProgress())
    assert [len(batch) for batch in stored_batches] == batches
    assert records == announced == [file.name for file in files]


@pytest.mark.parametrize(
    ("kind", "bounds", "key"),
    [
        (VALUE, MetricTraits().prediction_range, None),
        (VALUE, (0.0, 1.0), "ab in [0.0, 1.0]"),
        (TEXT, MetricTraits().prediction_range, "ab for gain"),
    ],
)
def test_the_key_of_a_file_names_the_rules_by_which_it_was_read(
    kind: PredictionKind, bounds: tuple[float, float], key: str | None
) -> None:
    for sha256, expected in (("ab", key), ("", None)):
        read = ReadSubmission(EIGHT_BYTES, (), sha256)
        assert admit.idempotency_key(read, metric_of(kind, bounds)) == expected


def test_a_file_has_the_faults_that_its_metric_finds_or_else_those_of_plugins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A metric that fails on a file has not checked it."""
    monkeypatch.setattr(submissions, "competition_info", lambda *_: "info")
    low, high, rule = (Fault(kind, "A sentence.") for kind in ("low", "high", "rule"))
    read = ReadSubmission(EIGHT_BYTES, (), "ab")
    rejected = ReadSubmission(None, (low,), "ab")
    manager: Any = SimpleNamespace(check_submission=lambda *_: (rule,))
    for faults_of_metric, kinds in (
        ([low, high], ["low", "high"]),
        ([], ["rule"]),
        (None, ["could not be checked"]),  # to iterate over None fails
    ):
        metric: Any = metric_of(VALUE, (0, 1))
        metric.faults = lambda *_, found=faults_of_metric: iter(found)
        checked = submissions.check_predictions(read, SOLUTION, metric, manager, file="a.csv")
        assert [fault.kind for fault in checked.faults] == kinds
        assert (checked.values, checked.sha256) == (None, "ab")
        assert (
            submissions.check_predictions(rejected, SOLUTION, metric, manager, file="") == rejected
        )
    lenient: Any = SimpleNamespace(check_submission=lambda *_: ())
    metric.faults = lambda *_: ()
    assert submissions.check_predictions(read, SOLUTION, metric, lenient, file="a.csv") is read


def test_of_two_files_one_can_be_a_copy() -> None:
    predictions = ArrayPredictions(np.tile(np.arange(4.0), (2, 1)))
    store: Any = SimpleNamespace(predictions=lambda numbers: predictions)
    records: Any = [SimpleNamespace(submission=number, team=f"t{number}") for number in (1, 2)]
    solution: Any = SimpleNamespace(kind=VALUE)
    (pair,) = similar_files(store, records, solution)
    assert (pair.identical, pair.teams) == (True, ("t1", "t2"))
    assert similar_files(store, records[:1], solution) == ()
    sentence = "Identical predictions: submission 1 of t1, 2 of t2."
    for pairs, more in ((20, []), (21, ["1 further pair"]), (1_022, ["1,002 further pairs"])):
        assert notes_on_similar([pair] * pairs) == [sentence] * 20 + [
            f"Such submissions are in {further} of teams." for further in more
        ]
