"""The export of a finalized competition, with which another person can verify the private board.

::

    README.txt          what it is, and for whom
    settings.json       the settings in effect
    result.json         the private board, in the format of `arena score --json`
    private.csv         the private board for a spreadsheet
    public.csv          the public board
    submissions.csv     every submission, accepted or not
    events.jsonl        the record, one event a line, each bound to the one before by a hash
    key.txt             the key of the digests in the record
    usage.csv           which row was public, private or ignored, or of which phase; no label
    finals.json         the final submissions of each team
    finals/ID.csv       the predictions of each of them, and of teams that are not ranked

Where a competition has phases, an export has the boards and the submissions of one of them.

With the solution file another person can compute the board again and compare:
:func:`arena.competition.exports.verify.verify_bundle`.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from arena.competition.record.combined_documents import phase_files
from arena.errors import InputError
from arena.evaluation.predictions import block_size
from arena.scoring.result import unranked_rows
from arena.store import Event, Store
from arena.types import PredictionKind, Solution, Usage
from arena.utils.atomic_write import atomic_folder
from arena.utils.bracket_rows import with_names_of_brackets
from arena.utils.file_errors import reason_of
from arena.utils.questions import with_answers_as_cells
from arena.utils.tabular import csv_cells, write_csv
from arena.utils.text import csv_cell, printable

_README = """\
An export of arena, for the organiser of the competition.

Do not give it to participants, or publish it before the competition ends: it contains the private
scores, the predictions of the final submissions, and which rows are private. It contains no labels.

With the solution file another person can score the final submissions again and compare every
figure; a team's receipt shows that its submission is still in the record:

    arena verify FOLDER SOLUTION
    arena verify FOLDER SOLUTION --receipt FILE

If the metric is a file of the organiser, settings.json names it. This file is needed as well; a
relative path is resolved from the current folder.

settings.json       the settings in effect
result.json         the private board, with all digits and the names as the teams wrote them
private.csv         the private board for a spreadsheet: PRIVATE SCORES
public.csv          the public board for a spreadsheet
submissions.csv     every submission, accepted or not
events.jsonl        the record, one event a line, each bound to the one before by a hash
key.txt             the key of the digests in the record; without it they reveal nothing
usage.csv           which row was public, private or ignored, or of which phase
finals.json         the final submissions of each team
finals/ID.csv       the predictions of each of them, and of teams that are not ranked

In the tables for a spreadsheet, names that a spreadsheet would read as a formula begin with an
apostrophe, and invisible characters are written as escapes.
"""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """The content of an export."""

    settings: Mapping[str, Any]
    result: Mapping[str, Any]
    finals: Mapping[str, Sequence[int]]
    """The final submissions of each team; the best of them counts."""
    public: Sequence[Mapping[str, Any]]
    submissions: Sequence[Mapping[str, Any]]
    events: Iterable[Event]
    solution: Solution
    """The solution, whose ids, usage and classes are written, but not its labels."""


def write_bundle(folder: Path, bundle: Bundle, store: Store) -> list[Path]:
    """Write the export into a new or empty folder and return its files.

    The same competition gives the same bytes.

    Raises
    ------
    InputError
        If the folder is not empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; choose another folder for the export.")
    try:
        with atomic_folder(folder) as partial:
            _write_files(partial, bundle, store)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {reason_of(error)}.") from error
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write_files(folder: Path, bundle: Bundle, store: Store) -> None:
    (folder / "finals").mkdir()
    _write_json(folder / "settings.json", bundle.settings)
    _write_json(folder / "result.json", bundle.result)
    for name, rows in (
        ("private.csv", bundle.result["standings"]),
        ("public.csv", bundle.public),
        ("submissions.csv", bundle.submissions),
    ):
        (folder / name).write_text(table_text(rows), encoding="utf-8", newline="")
    keys = [field.name for field in dataclasses.fields(Event)]
    with (folder / "events.jsonl").open("w", encoding="utf-8", newline="") as file:
        for event in bundle.events:
            document = {key: getattr(event, key) for key in keys}
            file.write(json.dumps(document, sort_keys=True) + "\n")
    (folder / "key.txt").write_text(store.record_key().decode() + "\n", encoding="utf-8")
    # Ids are written unescaped: they must match the organiser's own file.
    names = [*(part.name.capitalize() for part in Usage), *bundle.solution.row_sets]
    usage = [names[code] for code in bundle.solution.usage]
    rows = zip(bundle.solution.ids.to_pylist(), usage, strict=True)
    _write_csv(folder / "usage.csv", [[bundle.solution.id_column, "Usage"], *rows])
    _write_json(folder / "finals.json", bundle.finals)
    (folder / "README.txt").write_text(_README, encoding="utf-8")
    finals = [number for numbers in bundle.finals.values() for number in numbers]
    written = sorted(
        {
            *finals,
            *(row["submission"] for row in unranked_rows(bundle.result)),
            *(
                number
                for file_numbers in phase_files(bundle.result).values()
                for number in file_numbers.values()
            ),
        }
    )
    solution = bundle.solution
    final = PredictionWriter.of(solution)
    size = block_size(solution.n_rows * len(solution.columns))
    row_counts = dict(zip(written, store.row_counts(written).tolist(), strict=True))
    for start, block in store.predictions(written).blocks(size):
        for submission, values in zip(written[start:], block, strict=False):
            path = folder / "finals" / f"{submission}.csv"
            final.write(path, values[: row_counts[submission]])


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(document, indent=2, allow_nan=False)  # brackets keep their order
    path.write_text(text + "\n", encoding="utf-8")


def table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV in which a spreadsheet reads no cell as a formula."""
    rows = with_answers_as_cells(with_names_of_brackets(rows))
    columns = list(rows[0]) if rows else []
    out = io.StringIO()
    header = [table_cell(column) for column in columns]
    write_csv(out, [header, *([table_cell(row.get(column)) for column in columns] for row in rows)])
    return out.getvalue()


def table_cell(value: Any) -> Any:
    """Return a value as it is written in a table."""
    return csv_cell(printable(value)) if isinstance(value, str) else value


def _write_csv(path: Path, rows: Iterable[Sequence[Any]], quote_all: bool = False) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        write_csv(file, rows, quote_all=quote_all)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PredictionWriter:
    """Writes predictions of submissions; ids and classes are made into cells only once."""

    solution: Solution
    ids: Sequence[str]
    cells: Sequence[str] | None
    """The ids as cells of CSV; None: rows are written one by one."""
    classes: Sequence[Sequence[str] | None]
    """The classes of each column as cells of CSV; None: numbers."""

    @classmethod
    def of(cls, solution: Solution) -> PredictionWriter:
        """Make ids and classes into cells."""
        ids = solution.ids.to_pylist()
        cells = None if solution.kind is PredictionKind.TEXT else csv_cells(ids)
        classes: list[Sequence[str] | None] = [None] * len(solution.columns)
        if solution.kind is PredictionKind.LABEL:
            classes = [csv_cells(target.classes or ()) for target in solution.targets]
            if None in classes:
                cells = None
        return cls(solution, ids, cells, classes)

    def write(self, path: Path, values: npt.NDArray[Any]) -> None:
        """Write predictions of the first rows of the solution, or of all of them."""
        solution, n_rows = self.solution, len(values)
        table = values.reshape(n_rows, len(solution.columns))
        head = [solution.id_column, *solution.columns]
        if self.cells is None:
            rows = zip(self.ids[:n_rows], *_columns(table, solution), strict=True)
            # A text may contain any kind of line end, and the writer quotes only its own kind.
            _write_csv(path, [head, *rows], quote_all=solution.kind is PredictionKind.TEXT)
            return
        columns = [
            list(map(repr, column)) if classes is None else [classes[code] for code in column]
            for column, classes in zip(table.T.tolist(), self.classes, strict=True)
        ]
        with path.open("w", newline="", encoding="utf-8") as file:
            write_csv(file, [head])
            cells = zip(self.cells[:n_rows], *columns, strict=True)
            file.write("\n".join(map(",".join, cells)) + "\n")


def _columns(table: npt.NDArray[Any], solution: Solution) -> list[list[str]]:
    """Return the cells of each column as text."""
    columns: list[list[str]] = []
    for position, column in enumerate(table.T.tolist()):
        if solution.kind is PredictionKind.LABEL:
            classes = solution.targets[position].classes or ()
            columns.append([classes[code] for code in column])
        elif solution.kind is PredictionKind.TEXT:
            columns.append(column)
        else:
            columns.append(list(map(repr, column)))
    return columns
