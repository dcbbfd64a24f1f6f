"""What ``score``, ``rank`` and the settings of both refuse before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arena
from arena.errors import ArenaError
from arena.evaluation.combination_parts import Combination
from arena.intake import CaseColumns
from arena.plugin.manager import PluginManager
from arena.scoring.board import notes_on_intervals
from arena.scoring.private_board import Resampling
from arena.scoring.rank import CaseSettings
from arena.scoring.settings import BoardSettings
from arena.types import DEFAULT_RESAMPLES, Vocabulary

BARE = PluginManager(entry_points=False)
LABELS, NUMBERS = ["a", "b", "a", "b"], [1.0, 2.5, 3.0, 4.0]


def score(y: list[Any], **keywords: Any) -> object:
    solution = {"id": [*"wxyz"], "y": y, "group": [1, 1, 2, 2], **keywords.pop("columns", {})}
    submissions = {"ant": {"id": [*"wxyz"], "y": keywords.pop("sent", y)}}
    few = {"resamples": 4, "workers": 1, "target": "y", **keywords}
    return arena.score(solution, submissions, **few)


def rank(**columns: Any) -> object:
    return arena.rank(columns, manager=BARE, resamples=4, greater_is_better=True)


def of_cases(**keys: Any) -> CaseSettings:
    return CaseSettings(**keys)


MEAN = Combination("mean", {})
REFUSED: list[tuple[Callable[[], object], str]] = [
    (partial(of_cases, aggregate="mode"), "The aggregate must be one of mean, median"),
    (partial(of_cases, aggregate="pass@0"), "or pass@5|, pass@5, not 'pass@0'"),
    (partial(of_cases, ties="max"), "Ties take one of average, min, not 'max'"),
    (partial(of_cases, missing="none"), "a finite number, not 'none'"),
    (partial(of_cases, missing=np.inf), "The number for a missing value must be finite"),
    (partial(of_cases, missing="pairwise", aggregate="median"), "by means over all cases only"),
    (partial(of_cases, missing="pairwise", combination=MEAN), "by means over all cases only"),
    (partial(of_cases, missing="baseline"), "Name the algorithm with --baseline"),
    (partial(of_cases, baseline="ant"), "Name the algorithm with --baseline"),
    (partial(of_cases, baseline="ant", combination=MEAN), "Name the algorithm with --baseline"),
    (partial(of_cases, opposite=("lung",)), r"\(lung\) have no mean: rank them"),
    (partial(of_cases, value_range=(1.0, 1.0)), "two numbers, the smaller one first"),
    (
        partial(of_cases, columns=CaseColumns(algorithm_from="path")),
        "--algorithm-from takes name or folder, not 'path'",
    ),
    (partial(of_cases, board=BoardSettings(stratify=True)), "resamples cannot be stratified"),
    (partial(rank, case=[], ant=[]), "The file contains no rows"),
    (
        partial(arena.rank, {"algorithm": ["a"], "case": [1], "value": [1.0]}, combine="mean"),
        "one task only, and there is nothing to combine",
    ),
    (partial(score, LABELS, metric="accuracy", weights={"accuracy": 2}), "name one, such as mean"),
    (partial(score, NUMBERS, metric="mae", stratify=True), "for a single label target"),
    (
        partial(score, LABELS, metric="accuracy", stratify=True, cluster="group"),
        "by class, or drawn by cluster or time, not both",
    ),
    (
        partial(score, LABELS, metric="accuracy", columns={"Usage": ["Public"] * 4}),
        "no rows to rank on",
    ),
    (
        partial(score, ["0", "1", "1", "1"], metric="roc_auc", sent=NUMBERS,
                columns={"Usage": ["Public", "Private", "Private", "Private"]}),
        "roc_auc needs every class, but only 1 of 2 occur in the 3 ranked rows",
    ),
    (
        partial(score, ["0", "1", "1", "1"], metric="roc_auc", sent=NUMBERS, tasks="group",
                combine="mean"),
        "needs every class in every task, but a task has only 1 of 2",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "refusal"), REFUSED, ids=[refusal for _, refusal in REFUSED])
def test_what_cannot_be_ranked_is_refused_in_a_sentence(
    call: Callable[[], object], refusal: str
) -> None:
    with pytest.raises(ArenaError, match=refusal):
        call()


ACCEPTED: list[dict[str, Any]] = [
    {"aggregate": "pass@12"},
    {"missing": 0.0},
    {"missing": "pairwise"},
    {"missing": "baseline", "baseline": "ant"},
    {"baseline": "ant", "combination": Combination("geometric", {})},
    {"opposite": ("lung",), "aggregate": "rank-then-mean"},
    {"opposite": ("lung",), "combination": Combination("mean_rank", {})},
    {"value_range": (0.0, 1.0)},
    {"columns": CaseColumns(algorithm_from="folder")},
]


@pytest.mark.parametrize("settings", ACCEPTED)
def test_settings_beside_what_is_refused_are_accepted(settings: dict[str, Any]) -> None:
    assert of_cases(**settings).ties == "average"


def test_notes_on_the_resamples_of_a_board() -> None:
    """Each note alone, at its bounds: 1 and 2 resamples, 1 and 2 groups, 29 and 30 rows."""
    few = (
        " too few for reliable resampling: treat bootstrap rank ranges, win rates, prize shares "
        "and the corrected best score as rough estimates. Score and rank intervals allow for few "
        "of them."
    )
    called = "wrmse can only be called as a whole: the intervals follow from calls without each of "
    calls = SimpleNamespace(is_mean=False, influence=object(), groups=50, agreement=0.987)
    mean = replace_in(calls, is_mean=True)
    not_linear = replace_in(calls, influence=None)
    arguments: Any
    for n_rows, groups, used, arguments, notes in (
        (30, None, DEFAULT_RESAMPLES, {}, []),
        (30, None, 2, {"without": "Why."}, ["Ranks are without intervals. Why."]),
        (29, None, DEFAULT_RESAMPLES, {}, [f"29 cases are{few}"]),
        (1, None, DEFAULT_RESAMPLES, {}, [f"1 case is{few}"]),
        (60, 30, DEFAULT_RESAMPLES, {},
         ["The 60 cases are in 30 groups, which are resampled as a whole."]),
        (60, 2, DEFAULT_RESAMPLES, {},
         ["The 60 cases are in 2 groups, which are resampled as a whole.",
          f"2 groups of cases are{few}"]),
        (60, 1, DEFAULT_RESAMPLES, {},
         ["The 60 cases are in 1 group, which is resampled as a whole.",
          f"1 group of cases is{few}"]),
        (30, None, DEFAULT_RESAMPLES - 1, {},
         [f"The intervals are based on only {DEFAULT_RESAMPLES - 1:,} resamples. Use "
          f"{DEFAULT_RESAMPLES:,} or more for figures that are published or decide a prize."]),
        (30, None, DEFAULT_RESAMPLES, {"halves": True},
         ["The metric does not take cases that are drawn more than once. Each resample is half of "
          "the cases, drawn without replacement."]),
        (30, None, DEFAULT_RESAMPLES, {"redrawn": 1, "undefined": 2},
         ["1 resample lacked a class and was redrawn.",
          "2 resamples were discarded because a score was undefined. The intervals use only the "
          "others and are too narrow."]),
        (30, None, DEFAULT_RESAMPLES, {"redrawn": 2, "undefined": 1},
         ["2 resamples lacked a class and were redrawn.",
          "1 resample was discarded because a score was undefined. The intervals use only the "
          "others and are too narrow."]),
        (30, None, DEFAULT_RESAMPLES, {"jackknife": calls},
         [f"{called}50 random groups of cases."]),
        (30, None, DEFAULT_RESAMPLES, {"jackknife": not_linear},
         ["wrmse was called on every resample, because its scores on parts of the cases do not "
          "determine the others (correlation 0.99 on random halves)."]),
        (30, None, DEFAULT_RESAMPLES, {"jackknife": replace_in(not_linear, groups=0)}, []),
        (30, None, DEFAULT_RESAMPLES, {"jackknife": mean},
         ["wrmse counts as a mean over cases: every score is the mean of the scores of each of 50 "
          "parts of the cases alone."]),
        (30, None, DEFAULT_RESAMPLES, {"jackknife": replace_in(mean, groups=30)},
         ["wrmse counts as a mean over cases: every score is the mean of the scores of each of "
          "the cases alone."]),
    ):  # fmt: skip
        study: Any = SimpleNamespace(
            words=Vocabulary("algorithm", "algorithm", "case"),
            resampled=np.empty((2, used)),
            truth=np.empty(n_rows),
            clusters=None if groups is None else np.arange(n_rows) % groups,
            metric=SimpleNamespace(name="wrmse"),
        )
        assert notes_on_intervals(study, Resampling(**arguments)) == notes
    assert notes_on_intervals(None, Resampling(redrawn=1)) == []


def replace_in(values: SimpleNamespace, **changes: Any) -> Any:
    return SimpleNamespace(**{**vars(values), **changes})
