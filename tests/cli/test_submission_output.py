"""What is printed of an answer to a submission."""

from __future__ import annotations

import pytest

from arena.cli.console import Lines
from arena.cli.submission_output import print_answer
from arena.competition.submit import Submitted
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
    for file, said in ((None, " Receipt: abc"), ("a.csv", "")):
        print_answer(answer, Lines(), BoardDisplay(2), file=file)
        named = " (a.csv)" if file else ""
        line = f"Submission 7 of ant{named}: accepted. Its public score is 0.25.{said}\n"
        assert capsys.readouterr().out == line
