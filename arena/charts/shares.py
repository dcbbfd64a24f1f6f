"""How often each team comes out first, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arena.charts.labels import axis_labels
from arena.charts.theme import BLUE, INK
from arena.types import FloatArray

if TYPE_CHECKING:
    import altair as alt

__all__ = ["shares_chart"]

_STEP = 22
_WIDTH = 640


def shares_chart(
    teams: Sequence[str], shares: npt.ArrayLike, axis: str, *, most: int = 20
) -> alt.LayerChart:
    """Draw the largest shares as bars, each with its figure; who has none is left out.

    Parameters
    ----------
    teams
        m names, the best first.
    shares
        ``(m,)`` in [0, 1].
    axis
        What the shares are of.
    most
        How many bars at most.

    Examples
    --------
    >>> chart = shares_chart(["a", "b"], [0.75, 0.25], "share")
    >>> [row["share"] for row in chart.to_dict()["data"]["values"]]
    [0.75, 0.25]
    """
    import altair as alt

    values: FloatArray = np.asarray(shares, dtype=np.float64)
    largest = [at for at in np.argsort(-values, kind="stable")[:most] if values[at] > 0]
    labels = axis_labels([teams[at] for at in largest])
    rows = [
        {"team": label, "share": round(float(values[at]), 6)}
        for label, at in zip(labels, largest, strict=True)
    ]
    x = alt.X(
        "share:Q",
        title=axis,
        axis=alt.Axis(format=".0%", tickCount=5),
        scale=alt.Scale(domain=[0, max(0.05, 1.12 * float(values.max(initial=0)))]),
    )
    y = alt.Y("team:N", title=None, scale=alt.Scale(domain=labels), axis=alt.Axis(ticks=False))
    tooltip = ["team:N", alt.Tooltip("share:Q", format=".1%")]
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, tooltip=tooltip)
    bars = base.mark_bar(color=BLUE, height={"band": 0.72})
    figures = base.mark_text(align="left", dx=5, color=INK).encode(
        text=alt.Text("share:Q", format=".1%")
    )
    return alt.layer(bars, figures).properties(width=_WIDTH, height=alt.Step(_STEP))
