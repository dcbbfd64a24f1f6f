"""Files that are hostile until checked: the organiser's solution, the participants' submissions."""

from __future__ import annotations

from arena.intake.content import MAX_BYTES
from arena.intake.faults import FAULTS_OF_A_KIND, describe, first_of_each_kind
from arena.intake.folder import SubmissionFile, find_submissions, named_file
from arena.intake.solution import read_solution
from arena.intake.submission import SUM_TOLERANCE, ReadSubmission, check_table, read_submission

__all__ = [
    "FAULTS_OF_A_KIND",
    "MAX_BYTES",
    "SUM_TOLERANCE",
    "ReadSubmission",
    "SubmissionFile",
    "check_table",
    "describe",
    "find_submissions",
    "first_of_each_kind",
    "named_file",
    "read_solution",
    "read_submission",
]
