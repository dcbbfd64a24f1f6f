"""The charts of attacks: scores by number of submissions, and bias against honest feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.charts import Specification
from arena.charts.specification import layered, named, quantitative
from arena.types import Chart
from arena_competitors.advice import Verdict
from arena_competitors.campaign import Curve

_WIDTH, _HEIGHT = 640, 320
_QUANTITIES = {
    "best score shown": ("released", [1, 0]),
    "last submission, public rows": ("final_public", [2, 2]),
    "last submission, hidden rows": ("fresh", [8, 4]),
}
_LEGEND = {"orient": "top", "columns": 1}
"""Above the panels: the viewer's font may be wider than the one that labels were measured with."""


def attack_chart(curves: Sequence[Curve], metric: str) -> Chart:
    """Draw the curves of every attack, a colour per mechanism and a dash per quantity."""
    attacks = list(dict.fromkeys(curve.attack for curve in curves))
    return Chart(
        name="attacks",
        title="Released and true scores",
        description=(
            f"The best {metric} that the board shows, and the public and hidden score of the "
            f"attacker's last submission, by the number of submissions, per mechanism."
        ),
        specification={
            "data": {"values": [row for curve in curves for row in _rows(curve)]},
            "facet": {"row": named("attack", sort=attacks)},
            "spec": _panel(curves, metric),
            "resolve": {"scale": {"y": "independent"}},
        },
    )


def feedback_chart(verdicts: Sequence[Verdict], metric: str) -> Chart:
    """Draw the largest bias of each mechanism against the smallest honest gain that it shows.

    Mechanisms with the same name but for their parameters have one colour and are joined, so that
    mechanisms can be compared at equal feedback. One that shows no gain that was tried is left out.
    """
    shown_verdicts = [verdict for verdict in verdicts if verdict.smallest_gain is not None]
    names = {verdict.mechanism: verdict.mechanism.partition("(")[0] for verdict in shown_verdicts}
    values = [
        {
            "mechanism": verdict.mechanism,
            "name": names[verdict.mechanism],
            "gain": verdict.smallest_gain,
            "bias": verdict.bias,
            "high": verdict.bias if verdict.bias_high is None else verdict.bias_high,
        }
        for verdict in shown_verdicts
    ]
    x = quantitative("gain", f"smallest honest gain shown in nine of ten trials ({metric})")
    y = quantitative("bias", f"largest bias under attack ({metric})", scale={"zero": True})
    color = named("name", list(dict.fromkeys(names.values())), legend={"orient": "right"})
    tooltip = [{"field": field} for field in ("mechanism", "gain", "bias", "high")]
    line: Specification = {
        "mark": {"type": "line", "point": {"size": 60}, "strokeWidth": 1.5},
        "encoding": {"x": x, "y": y, "color": color, "tooltip": tooltip},
    }
    bound: Specification = {
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {"x": x, "y": y, "y2": {"field": "high"}, "color": color},
    }
    return Chart(
        name="feedback",
        title="Bias under attack against honest feedback",
        description=(
            "A point per mechanism: the smallest honest gain that it shows and the largest bias of "
            "any attack, with the 95% upper bound of the bias; lower and further left is better."
        ),
        specification=layered([bound, line], height=_HEIGHT, rows=values),
    )


def _rows(curve: Curve) -> list[dict[str, Any]]:
    return [
        {
            "attack": curve.attack,
            "mechanism": curve.mechanism,
            "submissions": submissions,
            "quantity": quantity,
            "score": float(curve.mean[measure][position]),
        }
        for quantity, (measure, _) in _QUANTITIES.items()
        for position, submissions in enumerate(curve.submissions)
    ]


def _panel(curves: Sequence[Curve], metric: str) -> Specification:
    mechanisms = list(dict.fromkeys(curve.mechanism for curve in curves))
    dashes = [dash for _, dash in _QUANTITIES.values()]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": quantitative("submissions"),
            "y": quantitative("score", metric, scale={"zero": False}),
            "color": named("mechanism", mechanisms, title="mechanism", legend=_LEGEND),
            "strokeDash": named("quantity", list(_QUANTITIES), dashes, legend=_LEGEND),
        },
    }
