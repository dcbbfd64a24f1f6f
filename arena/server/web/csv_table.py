"""Rows as CSV that a spreadsheet opens without running a cell as a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from arena.utils.bracket_rows import with_names_of_brackets
from arena.utils.questions import with_answers_as_cells
from arena.utils.text import csv_cell


def table_csv(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """Return rows as CSV that a spreadsheet opens without running a cell as a formula."""
    rows = with_answers_as_cells(with_names_of_brackets(rows))
    names = list(columns) or list(dict.fromkeys(key for row in rows for key in row))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return file.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return csv_cell(value)
    return csv_cell(json.dumps(value)) if isinstance(value, dict | list | tuple) else value


def csv_response(text: str, name: str) -> Response:
    """Return CSV as a file to download."""
    return Response(
        text,
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
