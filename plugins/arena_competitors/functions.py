"""The public function ``arena.attack``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arena.plugin.manager import PluginManager
from arena.utils.parallel import Progress
from arena.utils.progress import shown
from arena_competitors.cli.request import AttackOutcome, AttackRequest, prepare, run


def attack(
    attacks: str | Sequence[str] = ("boosting",),
    mechanisms: str | Sequence[str] = (),
    *,
    rows: int | None = None,
    total_rows: int | None = None,
    submissions: int = 400,
    repeats: int = 5,
    metric: str | None = None,
    classes: int | None = None,
    scope: str | None = None,
    seed: int = 0,
    budget: float | None = None,
    competition: str | Path | None = None,
    wait: float = 0.0,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> AttackOutcome:
    """Run attackers against public-leaderboard mechanisms, and measure the bias.

    The bias is the best released score minus the score of the same submission on hidden rows. By
    default the labels are random, so that any score beyond chance is bias.

    Parameters
    ----------
    attacks
        Such as ``["boosting", "block-flip(rows=4)"]``, or ``"boosting"`` for one. An attack that
        does not suit the metric is left out, with a note.
    mechanisms
        Such as ``["kaggle", "ladder-free"]``; empty: these two, or those of ``competition``.
    rows, total_rows, classes
        Public rows, all rows of a submission, and classes of the random labels; None: 4,000, three
        times as many, and 2.
    submissions
        Submissions before the attacker's last one.
    repeats
        Number of repetitions to average; their standard errors need at least 2.
    metric
        None: accuracy.
    scope
        ``"team"``, ``"rank"`` or ``"competition"``: what has an instance of the mechanism; None:
        team.
    seed
        The random seed.
    budget
        The largest bias that is acceptable; None: mechanisms are not judged.
    competition
        The folder of a competition, whose solution, metric and mechanism are attacked; None:
        random labels.
    wait
        Seconds to wait for another process that holds the competition.
    manager
        The plugins on random labels; None: those installed.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Returns
    -------
    Outcome
        ``curves`` by the number of submissions, ``verdicts`` on the mechanisms, and ``advice``;
        ``to_dict()`` returns JSON (``arena/attack/1``).

    Raises
    ------
    ArenaError
        If something does not exist, the arguments do not fit together, or an attack or a mechanism
        fails.

    Examples
    --------
    >>> outcome = attack("boosting", "kaggle", rows=200, submissions=50, repeats=2)
    >>> outcome.curves[0].last_bias > 0
    True
    """
    attacks, mechanisms = (
        [specification] if isinstance(specification, str) and specification else specification
        for specification in (attacks, mechanisms)
    )
    request = AttackRequest(
        attacks=", ".join(attacks),
        mechanisms=", ".join(mechanisms) or None,
        rows=rows,
        total_rows=total_rows,
        submissions=submissions,
        repeats=repeats,
        metric=metric,
        classes=classes,
        scope=scope,
        seed=seed,
        budget=budget,
    )
    study = prepare(request, None if competition is None else Path(competition), wait, manager)
    with shown(progress) as display:
        return run(study, display)
