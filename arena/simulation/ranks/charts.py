"""The pictures of a simulation: those of the study that it follows, and of single boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena.charts import Bars, Points, Specification, ranges_chart
from arena.charts.specification import layered, quantitative, whole_axis
from arena.charts.theme import BLUE, GREY, INK, ORANGE, PALE
from arena.evaluation.ranks import best_first
from arena.simulation.ranks.coverage import SingleBoard
from arena.simulation.ranks.outcome import RankQuantiles
from arena.simulation.ranks.study import RankSimulation
from arena.types import Chart
from arena.utils.tabular import as_json
from arena.utils.text import plural

_PATHS = 10
_TOP = 20
_MOST_MODELS = 100
_HEIGHT = 320


def simulation_charts(result: RankSimulation) -> tuple[Chart, ...]:
    """Return every picture: the wins, and for each number of rows and competitors its ranks."""
    charts = [_wins_chart(result)]
    for quantiles in result.ranks:
        charts += [_paths_chart(result, quantiles), _ranks_chart(quantiles)]
    charts += [_board_chart(board) for board in result.boards]
    return tuple(charts)


def _named(kind: str, rows: int, competitors: int) -> str:
    return f"{kind}-{rows}-rows-{competitors}-competitors"


def _axis(field: str, title: str, **scale: Any) -> Specification:
    return quantitative(field, title, scale={"zero": False, **scale}, axis={"format": ".4~g"})


def _rank(field: str, title: str, last: int) -> Specification:
    """Return the encoding of ranks from 1 to ``last``."""
    return {**_axis(field, title, nice=False, padding=8), "axis": whole_axis(last)}


def _wins_chart(result: RankSimulation) -> Chart:
    values = as_json(
        [
            {
                "rows": wins.test_rows,
                "competitors": plural(wins.competitors, "competitor"),
                "frequency": wins.frequency,
                "low": wins.low,
                "high": wins.high,
            }
            for wins in result.win_frequency
        ]
    )
    color = {"field": "competitors", "type": "nominal", "title": None, "sort": None}
    x = _axis("rows", "test rows", type="log", nice=False, padding=12)
    x["axis"] = {"format": ",d", "values": list(result.settings.test_rows)}
    if len(result.settings.test_rows) == 1:
        x = {**x, "type": "ordinal", "scale": {}, "axis": {"format": ",d", "labelAngle": 0}}
    y = _axis("frequency", "share of tests that the truly best wins", domain=[0, 1])
    tooltip = [{"field": name} for name in ("competitors", "rows", "frequency", "low", "high")]
    both: Specification = {"x": x, "color": color, "tooltip": tooltip}
    layers: list[Specification] = [
        {"mark": {"type": "rule"}, "encoding": {**both, "y": {**y, "field": "low"}, **_HIGH}},
        {"mark": {"type": "line", "point": True}, "encoding": {**both, "y": y}},
    ]
    return Chart(
        "win-frequency",
        "How often the truly best competitor wins",
        "The share of tests won by the truly best competitor, by the number of test rows, with "
        "95% intervals, one line for each number of competitors.",
        layered(layers, height=_HEIGHT, rows=values),
    )


_HIGH: Mapping[str, Any] = {"y2": {"field": "high"}}


def _paths_chart(result: RankSimulation, quantiles: RankQuantiles) -> Chart:
    """Draw the scores of the truly best models on some tests, over those on the population."""
    models = quantiles.models[:_TOP]
    true = result.scores.true[models]
    paths = result.scores.competition[quantiles.test_rows][models]
    n_paths = min(_PATHS, paths.shape[1])
    rows = [
        {"rank": place + 1, "score": float(paths[place, test]), "test": test}
        for test in range(n_paths)
        for place in range(len(models))
    ]
    truth = [{"rank": place + 1, "score": float(score)} for place, score in enumerate(true)]
    encoding = {
        "x": _rank("rank", "true rank", len(models)),
        "y": _axis("score", result.metric),
    }
    by_test = {**encoding, "detail": {"field": "test"}}
    layers: list[Specification] = [
        _line(rows[len(models) :], GREY, 1, 0.6, by_test),
        _line(rows[: len(models)], BLUE, 2, 1.0, by_test),
        {
            "data": {"values": truth},
            "mark": {"type": "point", "filled": True, "size": 50, "color": ORANGE, "opacity": 1},
            "encoding": encoding,
        },
    ]
    return Chart(
        _named("scores", quantiles.test_rows, quantiles.competitors),
        f"Scores on {plural(quantiles.test_rows, 'row')} of the best of "
        f"{plural(quantiles.competitors, 'competitor')}",
        "For the truly best models in the order of their true ranks: the true score as a dot, the "
        f"scores on {n_paths} of the {plural(paths.shape[1], 'test')} as lines, one of "
        "them in blue.",
        layered(layers, height=_HEIGHT),
    )


def _line(
    rows: Sequence[Mapping[str, Any]],
    color: str,
    width: float,
    opacity: float,
    encoding: Mapping[str, Any],
) -> Specification:
    mark = {"type": "line", "color": color, "strokeWidth": width, "opacity": opacity}
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": dict(encoding)}


def _ranks_chart(quantiles: RankQuantiles) -> Chart:
    rows = [
        {
            "true": int(rank),
            **dict(zip(("low", "median", "q90", "high"), map(int, quantiles_of_rank), strict=True)),
        }
        for rank, quantiles_of_rank in zip(
            quantiles.true_ranks[:_MOST_MODELS], quantiles.quantiles[:_MOST_MODELS], strict=True
        )
    ]
    x = _rank("true", "true rank", len(rows))
    y = _rank("low", "rank in the competition", quantiles.competitors)
    tooltip = [{"field": name} for name in ("true", "low", "median", "q90", "high")]
    common: Specification = {"x": x, "tooltip": tooltip}
    layers: list[Specification] = [
        {
            "mark": {"type": "rule", "strokeWidth": 3, "color": PALE},
            "encoding": {**common, "y": y, **_HIGH},
        },
        {
            "mark": {"type": "point", "filled": True, "color": BLUE, "opacity": 1},
            "encoding": {**common, "y": {**y, "field": "median"}},
        },
        {
            "mark": {"type": "line", "color": INK, "strokeDash": [4, 3], "strokeWidth": 1},
            "encoding": {**common, "y": {**y, "field": "true"}},
        },
    ]
    return Chart(
        _named("ranks", quantiles.test_rows, quantiles.competitors),
        f"True ranks and ranks on {plural(quantiles.test_rows, 'row')}, "
        f"{plural(quantiles.competitors, 'competitor')}",
        "For each true rank the 5% to 95% quantiles of the competition ranks as a bar, the "
        "median as a dot, and the line on which both ranks are the same.",
        layered(layers, height=_HEIGHT, rows=rows),
    )


def _board_chart(board: SingleBoard) -> Chart:
    low, high = board.ranges["intervals"]
    inner = board.ranges["spread"]
    series: list[Bars | Points] = [
        Bars("simultaneous rank interval", low, high, PALE, 9),
        Bars("spread over resamples", inner[0], inner[1], BLUE, 3),
        Points("true rank", board.true_ranks, ORANGE),
    ]
    order = best_first(board.ranks, greater_is_better=False)
    teams = [f"{board.ranks[position]}. model {board.models[position]}" for position in order]
    return Chart(
        _named("board", board.test_rows, board.competitors),
        f"One test of {plural(board.test_rows, 'row')}, {plural(board.competitors, 'competitor')}",
        "For each model in the order of the board its rank interval and its spread over resamples, "
        "computed from this test alone, and its true rank.",
        ranges_chart(teams, series, "rank", whole=True),
    )
