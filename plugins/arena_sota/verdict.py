"""One sentence on a best score, for a person who knows no statistics."""

from __future__ import annotations

__all__ = ["sota_verdict"]

_HARDLY = 0.0005


def sota_verdict(
    side: int,
    target: str,
    observed: float,
    expected: float,
    sota: float | None,
    n_teams: int,
    n_above: int | None,
) -> str:
    """Return whether the best score can be luck.

    Parameters
    ----------
    side
        0: there is a solution; 1: the best score is more than luck; -1: less than luck alone.
    target
        ``mean`` or ``upper``.
    observed, expected
        The best score, and its mean in the model.
    sota
        The estimate, where there is one.
    n_teams, n_above
        How many teams there are, and how many scored above the estimate.

    Examples
    --------
    >>> sota_verdict(0, "mean", 0.9116, 0.9116, 0.9070, 3_558, 841)[:70]
    'The best score of 0.9116 is what luck among 3,558 teams would give on '
    """
    if side > 0:
        return (
            f"The winner stands out: if every one of the {n_teams:,} teams were worth just its "
            f"score, the best score would be {expected:.4f} on average, below the {observed:.4f} "
            f"that was reached, so luck among many does not explain it."
        )
    if (side < 0 or sota is None) and target == "upper":
        return (
            f"Even if none of the {n_teams:,} teams did better than guessing, the best score of "
            f"{observed:.4f} would still be within the reach of luck: nothing on this board is "
            f"surely more than that."
        )
    if side < 0 or sota is None:
        return (
            f"Even if none of the {n_teams:,} teams did better than guessing, the best score would "
            f"be about {expected:.4f}, above the {observed:.4f} that was reached: nothing on this "
            f"board is more than luck explains."
        )
    if observed - sota < _HARDLY:
        return (
            f"Luck among {n_teams:,} teams explains next to nothing of the best score of "
            f"{observed:.4f}: the best is truly worth about {sota:.4f}."
        )
    others = f"; {n_above:,} teams scored above that."
    if target == "upper":
        return (
            f"The best score of {observed:.4f} is still within the reach of luck among {n_teams:,} "
            f"teams if the best of them is truly worth only {sota:.4f}{others}"
        )
    return (
        f"The best score of {observed:.4f} is what luck among {n_teams:,} teams would give on "
        f"average if the best of them is truly worth {sota:.4f}{others}"
    )
