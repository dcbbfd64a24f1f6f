"""Makes untrusted text, such as team names, safe to display; writes counts with their nouns."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from io import StringIO

from arena.errors import UsageError

EMAIL_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_SINGULAR = {"are": "is", "were": "was", "have": "has"}
_FORMULA_IN_A_CELL = re.compile(r"((?:^|[;|])[\s\"]*)([=+\-@\t\r\n＝＋－＠])")  # noqa: RUF001


_MOST_MARKS = 8
"""Marks on one letter; languages use up to four."""


def has_stacked_marks(text: str) -> bool:
    r"""Return whether a letter has so many combining marks that they cover the lines around it.

    >>> has_stacked_marks("Zoe\u0308"), has_stacked_marks("Z" + "\u0301" * 60)
    (False, True)
    """
    run = 0
    for character in text:
        run = run + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if run > _MOST_MARKS:
            return True
    return False


def numbers_by_name(text: str | None, option: str) -> dict[str, float]:
    """Return the numbers of ``NAME=NUMBER, …``; None has none.

    A comma within brackets belongs to a name, such as that of a metric with parameters.

    Raises
    ------
    UsageError
        If a part has another form, or a name occurs twice.

    Examples
    --------
    >>> numbers_by_name("f1(average=macro)=2, mae=1", "--weights")
    {'f1(average=macro)': 2.0, 'mae': 1.0}
    """
    numbers: dict[str, float] = {}
    for part in re.split(r",(?![^(]*\))", text or ""):
        name, equals, number = (side.strip() for side in part.rpartition("="))
        if not part.strip() and not numbers:
            continue
        if not equals or not name or not is_number(number) or name in numbers:
            raise UsageError(
                f"{option} takes NAME=NUMBER, …, each name once, not {part.strip()!r}."
            )
        numbers[name] = float(number)
    return numbers


def is_number(text: str) -> bool:
    """Return whether Python can parse a text as a number.

    >>> is_number("-1e3"), is_number("cat"), is_number("")
    (True, False, False)
    """
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False


def printable(text: str) -> str:
    r"""Return the text with control, format and bidirectional characters escaped.

    A team name must not move the cursor, reverse the line, or be invisible.

    >>> printable("ro\x1b[31mbot\u202e")
    'ro\\x1b[31mbot\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def type_and_text(error: BaseException) -> str:
    """Return the type of an error, and its text if it has one.

    >>> type_and_text(ValueError("no")), type_and_text(MemoryError())
    ('ValueError: no', 'MemoryError')
    """
    return ": ".join(filter(None, (type(error).__name__, str(error).strip())))


def plural(count: int, noun: str, verb: str = "") -> str:
    """Return a count with its noun, and with a verb, which is given in the plural.

    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    >>> plural(1, "row", "are"), plural(0, "row", "are"), plural(1, "group", "form")
    ('1 row is', '0 rows are', '1 group forms')
    """
    is_single = count == 1
    text = f"{count:,} {noun}" if is_single else f"{count:,} {noun}s"
    verb_form = _SINGULAR.get(verb, f"{verb}s") if is_single else verb
    return f"{text} {verb_form}" if verb else text


def printable_lines(text: str) -> str:
    """Return several lines of text, each printable."""
    return "\n".join(printable(line) for line in text.splitlines())


def _escaped(character: str) -> str:
    # The joiner inside an emoji is a format character too, but harmless.
    if character == "\u200d" or unicodedata.category(character) not in {
        "Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp",
    }:  # fmt: skip
        return character
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, length: int = 60) -> str:
    """Return the printable text, truncated to a length.

    >>> shorten("a" * 100, 10)
    'aaaaaaaaa…'
    """
    safe = printable(text[: length + 1])
    return safe if len(safe) <= length else safe[: length - 1] + "…"


def csv_cell(text: str) -> str:
    """Return the text as a CSV cell that spreadsheets do not interpret as a formula.

    Some spreadsheets also split cells at semicolons or bars.

    >>> csv_cell("=1+1"), csv_cell("team"), csv_cell("a;=1+1")
    ("'=1+1", 'team', "a;'=1+1")
    """
    return _FORMULA_IN_A_CELL.sub(r"\1'\2", text)


def delimiter_of(text: str) -> str:
    r"""Return what separates the cells of a small table: tab, semicolon or comma.

    The one that is most frequent in the first line that is not blank.

    >>> delimiter_of("\nteam;name, title\n"), delimiter_of("team")
    (';', '\t')
    """
    first = next((line for line in StringIO(text) if line.strip()), "")
    return max("\t;,", key=first.count)
