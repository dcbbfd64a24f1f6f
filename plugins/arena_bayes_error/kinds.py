"""The kinds of labels that a file may hold, and which estimator takes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.intake.cells import merge_equal_numbers
from arena.intake.faults import show, show_all
from arena_bayes_error.annotators import from_counts, from_several_hard_labels, shares_of
from arena_bayes_error.asked import Asked
from arena_bayes_error.checks import check_shares
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import (
    from_hard_labels,
    from_noisy_soft_labels,
    from_soft_labels,
    from_uncertainty_labels,
    refuse_single_labels,
)
from arena_bayes_error.floors import MetricFloor, best_score
from arena_bayes_error.neighbours import CoverHartBounds, cover_hart
from arena_bayes_error.platt import PlattFit, from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence

__all__ = ["KINDS", "Answer", "Kind", "answer"]

_MOST_CLASSES = 50
"""A label of more numbers, not all of them whole, is no class."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What was found in a file."""

    found: BayesErrorEstimate | CoverHartBounds
    positive: str | None = None
    """The positive one of two texts, or the positive classes."""
    fit: PlattFit | None = None
    metric_floors: tuple[MetricFloor, ...] = ()
    """The best possible score in each metric that was asked for."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of labels."""

    read: Callable[[Asked], Answer]
    takes: frozenset[str]
    """The options, besides those that every kind has, that it reads."""


def answer(kind: str, asked: Asked) -> Answer:
    """Return what one of :data:`KINDS` says of a file.

    Raises
    ------
    UsageError
        If something is missing that the kind needs (it says which other kind would do without),
        or given that it does not read.
    InputError
        If the file does not hold labels of that kind.
    """
    chosen = KINDS[kind]
    for option in ("sign", "label", "positive", "prior", "cluster", "metric", "neighbours"):
        if option not in chosen.takes and getattr(asked, option) not in {None, ()}:
            others = [name for name, one in KINDS.items() if option in one.takes]
            raise UsageError(
                f"--kind {kind} does not read --{option}; --kind {', '.join(others)} would. Leave "
                f"the option or choose the kind."
            )
    return chosen.read(asked)


def _soft(asked: Asked) -> Answer:
    names = asked.data_columns()
    labels = asked.file.numbers(names)
    if len(names) == 1:
        if asked.positive is not None:
            raise UsageError(
                "One column of soft labels is the probability of the positive class, whatever it "
                "is called: --positive chooses among the columns of several classes."
            )
        labels = labels[:, 0]
    positive = asked.classes()
    if positive is not None:
        check_shares(labels, asked.options.get("row_number"))
        labels = np.clip(labels[:, positive].sum(axis=1), 0, 1)
    settings = asked.settings()
    found = from_soft_labels(labels, **settings)
    clusters = settings.get("clusters")
    floors = tuple(best_score(metric, labels, clusters=clusters) for metric in asked.metric)
    return Answer(found, asked.positive, metric_floors=floors)


def _uncertainty(asked: Asked) -> Answer:
    return Answer(from_uncertainty_labels(asked.column("uncertainty label"), **asked.settings()))


def _noisy(asked: Asked) -> Answer:
    if asked.sign is None:
        raise UsageError(
            "Noisy soft labels need sign labels, the likelier class of each row: name their column "
            "with --sign. Without noise, --kind soft needs none; for shares of several labels, "
            "--kind counts bounds the bias."
        )
    signs, positive = asked.signs()
    found = from_noisy_soft_labels(asked.column("noisy soft label"), signs, **asked.settings())
    return Answer(found, positive)


def _hard(asked: Asked) -> Answer:
    names = (asked.label,) if asked.label and not asked.columns else asked.data_columns()
    if len(names) > 1:
        several, positive = _several(asked, names)
        return Answer(from_several_hard_labels(several, **asked.settings()), positive)
    if asked.sign is None:
        raise refuse_single_labels()
    both = asked.file.values(names[0])
    known = both if len(both) == 2 else ()
    labels, positive = asked.file.two_texts(names[0], "hard label", asked.positive, known)
    signs, _ = asked.signs(known)
    return Answer(from_hard_labels(labels, signs, **asked.settings()), positive)


def _several(asked: Asked, names: tuple[str, ...]) -> tuple[npt.NDArray[np.float64], str | None]:
    """Return ``(n, m)`` of 0, 1 and NaN, and the text that is 1, if others than 0 and 1 are."""
    file = asked.file
    found = {text for name in names for text in file.values(name)} - {""}
    known = merge_equal_numbers(sorted(found))
    if file.array is not None or not found or (known and {*known.values()} <= {0.0, 1.0}):
        return file.maybe_numbers(names), None
    return file.texts_of_two(names, "hard label", asked.positive)


def _counts(asked: Asked) -> Answer:
    names = asked.data_columns()
    counts = asked.file.numbers(names)
    positive = asked.classes()
    floors = _floors_of_counts(asked, counts, positive)
    if asked.sign is None:
        found = from_counts(counts, positive, **asked.settings())
        return Answer(found, asked.positive, metric_floors=floors)
    if positive is None and len(names) == 2:
        positive = [1]
    if positive is None:
        raise UsageError("Sign labels go with two classes: name the positive ones (--positive).")
    signs, _ = replace(asked, positive=None).signs()
    found = from_noisy_soft_labels(shares_of(counts, positive), signs, **asked.settings())
    return Answer(replace(found, kind="counts"), asked.positive, metric_floors=floors)


def _floors_of_counts(
    asked: Asked, counts: npt.NDArray[np.generic], positive: list[int] | None
) -> tuple[MetricFloor, ...]:
    if not asked.metric:
        return ()
    if set(asked.metric) != {"brier"}:
        raise UsageError(
            "Shares of few labels make every best possible score look better than it is; only "
            "that of brier is known without this bias. Ask for --metric brier, or take soft labels "
            "for the truth (--kind soft)."
        )
    clusters = asked.settings().get("clusters")
    shares = shares_of(counts, positive)
    return (best_score("brier", shares, np.asarray(counts).sum(axis=1), clusters),)


def _positive_confidence(asked: Asked) -> Answer:
    if asked.prior is None:
        raise UsageError(
            "Confidence on positive rows needs the share of positive rows among all: give it with "
            "--prior. With the probability on rows of both classes, --kind soft needs none."
        )
    confidence = asked.column("confidence")
    return Answer(from_positive_confidence(confidence, asked.prior, **asked.settings()))


def _scores(asked: Asked) -> Answer:
    if asked.label is None:
        raise UsageError(
            "Scores are scaled to probabilities against observed labels: name their column with "
            "--label. Numbers that are probabilities already are the kind soft."
        )
    labels, positive = asked.file.two_texts(
        asked.label,
        "label",
        asked.positive,
        otherwise=" For labels of more values, --kind features gives bounds.",
    )
    found, fit = from_scores(asked.column("score"), labels, **asked.settings())
    return Answer(found, positive, fit)


def _features(asked: Asked) -> Answer:
    if asked.label is None:
        raise UsageError(
            "Bounds from features need the observed label of each row: name its column with "
            "--label. For soft labels without features, --kind soft needs none."
        )
    texts = [name for name in asked.left() if asked.file.starts_with_text(name)]
    if texts:
        raise InputError(
            f"Features must be numbers, and {show_all(texts)} of {asked.file.path} hold text: name "
            f"the others with --column, or write a column of 0 and 1 for each text."
        )
    features = asked.file.numbers(asked.data_columns())
    _refuse_quantities(asked.file.values(asked.label), asked.label)
    labels = asked.file.codes(asked.label, "label")
    level = asked.options.get("level", 0.95)
    neighbours = 1 if asked.neighbours is None else asked.neighbours
    return Answer(cover_hart(features, labels, neighbours=neighbours, level=level))


def _refuse_quantities(values: tuple[str, ...], label: str) -> None:
    numbers = merge_equal_numbers(values) or {}
    if len(numbers) > _MOST_CLASSES and not all(one.is_integer() for one in numbers.values()):
        raise InputError(
            f"The label {show(label)} has {len(numbers):,} different numbers: it is a quantity, "
            f"and only a class has an error rate. Name a column of classes with --label, or cut "
            f"the quantity into classes."
        )


def _kind(read: Callable[[Asked], Answer], *takes: str) -> Kind:
    return Kind(read, frozenset(takes))


KINDS: Mapping[str, Kind] = {
    "soft": _kind(_soft, "positive", "cluster", "metric"),
    "uncertainty": _kind(_uncertainty, "cluster"),
    "noisy": _kind(_noisy, "sign", "positive", "cluster"),
    "hard": _kind(_hard, "label", "sign", "positive", "cluster"),
    "counts": _kind(_counts, "sign", "positive", "cluster", "metric"),
    "positive-confidence": _kind(_positive_confidence, "prior", "cluster"),
    "scores": _kind(_scores, "label", "positive", "cluster"),
    "features": _kind(_features, "label", "neighbours"),
}
"""What is known of each row -> how it is read, and estimated from."""
