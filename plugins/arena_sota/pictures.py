"""The pictures of a best score: what is observed, what is left of it, and what luck makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arena.charts.theme import BLUE, GREY, INK, ORANGE
from arena.types import Chart, FloatArray

if TYPE_CHECKING:
    from arena_sota.maximum import SampleMaximum

__all__ = ["histogram_picture", "maximum_picture", "outcomes_of", "probabilities_picture"]

_BINS = 40
_HEIGHT = 240
_WIDTH = 640
_POINTS = 300
_SCORE = {"field": "score", "type": "quantitative", "title": "score", "scale": {"zero": False}}


def histogram_picture(
    name: str,
    title: str,
    description: str,
    groups: Mapping[str, FloatArray],
    lines: Mapping[str, float],
) -> Chart:
    """Return histograms of up to three groups of scores over one another, with values marked.

    Scores far below the best ones are not shown, so that the upper end can be read.

    Examples
    --------
    >>> chart = histogram_picture("a", "b", "c", {"observed": np.array([0.5, 0.6])}, {"best": 0.6})
    >>> len(chart.specification["layer"])
    2
    """
    top = max(*(float(values.max()) for values in groups.values()), *lines.values())
    every = np.concatenate(list(groups.values()))
    low = max(float(every.min()), top - 3 * (top - float(np.median(every))) - 1e-9)
    edges = np.linspace(low, top + 1e-9, _BINS + 1)
    rows = [
        {"from": round(a, 8), "to": round(b, 8), "teams": int(count), "what": label}
        for label, values in groups.items()
        for a, b, count in _bins(values, edges)
        if count
    ]
    color = _colors([*groups, *lines])
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "opacity": 0.55, "binSpacing": 0},
        "encoding": {
            "x": {**_SCORE, "field": "from", "bin": {"binned": True}},
            "x2": {"field": "to"},
            "y": {"field": "teams", "type": "quantitative", "title": "teams", "stack": None},
            "color": color,
            "tooltip": [{"field": field} for field in ("what", "from", "to", "teams")],
        },
    }
    return Chart(name, title, description, _layered([bars, *_marks(lines, color)]))


def probabilities_picture(
    name: str,
    title: str,
    description: str,
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    lines: Mapping[str, float],
    *,
    y_title: str = "probability",
    x_title: str = "score",
) -> Chart:
    """Return curves over a score, with values marked.

    >>> curve = (np.array([0.1, 0.2]), np.array([0.5, 0.5]))
    >>> len(probabilities_picture("a", "b", "c", {"p": curve}, {}).specification["layer"])
    1
    """
    rows = [
        {"score": float(x), "probability": float(y), "what": label}
        for label, (xs, ys) in curves.items()
        for x, y in _thinned(xs, ys)
    ]
    color = _colors([*curves, *lines])
    line = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": {**_SCORE, "title": x_title},
            "y": {"field": "probability", "type": "quantitative", "title": y_title},
            "color": color,
        },
    }
    return Chart(name, title, description, _layered([line, *_marks(lines, color)]))


def maximum_picture(maximum: SampleMaximum, observed: float | None = None) -> Chart:
    """Return the distribution of the best score, with the observed one marked."""
    lines = {} if observed is None else {"observed best score": observed}
    return probabilities_picture(
        "best-score-by-luck",
        "The best score that luck would give",
        "A curve of how probable each best score is, if the estimate holds; a line marks the best "
        "score of the board.",
        {"probability": (maximum.scores, maximum.probabilities)},
        lines,
    )


def outcomes_of(
    performances: FloatArray, n_rows: int, rho0: float, rng: np.random.Generator
) -> FloatArray:
    """Return one possible board of classifiers of these performances, drawn (S0 Fig. 8 b, d).

    Who is outside the bounds of the dependence is left out.

    >>> outcomes_of(np.array([1.0, 0.0]), 10, 0.0, np.random.default_rng(0)).tolist()
    [1.0, 0.0]
    """
    from arena_sota.dependence import conditional_probabilities, inside_bounds

    theta0 = float(performances.max())
    inside = performances[inside_bounds(performances, rho0, theta0)]
    right, wrong = conditional_probabilities(inside, rho0, theta0)
    easy = int(rng.binomial(n_rows, theta0))
    return np.asarray((rng.binomial(easy, right) + rng.binomial(n_rows - easy, wrong)) / n_rows)


def _bins(values: FloatArray, edges: FloatArray) -> list[tuple[float, float, int]]:
    counts, _ = np.histogram(values, edges)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))


def _thinned(xs: FloatArray, ys: FloatArray) -> npt.NDArray[np.float64]:
    step = max(len(xs) // _POINTS, 1)
    return np.column_stack([xs[::step], ys[::step]])


def _colors(labels: Sequence[str]) -> dict[str, Any]:
    palette = (GREY, BLUE, ORANGE, INK)
    scale = {"domain": list(labels), "range": [palette[i % 4] for i in range(len(labels))]}
    legend = {"orient": "top", "title": None, "columns": 2}
    return {"field": "what", "type": "nominal", "scale": scale, "legend": legend}


def _marks(lines: Mapping[str, float], color: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "data": {"values": [{"score": value, "what": label}]},
            "mark": {"type": "rule", "strokeWidth": 2, "strokeDash": [5, 3]},
            "encoding": {"x": _SCORE, "color": color},
        }
        for label, value in lines.items()
    ]


def _layered(layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": _WIDTH,
        "height": _HEIGHT,
        "layer": layers,
    }
