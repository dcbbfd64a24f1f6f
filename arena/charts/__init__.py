"""Charts of a board, as Vega-Lite specifications for reports, notebooks and files."""

from arena.charts.board import (
    BOARD_CHARTS,
    best_score_chart,
    rank_chart,
    standings_chart,
)
from arena.charts.files import check_chart_path, write_chart
from arena.charts.labels import axis_labels
from arena.charts.ranges import MOST_TEAMS, Bars, Points, ranges_chart
from arena.charts.shake_up import shake_up_chart
from arena.charts.specification import Specification, as_altair, titled
from arena.charts.theme import DARK, themed

__all__ = [
    "BOARD_CHARTS",
    "DARK",
    "MOST_TEAMS",
    "Bars",
    "Points",
    "Specification",
    "as_altair",
    "axis_labels",
    "best_score_chart",
    "check_chart_path",
    "ranges_chart",
    "rank_chart",
    "shake_up_chart",
    "standings_chart",
    "themed",
    "titled",
    "write_chart",
]
