"""Reads and checks untrusted files: the organiser's solution and the participants' submissions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from arena.intake.case_table import CaseColumns, case_scores_of, read_case_table
    from arena.intake.columns import SubmissionForm
    from arena.intake.content import MAX_BYTES
    from arena.intake.folder import SubmissionFile, find_submissions, named_file
    from arena.intake.manifest import ordered_by_manifest
    from arena.intake.mask_files import SHAPE_COLUMNS, SPACING_COLUMNS
    from arena.intake.memory import (
        SolutionSource,
        solution_source,
        submission_file,
        submission_files,
    )
    from arena.intake.reader import check_table, prepare_reader, read_submission
    from arena.intake.row_sets import rows_of_cells
    from arena.intake.solution import column_names, read_solution, unique_cells
    from arena.intake.submission import ReadSubmission, parse_submission
    from arena.intake.whole_file import file_of_cell, read_whole_solution, read_whole_submission

__all__ = [
    "MAX_BYTES",
    "SHAPE_COLUMNS",
    "SPACING_COLUMNS",
    "CaseColumns",
    "ReadSubmission",
    "SolutionSource",
    "SubmissionFile",
    "SubmissionForm",
    "case_scores_of",
    "check_table",
    "column_names",
    "file_of_cell",
    "find_submissions",
    "named_file",
    "ordered_by_manifest",
    "parse_submission",
    "prepare_reader",
    "read_case_table",
    "read_solution",
    "read_submission",
    "read_whole_solution",
    "read_whole_submission",
    "rows_of_cells",
    "solution_source",
    "submission_file",
    "submission_files",
    "unique_cells",
]

__getattr__, __dir__ = lazy_exports(__name__, __file__)
