"""What each check says of each mistake: the whole sentence, and which checks find it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
import typer

from arena.errors import UsageError
from arena.hookspecs import hookimpl
from arena.interfaces import (
    TABLE,
    CaseScores,
    Computation,
    Conduct,
    Feedback,
    Modality,
    Move,
    RankSets,
    Study,
)
from arena.testing import (
    check_analysis,
    check_case_reader,
    check_command,
    check_competitor,
    check_mechanism,
    check_metric,
    check_modality,
    check_plugin,
    check_ranker,
    competitor_problem,
    mechanisms,
    metrics,
)
from arena.testing.analyses import example_study
from arena.testing.conformance import Check, Conformance, Outcome, run_checks
from arena.testing.examples import Guess, MeanAbsolute, Repeat, ShareRight
from arena.testing.problems import MetricProblem, problem_for
from arena.types import Finding, MetricTraits, PredictionKind, Release


def failures(conformance: Conformance) -> dict[str, str]:
    """Return the sentences of the checks that failed."""
    return {check.name: check.message for check in conformance.failed}


def test_checks_are_run_in_order_and_what_they_raise_is_a_failure() -> None:
    def leave(_: int) -> Any:
        raise SystemExit(3)

    def fail(_: int) -> Any:
        raise ValueError("no")

    checks = [("a", lambda _: (Outcome.OK, "")), ("b", fail), ("c", leave)]
    done = run_checks("item", checks, 7)
    assert done.to_dict() == {
        "item": "item",
        "checks": [
            {"name": "a", "outcome": "ok", "message": ""},
            {"name": "b", "outcome": "failed", "message": "It raised ValueError: no"},
            {"name": "c", "outcome": "failed", "message": "It raised SystemExit: 3"},
        ],
    }
    with pytest.raises(AssertionError) as refusal:
        done.require()
    assert str(refusal.value) == (
        "item does not conform.\nb: It raised ValueError: no\nc: It raised SystemExit: 3"
    )
    Conformance("item", (Check("a", Outcome.LACKING, "x"),)).require()


# -- metrics -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pointwise(MeanAbsolute):
    """A metric with every optional part; each is what a function makes of the right value."""

    name: str = "pointwise"
    score_of: Callable[[float], Any] = lambda score: score
    rows_of: Callable[[Any], Any] = lambda rows: rows
    influence_of: Callable[[Any], Any] = lambda values: values
    score_range: tuple[float, float] = (0.0, 9.0)
    row_range: tuple[float, float] | None = (0.0, 9.0)

    @property
    def traits(self) -> MetricTraits:
        return MetricTraits(row_range=self.row_range, score_range=self.score_range)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> Any:
        return self.score_of(float(np.average(np.abs(truth - prediction), weights=weight)))

    def row_values(self, truth: Any, predictions: Any) -> Any:
        return self.rows_of(np.abs(predictions - truth))

    def from_mean(self, mean: Any) -> Any:
        return mean

    def influence_values(self, truth: Any, predictions: Any) -> Any:
        rows = np.abs(predictions - truth)
        return self.influence_of(rows - rows.mean(axis=1, keepdims=True))


SMALL = problem_for(MeanAbsolute(), n_rows=60, n_submissions=3)


def checked(**changes: Any) -> Conformance:
    """Check a metric with some parts changed, on 60 rows and 3 submissions."""
    return check_metric(Pointwise(**changes), replace(SMALL, unbound=Pointwise(**changes)))


def largest_row() -> float:
    return float(np.abs(SMALL.predictions - SMALL.truth).max())


@pytest.mark.parametrize(
    ("changes", "name", "sentence"),
    [
        ({"name": 7}, "what it declares", "name must be a text."),
        ({"name": ""}, "what it declares", "name must be a text."),
        (
            {"greater_is_better": 1},
            "what it declares",
            "greater_is_better must be True or False.",
        ),
        ({"prediction": "value"}, "what it declares", "prediction must be a PredictionKind."),
        (
            {"score_of": str},
            "ordinary data",
            "score must return a number, not str.",
        ),
        (
            {"score_of": lambda _: float("inf")},
            "ordinary data",
            "score is not finite on ordinary data.",
        ),
        (
            {"score_range": (0.0, 0.125)},
            "ordinary data",
            "A score is outside the declared score_range [0, 0.125].",
        ),
        (
            {"score_range": (5.0, 9.0)},
            "ordinary data",
            "A score is outside the declared score_range [5, 9].",
        ),
        (
            {"greater_is_better": True},
            "better and worse",
            "A perfect submission scores worse than others: is greater_is_better right?",
        ),
        (
            {"score_of": lambda _: 0.5},
            "better and worse",
            "A perfect submission scores no better than any other.",
        ),
        (
            {"rows_of": lambda rows: rows[:, 1:]},
            "row values",
            "row_values must have shape (3, 60), not (3, 59).",
        ),
        (
            {"row_range": (0.0, 0.25)},
            "row values",
            "A row value is outside the declared row_range (0.0, 0.25).",
        ),
        (
            {"row_range": (0.25, 9.0)},
            "row values",
            "A row value is outside the declared row_range (0.25, 9.0).",
        ),
        (
            {"rows_of": lambda rows: (rows + rows.mean(axis=0)) / 2},
            "row values",
            "The row values of a submission depend on others in the same block.",
        ),
        (
            {"influence_of": lambda values: values[1:]},
            "influence values",
            "influence_values must have shape (3, 60), not (2, 60).",
        ),
        (
            {"influence_of": lambda values: values + 1e-4},
            "influence values",
            "The influence values of a submission do not sum to 0.",
        ),
        (
            {"influence_of": lambda values: 1.5 * values},
            "influence values",
            "The influence values do not predict the change of the score when some rows get "
            "slightly more weight: standard errors from them would be wrong.",
        ),
    ],
)
def test_a_mistake_of_a_metric_is_said_in_a_sentence(
    changes: dict[str, Any], name: str, sentence: str
) -> None:
    assert failures(checked(**changes))[name] == sentence


def test_a_metric_may_reach_the_ends_of_what_it_declares() -> None:
    scores = [np.abs(row - SMALL.truth).mean() for row in SMALL.predictions]
    reached = {"score_range": (float(min(scores)), float(max(scores)))}
    assert not failures(checked(**reached)).keys() & {"ordinary data"}
    rows = np.abs(SMALL.predictions - SMALL.truth)
    reached = {"row_range": (float(rows.min()), float(rows.max()))}
    assert "row values" not in failures(checked(**reached))
    # Influence values of a tenth more are within the 15% that a finite step allows.
    near = checked(influence_of=lambda values: 1.1 * values)
    assert "influence values" not in failures(near)
    assert "influence values" not in failures(checked(influence_of=lambda values: values + 1e-9))


def test_row_values_that_are_nan_agree_with_a_score_that_is_nan() -> None:
    undefined = checked(score_of=lambda _: np.nan, rows_of=lambda rows: rows * np.nan)
    assert "row values" not in failures(undefined)


def test_half_row_values_differ_from_the_score_by_half_of_it() -> None:
    found = failures(checked(rows_of=lambda rows: rows / 2))
    halves = [np.abs(row - SMALL.truth).mean() / 2 for row in SMALL.predictions]
    assert found["row values"] == (
        f"from_mean of the mean of the row values is not the score (largest difference "
        f"{max(halves):.3g})."
    )
    assert found["resample"].startswith("resample differs from the score of the repeated rows (")


def test_a_missing_part_of_a_metric_is_reported_with_its_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = itertools.count(step=0.2)
    monkeypatch.setattr(metrics, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(metrics, "available_workers", lambda: 4)

    def told(metric: Any) -> dict[str, tuple[Outcome, str]]:
        checks = check_metric(metric, replace(SMALL, unbound=metric)).checks
        return {check.name: (check.outcome, check.message) for check in checks}

    whole = told(Pointwise())
    pickled = whole.pop("worker processes")  # its parts are no functions of a module
    assert pickled[0] is Outcome.FAILED
    assert pickled[1].startswith("It cannot be pickled, as worker processes require: ")
    assert set(whole.values()) == {
        (Outcome.OK, ""),
        (Outcome.OK, "It is resampled without a call of score per resample."),
    }
    bare = told(MeanAbsolute())
    assert bare["row values"] == (
        Outcome.LACKING,
        "It has no row values; see 'the cost of a resample'.",
    )
    assert bare["resample"] == (Outcome.NOT_TRIED, "It has neither resample nor row values.")
    assert bare["influence values"][1].endswith("with 200 calls of score for every pair.")
    assert bare["the cost of a resample"] == (
        Outcome.LACKING,
        # 90 calls of 0.2 s for each of 100 submissions are 1,800 s, or 450 s on 4 processors.
        "It is called as a whole, 90 times or on every resample: the 90 calls for 100 "
        "submissions of 10,000 rows take about 450 s on 4 processors. Row values or a resample "
        "method would avoid that.",
    )

    class Resampled(MeanAbsolute):
        def resample(self, truth: Any, predictions: Any, weights: Any) -> Any:
            rows = np.abs(predictions - truth)
            return rows @ weights / weights.sum(axis=0)

        def score(self, truth: Any, prediction: Any) -> float:  # type: ignore[override]
            return float(np.abs(truth - prediction).mean())

    own = told(Resampled())
    assert own["row values"] == (
        Outcome.NOT_TRIED,
        "It has no row values, but its own resample.",
    )
    assert own["resample"] == (Outcome.OK, "")
    assert own["weights"] == (
        Outcome.LACKING,
        "score takes no weight, which users who call it may need.",
    )


def test_a_metric_that_is_undefined_on_few_rows_says_so_by_nan_or_a_value_error() -> None:
    def raises(error: type[Exception]) -> dict[str, str]:
        class Fails(MeanAbsolute):
            def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
                if len(truth) == 12:
                    raise error("alike")
                return MeanAbsolute.score(self, truth, prediction, weight)

        return failures(check_metric(Fails(), replace(SMALL, unbound=Fails())))

    for allowed in (ValueError, ZeroDivisionError):
        assert "undefined on few rows" not in raises(allowed)
    assert raises(KeyError)["undefined on few rows"] == (
        "Where it is undefined it raised KeyError: return NaN or raise ValueError, so that the "
        "resample is left out."
    )


@pytest.mark.parametrize("kind", [PredictionKind.LABEL, PredictionKind.PROBABILITY])
def test_the_problem_of_a_metric_of_classes_has_two_of_them(kind: PredictionKind) -> None:
    problem = problem_for(replace(ShareRight(), prediction=kind), 240, 5)
    assert problem.predictions.shape == (5, 240)
    assert set(problem.truth.tolist()) == {0, 1}
    # 40% of 240 labels are 1, give or take three standard errors of 0.032.
    assert abs(problem.truth.mean() - 0.4) < 0.1
    if kind is PredictionKind.LABEL:
        assert set(np.unique(problem.predictions)) == {0, 1}
    else:
        assert problem.predictions.min() == 0.01
        assert problem.predictions.max() == 0.99
    assert (problem.predictions > 0.5).astype(int)[:, problem.truth == 1].mean() > 0.7
    assert problem.clusters.tolist() == [row // 6 for row in range(240)]
    assert problem.weights.shape == (240, 4)
    assert problem.weights.dtype == np.uint8


def test_repeated_rows_of_a_problem_are_groups_of_their_own() -> None:
    problem = replace(SMALL, clusters=np.arange(60) // 6)
    taken = problem.take(np.array([0, 7, 0, 0, 59]))
    # Groups 0 to 9: the second copy of row 0 is in group 10, the third in group 20.
    assert taken.clusters.tolist() == [0, 1, 10, 20, 9]
    assert taken.truth.tolist() == problem.truth[[0, 7, 0, 0, 59]].tolist()
    assert isinstance(taken, MetricProblem)


# -- mechanisms ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mechanic(Repeat):
    """A mechanism whose release is what a function makes of the state and the evaluation."""

    made: Any = None

    def release(self, state: Any, evaluation: Any, rng: Any) -> Any:
        return self.made(state, evaluation)


BEST = (
    "It repeats a score that another submission earned: name that submission as the source, so "
    "that the score leaves the board when that file is withdrawn."
)


def best_so_far(state: Mapping[str, Any], evaluation: Any) -> Release:
    """Release the best score of the state, whichever the direction."""
    best = max(state.get("best", 0.0), evaluation.score)
    return Release(best, True, {"best": best})


@pytest.mark.parametrize(
    ("made", "name", "sentence"),
    [
        (
            lambda state, evaluation: Release(1 - evaluation.score, True, state),
            "the direction of the metric",
            "With greater_is_better=True a score of 0.8 is shown as less than one of 0.2: a "
            "released score must keep the direction of the metric.",
        ),
        (
            lambda state, evaluation: Release(
                evaluation.score if evaluation.greater_is_better else -evaluation.score, True, state
            ),
            "the direction of the metric",
            "With greater_is_better=False a score of 0.8 is shown as less than one of 0.2: a "
            "released score must keep the direction of the metric.",
        ),
        (
            lambda state, evaluation: Release(
                evaluation.score, True, state, ranked_by=-evaluation.score
            ),
            "the direction of the metric",
            "With greater_is_better=True a score of 0.8 is shown as less than one of 0.2: a "
            "released score must keep the direction of the metric.",
        ),
        (lambda state, _: Release(0.5, True, state), "the direction of the metric", None),
        (best_so_far, "repeated scores", BEST),
        (
            lambda state, evaluation: Release(
                evaluation.score, True, state, source=evaluation.submission + 1
            ),
            "repeated scores",
            "The source of a release must be the id of an earlier submission.",
        ),
        (
            lambda state, evaluation: Release(evaluation.score, True, {"seen": "x" * 9_989}),
            "the size of its state",
            "After 40 submissions its state has 10,001 bytes.",
        ),
        (
            lambda state, evaluation: Release(
                evaluation.score, True, {"seen": "x" * (len(state.get("seen", "")) + 300)}
            ),
            "the size of its state",
            # 300 letters for each of 40 submissions, and 12 signs of JSON.
            "After 40 submissions its state has 12,012 bytes.",
        ),
        (
            lambda state, evaluation: Release(evaluation.score, True, {"seen": "x" * 9_988}),
            "the size of its state",
            None,
        ),
        (
            lambda state, evaluation: Release(
                evaluation.score, True,
                {**state, evaluation.team: "y" * 90} if evaluation.team else state,
            ),
            "the size of its state",
            # A name of 16 letters, 90 others, and 8 signs of JSON for each of 200 teams.
            "After one submission of each of 200 teams, under scope = competition, its state has "
            "22,800 bytes: keep it to 100 for each team.",
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_a_mechanism_is_said_in_a_sentence(
    made: Any, name: str, sentence: str | None
) -> None:
    assert failures(check_mechanism(Mechanic(made=made))).get(name) == sentence


def test_the_state_of_a_mechanism_may_have_a_hundred_bytes_for_each_team() -> None:
    def release(state: Any, evaluation: Any) -> Release:
        # For each team a key of 16 letters, a value of 76, and 8 characters of JSON around them.
        team_state = {evaluation.team: "y" * 76} if evaluation.team else {}
        return Release(evaluation.score, True, {**state, **team_state})

    assert mechanisms.keeps_its_state_small(Mechanic(made=release)) == (Outcome.OK, "")


# -- analyses and rankers ------------------------------------------------------------------------

BOARD = example_study(n_rows=20, resamples=5)


@dataclass(frozen=True)
class Analyst:
    """An analysis that returns what it is given, one after another."""

    findings: Sequence[Finding]
    name: str = "analyst"
    is_fit: bool = True
    calls: list[int] = field(default_factory=list)

    def suits(self, _: Study) -> bool:
        return self.is_fit

    def run(self, study: Study, rng: Any) -> Finding:
        self.calls.append(len(study.teams))
        return self.findings[(len(self.calls) - 1) % len(self.findings)]


FOUND = Finding("analyst", "It is so.", {"n": 1})


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ((FOUND,), {}),
        ((replace(FOUND, verdict="Is it so? "),), {}),
        (
            (replace(FOUND, analysis="other"),),
            {"a finding": "The finding is of 'other', not of 'analyst'."},
        ),
        (
            (replace(FOUND, verdict="It is so"),),
            {"a finding": "The verdict must be a sentence."},
        ),
        (
            (replace(FOUND, columns={"luck": [1] * 7}),),
            {"its columns": "The column 'luck' has 7 values for 8 submissions."},
        ),
        ((replace(FOUND, columns={"luck": [1] * 8}),), {}),
        (
            (FOUND, replace(FOUND, verdict="It is not.")),
            {"the same study twice": "The same study and generator gave a different finding."},
        ),
        (
            (FOUND, replace(FOUND, document={"n": 2})),
            {"the same study twice": "The same study and generator gave a different finding."},
        ),
    ],
)
def test_a_mistake_of_an_analysis_is_said_in_a_sentence(
    findings: Sequence[Finding], expected: dict[str, str]
) -> None:
    assert failures(check_analysis(Analyst(findings), BOARD)) == expected


def test_the_synthetic_board_is_of_eight_teams() -> None:
    study = example_study()
    assert study.teams == tuple(f"team {number}" for number in range(8))
    assert study.submissions.tolist() == list(range(1, 9))
    assert (len(study.truth), study.resampled.shape) == (200, (8, 100))
    # The noise grows from 0.5 to 1, and a mean absolute difference is 0.798 of its deviation.
    assert study.scores[0] == pytest.approx(0.798 * 0.5, rel=0.15)
    assert study.scores[7] == pytest.approx(0.798, rel=0.15)


def test_an_analysis_is_not_tried_on_a_board_that_does_not_suit_it() -> None:
    (check,) = check_analysis(Analyst((FOUND,), is_fit=False)).checks
    assert (check.name, check.outcome, check.message) == (
        "a board",
        Outcome.NOT_TRIED,
        "It does not apply to the synthetic board: pass a study to which it applies.",
    )
    not_json = replace(FOUND, document={"n": float("nan")})
    found = failures(check_analysis(Analyst((not_json,)), BOARD))
    assert found["its document"].startswith("The document is not JSON without NaN and arrays: ")


@dataclass(frozen=True)
class Ranker:
    """A ranker whose rank sets a function makes from those that exclude nothing."""

    made: Any
    name: str = "ranker"
    calls: list[int] = field(default_factory=list)

    def rank(self, study: Study) -> Any:
        self.calls.append(0)
        ones = np.ones(len(study.teams), dtype=np.intp)
        sets = RankSets(ones, 8 * ones, ones, ones == 1, study.level)
        return self.made(sets, len(self.calls))


def at(first: int, others: int) -> Any:
    """Return eight whole numbers, of which only the first is another one."""
    return np.array([first, *[others] * 7], dtype=np.intp)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda sets, _: sets, set()),
        # The first of the board has rank 1, and one may truly be worse than it is ranked.
        (lambda sets, _: replace(sets, high=at(7, 8)), set()),
        (lambda sets, _: replace(sets, low=at(0, 1)), {"its rank sets", "one claim"}),
        (lambda sets, _: replace(sets, high=at(9, 8)), {"its rank sets"}),
        (
            lambda sets, _: replace(sets, low=at(1, 8), high=at(8, 7)),
            {"its rank sets", "one claim", "the board's ranks"},
        ),
        (lambda sets, _: replace(sets, tier=at(2, 1)), {"one claim"}),
        (lambda sets, _: replace(sets, possible_winner=np.zeros(8, dtype=np.bool_)), {"one claim"}),
        (
            lambda sets, call: replace(sets, high=at(7, 8)) if call == 5 else sets,
            {"the same study twice"},
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_a_ranker_is_found_by_its_check(made: Any, expected: set[str]) -> None:
    assert set(failures(check_ranker(Ranker(made), BOARD))) == expected


def test_a_mistake_of_a_ranker_is_said_in_a_sentence() -> None:
    none = np.zeros(8, dtype=np.bool_)
    sentences = {
        "rank must return RankSets.": lambda sets, _: [sets],
        "rank_high has 7 values for 8 submissions.": lambda sets, _: replace(
            sets, high=sets.high[1:]
        ),
        "Each rank set must lie within 1 and 8, its low end first.": (
            lambda sets, _: replace(sets, high=at(9, 8))
        ),
        "At least one submission must be a possible winner.": (
            lambda sets, _: replace(sets, possible_winner=none)
        ),
        "A submission may be the best if and only if its rank set contains 1.": (
            lambda sets, _: replace(sets, low=at(2, 1))
        ),
        "A submission may be the best if and only if its tier is 1.": (
            lambda sets, _: replace(sets, tier=at(2, 1))
        ),
        "Each rank set must contain the submission's rank on the board.": (
            lambda sets, _: replace(sets, high=at(1, 1))
        ),
    }
    for sentence, made in sentences.items():
        assert sentence in failures(check_ranker(Ranker(made), BOARD)).values(), sentence


# -- competitors ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sender(Guess):
    """A competitor that sends the same prediction each time."""

    prediction: Any = None
    team: int = 0

    def start(self, participation: Any, rng: Any) -> Any:
        return Sends(self.prediction, self.team)


@dataclass
class Sends:
    prediction: Any
    team: int

    def submit(self) -> Move:
        return Move(self.prediction, self.team)

    def receive(self, feedback: Any) -> None:
        pass

    def finish(self) -> Move:
        return self.submit()


ZEROS = np.zeros(120)


@pytest.mark.parametrize(
    ("prediction", "team", "sentence"),
    [
        (ZEROS, 0, None),
        (ZEROS + 1, 0, None),
        (ZEROS.tolist(), 0, "A prediction must be an array of the 120 rows."),
        (np.array(0.0), 0, "A prediction must be an array of the 120 rows."),
        (ZEROS[1:], 0, "A prediction has the shape (119,) for 120 rows."),
        (np.zeros((120, 1, 1)), 0, "A prediction has the shape (120, 1, 1) for 120 rows."),
        (ZEROS, 1, "A submission is from team 1 of 1: they are counted from 0."),
        (ZEROS, -1, "A submission is from team -1 of 1: they are counted from 0."),
        (np.full(120, "0"), 0, "A prediction holds <U1, not numbers."),
        (ZEROS + np.nan, 0, "A prediction holds a value that is not finite."),
        (ZEROS + 2, 0, "Labels must be codes from 0 to 1."),
        (ZEROS - 1, 0, "Labels must be codes from 0 to 1."),
        (ZEROS + 0.5, 0, "Labels must be codes from 0 to 1."),
    ],
)
def test_a_mistake_of_a_submission_is_said_in_a_sentence(
    prediction: Any, team: int, sentence: str | None
) -> None:
    assert (
        failures(check_competitor(Sender(prediction=prediction, team=team))).get("its submissions")
        == sentence
    )


class TiringPlayer(Sends):
    """Sends a label that does not exist from its third submission on."""

    n_sent = 0

    def submit(self) -> Move:
        self.n_sent += 1
        return Move(self.prediction + 2 * (self.n_sent > 2), self.team)


class Tiring(Sender):
    def start(self, participation: Any, rng: Any) -> Any:
        return TiringPlayer(self.prediction, self.team)


def test_a_mistake_of_the_third_submission_is_found() -> None:
    messages = failures(check_competitor(Tiring(prediction=ZEROS)))
    assert messages["its submissions"] == "Labels must be codes from 0 to 1."


@dataclass(frozen=True)
class TwoTeams(Guess):
    """A competitor that submits for two teams in turn, and keeps the feedback that it gets."""

    teams: int = 2
    heard: list[list[Feedback]] = field(default_factory=list)

    def start(self, participation: Any, rng: Any) -> Any:
        self.heard.append([])
        return Alternates(self.heard[-1])


@dataclass
class Alternates:
    heard: list[Feedback]

    def submit(self) -> Move:
        sent = np.zeros(120)
        sent[: len(self.heard)] = 1  # another score each time
        return Move(sent, len(self.heard) % 2)

    def receive(self, feedback: Feedback) -> None:
        self.heard.append(feedback)

    def finish(self) -> Move:
        return self.submit()


def test_a_competitor_gets_the_previous_score_of_the_same_team() -> None:
    competitor, problem = TwoTeams(), competitor_problem()
    assert not failures(check_competitor(competitor, problem))
    whole_game = next(feedbacks for feedbacks in competitor.heard if feedbacks)
    scores = [feedback.score for feedback in whole_game]
    assert scores == [problem.score(np.arange(120) < number) for number in range(6)]
    assert [feedback.previous for feedback in whole_game] == [None, None, *scores[:4]]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0.0, None),
        (1.0, None),
        (-0.01, "A probability is outside 0 to 1."),
        (1.01, "A probability is outside 0 to 1."),
    ],
)
def test_a_probability_is_within_0_and_1(value: float, sentence: str | None) -> None:
    metric = replace(ShareRight(), prediction=PredictionKind.PROBABILITY)
    found = failures(check_competitor(Sender(prediction=ZEROS + value), competitor_problem(metric)))
    assert found.get("its submissions") == sentence


def test_a_small_competition_has_public_rows_and_a_baseline() -> None:
    problem = competitor_problem(n_rows=9, submissions=2)
    part = problem.participation
    assert (part.n_rows, part.n_public, part.n_classes, part.submissions) == (9, 4, 2, 2)
    assert problem.public.tolist() == sorted(set(problem.public.tolist()))
    assert part.baseline_score == problem.score(part.baseline)
    numeric = competitor_problem(MeanAbsolute(), truth=np.arange(5.0)).participation
    assert (numeric.n_rows, numeric.n_public, numeric.n_classes) == (5, 2, None)


# -- commands ------------------------------------------------------------------------------------


def command(**options: Any) -> typer.Typer:
    """Return a command that prints its text and exits with its code."""
    app = typer.Typer(help="Say it." if "below" in options else None)

    @app.command(help=options.get("help", "Say it."))
    def say(
        text: str = typer.Argument(help=options.get("of_text", "What to say.")),
        code: int = typer.Option(
            0, *options.get("names", ("--code",)), help=options.get("of_code", "The exit code.")
        ),
        as_json: bool = typer.Option(False, "--json", help="As a document."),
    ) -> None:
        if code == 9:
            raise UsageError("Nine is not allowed.")
        if code == 8:
            raise KeyError("eight")
        typer.echo(text)
        raise typer.Exit(code)

    if "below" in options:

        @app.command(help=options["below"])
        def more() -> None:
            pass

    return app


@pytest.mark.parametrize(
    ("options", "example", "refused", "expected"),
    [
        ({}, ["a"], [["a", "--code", "9"], []], {}),
        (
            {"help": ""}, ["a"], [[]],
            {"its help": "arena x has no help: give its function a docstring."},
        ),
        ({"of_text": ""}, ["a"], [[]], {"its help": "The argument TEXT of arena x has no help."}),
        (
            {"names": ("--code", "-c"), "of_code": ""}, ["a"], [[]],
            {"its help": "The option --code of arena x has no help."},
        ),
        (
            {"names": ("--code", "--json")}, ["a"], [[]],
            {"its options": "arena x has two options --json."},
        ),
        (
            {"below": ""}, ["say", "a"], [[]],
            {"its help": "arena x more has no help: give its function a docstring."},
        ),
        (
            {"names": ("--Code",)}, ["a"], [[]],
            {
                "its options": "--Code of arena x is no usual option: use lower-case words with "
                "hyphens."
            },
        ),
        ({}, ["a", "--code", "3"], [[]], {"its example": "The example exits with 3: a"}),
        (
            {}, ["a", "--code", "8"], [[]],
            {"its example": "The example exits with 1: KeyError: 'eight'"},
        ),
        ({}, ["1", "--json"], [[]], {}),
        (
            {}, ["NaN", "--json"], [[]],
            {"its example": "--json does not print one JSON document: NaN is no number of JSON."},
        ),
        (
            {}, ["a"], [[], ["b"]],
            {"what it refuses": "b is not refused by an ArenaError or a usage error: b"},
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_a_command_is_said_in_a_sentence(
    options: dict[str, Any],
    example: list[str],
    refused: list[list[str]],
    expected: dict[str, str],
) -> None:
    assert failures(check_command(command(**options), "x", example, refused=refused)) == expected


def test_what_is_not_tried_of_a_command_is_told() -> None:
    checks = check_command(command(), "x").checks
    assert [(check.name, check.message) for check in checks if check.outcome is not Outcome.OK] == [
        ("its example", "Give arguments with which it must succeed."),
        ("what it refuses", "Give arguments that it must refuse."),
    ]
    assert json.loads(json.dumps(checks[0].outcome)) == "ok"


# -- modalities ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mode:
    """The modality of tables with one part of its own."""

    part: str
    made: Any = field(hash=False, compare=False)
    name: str = "mode"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.made if name == self.part else getattr(TABLE, name)


@pytest.mark.parametrize(
    ("part", "made", "name", "sentence"),
    [
        (
            "read_solution", lambda *_: 1, "files of others",
            "It must return None for a CSV file, which arena reads.",
        ),
        (
            "read_submission", lambda *_: 1, "files of others",
            "It must return None for a CSV file, which arena reads.",
        ),
        (
            "arrange", lambda table, *_, **__: replace(table, names=("key", "y")),
            "the rows of a table",
            "arrange must keep the id column of a table, and find no fault.",
        ),
        (
            "arrange",
            lambda table, *_, **__: replace(
                table, columns=(pa.array(["a", "b", "c"]), table.columns[1])
            ),
            "the rows of a table",
            "arrange must keep rows with different ids, and their numbers.",
        ),
        (
            "arrange", lambda table, *_, **__: replace(table, row_number=lambda row: row),
            "the rows of a table",
            "arrange must keep rows with different ids, and their numbers.",
        ),
        ("sample_cell", lambda *_: 0.5, "a sample", "sample_cell of 'y' must return a text."),
        (
            "seconds", lambda rows, _: -rows, "the time of reading",
            "seconds must be finite and must not fall with the number of rows.",
        ),
        (
            "seconds", lambda rows, _: rows * float("inf") if rows else 0.0, "the time of reading",
            "seconds must be finite and must not fall with the number of rows.",
        ),
        ("seconds", lambda rows, _: 0.0, "the time of reading", None),
        # The check compares the times of 0 and of 10 rows.
        (
            "seconds", lambda rows, _: rows - 0.5, "the time of reading",
            "seconds must be finite and must not fall with the number of rows.",
        ),
        (
            "seconds", lambda rows, _: float("inf") if rows > 9 else 0.0, "the time of reading",
            "seconds must be finite and must not fall with the number of rows.",
        ),
        (
            "seconds", lambda rows, _: float("inf") if rows > 10 else 0.0, "the time of reading",
            None,
        ),
        (
            "seconds", lambda rows, _: -1.0, "the time of reading",
            "seconds must be finite and must not fall with the number of rows.",
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_a_modality_is_said_in_a_sentence(
    part: str, made: Any, name: str, sentence: str | None
) -> None:
    mode: Modality = Mode(part, made)  # type: ignore[assignment]
    assert failures(check_modality(mode)).get(name) == sentence


# -- readers of evaluations ----------------------------------------------------------------------


@dataclass
class Reader:
    """A reader of evaluations that recognises some names, and reads tables one after another."""

    names: Sequence[str]
    tables: Sequence[Sequence[Any]]
    name: str = "reader"
    description: str = "What it reads."
    n_read: int = 0

    def recognises(self, path: Path) -> Any:
        return path.name in self.names

    def read(self, path: Path, value: str | None) -> Sequence[Any]:
        assert value == "acc"
        self.n_read += 1
        return self.tables[(self.n_read - 1) % len(self.tables)]


SCORES = CaseScores(["a", "b"], ["q", "q"], np.array([0.5, 1.0]))
ONE = CaseScores(["a"], ["q"], np.array([0.5]))


@pytest.mark.parametrize(
    ("names", "tables", "expected"),
    [
        (["own.json"], [[SCORES]], {}),
        ([], [[SCORES]], {"its file": "recognises('own.json') must be True."}),
        (
            ["own.json", "empty.json"], [[SCORES]],
            {"other files": "It recognises empty.json, which is no file of its format."},
        ),
        (
            ["own.json", "noise.csv"], [[SCORES]],
            {"other files": "It recognises noise.csv, which is no file of its format."},
        ),
        (
            ["own.json", "missing"], [[SCORES]],
            {"other files": "It recognises a file that does not exist."},
        ),
        (["own.json"], [[]], {"what it reads": "read returned nothing."}),
        (
            ["own.json"], [[SCORES, replace(ONE, cases=[])]],
            {
                "what it reads": "It raised ValueError: cases of the CaseScores has 0 values for 1 "
                "record"
            },
        ),
        (
            ["own.json"], [[SCORES], [ONE]],
            {"what it reads": "Reading the same file twice gave different values."},
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_a_reader_is_named_in_a_sentence(
    names: list[str], tables: list[list[Any]], expected: dict[str, str]
) -> None:
    reader = Reader(names, tables)
    assert failures(check_case_reader(reader, Path("own.json"), "acc")) == expected


@pytest.mark.parametrize(
    ("content", "name"), [(b"", "empty.json"), (bytes(range(256)), "noise.csv"), (b"x", None)]
)
def test_a_reader_may_not_take_an_empty_file_or_any_bytes(
    monkeypatch: pytest.MonkeyPatch, content: bytes, name: str | None
) -> None:
    def recognises(_: Reader, path: Path) -> bool:
        return path.name == "own.json" or (path.exists() and path.read_bytes() == content)

    monkeypatch.setattr(Reader, "recognises", recognises)
    failed_checks = failures(check_case_reader(Reader([], [[SCORES]]), Path("own.json"), "acc"))
    assert failed_checks == (
        {"other files": f"It recognises {name}, which is no file of its format."} if name else {}
    )


@pytest.mark.parametrize(
    ("content", "name"), [(b"", "empty.bin"), (bytes(range(256)), "noise.bin"), (b"x", None)]
)
def test_a_plugin_may_not_take_an_empty_file_or_any_bytes(content: bytes, name: str | None) -> None:
    class Plugin:
        @hookimpl
        def read_predictions(self, path: Path) -> Any:
            return pa.table({"id": ["a"]}) if path.read_bytes() == content else None

    sentence = f"read_predictions takes {name}, which is no file of predictions."
    assert failures(check_plugin(Plugin())) == ({"files of others": sentence} if name else {})


# -- optional parts of competitors ---------------------------------------------------------------


@dataclass(frozen=True)
class Player(Guess):
    """A competitor whose player has no method finish."""

    def start(self, participation: Any, rng: Any) -> Any:
        return SimpleNamespace(submit=lambda: Move(np.zeros(120)), receive=lambda _: None)


@dataclass(frozen=True)
class Able(Guess):
    """A competitor with optional parts: conduct, variants, and methods of its player."""

    parts: Mapping[str, Any] = field(default_factory=dict)
    conduct: Any = "honest"
    made: Any = None

    def start(self, participation: Any, rng: Any) -> Any:
        player = Guess().start(participation, rng)
        for name, part in self.parts.items():
            setattr(player, name, part)
        return player

    def variants(self) -> Any:
        return [self] if self.made is None else self.made


@pytest.mark.parametrize(
    ("competitor", "name", "sentence"),
    [
        (Able(), "conduct and variants", None),
        (
            Able(conduct="unknown"), "conduct and variants",
            f"Its conduct must be one of {', '.join(get_args(Conduct))}.",
        ),
        (
            Able(made=[]), "conduct and variants",
            "variants must return at least one competitor, and nothing else.",
        ),
        (
            Able(made=[Guess(), 3]), "conduct and variants",
            "variants must return at least one competitor, and nothing else.",
        ),
        (
            Player(), "its submissions",
            "start must return a player: submit, receive and finish.",
        ),
        (
            Able(parts={"submit": lambda: np.zeros(120)}), "its submissions",
            "submit must return a Move.",
        ),
        (
            Able(parts={"known_labels": lambda: np.zeros(3)}), "known labels",
            "known_labels has the shape (3,) for 120 rows.",
        ),
        (
            Able(parts={"known_labels": lambda: np.zeros(120)}), "known labels",
            "A label that it claims to know is wrong, although scores are exact.",
        ),
        (Able(parts={"known_labels": lambda: np.full(120, -1)}), "known labels", None),
    ],
)  # fmt: skip
def test_a_mistake_in_an_optional_part_of_a_competitor_is_named_in_a_sentence(
    competitor: Any, name: str, sentence: str | None
) -> None:
    assert failures(check_competitor(competitor)).get(name) == sentence


@dataclass(frozen=True)
class Ahead(Guess):
    """A competitor that sends ones, and may compute another number ahead."""

    computed: int = 1
    keys: Sequence[str] = ("key",)

    def start(self, participation: Any, rng: Any) -> Any:
        return Computes(self.computed, itertools.cycle(self.keys))


@dataclass
class Computes:
    computed: int
    keys: Any
    received: Any = None

    def computation(self) -> Computation:
        return Computation(next(self.keys), np.full, (120, self.computed))

    def receive_result(self, result: Any) -> None:
        self.received = result

    def submit(self) -> Move:
        sent, self.received = self.received, None
        return Move(np.ones(120, dtype=int) if sent is None else sent)

    def receive(self, feedback: Any) -> None:
        pass

    def finish(self) -> Move:
        return Move(np.ones(120, dtype=int))


@pytest.mark.parametrize(
    ("competitor", "sentence"),
    [
        (Ahead(), None),
        (Ahead(computed=0), "A result that was computed ahead gave another submission."),
        (
            Ahead(keys=("key", "other")),
            "computation returned two computations for one submission.",
        ),
    ],
)
def test_what_is_computed_ahead_is_the_same_submission(
    competitor: Any, sentence: str | None
) -> None:
    messages = failures(check_competitor(competitor))
    assert messages == ({} if sentence is None else {"computations ahead": sentence})
