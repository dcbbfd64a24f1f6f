"""Estimate the lowest error that anyone could reach."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.errors import InputError, UsageError
from arena.text import printable

app = typer.Typer(help=__doc__, add_completion=False)

_FORMATS = (".svg", ".png", ".json")


class _Kind(StrEnum):
    SOFT = "soft"
    UNCERTAINTY = "uncertainty"
    NOISY = "noisy"
    HARD = "hard"
    COUNTS = "counts"
    POSITIVE_CONFIDENCE = "positive-confidence"
    SCORES = "scores"
    FEATURES = "features"


@app.command()
def bayes_error(
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or .npy.", metavar="FILE", readable=False)
    ],
    kind: Annotated[_Kind, typer.Option(help="What is known of each row.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the labels, or features, split at commas.  [default: the rest]"
        ),
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
    cluster: Annotated[
        str | None, typer.Option(help="A column of groups of rows: groups were drawn, not rows.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Also the best possible score in these, split at commas: log_loss, brier, "
            "roc_auc, average_precision. For soft labels; of counts, brier."
        ),
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(help="How many are asked, for features.  [default: 1]")
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
    probabilities on positive rows, with --prior. scores: any numbers, with --label. features: any
    numbers, with --label; they give bounds, by nearest neighbours, and no estimate.
    """
    import numpy as np

    from arena_bayes_error.asked import Asked
    from arena_bayes_error.kinds import answer
    from arena_bayes_error.label_file import read_label_file
    from arena_bayes_error.telling import document_of, sentences_of

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
        cluster=cluster,
        metric=options.target_names(metric),
        neighbours=neighbours,
        options={
            "level": level,
            "delta": delta,
            "resamples": resamples,
            "rng": np.random.default_rng(seed),
            "row_number": read.row_number,
        },
    )
    answered = answer(kind.value, asked)
    if chart is not None:
        _draw((answered.fit or answered.found).chart().to_dict(), chart)
    if as_json:
        print_document(document_of(answered, seed))
        return
    for sentence in sentences_of(answered):
        console().print(printable(sentence), soft_wrap=True)


def _check_chart(path: Path) -> None:
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"--chart {path.name}: its ending must be one of {', '.join(_FORMATS)}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: name a file in a folder that exists.")


def _draw(specification: Mapping[str, Any], path: Path) -> None:
    from arena.charts import as_altair, themed
    from arena.charts.theme import PAGE

    as_altair({**themed(specification), "background": PAGE}).save(str(path))
