"""The chart of a plan."""

from __future__ import annotations

from typing import Any

from arena.charts.specification import layered
from arena.report.model import Report
from arena.simulation.planning import Plan
from arena.types import Chart, Section

__all__ = ["plan_report"]

_NAMES = {
    "best_wins": "the truly best wins",
    "winner_shown": "the winner is shown to be best",
    "power": "power, two submissions",
    "power_corrected": "power, all pairs",
}


def plan_report(plan: Plan, metric: str) -> Report:
    """Return the plan's chart, to be written as files."""
    title = f"What more private rows would give ({metric})"
    section = Section("Plan", "", (), (_chart(plan, title),))
    return Report(title, (), (), (), (section,))


def _chart(plan: Plan, title: str) -> Chart:
    values = [
        {"rows": row.test_rows, "what": label, "probability": getattr(row, name)}
        for row in plan.rows
        for name, label in _NAMES.items()
        if getattr(row, name) is not None
    ]
    x: dict[str, Any] = {
        "field": "rows",
        "type": "quantitative",
        "title": "private rows",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "axis": {"format": ",d", "values": [row.test_rows for row in plan.rows]},
    }
    y = {
        "field": "probability",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "title": "probability",
    }
    color = {
        "field": "what",
        "type": "nominal",
        "title": None,
        "sort": list(_NAMES.values()),
        "legend": {"orient": "top", "columns": 2},
    }
    tooltip = [{"field": name} for name in ("what", "rows", "probability")]
    dash = {"field": "what", "type": "nominal", "sort": list(_NAMES.values()), "legend": None}
    encoding = {"x": x, "y": y, "color": color, "strokeDash": dash, "tooltip": tooltip}
    layer = {"mark": {"type": "line", "point": True}, "encoding": encoding}
    return Chart(
        "plan",
        title,
        "Four probabilities by the number of private rows: that the truly best wins, that the "
        "winner is shown to be best, and the power of the paired test for two submissions and "
        "corrected for all pairs.",
        {**layered([layer], height=320), "data": {"values": values}},
    )
