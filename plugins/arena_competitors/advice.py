"""Recommends a mechanism from the results of the attacks, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arena.public_board.revealed import Revealed
from arena_competitors.campaign import Curve


@dataclass(frozen=True, slots=True)
class Verdict:
    """The largest bias of one mechanism under attack, and its cost for honest teams."""

    mechanism: str
    """The mechanism."""
    worst_attack: str
    """The attack, with its setting, that reached the largest bias."""
    bias: float
    """The largest bias that any attack reached, at any number of submissions."""
    smallest_gain: float | None
    """The smallest honest gain shown in nine of ten trials, in the metric's unit; None: the largest
    gain tried was not shown in nine of ten."""
    within_budget: bool | None
    """Whether the bias is within the budget; None without a budget."""
    bias_high: float | None = None
    """One-sided 95% upper bound of the bias over repetitions; None: there was only one."""
    revealed_rows: float | None = None
    """Public rows whose label one submission reveals, as ``arena serve --check`` measures it; None:
    not measured."""
    revealed_bits: float | None = None
    """The bits of information on the labels in one release; None: not measured."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def evaluate(
    curves: Sequence[Curve],
    gains: Mapping[str, float | None],
    revealed: Mapping[str, Revealed | None],
    budget: float | None,
) -> list[Verdict]:
    """Return a verdict for each mechanism, in the order of ``gains``."""
    verdicts = []
    for mechanism, gain in gains.items():
        mechanism_curves = [curve for curve in curves if curve.mechanism == mechanism]
        worst = max(mechanism_curves, key=lambda curve: curve.largest_bias)
        bias = worst.largest_bias
        within = None if budget is None else bias <= budget
        highs = [curve.bias_bound for curve in mechanism_curves if curve.bias_bound is not None]
        high = max(highs) if highs else None
        labels = revealed[mechanism]
        rows, bits = (None, None) if labels is None else (labels.shown_rows, labels.bits)
        verdicts.append(
            Verdict(
                mechanism,
                worst.setting,
                bias,
                smallest_gain=gain,
                within_budget=within,
                bias_high=high,
                revealed_rows=rows,
                revealed_bits=bits,
            )
        )
    return verdicts


def advise(verdicts: Sequence[Verdict], budget: float | None) -> str:
    """Recommend the mechanism within the budget that shows the smallest honest gain.

    The upper bound of its bias must be within the budget, so one repetition leads to no
    recommendation.

    >>> verdicts = [
    ...     Verdict("kaggle", "boosting", 0.07, 0.0001, False, 0.071),
    ...     Verdict("ladder-free", "boosting", 0.018, 0.0032, True, 0.019),
    ...     Verdict("ladder(eta=0.1)", "boosting", 0.001, None, True, 0.002),
    ... ]
    >>> advise(verdicts, 0.02)
    'Choose ladder-free: of the mechanisms that keep every attack within a bias of 0.02 (its \
largest is 0.018, by boosting) it shows the smallest honest gains. ladder-free shows honest gains \
of 0.0032 or more in nine of ten trials; smaller gains less often. ladder(eta=0.1) did not show \
even the largest honest gain tried in nine of ten trials.'
    """
    if budget is None:
        return _without_budget(verdicts)
    return f"{_within_budget(verdicts, budget)} {_not_shown(verdicts)}".rstrip()


def _within_budget(verdicts: Sequence[Verdict], budget: float) -> str:
    if all(verdict.bias_high is None for verdict in verdicts):
        return (
            "One repetition does not show how much the bias varies, so no mechanism is "
            "recommended. Use --repeats 5 or more."
        )
    within = [
        verdict
        for verdict in verdicts
        if verdict.bias_high is not None and verdict.bias_high <= budget
    ]
    useful = [verdict for verdict in within if verdict.smallest_gain is not None]
    if not useful:
        least = min(verdicts, key=lambda verdict: verdict.bias)
        return (
            f"No mechanism tried is shown to keep every attack within a bias of {budget:g} and to "
            f"show honest gains in nine of ten trials. The smallest bias is {least.bias:.3g}, with "
            f"{least.mechanism} against {least.worst_attack}. Try a larger step, fewer "
            f"submissions, a start from the baseline, an instance per rank, or more public rows."
        )
    best = min(useful, key=_hidden_gain)
    return (
        f"Choose {best.mechanism}: of the mechanisms that keep every attack within a bias of "
        f"{budget:g} (its largest is {best.bias:.3g}, by {best.worst_attack}) it shows the "
        f"smallest honest gains. {_cost(best)}"
    )


def _without_budget(verdicts: Sequence[Verdict]) -> str:
    order = sorted(verdicts, key=lambda verdict: verdict.bias)
    biases = "; ".join(
        f"{verdict.mechanism}: {verdict.bias:.3g} by {verdict.worst_attack}" for verdict in order
    )
    return (
        f"The largest bias of each mechanism: {biases}. {_costs(order)} Set the largest bias you "
        f"accept with --budget to get a recommendation."
    )


def _hidden_gain(verdict: Verdict) -> float:
    return float("inf") if verdict.smallest_gain is None else verdict.smallest_gain


def _costs(order: Sequence[Verdict]) -> str:
    """Return the cost of the first mechanism that shows gains, and which ones show none."""
    useful = [verdict for verdict in order if verdict.smallest_gain is not None]
    return " ".join([*map(_cost, useful[:1]), _not_shown(order)]).rstrip()


def _not_shown(verdicts: Sequence[Verdict]) -> str:
    names = [verdict.mechanism for verdict in verdicts if verdict.smallest_gain is None]
    if not names:
        return ""
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} did not show even the largest honest gain tried in nine of ten trials."


def _cost(verdict: Verdict) -> str:
    return (
        f"{verdict.mechanism} shows honest gains of {verdict.smallest_gain:.2g} or more in nine of "
        f"ten trials; smaller gains less often."
    )
