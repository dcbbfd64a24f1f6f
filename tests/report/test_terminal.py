"""Reports on a terminal: which columns fit, at which width each is cut, and every line of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable

import pytest
from rich.console import Console

from arena.report.boards import competition_board, ranked_board
from arena.report.cells import cell_text, columns_of
from arena.report.model import Board, Column, Report
from arena.report.terminal import MOST_ROWS, print_columns, print_report, print_table
from arena.types import TEAMS, Section, Table
from arena.utils.formatting import BoardDisplay
from board_results import crowded


def lines_of(width: int, print_to: Callable[[Console], None]) -> list[str]:
    """Return what is printed on a terminal of a width, without the spaces at the ends of lines."""
    out = Console(file=io.StringIO(), width=width, color_system=None)
    print_to(out)
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


FIGURES = Table("Figures", ("team", "wins", "note"), (("owls", 12, "x"), ("bats", 3, "")))
FIGURES_PRINTED = [
    "Figures",
    "",
    "  team   wins   note",
    " ────────────────────",
    "  owls     12   x",
    "  bats      3",
    "",
]


def test_a_column_is_printed_if_it_fits_with_its_three_spaces() -> None:
    # Three columns of 4, each with 3 spaces, and the 2 at the left: 23.
    assert lines_of(23, lambda out: print_table(FIGURES, out)) == FIGURES_PRINTED
    narrower = lines_of(22, lambda out: print_table(FIGURES, out))
    assert narrower[:6] == [
        "Figures",
        "",
        "  team   wins",
        " ─────────────",
        "  owls     12",
        "  bats      3",
    ]
    assert " ".join(narrower[7:]) == "Too wide for this terminal: note; --json prints all."
    columns = columns_of(FIGURES)
    other = lines_of(22, lambda out: print_columns(columns, out, title="", every="--csv"))
    assert " ".join(other[-3:]).endswith("note; --csv prints all.")


def test_the_first_of_equally_important_columns_is_printed() -> None:
    wins = Column("wins", "", ("12",), (12.0,), importance=1)
    for columns in ([Column("team", "", ("owls",)), wins], [wins, Column("team", "", ("owls",))]):
        lines = lines_of(9, lambda out, columns=columns: print_columns(columns, out, title=""))
        assert lines[1].strip() == columns[0].title


@pytest.mark.parametrize(
    ("rows", "more"), [(60, []), (61, ["… and 1 more: --json prints every one."])]
)
def test_sixty_rows_of_a_table_are_printed(rows: int, more: list[str]) -> None:
    table = Table("", ("n",), tuple((row,) for row in range(rows)))
    for print_to in (
        lambda out: print_table(table, out),
        lambda out: print_columns(columns_of(table), out, title="", n_rows=rows),
    ):
        lines = lines_of(60, print_to)
        assert [line.strip() for line in lines[3 : 3 + MOST_ROWS]] == [
            str(row) for row in range(60)
        ]
        assert lines[4 + MOST_ROWS :] == more
    every = lines_of(60, lambda out: print_table(table, out, most=None))
    assert len(every) == 3 + rows + 1


def test_of_no_columns_no_further_row_is_counted() -> None:
    printed = lines_of(60, lambda out: print_columns([], out, title="Nothing"))
    assert [line for line in printed if line] == ["Nothing"]


def test_rows_beyond_those_given_are_counted() -> None:
    columns = columns_of(FIGURES)
    lines = lines_of(60, lambda out: print_columns(columns, out, title="", n_rows=1_236))
    assert lines[-1] == "… and 1,234 more: --json prints every one."


@pytest.mark.parametrize(
    ("bars", "drawn"),
    [
        # Of four ranks in the width of four: one rank is one sign.
        ([(0.0, 25.0), (25.0, 50.0), (75.0, 25.0), None], ["━···", "·━━·", "···━", ""]),
        # Of three ranks in the width of three, of per cents that are rounded to 0.1.
        ([(0.0, 33.3), (33.3, 33.3), (66.7, 33.3)], ["━··", "·━·", "··━"]),
    ],
)
def test_bars_of_ranks_are_as_wide_as_the_board_has_teams(
    bars: list[tuple[float, float] | None], drawn: list[str]
) -> None:
    ranks = Column("ranks", "", tuple("r" for _ in bars), bars=tuple(bars))
    lines = lines_of(60, lambda out: print_columns([ranks], out, title=""))
    assert lines[1] == "  ranks   ranks"
    assert [line.strip()[1:].strip() for line in lines[3 : 3 + len(bars)]] == drawn


def test_bars_are_at_most_sixteen_wide_and_need_five() -> None:
    bars = tuple((100 * rank / 20, 5.0) for rank in range(20))
    ranks = Column("rank", "", tuple(map(str, range(20))), (0.0,) * 20, bars=bars)
    # Columns of 4 and 16, each with 3 spaces, and 2 at the left.
    wide = lines_of(28, lambda out: print_columns([ranks], out, title=""))
    assert {len(line) for line in wide[3:23]} == {25}
    # One of twenty ranks is 0.8 of a sign: the first begins at 0, the last ends at 16.
    assert wide[3] == "     0   ━···············"
    assert wide[22] == "    19   ···············━"
    narrow = lines_of(17, lambda out: print_columns([ranks], out, title=""))
    assert {len(line) for line in narrow[3:23]} == {14}
    left_out = lines_of(16, lambda out: print_columns([ranks], out, title=""))
    assert {len(line) for line in left_out[3:23]} == {6}


def test_names_are_cut_at_32_and_columns_without_importance_are_left_out() -> None:
    columns = [
        Column("team", "", ("a" * 32, "b" * 33, "c" * 29 + "  dd")),
        Column("hidden", "", ("x", "y", "z"), importance=None),
        Column("empty", "", ("", "", "")),
    ]
    lines = lines_of(80, lambda out: print_columns(columns, out, title="Teams \u202e"))
    assert [line.strip() for line in lines[:6]] == [
        "Teams \\u202e",
        "",
        "team",
        "─" * 34,
        "a" * 32,
        "b" * 31 + "…",
    ]
    assert lines[6].strip() == "c" * 29 + "…"


@pytest.mark.parametrize(("width", "lines_of_text"), [(41, 1), (40, 2), (29, 2), (28, 0)])
def test_a_text_is_wrapped_down_to_24_columns_before_it_is_left_out(
    width: int, lines_of_text: int
) -> None:
    # The text is 36 wide: 36 + 3 + 2 = 41; 24 + 3 + 2 = 29.
    table = Table("", ("said",), (("word " * 6 + "worded",),))
    lines = lines_of(width, lambda out: print_table(table, out))
    assert sum("word" in line for line in lines) == lines_of_text


def test_texts_of_more_rows_than_are_wrapped_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.report.terminal.ROWS_OF_RICH", 2)
    for rows, lines_of_text in ((2, 4), (3, 0)):
        table = Table("", ("said",), (("word " * 6 + "worded",),) * rows)
        lines = lines_of(29, lambda out, table=table: print_table(table, out))
        assert sum("word" in line for line in lines) == lines_of_text


def test_a_report_is_printed_in_its_order() -> None:
    board = Board("b", "The board", "By score.", (Column("team", "", ("owls",)),))
    section = Section("Part", "One.\n\nTwo\nlines.", (FIGURES,))
    report = Report("Title", (), ("First.", "Second."), (board,), (section,))
    assert lines_of(60, lambda out: print_report(report, out)) == [
        "First.",
        "Second.",
        "",
        "The board",
        "By score.",
        "",
        "  team",
        " ──────",
        "  owls",
        "",
        "",
        "Part",
        "One.",
        "Two lines.",
        *FIGURES_PRINTED,
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (1_234, "1,234"),
        (9_999.4, "9999"),
        (10_000.4, "10,000"),
        (-10_000.4, "-10,000"),
        (-0.000123456, "-0.0001235"),
        ("text", "text"),
    ],
)
def test_a_value_of_a_table_is_written_as_a_person_reads_it(value: object, text: str) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ((1, 2.5, None), (1.0, 2.5, None)),
        (("1,234", "-5.5%", "+2", ""), (1234.0, -5.5, 2.0, None)),
        ((True, False), None),  # yes and no are words
        (("1", "one"), None),
        (("1 to 2", "3"), None),
        ((None, ""), None),  # nothing to sort by
    ],
)
def test_a_column_of_numbers_also_of_numbers_as_text_is_sorted_by_them(
    values: tuple[object, ...], order: tuple[float | None, ...] | None
) -> None:
    (column,) = columns_of(Table("", ("x",), tuple((value,) for value in values)))
    assert column.order == order
    assert column.numeric == (order is not None)
    assert column.importance == 1


def left_out_last(columns: Iterable[Column]) -> list[str]:
    """Return the titles of columns; those that narrow terminals show come first."""
    shown_columns = [column for column in columns if column.importance is not None]
    return [
        column.title for column in sorted(shown_columns, key=lambda column: column.importance or 0)
    ]


def test_a_wider_terminal_shows_further_columns_of_a_board_in_this_order() -> None:
    board = ranked_board(crowded(2).standings, BoardDisplay(), TEAMS, caption="")
    assert left_out_last(board.columns) == [
        "rank", "team", "score", "rank interval", "tier", "score interval", "prize share",
        "bootstrap rank range", "win rate", "score on public rows",
    ]  # fmt: skip
    hidden = [column.title for column in board.columns if column.importance is None]
    assert hidden == ["rank on public rows"]
    single = ranked_board(crowded(2).standings[:1], BoardDisplay(), TEAMS, caption="")
    assert [column.title for column in single.columns] == [
        "rank", "team", "score", "score interval", "score on public rows"
    ]  # fmt: skip


def test_a_wider_terminal_shows_further_columns_of_a_public_board_in_this_order() -> None:
    names = ("submission", "n_submissions", "seconds", "seconds_low", "seconds_high",
             "memory_mb", "memory_mb_low", "memory_mb_high")  # fmt: skip
    row = {"rank": 1, "team": "a", "score": 0.5, "brackets": {"new": {}}, **dict.fromkeys(names, 2)}
    row |= {"baseline": False, "seconds_high": 3, "memory_mb_high": 3}
    board = competition_board(
        [row], title="", caption="", name="n", display=BoardDisplay(), submissions=True
    )
    assert left_out_last(board.columns) == [
        "rank", "team", "score", "sent", "brackets", "submission", "seconds", "MB",
        "seconds of all runs", "MB of all runs",
    ]  # fmt: skip
