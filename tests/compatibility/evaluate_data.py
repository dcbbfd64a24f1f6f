"""Small columns for the metrics of Hugging Face's library evaluate; all values are invented."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Case", "as_cells", "case_for"]

Rng: TypeAlias = np.random.Generator
N = 30


@dataclass(frozen=True)
class Case:
    """The columns of a metric, and how it is called."""

    truth: Mapping[str, list[Any]]
    sent: Mapping[str, list[Any]]
    given: Mapping[str, Any] = field(default_factory=dict)
    config: str = ""


def pair(truth: Any, sent: Any, *, name: str = "predictions", **given: Any) -> Case:
    config = given.pop("config", "")
    return Case({"references": list(truth)}, {name: list(sent)}, given, config)


def labels(rng: Rng, n_classes: int = 3) -> tuple[Any, Any]:
    truth = rng.integers(0, n_classes, N)
    return truth.tolist(), np.where(rng.random(N) < 0.3, 0, truth).tolist()


def numbers(rng: Rng) -> tuple[Any, Any]:
    truth = rng.uniform(1, 9, N)
    return truth.tolist(), (truth + rng.normal(0, 1, N)).tolist()


def sentences(rng: Rng) -> tuple[Any, Any]:
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "slept", "well", "today"]
    truth = [" ".join(rng.choice(words, 8)) for _ in range(N)]
    return truth, [" ".join([*sentence.split()[:6], "there"]) for sentence in truth]


def tags(rng: Rng) -> tuple[Any, Any]:
    kinds = ["O", "B-PER", "I-PER", "B-LOC"]
    truth = [rng.choice(kinds, 6).tolist() for _ in range(N)]
    return truth, [[*row[:4], "O", "O"] for row in truth]


def answers(rng: Rng, **more: Any) -> Case:
    truth, predicted = sentences(rng)
    references = [
        {"id": f"q{position}", "answers": {"text": [answer], "answer_start": [0]}}
        for position, answer in enumerate(truth)
    ]
    predictions = [
        {"id": f"q{position}", "prediction_text": answer, **more}
        for position, answer in enumerate(predicted)
    ]
    return pair(references, predictions)


def regions(rng: Rng) -> Case:
    truth = rng.integers(0, 3, (N, 4, 4)).tolist()
    predicted = [[row[::-1] for row in image] for image in truth]
    return pair(truth, predicted, num_labels=3, ignore_index=255)


def several(columns: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return references that are lists of one text."""
    return [[row] for row in columns[0]], columns[1]


def simplified(rng: Rng, n_sources: str = "sources") -> Case:
    truth, predictions = several(sentences(rng))
    return Case({n_sources: sentences(rng)[0], "references": truth}, {"predictions": predictions})


CASES: Mapping[str, Callable[[Rng], Case]] = {
    **dict.fromkeys(("accuracy", "matthews_correlation", "xnli"), lambda rng: pair(*labels(rng))),
    **dict.fromkeys(("f1", "precision", "recall"), lambda rng: pair(*labels(rng), average="macro")),
    **dict.fromkeys(
        ("mae", "mape", "mse", "pearsonr", "r_squared", "smape", "spearmanr"),
        lambda rng: pair(*numbers(rng)),
    ),
    **dict.fromkeys(
        ("cer", "wer", "exact_match", "character", "charcut_mt"),
        lambda rng: pair(*sentences(rng)),
    ),
    **dict.fromkeys(("bleu", "google_bleu", "rouge"), lambda rng: pair(*sentences(rng))),
    **dict.fromkeys(
        ("chrf", "sacrebleu", "ter", "nist_mt"), lambda rng: pair(*several(sentences(rng)))
    ),
    **dict.fromkeys(("seqeval", "poseval"), lambda rng: pair(*tags(rng))),
    **dict.fromkeys(("sari", "wiki_split"), simplified),
    "brier_score": lambda rng: pair(labels(rng, 2)[0], rng.random(N).tolist()),
    "roc_auc": lambda rng: pair(
        labels(rng, 2)[0], rng.random(N).tolist(), name="prediction_scores"
    ),
    "glue": lambda rng: pair(*labels(rng, 2), config="mrpc"),
    "indic_glue": lambda rng: pair(*labels(rng, 2), config="wnli"),
    "super_glue": lambda rng: pair(*labels(rng, 2), config="boolq"),
    "xtreme_s": lambda rng: pair(*sentences(rng), config="fleurs-asr"),
    "squad": answers,
    "squad_v2": lambda rng: answers(rng, no_answer_probability=0.0),
    "mean_iou": regions,
    "competition_math": lambda rng: pair(*sentences(rng)),
    "meteor": lambda rng: pair(*sentences(rng)),
}
"""Metric -> what it is called with."""


def case_for(name: str) -> Case | None:
    """Return the columns for a metric; None if none are known."""
    return CASES[name](np.random.default_rng(0)) if name in CASES else None


def as_cells(values: list[Any]) -> list[Any]:
    """Return the cells of a table: lists and objects are JSON."""
    return [json.dumps(value) if isinstance(value, (list, dict)) else value for value in values]
