"""What an organiser should choose after the attacks, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena_competitors.campaign import Curve

__all__ = ["Verdict", "advise", "judge"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one mechanism stands against all attacks, and what it costs honest teams."""

    mechanism: str
    worst_attack: str
    """The setting of the attack that drove it furthest."""
    bias: float
    """The largest bias that any attack reached, at any number of submissions."""
    smallest_gain: float | None
    """The smallest honest gain that it shows, in the metric's unit; None: none is shown."""
    within_budget: bool | None
    """None without a budget."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "mechanism": self.mechanism,
            "worst_attack": self.worst_attack,
            "bias": self.bias,
            "smallest_gain": self.smallest_gain,
            "within_budget": self.within_budget,
        }


def judge(
    curves: Sequence[Curve], gains: Mapping[str, float | None], budget: float | None
) -> list[Verdict]:
    """Return a verdict on each mechanism, in the order of ``gains``."""
    verdicts = []
    for mechanism, gain in gains.items():
        own = [curve for curve in curves if curve.mechanism == mechanism]
        worst = max(own, key=lambda curve: curve.largest_bias)
        bias = worst.largest_bias
        within = None if budget is None else bias <= budget
        verdicts.append(Verdict(mechanism, worst.setting, bias, gain, within))
    return verdicts


def advise(verdicts: Sequence[Verdict], budget: float | None) -> str:
    """Return what to choose: of those within the budget, the one that hides the least.

    >>> verdicts = [
    ...     Verdict("kaggle", "boosting", 0.07, 0.0001, False),
    ...     Verdict("ladder-free", "boosting", 0.018, 0.0032, True),
    ...     Verdict("ladder(eta=0.1)", "boosting", 0.001, None, True),
    ... ]
    >>> advise(verdicts, 0.02)
    'Take ladder-free: of the mechanisms tried that keep every attack under a bias of 0.02 (its \
largest is 0.018, by boosting) it hides the least. ladder-free costs honest teams gains below \
0.0032: smaller ones are not shown in nine of ten tries. ladder(eta=0.1) is useless here: it shows \
honest teams no gain at all.'
    """
    if budget is None:
        return _without_budget(verdicts)
    return f"{_within_budget(verdicts, budget)} {_useless(verdicts)}".rstrip()


def _within_budget(verdicts: Sequence[Verdict], budget: float) -> str:
    within = [verdict for verdict in verdicts if verdict.within_budget]
    useful = [verdict for verdict in within if verdict.smallest_gain is not None]
    if not useful:
        least = min(verdicts, key=lambda verdict: verdict.bias)
        return (
            f"None of the mechanisms tried keeps every attack under a bias of {budget:g} and still "
            f"shows what honest teams gain. The least that was reached is {least.bias:.3g}, with "
            f"{least.mechanism} against {least.worst_attack}. Try a larger step, fewer "
            f"submissions, a start from the baseline, an instance per rank, or more public rows."
        )
    best = min(useful, key=_hidden_gain)
    return (
        f"Take {best.mechanism}: of the mechanisms tried that keep every attack under a bias of "
        f"{budget:g} (its largest is {best.bias:.3g}, by {best.worst_attack}) it hides the least. "
        f"{_cost(best)}"
    )


def _without_budget(verdicts: Sequence[Verdict]) -> str:
    order = sorted(verdicts, key=lambda verdict: verdict.bias)
    told = "; ".join(
        f"{verdict.mechanism}: {verdict.bias:.3g} by {verdict.worst_attack}" for verdict in order
    )
    return (
        f"The largest bias of each mechanism: {told}. {_costs(order)} Say with --budget which "
        f"bias you can bear, to be told which mechanism hides the least within it."
    )


def _hidden_gain(verdict: Verdict) -> float:
    return float("inf") if verdict.smallest_gain is None else verdict.smallest_gain


def _costs(order: Sequence[Verdict]) -> str:
    """Return what the first mechanism that shows anything costs, and which ones show nothing."""
    useful = [verdict for verdict in order if verdict.smallest_gain is not None]
    return " ".join([*map(_cost, useful[:1]), _useless(order)]).rstrip()


def _useless(verdicts: Sequence[Verdict]) -> str:
    names = [verdict.mechanism for verdict in verdicts if verdict.smallest_gain is None]
    if not names:
        return ""
    are, they = ("is", "it shows") if len(names) == 1 else ("are", "they show")
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} {are} useless here: {they} honest teams no gain at all."


def _cost(verdict: Verdict) -> str:
    return (
        f"{verdict.mechanism} costs honest teams gains below {verdict.smallest_gain:.2g}: smaller "
        f"ones are not shown in nine of ten tries."
    )
