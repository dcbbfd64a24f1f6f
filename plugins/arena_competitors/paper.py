"""The numbers and figures of Blum and Hardt (2015), *The Ladder*, computed again.

Figure 3 is simulated. Table 1 and Figures 4 to 6 are of a real competition whose submissions are
not public; they come from the authors' result files where these are present. They are
compared with a simulated competition of the same size without attackers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from arena.charts.theme import BLUE, GREY, INK, ORANGE
from arena.evaluation.ranks import minimum_ranks
from arena.interfaces import Metric, Move, PaperOptions, Reproduced, Reproduction, rounded, within
from arena.plugin.manager import PluginManager
from arena.types import Chart, FloatArray, IntArray
from arena.utils.parallel import Progress
from arena.utils.text import plural
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.honest_competition import Honest
from arena_competitors.public_board import BoardSettings, PublicBoardRun
from arena_competitors.rows import synthetic_rows

ROWS, TOTAL_ROWS = 4_000, 12_000
PANELS = {"highacc": "kaggle(rounding=1e-5)", "lowacc": "kaggle(rounding=0.01)"}
AT_THE_END = {"Kaggle": 0.4297, "Ladder": 0.4857, "Test": 0.5}
"""Losses after 400 submissions, of the authors' code."""
_SD = 0.0079
"""Of a loss on 4,000 rows, in one repetition; the authors average five."""
COLORS = {"Test": GREY, "Ladder": BLUE, "Kaggle": ORANGE}
_OWN_LEGENDS = {"scale": {"color": "independent"}}
SYBIL = (
    ("ladder(eta=0.01)", "team"),
    ("ladder(eta=0.01)", "rank"),
    ("ladder(eta=0.01, start=baseline)", "team"),
    ("ladder(eta=0.01, start=baseline)", "rank"),
)
_FIGURES_4_AND_5 = (
    ("top50kaggle-private", "figure-4-kaggle", "Kaggle mechanism"),
    ("top50ladder-private", "figure-4-ladder", "Ladder"),
)


class LadderPaper:
    """Blum and Hardt (2015)."""

    name = "ladder"
    title = "Blum and Hardt (2015), The Ladder: A Reliable Leaderboard for Machine Learning"

    def reproduce(self, options: PaperOptions, progress: Progress) -> Reproduction:
        """Simulate Figure 3, and compare the authors' files of the real competition."""
        authors = None if options.data is None else options.data / "ladder"
        authors = authors if authors is not None and authors.is_dir() else None
        manager = PluginManager()
        rows, charts = figure_3(manager, authors, options, progress)
        honest = Honest(seed=options.seed)
        if options.quick:
            honest = Honest(3_000, 900, n_teams=50, n_submissions=400, seed=options.seed)
        rows += honest_table(manager, honest)
        if not options.quick:
            rows += several_teams(manager, 700, teams=(1, 70, 700), repeats=3, seed=options.seed)
        missing = [
            "Table 1 and Figures 4 to 6 from submissions: those of the Photo Quality competition "
            "are not public.",
            "Figure 5, its error bars: the authors' files hold the means only.",
            "Figures 1, 2 and 7 are the mechanisms as pseudocode: ladder, ladder-free and kaggle.",
        ]
        if authors is None:
            missing.append("Points of Figure 3, Table 1 and Figures 4 to 6: ladder is not in "
                           "--data.")  # fmt: skip
        else:
            rows += table_1(authors)
            rows += figure_6(authors)
            charts += authors_charts(authors)
        return Reproduction(tuple(rows), tuple(charts), tuple(missing))


def run_attack(
    manager: PluginManager,
    attack: str,
    mechanism: str,
    submissions: int,
    repeats: int,
    seed: int,
    scope: Any = "team",
) -> Curve:
    """Return the curve of an attack on accuracy of random labels, as in the paper."""
    metric: Metric = manager.metrics.resolve("accuracy")
    campaign = Campaign(
        lambda rng: synthetic_rows(metric, ROWS, n_rows=TOTAL_ROWS, n_classes=2, rng=rng),
        submissions,
        repeats=repeats,
        scope=scope,
        seed=seed,
    )
    attacks = {attack: manager.competitors.resolve(attack)}
    (curve,) = campaign.run(attacks, {mechanism: manager.mechanisms.resolve(mechanism)})
    return curve


def figure_3(
    manager: PluginManager,
    authors: Path | None,
    options: PaperOptions,
    progress: Progress,
    submissions: int = 400,
) -> tuple[list[Reproduced], list[Chart]]:
    """Return loss and chart of the boosting attack under rounding and under the Ladder."""
    repeats = 2 if options.quick else 5
    progress.start("Attacking", 1 + len(PANELS))
    ladder = run_attack(
        manager,
        "boosting",
        mechanism="ladder-free",
        submissions=submissions,
        repeats=repeats,
        seed=options.seed,
    )
    progress.advance()
    released = float(1 - ladder.mean["released"][-1])
    what = f"Ladder, released loss after {plural(submissions, 'submission')}"
    note = "the authors' curve is the loss of the vote, which they never submit"
    rows, panels = [Reproduced("Figure 3", what, None, released, None, note)], []
    reach = 4 * _SD * float(np.sqrt(1 / 5 + 1 / repeats))
    for file, mechanism in PANELS.items():
        kaggle = run_attack(
            manager,
            "boosting",
            mechanism=mechanism,
            submissions=submissions,
            repeats=repeats,
            seed=options.seed,
        )
        progress.advance()
        ours = {
            "Kaggle": 1 - kaggle.mean["final_public"],
            "Ladder": 1 - ladder.mean["final_public"],
            "Test": 1 - kaggle.mean["fresh"],
        }
        theirs = {}
        if authors is not None:
            theirs = read_curves(authors / f"kaggleboosting-4000-400-5-{file}.csv")
        where = f"Figure 3, {mechanism}"
        for label, losses in ours.items():
            points = theirs.get(label)
            if points and len(points) == len(losses):
                gap = float(np.abs(losses - np.array([loss for _, loss in points])).max())
                what = f"{label}, largest distance to the authors' points"
                rows.append(within(where, what, 0.0, gap, reach))
            published = points[-1][1] if points else AT_THE_END[label]
            what = f"{label}, loss of the vote after {plural(submissions, 'submission')}"
            rows.append(within(where, what, published, float(losses[-1]), reach))
        panels.append(figure_3_panel(mechanism, kaggle.submissions, ours, theirs))
    title = "The boosting attack under rounding and under the Ladder"
    return rows, [Chart("figure-3", title, f"{title}.", {"hconcat": panels})]


def read_curves(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Return the authors' points of each label; empty if their file does not exist."""
    curves: dict[str, list[tuple[float, float]]] = {}
    if path.is_file():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                curves.setdefault(row["label"], []).append((float(row["x"]), float(row["y"])))
    return curves


def figure_3_panel(
    title: str,
    submission_counts: Sequence[int],
    ours: Mapping[str, FloatArray],
    theirs: Mapping[str, list[tuple[float, float]]],
) -> dict[str, Any]:
    """Return our curves as lines over the authors' as points."""
    lines = [
        {"k": k, "loss": float(loss), "label": label}
        for label, losses in ours.items()
        for k, loss in zip(submission_counts, losses, strict=True)
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


def honest_table(manager: PluginManager, honest: Honest) -> Iterator[Reproduced]:
    """Yield how much both boards of a simulated honest competition change under the Ladder."""
    boards = honest_boards(manager, honest)
    for split in (0, 1):
        before, after = (ranks_of(boards[name][:, split]) for name in ("kaggle", "ladder-free"))
        where, board = "Table 1, simulated", ("public", "private")[split]
        moved = int((before != after)[before <= 10].sum())
        yield Reproduced(
            where, f"{board} ranks among the first ten that change", None, moved, None,
            plural(honest.n_teams, "honest team"),
        )  # fmt: skip
        tau = float(kendalltau(before, after).statistic)
        yield Reproduced(where, f"{board} ranks, Kendall's tau", None, tau, None)


def honest_boards(manager: PluginManager, honest: Honest) -> dict[str, FloatArray]:
    """Return ``(n_teams, 2)`` released public and private losses under each mechanism."""
    rows = honest.rows(manager.metrics.resolve("brier"))
    settings = BoardSettings(honest.n_submissions // honest.n_teams)
    boards = {name: np.full((honest.n_teams, 2), np.nan) for name in ("kaggle", "ladder-free")}
    runs = {
        name: PublicBoardRun(manager.mechanisms.resolve(name), rows, settings, seed=0)
        for name in boards
    }
    for team, prediction in honest.submissions():
        private = rows.hidden_score(prediction)
        for name, run in runs.items():
            answer = run.send(Move(prediction, team))
            if answer.improved:
                boards[name][team] = answer.score, private
    return boards


def ranks_of(losses: FloatArray) -> IntArray:
    """Return the ranks of losses, 1 the lowest."""
    return minimum_ranks(losses, greater_is_better=False)


def table_1(authors: Path) -> Iterator[Reproduced]:
    """Yield the ranks that change under the Ladder, from the authors' scores of both boards."""
    kaggle, ladder = (
        read_pairs(authors / f"top50{name}-private.csv") for name in ("kaggle", "ladder")
    )
    order = matched(kaggle[:, 0], ladder[:, 0])
    found_of = {
        "private": dict(zip(range(1, 51), (order + 1).tolist(), strict=True)),
        "public": dict(
            zip(
                ranks_of(kaggle[:, 0]).tolist(), ranks_of(ladder[:, 0])[order].tolist(), strict=True
            )
        ),
    }
    printed = {"private": {6: 8, 8: 6}, "public": {5: 7, 6: 5, 7: 6}}
    for board, changes in printed.items():
        measured = found_of[board]
        for rank in range(1, 11):
            published = changes.get(rank, rank)
            if published == rank == measured.get(rank):
                continue  # the table lists changes only
            yield rounded(
                "Table 1",
                f"{board} rank under the Ladder of rank {rank} under Kaggle's",
                published,
                measured.get(rank, np.nan),
                0,
                "the files name no submissions, so that those with a changed public score are "
                "matched by their order",
            )


def matched(before: FloatArray, after: FloatArray) -> IntArray:
    """Return ``(n,)`` positions of the same submissions: equal public losses, else by order.

    Of submissions with equal losses the last is matched first: the order in the paper.

    >>> matched(np.array([0.3, 0.1, 0.2, 0.2]), np.array([0.1, 0.4, 0.2, 0.5])).tolist()
    [1, 0, 3, 2]
    """
    positions = np.full(len(before), -1)
    left = list(range(len(after)))
    for position, loss in reversed(list(enumerate(before.tolist()))):
        same = next((other for other in left if after[other] == loss), None)
        if same is not None:
            positions[position] = same
            left.remove(same)
    positions[positions < 0] = left
    return positions


def read_pairs(path: Path) -> FloatArray:
    """Return ``(n, 2)`` of the columns x and y."""
    with path.open(newline="") as file:
        rows = [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file)]
    return np.array(rows)


def figure_6(authors: Path) -> Iterator[Reproduced]:
    """Yield the published p-values after correction, from those before."""
    raw, corrected = (
        read_pairs(authors / f"{name}.csv")[1:, 1] for name in ("top10pvals", "top10pvalsbon")
    )
    for rank, before, after in zip(range(2, 11), raw, corrected, strict=True):
        computed = min(1.0, 9 * float(before))
        note = "the paper does not cap its corrected p-values at 1" if after > 1 else ""
        what = f"p of rank {rank} after Bonferroni's correction"
        yield rounded("Figure 6", what, round(float(after), 6), computed, 6, note)


def authors_charts(authors: Path) -> Iterator[Chart]:
    """Yield Figures 4 to 6 from the authors' files."""
    axis = {"type": "quantitative", "scale": {"zero": False}}
    for file, name, mechanism in _FIGURES_4_AND_5:
        pairs = read_pairs(authors / f"{file}.csv")
        values = [{"public": x, "private": y} for x, y in pairs.tolist()]
        ends = [{"public": end, "private": end} for end in (pairs.min(), pairs.max())]
        encoding = {
            "x": {"field": "public", "title": "public loss", **axis},
            "y": {"field": "private", "title": "private loss", **axis},
        }
        layers = [
            {
                "data": {"values": points},
                "mark": mark,
                "encoding": {**encoding, "color": _named(label, color)},
            }
            for points, mark, label, color in (
                (values, "point", "submission", BLUE),
                (ends, "line", "equal losses", GREY),
            )
        ]
        title = f"Private and public losses of the 50 best submissions, {mechanism}"
        specification = {"width": 320, "height": 320, "layer": layers, "resolve": _OWN_LEGENDS}
        yield Chart(name, title, f"{title}; the line marks equal losses.", specification)
    curves = read_curves(authors / "publicscore-top50.csv")
    values = [
        {"rank": x, "loss": y, "label": label}
        for label, points in curves.items()
        for x, y in points
    ]
    scale = {"domain": list(curves), "range": [COLORS[label] for label in curves]}
    title = "Losses of the 50 best submissions by rank"
    yield Chart(
        "figure-5",
        title,
        f"{title}; means only, as the authors' file holds them.",
        {
            "width": 420,
            "height": 260,
            "data": {"values": values},
            "mark": {"type": "point", "filled": True},
            "encoding": {
                "x": {"field": "rank", "type": "quantitative"},
                "y": {"field": "loss", **axis},
                "color": {"field": "label", "type": "nominal", "title": None, "scale": scale},
            },
        },
    )
    yield figure_6_chart(authors)


def _named(label: str, color: str) -> dict[str, Any]:
    """Return the colour of a layer, with its own entry and symbol in a legend."""
    return {"datum": label, "title": None, "scale": {"domain": [label], "range": [color]}}


def figure_6_chart(authors: Path) -> Chart:
    """Return bars of p-values per rank, before and after correction, with the line at 0.05."""
    raw = np.minimum(read_pairs(authors / "top10pvals.csv")[1:, 1], 1)
    values = [
        {"rank": rank, "p": min(1.0, factor * p), "correction": label}
        for label, factor in (("none", 1), ("Bonferroni", 9))
        for rank, p in enumerate(raw.tolist(), start=2)
    ]
    line = {"data": {"values": [{"p": 0.05}]}, "mark": {"type": "rule", "strokeDash": [4, 3]}}
    height = {"y": {"field": "p", "type": "quantitative"}}
    of_line = {**height, "color": _named("p = 0.05", INK)}
    across = {"x": {"field": "rank", "type": "ordinal", "title": "rank"}}
    bars = {"mark": {"type": "bar", "color": BLUE}, "encoding": {**across, **height}}
    panel = {"width": 300, "height": 240, "layer": [bars, {**line, "encoding": of_line}]}
    facet = {"column": {"field": "correction", "type": "nominal", "sort": ["none", "Bonferroni"]}}
    title = "p-values of the first of the public board against ranks 2 to 10"
    specification = {"data": {"values": values}, "facet": facet, "spec": panel}
    return Chart("figure-6", title, f"{title}; the line marks 0.05.", specification)


def several_teams(
    manager: PluginManager,
    submissions: int,
    teams: Sequence[int],
    repeats: int,
    seed: int,
    choices: Sequence[tuple[str, str]] = SYBIL,
) -> Iterator[Reproduced]:
    """Yield the bias that an attacker reaches with several teams, for each kind of board."""
    for mechanism, scope in choices:
        for count in teams:
            attack = f"sybil(of=boosting, teams={count})"
            curve = run_attack(
                manager,
                attack,
                mechanism=mechanism,
                submissions=submissions,
                repeats=repeats,
                seed=seed,
                scope=scope,
            )
            error = curve.standard_error["bias"][-1]
            who = "one team" if count == 1 else plural(count, "team")
            what = f"bias of {mechanism} per {scope} by one person with {who}"
            note = f"standard error {error:.2g}"
            yield Reproduced("Section 2.1", what, None, curve.last_bias, None, note)
