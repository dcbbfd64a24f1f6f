"""Estimate the lowest error that anyone could reach."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.errors import InputError, UsageError

if TYPE_CHECKING:
    from arena_bayes_error.kinds import Answer

app = typer.Typer(help=__doc__)

_FORMATS = (".svg", ".png", ".json")


class _Kind(StrEnum):
    SOFT = "soft"
    UNCERTAINTY = "uncertainty"
    NOISY = "noisy"
    HARD = "hard"
    COUNTS = "counts"
    POSITIVE_CONFIDENCE = "positive-confidence"
    SCORES = "scores"


@app.command()
def bayes_error(
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or .npy.", metavar="FILE", readable=False)
    ],
    kind: Annotated[_Kind, typer.Option(help="What is known of each row.")],
    column: Annotated[
        list[str] | None,
        typer.Option(help="Columns of the labels, split at commas.  [default: the rest]"),
    ] = None,
    sign: Annotated[
        str | None, typer.Option(help="The column of the likelier class of each row.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of the observed label of each row.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The positive label of two, or the positive classes of counts, such as 2,3,4.  "
            "[default: the second, sorted; for counts every class for itself]"
        ),
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="The share of positive rows, for positive-confidence.")
    ] = None,
    delta: Annotated[float, typer.Option(help="How probably the bound may fail.")] = 0.05,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    chart: Annotated[
        Path | None, typer.Option(help="Draw it: .svg, .png or .json (Vega-Lite).")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the lowest error rate that any classifier can reach on rows like these.

    soft: the probability of the positive class, or of each class. uncertainty: that of the less
    likely class. noisy: soft labels with noise, with --sign. hard: observed labels, with --sign, or
    several columns of them. counts: how many annotators chose each class. positive-confidence:
    probabilities on positive rows, with --prior. scores: any numbers, with --label.
    """
    import numpy as np

    from arena_bayes_error.kinds import Asked, answer
    from arena_bayes_error.label_file import read_label_file

    if chart is not None:
        _check_chart(chart)
    read = read_label_file(file)
    asked = Asked(
        file=read,
        columns=options.target_names(column),
        sign=sign,
        label=label,
        positive=positive,
        prior=prior,
        options={
            "level": level,
            "delta": delta,
            "resamples": resamples,
            "rng": np.random.default_rng(seed),
            "row_number": read.row_number,
        },
    )
    found = answer(kind.value, asked)
    if chart is not None:
        (found.fit or found.estimate).chart().save(str(chart))
    if as_json:
        print_document(_document(found, seed))
    else:
        _print(found)


def _check_chart(path: Path) -> None:
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"--chart {path.name}: its ending must be one of {', '.join(_FORMATS)}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: name a file in a folder that exists.")


def _document(found: Answer, seed: int) -> dict[str, Any]:
    fit = found.fit
    return {
        "schema": "arena/bayes-error/1",
        **found.estimate.to_dict(),
        "positive": found.positive,
        "scaling": None if fit is None else {"slope": fit.slope, "intercept": fit.intercept},
        "seed": seed,
    }


def _print(found: Answer) -> None:
    from arena.text import printable

    estimate, out = found.estimate, console()

    def say(text: str) -> None:
        out.print(printable(text), soft_wrap=True)

    told = estimate.refit_interval or estimate.wilson_interval or estimate.interval
    say(
        f"No classifier can err on less than {estimate.estimate:.3%} of rows like these, as "
        f"estimated from {estimate.n:,} ({estimate.level:.0%} interval: {told[0]:.3%} to "
        f"{told[1]:.3%})."
    )
    say(
        f"With a probability of {1 - estimate.delta:.0%} the estimate is within "
        f"{estimate.bound:.3%} of its expectation."
    )
    if estimate.refit_interval is not None:
        low, high = estimate.interval
        say(f"With the scaling of the scores taken as known: {low:.3%} to {high:.3%}.")
    if estimate.bias_bound is not None and estimate.bias_bound != (0, 0):
        say(f"It is too low by at most {-estimate.bias_bound[0]:.3%}, as labels are few.")
    if estimate.corrected is not None and estimate.corrected_interval is not None:
        low, high = estimate.corrected_interval
        say(f"Corrected for that, about {estimate.corrected:.3%} ({low:.3%} to {high:.3%}).")
    if found.positive is not None:
        say(f"Positive: {found.positive}.")
    say("This takes for granted:")
    for sentence in estimate.assumptions:
        say(f"  {sentence}")
