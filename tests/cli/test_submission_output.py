"""What is printed of an answer to a submission."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arena.cli.commands.submit import print_state
from arena.cli.console import Lines
from arena.cli.submission_output import count_answers, print_answer, print_trial, trial_document
from arena.competition.submit import Submitted
from arena.interfaces import End, Outcome
from arena.types import Fault
from arena.utils.formatting import BoardDisplay

FAULTS = tuple(Fault(f"kind {number}", f"Mend {number}.") for number in range(4))


@pytest.mark.parametrize(
    ("most", "lines", "hidden"), [(None, 4, None), (5, 4, None), (4, 4, None), (3, 3, 1), (1, 1, 3)]
)
def test_only_the_first_faults_are_printed_and_the_others_counted(
    capsys: pytest.CaptureFixture[str], most: int | None, lines: int, hidden: int | None
) -> None:
    answer = Submitted(7, "ant", "rejected", None, FAULTS)
    print_answer(answer, Lines(), BoardDisplay(), most=most)
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "Submission 7 of ant: rejected."
    assert [line.strip() for line in rest[:lines]] == [f"Mend {number}." for number in range(lines)]
    counted = [] if hidden is None else [f"  … and {hidden} more: --json prints every one."]
    assert rest[lines:] == counted


def test_the_score_the_receipt_and_the_file_stand_in_the_first_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Submitted(7, "ant", "accepted", 0.25, (), receipt="abc")
    for file, receipt in ((None, " Receipt: abc"), ("a.csv", "")):
        print_answer(answer, Lines(), BoardDisplay(2), file=file)
        named = " (a.csv)" if file else ""
        line = f"Submission 7 of ant{named}: accepted. Its public score is 0.25.{receipt}\n"
        assert capsys.readouterr().out == line


def test_the_phase_and_the_closed_rounds_of_a_file_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Submitted(7, "a\tnt", "refused", None, (), phase="two", closed_rounds=("one", "three"))
    print_answer(answer, Lines(), BoardDisplay(), file="b\tc.csv")
    assert capsys.readouterr().out == (
        "Submission 7 of a\\tnt (b\\tc.csv) in two: refused.\n"
        "  Its rows of rounds that are not open do not count: one, three.\n"
    )
    print_answer(replace(answer, closed_rounds=()), Lines(), BoardDisplay())
    assert capsys.readouterr().out == "Submission 7 of a\\tnt in two: refused.\n"


TRIAL = Outcome(
    end=End.OK, seconds=1.26, cpu_seconds=2.5, peak_mb=1_234.4, log=b"one\n\xfftwo\n", output=None
)


def test_the_end_of_a_trial_is_said_and_the_log_of_one_that_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_trial(TRIAL, Lines())
    assert capsys.readouterr().out == (
        "The trial on the sample inputs ended well: 1.3 s, 1,234 MB.\n"
    )
    failed = replace(TRIAL, end=End.TIME)
    print_trial(failed, Lines())
    assert capsys.readouterr().out == (
        f"The trial on the sample inputs failed ({End.TIME}), and nothing was counted: 1.3 s, "
        "1,234 MB.\n  one\n  \ufffdtwo\n"
    )
    print_trial(FAULTS[:1], Lines())
    assert capsys.readouterr().out == (
        "The program cannot be unpacked, and nothing was counted.\n  Mend 0.\n"
    )
    assert trial_document(failed) == {
        "schema": "arena/trial/1", "end": str(End.TIME), "seconds": 1.26, "cpu_seconds": 2.5,
        "peak_mb": 1_234.4, "log": "one\n\ufffdtwo\n",
    }  # fmt: skip
    document = trial_document(FAULTS[:1])
    assert (document["end"], document["faults"][0]["message"]) == ("not unpacked", "Mend 0.")


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((0, 0, 0, 0), ""),
        ((1, 0, 0, 0), "1 accepted"),
        ((0, 1, 0, 0), "1 was there already"),
        ((0, 2, 1, 0), "2 were there already, 1 rejected"),
        ((2, 1, 0, 3), "2 accepted, 1 was there already, 3 refused"),
        ((1_200, 0, 0, 0), "1,200 accepted"),
    ],
)
def test_answers_are_counted_by_status(counts: tuple[int, int, int, int], said: str) -> None:
    answer = Submitted(1, "ant", "accepted", None, ())
    kinds = (
        answer,
        replace(answer, known=True),
        replace(answer, status="rejected", known=True),
        replace(answer, status="refused"),
    )
    answers = [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]
    assert count_answers(answers) == said


STATE: dict[str, Any] = {
    "status": "accepted", "submission": 7, "score": None, "receipt": None, "place": None,
    "faults": [], "message": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, ["Submission 7: accepted."]),
        (
            {"score": 0.25, "receipt": "abc", "phase": "two"},
            ["Submission 7 in two: accepted. Its public score is 0.25. Receipt: abc"],
        ),
        ({"submission": None, "status": "set_aside"}, ["The file: set aside."]),
        (
            {"status": "waiting", "submission": None},
            ["Received and stored. Repeat the command later for the score: the file is counted "
             "once."],
        ),
        (
            {"status": "waiting", "submission": None, "place": 3, "receipt": "abc"},
            ["Received and stored; place 3 in the queue. Repeat the command later for the score: "
             "the file is counted once. Receipt: abc"],
        ),
        (
            {
                "status": "rejected", "message": "Look.", "closed_rounds": ["one"],
                "faults": [{"message": "Empty.", "row": 3, "id": "a", "column": "y"}, {}],
            },
            ["Submission 7: rejected.",
             "  Its rows of rounds that are not open do not count: one.",
             "  Look.", "  row 3, id 'a', column 'y': Empty."],
        ),
        (
            {"status": "trial_failed", "submission": None, "trial": {"log": "one\ntwo"}},
            ["The file: trial failed.", "  one", "  two"],
        ),
        ({"trial": {"log": "one\ntwo"}}, ["Submission 7: accepted."]),
    ],
)  # fmt: skip
def test_a_server_is_quoted_on_what_became_of_a_file(
    changes: dict[str, Any], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_state({**STATE, **changes})  # type: ignore[typeddict-item]
    assert capsys.readouterr().out.splitlines() == lines
