"""How often does the best model win? The study of Pafka (2021), on synthetic data.

Szilard Pafka, *Winner stability in data science competitions*: LightGBM models of a random search
are ranked on a large population and on tests of N rows, and with M of them the truly best wins
more often the more rows there are, and less often the more models compete. Here the truth is known
exactly. The study trains on 100,000 rows and goes to M = 3,000; by default this trains on
4,000 rows and goes to M = 100, to end in minutes. The frequencies of the largest M are of one set
of models: if its two best are nearly equal, as with seed 0, no number of rows here tells them
apart, and the best wins less often than in the study. More models average over more sets.

    python examples/winner_stability.py --models kept-models

Options: ``--models FOLDER`` to keep the models and go on from there, ``--competitors 10,30,100``,
``--test-rows 1000,3000,10000``, ``--train-rows 4000``, ``--published FILE`` for the study's own
figures as CSV (test_size_N, models_M, win_freq).
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from itertools import pairwise
from pathlib import Path

from arena.engines import local_engine
from arena.plugin_manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.ranks import RankSettings, RankSimulation, simulate_ranks
from arena.simulation.training import describe_models, train_models

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "winstab" / "best_winning.csv"
TEST_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
BOARDS_OF = (1_000, 10_000)


def study(
    folder: Path, settings: RankSettings, sizes: Sizes, search: str = "lightgbm"
) -> RankSimulation:
    """Train what is missing and compare ranks."""
    manager = PluginManager()
    world = synthetic_world(sizes, settings.seed)
    trained = manager.competitors.resolve(search)
    about = describe_models(world, trained, settings.seed)
    kept = ModelsFolder.open(folder, about, sizes.population)
    engine = local_engine(0)
    train_models(world, trained, kept, settings.n_models, seed=settings.seed, engine=engine)
    metric, judge = manager.metrics.resolve("roc_auc"), manager.analyses.resolve("ranks")
    return simulate_ranks(world, metric, judge, kept, settings, workers=engine.workers)


def standard_error(one) -> float:
    """Return that of a win frequency, from its interval."""
    return (one.high - one.low) / (2 * 1.96)


def against_the_trend(result: RankSimulation) -> list[str]:
    """Return where the frequency falls with N, or rises with M, by over 3 standard errors."""
    by_grid = {(one.test_rows, one.competitors): one for one in result.win_frequency}
    rows, counts = sorted(result.settings.test_rows), sorted(result.settings.competitors)
    pairs = [((a, m), (b, m)) for a, b in pairwise(rows) for m in counts]
    pairs += [((n, b), (n, a)) for n in rows for a, b in pairwise(counts)]
    found = []
    for less, more in pairs:
        low, high = by_grid[less], by_grid[more]
        allowed = 3 * math.hypot(standard_error(low), standard_error(high))
        if low.frequency > high.frequency + allowed:
            found.append(f"{less} wins more often than {more}")
    return found


def table(result: RankSimulation, published: dict[tuple[int, int], float]) -> str:
    """Return the frequencies, the study's beside them where it has any."""
    counts = sorted(result.settings.competitors)
    by_grid = {(one.test_rows, one.competitors): one for one in result.win_frequency}
    lines = ["test rows " + "".join(f"{f'M = {count:,}':>22}" for count in counts)]
    for rows in sorted(result.settings.test_rows):
        cells = []
        for count in counts:
            one = by_grid[rows, count]
            beside = published.get((rows, count))
            study = "" if beside is None else f" [{beside:.2f}]"
            cells.append(f"{one.frequency:.2f} ± {standard_error(one):.2f}{study}".rjust(22))
        lines.append(f"{rows:>9,} " + "".join(cells))
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
    parser.add_argument("--competitors", type=numbers, default=(10, 30, 100))
    parser.add_argument("--test-rows", type=numbers, default=TEST_ROWS)
    parser.add_argument("--train-rows", type=int, default=4_000)
    parser.add_argument("--published", type=Path, default=PUBLISHED)
    given = parser.parse_args()
    settings = RankSettings(given.test_rows, given.competitors, boards=0)
    judged = RankSettings(BOARDS_OF, (max(given.competitors),), boards=10)
    population = max(100_000, *given.test_rows)
    sizes = Sizes(given.train_rows, given.train_rows // 2, population)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.models or Path(temporary)
        result = study(folder, settings, sizes)
        boards = study(folder, judged, sizes)
    print("How often the truly best wins, ± a standard error [as published]:")
    print(table(result, read_published(given.published)))
    print("Test rows and competitors: a single test's ranges that held every true rank at once")
    for one in boards.coverage:
        where = f"{one.test_rows:>9,} {one.competitors:>6,}"
        print(f"{where} {one.kind:<9} {one.all_ranks:.0%} (each rank {one.each:.1%})")
    for line in against_the_trend(result) or ["No frequency is against the trend."]:
        print(line)


if __name__ == "__main__":
    main()
