"""How many cases a benchmark needs to show a difference between two algorithms.

Miller (2024), *Adding Error Bars to Evals*: paired differences, repeated answers and clusters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.evaluation.ranks import best_first
from arena.evaluation.repeats import repeat_variance
from arena.evaluation.standard_errors import standard_error_of_mean
from arena.intake import CaseColumns
from arena.plugin.manager import PluginManager
from arena.scoring.case_matrix import CaseMatrix
from arena.scoring.rank import CaseSettings, read_cases
from arena.simulation.requests import CasesPlanRequest
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.representation import short_repr
from arena.utils.tabular import as_json
from arena.utils.text import printable

_MOST_ALGORITHMS = 30
_ANSWERS = (1, 2, 4, 8, 16)
_FEWEST_TASKS = 3


@dataclass(frozen=True, slots=True)
class QuestionsForAnswers:
    """The cases needed for a number of answers to each of them."""

    answers: int
    """Answers to each case."""
    cases: float
    """Median over the pairs of algorithms."""
    cases_low: float
    """Of the pair that needs the fewest."""
    cases_high: float
    """Of the pair that needs the most."""


@dataclass(frozen=True, slots=True)
class NeighbourPlan:
    """What it takes to show which of two algorithms next to each other in rank is better."""

    better: str
    """The algorithm with the better mean on the table."""
    worse: str
    """The next one in rank."""
    lead: float
    """The difference of their means, at least 0."""
    shown: bool
    """Whether the table shows it by a paired test of this pair alone."""
    cases: float | None
    """Cases that show a true difference of ``lead``; None: they have equal means."""
    cases_low: float
    """The same if the true difference is at the upper end of its interval."""
    cases_high: float | None
    """The same at its lower end; None: the table does not exclude that it is 0."""
    tasks: float | None
    """Tasks that show it where those of the table are a sample of many, each with as many cases as
    now; None: fewer than three tasks, or equal means."""


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """What a table says about the number of cases."""

    __repr__ = short_repr

    metric: str
    """What the values are."""
    difference: float
    """The true difference that a paired test shows with the probability ``power``."""
    level: float
    """Of the test."""
    power: float
    """The probability with which the difference is shown."""
    cases: int
    """Cases of the table."""
    pairs: int
    """Pairs of algorithms."""
    detectable: float
    """The difference that the cases of the table show with this power; median over the pairs."""
    needed: tuple[QuestionsForAnswers, ...]
    """For each number of answers; only one, if no case was answered twice."""
    unpaired: float
    """Cases needed if each algorithm had its own cases; median over the pairs."""
    neighbours: tuple[NeighbourPlan, ...]
    """Each algorithm with the next one in rank, the best first."""
    notes: tuple[str, ...] = ()
    """Algorithms that were left out, one sentence each; not in the document."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document ``arena/plan-questions/1``."""
        document: dict[str, Any] = as_json(asdict(self))
        del document["notes"]
        return {"schema": "arena/plan-questions/1", **document}


def plan_cases(
    table: Any,
    *,
    value: str | None = None,
    task: str | None = None,
    cluster: str | None = None,
    time: str | None = None,
    repeat: str | None = None,
    lower_is_better: bool | None = None,
    difference: float | None = None,
    level: float = DEFAULT_LEVEL,
    manager: PluginManager | None = None,
) -> QuestionPlan:
    """Return how many cases show a difference between two algorithms, from their values.

    Parameters
    ----------
    table
        As :func:`arena.rank` takes it.
    value, task, cluster, time, repeat
        Its columns; see :class:`~arena.CaseColumns`.
    lower_is_better
        The direction of the values; None: as the files state, else greater.
    difference
        The true difference to show; None: the lead of the best algorithm.
    level
        Of the paired test.
    manager
        The plugins; None: those installed.

    Raises
    ------
    InputError
        If the table is invalid.
    UsageError
        If a number is out of range, or the table is too small.

    Examples
    --------
    >>> table = {"case": range(40), "a": [0.9, 0.8] * 20, "b": [0.5, 0.6] * 20}
    >>> plan_cases(table, difference=0.1).cases
    40
    """
    request = CasesPlanRequest(
        table=table,
        value=value,
        task=task,
        cluster=cluster,
        time=time,
        repeat=repeat,
        lower_is_better=lower_is_better,
        difference=difference,
        level=level,
    )
    return plan_table(request, manager or PluginManager())


def plan_table(request: CasesPlanRequest, manager: PluginManager) -> QuestionPlan:
    """Read the table of a request, and plan; see :func:`plan_cases`."""
    lower = request.lower_is_better
    columns = CaseColumns(
        value=request.value,
        task=request.task,
        cluster=request.cluster,
        time=request.time,
        repeat=request.repeat,
    )
    settings = CaseSettings(greater_is_better=None if lower is None else not lower, columns=columns)
    cases = read_cases(request.table, settings, manager)
    questions = plan_questions(
        cases.matrix,
        cases.metric,
        request.difference,
        greater_is_better=cases.greater_is_better,
        level=request.level,
    )
    lacking = (
        f"{printable(rejected.file)} lacks values and is left out." for rejected in cases.rejected
    )
    return replace(questions, notes=tuple(lacking))


def plan_questions(
    matrix: CaseMatrix,
    metric: str,
    difference: float | None = None,
    *,
    greater_is_better: bool = True,
    level: float = DEFAULT_LEVEL,
    power: float = 0.8,
) -> QuestionPlan:
    """Return the number of cases for a difference of two means on the same cases.

    ``n = (z_(level) + z_(power))^2 (omega^2 + (sigma_A^2 + sigma_B^2) / K) / d^2``, where omega^2
    is the variance between cases of the expected difference, sigma^2 that of the answers to one
    case, and K the number of answers (Miller 2024, section 5). With clusters, both are multiplied
    by the ratio of the clustered variance of the mean to the other.

    Parameters
    ----------
    matrix
        At least two algorithms on at least two cases, or clusters; of more than 30 the best count.
    metric
        What the values are.
    difference
        The difference d, above 0; None: the lead of the best algorithm over the second.
    greater_is_better
        The direction of the values.
    level, power
        Of a two-sided test.

    Raises
    ------
    UsageError
        If a number is out of range, or the table is too small.

    Examples
    --------
    >>> from arena.interfaces import CaseScores
    >>> from arena.scoring.case_matrix import case_matrix
    >>> cases = [str(i) for i in range(100)]
    >>> values = np.array([1.0, 0.0] * 50 + [0.0, 0.0, 1.0, 0.0] * 25)
    >>> table = case_matrix(CaseScores(["a"] * 100 + ["b"] * 100, cases * 2, values))
    >>> found = plan_questions(table, "accuracy", 0.1)
    >>> round(found.needed[0].cases), round(found.unpaired), round(found.detectable, 3)
    (149, 347, 0.122)
    """
    check_level(level)
    if not 0 < power < 1:
        raise UsageError("The power must be between 0 and 1, e.g. 0.8.")
    order = best_first(matrix.values.mean(axis=1), greater_is_better=greater_is_better)
    table = matrix.subset(order[:_MOST_ALGORITHMS].tolist())
    m, n = table.values.shape
    units = n if table.clusters is None else len(np.unique(table.clusters))
    if m < 2 or units < 2:
        raise UsageError(
            "A plan needs at least two algorithms on at least two cases, or groups of cases."
        )
    means = table.values.mean(axis=1)
    target_difference = abs(float(means[0] - means[1])) if difference is None else difference
    if not (np.isfinite(target_difference) and target_difference > 0):
        raise UsageError("Give the difference to detect: --difference, above 0.")
    of_answers = repeat_variance(table.values, table.within, table.repeats)
    within = np.nan_to_num(of_answers.within)
    variance_of_questions = within / of_answers.answers
    factor = float((ndtri((1 + level) / 2) + ndtri(power)) ** 2)
    first, second = np.array(list(combinations(range(m), 2))).T
    variances = np.array([_variance(table, table.values[j] - table.values[k]) for j, k in
                          zip(first, second, strict=True)])  # fmt: skip
    single = np.array([_variance(table, row) for row in table.values])
    answered_twice = bool((within > 0).any())
    plain = np.array(
        [
            (table.values[j] - table.values[k]).var(ddof=1)
            for j, k in zip(first, second, strict=True)
        ]
    )
    design = np.divide(variances, plain, out=np.ones_like(plain), where=plain > 0)
    between = np.maximum(plain - variance_of_questions[first] - variance_of_questions[second], 0.0)
    noise = within[first] + within[second]
    needed = tuple(
        _needed(answers, factor * design * (between + noise / answers) / target_difference**2)
        for answers in (_ANSWERS if answered_twice else _ANSWERS[:1])
    )
    return QuestionPlan(
        metric=metric,
        difference=target_difference,
        level=level,
        power=power,
        cases=n,
        pairs=len(first),
        detectable=float(np.median(np.sqrt(factor * variances / n))),
        needed=needed,
        unpaired=float(np.median(factor * (single[first] + single[second]) / target_difference**2)),
        neighbours=tuple(
            _neighbours(
                table.subset([j, j + 1]), level, factor, greater_is_better=greater_is_better
            )
            for j in range(m - 1)
        ),
    )


def _neighbours(
    pair: CaseMatrix, level: float, factor: float, *, greater_is_better: bool
) -> NeighbourPlan:
    """Return the plan of two algorithms, the better one first.

    ``factor`` is the number of cases for a difference of one standard deviation.
    """
    better, worse = pair.algorithms
    differences = (pair.values[0] - pair.values[1]) * (1 if greater_is_better else -1)
    n, variance, lead = len(differences), _variance(pair, differences), float(differences.mean())
    critical = float(ndtri((1 + level) / 2))
    reach = critical * float(np.sqrt(variance / n))

    def cases_for(difference: float) -> float | None:
        return factor * variance / difference**2 if difference > 0 else None

    tasks = None
    codes = pair.tasks
    if codes is not None and lead > 0 and len(counts := np.bincount(codes)) >= _FEWEST_TASKS:
        by_task = np.bincount(codes, weights=differences) / counts
        # Student's t needs that many more than the normal test (Guenther 1981).
        tasks = factor * float(by_task.var(ddof=1)) / lead**2 + critical**2 / 2
    return NeighbourPlan(
        better=better,
        worse=worse,
        lead=lead,
        shown=lead > reach,
        cases=cases_for(lead),
        cases_low=cases_for(lead + reach) or 0.0,
        cases_high=cases_for(lead - reach),
        tasks=tasks,
    )


def _variance(table: CaseMatrix, values: FloatArray) -> float:
    """Return n times the variance of the mean of ``(n,)`` values, clustered if there are groups."""
    return len(values) * standard_error_of_mean(values, table.clusters) ** 2


def _needed(answers: int, cases: FloatArray) -> QuestionsForAnswers:
    return QuestionsForAnswers(
        answers, float(np.median(cases)), float(cases.min()), float(cases.max())
    )
