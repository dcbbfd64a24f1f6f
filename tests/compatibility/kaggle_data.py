"""Small solutions and submissions for metrics of Kaggle that come without data.

A metric is recognised by the names of columns in its code. Only these names and the form of the
cells follow the metrics; all values are random.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

__all__ = ["Sample", "samples_for"]

Rng: TypeAlias = np.random.Generator
N_ROWS = 60


@dataclass(frozen=True)
class Sample:
    """What a metric is called with."""

    row: str
    """The column that arena takes as ids: of rows, or of groups of rows."""
    solution: pd.DataFrame
    submission: pd.DataFrame
    given: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the metric."""
    row_id: str = ""
    """The metric's row_id_column_name, if that is not the column of ids."""


def survival(rng: Rng) -> Sample:
    time = np.round(rng.exponential(20, N_ROWS), 3)
    solution = pd.DataFrame({"ID": np.arange(N_ROWS) + 28_800})
    solution["efs"] = rng.integers(0, 2, N_ROWS).astype(float)
    solution["efs_time"] = time
    solution["race_group"] = np.resize(["White", "Asian", "More than one race"], N_ROWS)
    risk = np.round(-time + rng.normal(0, 10, N_ROWS), 4)
    return Sample("ID", solution, pd.DataFrame({"ID": solution["ID"], "prediction": risk}))


def gestures(rng: Rng) -> Sample:
    names = ["Eyebrow - pull hair", "Neck - scratch", "Wave hello", "Text on phone"]
    ids = [f"SEQ_{row:06d}" for row in range(N_ROWS)]
    truth = rng.choice(names, N_ROWS)
    predicted = np.where(rng.random(N_ROWS) < 0.3, rng.choice(names, N_ROWS), truth)
    frames = [
        pd.DataFrame({"sequence_id": ids, "gesture": gesture}) for gesture in (truth, predicted)
    ]
    return Sample("sequence_id", frames[0], frames[1])


def weights(rng: Rng) -> Sample:
    true = np.round(rng.uniform(0, 900, N_ROWS), 2)
    ids = np.arange(1, N_ROWS + 1)
    predicted = np.round(true * rng.uniform(0.5, 1.5, N_ROWS), 2)
    submission = pd.DataFrame({"ID": ids, "predicted_weight": predicted})
    return Sample("ID", pd.DataFrame({"ID": ids, "weight": true}), submission)


def summaries(rng: Rng) -> Sample:
    words = [" ".join(rng.choice([*"abcdefgh"], 8)) for _ in range(2 * N_ROWS)]
    ids = np.arange(N_ROWS)
    frames = [pd.DataFrame({"id": ids, "summary": words[start::2]}) for start in (0, 1)]
    return Sample("id", frames[0], frames[1])


def spines(rng: Rng) -> Sample:
    places = [
        f"{kind}_{level}"
        for kind in ("spinal_canal_stenosis", "left_neural_foraminal_narrowing")
        for level in ("l1_l2", "l2_l3")
    ] + ["left_subarticular_stenosis_l1_l2"]
    ids = [f"{study}_{place}" for study in range(1000, 1012) for place in places]
    levels = ["normal_mild", "moderate", "severe"]
    codes = np.arange(len(ids)) % 3
    solution = pd.DataFrame({"row_id": ids})
    solution[levels] = np.eye(3, dtype=int)[codes]
    solution["sample_weight"] = 2**codes
    submission = pd.DataFrame({"row_id": ids})
    submission[levels] = rng.dirichlet([1, 1, 1], len(ids))
    return Sample("row_id", solution, submission, {"any_severe_scalar": 1.0})


def spectra(rng: Rng) -> Sample:
    ids, true = np.arange(N_ROWS), rng.uniform(0.001, 0.004, (N_ROWS, 5))
    names = [f"wl_{number}" for number in range(1, 6)]
    solution = pd.DataFrame(true, columns=names).assign(planet_id=ids)[["planet_id", *names]]
    submission = solution.copy()
    submission[names] += rng.normal(0, 1e-4, true.shape)
    submission[[f"sigma_{number}" for number in range(1, 6)]] = 2e-4
    arguments = {"naive_mean": 0.0025, "naive_sigma": 0.001, "sigma_true": 1e-5}
    return Sample("planet_id", solution, submission, arguments)


def particles(rng: Rng) -> Sample:
    names = ["ribosome", "thyroglobulin"]
    n = 40
    solution = pd.DataFrame({"id": np.arange(n), "experiment": np.resize(["TS_1", "TS_2"], n)})
    solution["particle_type"] = rng.choice(names, n)
    solution[["x", "y", "z"]] = rng.uniform(0, 5000, (n, 3)).round(1)
    submission = solution.drop(index=range(5)).reset_index(drop=True)
    submission[["x", "y", "z"]] += rng.normal(0, 60, (len(submission), 3)).round(1)
    arguments = {
        "distance_multiplier": 0.5,
        "beta": 4,
        "particle_radius": {"ribosome": 150, "thyroglobulin": 130},
        "particle_weights": {"ribosome": 1, "thyroglobulin": 2},
    }
    return Sample("experiment", solution, submission, arguments, "id")


def behaviours(rng: Rng) -> Sample:
    n = 30
    solution = pd.DataFrame({"row_id": np.arange(n), "video_id": np.arange(n) // 5 + 44})
    solution["agent_id"], solution["target_id"] = "mouse1", "mouse2"
    solution["action"] = np.resize(["approach", "sniff", "attack"], n)
    solution["start_frame"] = np.arange(n) % 5 * 100
    solution["stop_frame"] = solution["start_frame"] + rng.integers(20, 90, n)
    submission = solution.drop(index=[2, 9])
    submission["start_frame"] += 5
    solution["lab_id"] = np.where(np.arange(n) < n // 2, "lab one", "lab two")
    keys = [f"mouse1,mouse2,{action}" for action in ("approach", "sniff", "attack")]
    solution["behaviors_labeled"] = json.dumps(keys)
    return Sample("video_id", solution, submission, {}, "row_id")


def perturbations(rng: Rng) -> Sample:
    ids = [f"g{row}" for row in range(N_ROWS)]
    solution = pd.DataFrame({"id": ids, "label": np.resize(["none", "up", "down"], N_ROWS)})
    submission = pd.DataFrame({"id": ids})
    for seed in ("", "_seed42", "_seed43", "_seed44"):
        for side in ("up", "down"):
            submission[f"prediction_{side}{seed}"] = rng.random(N_ROWS).round(4)
        if seed:
            submission[f"reasoning_trace{seed}"] = 'because, "x"\nthen y'
    submission["reasoning_trace"] = "because of it"
    submission["tokens_used"], submission["prompt_tokens"] = 100, 60
    submission["num_tool_calls"], submission["model_name"] = 2, "model"
    submission["num_distinct_tools"] = 1
    return Sample("id", solution, submission)


def trees(rng: Rng) -> Sample:
    """One, two and three trees, far from each other; numbers are texts that begin with s."""
    ids = [f"{n:03d}_{number}" for n in (1, 2, 3) for number in range(n)]
    submission = pd.DataFrame({"id": ids})
    for name, values in (("x", 3 * np.arange(6)), ("y", rng.random(6)), ("deg", np.zeros(6))):
        submission[name] = [f"s{value:.6f}" for value in values]
    return Sample(
        "id", pd.DataFrame({"id": ids, "group": [identifier[:3] for identifier in ids]}), submission
    )


KNOWN: Mapping[str, Callable[[Rng], Sample]] = {
    "efs_time": survival,
    "gesture'": gestures,
    "predicted_weight": weights,
    '"summary"': summaries,
    "normal_mild": spines,
    "naive_sigma": spectra,
    "particle_type": particles,
    "start_frame": behaviours,
    "prediction_up": perturbations,
    "ChristmasTree": trees,
}
"""A part of the code -> what its metric is called with."""


def common(rng: Rng) -> Iterator[Sample]:
    """Yield solutions and submissions of common shapes."""
    ids = [f"r{row}" for row in range(N_ROWS)]
    truth, noise = rng.integers(0, 2, (N_ROWS, 3)), rng.random((N_ROWS, 3))
    names = ["a", "b", "c"]
    predictions = 0.5 * truth + 0.5 * noise
    for values in (truth, truth[:, :1]):
        width = values.shape[1]
        for predicted in (predictions[:, :width], (predictions[:, :width] > 0.6).astype(int)):
            frames = [
                pd.DataFrame(columns, columns=names[:width]).assign(id=ids)[["id", *names[:width]]]
                for columns in (values, predicted)
            ]
            yield Sample("id", frames[0], frames[1])


def samples_for(code: str) -> Iterator[Sample]:
    """Yield what a metric may be called with, the first that fits its columns first."""
    for part, make in KNOWN.items():
        if part in code:
            yield make(np.random.default_rng(0))
    yield from common(np.random.default_rng(0))
