"""A board as a table for a paper or a web page: LaTeX, Markdown and a fragment of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

from arena.errors import UsageError
from arena.report.boards import private_board
from arena.report.model import Board, Column
from arena.scoring.result import ScoreResult
from arena.utils.text import printable

_COLUMNS = ("rank", "team", "score", "score_low", "rank_low", "tier", "win_rate")
"""The keys of the columns of a table for a paper; a column that the board lacks is left out."""
_HTML_ROWS = 30

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~])")


def as_markdown(result: ScoreResult) -> str:
    """Return the board as a Markdown table, aligned for reading as text."""
    board = private_board(result)
    columns = _chosen(board)
    if not columns:
        return f"No {result.words.submission} could be ranked.\n"
    cells = [
        [column.title, *(_MARKDOWN.sub(r"\\\1", printable(cell)) for cell in column.cells)]
        for column in columns
    ]
    widths = [max(map(len, column_cells)) for column_cells in cells]
    rule = [
        "-" * width if _is_left(column) else "-" * (width - 1) + ":"
        for column, width in zip(columns, widths, strict=True)
    ]
    padded = [
        [cell.ljust(width) if _is_left(column) else cell.rjust(width) for cell in column_cells]
        for column, column_cells, width in zip(columns, cells, widths, strict=True)
    ]
    lines = [list(line) for line in zip(*padded, strict=True)]
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], rule, *lines[1:]])


def as_latex(result: ScoreResult) -> str:
    """Return the board as a ``tabular`` with the rules of the package booktabs."""
    board = private_board(result)
    columns = _chosen(board)
    if not columns:
        return f"% No {result.words.submission} could be ranked.\n"
    lines = [
        f"% {_plain(board.caption)}",
        rf"\begin{{tabular}}{{{''.join('l' if _is_left(column) else 'r' for column in columns)}}}",
        r"\toprule",
        _latex_line([column.title for column in columns]),
        r"\midrule",
        *(_latex_line([_range(column, row) for column in columns]) for row in range(board.n_rows)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def as_html(result: ScoreResult) -> str:
    """Return the first rows of the board as HTML for a notebook: ranks with bars."""
    board = private_board(result)
    columns = _chosen(board)
    if not columns:
        return f"<p>No {result.words.submission} could be ranked.</p>"
    head = "".join(f'<th style="{_side(column)}">{_html(column.title)}</th>' for column in columns)
    rows = "".join(
        f"<tr>{''.join(_html_cell(column, row) for column in columns)}</tr>"
        for row in range(min(board.n_rows, _HTML_ROWS))
    )
    hidden = board.n_rows - _HTML_ROWS
    more = f"<p>… and {hidden:,} more; <code>.to_frame()</code> has all.</p>" if hidden > 0 else ""
    distinct = dict.fromkeys(finding.verdict for finding in result.findings)
    verdicts = "".join(f"<p>{_html(verdict)}</p>" for verdict in distinct)
    return (
        f"<table><caption>{_html(board.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}{verdicts}"
    )


_FORMATS: Mapping[str, Callable[[ScoreResult], str]] = {
    ".md": as_markdown,
    ".tex": as_latex,
    ".html": as_html,
}
"""Suffix of a file -> the table in it."""


def check_table_path(path: Path) -> None:
    """Check the suffix of the file of a table.

    Raises
    ------
    UsageError
        If it is not .md, .tex or .html.
    """
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"--table {path.name}: the file name must end in {', '.join(_FORMATS)}.")


def board_table(result: ScoreResult, path: Path) -> str:
    """Return the table of a board in the format of a file's suffix."""
    check_table_path(path)
    return _FORMATS[path.suffix.lower()](result)


def _chosen(board: Board) -> list[Column]:
    column_of_key = {column.key: column for column in board.columns}
    return [column_of_key[key] for key in _COLUMNS if key in column_of_key]


def _is_left(column: Column) -> bool:
    return not column.numeric


def _side(column: Column) -> str:
    return f"text-align:{'left' if _is_left(column) else 'right'}"


def _plain(text: str) -> str:
    return " ".join(printable(text).split())


def _latex_line(cells: list[str]) -> str:
    escaped = ("".join(_LATEX.get(c, c) for c in _plain(cell)) for cell in cells)
    return " & ".join(escaped) + r" \\"


def _range(column: Column, row: int) -> str:
    cell = column.cells[row]
    return cell.replace(" to ", "--") if column.numeric else cell


def _html(text: str) -> str:
    return escape(printable(text))


def _html_cell(column: Column, row: int) -> str:
    bar = column.bars[row] if column.bars else None
    drawn = ""
    if bar is not None:
        start, width = bar
        drawn = (
            '<div style="position:relative;height:4px;min-width:6em;background:#8884">'
            f'<div style="position:absolute;height:4px;left:{start}%;width:{width}%;'
            'background:#0a5c9c"></div></div>'
        )
    return f'<td style="{_side(column)}"><bdi>{_html(column.cells[row])}</bdi>{drawn}</td>'
