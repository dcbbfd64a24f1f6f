"""A team's own released scores over time, as a picture without script and without styles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from arena.server.web.language import _
from arena.utils.formatting import minute

_WIDTH, _HEIGHT, _MARGIN = 640.0, 160.0, 12.0


def score_chart(scores: Sequence[tuple[str, float]], phase: str = "") -> Markup:
    """Return the chart of ``(received, score)`` in order of time; empty for fewer than two.

    ``phase`` is the phase of all of them, if the competition has phases.

    >>> print(score_chart([("2026-03-01T00:00:00+00:00", 0.5)]))
    <BLANKLINE>
    >>> days = [(f"2026-03-0{day}T00:00:00+00:00", day / 10) for day in (1, 2)]
    >>> "beta: Your scores over time, from 0.1 to 0.2" in score_chart(days, "beta")
    True
    """
    if len(scores) < 2:
        return Markup("")
    times = [datetime.fromisoformat(time).timestamp() for time, _score in scores]
    values = [score for _time, score in scores]
    points = [
        (_placed(time, times, _WIDTH), _HEIGHT - _placed(value, values, _HEIGHT))
        for time, value in zip(times, values, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = Markup("").join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}: {:.6g}</title></circle>').format(
            x, y, minute(time), value
        )
        for (x, y), (time, value) in zip(points, scores, strict=True)
    )
    title = _("Your scores over time, from {low} to {high}").format(
        low=f"{min(values):.6g}", high=f"{max(values):.6g}"
    )
    if phase:
        title = f"{phase}: {title}"
    return Markup(
        '<figure class="chart"><svg viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<polyline points="{}"/>{}</svg><figcaption class="note">{}</figcaption></figure>'
    ).format(int(_WIDTH), int(_HEIGHT), title, line, dots, title)


def _placed(value: float, values: Sequence[float], size: float) -> float:
    low, high = min(values), max(values)
    share = 0.5 if high == low else (value - low) / (high - low)
    return _MARGIN + share * (size - 2 * _MARGIN)
