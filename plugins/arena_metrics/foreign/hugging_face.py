"""``hf:FILE.py``: the ``compute(params)`` of a competition on Hugging Face.

The contract is that of huggingface/competitions: ``compute`` fetches ``solution.csv``, which has a
column ``split``, and ``submissions/TEAM-SUBMISSION.csv`` with ``hf_hub_download``, and returns
``{"public_score": {name: value}, "private_score": {name: value}}``. Here both files are local and
no network is used, whether or not ``huggingface_hub`` is installed: the metric always gets a
stand-in for it. One split is scored at a time: each row is written twice, as public and, under
another id, as private, so that neither split is empty.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import RowContext
from arena_metrics.foreign.failures import failed
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.hugging_face_evaluate import variant_of
from arena_metrics.foreign.kinds import Call, Kind, Request
from arena_metrics.foreign.lines import Lines
from arena_metrics.foreign.scratch import scratch_folder, select_value

_TEAM, _SUBMISSION = "team", "submission"
_NAME = "huggingface_hub"


class _Part(ModuleType):
    """A module of the stand-in: what it lacks are exception classes and functions that refuse."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        stand_in: Any
        if name.endswith(("Error", "Exception", "Warning")):
            stand_in = type(name, (Exception,), {"__module__": self.__name__})
        elif name[:1].isupper():
            stand_in = type(name, (_Client,), {"__module__": self.__name__})
        else:
            stand_in = partial(_refuse, f"{self.__name__}.{name}")
        setattr(self, name, stand_in)
        return stand_in


def _refuse(name: str, *_: Any, **__: Any) -> Any:
    if name.rpartition(".")[2].startswith(("disable_", "enable_", "login", "set_")):
        return None
    raise OSError(f"{name} needs the network, and a metric runs without it")


class _Hub(_Part):
    """Replacement for the package of this name: every repository is one local folder."""

    def __init__(self) -> None:
        super().__init__(_NAME)
        self.__path__: list[str] = []
        self.__version__ = "0"
        self.folder = self.beside = Path()

    def hf_hub_download(
        self,
        repo_id: str = "",  # noqa: ARG002 - the signature of the package
        filename: str = "",
        **_: Any,
    ) -> str:
        """Return the path of a file of the current call, or of one next to the metric."""
        places = [self.folder / filename, self.beside / filename]
        path = next((place for place in places if place.exists()), None)
        if path is None:
            raise FileNotFoundError(
                f"{filename} is neither in the competition nor next to its metric"
            )
        return str(path)

    def snapshot_download(self, repo_id: str = "", **_: Any) -> str:  # noqa: ARG002 - same
        """Return the folder of the current call."""
        return str(self.folder)


class _Client:
    """A class of the package, such as ``HfApi``: it downloads as the module does."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[_NAME], name)


_PARTS = ("utils", "errors", "file_download", "hf_api", "constants", "_snapshot_download")
"""Submodules from which metrics import."""


def _part(name: str) -> ModuleType:
    made, hub = _Part(f"{_NAME}.{name}"), sys.modules[_NAME]
    for function_name in ("hf_hub_download", "snapshot_download"):
        setattr(made, function_name, getattr(hub, function_name))
    return made


@dataclass(frozen=True, slots=True, eq=False)
class _Compute:
    request: Request
    lines: Lines
    folder: Path

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        frames = self.lines.frames
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as folder:
            place = Path(folder)
            (place / "submissions").mkdir()
            paths = place / "solution.csv", place / "submissions" / f"{_TEAM}-{_SUBMISSION}.csv"
            # The copies of a row are adjacent and even in number, so both parts have the same rows.
            self.lines.write(2 * weight.astype(np.intp), paths)
            hub = sys.modules[_NAME]
            if isinstance(hub, _Hub):
                hub.folder, hub.beside = place, self.request.source.folder
            params = SimpleNamespace(
                competition_id="competition",
                competition_type="generic",
                metric="custom",
                token="",
                team_id=_TEAM,
                submission_id=_SUBMISSION,
                submission_id_col=frames.id_column,
                submission_cols=list(frames.submission.columns),
                submission_rows=2 * int(weight.sum()),
                output_path=str(place),
                submission_repo="",
                time_limit=int(self.request.time_limit),
                dataset="",
                submission_filenames=[],
            )
            result = function(params)
        name = self.request.name
        if not isinstance(result, dict) or "public_score" not in result:
            raise failed(f"{name} must return a dict with a public_score.")
        return select_value(name, "value", result["public_score"], self.request.options["value"])


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    lines = Lines(Frames.of(context, truth, prediction), parts=("public", "private"))
    return _Compute(request, lines, scratch_folder())


HUGGING_FACE = Kind(
    prefix="hf",
    form="hf:FILE.py",
    description="Hugging Face's compute(params), or a metric of evaluate; select with value=",
    function="compute",
    n_given=1,
    prepare=_prepare,
    options={"value": "", "config": ""},
    variant=variant_of,
    stand_ins={_NAME: _Hub, **{f"{_NAME}.{part}": partial(_part, part) for part in _PARTS}},
    replaces=True,
)
