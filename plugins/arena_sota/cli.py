"""Estimate the selection bias of the best score of many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Wait, find_folder
from arena.errors import UsageError
from arena.types import DEFAULT_LEVEL
from arena.utils.formatting import level_text
from arena.utils.progress import stage
from arena.utils.text import plural

if TYPE_CHECKING:
    import numpy as np

    from arena_sota.binormal import DrawnMaximum
    from arena_sota.estimate import SotaEstimate
    from arena_sota.maximum import SampleMaximum
    from arena_sota.posterior import BestPosterior
    from arena_sota.reuse import Reuse

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


_Chart = Annotated[
    Path | None, typer.Option(help="Write a chart: .svg, .png or .json (Vega-Lite).")
]
_Where = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=VALUE",
        help="Only these rows of the file.  [default: private, if a column holds private and "
        "public]",
    ),
]
_Percent = Annotated[
    bool, typer.Option("--percent", help="The scores are percentages: divide them by 100.")
]
_SHARES = (0.025, 0.05, 0.5, 0.95, 0.975)


_Method = Literal["shrink", "crop"]
_Target = Literal["mean", "upper"]
_Theta = Literal["bootstrap", "fixed"]
_Count = Literal["finals", "all"]
_Model = Literal["accuracy", "roc_auc"]
_Metric = Annotated[_Model, typer.Option("--metric", "-m", help="The metric of the scores.")]
_Positives = Annotated[int | None, typer.Option(help="Number of positive rows, for roc_auc.")]
_Negatives = Annotated[int | None, typer.Option(help="Number of negative rows, for roc_auc.")]
_Seed = Annotated[int, typer.Option(min=0, help="Random seed, for roc_auc.")]
_ScoreColumn = Annotated[str, typer.Option(help="The column of the scores.")]
_Classes = Annotated[
    int, typer.Option(help="Number of classes; a guess is right with probability 1/classes.")
]


@app.command("max")
def max_command(
    rows: Annotated[
        int | None, typer.Option(help="Number of rows that every classifier is scored on.")
    ] = None,
    classifiers: Annotated[
        int | None, typer.Option(help="Number of classifiers.  [default: that of --theta-file]")
    ] = None,
    theta: Annotated[
        float | None, typer.Option(help="The success probability, or AUC, of every classifier.")
    ] = None,
    uniform: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Success probabilities uniform on A to B."),
    ] = None,
    theta_file: Annotated[
        Path | None, typer.Option(help="Success probabilities, one number per line.")
    ] = None,
    rho: Annotated[float, typer.Option(help="Correlation with a common cause, rho0.")] = 0.0,
    theta0: Annotated[
        float | None, typer.Option(help="Share of easy rows.  [default: the best classifier's]")
    ] = None,
    correct0: Annotated[
        int | None, typer.Option(help="Number of easy rows, if known.  [default: binomial]")
    ] = None,
    at: Annotated[
        list[float] | None,
        typer.Option(help="Also the probability that the best score is this or higher."),
    ] = None,
    metric: _Metric = "accuracy",
    positives: _Positives = None,
    negatives: _Negatives = None,
    repetitions: Annotated[
        int, typer.Option(min=2, help="Number of simulations, for roc_auc.")
    ] = 2_000,
    seed: _Seed = 0,
    chart: _Chart = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute the distribution of the best score of many classifiers, and its selection bias.

    The distribution is exact, except for roc_auc: it is simulated, and each figure has its error.
    """
    from arena.charts import check_chart_path

    check_chart_path(chart)
    given = accuracies_of(theta, uniform, theta_file)
    maximum: SampleMaximum | DrawnMaximum
    if metric == "accuracy":
        from arena_sota.maximum import sample_maximum

        if rows is None or positives is not None or negatives is not None:
            raise UsageError("An accuracy needs --rows, and no --positives and --negatives.")
        maximum = sample_maximum(
            rows, given, classifiers, rho0=rho, theta0=theta0, correct0=correct0
        )
        behind = f"{plural(classifiers or maximum.n_classifiers, 'score')} on {plural(rows, 'row')}"
    else:
        if positives is None or negatives is None or (rows, theta0, correct0) != (None,) * 3:
            raise UsageError(
                "roc_auc needs --positives and --negatives instead of --rows, and has no easy rows."
            )
        with stage("Simulating boards"):
            maximum, classifiers = _auc_maximum(
                given,
                classifiers,
                positives=positives,
                negatives=negatives,
                rho=rho,
                repetitions=repetitions,
                seed=seed,
            )
        behind = (
            f"{classifiers:,} AUCs on {positives:,} positive and "
            f"{plural(negatives, 'negative row')}"
        )
    reached = [
        {
            "score": score,
            "probability": maximum.at_least(score),
            "simulation_error": maximum.at_least_error(score),
        }
        for score in at or ()
    ]
    quantiles = [
        {
            "share": share,
            "score": maximum.quantile(share),
            "simulation_error": maximum.quantile_error(share),
        }
        for share in _SHARES
    ]
    if chart is not None:
        _write(maximum, chart)
    document = {
        "schema": "arena/sota-max/1",
        **maximum.to_dict(),
        "quantiles": quantiles,
        "at_least": reached,
        "simulation_error": maximum.simulation_error,
        "std_simulation_error": maximum.std_simulation_error,
    }
    if as_json:
        print_document(document)
        return
    low, high = maximum.interval()
    mean_error = maximum.simulation_error
    out = console()
    out.print(
        f"The best of {behind} is {maximum.mean:.4f}{_error(mean_error)} on average (standard "
        f"deviation {maximum.std:.4f}{_error(maximum.std_simulation_error)}; 95%: {low:.4f} to "
        f"{high:.4f}).",
        soft_wrap=True,
    )
    if mean_error is not None:
        out.print(
            "This is simulated: the figure after ± is the standard error of the simulation "
            "(smaller with more --repetitions).",
            soft_wrap=True,
        )
    out.print(
        f"The best true performance is {maximum.theta_sota:.4f}, so the selection bias is "
        f"{maximum.bias:.4f}{_error(mean_error)}.",
        soft_wrap=True,
    )
    ends = ", ".join(
        f"{quantile['share']:g}: {quantile['score']:.4f}{_error(quantile['simulation_error'])}"
        for quantile in quantiles
    )
    out.print(f"Quantiles of the best score: {ends}.", soft_wrap=True)
    for chance in reached:
        error = _error(chance["simulation_error"])
        out.print(f"P(best score >= {chance['score']:g}) = {chance['probability']:.4g}{error}.")
    if maximum.left_out:
        out.print(
            f"{maximum.left_out:,.6g} classifiers are outside the bounds that rho sets.",
            soft_wrap=True,
        )


def _error(error: float | None) -> str:
    return "" if error is None else f" ± {error:.2g}"


def _auc_maximum(
    given: Any,
    classifiers: int | None,
    positives: int,
    negatives: int,
    rho: float,
    repetitions: int,
    seed: int,
) -> tuple[DrawnMaximum, int]:
    """Return the simulated best AUC, and the number of classifiers."""
    import numpy as np

    from arena_sota.binormal import auc_maximum

    rng = np.random.default_rng(seed)
    if hasattr(given, "ppf"):
        if classifiers is None:
            raise UsageError("--uniform needs the number of classifiers: give --classifiers.")
        given = given.ppf((np.arange(classifiers) + 0.5) / classifiers)
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    size = classifiers or len(values)
    if len(values) not in (1, size):
        raise UsageError(f"There are {len(values):,} AUCs for {plural(size, 'classifier')}.")
    values = np.broadcast_to(values, size).copy()
    drawn_maximum = auc_maximum(
        values, positives, negatives, rng, rho=rho**2, repetitions=repetitions
    )
    return drawn_maximum, size


def accuracies_of(
    theta: float | None, uniform: tuple[float, float] | None, file: Path | None
) -> Any:
    """Return the accuracies that one option describes: a number, distribution or array."""
    options_given = [option for option in (theta, uniform, file) if option is not None]
    if len(options_given) != 1:
        raise UsageError(
            "Describe the classifiers with one of --theta, --uniform and --theta-file."
        )
    if uniform is not None:
        from scipy.stats import uniform as distribution

        low, high = uniform
        if not 0 <= low < high <= 1:
            raise UsageError("--uniform takes two probabilities A and B with 0 <= A < B <= 1.")
        return distribution(low, high - low)
    if file is not None:
        from arena_sota.board_file import read_numbers

        return read_numbers(file)
    return theta


@app.command()
def estimate(
    board: Annotated[
        Path | None,
        typer.Argument(
            help="A CSV file of scores.  [default: the competition's stored predictions]",
            metavar="[BOARD]",
            readable=False,
        ),
    ] = None,
    score_column: _ScoreColumn = "score",
    where: _Where = None,
    percent: _Percent = False,
    rows: Annotated[int | None, typer.Option(help="Number of rows behind each score.")] = None,
    classes: _Classes = 2,
    rho: Annotated[
        float | None,
        typer.Option(
            help="Correlation with a common cause.  [default: 0.6, for roc_auc 0; estimated if "
            "predictions are stored]"
        ),
    ] = None,
    method: Annotated[_Method, typer.Option(help="How true performances follow from scores.")] = (
        "shrink"
    ),
    target: Annotated[
        _Target, typer.Option(help="What must equal the best score: its mean, or its upper limit.")
    ] = "mean",
    metric: _Metric = "accuracy",
    positives: _Positives = None,
    negatives: _Negatives = None,
    theta: Annotated[
        _Theta, typer.Option(help="Resample the true performances, or keep them fixed.")
    ] = "bootstrap",
    level: Annotated[
        float, typer.Option(help="Confidence level of the intervals.")
    ] = DEFAULT_LEVEL,
    count: Annotated[
        _Count, typer.Option(help="Of stored predictions: the final submissions, or all.")
    ] = "all",
    repetitions: Annotated[
        int, typer.Option(min=2, help="Number of simulations, for roc_auc.")
    ] = 400,
    seed: _Seed = 0,
    chart: _Chart = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the true performance of the best of a leaderboard, corrected for selection.

    The scores come from a published leaderboard, or from the predictions stored by this
    competition. With predictions, the dependence of the submissions is estimated and
    near-duplicates count once.
    """
    import numpy as np

    from arena.charts import check_chart_path
    from arena_sota.verdict import assumptions_of

    check_chart_path(chart)
    rng = np.random.default_rng(seed)
    choices = {"method": method, "target": target, "theta": theta}
    if board is None:
        document, sota = _of_competition(
            find_folder(directory), count, rho=rho, choices=choices, rng=rng, wait=wait
        )
    else:
        sizes = {"rows": rows, "classes": classes, "positives": positives, "negatives": negatives}
        sota, columns_used = _of_board(
            board,
            {"column": score_column, "where": where, "percent": percent},
            metric=metric,
            sizes=sizes,
            rho=rho,
            choices={**choices, "level": level},
            repetitions=repetitions,
            rng=rng,
        )
        source = "default" if rho is None else "given"
        drawn = theta if metric == "accuracy" else "fixed"
        assumed = assumptions_of(sota.method, columns_used, source, drawn)
        document = {
            **sota.to_dict(),
            "rho0": columns_used,
            "rho0_source": source,
            "assumptions": assumed,
        }
    if chart is not None:
        _write(sota, chart)
    if as_json:
        print_document({"schema": "arena/sota-estimate/1", **document})
    else:
        _print_estimate(sota, document)


def _write(
    result: SampleMaximum | DrawnMaximum | SotaEstimate | BestPosterior | Reuse, path: Path
) -> None:
    from arena.charts import write_chart
    from arena_sota.charts import report_chart

    write_chart(report_chart(result).specification, path)


def _of_board(
    board: Path,
    source: dict[str, Any],
    metric: _Model,
    sizes: dict[str, int | None],
    rho: float | None,
    choices: dict[str, Any],
    repetitions: int,
    rng: np.random.Generator,
) -> tuple[SotaEstimate, float]:
    """Return the estimate from a file, and the rho0 that it was made with."""
    from arena_sota.auc_estimate import estimate_auc_sota
    from arena_sota.board_file import exact_scores, read_scores
    from arena_sota.estimate import estimate_sota

    shown_scores = read_scores(board, **source)
    needed = ("rows",) if metric == "accuracy" else ("positives", "negatives")
    missing = [f"--{name}" for name in needed if sizes[name] is None]
    if missing:
        raise UsageError(
            f"Give {' and '.join(missing)}: the number of rows behind the scores in {board}."
        )
    numbers = [int(sizes[name] or 0) for name in needed]
    if min(numbers) < 1:
        raise UsageError("The numbers of rows must be at least 1.")
    if metric == "accuracy":
        scores, notes = exact_scores(shown_scores, numbers[0], "rows")
        used = 0.6 if rho is None else rho
        sota_estimate = estimate_sota(
            scores, numbers[0], int(sizes["classes"] or 2), rho0=used, **choices
        )
    else:
        if choices["method"] == "crop":
            raise UsageError("For roc_auc only --method shrink is available.")
        pairs = numbers[0] * numbers[1]
        scores, notes = exact_scores(shown_scores, 2 * pairs, "half pairs of rows")
        used = 0.0 if rho is None else rho
        shared_choices = {name: choices[name] for name in ("target", "level")}
        with stage("Simulating boards"):
            sota_estimate = estimate_auc_sota(
                scores,
                numbers[0],
                numbers[1],
                rng,
                rho=used**2,
                repetitions=repetitions,
                **shared_choices,
            )
    for note in (*shown_scores.notes, *notes):
        say_note(note)
    return sota_estimate, used


def _of_competition(
    folder: Path,
    count: _Count,
    rho: float | None,
    choices: dict[str, Any],
    rng: np.random.Generator,
    wait: float,
) -> tuple[dict[str, Any], SotaEstimate]:
    from arena.evaluation.best_score import corrected_best
    from arena_sota.analysis import board_document
    from arena_sota.stored_study import open_studies
    from arena_sota.study import best_of_study, refuse_without_model

    with (
        stage("Correcting the best score"),
        open_studies(folder, every=count == "all", wait=wait) as (study,),
    ):
        board_maximum = best_of_study(study, rng, rho0=rho, **choices)
        if board_maximum is None:
            raise refuse_without_model(study.metric.name)
        best = corrected_best(study, rng)
        corrected = {"estimate": best.estimate, "low": best.low, "high": best.high}
        return {
            **board_document(board_maximum, study),
            "corrected_best": corrected,
        }, board_maximum.estimate


def _print_estimate(sota: SotaEstimate, document: dict[str, Any]) -> None:
    from arena_sota.verdict import of_the_predictions, who_counts, who_is_left_out

    out = console()
    corrected = document.get("corrected_best")
    if corrected is not None:
        out.print(
            f"From the predictions: corrected for selection, the best score is worth about "
            f"{corrected['estimate']:.4f}; the best true score is between {corrected['low']:.4f} "
            f"and {corrected['high']:.4f} ({level_text(sota.level)} confidence). From the scores "
            f"alone:",
            soft_wrap=True,
        )
    distinct = sota.n_teams + sota.at_or_below_chance
    counts = who_counts(document.get("submissions", distinct), distinct, sota.n_teams)
    out.print(f"{sota.verdict} {counts}".rstrip(), soft_wrap=True)
    low, high = sota.interval
    unexplained = not sota.solved and sota.expected_maximum < sota.observed_maximum
    case = "If every score were a true performance" if unexplained else "Under the estimate"
    out.print(
        f"{case}, {level_text(sota.level)} of best scores lie between {low:.4f} and {high:.4f}.",
        soft_wrap=True,
    )
    if sota.sota_interval is not None:
        low, high = sota.sota_interval
        out.print(
            f"The best true accuracy is between {low:.4f} and {high:.4f} "
            f"({level_text(sota.level)} confidence, for any true accuracies and any dependence "
            f"between teams).",
            soft_wrap=True,
        )
    elif corrected is None:
        out.print(
            "There is no confidence interval for this estimate: scores alone do not give it.",
            soft_wrap=True,
        )
    if sota.empirical_bayes is not None:
        out.print(f"By empirical Bayes it is {sota.empirical_bayes:.4f}.")
    if sota.simulation_error is not None:
        out.print(
            f"The best score is simulated: the estimate has a simulation error of about "
            f"{sota.simulation_error:.4f} (standard error; smaller with more --repetitions).",
            soft_wrap=True,
        )
    if "clusters" in document:
        out.print(of_the_predictions(document), soft_wrap=True)
    if sota.left_out:
        out.print(who_is_left_out(sota.left_out, document["rho0"]), soft_wrap=True)
    out.print("Assumptions of the estimate:")
    for sentence in document["assumptions"]:
        out.print(f"  {sentence}", soft_wrap=True)


@app.command()
def posterior(
    board: Annotated[Path, typer.Argument(help="A CSV file of accuracies.", readable=False)],
    rows: Annotated[int, typer.Option(help="Number of rows behind each score.")],
    score_column: _ScoreColumn = "score",
    where: _Where = None,
    percent: _Percent = False,
    classes: _Classes = 2,
    rho: Annotated[float, typer.Option(help="Correlation with a common cause, rho0.")] = 0.6,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Tolerance for the best score.  [default: one row, 1/rows]"),
    ] = None,
    prior: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="A B",
            help="A prior uniform on A to B.  [default: between guessing and 1]",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Probability of the credible interval.")
    ] = DEFAULT_LEVEL,
    chart: _Chart = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute a posterior of the best true accuracy by approximate Bayesian computation.

    The accuracies are the scores of the board moved toward or away from guessing. A best true
    accuracy is kept with the exact probability that the best score on such a board is within
    epsilon of the observed one.
    """
    import numpy as np

    from arena.charts import check_chart_path
    from arena.evaluation.levels import check_level
    from arena_sota.board_file import exact_scores, read_scores
    from arena_sota.posterior import best_posterior

    check_chart_path(chart)
    check_level(level)
    if prior is not None and not 0 <= prior[0] < prior[1] <= 1:
        raise UsageError("--prior takes two accuracies A and B with 0 <= A < B <= 1.")
    shown_scores = read_scores(board, score_column, where, percent=percent)
    scores, notes = exact_scores(shown_scores, rows, "rows")
    for note in (*shown_scores.notes, *notes):
        say_note(note)
    within = prior or (1 / classes, 1.0)
    posterior_of_best = best_posterior(
        scores,
        rows,
        classes,
        rho0=rho,
        epsilon=epsilon,
        prior=lambda best: ((best >= within[0]) & (best <= within[1])).astype(np.float64),
    )
    words = f"uniform on {within[0]:.4g} to {within[1]:.4g}"
    low, high = posterior_of_best.interval(level)
    observed = float(scores.max())
    if chart is not None:
        _write(posterior_of_best, chart)
    if as_json:
        document = {
            "mean": posterior_of_best.mean,
            "interval": [low, high],
            "level": level,
            "observed_maximum": observed,
            "epsilon": posterior_of_best.epsilon,
            "rho0": rho,
            "prior": words,
            "best": posterior_of_best.best.tolist(),
            "probability": posterior_of_best.probability.tolist(),
        }
        print_document({"schema": "arena/sota-posterior/1", **document})
        return
    console().print(
        f"The best true accuracy is {posterior_of_best.mean:.4f} on average, and between {low:.4f} "
        f"and {high:.4f} with a probability of {level:.10g}; the best score is {observed:.4f}. "
        f"Prior: {words}. Assumes rho0 {rho:g}, a tolerance of {posterior_of_best.epsilon:.4g}, "
        f"and true accuracies spread as the scores are.",
        soft_wrap=True,
    )


@app.command()
def reuse(
    chart: _Chart = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Compare public and private scores over the history of a competition.

    Teams that adapt to the public rows get public scores that grow faster than their private ones.
    The more similar the submissions are, the smaller is the largest error of their public scores.
    All accepted submissions count, on their exact scores. The answer depends on private labels: do
    not show it before the end.
    """
    from arena.charts import check_chart_path
    from arena_sota.reuse import reuse_of_public_rows
    from arena_sota.stored_study import open_studies
    from arena_sota.verdict import of_reuse

    check_chart_path(chart)
    folder = find_folder(directory)
    with (
        stage("Comparing public and private scores"),
        open_studies(folder, ("public", "private"), every=True, wait=wait) as (public, private),
    ):
        comparison = reuse_of_public_rows(public, private)
    if chart is not None:
        _write(comparison, chart)
    if as_json:
        print_document({"schema": "arena/sota-reuse/1", **comparison.to_dict()})
        return
    for sentence in of_reuse(comparison):
        console().print(sentence, soft_wrap=True)


@app.command()
def similarity(
    theta: Annotated[float, typer.Option(help="The accuracy of both classifiers.")],
    similarity: Annotated[float, typer.Option(help="The share of rows on which they agree.")],
    theta2: Annotated[
        float | None, typer.Option(help="The accuracy of the second one.  [default: the same]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Convert how often two classifiers agree into their correlation."""
    from arena_sota.dependence import correlation_from_similarity

    pair = correlation_from_similarity(similarity, theta, theta2)
    root = pair**0.5 if pair >= 0 else None
    if as_json:
        print_document({"schema": "arena/sota-similarity/1", "rho_pair": pair, "rho0": root})
        return
    common = "no common cause explains it" if root is None else f"rho0 {root:.4f}"
    console().print(f"Their correlation is {pair:.4f}: {common}.")
