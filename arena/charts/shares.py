"""A bar chart of shares, such as win rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arena.charts.labels import axis_labels
from arena.charts.specification import Specification, category_axis, layered, quantitative
from arena.charts.theme import BLUE, INK
from arena.types import FloatArray

_STEP = 22


def shares_chart(
    teams: Sequence[str], shares: npt.ArrayLike, axis: str, *, most: int = 20
) -> Specification:
    """Draw the largest shares as bars with their values; zero shares are left out.

    Parameters
    ----------
    teams
        m names, the best first.
    shares
        ``(m,)`` in [0, 1].
    axis
        The title of the axis.
    most
        The maximum number of bars.

    Examples
    --------
    >>> chart = shares_chart(["a", "b"], [0.75, 0.25], "share")
    >>> [row["share"] for row in chart["data"]["values"]]
    [0.75, 0.25]
    >>> shares_chart(["a"], [1.0], "share")["encoding"]["x"]["axis"]["values"]
    [0, 0.25, 0.5, 0.75, 1]
    """
    values: FloatArray = np.asarray(shares, dtype=np.float64)
    largest = [
        position
        for position in np.argsort(-values, kind="stable")[:most].tolist()
        if values[position] > 0
    ]
    labels = axis_labels([teams[position] for position in largest])
    rows = [
        {"team": label, "share": round(float(values[position]), 6)}
        for label, position in zip(labels, largest, strict=True)
    ]
    top = max(0.05, 1.25 * float(values.max(initial=0.0)))
    figure = {"field": "share", "type": "quantitative", "format": ".1%"}
    bars = {"mark": {"type": "bar", "color": BLUE, "height": {"band": 0.72}}}
    figures = {
        "mark": {"type": "text", "align": "left", "dx": 5, "color": INK},
        "encoding": {"text": figure},
    }
    # The axis leaves room for the text beside the bars, but has no ticks above 1.
    ticks = {"values": [0, 0.25, 0.5, 0.75, 1]} if top > 1 else {"tickCount": 5}
    x = quantitative("share", axis, axis={"format": ".0%", **ticks}, scale={"domain": [0, top]})
    tooltip = [{"field": "team", "type": "nominal"}, figure]
    encoding = {"x": x, "y": category_axis("team", labels), "tooltip": tooltip}
    return {"encoding": encoding, **layered([bars, figures], height={"step": _STEP}, rows=rows)}
