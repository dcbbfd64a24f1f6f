"""Charts of observed scores, estimated true performances and the distribution of the best score.

:func:`chart` finds the chart of a result by its type. The results do not refer to their charts, so
that a computation never imports a drawing library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.charts import Specification, as_altair
from arena.charts.specification import count_axis, layered, named, quantitative, score_axis
from arena.charts.theme import BLUE, GREY, INK, ORANGE
from arena.types import Chart, FloatArray
from arena.utils.formatting import BoardDisplay
from arena_sota.binormal import DrawnMaximum
from arena_sota.dependence import conditional_probabilities, inside_bounds
from arena_sota.estimate import SotaEstimate
from arena_sota.maximum import SampleMaximum
from arena_sota.posterior import BestPosterior
from arena_sota.reuse import Reuse

if TYPE_CHECKING:
    import altair as alt

_BINS = 40
_FEW_BINS = 8
_DRAWN_BINS = 30
_HEIGHT = 240
_POINTS = 300


def chart(
    result: SampleMaximum | DrawnMaximum | SotaEstimate | BestPosterior,
    observed: float | None = None,
) -> alt.LayerChart:
    """Return the chart of a result of this package, with an observed best score marked.

    A distribution of the best score is drawn as a curve; an estimate as the histograms of the
    observed scores and of the estimated true performances.

    Raises
    ------
    TypeError
        If there is no chart for results of this type.

    Examples
    --------
    >>> from arena_sota.maximum import sample_maximum
    >>> len(chart(sample_maximum(100, 0.9, 10), observed=0.95).layer)
    2
    """
    return as_altair(report_chart(result, observed).specification)


@singledispatch
def report_chart(
    result: Any,
    observed: float | None = None,  # noqa: ARG001
    display: BoardDisplay | None = None,  # noqa: ARG001
) -> Chart:
    """Return the chart of a result with its name, title and description, for a report."""
    raise TypeError(f"There is no chart for {type(result).__name__}.")


@report_chart.register
def _of_exact(
    maximum: SampleMaximum, observed: float | None = None, display: BoardDisplay | None = None
) -> Chart:
    return _best_score(maximum.scores, maximum.probabilities, observed, display)


@report_chart.register
def _of_drawn(
    maximum: DrawnMaximum, observed: float | None = None, display: BoardDisplay | None = None
) -> Chart:
    counts, edges = np.histogram(maximum.draws, _DRAWN_BINS)
    return _best_score((edges[1:] + edges[:-1]) / 2, counts / counts.sum(), observed, display)


@report_chart.register
def _of_estimate(
    estimate: SotaEstimate,
    observed: float | None = None,  # noqa: ARG001
    display: BoardDisplay | None = None,
) -> Chart:
    return estimate_chart(estimate, display=display)


def estimate_chart(
    estimate: SotaEstimate, *, mark_best: bool = True, display: BoardDisplay | None = None
) -> Chart:
    """Return the histograms of scores and estimates; ``mark_best`` marks the best estimate."""
    lines = {"best score on the leaderboard": estimate.observed_maximum}
    if mark_best:
        lines["best estimated true performance"] = float(estimate.performances.max())
    return Chart(
        "scores-and-worth",
        "Observed scores and estimated true performances",
        "Histograms of the scores on the leaderboard and of the estimated true performances, which "
        "are lower; a dashed line marks the best.",
        histograms(
            {
                "scores on the leaderboard": estimate.observed,
                "estimated true performances": estimate.performances,
            },
            lines,
            display,
        ),
    )


@report_chart.register
def _of_posterior(
    posterior: BestPosterior, observed: float | None = None, display: BoardDisplay | None = None
) -> Chart:
    return Chart(
        "best-true-accuracy",
        "Posterior of the best true accuracy",
        "The posterior probability of each best true accuracy; a line marks the posterior mean.",
        curves(
            {"posterior": (posterior.best, posterior.probability)},
            {"posterior mean": posterior.mean}
            | ({} if observed is None else {"best score on the leaderboard": observed}),
            x_title="best true accuracy",
            display=display,
        ),
    )


@report_chart.register
def _of_reuse(
    reuse: Reuse,
    observed: float | None = None,  # noqa: ARG001
    display: BoardDisplay | None = None,  # noqa: ARG001
) -> Chart:
    ends = np.cumsum([gap.n for gap in reuse.history])
    points = [{"order": order, "gap": gap} for order, gap in enumerate(reuse.gaps.tolist(), 1)]
    means = [
        {"order": float(end - (gap.n - 1) / 2), "gap": gap.mean, "low": gap.low, "high": gap.high}
        for end, gap in zip(ends, reuse.history, strict=True)
    ]
    x = quantitative("order", "submissions in the order in which they were received")
    y = quantitative("gap", "public score better than private score by", scale={"zero": False})
    layers: list[Specification] = [
        {
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "color": GREY, "size": 20},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": means},
            "mark": {"type": "area", "color": BLUE, "opacity": 0.2},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": means},
            "mark": {"type": "line", "color": BLUE, "point": {"color": BLUE}},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": [{"gap": 0}]},
            "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
            "encoding": {"y": y},
        },
    ]
    return Chart(
        "reuse",
        "Public against private scores over time",
        "One point per submission: how much better its public score is than its private one. The "
        "line is the mean of each tenth of the submissions, the band its interval. A line that "
        "rises shows adaptation to the public rows; its height is mostly chance of the split.",
        layered(layers, height=_HEIGHT),
    )


def _best_score(
    scores: FloatArray,
    probabilities: FloatArray,
    observed: float | None,
    display: BoardDisplay | None,
) -> Chart:
    return Chart(
        "best-score-by-luck",
        "The best score that selection among these teams produces",
        "The probability of each best score under the model; a line marks the best score on the "
        "leaderboard.",
        curves(
            {"probability": (scores, probabilities)},
            {} if observed is None else {"best score on the leaderboard": observed},
            display=display,
        ),
    )


def histograms(
    groups: Mapping[str, FloatArray],
    lines: Mapping[str, float],
    display: BoardDisplay | None = None,
) -> Specification:
    """Return up to three overlaid histograms of scores, with values marked by lines.

    Scores far below the best ones are not shown, so that the upper end can be read.

    Examples
    --------
    >>> len(histograms({"observed": np.array([0.5, 0.6])}, {"best": 0.6})["layer"])
    2
    """
    top = max(*(float(values.max()) for values in groups.values()), *lines.values())
    every = np.concatenate(list(groups.values()))
    low = max(float(every.min()), top - 3 * (top - float(np.median(every))) - 1e-9)
    teams = max(map(len, groups.values()))
    edges = np.linspace(low, top + 1e-9, max(_FEW_BINS, min(_BINS, teams // 3)) + 1)
    bins = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    rows = [
        {"from": round(a, 8), "to": round(b, 8), "teams": count, "what": label}
        for label, values in groups.items()
        for (a, b), count in zip(bins, np.histogram(values, edges)[0].tolist(), strict=True)
        if count
    ]
    color = _colors([*groups, *lines])
    x = _score_encoding(edges, display)
    most = max((row["teams"] for row in rows), default=1)
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "opacity": 0.55, "binSpacing": 0},
        "encoding": {
            "x": {**x, "field": "from", "bin": {"binned": True}},
            "x2": {"field": "to"},
            "y": quantitative("teams", stack=None, axis=count_axis(most)),
            "color": color,
            "tooltip": [{"field": field} for field in ("what", "from", "to", "teams")],
        },
    }
    return layered([bars, *_marks(lines, color, x)], height=_HEIGHT)


def curves(
    lines_by_label: Mapping[str, tuple[FloatArray, FloatArray]],
    marks: Mapping[str, float],
    *,
    y_title: str = "probability",
    x_title: str = "score",
    display: BoardDisplay | None = None,
) -> Specification:
    """Return curves over a score, with values marked by vertical lines.

    Ends of a curve below a thousandth of its maximum are left out: they hide its shape.

    >>> curve = (np.array([0.1, 0.2]), np.array([0.5, 0.5]))
    >>> len(curves({"p": curve}, {})["layer"])
    1
    """
    points = [
        (label, float(x), float(y))
        for label, (xs, ys) in lines_by_label.items()
        for x, y in visible_points(xs, ys)
    ]
    rows = [{"score": x, "probability": y, "what": label} for label, x, y in points]
    color = _colors([*lines_by_label, *marks])
    x_values = [*(x for _, x, _ in points), *marks.values()]
    x_axis = {**_score_encoding(x_values, display), "title": x_title}
    line = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": x_axis,
            "y": quantitative("probability", y_title),
            "color": color,
        },
    }
    return layered([line, *_marks(marks, color, x_axis)], height=_HEIGHT)


def visible_points(xs: FloatArray, ys: FloatArray) -> FloatArray:
    """Return at most ``_POINTS`` points ``(n, 2)`` of a density, without its empty ends."""
    points = np.column_stack([xs, ys])
    visible = np.flatnonzero(ys >= 1e-3 * ys.max(initial=0.0))
    if len(visible):
        points = points[max(visible[0] - 1, 0) : visible[-1] + 2]
    return points[:: max(len(points) // _POINTS, 1)]


def simulated_scores(
    performances: FloatArray, n_rows: int, rho0: float, rng: np.random.Generator
) -> FloatArray:
    """Draw the observed scores of one possible board of such classifiers (S0 Fig. 8 b, d).

    Classifiers outside the bounds of the dependence model are left out.

    >>> simulated_scores(np.array([1.0, 0.0]), 10, 0.0, np.random.default_rng(0)).tolist()
    [1.0, 0.0]
    """
    theta0 = float(performances.max())
    inside = performances[inside_bounds(performances, rho0, theta0)]
    right, wrong = conditional_probabilities(inside, rho0, theta0)
    easy = int(rng.binomial(n_rows, theta0))
    return np.asarray((rng.binomial(easy, right) + rng.binomial(n_rows - easy, wrong)) / n_rows)


def _colors(labels: Sequence[str]) -> Specification:
    """Return the colours of up to four labels; of more the first ones are drawn again."""
    colors = (GREY, BLUE, ORANGE, INK)[: len(labels)]
    return named("what", labels, colors, legend={"orient": "top", "columns": 1})


def _score_encoding(values: Iterable[float], display: BoardDisplay | None) -> Specification:
    return quantitative("score", **score_axis(values, display, padding=0))


def _marks(
    lines: Mapping[str, float], color: Specification, x: Specification
) -> list[Specification]:
    return [
        {
            "data": {"values": [{"score": value, "what": label}]},
            "mark": {"type": "rule", "strokeWidth": 2, "strokeDash": [5, 3]},
            "encoding": {"x": {**x, "field": "score"}, "color": color},
        }
        for label, value in lines.items()
    ]
