"""How often does the best model win? The study of Pafka (2021), on synthetic data.

Szilard Pafka, *Winner stability in data science competitions*: LightGBM models of a random search
are ranked on a large population and on tests of N rows. Here the truth is known exactly. The study
trains on 100,000 rows and has up to M = 3,000 models; by default this trains 300 on 4,000 rows,
with the study's numbers of leaves divided by 25 as the rows are (``winner_stability.toml``). A
frequency is the mean over all sets of M models that share none, ± the larger of its standard errors
over sets and over tests. 300 models take six minutes of processor time. With 1,000 models, and the
study's single set of models in brackets:

    test rows  M = 10 (100)  M = 30 (33)  M = 100 (10)        M = 300 (3)         M = 1,000 (1)
        1,000  0.50 ± 0.02   0.29 ± 0.02  0.16 ± 0.02         0.05 ± 0.02         0.02 ± 0.02
        3,000  0.67 ± 0.02   0.46 ± 0.03  0.24 ± 0.02         0.09 ± 0.02         0.04 ± 0.03
       10,000  0.79 ± 0.02   0.60 ± 0.04  0.44 ± 0.04 [0.74]  0.27 ± 0.04 [0.42]  0.12 ± 0.05 [0.24]
       30,000  0.86 ± 0.02   0.72 ± 0.04  0.60 ± 0.04 [0.70]  0.31 ± 0.07 [0.78]  0.22 ± 0.06 [0.30]
      100,000  0.92 ± 0.01   0.83 ± 0.04  0.89 ± 0.04 [0.98]  0.59 ± 0.17 [0.98]  0.24 ± 0.06 [0.34]

So with 100 competitors and 100,000 rows the best wins mostly, and with 1,000 and 10,000 rarely, as
with the study's 3,000 [0.14]. With one set of models luck decides how near its two best are: of the
three sets of 300 the first has 0.92 at 100,000 rows, the others 0.43 on average.

    python examples/winner_stability.py --models kept-models

Options: ``--models FOLDER`` to keep the models and go on from there,
``--competitors 10,30,100,300``, ``--test-rows 1000,3000,10000``, ``--train-rows 4000``,
``--grid FILE``, ``--workers 2``, ``--published FILE`` for the study's own figures as CSV
(test_size_N, models_M, win_freq).
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from arena.engines import local_engine
from arena.plugin_manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.outcome import wins_of_sets
from arena.simulation.ranks import RankSettings, RankSimulation, simulate_ranks
from arena.simulation.training import describe_models, train_models

GRID = Path(__file__).with_suffix(".toml")
PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "winstab" / "best_winning.csv"
TEST_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
BOARDS_OF = (1_000, 10_000)


@dataclass(frozen=True)
class Frequency:
    """How often the truly best of M models wins on N rows."""

    mean: float
    error: float
    """The standard error."""
    sets: int
    """Of models that share none."""


def study(
    folder: Path, settings: RankSettings, sizes: Sizes, grid: Path = GRID, workers: int = 0
) -> RankSimulation:
    """Train what is missing and compare ranks."""
    manager = PluginManager()
    world = synthetic_world(sizes, settings.seed)
    trained = manager.competitors.resolve(f"lightgbm(grid={str(grid)!r})")
    about = describe_models(world, trained, settings.seed)
    kept = ModelsFolder.open(folder, about, sizes.population)
    engine = local_engine(workers)
    train_models(world, trained, kept, settings.n_models, seed=settings.seed, engine=engine)
    metric, judge = manager.metrics.resolve("roc_auc"), manager.analyses.resolve("ranks")
    return simulate_ranks(world, metric, judge, kept, settings, workers=engine.workers)


def frequencies(result: RankSimulation) -> dict[tuple[int, int], Frequency]:
    """Return the frequencies by N and M."""
    found = {}
    for one in result.win_frequency:
        wins = wins_of_sets(result.scores, one.test_rows, one.competitors)
        errors = [
            np.std(means, ddof=1) / math.sqrt(len(means))
            for means in (wins.mean(axis=0), wins.mean(axis=1))
            if len(means) > 1
        ]
        found[one.test_rows, one.competitors] = Frequency(
            float(wins.mean()), float(max(errors)), len(wins)
        )
    return found


def against_the_trend(found: dict[tuple[int, int], Frequency]) -> list[str]:
    """Return where the frequency falls with N, or rises with M, by over 3 standard errors."""
    rows, counts = (sorted(set(values)) for values in zip(*found, strict=True))
    pairs = [((a, m), (b, m)) for a, b in pairwise(rows) for m in counts]
    pairs += [((n, b), (n, a)) for n in rows for a, b in pairwise(counts)]
    return [
        f"{less} wins more often than {more}"
        for less, more in pairs
        if found[less].mean
        > found[more].mean + 3 * math.hypot(found[less].error, found[more].error)
    ]


def table(found: dict[tuple[int, int], Frequency], published: dict[tuple[int, int], float]) -> str:
    """Return the frequencies, the study's beside them where it has any."""
    rows, counts = (sorted(set(values)) for values in zip(*found, strict=True))
    sets = {count: found[rows[0], count].sets for count in counts}
    heads = (f"M = {count:,} ({sets[count]})".rjust(22) for count in counts)
    lines = ["test rows " + "".join(heads)]
    for n in rows:
        cells = []
        for count in counts:
            one, beside = found[n, count], published.get((n, count))
            as_published = "" if beside is None else f" [{beside:.2f}]"
            cells.append(f"{one.mean:.2f} ± {one.error:.2f}{as_published}".rjust(22))
        lines.append(f"{n:>9,} " + "".join(cells))
    return "\n".join(lines)


def read_published(path: Path) -> dict[tuple[int, int], float]:
    """Return the study's frequencies by N and M."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["test_size_N"]), int(row["models_M"])): float(row["win_freq"])
            for row in csv.DictReader(file)
        }


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path)
    parser.add_argument("--competitors", type=numbers, default=(10, 30, 100, 300))
    parser.add_argument("--test-rows", type=numbers, default=TEST_ROWS)
    parser.add_argument("--train-rows", type=int, default=4_000)
    parser.add_argument("--grid", type=Path, default=GRID)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--published", type=Path, default=PUBLISHED)
    given = parser.parse_args()
    settings = RankSettings(given.test_rows, given.competitors, boards=0)
    judged = RankSettings(BOARDS_OF, (max(given.competitors),), boards=10)
    population = max(100_000, *given.test_rows)
    sizes = Sizes(given.train_rows, given.train_rows // 5, population)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.models or Path(temporary)
        result = study(folder, settings, sizes, given.grid, given.workers)
        boards = study(folder, judged, sizes, given.grid, given.workers)
    found = frequencies(result)
    print("How often the best of M models wins (sets of models), ± a standard error [published]:")
    print(table(found, read_published(given.published)))
    print("Test rows and competitors: a single test's ranges that held every true rank at once")
    for one in boards.coverage:
        where = f"{one.test_rows:>9,} {one.competitors:>6,}"
        print(f"{where} {one.kind:<9} {one.all_ranks:.0%} (each rank {one.each:.1%})")
    for line in against_the_trend(found) or ["No frequency is against the trend."]:
        print(line)


if __name__ == "__main__":
    main()
