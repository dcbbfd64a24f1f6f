"""The result of scoring a folder, as a JSON document, a data frame and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.charts import BOARD_CHARTS, as_altair, standings_chart, titled
from arena.errors import UsageError
from arena.evaluation.similar import SimilarSubmissions
from arena.scoring.rejected_file import RejectedFile, rejected_document
from arena.types import TEAMS, Finding, Section, Vocabulary
from arena.utils.formatting import BoardDisplay
from arena.utils.tabular import as_json
from arena.utils.text import plural, shorten

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from arena.interfaces import Study
    from arena.plugin.manager import PluginManager

SCHEMA, RANK_SCHEMA = "arena/score/2", "arena/rank/1"

STANDING_COLUMNS = (
    "rank", "team", "submission", "file", "score", "score_low", "score_high", "rank_low",
    "rank_high", "tier", "possible_winner", "bootstrap_rank_low", "bootstrap_rank_high",
    "rank_median", "win_rate", "prize_share", "public_score", "public_rank",
)  # fmt: skip
"""The columns of every board; those of an analysis that did not run are null."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreResult:
    """The private board of a folder of submissions, with its uncertainty.

    All scores are in the metric's natural units and sign.
    """

    metric: str
    """The specification of the metric, such as ``f1(average=macro)``."""
    greater_is_better: bool
    """Whether a larger score is better."""
    split: str
    """``private``, ``public``, ``all``, or ``cases`` for a table with a value per case."""
    n_rows: int
    """The number of ranked rows."""
    positive: str | None
    """The positive label, if there are two."""
    resamples: int
    """The number of resamples used, without the discarded ones."""
    resamples_redrawn: int
    """How many resamples were drawn again because a class was missing."""
    resamples_undefined: int
    """How many resamples were left out because the metric is undefined on them."""
    level: float
    """Confidence level of all intervals, in (0, 1)."""
    seed: int
    """The seed of the resamples."""
    standings: tuple[Mapping[str, Any], ...]
    """Best first; the keys are :data:`STANDING_COLUMNS`, then those of other analyses."""
    best_score_corrected: Mapping[str, Any]
    """``estimate``, ``low`` and ``high``; ``reason``, why there is no interval;
    ``effective_units``; and ``winners``, the first places with intervals of their true scores."""
    rejected: tuple[RejectedFile, ...]
    """The files that were rejected, with their faults."""
    findings: tuple[Finding, ...]
    """The findings of the analyses, in the order in which they ran."""
    notes: tuple[str, ...]
    """Automatic decisions and warnings, in sentences."""
    baseline: Mapping[str, Any] | None = None
    """The organiser's baseline: ``team``, ``submission``, ``file``, ``score``, ``public_score``."""
    unranked: tuple[Mapping[str, Any], ...] = ()
    """Further teams that are not ranked: the same, and ``baseline``, whether each is one."""
    brackets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The brackets of a competition -> their teams."""
    n_pending: int = 0
    """The number of further rows of the split whose labels are to arrive."""
    study: Study | None = None
    """Teams, scores and resampled scores of the board, for reports; not in the document."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Name and sha256 of the solution and of each ranked file, for reports; not in the document."""
    similar: tuple[SimilarSubmissions, ...] = ()
    """Similar submissions of different teams, for reports; in the document they are notes."""
    sections: tuple[Section, ...] | None = None
    """The sections of the plugins for its report, once they were made; not in the document."""
    plugins: PluginManager | None = None
    """The plugins of the run, for reports; not in the document."""
    display: BoardDisplay = field(default_factory=BoardDisplay)
    """Digits and unit of scores on boards and in reports; not in the document."""
    words: Vocabulary = TEAMS
    """The nouns for teams and rows; not in the document."""

    def __repr__(self) -> str:
        """Return the metric, the number of teams and the first team, on one line."""
        text, words = f"{self.metric} on {self.ranked_on}", self.words
        if not self.standings:
            rejected = f"{len(self.rejected):,} rejected"
            return f"<ScoreResult: {text}, no {words.team} ranked, {rejected}>"
        first = self.standings[0]
        ranks = ""
        if first.get("rank_low") is not None:
            low, high = first["rank_low"], first["rank_high"]
            ranks = f" (rank {low})" if low == high else f" (ranks {low} to {high})"
        return (
            f"<ScoreResult: {text}, {plural(len(self.standings), words.team)}, first "
            f"{shorten(first['team'])} with {first['score']:.6g}{ranks}>"
        )

    @property
    def ranked_on(self) -> str:
        """The rows of the ranking, such as ``2,000 private rows`` or ``300 questions``."""
        return ranked_on(self.n_rows, self.split, self.words, n_pending=self.n_pending)

    def _repr_html_(self) -> str:
        """Return the board with rank bars, for notebooks."""
        from arena.report.views import as_html  # the report lies above the result

        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document: ``arena/score/2``, or of cases ``arena/rank/1``."""
        document = self.board_document()
        return _of_algorithms(document) if self.split == "cases" else document

    def board_document(self) -> dict[str, Any]:
        """Return the board as ``arena/score/2``, also if algorithms are ranked on cases."""
        document = {
            "schema": SCHEMA,
            "metric": self.metric,
            "greater_is_better": self.greater_is_better,
            "split": self.split,
            "n_rows": self.n_rows,
            **({"n_pending": self.n_pending} if self.n_pending else {}),
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
                {
                    "analysis": finding.analysis,
                    "verdict": finding.verdict,
                    "document": finding.document,
                }
                for finding in self.findings
            ],
            "baseline": self.baseline,
            **({"unranked": list(self.unranked)} if self.unranked else {}),
            **({"brackets": dict(self.brackets)} if self.brackets else {}),
            "notes": list(self.notes),
        }
        cleaned: dict[str, Any] = as_json(document)
        return cleaned

    def to_frame(self) -> pd.DataFrame:
        """Return the standings as a frame, best first."""
        import pandas as pd

        columns = list(self.standings[0]) if self.standings else list(STANDING_COLUMNS)
        return pd.DataFrame(list(self.standings), columns=columns)

    def to_markdown(self) -> str:
        """Return the board as a Markdown table."""
        from arena.report.views import as_markdown

        return as_markdown(self)

    def to_latex(self) -> str:
        """Return the board as a LaTeX ``tabular`` with the rules of the package booktabs."""
        from arena.report.views import as_latex

        return as_latex(self)

    @property
    def charts(self) -> Mapping[str, alt.TopLevelMixin]:
        """Every chart that ``--charts`` writes, by name; they are drawn at each access."""
        from arena.report.views import charts

        return charts(self)

    def report(self, path: str | Path, *, title: str = "") -> None:
        """Write the report, one HTML file that needs no network.

        Raises
        ------
        UsageError
            If the path is a folder, or its folder does not exist.
        InputError
            If the file cannot be written.
        """
        from arena.report.views import write_report

        write_report(self, Path(path), title)

    def chart(self, name: str = "rank-intervals") -> alt.LayerChart:
        """Return a chart of the board, as in the report.

        Parameters
        ----------
        name
            One of :data:`arena.charts.BOARD_CHARTS`: ``rank-intervals``, ``wins``,
            ``score-intervals``, ``best-score`` or ``shake-up``.

        Raises
        ------
        UsageError
            If the chart is unknown, or the board lacks the data for it.
        """
        if name not in BOARD_CHARTS:
            raise UsageError(f"There is no chart {name!r}. There are: {', '.join(BOARD_CHARTS)}.")
        chart = standings_chart(name, self.standings, self.best_score_corrected, self.display)
        if chart is None:
            raise UsageError(f"This board lacks the data for the chart {name!r}.")
        return as_altair(titled(chart, self.words))


def unranked_rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the teams that are not ranked, from the document ``arena/score/2``.

    That of the organiser's reference baseline comes first.
    """
    reference = document.get("baseline")
    others = document.get("unranked", ())
    return [*([] if reference is None else [{**reference, "baseline": True}]), *others]


def ranked_on(n_rows: int, split: str, words: Vocabulary = TEAMS, *, n_pending: int = 0) -> str:
    """Return what a board is ranked on; ``n_pending`` further rows have no label yet.

    >>> models = Vocabulary("model", "model", "question")
    >>> ranked_on(2000, "private"), ranked_on(300, "cases", models)
    ('2,000 private rows', '300 questions')
    >>> ranked_on(40, "private", n_pending=60)
    '40 of 100 private rows (labels of the others are to arrive)'

    A metric that reads whole files has a solution of one row:

    >>> ranked_on(1, "private"), ranked_on(1, "cases", models)
    ('the private data', '1 question')
    """
    if split == "cases":
        return plural(n_rows, words.row)
    if n_pending:
        return (
            f"{n_rows:,} of {n_rows + n_pending:,} {split} rows (labels of the others are to "
            f"arrive)"
        )
    return f"the {split} data" if n_rows == 1 else f"{n_rows:,} {split} rows"


def _of_algorithms(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a board of algorithms, ``arena/rank/1``."""
    left_out = {"split", "positive", "baseline"}
    changed = {key: value for key, value in document.items() if key not in left_out}
    best = document["best_score_corrected"]
    if "winners" in best:
        best = {**best, "winners": [_of_algorithm(row, "team") for row in best["winners"]]}
    return {
        **{"n_cases" if key == "n_rows" else key: value for key, value in changed.items()},
        "schema": RANK_SCHEMA,
        "standings": [_of_algorithm(row, "team") for row in document["standings"]],
        "best_score_corrected": best,
        "rejected": [_of_algorithm(row, "file") for row in document["rejected"]],
    }


def _of_algorithm(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a row with the algorithm in the place of the team or file of this name."""
    of_teams = {"submission", "file", "public_score", "public_rank"} - {name}
    return {
        "algorithm" if key == name else key: value
        for key, value in row.items()
        if key not in of_teams
    }
