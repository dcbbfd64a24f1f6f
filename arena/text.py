"""Text of participants, made safe to show: it may hold anything."""

from __future__ import annotations

import unicodedata

__all__ = ["csv_cell", "printable", "printable_lines", "shorten"]

_STARTS_OF_A_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - wide ones count too


def printable(text: str) -> str:
    r"""Return the text with control, format and bidirectional characters written out.

    A team name may not move the cursor, reverse the line that it stands in, or hide.

    >>> printable("ro\x1b[31mbot\u202e")
    'ro\\x1b[31mbot\\u202e'
    """
    return "".join(_written_out(character) for character in text)


def printable_lines(text: str) -> str:
    """Return several lines of text, each printable."""
    return "\n".join(printable(line) for line in text.splitlines())


def _written_out(character: str) -> str:
    # A joiner inside an emoji is a format character too, but does no harm.
    if character == "\u200d" or unicodedata.category(character) not in {
        "Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp",
    }:  # fmt: skip
        return character
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, length: int = 60) -> str:
    """Return the printable text, cut to a length.

    >>> shorten("a" * 100, 10)
    'aaaaaaaaa…'
    """
    safe = printable(text[: length + 1])
    return safe if len(safe) <= length else safe[: length - 1] + "…"


def csv_cell(text: str) -> str:
    """Return the text as a cell of a CSV export, which no spreadsheet takes for a formula.

    >>> csv_cell("=1+1"), csv_cell("team")
    ("'=1+1", 'team')
    """
    return f"'{text}" if text.startswith(_STARTS_OF_A_FORMULA) else text
