"""``evalai:FILE.py``: EvalAI's ``evaluate(annotation_file, submission_file, phase_codename)``.

The contract is that of Cloud-CV/EvalAI-Starters: ``evaluate`` reads two files and returns
``{"result": [{split: {name: value}}, …]}``. Both files hold the rows of one split of the
competition, with the ids in the first column, as CSV, TSV or a JSON list of objects; or, with
``format=raw``, they are the files of the organiser and of the participant as they are. For remote
evaluation ``evaluate(user_submission_file, phase_codename, test_annotation_file)`` has another
order of the parameters, which is recognised by their names.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from arena.types import RowContext
from arena_metrics.foreign.failures import failed
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import WHOLE_FILES, Call, Kind, Request
from arena_metrics.foreign.lines import Lines
from arena_metrics.foreign.scratch import (
    scratch_folder,
    select_value,
    write_json,
    written_whole,
)

_FILES = ("annotations", "submission")


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluate:
    request: Request
    lines: Lines | None
    files: tuple[str, ...]
    """The cells of the two files, if they are passed as they are."""
    folder: Path

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        options, name = self.request.options, self.request.name
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as folder:
            truth, sent = self._write(Path(folder), weight)
            result = function(
                *_ordered(function, truth, sent, options["phase"]),
                **_metadata(function),
                **self.request.parameters,
            )
        listed = result.get("result") if isinstance(result, Mapping) else result
        if isinstance(listed, Mapping):
            listed = [listed]  # some scripts return the splits as one dict
        if not isinstance(listed, list) or not all(
            isinstance(scores_of_split, Mapping) for scores_of_split in listed
        ):
            raise failed(f"{name} must return a dict with a list of splits under 'result'.")
        splits = {
            split: values for scores_of_split in listed for split, values in scores_of_split.items()
        }
        values = select_value(name, "split", splits, options["split"])
        return select_value(name, "value", values, options["value"])

    def _write(self, folder: Path, weight: npt.NDArray[Any]) -> list[str]:
        if self.lines is None:
            return written_whole(folder, dict(zip(_FILES, self.files, strict=True)))
        form = self.request.options["format"]
        paths = [folder / f"{part}.{form}" for part in _FILES]
        if form == "json":
            for frame, path in zip(self.lines.frames.draw(weight), paths, strict=True):
                write_json(frame, path)
        else:
            self.lines.write(weight, paths)
        return [str(path) for path in paths]


def _ordered(function: Callable[..., Any], truth: str, sent: str, phase: str) -> tuple[str, ...]:
    """Return the arguments in the order of the parameters."""
    try:
        first = next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):
        first = ""
    return (sent, phase, truth) if first.startswith("user") else (truth, sent, phase)


def _metadata(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the keyword argument of newer scripts; older ones take three arguments only."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    name = "submission_metadata"
    is_taken = any(
        parameter.name == name or parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters
    )
    return {name: {}} if is_taken else {}


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    folder = scratch_folder()
    if request.options["format"] == WHOLE_FILES:
        return _Evaluate(request, None, (str(truth.item()), str(prediction.item())), folder)
    frames = Frames.of(context, truth, prediction, request.options["rows"])
    separator = "\t" if request.options["format"] == "tsv" else ","
    return _Evaluate(request, Lines(frames, separator), (), folder)


EVALAI = Kind(
    prefix="evalai",
    form="evalai:FILE.py",
    description="a file with EvalAI's evaluate(…); select with phase=, split=, value= and format=",
    function="evaluate",
    n_given=3,
    prepare=_prepare,
    row_sets=True,
    options={"phase": "test", "split": "", "value": "", "format": "csv"},
    formats=("csv", "tsv", "json", WHOLE_FILES),
)
