"""Ways in which programs alter texts: why an id, a label or a name is none of the expected ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.utils.lazy import pc

_ZEROS = (
    "leading zeros were lost or added, e.g. by opening the CSV file in a spreadsheet: write them "
    "as the sample submission has them, as text"
)
_SPACES = "differs only in case or spaces"
_SEVERAL_BYTES = re.compile("[\u00c2-\u00f4][\u0080-\uffff]")
"""How UTF-8 looks that was read as another encoding: Ã© for é."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """A way in which a text may differ from the expected one."""

    reason: str
    """What may be wrong with one text."""
    cause: str
    """What may be wrong with all texts of a file."""
    undone: Callable[[Any], Any]
    """Maps a ``pyarrow.StringArray`` so that an altered text and its original become equal."""
    may_be_meant: bool = False
    """Whether texts that differ so are often meant as different, such as model.a and model.b."""


def _replaced(pattern: str, replacement: str) -> Callable[[Any], Any]:
    return lambda texts: pc.replace_substring_regex(texts, pattern, replacement)


def _trimmed(texts: Any) -> Any:
    return pc.utf8_trim_whitespace(texts)


def _lower(texts: Any) -> Any:
    return pc.utf8_lower(texts)


def _trimmed_lower(texts: Any) -> Any:
    return pc.utf8_lower(pc.utf8_trim_whitespace(texts))


def _without_offset(texts: Any) -> Any:
    """Return points in time without their offset from UTC; other texts unchanged."""
    for pattern, replacement in (
        (r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:[0-9.]+)?(Z|[+-]\d\d:?\d\d)?$", r"\1 \2\3"),
        (r"^(\d{4}-\d\d-\d\d \d\d:\d\d):00(\.0+)?$", r"\1"),
        (r"^(\d{4}-\d\d-\d\d) 00:00$", r"\1"),
    ):
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


def _compatible(texts: Any) -> Any:
    return pc.utf8_normalize(texts, "NFKC")


def _decoded_again(texts: Any) -> Any:
    """Return texts whose UTF-8 was read as Windows-1252 or Latin-1 as they were before."""
    if pc.all(pc.string_is_ascii(texts)).as_py():
        return texts
    return pa.array(map(_decoded_text, texts.to_pylist()), pa.string())


def _decoded_text(text: str) -> str:
    if _SEVERAL_BYTES.search(text):
        for codec in ("cp1252", "latin-1"):
            try:
                return text.encode(codec).decode("utf-8")
            except UnicodeError:
                continue
    return text


def _by_value(texts: Any) -> Any:
    """Return numbers in one way of writing; other texts unchanged."""
    pattern = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
    is_number = pc.match_substring_regex(texts, pattern)
    values = pc.cast(pc.if_else(is_number, texts, "0"), pa.float64())
    is_exact = pc.and_(is_number, pc.less(pc.abs(values), 2.0**53))
    return pc.if_else(is_exact, pc.cast(pc.add(values, 0.0), pa.string()), texts)  # -0 is 0


SPACES = Alteration("there are spaces around it", _SPACES, _trimmed)
INVISIBLE = Alteration(
    "it has an invisible character: write it as the sample submission",
    "there are invisible characters: write the texts of the sample submission",
    _replaced(r"\p{Cf}", ""),
)
ALTERATIONS = (
    SPACES,
    Alteration(_ZEROS, _ZEROS, _replaced(r"^0+([0-9])", r"\1")),
    Alteration(
        "it is a decimal number here or in the solution: write 1 or 1.0, as the sample submission",
        "they are decimal numbers here or in the solution: write 1 or 1.0, as the sample "
        "submission",
        _replaced(r"^(-?[0-9]+)\.0+$", r"\1"),
    ),
    Alteration(
        "leading zeros were lost or added and it is written as a decimal number: write the column "
        "as text",
        _ZEROS,
        _replaced(r"^0*([0-9]+?)(\.0+)?$", r"\1"),
    ),
    Alteration("upper and lower case must match", _SPACES, _lower),
    Alteration(
        "there are spaces around it, and upper and lower case must match", _SPACES, _trimmed_lower
    ),
    Alteration(
        'it is a formula of a spreadsheet: write 001 and not ="001"',
        'there are formulas of a spreadsheet: write 001 and not ="001"',
        _replaced(r'^="(.*)"$', r"\1"),
    ),
    INVISIBLE,
    Alteration(
        "only one of both has an offset from UTC: write times as the sample submission",
        "times have an offset from UTC here or in the solution only: write them as the sample "
        "submission",
        _without_offset,
    ),
    Alteration(
        "the number is written in another way: write it as the sample submission",
        "numbers are written in another way, such as 1e3 for 1000: write them as the sample "
        "submission",
        _by_value,
    ),
    Alteration(
        "it has characters that look like others, such as a non-breaking space or wide digits: "
        "copy the text from the sample submission",
        "there are characters that look like others, such as non-breaking spaces or wide digits: "
        "copy the texts from the sample submission",
        _compatible,
    ),
    Alteration(
        "it was read in a wrong encoding: read and write UTF-8",
        "the texts were read in a wrong encoding, such as Ã© for é: read and write UTF-8",
        _decoded_again,
    ),
    Alteration(
        "it has quotation marks or brackets around it: write it without them",
        "there are quotation marks or brackets around the texts: write them without",
        _replaced(r"""^b?['"`({\[\x{2018}\x{201c}]+(.*?)['"`)}\]\x{2019}\x{201d}]*$""", r"\1"),
    ),
    Alteration(
        "it has the ending or the folder of a file here or in the solution: write it as the sample "
        "submission",
        "there are endings or folders of files here or in the solution only: write the texts of "
        "the sample submission",
        _replaced(r"^(?:.*[/\\])?([^/\\]+?)(?:\.[A-Za-z][A-Za-z0-9]{0,4}){0,2}$", r"\1"),
        may_be_meant=True,
    ),
)
"""What may have happened to one of two texts that are meant as the same."""


def reasons_of(texts: Any, others: Any) -> npt.NDArray[np.int8]:
    """Return the alteration that would turn each text into one of the others; -1: none."""
    reasons = np.full(len(texts), -1, dtype=np.int8)
    for number, alteration in enumerate(ALTERATIONS):
        left = np.flatnonzero(reasons < 0)
        if not len(left) or not len(others):
            break
        altered = alteration.undone(texts.take(pa.array(left)))
        is_other = pc.is_in(altered, value_set=alteration.undone(others))
        reasons[left[is_other.to_numpy(zero_copy_only=False)]] = number
    return reasons


def common_cause(reasons: npt.NDArray[np.int8]) -> str | None:
    """Return the cause that applies to more than half of the texts, or None."""
    counts = Counter(ALTERATIONS[reason].cause for reason in reasons[reasons >= 0].tolist())
    return next((cause for cause, count in counts.items() if 2 * count > len(reasons)), None)
