"""Small functions on texts and numbers, at each edge of what they tell apart."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from arena.errors import UsageError
from arena.utils import formatting
from arena.utils.bracket_rows import (
    first_of_bracket,
    ranks_within,
    rows_of_bracket,
    with_brackets,
    with_names_of_brackets,
)
from arena.utils.docstrings import parameter_meanings, summary_of
from arena.utils.formatting import BoardDisplay
from arena.utils.located import located
from arena.utils.locations import check_location, folder_of
from arena.utils.look_alikes import look_alike, skeleton
from arena.utils.read_only import read_only
from arena.utils.representation import short_repr
from arena.utils.requests import Choice, check_choices, fields_of
from arena.utils.strict_json import parse_json
from arena.utils.tabular import Tabular, as_json
from arena.utils.text import (
    csv_cell,
    delimiter_of,
    has_stacked_marks,
    numbers_by_name,
    printable,
    printable_lines,
    shorten,
)
from arena.utils.times import in_utc, time_of


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (9_940, "9.9 kB"),
        (10_000, "10 kB"),
        (999_499, "999 kB"),
        (1_000_000, "1.0 MB"),
        (10_000_000, "10 MB"),
        (999_000_000, "999 MB"),
        (1_000_000_000, "1.0 GB"),
        (12_345_000_000, "12 GB"),
    ],
)
def test_sizes_have_two_digits_or_whole_units(n_bytes: int, text: str) -> None:
    assert formatting.size(n_bytes) == text


@pytest.mark.parametrize(
    ("scores", "decimals"),
    [
        ([], 0),
        ([0.0, None, math.nan, math.inf], 0),
        ([0.5], 1),
        ([0.75, 0.5], 2),
        ([1 / 3], 6),
        ([1.0], 0),
        ([1.5], 1),
        ([10 / 3], 5),  # one digit before the point
        ([100 / 3, 0.5], 4),
        ([123_456.5], 0),  # six digits before the point
        ([0.01 / 3], 8),  # two zeros after the point
        ([-2 / 3], 6),
    ],
)
def test_scores_have_six_digits_or_fewer_if_none_needs_them(
    scores: list[float | None], decimals: int
) -> None:
    assert formatting.score_decimals(scores) == decimals


@pytest.mark.parametrize(
    ("widths", "text"),
    [
        # 3 decimals more than the place of the first digit of the median width.
        ([], "0.123457"),
        ([0.0, None], "0.123457"),
        ([0.2], "0.1235"),
        ([0.09], "0.12346"),
        ([2.0], "0.123"),
        ([2_000.0], "0"),
        ([0.002, 0.2, 20.0], "0.1235"),
        ([0.002, 0.2], "0.1235"),  # of two the larger
    ],
)
def test_scores_of_a_board_have_the_decimals_of_their_median_interval(
    widths: list[float | None], text: str
) -> None:
    rows = [{"score_low": None if width is None else 0.0, "score_high": width} for width in widths]
    assert formatting.score_format(rows)(0.123456789) == text


@pytest.mark.parametrize(
    ("size", "decimals", "digits"),
    [
        (1e-6, 9, None),  # nine decimals are read
        (1e-6, 10, 4),  # the sixth decimal is the first of five digits up to the tenth
        (9.9e-6, 10, 4),
        (1e-5, 10, None),
        (-1e-6, 10, 4),
        (0.0, 12, None),
        (1e-12, 10, 0),
    ],
)
def test_tiny_numbers_have_an_exponent_where_their_zeros_would_not_be_read(
    size: float, decimals: int, digits: int | None
) -> None:
    assert formatting.exponent_digits(size, decimals) == digits


@pytest.mark.parametrize(
    ("display", "decimals", "value", "text"),
    [
        (BoardDisplay(), 2, None, ""),
        (BoardDisplay(), 2, 1234.567, "1,234.57"),
        (BoardDisplay(), 12, 0.5, "0.500000000000"),
        (BoardDisplay(), 13, 0.5, "0.500000000000"),
        (BoardDisplay(), 12, 0.0, "0.000000000000"),
        (BoardDisplay(), 13, 0.0, "0"),
        (BoardDisplay(13), 2, 0.0, "0.0000000000000"),
        (BoardDisplay(13), 2, 0.5, "0.5000000000000"),
        (BoardDisplay(unit="s"), 13, 0.0, "0 s"),
        (BoardDisplay(unit="%"), 4, 0.5, "50.00%"),
        (BoardDisplay(unit="%"), 2, 0.5, "50%"),
        (BoardDisplay(unit="%"), 1, 0.5, "50%"),
        (BoardDisplay(1, "%"), 4, 0.5, "50.0%"),
        (BoardDisplay(unit="ms"), 11, 1e-7, "1.0000e-07 ms"),
        (BoardDisplay(2, "ms"), 11, 1e-7, "0.00 ms"),
    ],
)
def test_a_board_shows_a_score_with_its_digits_and_unit(
    display: BoardDisplay, decimals: int, value: float | None, text: str
) -> None:
    assert display.formatter(decimals)(value) == text


@pytest.mark.parametrize(
    ("width", "value", "text"),
    [
        (-1.0, 0.0014, "0.0014"),
        (0.0, 0.00141421, "0.00141"),
        (0.1, 0.12345, "0.12"),
        (0.099, 0.12345, "0.123"),
        (1.0, 0.12345, "0.1"),
        (10.0, 12_345.6, "12,346"),
        (1e-8, 0.5, "0.500000000"),  # nine decimals
        (1e-9, 5e-7, "5.000e-07"),
    ],
)
def test_a_figure_has_the_decimals_of_its_interval(width: float, value: float, text: str) -> None:
    assert formatting.width_format(width)(value) == text


def test_unknown_numbers_are_empty() -> None:
    for show in (formatting.number(2), formatting.plain, formatting.percent):
        assert show(None) == ""
    assert formatting.percent(0.9999) == "100.0%"
    for low, high in ((None, 1), (1, None), (None, None)):
        assert formatting.span(low, high, str) == ""


@pytest.mark.parametrize(("marks", "stacked"), [(0, False), (8, False), (9, True)])
def test_more_than_eight_marks_on_a_letter_are_stacked(marks: int, stacked: bool) -> None:
    assert has_stacked_marks("a" + "\u0301" * marks + "b") == stacked
    assert has_stacked_marks("\u0301" * marks) == stacked  # on no letter
    assert not has_stacked_marks(("a" + "\u0301" * 5) * 3)
    assert has_stacked_marks("a" + "\u20dd" * marks) == stacked  # an enclosing circle


@pytest.mark.parametrize("part", ["a", "a=", "=1", "a=x", "a=1,a=2", "a=1,", "a=1,,b=2"])
def test_numbers_by_name_are_refused_in_another_form(part: str) -> None:
    with pytest.raises(UsageError, match=r"--weights takes NAME=NUMBER, …, each name once, not '"):
        numbers_by_name(part, "--weights")


def test_numbers_by_name_may_have_commas_within_brackets() -> None:
    assert numbers_by_name("f(a=1, b=2) = 3, mae=-1e3", "") == {"f(a=1, b=2)": 3, "mae": -1000}
    assert numbers_by_name(None, "") == numbers_by_name(" , ", "") == {}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é", "é"),
        ("a\tb", "a\\tb"),
        ("a\u200bb", "a\\u200bb"),
        ("👩\u200d💻", "👩\u200d💻"),  # joined to one picture
        ("\u2028", "\\u2028"),
        ("\ue000", "\\ue000"),
    ],
)
def test_characters_that_hide_or_reorder_text_are_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_each_line_of_a_text_is_made_printable() -> None:
    assert printable_lines("a\tb\n\nc\u200b") == "a\\tb\n\nc\\u200b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abcd", "abcd"), ("abcde", "abc…"), ("ab\x1bcd", "ab\\…"), ("\x1b", "\\x1b")],
)
def test_a_text_is_cut_with_an_ellipsis(text: str, shown: str) -> None:
    assert shorten(text, 4) == shown
    assert shorten("a" * 60) == "a" * 60
    assert shorten("a" * 61) == "a" * 59 + "…"


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1", "'=1"), (' "-1', " \"'-1"), ("a|+1;@x", "a|'+1;'@x"), ("a=1", "a=1"), ("", "")],
)
def test_a_cell_is_no_formula(text: str, cell: str) -> None:
    assert csv_cell(text) == cell


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [("a,b;c,d", ","), ("a\tb,c", "\t"), ("\n  \na;b", ";"), ("", "\t"), ("a;b,c", ";")],
)
def test_the_most_frequent_sign_of_the_first_line_separates_cells(
    text: str, delimiter: str
) -> None:
    assert delimiter_of(text) == delimiter


def test_names_look_alike_in_any_case_and_script() -> None:
    for one, other in (("rn", "m"), ("O0", "00"), ("I1", "ll"), ("a  b", "a b"), ("\uff41", "a")):
        assert look_alike(one, other), (one, other)
    for hidden in ("a\u200bb", "a\ufe0fb", "a\u034fb", "a\x00b"):
        assert skeleton(hidden) == skeleton("ab")
    assert not look_alike("ab", "a b")
    # m becomes rn, a digit the letter that it resembles, and a Cyrillic letter a Latin one.
    assert [skeleton(name) for name in ("m", "1", "0", "\u0430")] == ["rn", "l", "o", "a"]
    assert not look_alike("Ann", "Anna")


LOCATION = "it must be a folder, or a URL such as s3://bucket/folder"
BUCKET = "it must name a bucket, such as s3://bucket/folder"
SLASHES = (
    "it looks like a URL without two slashes after the colon: write one such as s3://bucket/folder,"
    " or a folder of this name as ./NAME"
)
SECRETS = "a URL with a name or password in it is refused: give credentials in the environment"
QUERY = "a URL with ? or # is refused: give credentials in the environment"
FILE = "a file URL must have three slashes, such as file:///data/predictions"
SCHEME = "its scheme is not supported: use a folder, or a URL with s3://, gs://"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", LOCATION),
        (" ", LOCATION),
        ("a\nb", LOCATION),
        ("s3:bucket", SLASHES),
        ("s3://[x", "it is not a valid URL: use one such as s3://bucket/folder"),
        ("s3://key@bucket", SECRETS),
        ("s3://bucket?x=1", QUERY),
        ("s3://bucket#x", QUERY),
        ("s3://bucket?", QUERY),
        ("s3://bucket#", QUERY),
        ("file://host/data", FILE),
        ("file://", FILE),
        ("http://host/data", SCHEME),
        ("S3://bucket", SCHEME),
        ("s3://", BUCKET),
        ("s3:///folder", BUCKET),
        ("s3://bucket/a/../b", BUCKET),
        ("s3://bucket/.", BUCKET),
        ("s3://bucket/a*", BUCKET),
        ("s3://bucket/a::b", BUCKET),
        ("file:data", SLASHES),
        ("folder/./a", None),
        ("c:/folder", None),  # a drive of Windows
        ("./s3:bucket", None),
        ("file:///data", None),
        ("gs://bucket/a/b/", None),
    ],
)
def test_a_location_is_a_folder_or_a_bucket(url: str, sentence: str | None) -> None:
    if sentence is None:
        check_location(url)
        return
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole sentence is compared
        check_location(url)
    assert str(refused.value) == sentence


def test_a_location_is_relative_to_the_competition() -> None:
    home = Path("/race")
    assert folder_of("a", home) == home / "a"
    assert folder_of("/data", home) == Path("/data")
    assert folder_of("file:///data/a%20b", home) == Path("/data/a b")
    assert folder_of("gs://bucket/a", home) is None


class Pair(NamedTuple):
    first: Any
    second: int


@dataclasses.dataclass(frozen=True)
class Holder:
    values: Any
    name: str = "n"


def test_what_is_handed_to_plugins_cannot_be_written_to() -> None:
    array = np.zeros(2)
    for value, inner in (
        (array, lambda handed: handed),
        ([array], lambda handed: handed[0]),
        ((array, 1), lambda handed: handed[0]),
        ({"a": array}, lambda handed: handed["a"]),
        (MappingProxyType({"a": array}), lambda handed: handed["a"]),
        (Pair(array, 1), lambda handed: handed.first),
        (Holder([array]), lambda handed: handed.values[0]),
        (np.array(["2026-01-01"], dtype="M8[D]"), lambda handed: handed),
    ):
        handed = read_only(value)
        assert type(handed) is type(value)
        assert handed is not value
        assert not inner(handed).flags.writeable
    assert array.flags.writeable
    for same in ((1, "a"), Pair(1, 2), Holder(1), Holder, "text", 7):
        assert read_only(same) is same
    once = read_only(array)
    assert read_only(once) is once


@dataclasses.dataclass(repr=False)
class Record:
    value: Any
    __repr__ = short_repr


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1 / 3, "value=0.333333"),
        (True, "value=True"),
        (1_234_567, "value=1.23457e+06"),
        ("x" * 60, f"value='{'x' * 60}'"),
        ((1, 2, 3), "value=(1, 2, 3)"),
        ((1, 2, 3, 4), "value: 4"),
        ([1] * 1_234, "value: 1,234"),
        ({"a": 1}, ""),
        (dict.fromkeys("abcd"), "value: 4"),
        (np.zeros((2, 3)), "value: 2 x 3"),
        ((), ""),
        ((1, None), ""),
        (Record(1), "value=<Record: value=1>"),
        (None, ""),
    ],
)
def test_a_result_shows_its_numbers_and_the_sizes_of_the_rest(value: Any, shown: str) -> None:
    assert " ".join(repr(Record(value)).split()) == f"<Record: {shown}>"


def test_a_result_is_shown_in_six_lines_of_88_letters() -> None:
    kind = dataclasses.make_dataclass(
        "Many", [f"field_{n}" for n in range(60)], namespace={"__repr__": short_repr}, repr=False
    )
    lines = repr(kind(*range(60))).splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) <= 88
    assert lines[1].startswith("  field_")
    assert lines[-1].endswith(" …>")


@dataclasses.dataclass
class Job:
    """What a job takes."""

    days: Annotated[int, Choice("Days.", least=1, most=3)] = 2
    shares: Annotated[tuple[float, ...] | None, Choice("Shares.", least=0)] = None
    most: Annotated[float, Choice("Most.", most=1)] = 1.0
    name: Annotated[str, Choice("Name.")] = "n"
    rows: list[int] = dataclasses.field(default_factory=list)
    needed: int = dataclasses.field(kw_only=True)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"days": 1}, None),
        ({"days": 3}, None),
        ({"days": np.int64(2)}, None),
        ({"days": 0}, "days takes whole numbers from 1 to 3, not 0."),
        ({"days": 4}, "days takes whole numbers from 1 to 3, not 4."),
        ({"days": 2.0}, "days takes whole numbers from 1 to 3, not 2.0."),
        ({"days": "2"}, "days takes whole numbers from 1 to 3, not 2."),
        ({"shares": (0, 0.5)}, None),
        ({"shares": (0.5, -0.1)}, "shares takes numbers from 0, not -0.1."),
        ({"shares": ("x",)}, "shares takes numbers from 0, not x."),
        ({"most": 1.0}, None),
        ({"most": -1e9}, None),
        ({"most": 1.5}, "most takes numbers to 1, not 1.5."),
        ({"most": math.nan}, "most takes numbers to 1, not nan."),
        ({"name": 7}, None),
    ],
)
def test_a_request_is_checked_at_both_ends(given: dict[str, Any], sentence: str | None) -> None:
    if sentence is None:
        check_choices(Job(needed=1, **given))
        return
    with pytest.raises(UsageError) as refused:
        check_choices(Job(needed=1, **given))
    assert str(refused.value) == sentence


def test_the_fields_of_a_request_are_read_from_its_annotations() -> None:
    fields = fields_of(Job)
    assert [
        (field.kind, field.several, field.optional, field.choice is not None, field.required)
        for field in fields.values()
    ] == [
        (int, False, False, True, False),
        (float, True, True, True, False),
        (float, False, False, True, False),
        (str, False, False, True, False),
        (list[int], False, False, False, False),
        (int, False, False, False, True),
    ]
    assert fields["rows"].default == []


def test_json_in_which_a_key_occurs_twice_is_refused() -> None:
    assert parse_json(b'{"a": {"b": 1}}') == {"a": {"b": 1}}
    for text in ('{"a": 1, "a": 1}', '[{"a": {"b": 1, "b": 2}}]'):
        with pytest.raises(ValueError, match="a key occurs twice in an object"):
            parse_json(text)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ranked(Tabular):
    rank: Any
    matrix: Any
    level: float


def test_a_table_has_its_columns_and_leaves_matrices_out() -> None:
    ranked = Ranked(np.array([2, 1]), np.zeros((2, 2)), math.inf)
    assert ranked.to_dict() == {"rank": [2, 1], "level": None}
    frame = ranked.to_frame()
    assert frame.columns.tolist() == ["rank"]
    assert frame.attrs == {"level": math.inf}
    assert as_json({1: (np.float32("nan"), [np.bool_(True)], -math.inf)}) == {
        "1": [None, [True], None]
    }


def test_times_are_in_utc() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert time_of("2026-03-01T14:00+02:00") == in_utc(datetime(2026, 3, 1, 12)) == noon
    assert in_utc(noon.astimezone(timezone(timedelta(hours=2)))).tzinfo == UTC
    with pytest.raises(UsageError) as refused:
        time_of("noon")
    assert str(refused.value) == "'noon' is not a time such as 2027-01-05T12:00Z."
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    with pytest.raises(ValueError, match=r"must be in the years 1 to 9999 \(UTC\)"):
        in_utc(early)


BRACKETED = [
    {"team": "a", "rank": 1, "win_rate": 0.5, "possible_winner": True},
    {"team": "b", "rank": 2, "win_rate": 0.3, "possible_winner": False},
    {"team": "c", "rank": 2, "win_rate": 0.2, "possible_winner": False},
    {"team": "d", "rank": None, "win_rate": None, "possible_winner": None},
]


def test_ranks_in_a_bracket_are_among_its_teams() -> None:
    assert ranks_within([5, 5, 9, 1]) == [2, 2, 4, 1]
    columns = {"late": {"c": {"tier": 1}}}
    rows = with_brackets(BRACKETED, {"late": ["b", "c", "d"], "solo": ["b"]}, columns)
    assert [row["brackets"] for row in rows] == [
        {},
        {"late": {"rank": 1}, "solo": {"rank": 1}},
        {"late": {"rank": 1, "tier": 1}},
        {"late": {"rank": None}},
    ]
    late = rows_of_bracket([*rows, {"team": "e"}], "late")
    assert [(row["team"], row["rank"], row["win_rate"]) for row in late] == [
        ("b", 1, None),
        ("c", 1, None),
        ("d", None, None),
    ]
    assert [row.get("brackets") for row in with_names_of_brackets([*rows, {"team": "e"}])] == [
        "", "late; solo", "late", "late", None
    ]  # fmt: skip
    assert first_of_bracket("x", [*BRACKETED, BRACKETED[0]]) == (
        "In the bracket x, a, a may truly be the best."
    )
    assert first_of_bracket("x", BRACKETED[1:]) == "In the bracket x, the ranks are withheld."


class Described:
    """Says two
    lines.

    Parameters
    ----------
    one : int
        The :class:`~arena.first` ``value``,
        in two lines.
    two, three
        Both.

    Examples
    --------
    None.
    """


class Undescribed:
    pass


def test_what_a_docstring_says_of_parameters_is_one_line_each() -> None:
    assert summary_of(Described()) == "Says two lines."
    assert summary_of(Undescribed()) == ""
    assert parameter_meanings(Described()) == {
        "one": "The arena.first value, in two lines.",
        "two": "Both.",
        "three": "Both.",
    }
    assert parameter_meanings(Undescribed()) == {}


def test_an_error_is_located_where_it_was_raised() -> None:
    def raise_inside() -> None:
        raise KeyError("secret")

    with pytest.raises(KeyError) as raised:
        raise_inside()
    line = raise_inside.__code__.co_firstlineno + 1
    assert located(raised.value) == (
        f"KeyError at test_texts_and_numbers.py, line {line}. The error message may contain "
        "labels; --verbose shows it."
    )
