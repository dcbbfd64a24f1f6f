"""The page as a person meets it: opened in headless Chromium, with no network and no fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena import PluginManager
from arena.report import board_report, page
from board_results import crowded
from browser import new_context, nodes, overflow, run_axe
from hostile_competition import HOSTILE, RIGHT_TO_LEFT, SCRIPT, TITLE

pytestmark = pytest.mark.slow  # a browser takes long to start

MARKS = (
    "() => Array.from(document.querySelectorAll('.chart')).map(chart => [chart.id, "
    'chart.querySelectorAll(\'svg [class*="mark-"][class*="role-mark"] > *\').length, '
    "chart.dataset.fault || ''])"
)
SERIOUS = {"serious", "critical"}


class Visit:
    """A page that is open, and what happened on it."""

    def __init__(self, browser: Any, file: Path, width: int = 1400, scheme: str = "light") -> None:
        self.context = new_context(
            browser, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-drawn]", state="attached")

    def teams(self, table: str = "#table-board") -> list[str]:
        """Return the names that are shown, from the top down."""
        rows = self.page.locator(f"{table} tbody tr:not([hidden]) th")
        return [text.strip() for text in rows.all_text_contents()]


@pytest.fixture(scope="module")
def file(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def visit(browser: Any, file: Path) -> Iterator[Visit]:
    """Open the page once, for the tests that only look, or leave it as it was."""
    opened = Visit(browser, file)
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def narrow(browser: Any, file: Path) -> Iterator[Visit]:
    """Open the page on a phone."""
    opened = Visit(browser, file, 320)
    yield opened
    opened.context.close()


def test_no_request_leaves_and_nothing_is_said(visit: Visit, file: Path) -> None:
    assert visit.requests == [file.as_uri()]
    assert visit.said == []


def test_every_chart_has_marks(visit: Visit) -> None:
    charts = visit.page.evaluate(MARKS)
    assert len(charts) >= 5
    assert {"chart-rank-intervals", "chart-wins", "chart-best-score"} <= {
        chart[0] for chart in charts
    }
    for name, marks, fault in charts:
        assert not fault, name
        assert marks > 0, name


def test_no_global_leaks(visit: Visit) -> None:
    own = "() => Object.keys(window).filter(name => name.length < 4 || /vega/i.test(name))"
    assert set(visit.page.evaluate(own)) - {"top", "vegaEmbed", "VEGA_DEBUG"} == set()


def test_hostile_names_are_text(visit: Visit) -> None:
    assert visit.page.title() == TITLE
    assert set(visit.teams()) == set(HOSTILE)
    assert visit.page.locator("b:not(.tier)").count() == 0
    labels = visit.page.locator("#chart-rank-intervals svg text").all_text_contents()
    assert SCRIPT in labels
    assert RIGHT_TO_LEFT in labels


@pytest.mark.parametrize("name", ["narrow", "visit"])
def test_the_page_is_as_wide_as_the_screen(request: pytest.FixtureRequest, name: str) -> None:
    assert overflow(request.getfixturevalue(name).page) == 0


def test_a_table_that_goes_on_to_the_right_says_so(narrow: Visit) -> None:
    box = narrow.page.locator(".scroll.board").first
    narrow.page.get_by_label("Show all columns").first.check()
    masked = "box => getComputedStyle(box).maskImage.includes('gradient')"
    narrow.page.wait_for_selector(".scroll.board.more")
    assert box.evaluate(masked)
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    # Not a selector: it would also match another board of the page, before this one changes.
    ended = "box => !box.classList.contains('more')"
    narrow.page.wait_for_function(ended, arg=box.element_handle())
    assert not box.evaluate(masked)
    narrow.page.set_viewport_size({"width": 2_000, "height": 900})
    narrow.page.wait_for_function("() => !document.querySelector('.scroll.board.more')")
    assert narrow.page.locator(".scroll.board.more").count() == 0
    narrow.page.set_viewport_size({"width": 320, "height": 900})
    narrow.page.get_by_label("Show all columns").first.uncheck()


def test_sorting(visit: Visit) -> None:
    ranked = visit.teams()
    header = visit.page.locator("#table-board thead th", has_text="rank on public rows")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    titles = visit.page.locator("#table-board thead th").all_text_contents()
    column = titles.index("rank on public rows")
    cells = visit.page.locator(f"#table-board tbody td:nth-child({column + 1})")
    ranks = [int(text) for text in cells.all_text_contents()]
    assert ranks == sorted(ranks)
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    assert [int(text) for text in cells.all_text_contents()] == ranks[::-1]
    visit.page.locator("#table-board thead th", has_text="score").first.locator("button").click()
    visit.page.locator("#table-board thead th").first.locator("button").click()
    assert visit.teams() == ranked


def test_searching_and_print(visit: Visit) -> None:
    everyone = visit.teams()
    field = visit.page.get_by_label("Find a team").first
    field.fill("SCRIPT")
    assert visit.teams() == [SCRIPT]
    status = visit.page.locator("output").first
    assert status.text_content() == f"1 of {len(HOSTILE)} teams"
    visit.page.emulate_media(media="print")
    assert visit.page.locator("#table-board tbody tr").count() == len(HOSTILE)
    assert all(row.is_visible() for row in visit.page.locator("#table-board tbody tr").all())
    assert not field.is_visible()
    visit.page.emulate_media(media="screen")
    field.fill("")
    assert visit.teams() == everyone


MANY = 1_500
NUMBER_OF_NODES = "() => document.querySelectorAll('*').length"
TO_THE_END = "box => { box.scrollTop = box.scrollHeight; }"


@pytest.fixture(scope="module")
def crowded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a board of many teams."""
    path = tmp_path_factory.mktemp("crowded") / "report.html"
    manager = PluginManager(entry_points=False)
    path.write_text(page(board_report(crowded(MANY), manager)), encoding="utf-8")
    return path


def test_a_page_of_many_teams_draws_a_part_of_them(browser: Any, crowded_file: Path) -> None:
    visit = Visit(browser, crowded_file)
    assert not visit.said
    assert visit.page.evaluate(NUMBER_OF_NODES) < 8_000
    assert len(visit.teams()) == 200
    assert visit.page.get_by_text("The 1,500 rows are drawn as you scroll").first.is_visible()
    box = visit.page.locator(".scroll.board").first
    for expected in (700, 1_200, MANY, MANY):
        box.evaluate(TO_THE_END)
        visit.page.wait_for_function(
            "n => document.querySelectorAll('#table-board tbody tr').length === n", arg=expected
        )
    assert visit.teams() == [f"Team of many letters {place}" for place in range(MANY)]
    visit.context.close()


def test_searching_and_sorting_include_rows_not_drawn_yet(browser: Any, crowded_file: Path) -> None:
    visit = Visit(browser, crowded_file)
    field = visit.page.get_by_label("Find a team").first
    field.fill("letters 1499")
    assert visit.teams() == ["Team of many letters 1499"]
    assert visit.page.locator("output").first.text_content() == f"1 of {MANY} teams"
    header = visit.page.locator("#table-board thead th").first
    header.locator("button").click()
    assert visit.teams() == ["Team of many letters 1499"]
    field.fill("letters 1")  # 1, 10 to 19, 100 to 199, 1,000 to 1,499
    assert visit.page.locator("output").first.text_content() == f"611 of {MANY} teams"
    numbers = [*range(MANY - 1, 999, -1), *range(199, 99, -1), *range(19, 9, -1), 1]
    assert visit.teams() == [f"Team of many letters {place}" for place in numbers[:200]]
    visit.page.locator(".scroll.board").first.evaluate(TO_THE_END)
    visit.page.wait_for_function(
        "() => document.querySelectorAll('#table-board tbody tr').length === 611"
    )
    assert visit.teams() == [f"Team of many letters {place}" for place in numbers]
    field.fill("")
    assert visit.teams()[0] == f"Team of many letters {MANY - 1}"
    visit.context.close()


def test_all_rows_are_printed(browser: Any, crowded_file: Path) -> None:
    visit = Visit(browser, crowded_file)
    visit.page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert len(visit.teams()) == MANY
    visit.page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert len(visit.teams()) == 200
    visit.context.close()


def test_a_printed_board_takes_a_page_for_85_teams(browser: Any, tmp_path: Path) -> None:
    """The summary takes one page, and all below the board, another one included, at most four."""
    report = board_report(crowded(MANY), PluginManager(entry_points=False))
    other_board = replace(report.boards[0], name="public-board")
    crowded_file = tmp_path / "report.html"
    crowded_file.write_text(page(replace(report, boards=(*report.boards, other_board))), "utf-8")
    visit = Visit(browser, crowded_file)
    printed = visit.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 1 + -(-MANY // 85) + 4
    visit.context.close()


def test_all_rows_are_there_without_scripts(browser: Any, crowded_file: Path) -> None:
    context = new_context(browser, java_script_enabled=False)
    opened = context.new_page()
    opened.goto(crowded_file.as_uri())
    teams = opened.locator(".scroll.board tbody th").all_text_contents()
    assert teams == [f"Team of many letters {place}" for place in range(MANY)]
    assert not opened.get_by_text("rows are drawn as you scroll").first.is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_of_accessibility(browser: Any, file: Path, scheme: str) -> None:
    """By axe-core, whose rules ask for names, structure, and a contrast of 4.5 among others."""
    visit = Visit(browser, file, 900, scheme)
    axe_faults = run_axe(visit.context, visit.page)
    assert len(axe_faults["passes"]) > 20
    faults = [
        (violation["id"], violation["help"], nodes(violation))
        for violation in axe_faults["violations"]
        if violation["impact"] in SERIOUS
    ]
    assert not faults
    visit.context.close()


def test_the_page_works_without_scripts(browser: Any, file: Path) -> None:
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#table-board tbody tr").count() == len(HOSTILE)
    assert not page.locator("input").first.is_visible()
    stills = page.locator("noscript img")
    assert stills.count() >= 5
    assert page.get_by_text("This picture needs JavaScript.").count() == 0
    context.close()


def test_the_public_page_in_the_browser(browser: Any, public_html: str, tmp_path: Path) -> None:
    (tmp_path / "public.html").write_text(public_html, encoding="utf-8")
    visit = Visit(browser, tmp_path / "public.html")
    assert not visit.said
    assert SCRIPT in visit.teams()
    visit.context.close()
