"""The picture of a team's own scores."""

from __future__ import annotations

from arena.server.web.score_chart import score_chart

START = "2026-03-01T00:00:00+00:00"


def test_scores_are_placed_by_their_times_and_values() -> None:
    # In 640 by 160 with a margin of 12: x from 12 to 628, y from 148 for the least to 12.
    # After one of four hours x is 12 + 616 / 4 = 166; 0.2 of 0.1 to 0.3 is in the middle, at 80.
    scores = [(START, 0.1), ("2026-03-01T01:00:00+00:00", 0.2), ("2026-03-01T04:00:00+00:00", 0.3)]
    title = "Your scores over time, from 0.1 to 0.3"
    points = (("12.0", "148.0", "00:00", 0.1), ("166.0", "80.0", "01:00", 0.2),
              ("628.0", "12.0", "04:00", 0.3))  # fmt: skip
    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="4"><title>2026-03-01 {time}: {score}</title></circle>'
        for x, y, time, score in points
    )
    assert score_chart(scores) == (
        f'<figure class="chart"><svg viewBox="0 0 640 160" role="img" aria-label="{title}">'
        f'<polyline points="12.0,148.0 166.0,80.0 628.0,12.0"/>{dots}</svg>'
        f'<figcaption class="note">{title}</figcaption></figure>'
    )


def test_equal_scores_are_in_the_middle() -> None:
    chart = score_chart([(START, 0.5), (START, 0.5)], "<b>")
    assert '<polyline points="320.0,80.0 320.0,80.0"/>' in chart
    assert 'aria-label="&lt;b&gt;: Your scores over time, from 0.5 to 0.5"' in chart
