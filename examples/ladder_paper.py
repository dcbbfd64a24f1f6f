"""The experiments of Blum and Hardt (2015), *The Ladder*, and what several accounts do to it.

Run it as ``python examples/ladder_paper.py FOLDER``; it prints its tables and draws Figures 3 and
6 as SVG into the folder. The authors' own curves are drawn beside ours where their files are
found: name their folder with ``--authors``. Nothing of theirs is in here.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from honest_competition import Honest
from scipy.stats import kendalltau

from arena import Competition
from arena.charts.theme import BLUE, GREY, ORANGE
from arena.interfaces import Metric, Move
from arena.leaderboard import minimum_ranks
from arena.plugin_manager import PluginManager
from arena.types import Chart, FloatArray
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.chart import write_chart
from arena_competitors.public_board import BoardSettings, PublicBoardRun
from arena_competitors.rows import synthetic_rows
from arena_ranking.paired import correct_p_values, paired_p_values

AUTHORS = Path(__file__).parents[2] / "shared" / "data" / "ladder"
ROWS, TOTAL_ROWS, SUBMISSIONS, REPEATS = 4_000, 12_000, 400, 5
PANELS = {"highacc": "kaggle(rounding=1e-5)", "lowacc": "kaggle(rounding=0.01)"}
COLORS = {"Test": GREY, "Ladder": BLUE, "Kaggle": ORANGE}
MANAGER = PluginManager()


# -- Figure 3: the boosting attack -----------------------------------------------------------------


def run_attack(
    attack: str, mechanism: str, submissions: int, repeats: int, scope: Any = "team"
) -> Curve:
    """Return the curve of an attack on accuracy of random labels, as in the paper."""
    metric: Metric = MANAGER.metrics.resolve("accuracy")
    campaign = Campaign(
        lambda rng: synthetic_rows(metric, ROWS, TOTAL_ROWS, 2, rng), submissions, repeats, scope
    )
    attacks = {attack: MANAGER.competitors.resolve(attack)}
    (curve,) = campaign.run(attacks, {mechanism: MANAGER.mechanisms.resolve(mechanism)})
    return curve


def figure_3(folder: Path, authors: Path, submissions: int, repeats: int) -> None:
    """Draw the public and hidden loss of the vote under rounding and under the Ladder."""
    ladder = run_attack("boosting", "ladder-free", submissions, repeats)
    panels = []
    for file, mechanism in PANELS.items():
        kaggle = run_attack("boosting", mechanism, submissions, repeats)
        ours = {
            "Kaggle": 1 - kaggle.mean["final_public"],
            "Ladder": 1 - ladder.mean["final_public"],
            "Test": 1 - kaggle.mean["fresh"],
        }
        theirs = read_curves(authors / f"kaggleboosting-4000-400-5-{file}.csv")
        panels.append(figure_3_panel(mechanism, kaggle.submissions, ours, theirs))
        for label, losses in ours.items():
            published = f", published {theirs[label][-1][1]:.4f}" if theirs else ""
            print(f"  {mechanism:22} {label:6} loss of the vote {losses[-1]:.4f}{published}")
    print(f"  {'ladder-free':22} shows {1 - ladder.mean['released'][-1]:.4f}")
    write(folder, "figure-3", {"hconcat": panels})


def read_curves(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Return the authors' points of each label; nothing where their file is not there."""
    curves: dict[str, list[tuple[float, float]]] = {}
    if path.is_file():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                curves.setdefault(row["label"], []).append((float(row["x"]), float(row["y"])))
    return curves


def figure_3_panel(
    title: str,
    at: Sequence[int],
    ours: dict[str, FloatArray],
    theirs: dict[str, list[tuple[float, float]]],
) -> dict[str, Any]:
    """Return our curves as lines over the authors' as points."""
    lines = [
        {"k": k, "loss": float(loss), "label": label}
        for label, losses in ours.items()
        for k, loss in zip(at, losses, strict=True)
    ]
    points = [
        {"k": k, "loss": loss, "label": label}
        for label, published in theirs.items()
        for k, loss in published
    ]
    scale = {"domain": list(COLORS), "range": list(COLORS.values())}
    encoding = {
        "x": {"field": "k", "type": "quantitative", "title": "submissions"},
        "y": {"field": "loss", "type": "quantitative", "scale": {"zero": False}},
        "color": {"field": "label", "type": "nominal", "title": None, "scale": scale},
    }
    dots = {"type": "point", "filled": True, "size": 16, "opacity": 0.6}
    return {
        "title": f"{title} (lines: here; points: published)",
        "width": 380,
        "height": 300,
        "layer": [
            {"data": {"values": lines}, "mark": "line", "encoding": encoding},
            {"data": {"values": points}, "mark": dots, "encoding": encoding},
        ],
    }


def write(folder: Path, name: str, specification: dict[str, Any]) -> None:
    """Draw a picture and say where it is."""
    path = folder / f"{name}.svg"
    write_chart(Chart(name, name, name, specification), path)
    print(f"  drawn: {path}")


# -- Table 1: an honest competition under both mechanisms -----------------------------------------


def table_1(honest: Honest) -> dict[str, pd.DataFrame]:
    """Print how the first ten of either board change under the Ladder; return the boards."""
    rows = honest.rows(MANAGER.metrics.resolve("brier"))
    settings = BoardSettings(honest.n_submissions // honest.n_teams)
    names = ("kaggle", "ladder-free")
    runs = {
        name: PublicBoardRun(MANAGER.mechanisms.resolve(name), rows, settings, seed=0)
        for name in names
    }
    standing: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in names}
    for team, prediction in honest.submissions():
        private = rows.hidden_score(prediction)
        for name, run in runs.items():
            shown = run.send(Move(prediction, team))
            if shown.improved:
                standing[name][team] = (shown.score, private)
    boards = {name: board_of(standing[name]) for name in names}
    for split in ("private", "public"):
        before, after = (boards[name][f"{split} rank"] for name in names)
        first = before[before <= 10].sort_values()
        moved = [f"{rank} -> {after[team]}" for team, rank in first.items() if after[team] != rank]
        agreement = float(kendalltau(before, after).statistic)
        changes = ", ".join(moved) or "none"
        print(f"  {split:7} ranks that change among the first ten: {changes}")
        print(f"  {'':7} all {len(before)} teams: Kendall's tau {agreement:.4f}")
    return boards


def board_of(standing: dict[int, tuple[float, float]]) -> pd.DataFrame:
    """Return scores and ranks of both boards, a row per team."""
    board = pd.DataFrame.from_dict(standing, orient="index", columns=["public", "private"])
    board = board.sort_index()
    for split in ("public", "private"):
        board[f"{split} rank"] = minimum_ranks(board[split].to_numpy(), greater_is_better=False)
    return board


# -- Figure 6: is the first of the public board better than the others? ---------------------------


def figure_6(folder: Path, authors: Path, honest: Honest) -> FloatArray:
    """Test the first of the public board against ranks 2 to 10, on the private rows, as stored."""
    with tempfile.TemporaryDirectory() as name:
        losses = stored_losses(Path(name), honest)
    differences = losses[0] - losses[1:]
    errors = differences.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    _, raw = paired_p_values(differences.mean(axis=1), errors, losses.shape[1] - 1)
    corrected = correct_p_values(raw, "bonferroni")
    for rank, (before, after) in enumerate(zip(raw, corrected, strict=True), start=2):
        print(f"  rank {rank:2}: p {before:.4f}, corrected for 9 comparisons {after:.4f}")
    check_authors(authors)
    values = [
        {"rank": rank, "p": float(p), "correction": label}
        for label, series in (("none", raw), ("Bonferroni", corrected))
        for rank, p in enumerate(series, start=2)
    ]
    write(folder, "figure-6", figure_6_chart(values))
    return raw


def stored_losses(folder: Path, honest: Honest) -> FloatArray:
    """Put the first ten of the public board into a competition; return their private losses.

    ``(10, n_private)``, the first of the public board first, read back from the database.
    """
    rows = honest.rows(MANAGER.metrics.resolve("brier"))
    best: dict[int, tuple[float, FloatArray]] = {}
    for team, prediction in honest.submissions():
        score = rows.score(rows.public_truth, prediction[rows.public])
        if team not in best or score < best[team][0]:
            best[team] = (score, prediction)
    usage = np.where(np.arange(honest.n_rows) < honest.n_public, "Public", "Private")
    truth = np.concatenate([rows.public_truth, rows.hidden_truth])
    solution = pd.DataFrame({"id": np.arange(honest.n_rows), "good": truth, "Usage": usage})
    solution.to_csv(folder / "solution.csv", index=False)
    with Competition.create(folder / "c", folder / "solution.csv", "brier") as competition:
        for rank, (_, prediction) in enumerate(sorted(best.values(), key=lambda one: one[0])[:10]):
            file = folder / f"{rank}.parquet"
            pd.DataFrame({"id": solution["id"], "good": prediction}).to_parquet(file)
            competition.submit(file, f"rank {rank}")
        study: Any = competition.judge().study
        (_, predictions), *_ = study.predictions.blocks(10)
        losses: FloatArray = study.metric.row_values(study.truth, predictions)
        return losses[np.argsort(study.teams)]


def check_authors(authors: Path) -> None:
    """Say how the published p-values relate: the corrected ones are 9 times the raw, uncapped."""
    published = []
    for name in ("top10pvals", "top10pvalsbon"):
        path = authors / f"{name}.csv"
        if not path.is_file():
            return
        published.append(pd.read_csv(path)["y"].to_numpy()[1:])
    raw, uncapped = published
    capped = np.minimum(uncapped, 1)
    same = bool(np.allclose(correct_p_values(raw, "bonferroni"), capped))
    print(f"  published: corrected = 9 x raw: {same}; significant at 0.05: {significant(capped)}")


def significant(corrected: FloatArray) -> list[int]:
    """Return the ranks whose corrected p-value is below 0.05."""
    return [rank for rank, p in enumerate(corrected, start=2) if p < 0.05]


def figure_6_chart(values: list[dict[str, Any]]) -> dict[str, Any]:
    """Return bars of p-values per rank, before and after correction, with the line at 0.05."""
    line = {"data": {"values": [{"p": 0.05}]}, "mark": {"type": "rule", "strokeDash": [4, 3]}}
    height = {"y": {"field": "p", "type": "quantitative"}}
    across = {"x": {"field": "rank", "type": "ordinal", "title": "rank"}}
    bars = {"mark": "bar", "encoding": {**across, **height}}
    panel = {"width": 300, "height": 240, "layer": [bars, {**line, "encoding": height}]}
    facet = {"column": {"field": "correction", "type": "nominal", "sort": ["none", "Bonferroni"]}}
    return {"data": {"values": values}, "facet": facet, "spec": panel}


# -- one person behind many teams -----------------------------------------------------------------

SYBIL = (
    ("ladder(eta=0.01)", "team"),
    ("ladder(eta=0.01)", "rank"),
    ("ladder(eta=0.01, start=baseline)", "team"),
    ("ladder(eta=0.01, start=baseline)", "rank"),
    ("ladder(eta=0.03)", "team"),
    ("ladder(eta=0.03)", "rank"),
)


def sybil_table(
    submissions: int, teams: Sequence[int], repeats: int, choices: Sequence[tuple[str, str]] = SYBIL
) -> dict[tuple[str, str, int], Curve]:
    """Print the bias that an attacker reaches with so many teams, under each board."""
    print(f"  {'mechanism':34} {'an instance per':15} " + "".join(f"{n:>16} teams" for n in teams))
    curves = {}
    for mechanism, scope in choices:
        cells = []
        for count in teams:
            attack = f"sybil(of=boosting, teams={count})"
            curve = run_attack(attack, mechanism, submissions, repeats, scope)
            error = curve.standard_error["bias"][-1]
            cells.append(f"{curve.last_bias:+.4f} ±{error:.4f}")
            curves[mechanism, scope, count] = curve
        print(f"  {mechanism:34} {scope:15} " + "".join(f"{cell:>22}" for cell in cells))
    return curves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--authors", type=Path, default=AUTHORS, help="the authors' result files")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"Figure 3: {SUBMISSIONS} submissions, {ROWS:,} public of {TOTAL_ROWS:,} rows")
    figure_3(options.folder, options.authors, SUBMISSIONS, REPEATS)
    honest = Honest()
    print(f"Table 1: {honest.n_teams} honest teams, {honest.n_submissions:,} submissions")
    table_1(honest)
    print("Figure 6: the first of the public board against the next nine, on the private rows")
    figure_6(options.folder, options.authors, honest)
    print("One person with 700 submissions behind several teams: bias of what is shown")
    sybil_table(700, (1, 70, 700), 3)


if __name__ == "__main__":
    main()
