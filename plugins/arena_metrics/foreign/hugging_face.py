"""``hf:FILE.py``: the ``compute(params)`` of a competition on Hugging Face.

The contract is that of huggingface/competitions: ``compute`` fetches ``solution.csv``, which has a
column ``split``, and ``submissions/TEAM-SUBMISSION.csv`` by ``hf_hub_download``, and returns
``{"public_score": {name: value}, "private_score": {name: value}}``. Here it fetches both from a
folder of this machine, and no network is used. It is asked for one split at a time: the rows stand
in the files twice, as public and, with other ids, as private, so that neither is empty.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import RowContext
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import Asked, Call, Kind
from arena_metrics.foreign.scratch import chosen, scratch_folder

__all__ = ["HUGGING_FACE"]

_TEAM, _SUBMISSION = "team", "submission"
_NAME = "huggingface_hub"


class _Hub(ModuleType):
    """Stands in for the package of this name: every repository is one folder."""

    def __init__(self) -> None:
        super().__init__(_NAME)
        self.folder = self.beside = Path()

    def hf_hub_download(
        self,
        repo_id: str = "",  # noqa: ARG002 - as the package has it
        filename: str = "",
        **_: Any,
    ) -> str:
        """Return the path of a file of the call, or of one beside the metric."""
        places = [self.folder / filename, self.beside / filename]
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise FileNotFoundError(
                f"{filename} is neither in the competition nor beside its metric"
            )
        return str(found)

    def snapshot_download(self, repo_id: str = "", **_: Any) -> str:  # noqa: ARG002 - same
        """Return the folder of the call."""
        return str(self.folder)


@dataclass(frozen=True, slots=True, eq=False)
class _Compute:
    asked: Asked
    frames: Frames
    folder: Path

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        solution, submission = self.frames.draw(2 * weight.astype(np.intp))
        # The copies of a row stand together, an even number of them.
        solution["split"] = np.where(np.arange(len(solution)) % 2, "private", "public")
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as folder:
            place = Path(folder)
            (place / "submissions").mkdir()
            solution.to_csv(place / "solution.csv", index=False)
            submission.to_csv(place / "submissions" / f"{_TEAM}-{_SUBMISSION}.csv", index=False)
            hub = sys.modules[_NAME]
            if isinstance(hub, _Hub):
                hub.folder, hub.beside = place, self.asked.source.folder
            result = function(self._params(place, submission))
        name = self.asked.name
        if not isinstance(result, dict) or "public_score" not in result:
            raise MetricError(f"{name} returned no dict with a public_score.")
        return chosen(name, "value", result["public_score"], self.asked.own["value"])

    def _params(self, place: Path, submission: Any) -> SimpleNamespace:
        return SimpleNamespace(
            competition_id="competition",
            competition_type="generic",
            metric="custom",
            token="",
            team_id=_TEAM,
            submission_id=_SUBMISSION,
            submission_id_col=self.frames.id_column,
            submission_cols=list(submission.columns),
            submission_rows=len(submission),
            output_path=str(place),
            submission_repo="",
            time_limit=int(self.asked.time_limit),
            dataset="",
            submission_filenames=[],
        )


def _prepare(
    asked: Asked, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    return _Compute(asked, Frames.of(context, truth, prediction), scratch_folder())


HUGGING_FACE = Kind(
    prefix="hf",
    form="hf:FILE.py",
    description="a file with compute(params), as Hugging Face has it; value= chooses",
    function="compute",
    given=1,
    prepare=_prepare,
    own={"value": ""},
    stand_ins={_NAME: _Hub},
)
