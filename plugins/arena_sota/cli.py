"""Ask whether a winner is the best, or the luckiest of many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.cli.folder import Directory, Wait, find_folder
from arena.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from arena_sota.estimate import SotaEstimate

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


class _Method(StrEnum):
    SHRINK = "shrink"
    CROP = "crop"


class _Target(StrEnum):
    MEAN = "mean"
    UPPER = "upper"


class _Theta(StrEnum):
    BOOTSTRAP = "bootstrap"
    FIXED = "fixed"


class _Count(StrEnum):
    FINALS = "finals"
    ALL = "all"


class _Model(StrEnum):
    ACCURACY = "accuracy"
    ROC_AUC = "roc_auc"


@app.command("max")
def max_command(
    rows: Annotated[int, typer.Option(help="Rows that every classifier is scored on.")],
    classifiers: Annotated[
        int | None, typer.Option(help="How many classifiers.  [default: as --theta-file has]")
    ] = None,
    theta: Annotated[
        float | None, typer.Option(help="The success probability of every classifier.")
    ] = None,
    uniform: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Success probabilities drawn evenly from A to B."),
    ] = None,
    theta_file: Annotated[
        Path | None, typer.Option(help="Success probabilities, one number per line.")
    ] = None,
    rho: Annotated[float, typer.Option(help="Correlation with the common cause, rho0.")] = 0.0,
    theta0: Annotated[
        float | None, typer.Option(help="Share of easy rows.  [default: the best classifier's]")
    ] = None,
    correct0: Annotated[
        int | None, typer.Option(help="Easy rows, if they are known.  [default: drawn]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say how good the best of many classifiers looks, beside how good it is.

    Nothing is drawn: the distribution of the best score is computed exactly.
    """
    from arena_sota.maximum import sample_maximum

    given = _theta(theta, uniform, theta_file)
    maximum = sample_maximum(rows, given, classifiers, rho0=rho, theta0=theta0, correct0=correct0)
    document = {"schema": "arena/sota-max/1", **maximum.to_dict()}
    if as_json:
        print_document(document)
        return
    low, high = maximum.interval()
    out = console()
    out.print(
        f"The best of {maximum.n_classifiers:,} scores on {rows:,} rows is {maximum.mean:.4f} on "
        f"average (standard deviation {maximum.std:.4f}; 95 %: {low:.4f} to {high:.4f}).",
        soft_wrap=True,
    )
    out.print(
        f"The best classifier is truly worth {maximum.theta_sota:.4f}, so the best score is "
        f"{maximum.bias:.4f} too good.",
        soft_wrap=True,
    )
    if maximum.left_out:
        out.print(f"{maximum.left_out:,.6g} classifiers are outside what rho allows.")


def _theta(theta: float | None, uniform: tuple[float, float] | None, file: Path | None) -> Any:
    given = [one for one in (theta, uniform, file) if one is not None]
    if len(given) != 1:
        raise UsageError("Say what the classifiers are: one of --theta, --uniform, --theta-file.")
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
    score_column: Annotated[str, typer.Option(help="The column of the scores.")] = "score",
    rows: Annotated[int | None, typer.Option(help="Rows that the scores are of.")] = None,
    classes: Annotated[int, typer.Option(help="Labels; a guess is right once in so many.")] = 2,
    rho: Annotated[
        float | None,
        typer.Option(
            help="Correlation with the common cause.  [default: 0.6, for roc_auc 0; estimated "
            "from stored predictions]"
        ),
    ] = None,
    method: Annotated[_Method, typer.Option(help="How scores become what they are worth.")] = (
        _Method.SHRINK
    ),
    target: Annotated[
        _Target, typer.Option(help="What must equal the best score: the mean, or its upper end.")
    ] = _Target.MEAN,
    metric: Annotated[
        _Model, typer.Option("--metric", "-m", help="What the scores are.")
    ] = _Model.ACCURACY,
    positives: Annotated[int | None, typer.Option(help="Positive rows, for roc_auc.")] = None,
    negatives: Annotated[int | None, typer.Option(help="Negative rows, for roc_auc.")] = None,
    theta: Annotated[
        _Theta, typer.Option(help="Draw the teams' worth anew each time, or keep it.")
    ] = _Theta.BOOTSTRAP,
    level: Annotated[float, typer.Option(help="Of the interval.")] = 0.95,
    count: Annotated[
        _Count, typer.Option(help="Stored predictions: the final submissions, or all.")
    ] = _Count.ALL,
    repetitions: Annotated[int, typer.Option(min=2, help="Drawings, for roc_auc.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Of all chance; only roc_auc has any.")] = 0,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Estimate what the best of a board is truly worth, having been the best of many.

    Of a board that somebody published, or of the predictions that this competition holds: then the
    dependence of the submissions is estimated, and near-copies count once.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    choices = {"method": method.value, "target": target.value, "theta": theta.value}
    if board is None:
        document, found = _of_competition(find_folder(directory), count, rho, choices, rng, wait)
    else:
        sizes = {"rows": rows, "classes": classes, "positives": positives, "negatives": negatives}
        found, used = _of_board(
            board, score_column, metric, sizes, rho, {**choices, "level": level}, repetitions, rng
        )
        document = {**found.to_dict(), "rho0": used}
    if as_json:
        print_document({"schema": "arena/sota-estimate/1", **document})
    else:
        _print_estimate(found, document)


def _of_board(
    board: Path,
    column: str,
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

    shown = read_scores(board, column)
    needed = ("rows",) if metric is _Model.ACCURACY else ("positives", "negatives")
    missing = [f"--{name}" for name in needed if sizes[name] is None]
    if missing:
        raise UsageError(f"Say {' and '.join(missing)}: how many the scores of {board} are of.")
    numbers = [int(sizes[name] or 0) for name in needed]
    if min(numbers) < 1:
        raise UsageError("The numbers of rows must be at least 1.")
    if metric is _Model.ACCURACY:
        scores, notes = exact_scores(shown, numbers[0], "rows")
        used = 0.6 if rho is None else rho
        found = estimate_sota(scores, numbers[0], int(sizes["classes"] or 2), rho0=used, **choices)
    else:
        if choices["method"] == "crop":
            raise UsageError("For roc_auc there is the method shrink only.")
        pairs = numbers[0] * numbers[1]
        scores, notes = exact_scores(shown, 2 * pairs, "half pairs of rows")
        used = 0.0 if rho is None else rho
        kept = {name: choices[name] for name in ("target", "level")}
        found = estimate_auc_sota(
            scores, numbers[0], numbers[1], rng, rho=used**2, repetitions=repetitions, **kept
        )
    for note in notes:
        say_note(note)
    return found, used


def _of_competition(
    folder: Path,
    count: _Count,
    rho: float | None,
    choices: dict[str, Any],
    rng: np.random.Generator,
    wait: float,
) -> tuple[dict[str, Any], SotaEstimate]:
    from arena_sota.analysis import board_document
    from arena_sota.of_study import best_of_study, refuse_without_model
    from arena_sota.stored import open_study

    with open_study(folder, every=count is _Count.ALL, wait=wait) as study:
        found = best_of_study(study, rng, rho0=rho, **choices)
        if found is None:
            raise refuse_without_model(study.metric.name)
        return board_document(found, study), found.estimate


def _print_estimate(found: SotaEstimate, document: dict[str, Any]) -> None:
    from arena_sota.verdict import of_the_predictions, per_cent, who_counts, who_is_left_out

    out = console()
    distinct = found.n_teams + found.at_or_below_chance
    counts = who_counts(document.get("submissions", distinct), distinct, found.n_teams)
    out.print(f"{found.verdict} {counts}".rstrip(), soft_wrap=True)
    low, high = found.interval
    stands = not found.solved and found.expected_maximum < found.observed_maximum
    case = "If the first too were worth just its score," if stands else "In that case"
    out.print(
        f"{case} {per_cent(found.level)} of best scores lie between {low:.4f} and {high:.4f}.",
        soft_wrap=True,
    )
    if "clusters" in document:
        out.print(of_the_predictions(document), soft_wrap=True)
    if found.left_out:
        out.print(who_is_left_out(found.left_out, document["rho0"]), soft_wrap=True)


@app.command()
def similarity(
    theta: Annotated[float, typer.Option(help="The accuracy of both classifiers.")],
    similarity: Annotated[float, typer.Option(help="The share of rows on which they agree.")],
    theta2: Annotated[
        float | None, typer.Option(help="The accuracy of the second one.  [default: the same]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Turn how often two classifiers agree into their correlation."""
    from arena_sota.dependence import correlation_from_similarity

    pair = correlation_from_similarity(similarity, theta, theta2)
    root = pair**0.5 if pair >= 0 else None
    if as_json:
        print_document({"schema": "arena/sota-similarity/1", "rho_pair": pair, "rho0": root})
        return
    common = "no common cause" if root is None else f"rho0 {root:.4f}"
    console().print(f"The correlation of the two is {pair:.4f}: {common}.")
