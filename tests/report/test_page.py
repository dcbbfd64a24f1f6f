"""What stands on a page, and in what order; that it is whole, harmless, and small enough."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest
import vl_convert
from rich.console import Console

from arena import Competition, PluginManager, score
from arena.competition.boards import kept_board
from arena.competition.record.combined_documents import ANALYSIS_PREFIX
from arena.competition.view import CompetitionView
from arena.hookspecs import hookimpl
from arena.report import Report, board_report, html_page, page, public_report
from arena.report import plugin as builtin_plugin
from arena.report.board_sections import board_sections
from arena.report.boards import private_board
from arena.report.competition import competition_report, final_board, public_competition_report
from arena.report.contents import PublicBoard, reasons_of
from arena.report.final_page import final_page
from arena.report.html_page import template_environment
from arena.report.terminal import print_report
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import ScoreResult
from arena.types import Chart, Fault, Finding, Section, Table
from board_results import a_result, crowded
from hostile_competition import BASELINE, HOSTILE, RIGHT_TO_LEFT, SCRIPT, TITLE, write_files
from kept import check_kept, check_kept_document, masked
from page_text import charts_of, lines_of, strings_of, text_of

TECHNICAL_WORDS = re.compile(r"bootstrap(?! rank range)|resampl|p-value|p value", re.IGNORECASE)
HEADINGS = [
    "The board",
    "How certain each rank is",
    "How often each comes first",
    "How good the scores are",
    "Public against private",
]


def headings(html: str, level: int = 2) -> list[str]:
    visible = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    return [
        unescape(heading) for heading in re.findall(rf"<h{level}[^>]*>(.*?)</h{level}>", visible)
    ]


@pytest.mark.slow
def test_the_parts_stand_in_their_order(html: str) -> None:
    titles = headings(html)
    assert titles[: len(HEADINGS)] == HEADINGS
    assert titles[-3:] == ["The public board", "What was rejected", "How it was computed"]
    assert len(titles) > len(HEADINGS) + 3  # the plugins' own
    text = text_of(html)
    assert text.index("% confidence)") < text.index("The board", text.index("Metric"))
    assert "2100-01-02 03:04 UTC" in text
    assert f"The baseline, {BASELINE}, has" in text
    assert text.count("(larger is better)") == 1


def test_technical_words_stand_only_in_the_last_part(html: str, public_html: str) -> None:
    for page_text in (html, public_html):
        text = text_of(page_text, without="how")
        assert not TECHNICAL_WORDS.findall(text)
        for chart in charts_of(page_text):
            assert not [word for word in strings_of(chart) if TECHNICAL_WORDS.search(word)]
    assert TECHNICAL_WORDS.search(text_of(html))


def test_the_last_part_says_how_it_was_computed(html: str, competition: Competition) -> None:
    text = text_of(html)
    last = text[text.rindex("How it was computed") :]
    assert competition.solution.sha256 in last
    assert last.count("arena-leaderboard 0.1.0") >= 4
    for word in ("seed", "200", "numpy", "Python", "arena_ranking", "0.csv"):
        assert word in last


def test_text_of_anyone_is_shown_and_does_nothing(html: str, public_html: str) -> None:
    assert "<b>x" not in html
    assert "<i>letters" not in html
    assert html.count("</script>") == html.count("<script")
    for name in (*HOSTILE, TITLE):
        for page_text in (html, public_html):
            assert name in text_of(page_text)
    assert "'<u>much</u>'" in text_of(html)


@pytest.mark.slow
def test_what_reorders_a_line_is_written_out(report: Report) -> None:
    spoiled = replace(report, title="abc\u202edcba", verdicts=("\x1b[31mred",))
    text = text_of(page(spoiled))
    assert "abc\\u202edcba" in text
    assert "\\x1b[31mred" in text


@pytest.mark.slow
def test_an_option_in_a_sentence_is_whole(report: Report) -> None:
    html = page(replace(report, verdicts=("Pass --lower-is-better <b>otherwise</b>.",)))
    whole = '<span class="whole">--lower-is-better</span>'
    assert f"Pass {whole} &lt;b&gt;otherwise&lt;/b&gt;." in html


def test_nothing_is_fetched_and_no_other_script_runs(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert unescape(policy[1]).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy[1]
    outside_of_scripts = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href|action)=["'](?!data:image/svg|#)""", outside_of_scripts)
    assert "@import" not in outside_of_scripts
    assert "url(" not in outside_of_scripts


def test_vega_is_put_together_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_together: list[str] = []
    exports, others = html_page.VEGA_EXPORTS, "window.other = vegaEmbed;"
    bundle = exports + "\r\n// \N{SNOWMAN}\n"
    monkeypatch.setattr(html_page, "_COMPILED", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def put_one_together(exports: str) -> str:
        put_together.append(exports)
        return bundle

    monkeypatch.setattr(vl_convert, "javascript_bundle", put_one_together)
    scripts = [html_page.vega_script.__wrapped__() for _ in range(2)]
    assert scripts == [bundle, bundle]
    assert put_together == [exports]
    (kept,) = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o644
    kept.write_bytes(b"\xff")  # damaged
    assert html_page.vega_script.__wrapped__() == bundle
    monkeypatch.setattr(html_page, "VEGA_EXPORTS", others)
    assert html_page.vega_script.__wrapped__() == bundle
    assert put_together == [exports, exports, others]


@pytest.mark.parametrize("refused", ["no compiled modules", "read-only"])
def test_a_report_is_written_where_vega_cannot_be_kept(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", refused == "no compiled modules")
    folder = tmp_path if refused == "no compiled modules" else tmp_path / "missing"
    monkeypatch.setattr(html_page, "_COMPILED", folder)
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda _: "let vega;</Script>")
    assert html_page.vega_script.__wrapped__() == "let vega;<\\/Script>"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_same_competition_gives_the_same_page(competition: Competition, html: str) -> None:
    assert page(competition_report(competition)) == html


@pytest.mark.slow
def test_charts_are_vega_lite_with_their_data(html: str) -> None:
    charts = charts_of(html)
    assert len(charts) >= 5
    for chart in charts:
        assert not alt.Chart.from_dict(chart).to_dict().get("usermeta")


@pytest.mark.slow
def test_a_result_draws_the_same_charts(competition: Competition, report: Report) -> None:
    result = final_board(competition)
    charts = {chart.name: chart for section in report.sections for chart in section.charts}
    for name in ("rank-intervals", "wins", "score-intervals", "best-score", "shake-up"):
        document = result.chart(name).to_dict()
        for key in ("layer", "width", "height"):
            assert document[key] == charts[name].specification[key]


def private_figures(result: ScoreResult) -> set[str]:
    """Return what must not be seen before the end, as it might be written."""
    values = [row["score"] for row in result.standings]
    best = result.best_score_corrected
    values += [value for value in best.values() if isinstance(value, float)]
    return {f"{value:.6g}"[:7] for value in values if isinstance(value, float) and 0 < value < 1}


def test_the_public_page_tells_nothing_private(
    competition: Competition, html: str, public_html: str
) -> None:
    figures = private_figures(final_board(competition))
    assert len(figures) >= len(HOSTILE)
    assert all(figure in html or figure[:6] in html for figure in figures)
    for figure in figures:
        assert figure not in public_html
    text = text_of(public_html)
    for secret in ("private", "much", "refused", "rank interval", "tier", "sha256"):
        assert secret not in text.replace("private rows", "")
    assert competition.solution.sha256 not in public_html
    assert f"{BASELINE} (baseline)" in text
    assert "final ranks are decided on other rows" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [pytest.param(competition_report, marks=pytest.mark.slow), final_page]
)
def test_the_stored_board_makes_the_page_of_one_computed_again(
    competition: Competition, make: Callable[[Competition], Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(CompetitionView, "as_finalized", lambda _: None)
        computed = page(make(competition))
    monkeypatch.setattr(CompetitionView, "evaluate", lambda *_, **__: pytest.fail("computed again"))
    assert page(make(competition)) == computed


@pytest.mark.slow
def test_a_board_of_other_software_is_computed_again(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert competition.as_finalized() is not None
    monkeypatch.setattr(kept_board, "software_versions", lambda _: [["arena", "0"]])
    assert competition.as_finalized() is None
    assert len(final_board(competition).standings) == len(competition.private_leaderboard()) - 1


def test_the_final_page_is_for_participants(competition: Competition) -> None:
    report = final_page(competition)
    html = page(report)
    text = text_of(html)
    assert report.rejections is None
    assert not report.technical
    for text_part in ("is first of", "Rules", "last entry (UTC)", "Deadline", "not limited"):
        assert text_part in text
    assert competition.head() in text
    for hidden in (competition.solution.sha256, "refused team", "What was rejected", "numpy"):
        assert hidden not in text


def test_the_final_page_has_only_the_findings_about_boards(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("brackets", f"{ANALYSIS_PREFIX}cup", "luck", "ranks")
    findings = tuple(Finding(name, f"{name} say so.", {}) for name in names)
    result = replace(final_board(competition), findings=findings)
    monkeypatch.setattr("arena.report.final_page.final_board", lambda *_, **__: result)
    report = final_page(competition)
    assert report.verdicts[1:] == tuple(
        f"{name} say so." for name in ("ranks", "brackets", f"{ANALYSIS_PREFIX}cup")
    )
    titles = [section.title for section in report.sections]
    assert [title for title in titles if "luck" in title] == []
    assert len(report.sections) == len(board_sections(result)) + 4


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(competition_report, marks=pytest.mark.slow),
        final_page,
        public_competition_report,
    ],
)
def test_every_board_names_its_teams(
    competition: Competition, make: Callable[[Competition], Report]
) -> None:
    teams = {record.team for record in competition.records()}
    for board in make(competition).boards:
        rank, team, *_ = board.columns
        assert (rank.title, team.title) == ("rank", "team")
        assert {cell.removesuffix(" (baseline)") for cell in team.cells} <= teams


class Provider:
    """A plugin whose sections say what result it was handed."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    @hookimpl
    def provide_report_sections(self, result: Any) -> list[Section]:
        self.given.append(result)
        chart = Chart("it's", "Fetched", "From elsewhere", {"data": {"url": "https://example.org"}})
        return [
            Section("Open to all", "One.\n\nTwo <b>.", public=True),
            Section("Not before the end", "Secret.", charts=(chart,)),
            Section("Made so", "By a bootstrap.", technical=True, public=True),
        ]


def manager_with(plugin: object) -> PluginManager:
    manager = PluginManager(entry_points=False)
    manager.register(plugin, "provider")
    return manager


def test_sections_of_plugins_find_their_places() -> None:
    html = page(board_report(a_result(), manager_with(Provider())))
    assert headings(html) == [
        "The board",
        "Open to all",
        "Not before the end",
        "What was rejected",
        "How it was computed",
    ]
    assert headings(html, 3)[-1] == "Made so"
    assert "<p>Two &lt;b&gt;.</p>" in html
    assert "This picture is left out: it asks for data from elsewhere." in html
    assert "example.org" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


def test_a_plugin_sees_no_private_row_for_a_public_page() -> None:
    plugin = Provider()
    rows = [{"rank": 1, "team": "a", "score": 0.9, "n_submissions": 3, "baseline": False}]
    public = PublicBoard("T", "accuracy", True, rows)
    html = page(public_report(public, manager_with(plugin)))
    assert headings(html) == ["The public board", "Open to all", "How it was computed"]
    (inputs,) = plugin.given
    assert (inputs.split, inputs.study, inputs.findings, inputs.inputs) == ("public", None, (), ())
    counts = (inputs.resamples, inputs.resamples_redrawn, inputs.resamples_undefined)
    assert (inputs.n_rows, *counts, inputs.level, inputs.seed) == (0, 0, 0, 0, 0.95, 0)
    assert not page(public_report(public, manager_with(plugin), sections=False)).count(
        "Open to all"
    )


def test_a_board_without_analyses_or_teams_is_a_page_too() -> None:
    manager = PluginManager(entry_points=False)
    assert "No analysis was made" in text_of(page(board_report(a_result(), manager)))
    fault = Fault("empty cell", "The cell <is> empty.", row=3)
    empty = a_result(standings=(), rejected=(RejectedFile("x.csv", (fault,) * 40),))
    text = text_of(page(board_report(empty, manager)))
    assert "No submission could be ranked." in text
    assert "empty cell (40), such as row 3: The cell <is> empty." in text


def test_a_template_line_with_only_a_block_tag_leaves_no_line() -> None:
    text = "a\n  {% if true %}\n  b\n  {% endif %}\nc"
    assert template_environment().from_string(text).render() == "a\n  b\nc"


def test_a_board_without_teams_has_no_rows() -> None:
    board = private_board(a_result())
    assert (board.n_rows, replace(board, columns=()).n_rows) == (2, 0)


def test_the_head_says_who_is_first_and_who_may_be() -> None:
    manager = PluginManager(entry_points=False)
    plain = text_of(page(board_report(a_result(), manager)))
    assert "a is first of 2 teams, with accuracy 0.900000." in plain
    assert "ranks not excluded" not in plain
    rows = [
        {**row, "rank": 1, "rank_low": 1, "rank_high": 2, "possible_winner": True, "public_rank": 1}
        for row in a_result().standings
    ]
    best = {"estimate": 0.88, "low": 0.8, "high": 0.9}
    html = page(board_report(a_result(standings=tuple(rows), best_score_corrected=best), manager))
    text = text_of(html)
    assert "a and b share the first place of 2 teams" in text
    assert "May truly be the best (2) a and b" in text
    assert "0.880000, 95% interval 0.800000 to 0.900000" in text
    assert "First on the public rows a (private rank 1), b (private rank 1)" in text
    assert html.count('<td class="ranks">') == 2


@pytest.mark.slow
def test_a_board_of_one_team_compares_nothing() -> None:
    labels, usage = np.arange(40) % 2, np.where(np.arange(40) < 20, "Public", "Private")
    solution = {"id": np.arange(40), "target": labels, "Usage": usage}
    board = score(solution, {"a": np.arange(40) / 40}, metric="roc_auc", resamples=20)
    assert board_sections(board) == []
    titles = [column.title for column in private_board(board).columns]
    assert titles == ["rank", "team", "score", "score interval", "score on public rows"]
    report = board_report(board, PluginManager())
    assert report.verdicts == (
        "a has roc_auc 0.5500.",
        "There is one submission and nothing to compare it with.",
    )
    assert report.sections == ()


def test_ties_in_front_and_moves_in_one_direction_are_stated() -> None:
    rows = [{**row, "public_rank": 1} for row in a_result().standings]
    (moved,) = board_sections(a_result(standings=tuple(rows)))[-1:]
    assert "2 teams shared the first place on the public rows. b fell most, by 1 place." in (
        moved.text
    )
    assert "rose" not in moved.text


def test_sections_after_the_fifth_are_folded_with_what_is_in_them() -> None:
    class Many:
        @hookimpl
        def provide_report_sections(self, result: Any) -> list[Section]:
            return [Section(f"Part {n}", f"Sentence {n}. More.") for n in range(8)]

    html = page(board_report(a_result(), manager_with(Many())))
    assert html.count('<details class="folded">') == 4  # three parts, and the last one
    assert "<span>Sentence 7.</span>" in html
    assert "<span>Sentence 4.</span>" not in html


def test_tables_and_charts_of_a_finding_are_shown() -> None:
    table = Table("Figures", ("what", "n"), (("<b>", 12345), ("x", 0.123456), (None, True)))
    finding = Finding("my-own", "It is so.", {}, tables=(table,))
    text = text_of(
        page(board_report(a_result(findings=(finding,)), PluginManager(entry_points=False)))
    )
    assert "My own in detail" in text
    assert "<b> 12,345 x 0.1235 yes" in text


def test_columns_of_other_analyses_stand_on_the_board() -> None:
    rows = [{**row, "probability_of_luck": 0.25} for row in a_result().standings]
    html = page(board_report(a_result(standings=tuple(rows)), PluginManager(entry_points=False)))
    assert "probability of luck" in text_of(html)


@pytest.mark.slow
def test_three_thousand_teams_make_a_page_of_less_than_five_megabytes() -> None:
    manager = PluginManager(entry_points=False)
    manager.register(builtin_plugin, "arena")
    started = time.process_time()
    html = page(board_report(crowded(3_000), manager))
    assert time.process_time() - started < 40
    assert len(html.encode()) < 4_000_000
    text = text_of(html)
    assert "Team of many letters 2999" in text
    assert "The picture shows the first 50 of 3,000" in text
    ranges = charts_of(html)[0]
    assert len({row["team"] for row in ranges["layer"][0]["data"]["values"]}) == 50
    assert not manager.failures


def test_names_that_look_alike_keep_apart_in_a_chart() -> None:
    rows = [
        {**row, "team": "a" * 90 + str(position)}
        for position, row in enumerate(crowded(20).standings)
    ]
    chart = a_result(standings=tuple(rows)).chart().to_dict()
    names = {row["team"] for row in chart["layer"][0]["data"]["values"]}
    assert len(names) == 20
    assert max(map(len, names)) < 40


def test_right_to_left_names_are_kept_to_themselves(html: str) -> None:
    assert f"<bdi>{RIGHT_TO_LEFT}</bdi>" in html
    assert SCRIPT not in html


def test_public_report_needs_no_private_board(tmp_path: Path) -> None:
    write_files(tmp_path)
    with Competition.create(tmp_path / "c", tmp_path / "solution.csv", "roc_auc") as competition:
        html = page(public_competition_report(competition))
        assert "No score was released yet: the board is empty" in text_of(html)
        with pytest.raises(Exception, match="finalize first"):
            competition_report(competition)


def test_pages_are_the_kept_ones(html: str, public_html: str, competition: Competition) -> None:
    final = page(final_page(competition))
    for name, text in (("report", html), ("public-report", public_html), ("final-page", final)):
        check_kept(f"{name}.txt", without_software(masked(lines_of(text))))
    check_kept_document("report-charts", charts_of(html))


def without_software(text: str) -> str:
    """Leave out the installed packages, which are others beside other plugins."""
    listed = r"(?:^[\w.-]+\nVERSION\n)+The first 10 of \d+ rows are printed\.$"
    return re.sub(listed, "PACKAGES", text, flags=re.MULTILINE)


def test_the_terminal_shows_the_kept_report(report: Report) -> None:
    printed = io.StringIO()
    print_report(report, Console(file=printed, width=100))
    check_kept("report-in-terminal.txt", masked(printed.getvalue()))


def test_the_public_page_says_what_stands_above_a_board(tmp_path: Path) -> None:
    manager = PluginManager(entry_points=False)
    row = {"rank": 1, "team": "a", "score": 0.9, "n_submissions": 3, "baseline": False}
    report = public_report(PublicBoard("", "mae", False, [row, {**row, "rank": None}]), manager)
    assert report.title == "Public board"
    assert report.boards[0].caption == (
        "mae, a smaller score is better: the scores that the public board showed, each team with "
        "its best."
    )
    assert report.verdicts[0].startswith("This is the public board.")
    assert report.boards[0].name == "board"
    alone = public_report(PublicBoard("T", "mae", True, [row]), manager, sections=False)
    assert (alone.title, alone.technical) == ("T", ())
    assert ", a larger score is better:" in alone.boards[0].caption


def test_the_first_line_of_a_folded_part_is_its_picture_table_or_sentence() -> None:
    chart = Chart("c", "C", "A picture.", {"mark": "bar", "data": {"values": []}})
    table = Table("A table", ("a",), (("b",),))
    parts = [
        *(Section(f"Open {number}", "x") for number in range(5)),
        Section("With both", "One. Two.", (table,), (chart,)),
        Section("With a table", "One. Two.", (table,)),
        Section("With a text", "One\ntwo. Three. Four."),
        Section("With a sentence", "One sentence."),
        Section("With no end", "No end"),
    ]

    class Parts:
        @hookimpl
        def provide_report_sections(self, result: Any) -> list[Section]:
            return parts

    html = page(board_report(a_result(), manager_with(Parts())))
    titles = re.findall(r'<details class="folded">.*?<span>(.*?)</span>', html, flags=re.DOTALL)
    assert titles[:5] == ["A picture.", "A table", "One two.", "One sentence.", "No end"]


def test_a_board_report_lists_what_it_was_given_and_each_verdict_once() -> None:
    manager = PluginManager(entry_points=False)
    findings = (Finding("a", "So.", {}), Finding("b_c-d", "So.", {}, tables=(TABLE,)))
    report = board_report(
        a_result(findings=findings, greater_is_better=False), manager,
        facts=(("Metric", "mine"), ("Deadline", "never")),
        public=PublicBoard("T", "mae", True, []),
    )  # fmt: skip
    assert report.title == "Leaderboard by accuracy"
    assert report.facts == (
        ("Metric", "mine"),
        ("Teams ranked", "2"),
        ("Ranked on", "10 private rows"),
        ("Deadline", "never"),
    )
    assert report.verdicts == ("a is first of 2 teams, with accuracy 0.900000.", "So.")
    assert [board.name for board in report.boards] == ["board"]
    assert [section.title for section in report.sections] == ["B c d in detail"]
    plain = board_report(a_result(greater_is_better=False), manager)
    assert plain.facts[0] == ("Metric", "accuracy (smaller is better)")


TABLE = Table("Figures", ("n",), ((1,),))
CELLS = [Fault("empty cell", "Write a number.", row=row) for row in (2, 3)]


@pytest.mark.parametrize(
    ("faults", "lines"),
    [
        ([], ()),
        (CELLS[:1], ("row 2: Write a number.",)),
        (CELLS, ("empty cell (2), such as row 2: Write a number.",)),
        (
            [Fault("late", "Too late."), *CELLS * 600],
            ("Too late.", "empty cell (1,200), such as row 2: Write a number."),
        ),
    ],
)
def test_reasons_of_a_rejection_are_one_line_for_each_kind(
    faults: list[Fault], lines: tuple[str, ...]
) -> None:
    assert reasons_of(faults) == lines


@pytest.mark.parametrize(
    ("rows", "drawn", "printed"),
    [(10, False, False), (11, False, True), (200, False, True), (201, True, True)],
)
def test_of_more_than_200_rows_the_others_are_drawn_later_and_ten_are_printed(
    rows: int, drawn: bool, printed: bool
) -> None:
    table = Table("Figures", ("n",), tuple((number,) for number in range(rows)))
    finding = Finding("one", "So.", {}, tables=(table,))
    report = board_report(a_result(findings=(finding,)), PluginManager(entry_points=False))
    html = page(replace(report, technical=()))
    assert (f"The {rows} rows are drawn as you scroll." in html) == drawn
    assert html.count("<noscript data-rest>") == drawn
    assert (f"The first 10 of {rows} rows are printed." in html) == printed
