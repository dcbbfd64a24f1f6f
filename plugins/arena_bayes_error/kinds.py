"""The kinds of labels that a file may contain, and the estimator of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.intake.cells import merge_equal_numbers
from arena.interfaces import FloorEstimate, FloorSettings
from arena.interfaces.faults import show, show_all
from arena.plugin.info import attributed
from arena.plugin.manager import PluginManager
from arena.plugin.returned import checked
from arena.types import DEFAULT_LEVEL
from arena.utils.representation import short_repr
from arena.utils.text import plural
from arena_bayes_error.annotators import from_counts, from_several_hard_labels, shares_of
from arena_bayes_error.best_scores import MetricFloor, best_score
from arena_bayes_error.checks import check_shares
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import (
    from_hard_labels,
    from_noisy_soft_labels,
    from_soft_labels,
    from_uncertainty_labels,
    refuse_single_labels,
)
from arena_bayes_error.isotonic import from_ordered_scores
from arena_bayes_error.neighbours import CoverHartBounds, cover_hart
from arena_bayes_error.platt import PlattFit, from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence
from arena_bayes_error.request import FloorRequest

_MOST_CLASSES = 50
"""A label with more different values, not all of them integers, is a quantity, not a class."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelAnswer:
    """The result for a file."""

    __repr__ = short_repr

    kind: str
    """The name of the estimator."""
    found: BayesErrorEstimate | CoverHartBounds | FloorEstimate
    """The estimate, or bounds for features."""
    positive: str | None = None
    """The positive one of two texts, or the positive classes."""
    fit: PlattFit | None = None
    """The scaling of scores to probabilities; None: the kind needs none."""
    metric_floors: tuple[MetricFloor, ...] = ()
    """The best possible score in each requested metric."""


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """The content of the columns."""

    values: tuple[Any, ...]
    """The arguments of the estimator."""
    positive: str | None = None
    metrics: tuple[str, ...] = ()
    """Whose best possible score is computed too."""


@dataclass(frozen=True, slots=True)
class LabelKind:
    """A kind of labels: how it is read, and the function that estimates."""

    name: str
    description: str
    read: Callable[[FloorRequest], Parsed]
    function: Callable[[Parsed, FloorSettings], LabelAnswer | BayesErrorEstimate | CoverHartBounds]
    options: frozenset[str]

    def parse(self, labels: Any) -> Parsed:
        """Read the columns."""
        return self.read(labels)

    def estimate(self, parsed: Parsed, settings: FloorSettings) -> Any:
        """Return a :class:`LabelAnswer`, which holds more than an estimate."""
        answer = self.function(parsed, settings)
        return (
            answer
            if isinstance(answer, LabelAnswer)
            else LabelAnswer(self.name, answer, parsed.positive)
        )


def answer(kind: str, request: FloorRequest, manager: PluginManager) -> LabelAnswer:
    """Return the result of an estimator for the columns of a file.

    Raises
    ------
    UnknownNameError
        If no plugin provides this kind.
    UsageError
        If something that the kind needs is missing (the message names a kind that does not need
        it), or an option is given that the kind does not use.
    InputError
        If the file does not hold labels of that kind.
    """
    chosen = manager.floor_estimators.resolve(kind)
    for option in ("sign", "label", "positive", "prior", "cluster", "metric", "neighbours"):
        if option not in chosen.options and getattr(request, option) not in {None, ()}:
            others = [
                floor_estimator.name
                for floor_estimator in manager.floor_estimators
                if option in floor_estimator.item.options
            ]
            raise UsageError(
                f"--kind {kind} does not use --{option}; --kind {', '.join(others)} does. Remove "
                f"the option or change the kind."
            )
    with attributed(manager.floor_estimators.plugin_of(kind), f"estimating from {kind} labels"):
        label_answer = chosen.estimate(chosen.parse(request), request.settings())
        if isinstance(label_answer, LabelAnswer):
            return label_answer
        return LabelAnswer(kind, checked(label_answer, FloorEstimate), request.positive)


def _soft(request: FloorRequest) -> Parsed:
    names = request.data_columns()
    labels = request.file.numbers(names)
    if len(names) == 1:
        if request.positive is not None:
            raise UsageError(
                "A single column of soft labels is the probability of the positive class; "
                "--positive selects among the columns of several classes."
            )
        labels = labels[:, 0]
    positive = request.classes()
    if positive is not None:
        check_shares(labels, request.options.get("row_number"))
        labels = np.minimum(labels[:, positive].sum(axis=1), 1)
    return Parsed((labels,), request.positive, request.metric)


def _estimate_soft(parsed: Parsed, settings: FloorSettings) -> LabelAnswer:
    estimate = from_soft_labels(*parsed.values, **settings)
    clusters = settings.get("clusters")
    floors = tuple(
        best_score(metric, parsed.values[0], clusters=clusters) for metric in parsed.metrics
    )
    return LabelAnswer("soft", estimate, parsed.positive, metric_floors=floors)


def _uncertainty(request: FloorRequest) -> Parsed:
    return Parsed((request.column("uncertainty label"),))


def _noisy(request: FloorRequest) -> Parsed:
    if request.sign is None:
        raise UsageError(
            "Noisy soft labels need sign labels, the likelier class of each row: name their column "
            "with --sign. Labels without noise are --kind soft, which needs no signs; shares of "
            "several labels are --kind counts."
        )
    signs, positive = request.signs()
    return Parsed((request.column("noisy soft label"), signs), positive)


def _hard(request: FloorRequest) -> Parsed:
    names = (request.label,) if request.label and not request.columns else request.data_columns()
    if len(names) > 1:
        several, positive = _several(request, names)
        return Parsed((several,), positive)
    if request.sign is None:
        raise refuse_single_labels()
    both = request.file.values(names[0])
    expected_texts = both if len(both) == 2 else ()
    labels, positive = request.file.two_texts(
        names[0], "hard label", request.positive, expected_texts
    )
    signs, _ = request.signs(expected_texts)
    return Parsed((labels, signs), positive)


def _several(
    request: FloorRequest, names: tuple[str, ...]
) -> tuple[npt.NDArray[np.float64], str | None]:
    """Return ``(n, m)`` of 0, 1 and NaN, and the text that is 1, if others than 0 and 1 are."""
    file = request.file
    texts = {text for name in names for text in file.values(name)} - {""}
    number_of_text = merge_equal_numbers(sorted(texts))
    if (
        file.array is not None
        or not texts
        or (number_of_text and {*number_of_text.values()} <= {0.0, 1.0})
    ):
        return file.maybe_numbers(names), None
    return file.texts_of_two(names, request.positive)


def _estimate_hard(parsed: Parsed, settings: FloorSettings) -> BayesErrorEstimate:
    single = len(parsed.values) == 2
    return (from_hard_labels if single else from_several_hard_labels)(*parsed.values, **settings)


def _counts(request: FloorRequest) -> Parsed:
    names = request.data_columns()
    counts = request.file.numbers(names)
    positive = request.classes()
    if request.metric and set(request.metric) != {"brier"}:
        raise UsageError(
            "With few labels per row, the best possible score of most metrics is estimated with a "
            "bias; only brier has a known correction. Use --metric brier, or --kind soft to treat "
            "the shares as exact."
        )
    metrics = request.metric[:1]
    if request.sign is None:
        return Parsed((counts, positive, None), request.positive, metrics)
    if positive is None and len(names) == 2:
        positive = [1]
    if positive is None:
        raise UsageError("Sign labels go with two classes: name the positive ones (--positive).")
    signs, _ = replace(request, positive=None).signs()
    return Parsed((counts, positive, signs), request.positive, metrics)


def _estimate_counts(parsed: Parsed, settings: FloorSettings) -> LabelAnswer:
    counts, positive, signs = parsed.values
    if signs is None:
        estimate = from_counts(counts, positive, **settings)
    else:
        noisy = from_noisy_soft_labels(shares_of(counts, positive), signs, **settings)
        estimate = replace(noisy, kind="counts")
    clusters, totals = settings.get("clusters"), np.asarray(counts).sum(axis=1)
    floors = tuple(
        best_score(metric, shares_of(counts, positive), totals, clusters)
        for metric in parsed.metrics
    )
    return LabelAnswer("counts", estimate, parsed.positive, metric_floors=floors)


def _positive_confidence(request: FloorRequest) -> Parsed:
    if request.prior is None:
        raise UsageError(
            "Positive confidence needs the share of positive rows among all: give it with --prior. "
            "With probabilities for rows of both classes, use --kind soft, which needs no prior."
        )
    return Parsed((request.column("confidence"), request.prior))


def _scores(request: FloorRequest) -> Parsed:
    if request.label is None:
        raise UsageError(
            "Scores are scaled to probabilities with observed labels: name their column with "
            "--label. If the numbers are probabilities already, use --kind soft."
        )
    labels, positive = request.file.two_texts(
        request.label,
        "label",
        request.positive,
        otherwise=" For labels of more values, --kind features gives bounds.",
    )
    return Parsed((request.column("score"), labels), positive)


def _estimate_scores(parsed: Parsed, settings: FloorSettings) -> LabelAnswer:
    estimate, fit = from_scores(*parsed.values, **settings)
    return LabelAnswer("scores", estimate, parsed.positive, fit)


def _features(request: FloorRequest) -> Parsed:
    if request.label is None:
        raise UsageError(
            "With only features and hard labels you get bounds: name the column of the observed "
            "labels with --label. For soft labels, use --kind soft."
        )
    texts = [name for name in request.left() if request.file.starts_with_text(name)]
    if texts:
        raise InputError(
            f"Features must be numbers, but {show_all(texts)} of {request.file.path} contain text: "
            f"name the numeric columns with --column, or encode each text as a 0/1 column."
        )
    features = request.file.numbers(request.data_columns())
    _refuse_quantities(request.file.values(request.label), request.label)
    labels = request.file.codes(request.label, "label")
    return Parsed((features, labels, 1 if request.neighbours is None else request.neighbours))


def _estimate_features(parsed: Parsed, settings: FloorSettings) -> CoverHartBounds:
    features, labels, neighbours = parsed.values
    level = settings.get("level", DEFAULT_LEVEL)
    return cover_hart(features, labels, neighbours=neighbours, level=level)


def _refuse_quantities(values: tuple[str, ...], label: str) -> None:
    numbers = merge_equal_numbers(values) or {}
    if len(numbers) > _MOST_CLASSES and not all(
        number == number.to_integral_value() for number in numbers.values()
    ):
        raise InputError(
            f"The label {show(label)} has {plural(len(numbers), 'different value')}: it is a "
            "quantity, and an error rate needs classes. Name a column of classes with --label, or "
            "bin the quantity into classes."
        )


def _direct(function: Callable[..., BayesErrorEstimate]) -> Callable[..., BayesErrorEstimate]:
    """Return a function of parsed labels that passes them on."""
    return lambda parsed, settings: function(*parsed.values, **settings)


KINDS = (
    LabelKind(
        "soft",
        "The probability of the positive class, or of each class.",
        _soft,
        _estimate_soft,
        frozenset({"positive", "cluster", "metric"}),
    ),
    LabelKind(
        "uncertainty",
        "The probability of the less likely class.",
        _uncertainty,
        _direct(from_uncertainty_labels),
        frozenset({"cluster"}),
    ),
    LabelKind(
        "noisy",
        "Soft labels with noise, with --sign.",
        _noisy,
        _direct(from_noisy_soft_labels),
        frozenset({"sign", "positive", "cluster"}),
    ),
    LabelKind(
        "hard",
        "Observed labels, with --sign, or several columns of them.",
        _hard,
        _estimate_hard,
        frozenset({"label", "sign", "positive", "cluster"}),
    ),
    LabelKind(
        "counts",
        "How many annotators chose each class.",
        _counts,
        _estimate_counts,
        frozenset({"sign", "positive", "cluster", "metric"}),
    ),
    LabelKind(
        "positive-confidence",
        "Probabilities on positive rows, with --prior.",
        _positive_confidence,
        _direct(from_positive_confidence),
        frozenset({"prior", "cluster"}),
    ),
    LabelKind(
        "scores",
        "Any numbers, with --label.",
        _scores,
        _estimate_scores,
        frozenset({"label", "positive", "cluster"}),
    ),
    LabelKind(
        "isotonic",
        "Numbers of which larger ones make the positive label likelier, with --label.",
        _scores,
        _direct(from_ordered_scores),
        frozenset({"label", "positive", "cluster"}),
    ),
    LabelKind(
        "features",
        "Any numbers, with --label; they give bounds by nearest neighbours, not an estimate.",
        _features,
        _estimate_features,
        frozenset({"label", "neighbours"}),
    ),
)
"""The items of the hook."""
