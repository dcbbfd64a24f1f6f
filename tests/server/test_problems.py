"""What each error of the records means to a browser or a program; the colours that can be read."""

from __future__ import annotations

import errno
import logging
import re
import sqlite3
from pathlib import Path

import pytest

from arena.errors import InputError, StoreError
from arena.server.failures import failures_logged
from arena.server.records.intake import RequestKeyError, TeamMergingError
from arena.server.records.layout import Layout
from arena.server.records.names import NameTakenError, RefusedError
from arena.server.records.runs import LeaseLostError, TrialLimitError
from arena.server.records.uploads import UploadTooLargeError
from arena.server.web.colours import contrast, style_sheet
from arena.server.web.problems import TITLES, Problem, problem_of, too_many_requests
from kept import check_kept

FULL_DISK = (
    507,
    "The disk of the server is full, so the file was not received and nothing was counted. Tell "
    "the organiser, and try again later.",
    {},
)
NOT_WRITTEN = (
    503,
    "The server cannot write its files. Tell the organiser: nothing was counted.",
    {"Retry-After": "60"},
)
DAMAGED = (
    503,
    "The records of the server are damaged. Tell the organiser: nothing was counted.",
    {"Retry-After": "60"},
)
inner = RefusedError("the name {name} is taken", name="Ants")
PROBLEMS: list[tuple[Exception, tuple[int, str, dict[str, str]]]] = [
    (Problem(403, "No.", {"A": "b"}), (403, "No.", {"A": "b"})),
    (
        RefusedError("Row {row}: {fault}.", row=3, fault=inner),
        (422, "Row 3: the name Ants is taken.", {}),
    ),
    (NameTakenError("Taken."), (409, "Taken.", {})),
    (TrialLimitError("Tomorrow."), (429, "Tomorrow.", {})),
    (
        RequestKeyError(),
        (
            422,
            "This idempotency key was used for another request of your team. Use a new key for "
            "each new request.",
            {},
        ),
    ),
    (
        TeamMergingError(),
        (
            409,
            "Your team is being merged with another one. Try again in a minute.",
            {"Retry-After": "10"},
        ),
    ),
    (UploadTooLargeError("Too large."), (413, "Too large.", {})),
    (LeaseLostError("Lost."), (409, "Lost.", {})),
    (OSError(errno.ENOSPC, "full"), FULL_DISK),
    (OSError(errno.EDQUOT, "quota"), FULL_DISK),
    (OSError(errno.EFBIG, "large"), FULL_DISK),
    (OSError(errno.EIO, "broken"), NOT_WRITTEN),
    (sqlite3.OperationalError("database or disk is full"), FULL_DISK),
    (
        sqlite3.OperationalError("database is locked"),
        (
            503,
            "The server is busy. Try again in a few seconds: nothing was counted.",
            {"Retry-After": "5"},
        ),
    ),
    (sqlite3.DatabaseError("malformed"), DAMAGED),
    (StoreError("damaged"), DAMAGED),
]


@pytest.mark.parametrize("error", PROBLEMS, ids=lambda case: type(case[0]).__name__)
def test_an_error_of_the_records_is_a_problem(
    error: tuple[Exception, tuple[int, str, dict[str, str]]],
) -> None:
    problem = problem_of(error[0])
    assert problem is not None
    assert (problem.status, problem.detail, problem.headers) == error[1]


def test_other_errors_are_no_problems() -> None:
    assert problem_of(sqlite3.IntegrityError("unique")) is None
    assert problem_of(ValueError("x")) is None


def test_the_titles_of_statuses_are_kept() -> None:
    lines = [f"{status} {title}" for status, title in TITLES.items()]
    check_kept("problem-titles.txt", "\n".join(lines) + "\n")
    assert Problem(409, "No.", place=3).document() == {
        "type": "about:blank",
        "title": "Not possible now",
        "status": 409,
        "detail": "No.",
        "place": 3,
    }
    assert Problem(418, "No.").document()["title"] == "Refused"
    busy = too_many_requests(7)
    assert (busy.status, busy.headers) == (429, {"Retry-After": "7"})
    assert busy.detail == "Too many requests in this minute. Try again in 7 seconds."


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (InputError("A sentence."), "A sentence.", InputError("").exit_code),
        (
            OSError("broken"),
            "The files of the server in root cannot be used: broken. Acknowledged submissions are "
            "judged later: free disk space, or restore damaged files from a backup.",
            1,
        ),
        (
            sqlite3.OperationalError("locked"),
            "The files of the server in root cannot be used: locked. Acknowledged submissions are "
            "judged later: free disk space, or restore damaged files from a backup.",
            1,
        ),
    ],
)
def test_a_process_of_the_server_ends_with_one_sentence(
    error: Exception, said: str, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("arena")
    with pytest.raises(SystemExit) as ended, failures_logged(Layout(Path("root")), logger):
        raise error
    assert (ended.value.code, [record.getMessage() for record in caplog.records]) == (code, [said])


def test_colours_have_the_contrast_of_the_standard() -> None:
    # WCAG 2.2: white on black is 21; #767676, the lightest grey that passes, is 4.54, #777 4.48.
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert (
        round(contrast("#767676", "#ffffff"), 2) == round(contrast("#ffffff", "#767676"), 2) == 4.54
    )
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48
    # 0.2126 * 20 + 1, 0.7152 * 20 + 1 and 0.0722 * 20 + 1 for the pure colours on black.
    pure = [contrast(colour, "#000000") for colour in ("#ff0000", "#00ff00", "#0000ff")]
    assert pure == pytest.approx([5.252, 15.304, 2.444])
    # Dark parts are divided by 12.92: 10 / 255 / 12.92 = 0.003035, and (0.003035 + 0.05) / 0.05.
    assert contrast("#0a0a0a", "#000000") == pytest.approx(1.0607, abs=1e-4)
    # The last part that is divided, and the first that is not: 10 and 11 of 255.
    assert contrast("#0b0b0b", "#000000") == pytest.approx(1.0669, abs=1e-4)


def test_the_colour_of_an_organiser_is_made_readable() -> None:
    sheets = [
        f"/* {colour} */\n{style_sheet(colour)}"
        for colour in ("#0a5c9c", "#ffcc00", "#000000", "#ffffff", "#777777")
    ]
    check_kept("colours.css", "\n".join(sheets))
    inks = re.findall(r"--blue: (#\w+); --on-blue: (#\w+)", "".join(sheets))
    grounds = [("#ffffff", "#eaf3fb"), ("#14171c", "#1b2836")] * 5
    for (blue, ink), pair in zip(inks, grounds, strict=True):
        assert min(contrast(blue, ground) for ground in (*pair, ink)) >= 4.5
