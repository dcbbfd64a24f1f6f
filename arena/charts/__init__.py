"""The pictures of a board, as Altair charts: the same in a report, a notebook and a file."""

from arena.charts.labels import axis_labels
from arena.charts.ranges import Bars, Points, ranges_chart
from arena.charts.shake_up import shake_up_chart
from arena.charts.shares import shares_chart
from arena.charts.theme import DARK, THEME, themed

__all__ = [
    "DARK",
    "THEME",
    "Bars",
    "Points",
    "axis_labels",
    "ranges_chart",
    "shake_up_chart",
    "shares_chart",
    "themed",
]
