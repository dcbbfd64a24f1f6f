"""A board as a table for a paper or a web page: whole tables, with every sign that is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.errors import UsageError
from arena.report.text_tables import as_html, as_latex, as_markdown, board_table, check_table_path
from arena.scoring.result import ScoreResult
from arena.types import Finding, Vocabulary
from board_results import a_result

HOSTILE = r"b_*|[x]<i>&~^\{}#$%"


def ranked(n_teams: int = 2, **changes: Any) -> ScoreResult:
    """Return a board with rank intervals; the second team wrote every sign that is escaped."""
    rows = [
        {
            **a_result().standings[0],
            "rank": place,
            "team": HOSTILE if place == 2 else f"t{place}",
            "rank_low": place,
            "rank_high": n_teams,
            "tier": 1,
        }
        for place in range(1, n_teams + 1)
    ]
    return a_result(standings=tuple(rows), **changes)


def test_a_result_is_shown_in_one_line() -> None:
    assert [repr(board) for board in (a_result(standings=()), a_result(), ranked(1), ranked())] == [
        "<ScoreResult: accuracy on 10 private rows, no team ranked, 0 rejected>",
        "<ScoreResult: accuracy on 10 private rows, 2 teams, first a with 0.9>",
        "<ScoreResult: accuracy on 10 private rows, 1 team, first t1 with 0.9 (rank 1)>",
        "<ScoreResult: accuracy on 10 private rows, 2 teams, first t1 with 0.9 (ranks 1 to 2)>",
    ]


def test_a_table_in_markdown_is_aligned_and_escaped() -> None:
    assert as_markdown(ranked()) == (
        "| rank | team                         |    score | rank interval | tier |\n"
        "| ---: | ---------------------------- | -------: | ------------: | ---: |\n"
        "|    1 | t1                           | 0.900000 |        1 to 2 |    1 |\n"
        "|    2 | " + r"b\_\*\|\[x\]\<i\>&\~^\\{}#$%" + " | 0.900000 |             2 |    1 |\n"
    )


def test_a_table_in_latex_is_escaped_and_has_dashes_in_ranges() -> None:
    assert as_latex(ranked()).splitlines() == [
        "% accuracy on 10 private rows; a larger score is better. Intervals are at 95%.",
        r"\begin{tabular}{rlrrr}",
        r"\toprule",
        r"rank & team & score & rank interval & tier \\",
        r"\midrule",
        r"1 & t1 & 0.900000 & 1--2 & 1 \\",
        r"2 & b\_*|[x]<i>\&\textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$\%"
        r" & 0.900000 & 2 & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    # A dash stands in ranges of numbers only, not in a name.
    named = a_result(standings=({**ranked().standings[0], "team": "1 to 2"},))
    assert "1 & 1 to 2 & 0.900000" in as_latex(named)


def test_a_table_in_html_has_bars_and_each_verdict_once() -> None:
    verdicts = [Finding("ranks", "It is <so>.", {}), Finding("wins", "It is <so>.", {})]
    right, left = ('<td style="text-align:right">', '<td style="text-align:left">')
    bar = (
        '<div style="position:relative;height:4px;min-width:6em;background:#8884">'
        '<div style="position:absolute;height:4px;left:{}%;width:{}%;background:#0a5c9c">'
        "</div></div>"
    )
    html = as_html(ranked(findings=tuple(verdicts)))
    assert html.startswith("<table><caption>accuracy on 10 private rows; a larger score")
    head = '<tr><th style="text-align:right">rank</th><th style="text-align:left">team</th>'
    assert f"<thead>{head}" in html
    first, second = html.split("<tbody>")[1].split("</tr>")[:2]
    assert first == (
        f"<tr>{right}<bdi>1</bdi></td>{left}<bdi>t1</bdi></td>{right}<bdi>0.900000</bdi></td>"
        # Ranks 1 to 2 of 2 are all of the bar, rank 2 is its second half.
        f"{right}<bdi>1 to 2</bdi>{bar.format(0.0, 100.0)}</td>{right}<bdi>1</bdi></td>"
    )
    assert f"{left}<bdi>b_*|[x]&lt;i&gt;&amp;~^\\{{}}#$%</bdi></td>" in second
    assert f"{right}<bdi>2</bdi>{bar.format(50.0, 50.0)}</td>" in second
    assert html.endswith("</tbody></table><p>It is &lt;so&gt;.</p>")


@pytest.mark.parametrize(("teams", "more"), [(30, None), (31, "1"), (1_031, "1,001")])
def test_a_notebook_shows_thirty_teams(teams: int, more: str | None) -> None:
    html = as_html(ranked(teams))
    assert html.count("<tr>") == 1 + 30
    note = f"<p>… and {more} more; <code>.to_frame()</code> has all.</p>"
    assert html.endswith(f"</table>{note if more else ''}")


def test_a_board_without_teams_says_so_in_every_format(tmp_path: Path) -> None:
    words = Vocabulary("model", "answer sheet", "question")
    empty = a_result(standings=(), words=words)
    for suffix, text in (
        (".md", "No answer sheet could be ranked.\n"),
        (".TEX", "% No answer sheet could be ranked.\n"),
        (".html", "<p>No answer sheet could be ranked.</p>"),
    ):
        assert board_table(empty, tmp_path / f"board{suffix}") == text
    with pytest.raises(UsageError) as refused:
        check_table_path(tmp_path / "board.txt")
    assert str(refused.value) == "--table board.txt: the file name must end in .md, .tex, .html."
