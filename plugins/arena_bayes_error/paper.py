"""The experiments of Ishida et al. (2023) on the Bayes error, computed again.

Its four Gaussian set-ups against the truth (Figure 1) with two baselines, the noise of Figure 2 as
described in the paper and as implemented in its code, positive confidence (Figure 3), and its
annotations of real data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from arena.charts import Bars, Points, ranges_chart
from arena.charts.specification import named, quantitative
from arena.charts.theme import BLUE, GREY, INK, ORANGE, PALE
from arena.interfaces import PaperOptions, Reproduced, Reproduction, rounded, within
from arena.types import Chart, FloatArray, IntArray
from arena.utils.parallel import Progress
from arena.utils.text import plural
from arena_bayes_error.annotators import from_counts
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import from_noisy_soft_labels, from_soft_labels
from arena_bayes_error.gaussian_setups import SETUPS, noisy_labels
from arena_bayes_error.neighbours import cover_hart
from arena_bayes_error.platt import from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence

PER_CLASS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1028)
"""Rows of each class, as in the paper."""
WIDTHS = {"the paper": 1.0, "its code": 0.4}
"""Truncation of the noise, in units of min(r, 1 - r)."""
CLEAN, NAIVE, SIGNED = "clean labels, Eq. 4", "noisy labels, Eq. 5", "noisy and signs, Eq. 6"
CONFIDENCE = "positive confidence, Eq. 8"
NEIGHBOURS, LOGISTIC = "nearest neighbour, lower bound", "logistic regression, plug-in"
BASELINES = {NEIGHBOURS, LOGISTIC}
SHAPES = {CLEAN: (GREY, "circle"), NAIVE: (ORANGE, "square"), SIGNED: (BLUE, "diamond"),
          CONFIDENCE: (BLUE, "triangle-up"), NEIGHBOURS: (ORANGE, "cross"),
          LOGISTIC: (INK, "triangle-down")}  # fmt: skip
PERCENT = {"format": "~%", "tickCount": 8}
FEW: Any = {"resamples": 2}
GROUPINGS = {
    "animals": [2, 3, 4, 5, 6, 7],
    "animals without birds": [3, 4, 5, 6, 7],
    "land": [1, 3, 4, 5, 7, 9],
    "even positions": [0, 2, 4, 6, 8],
    "first five": [0, 1, 2, 3, 4],
}
FASHION = [0, 2, 3, 4, 6]
"""The positive classes of Fashion-MNIST-H."""
PUBLISHED = {"Fashion-MNIST-H": (0.03478, 0.00079)}
"""Published as numbers; the others are in figures, or in a table missing from the text."""
NOTES = {
    "CIFAR-10H, animals without birds": "birds are artefacts in the paper's text, animals in its "
    "code",
    "ICLR 2017": "the paper's code stops short of the best fit, at 7.82%",
}


@dataclass(frozen=True)
class Curve:
    """One estimator on one set-up, against the rows of each class."""

    setup: str
    estimator: str
    mean: FloatArray
    """``(sizes,)`` over the repetitions."""
    error: FloatArray
    """``(sizes,)`` standard errors of the means."""

    @property
    def distance(self) -> float:
        """Distance of the last mean from the truth, in standard errors."""
        return float((self.mean[-1] - truth(self.setup)) / self.error[-1])


# -- Figures 1 to 3: simulated from set-ups with known Bayes error ---------------------------------


@cache
def truth(setup: str) -> float:
    """Return the Bayes error of a set-up, by its distributions."""
    return SETUPS[setup].bayes_error


@dataclass(frozen=True)
class Drawn:
    """Equally many positive and negative rows."""

    points: FloatArray
    """``(2 n, dimensions)``, the positive ones first."""
    labels: IntArray
    soft: FloatArray
    """``(2 n,)`` probabilities of the positive class."""
    positive: FloatArray
    """``(n,)`` those of the positive rows."""


def draw(setup: str, per_class: int, rng: np.random.Generator) -> Drawn:
    """Draw rows of a set-up."""
    points, labels = SETUPS[setup].draw_points(4 * per_class + 40, rng)
    chosen = np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in (1, 0)])
    soft = SETUPS[setup].posterior(points[chosen])
    return Drawn(points[chosen], labels[chosen], soft, soft[:per_class])


def clean(drawn: Drawn, _: np.random.Generator) -> dict[str, float]:
    """Return the estimates of Figures 1 and 3."""
    return {
        CLEAN: from_soft_labels(drawn.soft, **FEW).estimate,
        CONFIDENCE: from_positive_confidence(drawn.positive, 0.5, **FEW).estimate,
        **baselines(drawn),
    }


def baselines(drawn: Drawn) -> dict[str, float]:
    """Return estimates from points and hard labels; NaN with fewer than 8 rows of each class."""
    from sklearn.linear_model import LogisticRegression

    if len(drawn.positive) < 8:
        return dict.fromkeys(sorted(BASELINES), np.nan)
    model = LogisticRegression().fit(drawn.points[::2], drawn.labels[::2])
    chance = model.predict_proba(drawn.points[1::2])
    return {
        NEIGHBOURS: cover_hart(drawn.points, drawn.labels).lower,
        LOGISTIC: float(chance.min(axis=1).mean()),
    }


def noisy(width: float, drawn: Drawn, rng: np.random.Generator) -> dict[str, float]:
    """Return the estimates of Figure 2, with noise truncated at a width."""
    noise = noisy_labels(drawn.soft, rng, width=width)
    return {
        CLEAN: from_soft_labels(drawn.soft, **FEW).estimate,
        NAIVE: from_soft_labels(noise, **FEW).estimate,
        SIGNED: from_noisy_soft_labels(noise, drawn.soft > 0.5, **FEW).estimate,
    }


def curves(
    estimates: Callable[[Drawn, np.random.Generator], dict[str, float]],
    repetitions: int,
    sizes: Sequence[int],
    seed: int,
    progress: Progress,
) -> list[Curve]:
    """Return the curves of every estimator on every set-up."""
    rng = np.random.default_rng(seed)
    drawn_curves = []
    for setup in SETUPS:
        drawn_sets = [
            [estimates(draw(setup, n, rng), rng) for _ in range(repetitions)] for n in sizes
        ]
        for name in drawn_sets[0][0]:
            values = np.array([[curve[name] for curve in drawn_set] for drawn_set in drawn_sets])
            error = values.std(axis=1, ddof=1) / repetitions**0.5
            drawn_curves.append(Curve(setup, name, values.mean(axis=1), error))
        progress.advance()
    return drawn_curves


def compared(where: str, measured_curves: Sequence[Curve], per_class: int) -> Iterator[Reproduced]:
    """Yield the last point of every curve with the truth; biased estimators are not compared."""
    for comparison in measured_curves:
        what = (
            f"set-up {comparison.setup}, {comparison.estimator}, "
            f"{plural(per_class, 'row')} of each class"
        )
        mean, error, true_rate = (
            float(comparison.mean[-1]),
            float(comparison.error[-1]),
            truth(comparison.setup),
        )
        if comparison.estimator in BASELINES or comparison.estimator == NAIVE:
            note = f"the truth is {true_rate:.5f}: this estimator is biased"
            yield Reproduced(where, what, None, mean, None, note)
        else:
            note = f"the truth instead of a printed number; standard error {error:.2g}"
            yield within(where, what, true_rate, mean, 4 * error, note)


def panel(
    setup: str, setup_curves: Sequence[Curve], sizes: Sequence[int], title: str
) -> dict[str, Any]:
    """Return means with their standard errors against n, and the truth as a line."""
    rows = [
        {"n": n, "mean": mean, "low": mean - error, "high": mean + error, "what": curve.estimator}
        for curve in setup_curves
        for n, mean, error in zip(sizes, curve.mean.tolist(), curve.error.tolist(), strict=True)
        if np.isfinite(mean)
    ]
    names = list(dict.fromkeys(curve.estimator for curve in setup_curves))
    legend = {"orient": "bottom", "columns": 1}
    color, shape = (
        named("what", names, [SHAPES[name][axis] for name in names], legend=legend)
        for axis in (0, 1)
    )
    axis = {"values": list(sizes), "labelOverlap": False, "labelAngle": -45}
    logarithmic = {"type": "log", "base": 2, "nice": False}
    n = quantitative("n", "rows of each class", scale=logarithmic, axis=axis)
    error = {"type": "quantitative", "title": "Bayes error (dashed: the truth)", "axis": PERCENT}
    layers = [
        {"data": {"values": [{"truth": truth(setup)}]},
         "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK},
         "encoding": {"y": {"field": "truth", **error}}},
        {"mark": {"type": "rule", "strokeWidth": 1.5},
         "encoding": {"x": n, "y": {"field": "low", **error}, "y2": {"field": "high"},
                      "color": color}},
        {"mark": {"type": "line", "strokeWidth": 1.5},
         "encoding": {"x": n, "y": {"field": "mean", **error}, "color": color}},
        {"mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
         "encoding": {"x": n, "y": {"field": "mean", **error}, "color": color, "shape": shape}},
    ]  # fmt: skip
    return {"title": f"Set-up {setup}{title}", "width": 250, "height": 200,
            "data": {"values": rows}, "layer": layers}  # fmt: skip


def figure(curves_by_panel: Mapping[str, Sequence[Curve]], sizes: Sequence[int]) -> dict[str, Any]:
    """Return a row of panels, one for each set-up, for each of the titles."""
    rows = [
        {"hconcat": [
            panel(setup, [curve for curve in panel_curves if curve.setup == setup], sizes, title)
            for setup in SETUPS
        ]}
        for title, panel_curves in curves_by_panel.items()
    ]  # fmt: skip
    return {"vconcat": rows}


def simulated(
    options: PaperOptions, progress: Progress, sizes: Sequence[int] = PER_CLASS
) -> tuple[list[Reproduced], list[Chart], list[Curve]]:
    """Return the numbers, the charts and the curves of Figures 1, 2 and 3."""
    repetitions = 4 if options.quick else 10
    progress.start("Simulating set-ups", len(SETUPS) * (1 + len(WIDTHS)))
    plain = curves(clean, repetitions, sizes=sizes, seed=options.seed, progress=progress)
    noise = {
        name: curves(
            partial(noisy, width), repetitions, sizes=sizes, seed=options.seed, progress=progress
        )
        for name, width in WIDTHS.items()
    }
    rows = list(compared("Figures 1 and 3", plain, sizes[-1]))
    for name, noisy_curves in noise.items():
        rows += compared(f"Figure 2, noise of {name}", noisy_curves, sizes[-1])
    first = [curve for curve in plain if curve.estimator != CONFIDENCE]
    third = [curve for curve in plain if curve.estimator in {CLEAN, CONFIDENCE}]
    panels = {f", noise of {name}": noisy_curves for name, noisy_curves in noise.items()}
    charts = [
        Chart(name, title, f"{title}, by the number of rows.", figure(panels_of_figure, sizes))
        for name, title, panels_of_figure in (
            ("figure-1", "Estimates from soft labels and two baselines", {"": first}),
            ("figure-2", "Estimates from noisy labels", panels),
            ("figure-3", "Estimates from positive confidence", {"": third}),
        )
    ]
    return (
        rows,
        charts,
        [*plain, *(curve for noisy_curves in noise.values() for curve in noisy_curves)],
    )


# -- real annotations ------------------------------------------------------------------------------


def estimates_of_annotations(data: Path, resamples: int = 2_000) -> dict[str, BayesErrorEstimate]:
    """Return the estimates from human annotations of images and papers."""
    counts = np.loadtxt(data / "fmh_counts.csv", delimiter=",")
    estimates = {"Fashion-MNIST-H": from_counts(counts, FASHION)}
    counts = np.load(data / "cifar10h_counts.npy")
    estimates |= {
        f"CIFAR-10H, {name}": from_counts(counts, grouping) for name, grouping in GROUPINGS.items()
    }
    for year in range(2017, 2024):
        table = np.genfromtxt(data / f"iclr_{year}.csv", delimiter=",", dtype=str, skip_header=1)
        scores, accepted = table[:, 1].astype(float), table[:, 2] == "Accept"
        estimates[f"ICLR {year}"], _ = from_scores(scores, accepted, resamples=resamples)
    return estimates


def real(estimates: Mapping[str, BayesErrorEstimate]) -> Iterator[Reproduced]:
    """Yield the estimates next to the published numbers, which are few."""
    for name, estimate in estimates.items():
        other = (
            ""
            if estimate.corrected is None
            else f"{estimate.corrected:.3%} corrected for few labels"
        )
        if estimate.refit_interval is not None:
            other = f"± {half(estimate.refit_interval):.3%} with the scaling refitted"
        note = "; ".join(text for text in (NOTES.get(name, ""), other) if text)
        if name in PUBLISHED:
            value, error = PUBLISHED[name]
            yield rounded("Section 5", f"{name}, estimate", value, estimate.estimate, 5, note)
            yield rounded("Section 5", f"{name}, ±", error, half(estimate.interval), 5, note)
        else:
            yield Reproduced("Section 5", f"{name}, estimate", None, estimate.estimate, None, note)
            yield Reproduced("Section 5", f"{name}, ±", None, half(estimate.interval), None, "")


def on_resampled_labels(data: Path, seed: int) -> Iterator[Reproduced]:
    """Yield the test errors of the annotators' majority on labels drawn from the annotations.

    Sections 5.2 and 5.3 test networks on such labels: one label for each image, drawn 20 and 10
    times. No classifier has fewer errors on average than the majority.
    """
    rng = np.random.default_rng(seed)
    images = {"Fashion-MNIST-H": (np.loadtxt(data / "fmh_counts.csv", delimiter=","), FASHION, 10)}
    counts = np.load(data / "cifar10h_counts.npy")
    images |= {f"CIFAR-10H, {name}": (counts, grouping, 20) for name, grouping in GROUPINGS.items()}
    for name, (votes, positive, repeats) in images.items():
        share = votes[:, positive].sum(axis=1) / votes.sum(axis=1)
        labels = rng.random((repeats, len(share))) < share
        errors = (labels != (share > 0.5)).mean(axis=1)
        error = float(errors.std(ddof=1)) / float(np.sqrt(repeats))
        what = f"{name}, error of the majority on {repeats} draws of labels"
        note = f"standard error {error:.2g}"
        yield Reproduced("Sections 5.2, 5.3", what, None, float(errors.mean()), None, note)


def real_charts(estimates: Mapping[str, BayesErrorEstimate]) -> Iterator[Chart]:
    """Yield the estimates of images and of papers with their intervals."""
    for name, what, start in (
        ("real-images", "images", ("Fashion", "CIFAR")),
        ("real-papers", "papers", ("ICLR",)),
    ):
        chosen = {key: estimate for key, estimate in estimates.items() if key.startswith(start)}
        title = f"Bayes error of annotated {what}"
        yield Chart(name, title, f"{title}, with intervals.", real_picture(chosen))


def half(interval: tuple[float, float]) -> float:
    """Return half the width of an interval."""
    return (interval[1] - interval[0]) / 2


def real_picture(estimate_of: Mapping[str, BayesErrorEstimate]) -> dict[str, Any]:
    """Return each estimate with its interval, with the wider one of a refit or the correction."""
    series: list[Bars | Points] = []
    for label, ends, color, width in (
        ("95% interval, scaling of scores refitted", "refit_interval", PALE, 11),
        ("95% interval, as the paper has it", "interval", BLUE, 5),
    ):
        pairs = [getattr(estimate, ends) or (np.nan, np.nan) for estimate in estimate_of.values()]
        low, high = np.transpose(pairs)
        series.append(Bars(label, low, high, color, width))
    published = [PUBLISHED.get(name, (np.nan, np.nan)) for name in estimate_of]
    low, high = np.transpose([(value - error, value + error) for value, error in published])
    series.insert(0, Bars("published", low, high, GREY, 13))
    corrected = [
        np.nan if estimate.corrected is None else estimate.corrected
        for estimate in estimate_of.values()
    ]
    series.append(Points("corrected for few labels", corrected, ORANGE))
    series.append(Points("estimate", [estimate.estimate for estimate in estimate_of.values()], INK))
    picture = ranges_chart(
        list(estimate_of), [marks for marks in series if drawn(marks)], "Bayes error"
    )
    for layer in picture["layer"]:
        layer["encoding"]["x"]["axis"] = PERCENT
    return picture


def drawn(series: Bars | Points) -> bool:
    """Return whether the series has anything to draw."""
    values = series.low if isinstance(series, Bars) else series.value
    return bool(np.isfinite(np.asarray(values)).any())


class BayesErrorPaper:
    """Ishida et al. (2023)."""

    name = "bayes-error"
    title = (
        "Ishida, Yamane, Charoenphakdee, Niu and Sugiyama (2023), Is the performance of my deep "
        "network too good to be true? A direct approach to estimating the Bayes error"
    )

    def reproduce(self, options: PaperOptions, progress: Progress) -> Reproduction:
        """Compute Figures 1 to 3, and the estimates of real data that are in ``data``."""
        rows, charts, _ = simulated(options, progress)
        missing = [
            "Figure 1, the multilayer perceptron (its error and its plug-in estimate, from hard "
            "and from soft labels) and the estimator of Noshad et al. (2019): they need a library "
            "of neural networks and those authors' code. Logistic regression and nearest "
            "neighbours replace them.",
            "Section 5.2 and Figure 4, the errors of ViT B/16, DenseNet169, ResNet50 and VGG11 on "
            "CIFAR-10, ciFAIR-10, CIFAR-10.1 and labels resampled from CIFAR-10H: they need the "
            "images and these networks. The annotators' majority is tested on resampled labels "
            "instead.",
            "Section 5.3, the error of ResNet-18 on resampled labels of Fashion-MNIST-H (3.852%): "
            "it needs the images and this network. The annotators' majority replaces it.",
        ]
        data = None if options.data is None else options.data / "soft-labels"
        if data is not None and data.is_dir():
            estimates = estimates_of_annotations(data, 200 if options.quick else 2_000)
            rows += real(estimates)
            rows += on_resampled_labels(data, options.seed)
            charts += real_charts(estimates)
        else:
            missing.append("Real annotations: soft-labels is not in --data.")
        return Reproduction(tuple(rows), tuple(charts), tuple(missing))
