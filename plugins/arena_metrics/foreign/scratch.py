"""Support for metrics that read files and return several values by name."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.plugin.specification import Specification
from arena_metrics.foreign.failures import failed

if TYPE_CHECKING:
    import pandas as pd


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="arena-metric-", ignore_cleanup_errors=True)


def scratch_folder() -> Path:
    """Return a folder that only this user can read and that is removed when this process ends.

    Call it in the parent process: a worker may be killed in the middle of a call, and the files
    that it wrote contain labels.
    """
    return Path(_kept().name)


def written_whole(folder: Path, cells: Mapping[str, str]) -> list[str]:
    """Write files that are passed as they are, each into a folder of its own; return their paths.

    ``cells`` are those of :func:`arena.intake.file_of_cell`, by the name of the folder.
    """
    from arena.intake import file_of_cell

    paths = []
    for part, cell in cells.items():
        name, data = file_of_cell(cell)
        path = folder / part / name
        path.parent.mkdir()
        path.write_bytes(data)
        paths.append(str(path))
    return paths


def select_value(metric: str, what: str, values: Any, name: str) -> Any:
    """Return the value with this name, or the only value if no name is given.

    Raises
    ------
    ScoringError
        If there is no such name, or there are several values and no name is given.

    Examples
    --------
    >>> select_value("hf:metric.py", "value", {"f1": 0.5}, "")
    0.5
    >>> select_value("hf:metric.py", "value", {"f1": 0.5, "auc": 0.7}, "")
    Traceback (most recent call last):
    arena.errors.ScoringError: hf:metric.py returns several values: f1, auc. Choose one: \
hf:metric.py(value=f1).
    >>> select_value("hf:metric.py", "value", {"F1 (%)": 50, "auc": 0.7}, "F1")
    Traceback (most recent call last):
    arena.errors.ScoringError: hf:metric.py returns no value 'F1'; it returns: F1 (%), auc. Choose \
one: hf:metric.py(value='F1 (%)').
    """
    if not isinstance(values, Mapping):
        return values
    if name in values:
        return values[name]
    if len(values) == 1 and not name:
        return next(iter(values.values()))
    names = ", ".join(map(str, values)) or "nothing"
    first = Specification(metric, {what: str(next(iter(values)))}) if values else None
    example = f" Choose one: {first}." if first else ""
    if name:
        raise failed(f"{metric} returns no {what} {name!r}; it returns: {names}.{example}")
    raise failed(f"{metric} returns several {what}s: {names}.{example}")


def write_json(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as a list with an object for each row."""
    path.write_text(frame.to_json(orient="records", force_ascii=False))
