"""Vega-Lite specifications as plain data, and as Altair charts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from arena.types import TEAMS, Vocabulary
from arena.utils.formatting import BoardDisplay, exponent_digits

if TYPE_CHECKING:
    import altair as alt

Specification: TypeAlias = dict[str, Any]

WIDTH = 640
"""The width of a chart in a file or a notebook, in pixels; a report scales it to the page."""

_MOST_TICKS = 15
_SCORE_TICKS = 6


def as_altair(specification: Mapping[str, Any]) -> alt.LayerChart:
    """Return the Altair chart of a layered specification.

    >>> type(as_altair(layered([], height=10))).__name__
    'LayerChart'
    """
    import altair as alt

    return alt.LayerChart.from_dict(dict(specification))


def layered(
    layers: Sequence[Specification],
    *,
    height: int | Mapping[str, int],
    rows: Sequence[Mapping[str, Any]] | None = None,
) -> Specification:
    """Return a layered specification, with the data of all layers if they share them."""
    size = dict(height) if isinstance(height, Mapping) else height
    data = {} if rows is None else {"data": {"values": list(rows)}}
    return {**data, "width": WIDTH, "height": size, "layer": list(layers)}


def titled(part: Any, words: Vocabulary) -> Any:
    """Return a specification, or a part of one, whose tooltips call the field ``team`` by its noun.

    >>> titled({"tooltip": [{"field": "team"}]}, Vocabulary("algorithm", "algorithm", "case"))
    {'tooltip': [{'title': 'algorithm', 'field': 'team'}]}
    """
    if words == TEAMS:
        return part
    if isinstance(part, Mapping):
        if part.get("field") == "team":
            part = {"title": words.team, **part}
        data = {"values", "datasets"}
        return {key: value if key in data else titled(value, words) for key, value in part.items()}
    return [titled(element, words) for element in part] if isinstance(part, list) else part


def quantitative(field: str, title: str | None = None, **more: Any) -> Specification:
    """Return the encoding of a number; its title is that of the field if none is given."""
    return {"field": field, "type": "quantitative", "title": title or field, **more}


def named(
    field: str, names: Sequence[str] = (), values: Sequence[Any] = (), **more: Any
) -> Specification:
    """Return the encoding of names without a title: of the names in this order, by these values.

    >>> named("team", ["a", "b"], ["red", "blue"], legend=None)["scale"]
    {'domain': ['a', 'b'], 'range': ['red', 'blue']}
    """
    scale = {"domain": list(names), **({"range": list(values)} if values else {})}
    ordered = {"scale": scale} if names else {}
    return {"field": field, "type": "nominal", "title": None, **ordered, **more}


def whole_axis(last: int) -> Specification:
    """Return the axis of the integers from 1 to ``last``, such as ranks.

    The ticks are listed: Vega would also place some at 0, and with ``tickMinStep`` at halves, whose
    labels it rounds.

    >>> whole_axis(3)
    {'format': ',d', 'values': [1, 2, 3]}
    >>> whole_axis(20)["values"], whole_axis(200)["values"]
    ([1, 5, 10, 15, 20], [1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200])
    """
    if last <= _MOST_TICKS:
        return {"format": ",d", "values": list(range(1, last + 1))}
    step = _whole_step(last, 12, (5, 10, 20))
    return {"format": ",d", "values": [1, *range(step, last + 1, step)]}


def count_axis(most: int) -> Specification:
    """Return the axis of counts from 0 to ``most``.

    >>> count_axis(1)["values"], count_axis(13)["values"]
    ([0, 1], [0, 5, 10])
    """
    step = _whole_step(most, 5, (1, 2, 5))
    return {"format": ",d", "values": list(range(0, most + 1, step))}


def _whole_step(last: int, ticks: int, steps: Sequence[int]) -> int:
    """Return the smallest of the steps, or of ten, hundred, … times a step, with few ticks."""
    power = 1
    while True:
        for step in steps:
            if last <= ticks * step * power:
                return step * power
        power *= 10


def rank_scale(last: int, **more: Any) -> Specification:
    """Return a scale with the domain 1 to ``last``, also if some of these ranks do not occur.

    >>> rank_scale(3, reverse=True)
    {'domain': [1, 3], 'nice': False, 'zero': False, 'padding': 8, 'reverse': True}
    """
    scale = {"domain": [1, max(last, 2)], "nice": False, "zero": False, "padding": 8}
    return {**scale, **more}


def score_axis(
    values: Iterable[float], display: BoardDisplay | None = None, *, padding: float = 8
) -> Specification:
    """Return scale and axis of scores, with few ticks and in the digits and unit of the board.

    The axis spans the range of the values, without a margin in which a tick could overlap the
    next. Ticks are at least one unit of the board's last digit apart, if two of them fit.

    Parameters
    ----------
    values
        What is shown on the axis, such as scores and the ends of their intervals; values that are
        not finite are ignored.
    display
        Of the board.
    padding
        Pixels between the ends of the axis and the outer scores.

    Examples
    --------
    >>> axis = score_axis([0.934, 0.958], BoardDisplay(1, "%"))["axis"]
    >>> axis["values"], axis["labelExpr"]
    ([0.935, 0.94, 0.945, 0.95, 0.955], "format(100 * datum.value, ',.1f') + '%'")
    """
    finite = [float(value) for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
        # One value alone: an axis of no length could not be drawn.
        room = abs(low) / 100 or 0.5
        low, high = low - room, high + room
    display_settings = display or BoardDisplay()
    percent = display_settings.unit == "%"
    digits = None if display_settings.decimals is None else display_settings.decimals + 2 * percent
    ticks, decimals = _ticks(low, high, digits)
    number = "100 * datum.value" if percent else "datum.value"
    after = (
        display_settings.unit
        if percent or not display_settings.unit
        else f" {display_settings.unit}"
    )
    places = max(decimals - 2 * percent, 0)
    largest = max(abs(low), abs(high)) * (100 if percent else 1)
    exponent = None if digits is not None else exponent_digits(largest, places)
    form = f",.{places}f" if exponent is None else f".{exponent}~e"
    label = f"format({number}, '{form}')"
    axis = {
        "values": ticks,
        "labelExpr": label + (f" + {quoted(after)}" if after else ""),
        "labelFlush": False,
        "labelOverlap": True,
        "labelSeparation": 6,
    }
    scale = {"domain": [low, high], "zero": False, "nice": False, "padding": padding}
    return {"scale": scale, "axis": axis}


def _ticks(low: float, high: float, digits: int | None) -> tuple[list[float], int]:
    """Return ticks from low to high, and how many decimals they need."""
    raw = (high - low) / _SCORE_TICKS
    power = math.floor(math.log10(raw))
    step, exponent = next(
        (step, exponent)
        for exponent in (power, power + 1)
        for step in (1, 2, 5)
        if step * 10.0**exponent >= raw * (1 - 1e-9)
    )
    if digits is not None and exponent < -digits:
        whole = 10.0**digits
        if math.floor(high * whole) > math.ceil(low * whole):
            step, exponent = 1, -digits
    width = step * 10.0**exponent
    first, last = math.ceil(low / width - 1e-9), math.floor(high / width + 1e-9)
    decimals = max(-exponent, 0)
    # Adding 0.0 turns a negative zero into zero.
    return [
        round(position * width, decimals + 2) + 0.0 for position in range(first, last + 1)
    ], decimals


def quoted(text: str) -> str:
    r"""Return a text as a Vega expression: no character in it ends the expression.

    >>> print(quoted("a'b"))
    'a\u0027b'
    """
    return "'" + json.dumps(text)[1:-1].replace("'", "\\u0027") + "'"


def category_axis(field: str, labels: Sequence[str]) -> Specification:
    """Return the y encoding of names, from top to bottom."""
    return named(field, labels, axis={"ticks": False})
