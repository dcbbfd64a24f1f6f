"""Turn mask files into a table of run-length encodings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import say_note
from arena.errors import InputError, UsageError
from arena.utils.file_errors import unreadable
from arena.utils.text import plural

app = typer.Typer(add_completion=False)


@app.command()
def masks(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A folder or ZIP with one PNG, NIfTI or .npy file per case."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The CSV file to write; it must not exist.")
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", help="Values that form one mask each, such as 1,2,3: ids become case:value."
        ),
    ] = None,
    column: Annotated[str, typer.Option(help="The name of the column of masks.")] = "mask",
    sizes: Annotated[
        bool, typer.Option(help="Write height and width; a submission does not have them.")
    ] = True,
) -> None:
    """Write the masks of a folder or ZIP as a solution or submission for dice and iou.

    The columns are id (the file's name without its ending), the run-length encoding, and the sizes
    of the first axes: height, width and, for volumes, depth; NIfTI adds spacing_height, ….
    Add a column Usage with Public and Private to make it a solution with a public board. PNG and
    NIfTI need: the extra segmentation.
    """
    import csv
    import io

    from arena.intake.mask_files import (
        SHAPE_COLUMNS,
        SPACING_COLUMNS,
        holds_masks,
        mask_columns,
        read_masks,
    )
    from arena.intake.table import MAX_SOLUTION_BYTES
    from arena.interfaces.faults import FaultList, Refused, fault_lines
    from arena.utils.atomic_write import atomic_write

    try:
        values = sorted({int(label) for label in labels.split(",")}) if labels else []
    except ValueError:
        values = [0]
    if values and values[0] < 1:
        raise UsageError("--labels are whole numbers from 1, such as 1,2,3; 0 is the background.")
    if column in ("id", *SHAPE_COLUMNS, *SPACING_COLUMNS):
        raise UsageError(f"--column cannot be {column}: another column has this name.")
    if output.exists():
        raise UsageError(f"{output} exists: choose another name or delete it.")
    if not source.exists():
        raise InputError(f"There is no file or folder {source}: check the path.")
    if not holds_masks(source):
        raise InputError(f"{source} is neither a folder nor a ZIP with mask files.")
    faults = FaultList()
    masks_read = None
    try:
        masks_read = read_masks(
            source, ("id", column), faults, max_bytes=MAX_SOLUTION_BYTES, labels=values
        )
    except Refused:
        pass  # the fault has been added
    except OSError as error:
        raise unreadable(source, error) from error
    if faults or masks_read is None:
        lines = fault_lines(faults.to_tuple())
        raise InputError("\n".join([f"The masks of {source} cannot be used:", *lines]))
    measured = mask_columns(masks_read) if sizes else {}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", column, *measured])
    ids, encodings = (column.to_pylist() for column in masks_read.table.columns)
    writer.writerows(zip(ids, encodings, *measured.values(), strict=True))
    atomic_write(output, text.getvalue().encode())
    say_note(f"Wrote {plural(len(ids), 'mask')} to {output}.")
