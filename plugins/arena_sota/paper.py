"""The numbers and figures of Møllersen and Holsbø on multiplicity, computed again.

The paper simulates its dependent cases; here they are exact, so that a printed number can only
agree or not. Maxima of areas under the ROC curve are simulated.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from arena.interfaces import PaperOptions, Reproduced, Reproduction, rounded, within
from arena.types import Chart, FloatArray
from arena.utils.parallel import Progress
from arena.utils.text import plural
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.binormal import DrawnMaximum, auc_maximum, separation
from arena_sota.board_file import ShownScores, exact_scores
from arena_sota.charts import curves as draw_curves
from arena_sota.dependence import correlation_from_similarity
from arena_sota.estimate import estimate_sota
from arena_sota.maximum import SampleMaximum, sample_maximum

N, M, THETA = 3_000, 1_000, 0.90
POSITIVE = 52
_IDENTICAL = (
    (1000, 3000, 0.90, 0.9173, 0.001817),
    (100, 3000, 0.90, 0.9135, 0.002250),
    (500, 3000, 0.90, 0.9163, 0.001923),
    (5000, 3000, 0.90, 0.9196, 0.001623),
    (1000, 1000, 0.90, 0.9294, 0.003007),
    (1000, 10000, 0.90, 0.9096, 0.001022),
    (1000, 3000, 0.85, 0.8707, 0.002197),
    (1000, 3000, 0.95, 0.9624, 0.001277),
)
"""m, n, theta, published mean and standard deviation (Table 3)."""
_FIRST_VERSION = (0.9130, 0.002129)
"""Mean and standard deviation of the case b - a = 0.025 in Table 2 of the first version."""
_DEPENDENT: dict[str, Any] = {"rho0": 0.6, "theta0": THETA}
_SIMULATED = "the paper simulates what is exact here"
_MISSING = (
    "Figure 8 and Table 2 but its first row: the scores of the Obesity Risk challenge are not "
    "public as the paper used them.",
    "Figure 9 but the interval in its text: the scores of the Cassava Leaf challenge are not "
    "public as the paper used them.",
    "Figure 11: the scores of the Melanoma challenge are not public as the paper used them.",
    "Table 4, and Table 3 of the first version (cropping): they need the scores of the Obesity "
    "Risk challenge too.",
    "Section 5.3.1 defines correlated areas under the ROC curve and prints no number.",
    "Figures 2 to 6 and 10, point by point: their curves are published as pictures only. They are "
    "drawn, and the points that the paper prints are compared: of Figure 2 in row 1 of Table 1, of "
    "Figure 3 in Section 3.4, of Figure 4 in Table 3, of Figures 5 and 6 in rows 2 to 4 of Table "
    "1, and of Figure 10 in Section 5.2.2.",
    "Figures 1 and 7 are drawings of the model and hold no numbers.",
)


class Multiplicity:
    """Møllersen and Holsbø (2024)."""

    name = "multiplicity"
    title = (
        "Møllersen and Holsbø (2024), Accounting for multiplicity in machine learning benchmark "
        "performance"
    )

    def reproduce(self, options: PaperOptions, progress: Progress) -> Reproduction:
        """Compute the printed numbers, and the curves of Figures 2 to 6 and 10."""
        repetitions = 200 if options.quick else 2_000
        progress.start("Computing numbers and figures", 3 if options.charts else 2)
        rows = [*printed_numbers()]
        progress.advance()
        best = auc_maximum(
            np.full(M, THETA),
            POSITIVE,
            N - POSITIVE,
            np.random.default_rng(options.seed),
            repetitions=repetitions,
        )
        rows += _of_aucs(best)
        progress.advance()
        charts: list[Chart] = []
        if options.charts:
            charts = [*_charts(), *_figure_10(best, options.seed)]
            progress.advance()
        missing = list(_MISSING)
        boards = None if options.data is None else options.data / "kaggle-boards"
        if boards is not None and boards.is_dir():
            rows += _real_boards(boards, options.seed, 40 if options.quick else 200)
        else:
            missing.append("Estimates for real leaderboards: kaggle-boards is not in --data.")
        return Reproduction(tuple(rows), tuple(charts), tuple(missing))


def uniform(width: float, m: int = M) -> Any:
    """Return the uniform distribution whose best of m has a mean of 0.90."""
    top = THETA + width / (m + 1)
    return stats.uniform(top - width, width)


def printed_numbers() -> Iterator[Reproduced]:
    """Yield the printed numbers that are exact here: Tables 1 and 3, and those in the text."""
    yield from _identical()
    yield from _models()
    yield from _in_the_text()


def _identical() -> Iterator[Reproduced]:
    for m, n, theta, mean, std in _IDENTICAL:
        maximum = sample_maximum(n, theta, m)
        what = f"m {m:,}, n {n:,}, theta {theta:.2f}"
        yield rounded("Table 3", f"mean, {what}", mean, maximum.mean, 4)
        yield rounded("Table 3", f"standard deviation, {what}", std, maximum.std, 6)


def _models() -> Iterator[Reproduced]:
    cases: tuple[tuple[str, str, Any, dict[str, Any], tuple[float, float, float]], ...] = (
        ("Table 1", "identical", THETA, {}, (0.9213, 0.9173, 0.0018)),
        (
            "Table 1",
            "b - a = 0.025",
            uniform(0.025),
            {"theta0": THETA},
            (0.9177, 0.9129, 0.0021),
        ),
        ("Table 1", "rho0 0.6", THETA, _DEPENDENT, (0.9207, 0.9140, 0.0035)),
        (
            "Section 4.2",
            "rho0 0.6, 2,700 rows easy",
            THETA,
            {**_DEPENDENT, "correct0": 2_700},
            (0.9173, 0.9140, 0.0015),
        ),
        (
            "Table 1",
            "rho0 0.6, b - a = 0.025",
            uniform(0.025),
            _DEPENDENT,
            (0.9173, 0.9101, 0.0036),
        ),
    )
    for where, what, theta, settings, (upper, mean, std) in cases:
        maximum = sample_maximum(N, theta, M, **settings)
        yield rounded(where, f"0.975 quantile, {what}", upper, maximum.interval()[1], 4)
        yield rounded(where, f"mean, {what}", mean, maximum.mean, 4, _SIMULATED)
        yield rounded(where, f"standard deviation, {what}", std, maximum.std, 4, _SIMULATED)
    maximum = sample_maximum(N, uniform(0.025), M, theta0=THETA)
    note = "so the .9129 of its text and of the second version is wrong"
    where = "first version, Table 2"
    yield rounded(where, "mean, b - a = 0.025", _FIRST_VERSION[0], maximum.mean, 4, note)
    what = "standard deviation, b - a = 0.025"
    yield within(where, what, _FIRST_VERSION[1], maximum.std, 1e-5, "simulated with 100,000 draws")


def _in_the_text() -> Iterator[Reproduced]:
    for flips, heads, published, decimals in (
        (1, 15, 0.02069, 5),
        (100, 15, 0.8765, 4),
        (1, 18, 0.0002, 5),
        (1_000, 18, 0.1823, 4),
    ):
        probability = sample_maximum(20, 0.5, flips).at_least(heads / 20)
        what = f"P(best of {plural(flips, 'coin')} >= {heads} of 20 heads)"
        yield rounded("Section 3.2", what, published, probability, decimals)
    interval = stats.binomtest(2_700, N).proportion_ci(method="exact")
    beaten = np.ceil(sample_maximum(N, THETA, M).mean * N)
    what = "P(a classifier at the upper limit reaches the expected best of 1,000)"
    reached = float(stats.binom.sf(beaten - 1, N, interval.high))
    yield rounded("Section 3.4", what, 0.10, reached, 2)
    for end, published in (("low", 0.8887), ("high", 0.9105)):
        what = f"95% interval of 2,700 of 3,000, {end}"
        yield rounded("Section 3.4", what, published, float(getattr(interval, end)), 4)
    for where, right, n_rows, ends, note in (
        ("Table 2, row 1", 12_616, 13_840, (0.9067, 0.9162), ""),
        ("Section 5.1.2", 13_698, 15_000, (0.9086, 0.9177), "approximately 15,000 rows"),
    ):
        interval = stats.binomtest(right, n_rows).proportion_ci(method="exact")
        for end, published in zip(("low", "high"), ends, strict=True):
            what = f"95% interval of {right:,} of {n_rows:,}, {end}"
            yield rounded(where, what, published, float(getattr(interval, end)), 4, note)
    alike = THETA**2 + (1 - THETA) ** 2
    what = "similarity of two independent classifiers at accuracy 0.90"
    yield rounded("first version, Section 4.1", what, 0.82, alike, 2)
    yield rounded(
        "Section 4.2",
        "correlation of classifiers that agree on 85% at accuracy 0.756",
        0.36,
        correlation_from_similarity(0.85, 0.756),
        2,
        "the printed value does not follow from the printed similarity",
    )


def _of_aucs(best: DrawnMaximum) -> Iterator[Reproduced]:
    where, reach = "Section 5.2.2", 4 * best.simulation_error
    low, high = best.interval()
    yield within(where, "mean of the best AUC", 0.9562, best.mean, reach + 5e-4)
    yield within(where, "its standard deviation", 0.004459, best.std, 3e-4 + reach)
    yield within(where, "its 0.025 quantile", 0.9486, low, 5e-4 + 2 * reach)
    yield within(where, "its 0.975 quantile", 0.9662, high, 5e-4 + 3 * reach)
    note = f"one draw; 95% of draws lie between {low:.4f} and {high:.4f}"
    yield within("Figure 10b", "best AUC of one draw", 0.958, best.mean, (high - low) / 2, note)


def _curve(
    name: str,
    title: str,
    lines: Mapping[str, tuple[FloatArray, FloatArray]],
    marks: Mapping[str, float] | None = None,
    **titles: str,
) -> Chart:
    drawn = draw_curves(lines, marks or {}, display=None, **titles)
    return Chart(name, title, f"{title}.", drawn)


def _charts() -> Iterator[Chart]:
    """Yield Figures 2 to 6."""
    yield from _distributions("figure-2", THETA)
    yield _figure_3()
    yield from _bias_and_std(
        "figure-4-classifiers",
        [1, 2, 5, 10, 30, 100, 300, 1000, 3000, 5000],
        {f"theta {t:.2f}": _along("m", theta=t) for t in (0.85, 0.90, 0.95)},
        "classifiers",
    )
    yield from _bias_and_std(
        "figure-4-rows",
        [500, 1000, 2000, 3000, 5000, 10000],
        {f"m {m:,}": _along("n", m=m) for m in (100, 1000, 5000)},
        "rows",
    )
    yield from _bias_and_std(
        "figure-4-theta",
        np.linspace(0.5, 0.99, 15).tolist(),
        {f"n {n:,}": _along("theta", n=n) for n in (1000, 3000, 10000)},
        "theta",
    )
    yield from _bias_and_std(
        "figure-5-width",
        np.linspace(0.002, 0.1, 12).tolist(),
        {"independent": lambda d: sample_maximum(N, uniform(d), M, theta0=THETA)},
        "b - a",
    )
    yield from _bias_and_std(
        "figure-5-correlation",
        np.linspace(0, 0.95, 12).tolist(),
        {
            "identical": lambda r: sample_maximum(N, THETA, M, rho0=r, theta0=THETA),
            "b - a = 0.025": lambda r: sample_maximum(N, uniform(0.025), M, rho0=r, theta0=THETA),
        },
        "rho0",
    )
    yield from _distributions("figure-6", uniform(0.025), theta0=THETA)


def _along(varied: str, *, n: int = N, theta: float = THETA, m: int = M) -> Callable[[float], Any]:
    """Return the distribution as a function of one of its settings."""

    def make(value: float) -> SampleMaximum:
        parameters = {"n": n, "theta": theta, "m": m, varied: value}
        return sample_maximum(int(parameters["n"]), parameters["theta"], int(parameters["m"]))

    return make


def _distributions(name: str, theta: Any, **settings: Any) -> Iterator[Chart]:
    """Yield distribution function and probabilities of the best score (Figures 2 and 6)."""
    maximum = sample_maximum(N, theta, M, **settings)
    is_visible = maximum.probabilities > 1e-3 * maximum.probabilities.max()
    for part, what, values in (
        ("cdf", "probability of at most this score", maximum.cumulative),
        ("pmf", "probability", maximum.probabilities),
    ):
        title = f"The best of {M:,} scores ({part})"
        line = {f"best of {M:,}": (maximum.scores[is_visible], values[is_visible])}
        yield _curve(f"{name}-{part}", title, line, y_title=what)


def _figure_3() -> Chart:
    """Return a truly better classifier, compared with the best of a thousand others."""
    counts = np.arange(2600, 2850)
    better = float(stats.binomtest(2700, N).proportion_ci(method="exact").high)
    best = sample_maximum(N, THETA, M)
    lines = {
        "true accuracy 0.90": (counts / N, stats.binom.pmf(counts, N, THETA)),
        f"true accuracy {better:.4f}": (counts / N, stats.binom.pmf(counts, N, better)),
    }
    marks = {"expected best": best.mean, "its 0.975 quantile": best.interval()[1]}
    return _curve("figure-3", "A better classifier against the luckiest of many", lines, marks)


def _bias_and_std(
    name: str,
    xs: Sequence[float],
    makes: Mapping[str, Callable[[float], SampleMaximum]],
    x_title: str,
) -> Iterator[Chart]:
    """Yield bias and standard deviation along one setting (Figures 4 and 5)."""
    estimates = {label: [make(x) for x in xs] for label, make in makes.items()}
    grid = np.asarray(xs, dtype=np.float64)
    for part, what in (("bias", "selection bias"), ("std", "standard deviation")):
        lines = {
            k: (grid, np.array([getattr(estimate, part) for estimate in v]))
            for k, v in estimates.items()
        }
        title = f"{what} of the best score by {x_title}"
        yield _curve(f"{name}-{part}", title.capitalize(), lines, y_title=what, x_title=x_title)


def _figure_10(best: DrawnMaximum, seed: int) -> Iterator[Chart]:
    """Yield scores of a classifier of AUC 0.90, ROC curves of samples, and the best AUC."""
    mu = float(separation(np.array([THETA]))[0])
    scores_on_axis = np.linspace(-4, 6, 200)
    scores = {
        "negative": (scores_on_axis, stats.norm.pdf(scores_on_axis)),
        "positive": (scores_on_axis, stats.norm.pdf(scores_on_axis, mu)),
    }
    yield _curve("figure-10a", "Scores of the two classes at AUC 0.90", scores, y_title="density")
    rng = np.random.default_rng(seed)
    negative = np.sort(rng.standard_normal((M, N - POSITIVE)), axis=1)
    positive = mu + rng.standard_normal((M, POSITIVE))
    grid = np.linspace(0, 1, 60)
    cuts = np.quantile(negative, 1 - grid, axis=1).T
    rates = np.array(
        [np.searchsorted(np.sort(scores), cut) for scores, cut in zip(positive, cuts, strict=True)]
    )
    rates = 1 - rates / POSITIVE
    area = np.trapezoid(rates, grid, axis=1)
    low, middle, high = np.quantile(rates, [0.25, 0.5, 0.75], axis=0)
    samples = {
        "first quartile": (grid, low),
        "median": (grid, middle),
        "third quartile": (grid, high),
        "best AUC": (grid, rates[int(area.argmax())]),
    }
    yield _curve(
        "figure-10b",
        "ROC curves of a thousand samples, quartiles by point",
        samples,
        x_title="false positive rate",
        y_title="true positive rate",
    )
    shares, edges = np.histogram(best.draws, 25, density=True)
    drawn = {"best of 1,000": ((edges[1:] + edges[:-1]) / 2, shares)}
    marks = {"expected": best.mean}
    yield _curve("figure-10c", "The best AUC of a thousand", drawn, marks, y_title="density")


def _real_boards(boards: Path, seed: int, repetitions: int) -> Iterator[Reproduced]:
    """Yield estimates for other leaderboards; their rows are those that fit the digits."""
    for name, title, rows, classes, where in (
        ("mci-prediction.csv", "score", 250, 4, {"board": "private"}),
        ("mlcontest.csv", "private_score", 27, 2, {}),
    ):
        scores, _ = exact_scores(_column(boards / name, title, **where), rows, "rows")
        sota_estimate = estimate_sota(scores, rows, classes)
        note = f"the best score is {sota_estimate.observed_maximum:.4f}; {rows} rows assumed"
        yield Reproduced(name, "best true accuracy", None, sota_estimate.sota, None, note)
    private_scores = _column(boards / "mlsp-2014-mri.csv", "private_score")
    sota_estimate = estimate_auc_sota(
        private_scores.values, 39, 80, np.random.default_rng(seed), repetitions=repetitions
    )
    note = (
        f"the best score is {sota_estimate.observed_maximum:.4f}; simulation error "
        f"{sota_estimate.simulation_error:.2g}; 39 positive and 80 negative rows assumed"
    )
    yield Reproduced("mlsp-2014-mri.csv", "best true AUC", None, sota_estimate.sota, None, note)


def _column(path: Path, name: str, **where: str) -> ShownScores:
    with path.open(newline="", encoding="utf-8") as file:
        cells = [
            row[name]
            for row in csv.DictReader(file)
            if row[name] and all(row[key] == value for key, value in where.items())
        ]
    decimals = max(len(cell.partition(".")[2]) for cell in cells)
    return ShownScores(np.array([float(cell) for cell in cells]), decimals)
