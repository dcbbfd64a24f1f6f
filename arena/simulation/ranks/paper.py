"""The study of Pafka (2021) on winner stability, repeated on synthetic data.

LightGBM models of a random search are ranked on a large population and on tests of N rows. Here the
truth is known exactly. The study trains on 100,000 rows and has up to M = 3,000 models; this trains
on 4,000 rows, with the study's numbers of leaves divided by 25 as the rows are
(``winner_stability.toml``). A frequency is the mean over disjoint sets of M models, with the larger
of its standard errors over sets and over tests; the study has a single set of models, so that luck
decides how near its two best are. 300 models take six minutes of processor time.

With 1,000 models, and the study's single set of models in brackets:

    test rows  M = 10 (100)  M = 30 (33)  M = 100 (10)        M = 300 (3)         M = 1,000 (1)
        1,000  0.50 ± 0.02   0.29 ± 0.02  0.16 ± 0.02         0.05 ± 0.02         0.02 ± 0.02
        3,000  0.67 ± 0.02   0.46 ± 0.03  0.24 ± 0.02         0.09 ± 0.02         0.04 ± 0.03
       10,000  0.79 ± 0.02   0.60 ± 0.04  0.44 ± 0.04 [0.74]  0.27 ± 0.04 [0.42]  0.12 ± 0.05 [0.24]
       30,000  0.86 ± 0.02   0.72 ± 0.04  0.60 ± 0.04 [0.70]  0.31 ± 0.07 [0.78]  0.22 ± 0.06 [0.30]
      100,000  0.92 ± 0.01   0.83 ± 0.04  0.89 ± 0.04 [0.98]  0.59 ± 0.17 [0.98]  0.24 ± 0.06 [0.34]
"""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from arena.interfaces import PaperOptions, Reproduced, Reproduction, within
from arena.simulation.ranks.outcome import (
    QUANTILES,
    disjoint_sets,
    rank_quantiles,
    wins_of_sets,
)
from arena.simulation.ranks.simulate import simulate_ranks
from arena.simulation.ranks.study import RankSimulation
from arena.types import Chart
from arena.utils.parallel import Progress
from arena.utils.text import plural

GRID = Path(__file__).with_name("winner_stability.toml")
TEST_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
COMPETITORS = (10, 30, 100, 300)
_FEWEST_SETS = 5
"""With fewer sets of models the spread between single sets, such as the study's, is not known."""


@dataclass(frozen=True)
class Frequency:
    """How often the truly best of M models wins on N rows."""

    mean: float
    error: float
    """The standard error."""
    by_set: tuple[float, ...]
    """For each set of models; they share none."""

    @property
    def sets(self) -> int:
        """The number of sets of models."""
        return len(self.by_set)


class WinnerStability:
    """Pafka (2021)."""

    name = "winner-stability"
    title = "Pafka (2021), Winner stability in data science competitions"

    def reproduce(self, options: PaperOptions, progress: Progress) -> Reproduction:
        """Train models and rank them.

        M is up to 300, or 1,000 (3,000 on an engine) if ``models`` names a folder to keep them in.
        """
        counts: tuple[int, ...] = COMPETITORS
        rows: tuple[int, ...] = TEST_ROWS
        if options.models is not None:
            counts = (*counts, 1_000)
        if options.engine != "local":
            counts = (*COMPETITORS, 1_000, 3_000)
        if options.quick:
            counts, rows = (4, 16), (300, 3_000)
        held: Any = (
            tempfile.TemporaryDirectory(prefix="arena-models-")
            if options.models is None
            else nullcontext(str(options.models))
        )
        with held as folder:
            result = study(
                Path(folder), rows, counts=counts, boards=0, options=options, progress=progress
            )
            boards = study(
                Path(folder),
                rows[:3:2],
                counts=counts[-1:],
                boards=10,
                options=options,
                progress=progress,
            )
        frequencies_found = frequencies(result)
        data = None if options.data is None else options.data / "winstab" / "best_winning.csv"
        published = {} if data is None else read_published(data)
        figures = [
            *compared(frequencies_found, published),
            *ranks_in_the_text(result),
            *coverage(boards),
        ]
        figures += [
            Reproduced("trend", line, None, None, False, "it should not, by over 3 standard errors")
            for line in against_the_trend(frequencies_found)
        ]
        missing = [
            "The study's own rows: it trains on 100,000, with trees of up to 12,000 leaves; arena "
            "uses 4,000 synthetic rows.",
            "The study's plots of scores and ranks, and its bootstrap figures, which are of its "
            "own models: arena simulate ranks draws the former, and the coverage of ranges from "
            "bootstrap resamples replaces the latter.",
        ]
        if not published:
            missing.append("The study's frequencies: winstab/best_winning.csv is not in --data.")
        lacking = sorted({count for _, count in published} - set(counts))
        if lacking:
            missing.append(
                f"M = {' and '.join(f'{count:,}' for count in lacking)}: keep models in a folder "
                f"with --models for 1,000, and use an engine for 3,000."
            )
        return Reproduction(tuple(figures), (chart(frequencies_found, published),), tuple(missing))


def study(
    folder: Path,
    rows: Sequence[int],
    counts: Sequence[int],
    boards: int,
    options: PaperOptions,
    progress: Progress,
) -> RankSimulation:
    """Train what is missing in the folder and compare ranks."""
    small = options.quick
    return simulate_ranks(
        rows,
        counts,
        boards=min(boards, 2) if small else boards,
        resamples=100 if small else 500,
        train_rows=400 if small else 4_000,
        validation_rows=200 if small else 800,
        population=3_000 if small else 100_000,
        grid=GRID,
        models=folder,
        seed=options.seed,
        workers=options.workers,
        engine=options.engine,
        address=options.address,
        progress=progress,
    )


def frequencies(result: RankSimulation) -> dict[tuple[int, int], Frequency]:
    """Return the frequencies by N and M."""
    frequency_of = {}
    for quantiles in result.win_frequency:
        wins = wins_of_sets(result.scores, quantiles.test_rows, quantiles.competitors)
        errors = [
            np.std(means, ddof=1) / math.sqrt(len(means))
            for means in (wins.mean(axis=0), wins.mean(axis=1))
            if len(means) > 1
        ]
        frequency_of[quantiles.test_rows, quantiles.competitors] = Frequency(
            float(wins.mean()), float(max(errors)), tuple(wins.mean(axis=1).tolist())
        )
    return frequency_of


def compared(
    frequency_of: Mapping[tuple[int, int], Frequency], published: Mapping[tuple[int, int], float]
) -> list[Reproduced]:
    """Return the frequencies, the study's beside them where it has any."""
    rows = []
    for (n, m), frequency in frequency_of.items():
        what = f"best of {plural(m, 'model')} wins on {plural(n, 'row')}"
        sets = plural(frequency.sets, "set")
        precision = f"standard error {frequency.error:.2g} over {sets} of models"
        rows.append(
            _compared(
                "win frequency", what, published.get((n, m)), frequency.by_set, note=precision
            )
        )
    return rows


def _compared(
    where: str, what: str, published: float | None, by_set: Sequence[float], *, note: str
) -> Reproduced:
    """Return the mean over sets of models, compared with the study's single set.

    They agree if the study's value is in the 95% prediction interval of another set, by Student's
    t. It includes the error of a set's tests. With few sets nothing is compared.
    """
    mean, count = float(np.mean(by_set)), len(by_set)
    if published is None:
        return Reproduced(where, what, None, mean, None, note)
    if count < _FEWEST_SETS:
        why = f"{note}; fewer than {_FEWEST_SETS} sets of models: not compared"
        return Reproduced(where, what, published, mean, None, why)
    spread = float(np.std(by_set, ddof=1)) * math.sqrt(1 + 1 / count)
    reach = float(stdtrit(count - 1, 0.975)) * spread
    why = f"{note}; another set of models would be within {reach:.2g} (95%), on other data"
    return within(where, what, published, mean, reach, why)


_RANKS_IN_THE_TEXT: Mapping[tuple[int, int], Sequence[tuple[int, float, float]]] = {
    (100_000, 100): ((10, 0.05, 6), (10, 0.95, 16), (30, 0.05, 21), (30, 0.95, 46)),
    (10_000, 3_000): ((1, 0.5, 12), (1, 0.9, 50)),
}
"""Test rows and models -> true rank, quantile over the tests, and the published rank."""


def ranks_in_the_text(result: RankSimulation) -> list[Reproduced]:
    """Return the quantiles of competition ranks that the text of the study names."""
    rows = []
    for (n, m), ranks in _RANKS_IN_THE_TEXT.items():
        if n not in result.scores.competition or m > len(result.scores.true):
            continue
        quantiles = [
            rank_quantiles(result.scores.part(models), n, m).quantiles
            for models in disjoint_sets(len(result.scores.true), m)
        ]
        note = f"{plural(len(quantiles), 'set')} of models"
        for rank, share, published in ranks:
            by_set = [float(of_set[rank - 1, QUANTILES.index(share)]) for of_set in quantiles]
            what = (
                f"{share:.0%} quantile of the rank of model {rank} of {m:,} on {plural(n, 'row')}"
            )
            rows.append(_compared("text", what, published, by_set, note=note))
    return rows


def coverage(boards: RankSimulation) -> list[Reproduced]:
    """Return how often ranges from a single test held every true rank."""
    return [
        Reproduced(
            "ranks from one test",
            f"{held.kind} on {plural(held.test_rows, 'row')} held all "
            f"{plural(held.competitors, 'true rank')}",
            None,
            held.all_ranks,
            None,
            f"of {plural(held.boards, 'board')}; each rank {held.each:.1%}",
        )
        for held in boards.coverage
    ]


def against_the_trend(frequency_of: Mapping[tuple[int, int], Frequency]) -> list[str]:
    """Return where the frequency falls with N, or rises with M, by over 3 standard errors."""
    rows, counts = (sorted(set(values)) for values in zip(*frequency_of, strict=True))
    pairs = [((a, m), (b, m)) for a, b in pairwise(rows) for m in counts]
    pairs += [((n, b), (n, a)) for n in rows for a, b in pairwise(counts)]
    return [
        f"{less} wins more often than {more}"
        for less, more in pairs
        if frequency_of[less].mean
        > frequency_of[more].mean
        + 3 * math.hypot(frequency_of[less].error, frequency_of[more].error)
    ]


def read_published(path: Path) -> dict[tuple[int, int], float]:
    """Return the study's frequencies by N and M; empty if the file does not exist."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["test_size_N"]), int(row["models_M"])): float(row["win_freq"])
            for row in csv.DictReader(file)
        }


def chart(
    frequency_of: Mapping[tuple[int, int], Frequency], published: Mapping[tuple[int, int], float]
) -> Chart:
    """Return the frequency by the number of rows, a line for each number of models."""
    here, theirs = "here, ± standard error", "published"
    lines = [
        {"rows": n, "frequency": frequency.mean, "low": max(frequency.mean - frequency.error, 0.0),
         "high": min(frequency.mean + frequency.error, 1.0), "models": f"{m:,}", "source": here}
        for (n, m), frequency in frequency_of.items()
    ]  # fmt: skip
    points = [
        {"rows": n, "frequency": share, "models": f"{m:,}", "source": theirs}
        for (n, m), share in published.items()
    ]
    order = [f"{m:,}" for m in sorted({m for _, m in (*frequency_of, *published)})]
    x = {
        "field": "rows",
        "type": "quantitative",
        "title": "test rows",
        "scale": {"type": "log", "nice": False},
        "axis": {
            "values": sorted({n for n, _ in (*frequency_of, *published)}),
            "format": ",d",
            "labelFlush": False,
        },
    }
    y = {"type": "quantitative", "title": "how often the best model wins"}
    scheme = {"scheme": "viridis"}  # more numbers of models than the theme has colours
    color = {
        "field": "models", "type": "ordinal", "title": "models", "sort": order, "scale": scheme
    }  # fmt: skip
    encoding = {"x": x, "y": {"field": "frequency", **y}, "color": color}
    ends = {**encoding, "y": {"field": "low", **y}, "y2": {"field": "high"}}
    dots = {"type": "point", "filled": True, "size": 60}
    shape = {
        "field": "source",
        "type": "nominal",
        "title": None,
        "scale": {"domain": [here, theirs], "range": ["circle", "diamond"]},
    }
    title = "How often the truly best model wins (lines: here; diamonds: published)"
    layer = [
        {"data": {"values": lines}, "mark": "line", "encoding": encoding},
        {"data": {"values": lines}, "mark": "rule", "encoding": ends},
        {
            "data": {"values": [*lines, *points]},
            "mark": dots,
            "encoding": {**encoding, "shape": shape},
        },
    ]
    specification = {"width": 460, "height": 300, "layer": layer}
    return Chart("win-frequency", title, f"{title}, by the number of test rows.", specification)
