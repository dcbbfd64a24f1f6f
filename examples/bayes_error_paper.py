"""The experiments of Ishida et al. (2023), *Is the performance of my deep network too good to be
true? A direct approach to estimating the Bayes error in binary classification*.

Its four Gaussian set-ups against the truth (Figure 1), the noise of Figure 2 as the paper describes
it and as its code draws it, positive confidence (Figure 3), and its annotations of real data where
``../shared/data/soft-labels`` is there. Prints tables and draws pictures as SVG and PNG.

Run: python examples/bayes_error_paper.py [FOLDER] [--repetitions 10]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from arena.charts import Bars, Points, ranges_chart, themed
from arena.charts.theme import BLUE, GREY, INK, ORANGE, PAGE, PALE
from arena.types import FloatArray
from arena_bayes_error.annotators import from_counts
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import from_noisy_soft_labels, from_soft_labels
from arena_bayes_error.gaussians import SETUPS, noisy_labels
from arena_bayes_error.platt import from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence

DATA = Path(__file__).parents[2] / "shared" / "data" / "soft-labels"
PER_CLASS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1028)
"""Rows of each class, as in the paper."""
WIDTHS = {"the paper": 1.0, "its code": 0.4}
"""Where the noise is cut off, in units of min(r, 1 - r)."""
CLEAN, NAIVE, SIGNED = "clean labels, Eq. 4", "noisy labels, Eq. 5", "noisy and signs, Eq. 6"
CONFIDENCE = "positive confidence, Eq. 8"
SHAPES = {CLEAN: (GREY, "circle"), NAIVE: (ORANGE, "square"), SIGNED: (BLUE, "diamond"),
          CONFIDENCE: (BLUE, "triangle-up")}  # fmt: skip
PERCENT = {"format": "~%", "tickCount": 8}
FEW: Any = {"resamples": 2}
GROUPINGS = {
    "animals": [2, 3, 4, 5, 6, 7],
    "animals without birds": [3, 4, 5, 6, 7],
    "land": [1, 3, 4, 5, 7, 9],
    "even positions": [0, 2, 4, 6, 8],
    "first five": [0, 1, 2, 3, 4],
}
PUBLISHED = {"Fashion-MNIST-H": (0.03478, 0.00079)}
"""In numbers; the others of the paper stand in pictures, or in a table that its text has lost."""
NOTES = {
    "CIFAR-10H, animals without birds": "birds are artefacts in the paper's text, animals in its "
    "code",
    "ICLR 2017": "the paper's code stops short of the best fit, at 7.82 %",
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
        """How far the last mean is from the truth, in standard errors."""
        return float((self.mean[-1] - truth(self.setup)) / self.error[-1])


# -- Figures 1 to 3: drawn from set-ups whose Bayes error is known ---------------------------------


@cache
def truth(setup: str) -> float:
    """Return the Bayes error of a set-up, by its distributions."""
    return SETUPS[setup].bayes_error


def draw(setup: str, per_class: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of equally many positive and negative rows, and of the former."""
    soft, labels = SETUPS[setup].draw(4 * per_class + 40, rng)
    positive, negative = (soft[labels == label][:per_class] for label in (1, 0))
    return np.concatenate([positive, negative]), positive


def clean(soft: FloatArray, positive: FloatArray, _: np.random.Generator) -> dict[str, float]:
    """Return the estimates of Figures 1 and 3."""
    return {
        CLEAN: from_soft_labels(soft, **FEW).estimate,
        CONFIDENCE: from_positive_confidence(positive, 0.5, **FEW).estimate,
    }


def noisy(
    width: float, soft: FloatArray, _: FloatArray, rng: np.random.Generator
) -> dict[str, float]:
    """Return the estimates of Figure 2, with noise that is cut off at a width."""
    noise = noisy_labels(soft, rng, width=width)
    return {
        CLEAN: from_soft_labels(soft, **FEW).estimate,
        NAIVE: from_soft_labels(noise, **FEW).estimate,
        SIGNED: from_noisy_soft_labels(noise, soft > 0.5, **FEW).estimate,
    }


def curves(
    estimates: Any, repetitions: int, sizes: Sequence[int] = PER_CLASS, seed: int = 0
) -> list[Curve]:
    """Return the curves of every estimator on every set-up, printed where they end."""
    rng = np.random.default_rng(seed)
    found = []
    for setup in SETUPS:
        drawn = [[estimates(*draw(setup, n, rng), rng) for _ in range(repetitions)] for n in sizes]
        for name in drawn[0][0]:
            values = np.array([[one[name] for one in own] for own in drawn])
            error = values.std(axis=1, ddof=1) / repetitions**0.5
            found.append(Curve(setup, name, values.mean(axis=1), error))
    for one in found:
        print(
            f"  {one.setup}  {one.estimator:28s} {one.mean[-1]:7.3%} ± {one.error[-1]:.3%} with "
            f"{sizes[-1]:,} rows of each class; the truth is {truth(one.setup):.3%}"
        )
    return found


def panel(setup: str, own: Sequence[Curve], sizes: Sequence[int], title: str) -> dict[str, Any]:
    """Return means with their standard errors against n, and the truth as a line."""
    rows = [
        {"n": n, "mean": mean, "low": mean - error, "high": mean + error, "what": one.estimator}
        for one in own
        for n, mean, error in zip(sizes, one.mean.tolist(), one.error.tolist(), strict=True)
    ]
    names = list(dict.fromkeys(one.estimator for one in own))
    legend = {"title": None, "orient": "bottom", "columns": 1}
    color, shape = (
        {"field": "what", "type": "nominal", "legend": legend,
         "scale": {"domain": names, "range": [SHAPES[name][at] for name in names]}}
        for at in (0, 1)
    )  # fmt: skip
    n = {"field": "n", "type": "quantitative", "title": "rows of each class",
         "scale": {"type": "log", "base": 2}}  # fmt: skip
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


def figure(found: Mapping[str, Sequence[Curve]], sizes: Sequence[int]) -> dict[str, Any]:
    """Return a row of panels, one for each set-up, for each of the titles."""
    rows = [
        {"hconcat": [
            panel(setup, [one for one in own if one.setup == setup], sizes, title)
            for setup in SETUPS
        ]}
        for title, own in found.items()
    ]  # fmt: skip
    return {"vconcat": rows}


def write(folder: Path, name: str, specification: dict[str, Any]) -> None:
    """Draw a picture as SVG and PNG."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg({**themed(specification), "background": PAGE})
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=1.5))
    print(f"  drawn: {folder / name}.svg")


def simulated(folder: Path, repetitions: int, sizes: Sequence[int] = PER_CLASS) -> list[Curve]:
    """Draw Figures 1, 2 and 3; return their curves."""
    print("Figures 1 and 3: clean soft labels, and confidence on positive rows")
    plain = curves(clean, repetitions, sizes)
    first = [one for one in plain if one.estimator == CLEAN]
    write(folder, "figure-1", figure({"": first}, sizes))
    write(folder, "figure-3", figure({"": plain}, sizes))
    noise = {}
    for name, width in WIDTHS.items():
        print(f"Figure 2: noise as {name} has it, cut off at {width:g} min(r, 1 - r)")
        noise[f", noise of {name}"] = curves(partial(noisy, width), repetitions, sizes)
    write(folder, "figure-2", figure(noise, sizes))
    return [*plain, *(one for own in noise.values() for one in own)]


# -- real annotations ------------------------------------------------------------------------------


def annotations(data: Path = DATA, resamples: int = 2_000) -> dict[str, BayesErrorEstimate]:
    """Return the estimates from what people said of images and papers."""
    counts = np.loadtxt(data / "fmh_counts.csv", delimiter=",")
    found = {"Fashion-MNIST-H": from_counts(counts, [0, 2, 3, 4, 6])}
    counts = np.load(data / "cifar10h_counts.npy")
    found |= {f"CIFAR-10H, {name}": from_counts(counts, own) for name, own in GROUPINGS.items()}
    for year in range(2017, 2024):
        table = np.genfromtxt(data / f"iclr_{year}.csv", delimiter=",", dtype=str, skip_header=1)
        scores, accepted = table[:, 1].astype(float), table[:, 2] == "Accept"
        found[f"ICLR {year}"], _ = from_scores(scores, accepted, resamples=resamples)
    return found


def real(folder: Path, found: Mapping[str, BayesErrorEstimate]) -> None:
    """Print and draw the estimates beside what is published."""
    print("Real data: estimate with its t interval; corrected for few labels, or fitted anew")
    for name, one in found.items():
        other = (
            "" if one.refit_interval is None else f"± {half(one.refit_interval):.3%} fitted anew"
        )
        other = other if one.corrected is None else f"{one.corrected:.3%} corrected"
        said = [f"published {v:.3%} ± {e:.3%}" for v, e in [PUBLISHED.get(name, (0, 0))] if v]
        told = "; ".join([*said, *([NOTES[name]] if name in NOTES else [])])
        print(f"  {name:34s} {one.estimate:7.3%} ± {half(one.interval):.3%}  {other:24s} {told}")
    for file, start in (("real-images", ("Fashion", "CIFAR")), ("real-papers", ("ICLR",))):
        own = {name: one for name, one in found.items() if name.startswith(start)}
        write(folder, file, real_picture(own))


def half(interval: tuple[float, float]) -> float:
    """Return half the width of an interval."""
    return (interval[1] - interval[0]) / 2


def real_picture(found: Mapping[str, BayesErrorEstimate]) -> dict[str, Any]:
    """Return each estimate with its interval, with the wider one of a refit or the correction."""
    series: list[Bars | Points] = []
    for label, ends, color, width in (
        ("95 % interval, the scaling of scores fitted anew", lambda e: e.refit_interval, PALE, 11),
        ("95 % interval, as the paper has it", lambda e: e.interval, BLUE, 5),
    ):
        pairs = [ends(one) or (np.nan, np.nan) for one in found.values()]
        series.append(Bars(label, *np.transpose(pairs), color=color, width=width))
    published = [PUBLISHED.get(name, (np.nan, np.nan)) for name in found]
    low, high = np.transpose([(value - error, value + error) for value, error in published])
    series.insert(0, Bars("published", low, high, GREY, 13))
    corrected = [np.nan if one.corrected is None else one.corrected for one in found.values()]
    series.append(Points("corrected for few labels", corrected, ORANGE))
    series.append(Points("estimate", [one.estimate for one in found.values()], INK))
    picture = ranges_chart(list(found), [one for one in series if drawn(one)], "Bayes error")
    for layer in picture["layer"]:
        layer["encoding"]["x"]["axis"] = PERCENT
    return picture


def drawn(series: Bars | Points) -> bool:
    """Return whether there is anything of it to draw."""
    values = series.low if isinstance(series, Bars) else series.value
    return bool(np.isfinite(np.asarray(values)).any())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("bayes-error-paper"))
    parser.add_argument("--repetitions", type=int, default=10)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    simulated(asked.folder, asked.repetitions)
    if DATA.exists():
        real(asked.folder, annotations())


if __name__ == "__main__":
    main()
