"""The chart of an attack: released and true scores by number of submissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.charts import Specification
from arena.charts.specification import named, quantitative
from arena.types import Chart
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
