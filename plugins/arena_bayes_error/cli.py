"""Estimate the Bayes error: the lowest possible error rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES
from arena.utils.text import printable

app = typer.Typer(help=__doc__, add_completion=False)


@app.command()
def bayes_error(
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or .npy.", metavar="FILE", readable=False)
    ],
    kind: Annotated[
        str,
        typer.Option(
            help="The information on each row, as above; arena plugins --json lists the kinds of "
            "other plugins."
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the labels or features, comma-separated.  [default: the rest]"
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
            "[default: the second in sorted order; for counts each class separately]"
        ),
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="The share of positive rows, for positive-confidence.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="The column of groups, where groups were sampled and not rows."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Metrics whose best possible score is also computed, comma-separated: log_loss, "
            "brier, roc_auc, average_precision. For soft labels; for counts, brier only."
        ),
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(help="Number of neighbours, for features.  [default: 1]")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability that the bound fails.")] = 0.05,
    level: Annotated[
        float, typer.Option(help="Confidence level of the intervals.")
    ] = DEFAULT_LEVEL,
    resamples: Annotated[
        int, typer.Option(help="Number of bootstrap resamples.")
    ] = DEFAULT_RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    chart: Annotated[
        Path | None, typer.Option(help="Write a chart: .svg, .png or .json (Vega-Lite).")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the lowest error rate that any classifier can reach on rows like these.

    soft: the probability of the positive class, or of each class. uncertainty: the probability of
    the less likely class. noisy: soft labels with noise, with --sign. hard: observed labels, with
    --sign, or several columns of them. counts: how many annotators chose each class.
    positive-confidence: probabilities on positive rows, with --prior. scores: any numbers, with
    --label. features: any numbers, with --label; they give bounds by nearest neighbours, not an
    estimate.
    """
    from arena.charts import check_chart_path, write_chart
    from arena.plugin.manager import PluginManager
    from arena_bayes_error.functions import bayes_error as estimate
    from arena_bayes_error.output import document_of, sentences_of

    check_chart_path(chart)
    manager = PluginManager()
    answered = estimate(
        file,
        kind,
        columns=options.target_names(column),
        sign=sign,
        label=label,
        positive=positive,
        prior=prior,
        cluster=cluster,
        metrics=options.target_names(metric),
        neighbours=neighbours,
        delta=delta,
        level=level,
        resamples=resamples,
        seed=seed,
        manager=manager,
    )
    if chart is not None:
        from arena_bayes_error.charts import specification

        write_chart(specification(answered.fit or answered.found), chart)
    if as_json:
        print_document(document_of(answered, seed))
        return
    for sentence in sentences_of(answered):
        console().print(printable(sentence), soft_wrap=True)
