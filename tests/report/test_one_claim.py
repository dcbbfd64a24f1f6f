"""No two sentences of a board contradict each other: on the terminal, in JSON or on the page."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import arena
from arena.cli.board import print_board, print_result
from arena.competition.competition import Competition
from arena.competition.record.combined_documents import combined_boards, verdicts_of_combined
from arena.config import Settings
from arena.plugin.manager import PluginManager
from arena.report.competition import competition_report
from arena.report.contents import board_report
from arena.report.final_page import final_page
from arena.report.model import Report
from arena.scoring.result import ScoreResult
from arena.types import TEAMS
from arena.utils.formatting import BoardDisplay
from program import write_csv
from scenario import Clock

MANAGER = PluginManager()

CLAIMS = {
    "one leads": r"The \w+ on rank 1 is better than (each of the other [\d,]+|the other) \(",
    "some may lead": r"[\d,]+ of [\d,]+ \w+ may truly be the best \(",
    "none leads": r"cannot be told apart \(",
    "no ranks": r"Rank intervals are withheld",
    "ranks": r"intervals, tiers and marks together|all these bars hold at once|\* may truly be",
    "nothing to compare": r"nothing to compare it with",
    "due to chance": r"may be due to chance|within what selection explains",
    "stands out": r"exceeds what selection explains",
    "almost no selection": r"explains almost nothing",
    "not at the level": r"not at \d+(\.\d+)?% confidence",
    "at the level": r"\d+(\.\d+)?% confidence|Confidence level",
    "first in every draw": r"would come first in every draw",
    "ranks would differ": r"ranks would have been different",
    "one rank": r"each \w+ took one rank in all of them",
    "several were first": r"[\d,]+ \w+ of [\d,]+ came first at least once",
    "one was first": r"came first each time",
    "no winner's interval": r"There is no interval for the (winner's )?true score",
    "winner's interval": r"Interval of the (winner's )?true score",
    "the same corrected": r"the best score stays|Corrected for selection it stays the same",
    "alone on the first place": r"is first of [\d,]+ \w+, with",
    "shares the first place": r"share the first place of",
    "less corrected": r"the best score of \S+ is|Corrected for selection it is ",
}
"""What a sentence can claim."""

OF_THE_FIRST = ("one leads", "some may lead", "none leads", "no ranks", "nothing to compare")
EXCLUDE = [
    *itertools.combinations(OF_THE_FIRST, 2),  # a board says one of these
    # A board does not say whether selection explains the best score.
    *((claim, "due to chance") for claim in OF_THE_FIRST),
    *((claim, "stands out") for claim in OF_THE_FIRST),
    ("no ranks", "ranks"),
    ("no ranks", "winner's interval"),
    ("nothing to compare", "ranks"),
    ("not at the level", "at the level"),
    ("first in every draw", "some may lead"),
    ("first in every draw", "none leads"),
    ("ranks would differ", "one rank"),
    ("ranks would differ", "one leads"),
    ("several were first", "one was first"),
    ("no winner's interval", "winner's interval"),
    ("the same corrected", "less corrected"),
    ("almost no selection", "less corrected"),
    ("alone on the first place", "shares the first place"),
]


PHASES = ("easy", "hard")
OF_SUBMISSIONS: dict[str, dict[str, Any]] = {
    "accuracy": {},
    "area": {},
    "weights": {"weight": "weight"},
    "groups": {"cluster": "group"},
    "brackets": {},
    "ties": {"ranker": "simultaneous(ties=true)"},
    "tasks": {"tasks": "task", "combine": "mean"},
    "worst task": {"tasks": "task", "combine": "worst"},
    "ranks in tasks": {"tasks": "task", "combine": "mean_rank"},
    "two metrics": {"tasks": "task", "combine": "mean", "metric": ["accuracy", "mcc"]},
}
"""Kinds of boards of labels or scores, and their settings."""
OF_CASES: dict[str, dict[str, Any]] = {
    "median": {"aggregate": "median"},
    "in pairs": {"missing": "pairwise"},
    "baseline": {"missing": "baseline", "baseline": "a0"},
}
"""Kinds of boards of a table of values per case, and their settings."""


def random_board(seed: int) -> ScoreResult:
    """Rank some algorithms, in one of many situations."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.choice([1, 2, 3, 6, 12])), int(rng.choice([4, 9, 30, 60, 200]))
    merit = rng.choice([0.0, 0.3, 2.0]) * rng.normal(size=m)
    if rng.random() < 0.3:
        merit[0] += 3.0
    easy = rng.normal(size=n)
    values = merit[:, None] + easy + rng.normal(size=(m, n))
    if m > 2 and rng.random() < 0.3:
        values[2] = values[1]
    kind = str(rng.choice(["mean", "loss", "share", "failures", *OF_CASES, *OF_SUBMISSIONS]))
    keywords: dict[str, Any] = {"resamples": 100, "seed": seed, "workers": 1, "manager": MANAGER}
    if kind in OF_SUBMISSIONS:
        columns: dict[str, Any] = {"id": np.arange(n), "y": np.arange(n) % 2}
        columns |= {"task": np.arange(n) % 3, "group": np.arange(n) // 3}
        columns["weight"] = rng.lognormal(sigma=2, size=n)
        predictions = np.where(values > -0.5, columns["y"], 1 - columns["y"])
        if kind == "area":
            predictions = values + columns["y"]
        teams = {f"t{j}": prediction for j, prediction in enumerate(predictions)}
        keywords |= {"metric": "roc_auc" if kind == "area" else "accuracy"} | OF_SUBMISSIONS[kind]
        if kind == "brackets":
            keywords["brackets"] = {"even": list(teams)[::2], "some": list(teams)[-2:]}
        roles = {"tasks": "task", "cluster": "group", "weight": "weight"}.items()
        others = {column for role, column in roles if role not in keywords}
        solution = {name: cells for name, cells in columns.items() if name not in others}
        return arena.score(solution, teams, **keywords)
    if kind == "share":
        values = (values > 0).astype(float)
    if kind == "loss":
        values = np.exp(-values)
    if kind == "failures":
        values = np.clip(0.9 + 0.03 * values, 0, 1) * (rng.random((m, n)) > 0.03)
    if kind in ("in pairs", "baseline"):
        values[1:, n // 2 :][rng.random((m - 1, n - n // 2)) < 0.2] = np.nan
    table = {"case": np.arange(n)} | {f"a{j}": own for j, own in enumerate(values)}
    board = arena.BoardSettings(100, seed=seed, workers=1)
    more = OF_CASES.get(kind, {})
    return arena.rank(table, board=board, greater_is_better=kind != "loss", manager=MANAGER, **more)


def random_competition(seed: int, folder: Path) -> Competition:
    """Finalize a competition of two phases and a board over both, by random settings."""
    rng = np.random.default_rng(seed)
    m, n, metrics = int(rng.choice([2, 3, 6])), int(rng.choice([10, 40, 150])), ("accuracy", "mcc")
    phases = {
        phase: {"public_rows": f"{phase} public", "private_rows": phase, "metric": metric}
        for phase, metric in zip(PHASES, rng.permutation(metrics).tolist(), strict=True)
    }
    board = {"phases": list(PHASES), "missing": str(rng.choice(["baseline", "worst"]))}
    board |= {"rank_by": str(rng.choice(["mean", "worst", "mean_rank"]))}
    rule = str(rng.choice(["best_public", "last", "best_private"]))
    settings = Settings.of(
        metric="accuracy",
        mechanism="full",
        baseline="t0",
        resamples=100,
        deadline="2026-04-01",
        final_rule=rule,
        phase=phases,
        board={} if rule == "best_private" else {"both": board},  # which combine one file each
    )
    sets = np.repeat([*PHASES, *(f"{phase} public" for phase in PHASES)], n)
    labels = np.arange(len(sets)) % 2
    write_csv(
        folder / "solution.csv",
        ["id", "y", "Usage"],
        list(zip([f"r{row}" for row in range(len(sets))], labels, sets, strict=True)),
    )
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    competition = Competition.create(
        folder / "c", folder / "solution.csv", settings, seed=seed, manager=MANAGER, clock=clock
    )
    merit = rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=m) + 0.5
    for phase, team, _ in itertools.product(PHASES, range(m), range(rng.integers(1, 3))):
        if phase == PHASES[1] and team == m - 1 > 1:
            continue
        rows = np.flatnonzero([part.startswith(phase) for part in sets])
        wrong = rng.normal(size=len(rows)) > merit[team]
        cells = {"id": [f"r{row}" for row in rows], "y": (labels[rows] ^ wrong).tolist()}
        assert competition.submit(cells, f"t{team}", phase=phase).status == "accepted"
    clock.now = datetime(2026, 5, 1, tzinfo=UTC)
    for phase in PHASES:
        competition.in_phase(phase).finalize(workers=1)
    return competition


def boards_of_competition(competition: Competition) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each private board as both reports and the terminal have it, and its document."""
    for phase in PHASES:
        in_phase = competition.in_phase(phase)
        result = in_phase.as_finalized()
        assert result is not None
        document = result.board_document()
        about_others = verdicts_of_combined(document)
        for report in (final_page(in_phase), competition_report(in_phase)):
            assert ("Phase", phase) in report.facts
            texts = "\n".join([*sentences_of(report), *terminal(document)])
            for verdict in about_others.values():
                assert verdict in report.verdicts
                texts = texts.replace(verdict, "")
            yield texts, document
        for name, board in combined_boards(document).items():
            yield "\n".join([about_others[name], *terminal(board)]), board


def terminal(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the terminal prints of a board."""
    out = io.StringIO()
    console = Console(file=out, width=500, color_system=None)
    print_board(document, console, BoardDisplay(), TEAMS)
    yield out.getvalue()


def sentences_of(page: Report) -> Iterator[str]:
    """Yield every text of a page."""
    yield from page.verdicts
    for line in page.summary.lines if page.summary else ():
        yield ": ".join(line)
    for section in (*page.sections, *page.technical):
        yield section.text
        yield from (table.title for table in section.tables)
        yield from (chart.description for chart in section.charts)


def sentences(result: ScoreResult) -> Iterator[str]:
    """Yield every text of the terminal and of the page."""
    out = io.StringIO()
    print_result(result, Console(file=out, width=500, color_system=None))
    yield out.getvalue()
    yield from sentences_of(board_report(result, MANAGER))
    yield from result.notes


def problems_of_columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield where ranks, rank intervals, tiers and possible winners disagree."""
    if [row["rank"] for row in rows] != sorted(row["rank"] for row in rows):
        yield "the rows are not in the order of the ranks"
    for row in rows:
        low, high, tier = row["rank_low"], row["rank_high"], row["tier"]
        first = row["possible_winner"], low == 1, tier == 1
        if len(set(first)) > 1:
            yield f"{row['team']}: {first}"
        if not tier <= low <= high <= len(rows):
            yield f"{row['team']} of tier {tier} has ranks from {low} to {high}"


def problems(text: str, document: Mapping[str, Any]) -> list[str]:
    """Return the contradictions of a board: in its sentences, and with its own columns."""
    claims = {name for name, pattern in CLAIMS.items() if re.search(pattern, text)}
    contradictions = [
        f"{claim} and {other}" for claim, other in EXCLUDE if {claim, other} <= claims
    ]
    rows, m = document["standings"], len(document["standings"])
    withheld = rows[0]["rank_low"] is None
    possible = [row["team"] for row in rows if row["possible_winner"]]
    contradictions += [] if withheld else problems_of_columns(rows)
    if withheld != ("no ranks" in claims):
        contradictions.append("the ranks are withheld silently, or said to be")
    expected = "one leads" if len(possible) == 1 else "some may lead"
    expected = "none leads" if len(possible) == m else expected
    expected = "nothing to compare" if m == 1 else "no ranks" if withheld else expected
    if expected not in claims:
        contradictions.append(
            f"{len(possible)} of {m} may be first, but the claims are {sorted(claims)}"
        )
    for count in re.findall(r"([\d,]+) of [\d,]+ \w+ may truly be the best", text):
        if int(count) != len(possible):
            contradictions.append(f"{count} may be first, and {len(possible)}")
    for count in re.findall(r"May truly be the best \(([\d,]+)\)", text):
        if int(count) != len(possible):
            contradictions.append(f"the summary counts {count}, the board {len(possible)}")
    levels = set(re.findall(r"(\d+(?:\.\d+)?)% (?:confidence|interval)", text))
    if levels > {"95"}:
        contradictions.append(f"levels {levels}")
    best = document["best_score_corrected"]
    winner = next(iter(best["winners"]), best)
    if (
        None not in (winner["low"], best["low"])
        and not winner["low"] <= winner["high"] <= best["high"]  # no team is better than the best
    ):
        contradictions.append(f"the winner's interval {winner} ends above that of the best, {best}")
    return contradictions


def test_the_table_finds_what_used_to_be_said() -> None:
    """Sentences that boards had once, together."""
    text = (
        "The submission on rank 1 is better than each of the other 3 (95% confidence). "
        "The winner's lead is within what selection explains. It holds not at 95% confidence. "
        "With other test rows the ranks would have been different."
    )
    claims = {name for name, pattern in CLAIMS.items() if re.search(pattern, text)}
    assert {"one leads", "due to chance", "not at the level", "at the level"} <= claims
    assert sum({claim, other} <= claims for claim, other in EXCLUDE) >= 3


MORE = [
    pytest.param(
        range(number, number + 45), marks=pytest.mark.slow if number < 90 else pytest.mark.campaign
    )
    for number in range(2, 302, 45)
]


@pytest.mark.parametrize("seeds", [range(2), *MORE], ids=str)
def test_no_two_sentences_of_a_board_contradict(seeds: range) -> None:
    found_of_seed = {}
    for seed in seeds:
        result = random_board(seed)
        found_of_seed[seed] = problems("\n".join(sentences(result)), result.board_document())
    assert {
        seed: contradictions for seed, contradictions in found_of_seed.items() if contradictions
    } == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1, 60))]
)
def test_no_two_sentences_of_a_competition_contradict(seed: int, tmp_path: Path) -> None:
    boards = boards_of_competition(random_competition(seed, tmp_path))
    contradictions = [problem for text, document in boards for problem in problems(text, document)]
    assert contradictions == []
