"""Rejected files and their faults in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.interfaces.faults import fault_lines
from arena.utils.text import plural, printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.scoring.rejected_file import RejectedFile

_LINES_SHOWN = 5


def print_rejected(rejected: RejectedFile, out: Console, *, every_kind: bool = False) -> None:
    """Print a rejected file and its faults by kind; without ``every_kind`` the first few lines."""
    lines = fault_lines(rejected.faults)
    printed_lines = lines if every_kind else lines[:_LINES_SHOWN]
    out.print(f"Rejected: {printable(rejected.file)}", soft_wrap=True)
    for line in printed_lines:
        out.print(f"  {printable(line)}", soft_wrap=True)
    hidden = len(lines) - len(printed_lines)
    if hidden > 0:
        out.print(f"  … and {plural(hidden, 'further line')}: arena validate prints all.")
