"""The best of many scores: the papers' tables and figures, and some real boards.

Reproduces Møllersen and Holsbø, *Accounting for multiplicity in machine learning benchmark
performance*. Run with ``python examples/sample_maximum.py [FOLDER]``: the figures are written into
the folder as SVG. Where ``../shared/data/kaggle-boards`` is there, boards of Kaggle follow.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from scipy import stats

from arena.types import Chart
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.binormal import auc_maximum, separation
from arena_sota.board_file import ShownScores, exact_scores
from arena_sota.dependence import correlation_from_similarity
from arena_sota.estimate import estimate_sota
from arena_sota.maximum import sample_maximum
from arena_sota.pictures import probabilities_picture

N, M, THETA = 3_000, 1_000, 0.90
BOARDS = Path(__file__).resolve().parents[2] / "shared" / "data" / "kaggle-boards"

IDENTICAL = [  # m, n, theta, published mean and standard deviation
    (1000, 3000, 0.90, 0.9173, 0.001817),
    (100, 3000, 0.90, 0.9135, 0.002250),
    (500, 3000, 0.90, 0.9163, 0.001923),
    (5000, 3000, 0.90, 0.9196, 0.001623),
    (1000, 1000, 0.90, 0.9294, 0.003007),
    (1000, 10000, 0.90, 0.9096, 0.001022),
    (1000, 3000, 0.85, 0.8707, 0.002197),
    (1000, 3000, 0.95, 0.9624, 0.001277),
]
DEPENDENT = {"rho0": 0.6, "theta0": THETA}
FIXED = {**DEPENDENT, "correct0": 2_700}


def uniform(width: float, m: int = M):
    """Return the uniform distribution whose best of m is worth 0.90 on average."""
    top = THETA + width / (m + 1)
    return stats.uniform(top - width, width)


def tables() -> None:
    print("Identical independent classifiers        computed             published")
    for m, n, theta, mean, std in IDENTICAL:
        found = sample_maximum(n, theta, m)
        print(f"  m {m:5,} n {n:6,} theta {theta:.2f}   {found.mean:.4f} {found.std:.6f}"
              f"      {mean:.4f} {std:.6f}")  # fmt: skip
    models = [
        ("independent, identical", THETA, {}, (0.9213, 0.9173, 0.0018)),
        ("independent, uniform", uniform(0.025), {"theta0": THETA}, (0.9177, 0.9129, 0.0021)),
        ("dependent, identical", THETA, DEPENDENT, (0.9207, 0.9140, 0.0035)),
        ("the same, 2,700 rows easy", THETA, FIXED, (None, 0.9140, 0.0015)),
        ("dependent, uniform", uniform(0.025), DEPENDENT, (0.9173, 0.9101, 0.0036)),
    ]  # fmt: skip
    print("\nModels (upper end, mean, std)            computed             published")
    for name, theta, settings, published in models:
        found = sample_maximum(N, theta, M, **settings)
        values = (round(found.interval()[1], 4), round(found.mean, 4), round(found.std, 4))
        shown = " ".join("  --  " if one is None else f"{one:.4f}" for one in published)
        pairs = zip(values, published, strict=True)
        wrong = [f"{b:.4f} should be {a:.4f}" for a, b in pairs if b is not None and a != b]
        print(f"  {name:28s} {values[0]:.4f} {values[1]:.4f} {values[2]:.4f}   {shown}"
              f"   {'; '.join(wrong)}")  # fmt: skip
    pair = correlation_from_similarity(0.85, 0.756)
    print(f"\nSimilarity 0.85 at 0.756: correlation {pair:.3f}, rho0 {pair**0.5:.3f}; the papers "
          f"print 0.36 and 0.6, which do not follow.")  # fmt: skip
    best = sample_maximum(N, THETA, M)
    print(f"P(best > 0.9213) = {best.sf(2764 / N):.4f}, P(best >= 0.9213) = "
          f"{best.sf(2763 / N):.4f}: the papers mix the two.")  # fmt: skip


def curve(name: str, title: str, curves, lines=None, **titles: str) -> Chart:
    return probabilities_picture(name, title, title + ".", curves, lines or {}, **titles)


def distributions(name: str, theta, **settings) -> list[Chart]:
    """Figures 2 and 6: distribution function and probabilities."""
    found = sample_maximum(N, theta, M, **settings)
    parts = {"cdf": found.cumulative, "pmf": found.probabilities}
    return [
        curve(
            f"{name}-{part}", f"The best of {M:,} scores ({part})", {part: (found.scores, values)}
        )
        for part, values in parts.items()
    ]


def figure_3() -> Chart:
    """A classifier that is truly better, against the best of a thousand that are not."""
    counts = np.arange(2600, 2850)
    better = stats.binomtest(2700, N).proportion_ci(method="exact").high
    best = sample_maximum(N, THETA, M)
    chance = stats.binom.sf(np.ceil(best.mean * N) - 1, N, better)
    print(f"\nA classifier worth {better:.4f} reaches the expected best score of {M:,} classifiers "
          f"worth 0.90 with probability {chance:.2f}.")  # fmt: skip
    curves = {
        "worth 0.90": (counts / N, stats.binom.pmf(counts, N, THETA)),
        f"worth {better:.4f}": (counts / N, stats.binom.pmf(counts, N, better)),
    }
    lines = {"expected best": best.mean, "its upper end": best.interval()[1]}
    return curve("figure-3", "A better classifier against the luckiest of many", curves, lines)


def bias_and_std(name: str, xs, makes, x_title: str) -> list[Chart]:
    """Figures 4 and 5: bias and standard deviation along one setting."""
    found = {label: [make(x) for x in xs] for label, make in makes.items()}
    at = np.asarray(xs, dtype=np.float64)
    return [
        curve(
            f"{name}-{part}",
            f"{part} of the best score",
            {k: (at, np.array([getattr(one, part) for one in v])) for k, v in found.items()},
            y_title=part,
            x_title=x_title,
        )
        for part in ("bias", "std")
    ]


def figures() -> list[Chart]:
    charts = distributions("figure-2", THETA)
    charts.append(figure_3())
    charts += bias_and_std(
        "figure-4-classifiers", [1, 2, 5, 10, 30, 100, 300, 1000, 3000, 5000],
        {f"theta {t}": lambda m, t=t: sample_maximum(N, t, m) for t in (0.85, 0.90, 0.95)},
        "classifiers",
    )  # fmt: skip
    charts += bias_and_std(
        "figure-4-rows", [500, 1000, 2000, 3000, 5000, 10000],
        {f"m {m}": lambda n, m=m: sample_maximum(n, THETA, m) for m in (100, 1000, 5000)}, "rows",
    )  # fmt: skip
    charts += bias_and_std(
        "figure-4-theta", np.linspace(0.5, 0.99, 15),
        {f"n {n}": lambda t, n=n: sample_maximum(n, t, M) for n in (1000, 3000, 10000)}, "theta",
    )  # fmt: skip
    widths = np.linspace(0.002, 0.1, 12)
    charts += bias_and_std(
        "figure-5-width", widths,
        {"independent": lambda d: sample_maximum(N, uniform(d), M, theta0=THETA)}, "b - a",
    )  # fmt: skip
    charts += bias_and_std(
        "figure-5-correlation", np.linspace(0, 0.95, 12),
        {"identical": lambda r: sample_maximum(N, THETA, M, rho0=r, theta0=THETA),
         "b - a = 0.025": lambda r: sample_maximum(N, uniform(0.025), M, rho0=r, theta0=THETA)},
        "rho0",
    )  # fmt: skip
    charts += distributions("figure-6", uniform(0.025), theta0=THETA)
    return [*charts, *figure_10()]


def figure_10() -> list[Chart]:
    """Scores of a classifier of AUC 0.90, and the best AUC of a thousand of them."""
    mu = float(separation(np.array([0.9]))[0])
    at = np.linspace(-4, 6, 200)
    scores = {"negative": (at, stats.norm.pdf(at)), "positive": (at, stats.norm.pdf(at, mu))}
    best = auc_maximum(np.full(M, 0.9), 52, N - 52, np.random.default_rng(0), repetitions=600)
    low, high = best.interval()
    print(
        f"\nThe best AUC of {M:,} worth 0.90, 52 of {N:,} rows positive: {best.mean:.4f}, std "
        f"{best.std:.4f}, {low:.3f}-{high:.3f} (published 0.956, 0.0045, 0.949-0.966)."
    )
    counts, edges = np.histogram(best.draws, 25)
    drawn = {"best of 1,000": ((edges[1:] + edges[:-1]) / 2, counts / counts.sum())}
    return [
        curve("figure-10a", "Scores of the two classes at AUC 0.90", scores),
        curve("figure-10c", "The best AUC of a thousand", drawn, {"expected": best.mean}),
    ]


def column(path: Path, name: str, **where: str) -> ShownScores:
    with path.open(newline="", encoding="utf-8") as file:
        cells = [
            row[name] for row in csv.DictReader(file)
            if row[name] and all(row[key] == value for key, value in where.items())
        ]  # fmt: skip
    return ShownScores(np.array([float(cell) for cell in cells]),
                       max(len(cell.partition(".")[2]) for cell in cells))  # fmt: skip


def real_boards() -> None:
    """Accuracies and AUCs; numbers of rows are those that the shown digits fit."""
    print("\nReal boards")
    for name, title, rows, classes, where in [
        ("mci-prediction.csv", "score", 250, 4, {"board": "private"}),
        ("mlcontest.csv", "private_score", 27, 2, {}),
    ]:
        scores, notes = exact_scores(column(BOARDS / name, title, **where), rows, "rows")
        for target in ("mean", "upper"):
            found = estimate_sota(scores, rows, classes, target=target)
            print(f"  {name} ({target}): {found.verdict} {' '.join(notes)}")
    shown = column(BOARDS / "mlsp-2014-mri.csv", "private_score")
    for rho in (0.0, 0.36):
        found = estimate_auc_sota(shown.values, 39, 80, np.random.default_rng(0), rho=rho,
                                  repetitions=200)  # fmt: skip
        print(f"  mlsp-2014-mri.csv (AUC, rho {rho}, 39 positives and 80 negatives assumed): "
              f"{found.verdict}")  # fmt: skip


def main() -> None:
    tables()
    charts = figures()
    if len(sys.argv) > 1:
        import vl_convert

        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        for chart in charts:
            svg = vl_convert.vegalite_to_svg(dict(chart.specification))
            (folder / f"{chart.name}.svg").write_text(svg, encoding="utf-8")
        print(f"\n{len(charts)} figures in {folder}")
    if BOARDS.exists():
        real_boards()


if __name__ == "__main__":
    main()
