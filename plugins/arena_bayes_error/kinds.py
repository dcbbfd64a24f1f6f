"""The kinds of labels that a file may hold, and which estimator takes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.intake.faults import show_all
from arena_bayes_error.annotators import from_counts, from_several_hard_labels, shares_of
from arena_bayes_error.checks import check_shares
from arena_bayes_error.estimate import BayesErrorEstimate, Options
from arena_bayes_error.estimators import (
    from_hard_labels,
    from_noisy_soft_labels,
    from_soft_labels,
    from_uncertainty_labels,
    refuse_single_labels,
)
from arena_bayes_error.label_file import LabelFile
from arena_bayes_error.platt import PlattFit, from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence

__all__ = ["KINDS", "Answer", "Asked", "answer"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What was asked of a file."""

    file: LabelFile
    columns: tuple[str, ...]
    """Of the labels; empty: those that nothing else names."""
    sign: str | None
    label: str | None
    positive: str | None
    prior: float | None
    options: Options

    def data_columns(self) -> tuple[str, ...]:
        """Return the columns of the labels: as named, else all but the id, the sign, the label."""
        if self.columns:
            return self.columns
        others = {"id", self.sign, self.label} if self.file.has_header else {self.sign, self.label}
        left = tuple(name for name in self.file.names if name not in others)
        if left and (len(left) == 1 or not any(self.file.starts_with_text(one) for one in left)):
            return left
        raise UsageError(
            f"It does not show which columns of {self.file.path} hold the labels: name them with "
            f"--column ({show_all(self.file.names)})."
        )

    def column(self, what: str) -> npt.NDArray[Any]:
        """Return the one column of numbers that a kind reads."""
        names = self.data_columns()
        if len(names) > 1:
            raise UsageError(
                f"{len(names):,} columns could be the {what}: name one with --column "
                f"({show_all(names)})."
            )
        return np.ascontiguousarray(self.file.numbers(names)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What was found in a file."""

    estimate: BayesErrorEstimate
    positive: str | None = None
    """The positive one of two texts, or the positive classes."""
    fit: PlattFit | None = None


def answer(kind: str, asked: Asked) -> Answer:
    """Return the estimate of one of :data:`KINDS`.

    Raises
    ------
    UsageError
        If something is missing that the kind needs; it says which other kind would do without.
    InputError
        If the file does not hold labels of that kind.
    """
    return KINDS[kind](asked)


def _soft(asked: Asked) -> Answer:
    names = asked.data_columns()
    labels = asked.file.numbers(names)
    if len(names) == 1:
        return Answer(from_soft_labels(labels[:, 0], **asked.options))
    if asked.positive is None:
        return Answer(from_soft_labels(labels, **asked.options))
    check_shares(labels, asked.options.get("row_number"))
    inside = labels[:, _classes(asked.positive, names)].sum(axis=1)
    found = from_soft_labels(np.clip(inside, 0, 1), **asked.options)
    return Answer(found, asked.positive)


def _uncertainty(asked: Asked) -> Answer:
    return Answer(from_uncertainty_labels(asked.column("uncertainty label"), **asked.options))


def _noisy(asked: Asked) -> Answer:
    if asked.sign is None:
        raise UsageError(
            "Noisy soft labels need sign labels, the likelier class of each row: name their column "
            "with --sign. Without noise, --kind soft needs none; for shares of several labels, "
            "--kind counts bounds the bias."
        )
    signs, positive = _signs(asked)
    found = from_noisy_soft_labels(asked.column("noisy soft label"), signs, **asked.options)
    return Answer(found, positive)


def _hard(asked: Asked) -> Answer:
    names = (asked.label,) if asked.label and not asked.columns else asked.data_columns()
    if len(names) > 1:
        several = asked.file.maybe_numbers(names)
        return Answer(from_several_hard_labels(several, **asked.options))
    if asked.sign is None:
        raise refuse_single_labels()
    both = asked.file.values(names[0])
    known = both if len(both) == 2 else ()
    labels, positive = asked.file.two_texts(names[0], "hard label", asked.positive, known)
    signs, _ = _signs(asked, known)
    return Answer(from_hard_labels(labels, signs, **asked.options), positive)


def _counts(asked: Asked) -> Answer:
    names = asked.data_columns()
    counts = asked.file.numbers(names)
    positive = None if asked.positive is None else _classes(asked.positive, names)
    if asked.sign is None:
        return Answer(from_counts(counts, positive, **asked.options), asked.positive)
    if positive is None and len(names) == 2:
        positive = [1]
    if positive is None:
        raise UsageError("Sign labels go with two classes: name the positive ones (--positive).")
    shares = shares_of(counts, positive)
    signs, _ = _signs(replace(asked, positive=None))
    found = from_noisy_soft_labels(shares, signs, **asked.options)
    return Answer(replace(found, kind="counts"), asked.positive)


def _positive_confidence(asked: Asked) -> Answer:
    if asked.prior is None:
        raise UsageError(
            "Confidence on positive rows needs the share of positive rows among all: give it with "
            "--prior. With the probability on rows of both classes, --kind soft needs none."
        )
    confidence = asked.column("confidence")
    return Answer(from_positive_confidence(confidence, asked.prior, **asked.options))


def _scores(asked: Asked) -> Answer:
    if asked.label is None:
        raise UsageError(
            "Scores are scaled to probabilities against observed labels: name their column with "
            "--label. Numbers that are probabilities already are the kind soft."
        )
    labels, positive = asked.file.two_texts(asked.label, "label", asked.positive)
    found, fit = from_scores(asked.column("score"), labels, **asked.options)
    return Answer(found, positive, fit)


def _signs(asked: Asked, labels: tuple[str, ...] = ()) -> tuple[npt.NDArray[np.bool_], str]:
    """Return the signs; texts that are the labels' mean the same, and so do 0, 1 and -1."""
    name = asked.sign or ""
    found = set(asked.file.values(name))
    usual = next((pair for pair in (("0", "1"), ("-1", "1")) if found <= {*pair}), ())
    shared = bool(labels) and found <= {*labels}
    positive = asked.positive if shared or asked.positive in found else None
    return asked.file.two_texts(name, "sign label", positive, labels if shared else usual)


def _classes(positive: str, names: tuple[str, ...]) -> list[int]:
    """Return the positions of classes that are named, or counted from 0.

    >>> _classes("cat, dog", ("cat", "cow", "dog")), _classes("1", ("cat", "cow"))
    ([0, 2], [1])
    """
    asked = [one.strip() for one in positive.split(",")]
    by_name = all(one in names for one in asked)
    if not by_name and not all(one.isdecimal() and int(one) < len(names) for one in asked):
        raise UsageError(
            f"--positive names classes by their columns, or counts them from 0: {show_all(names)}."
        )
    return [names.index(one) if by_name else int(one) for one in asked]


KINDS: Mapping[str, Callable[[Asked], Answer]] = {
    "soft": _soft,
    "uncertainty": _uncertainty,
    "noisy": _noisy,
    "hard": _hard,
    "counts": _counts,
    "positive-confidence": _positive_confidence,
    "scores": _scores,
}
"""What is known of each row -> how it is read and estimated from."""
