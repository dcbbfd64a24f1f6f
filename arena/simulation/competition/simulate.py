"""The public function that simulates competitions, with one seed or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.plugin.manager import PluginManager
from arena.simulation.competition.comparison import Comparison, Story, compare_mechanisms
from arena.simulation.competition.prepare import Options, prepare
from arena.simulation.competition.run import run_competition
from arena.simulation.competition.seeds import options_of_seed, run_seeds
from arena.simulation.competition.summary import summarize_seeds
from arena.types import DEFAULT_LEVEL
from arena.utils.arguments import several
from arena.utils.engines import open_engine
from arena.utils.parallel import Progress
from arena.utils.progress import shown


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Simulated competitions, compared with the truth."""

    folder: Path
    """Where they are stored."""
    mechanisms: tuple[str, ...]
    """Under which each seed was run."""
    stories: tuple[Story, ...]
    """The result of each seed; ``outcomes`` has a JSON object for each mechanism."""
    comparison: Comparison | None
    """Means, spread and paired differences over the seeds; None with a single one."""
    notes: tuple[str, ...]
    """For the organiser, in sentences."""

    def sentences(self) -> list[str]:
        """Return the comparison in sentences; empty with one seed."""
        return [] if self.comparison is None else summarize_seeds(self.comparison)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "folder": str(self.folder),
            "mechanisms": list(self.mechanisms),
            "seeds": [
                {"seed": one.seed, "folder": one.folder, "outcomes": list(one.outcomes)}
                for one in self.stories
            ],
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "notes": list(self.notes),
        }


def simulate(
    folder: str | Path,
    mechanisms: str | Sequence[str] = (),
    *,
    teams: int = 50,
    days: int = 30,
    kinds: str | None = None,
    baseline: str | None = None,
    metric: str | None = None,
    per_day: int | None = None,
    data: str | Path | None = None,
    target: str | None = None,
    test: str | Path | None = None,
    positive: str | None = None,
    rows: int | None = None,
    public_share: float | None = None,
    train_rows: int | None = None,
    validation_rows: int | None = None,
    like: str | Path | None = None,
    drawn: bool = False,
    notebooks: float = 0.0,
    drift: float = 0.0,
    training_drift: float = 0.0,
    seed: int = 0,
    seeds: int = 1,
    level: float = DEFAULT_LEVEL,
    workers: int = 0,
    engine: str = "local",
    address: str | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Run competitions with simulated teams, and compare their outcome with the truth.

    Finished seeds are read from the folder, and an interrupted simulation continues. One seed is
    one possible outcome: use 20 or more before you decide anything.

    Parameters
    ----------
    folder
        A new folder, that of a simulation to continue, or a competition without submissions.
    mechanisms
        Such as ``"full"`` or ``["full", "ladder-free(minimum_step=0.002)"]``; the same seeds under
        each. Empty: the default, as ``arena simulate competition`` prints it.
    teams, days
        Number of participants, and length of the competition.
    kinds
        Competitors and their shares, such as ``"lightgbm-climber=3, copycat=1"``; None: the
        default mixture.
    baseline
        Competitor that makes the public baseline; ``"none"``: the sample submission.
    metric
        None: accuracy.
    per_day
        Submissions per team and day; None: 2.
    data, target, test, positive
        Own data, its target column, the features of the rows to predict if ``folder`` holds a
        competition, and the positive class; None: synthetic rows.
    rows, public_share, train_rows, validation_rows
        Rows to predict, the share of them that is public, training rows and rows for early
        stopping; None: 6,000, 0.3, 3,000 and 1,000, fewer if ``data`` is small.
    like
        A past leaderboard in CSV or a folder of them, which the teams imitate; see
        :func:`arena.simulation.past.boards.read_boards`.
    drawn
        Whether predictions are drawn in memory, without ``kinds``: for thousands of teams.
    notebooks
        Share of the honest teams' submissions that become public, for others to blend and copy.
    drift, training_drift
        How far the features of the private rows are from those of the public ones, and those of the
        rows to predict from those of the training rows: from 0 (at random) to 1 (divided at a
        threshold).
    seed, seeds
        The first random seed, and the number of seeds.
    level
        Of the intervals and tests with several seeds.
    workers, engine, address
        Processes (0: one per processor), and ``local``, ``dask`` or ``ray`` with the address of
        its cluster.
    manager
        Plugins, such as those of a notebook. The seeds then run one after the other in this
        process. None: those installed.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested, or the folder holds something else.

    Examples
    --------
    >>> found = simulate("rehearsals", ["full", "ladder-free"], seeds=20)  # doctest: +SKIP
    >>> for sentence in found.sentences():  # doctest: +SKIP
    ...     print(sentence)
    """
    check_level(level)
    if seed < 0 or seeds < 1:
        raise UsageError("A seed from 0 and at least 1 seed are needed.")
    counts = (teams, days, seed, seeds, per_day, rows, train_rows, validation_rows)
    if not all(one is None or isinstance(one, Integral) for one in counts):
        raise UsageError("Teams, days, seeds, submissions per day and rows are whole numbers.")
    if per_day is not None and per_day < 1:
        raise UsageError("At least 1 submission per team and day is needed.")
    options = Options(
        directory=Path(folder),
        mechanisms=", ".join(several(mechanisms)) or None,
        teams=teams,
        days=days,
        seed=seed,
        kinds=kinds,
        baseline=baseline,
        metric=metric,
        per_day=per_day,
        data=None if data is None else Path(data),
        target=target,
        test=None if test is None else Path(test),
        positive=positive,
        rows=rows,
        train_rows=train_rows,
        validation_rows=validation_rows,
        public_share=public_share,
        like=None if like is None else Path(like),
        drawn=drawn,
        notebooks=notebooks,
        drift=drift,
        training_drift=training_drift,
    )
    own = PluginManager() if manager is None else manager
    with shown(progress) as display:
        if seeds > 1:
            request, notes = prepare(options_of_seed(options, seed), own)
            with open_engine(engine, address, workers) as opened:
                stories = run_seeds(options, range(seed, seed + seeds), opened, display, manager)
            notes += dict.fromkeys(note for story in stories for note in story.notes)
            compared = compare_mechanisms(request.mechanisms, stories, level)
            return Simulation(
                options.directory, request.mechanisms, tuple(stories), compared, tuple(notes)
            )
        request, notes = prepare(options, own)
        with open_engine(engine, address, workers) as opened:
            folder_of_all = request.open_folder()
            outcomes = [
                run_competition(
                    folder_of_all,
                    request,
                    mechanism,
                    own,
                    workers=opened.workers,
                    progress=display,
                ).outcome.to_dict()
                for mechanism in request.mechanisms
            ]
    story = Story(seed, str(request.root), tuple(outcomes), tuple(map(str, own.failures)))
    notes += story.notes
    return Simulation(request.root, request.mechanisms, (story,), None, tuple(notes))
