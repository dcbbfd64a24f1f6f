"""The data that checks invent and hand to a plugin."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from arena.hookspecs import hookimpl
from arena.interfaces import Evaluation
from arena.testing import check_mechanism, check_plugin, competitor_problem
from arena.testing.analyses import example_study
from arena.testing.examples import Guess, MeanAbsolute, Repeat, ShareRight
from arena.testing.problems import problem_for
from arena.types import PredictionKind, RowContext
from kept import check_kept_document


@dataclass(frozen=True)
class Listening(Repeat):
    """A mechanism that keeps what it is asked to release."""

    heard: list[Evaluation] = field(default_factory=list)

    def release(self, state: Any, evaluation: Any, rng: Any) -> Any:
        self.heard.append(evaluation)
        return Repeat().release({}, evaluation, rng)


@dataclass(frozen=True)
class OfRows(MeanAbsolute):
    """A metric of numbers that needs the columns of its rows."""

    def for_rows(self, rows: RowContext) -> Any:
        return self


class Plugin:
    """A plugin that keeps what its hooks get."""

    def __init__(self) -> None:
        self.heard: dict[str, list[Any]] = {}

    def keep(self, hook: str, *arguments: Any) -> None:
        self.heard.setdefault(hook, []).append(arguments)

    @hookimpl
    def check_submission(self, predictions: Any, competition: Any) -> list[Any]:
        self.keep("check_submission", predictions.shape, predictions[:3].ravel().tolist())
        ids = competition.ids.to_pylist()
        self.heard["competition"] = [{**asdict(competition), "ids": ids[:: len(ids) - 1]}]
        return []

    @hookimpl
    def read_predictions(self, path: Any, competition: Any) -> None:
        self.keep("read_predictions", path.name, len(path.read_bytes()))

    @hookimpl
    def submission_scored(self, submission: Any, release: Any) -> None:
        self.keep("submission_scored", asdict(submission), asdict(release))

    @hookimpl
    def competition_finalized(self, result: Any) -> None:
        self.keep("competition_finalized", result)

    @hookimpl
    def provide_report_sections(self, result: Any) -> list[Any]:
        self.keep("provide_report_sections", result)
        return []


def evaluations() -> dict[str, Any]:
    """Return the history of scores of the first check, and what the others differ in."""
    mechanism = Listening()
    check_mechanism(mechanism)
    first, history = mechanism.heard[0], mechanism.heard
    return {
        "first": {
            **{name: getattr(first, name) for name in ("n_rows", "baseline", "row_range")},
            "standard errors of differences": [
                first.standard_error_of_difference(score) for score in (0.0, 10.0)
            ],
            "standard error": first.standard_error(),
        },
        "history": [f"{evaluation.submission}: {evaluation.score}" for evaluation in history[:40]],
        "number": len(history),
        "of new teams": sorted(
            {
                (evaluation.score, evaluation.greater_is_better, evaluation.budget or 0)
                for evaluation in history
                if evaluation.team == "a new team"
            }
        ),
        "of many teams": sorted(
            {evaluation.team for evaluation in history if evaluation.team != "a new team"}
        )[-2:],
        "after the history": sorted(
            {evaluation.score for evaluation in history if evaluation.submission == 41}
        ),
    }


def summary(values: Any) -> dict[str, Any]:
    """Return the shape, the first numbers and the mean of an array."""
    return {
        "shape": values.shape,
        "first": values.ravel()[:4].tolist(),
        "mean": float(values.mean()),
        "range": [float(values.min()), float(values.max())],
    }


def problems() -> dict[str, Any]:
    kinds = {
        "numbers": MeanAbsolute(),
        "numbers of groups": OfRows(),
        "labels": ShareRight(),
        "probabilities": replace(ShareRight(), prediction=PredictionKind.PROBABILITY),
    }
    problem_of_kind = {kind: problem_for(metric) for kind, metric in kinds.items()}
    return {
        kind: {
            name: summary(getattr(problem, name))
            for name in ("truth", "predictions", "weights", "clusters")
        }
        for kind, problem in problem_of_kind.items()
    }


def competition() -> dict[str, Any]:
    problem = competitor_problem()
    part = problem.participation
    moves = Guess().start(part, np.random.default_rng(0))
    return {
        "public rows": problem.public.tolist(),
        "truth": summary(problem.truth),
        "baseline": [summary(part.baseline), part.baseline_score],
        **{name: getattr(part, name) for name in ("n_rows", "n_public", "n_classes")},
        "submissions": part.submissions,
        "a guess": summary(moves.submit().prediction),
        "a guess without classes": summary(
            Guess().start(replace(part, n_classes=None), np.random.default_rng(0))
            .submit().prediction
        ),
    }  # fmt: skip


def test_data_that_checks_hand_to_a_plugin_are_kept() -> None:
    plugin = Plugin()
    check_plugin(plugin).require()
    study = example_study()
    document = {
        "a mechanism": evaluations(),
        "hooks": {name: calls for name, calls in plugin.heard.items() if "result" not in name},
        "problems": problems(),
        "a competition": competition(),
        "a study": {
            **{name: summary(getattr(study, name)) for name in ("truth", "scores", "resampled")},
            "teams": study.teams,
            "submissions": study.submissions.tolist(),
            "level": study.level,
        },
    }
    check_kept_document("handed-data", json.loads(json.dumps(document, default=str)))


def test_a_plugin_gets_the_result_that_is_given() -> None:
    plugin, result = Plugin(), object()
    check_plugin(plugin, result).require()
    assert plugin.heard["competition_finalized"] == [(result,)]
    assert plugin.heard["provide_report_sections"] == [(result,)]
