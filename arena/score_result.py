"""What scoring a folder comes to: the document that is printed, and the frame of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from arena.charts import BOARD_CHARTS, as_altair, standings_chart
from arena.errors import UsageError
from arena.results import as_json
from arena.types import Fault, Finding

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from arena.interfaces import Study

__all__ = ["SCHEMA", "STANDING_COLUMNS", "RejectedFile", "ScoreResult", "as_json"]

SCHEMA = "arena/score/1"

STANDING_COLUMNS = (
    "rank", "team", "submission", "file", "score", "score_low", "score_high", "rank_low",
    "rank_high", "tier", "spread_low", "spread_high", "rank_median", "share_won", "prize_share",
    "public_score", "public_rank",
)  # fmt: skip
"""The columns of every board. Those that an analysis delivers are null where it is missing."""


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A file that does not stand on the board, and why."""

    file: str
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreResult:
    """The private board of a folder of submissions, with its uncertainty.

    Everything in the metric's natural units and sign.
    """

    metric: str
    """The specification that was asked for, such as ``f1(average=macro)``."""
    greater_is_better: bool
    split: str
    n_rows: int
    """The number of rows ranked on."""
    positive: str | None
    """The label that counts as positive, where there are two."""
    resamples: int
    """The number of resamples behind every interval; those left out are not counted."""
    resamples_redrawn: int
    resamples_undefined: int
    level: float
    seed: int
    standings: tuple[Mapping[str, Any], ...]
    """Best first; the keys of :data:`STANDING_COLUMNS`, then those of other analyses."""
    best_score_corrected: Mapping[str, float | None]
    """``estimate``, ``low`` and ``high``."""
    rejected: tuple[RejectedFile, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """What was decided silently and a person should know."""
    baseline: Mapping[str, Any] | None = None
    """The organiser's baseline: ``team``, ``submission``, ``file``, ``score``, ``public_score``."""
    study: Study | None = None
    """Teams, scores and resampled scores behind the board, for reports; not in the document."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Name and sha256 of the solution and of each ranked file, for reports; not in the document."""

    def to_dict(self) -> dict[str, Any]:
        """Return the document ``arena/score/1``, all of it JSON."""
        document = {
            "schema": SCHEMA,
            "metric": self.metric,
            "greater_is_better": self.greater_is_better,
            "split": self.split,
            "n_rows": self.n_rows,
            "positive": self.positive,
            "resamples": self.resamples,
            "resamples_redrawn": self.resamples_redrawn,
            "resamples_undefined": self.resamples_undefined,
            "level": self.level,
            "seed": self.seed,
            "standings": list(self.standings),
            "best_score_corrected": self.best_score_corrected,
            "rejected": [rejected_document(file) for file in self.rejected],
            "findings": [
                {"analysis": one.analysis, "verdict": one.verdict, "document": one.document}
                for one in self.findings
            ],
            "baseline": self.baseline,
            "notes": list(self.notes),
        }
        cleaned: dict[str, Any] = as_json(document)
        return cleaned

    def to_frame(self) -> pd.DataFrame:
        """Return the standings as a frame, best first."""
        import pandas as pd

        columns = list(self.standings[0]) if self.standings else list(STANDING_COLUMNS)
        return pd.DataFrame(list(self.standings), columns=columns)

    def chart(self, name: str = "rank-intervals") -> alt.LayerChart:
        """Return a picture of the board, the same as in its report.

        Parameters
        ----------
        name
            One of :data:`arena.charts.BOARD_CHARTS`: ``rank-intervals``, ``wins``,
            ``score-intervals``, ``best-score`` or ``shake-up``.

        Raises
        ------
        UsageError
            If there is no such picture, or the board lacks what it would show.
        """
        if name not in BOARD_CHARTS:
            raise UsageError(f"There is no chart {name!r}; there are {', '.join(BOARD_CHARTS)}.")
        chart = standings_chart(name, self.standings, self.best_score_corrected)
        if chart is None:
            raise UsageError(f"This board lacks what the chart {name!r} would show.")
        return as_altair(chart)


def rejected_document(rejected: RejectedFile) -> dict[str, Any]:
    """Return a rejected file as JSON."""
    return {"file": rejected.file, "faults": [asdict(fault) for fault in rejected.faults]}
