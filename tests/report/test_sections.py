"""Sections and tables that are functions of what was found, compared with rows written by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest

from arena.evaluation.similar import SimilarSubmissions
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.report.board_sections import board_sections
from arena.report.boards import competition_board, private_board
from arena.report.competition_simulation import truth_section
from arena.report.contents import PublicBoard, public_report
from arena.report.copies import copies_section
from arena.report.history import history_section
from arena.report.plan import questions_report, queue_report
from arena.report.rank_simulation import rank_simulation_report
from arena.report.summary import board_summary, winner_sentence
from arena.scoring.result import STANDING_COLUMNS, ScoreResult
from arena.simulation.competition.flags import Flag
from arena.simulation.competition.outcome import CompetitionOutcome, TeamOutcome
from arena.simulation.competition.true_scores import TruthKind
from arena.simulation.plan.questions import NeighbourPlan, QuestionPlan, QuestionsForAnswers
from arena.simulation.plan.queue import QueuePlan, QueueWaits
from arena.simulation.ranks.coverage import Coverage
from arena.simulation.ranks.outcome import RankQuantiles, WinFrequency
from arena.simulation.ranks.scores import ModelScores
from arena.simulation.ranks.study import RankSimulation, RowsNeeded
from arena.simulation.requests import RanksRequest
from arena.types import Finding, Section
from arena.utils.formatting import BoardDisplay
from board_results import a_result
from event_records import event_of


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((True, 0.0, None), ("identical", "none")),
        ((False, 0.9, 0.999), ("nearly identical", "correlation 0.999000")),
        ((False, 0.5, 0.999), ("nearly identical", "50.0% of the predictions differ")),
        ((False, 0.75, 0.999), ("nearly identical", "75.0% of the predictions differ")),
        ((False, 0.9, None), ("nearly identical", "90.0% of the predictions differ")),
    ],
)
def test_similar_submissions_are_listed(
    pair: tuple[bool, float, float | None], said: tuple[str, str]
) -> None:
    identical, differing, correlation = pair
    section = copies_section(
        [SimilarSubmissions(identical, (3, 8), ("ant", "bee"), differing, correlation)]
    )
    assert section is not None
    (table,) = section.tables
    assert table.rows == ((said[0], "ant, bee", "3, 8", said[1]),)
    assert copies_section([]) is None


TEAMS = {
    # kind, conduct, submissions, shown, rank, score, true rank, true score
    "ant": ("climber", "honest", 3, 0.90, 1, 0.80, 2, 0.70),
    "bee": ("climber", "honest", 5, 0.54, 2, 0.60, 1, 0.75),
    "cat": ("copycat", "copies", 1, None, 3, 0.40, 3, 0.30),
}


def outcome_of(**changes: Any) -> CompetitionOutcome:
    """Return a simulated competition without days."""
    teams = tuple(
        TeamOutcome(
            team=name, kind=kind, conduct=conduct, submissions=submissions, public_rank=None,
            shown=public, public_score=public, rank=rank, rank_low=1, rank_high=2, score=score,
            true_rank=true_rank, true_score=true_score,
        )
        for name, (kind, conduct, submissions, public, rank, score, true_rank, true_score)
        in TEAMS.items()
    )  # fmt: skip
    outcome = CompetitionOutcome(
        mechanism="full", scope="team", folder="", truth="exact", greater_is_better=True,
        submissions=9, turned_away=0, teams=teams, days=(), leaderboard_error=None,
        agreement={"public_private": 0.25, "private_true": None, "public_true": 1.0}, flags=(),
        floor_checked=False, level=0.95, best_score={"estimate": 0.7, "low": 0.6, "high": 0.76},
        baseline=None, notes=(),
    )  # fmt: skip
    return replace(outcome, **changes)


@pytest.mark.parametrize(
    ("truth", "sign", "mean_truth"),
    [("exact", 1, [0.725, 0.30]), ("exact", -1, [0.725, 0.30]), ("private", 1, [None, None])],
)
def test_results_of_simulated_teams_are_listed_by_kind(
    truth: TruthKind, sign: int, mean_truth: list[float | None]
) -> None:
    flags = (Flag("copies", "cat", "copycat", True, ("ant",)),)
    outcome = outcome_of(truth=truth, greater_is_better=sign > 0, flags=flags)
    kinds, _ = truth_section(outcome, "accuracy").tables
    # The climbers were shown 0.9 and 0.54, and have 0.8 and 0.6 on the private rows.
    flattered = pytest.approx(sign * ((0.9 - 0.8) + (0.54 - 0.6)) / 2)
    assert kinds.rows == (
        ("climber", "honest", 2, 8, 1, pytest.approx(0.7), mean_truth[0], flattered, 0),
        ("copycat", "copies", 1, 1, 3, 0.4, mean_truth[1], None, 1),
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((), ""),
        (("a", "b"), "a, b"),
        (("a", "b", "c"), "a, b, c"),
        (("a", "b", "c", "d"), "a, b, c and 1 more"),
        (tuple("abcdefg"), "a, b, c and 4 more"),
    ],
)
def test_a_flagged_team_stands_with_three_others(others: tuple[str, ...], said: str) -> None:
    flags = (Flag("copies", "cat", "copycat", False, others),)
    _, flagged = truth_section(outcome_of(flags=flags), "accuracy").tables
    assert flagged.rows == (("cat", "copycat", "copies", False, said),)


def test_what_a_simulation_knows_is_said() -> None:
    outcome = outcome_of()
    text = truth_section(outcome, "accuracy").text
    # bee is truly best; ant won, and is truly worse by 0.75 - 0.70.
    assert "The truly best team did not win" in text
    assert (outcome.best_won, outcome.loss) == (False, pytest.approx(0.05))
    assert "0.25 between the public and the private board" in text
    assert "1.00 between the public board and the true ranks" in text
    assert "private board and the true ranks" not in text
    # Two of the three rank intervals, 1 to 2, hold the true ranks 2, 1 and 3.
    assert outcome.rank_intervals == {"level": 0.95, "teams": 3, "held": 2}
    assert outcome.best_score_held is True
    private = outcome_of(truth="private")
    assert (private.best_won, private.loss, private.rank_intervals) == (None, None, None)
    assert "true ranks" not in truth_section(private, "accuracy").text
    alike = outcome_of(agreement=dict.fromkeys(outcome.agreement))
    assert "too few teams to compare the rankings" in truth_section(alike, "accuracy").text


def board_of(*teams: dict[str, Any], **changes: Any) -> ScoreResult:
    """Return the board of teams a, b, …, each with the columns that it is given."""
    rows = [
        {**dict.fromkeys(STANDING_COLUMNS), "rank": place, "team": name, "score": 1 / place, **more}
        for place, (name, more) in enumerate(zip(ascii_lowercase, teams, strict=False), start=1)
    ]
    assert len(rows) == len(teams)
    return a_result(standings=tuple(rows), **changes)


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ((1,), "a has accuracy 1.000000."),
        ((1, 2), "a is first of 2 teams, with accuracy 1.000000."),
        ((1, 1), "a and b share the first place of 2 teams, with accuracy 1.000000."),
        ((1, 1, 1, 1), "a, b, c and d share the first place of 4 teams, with accuracy 1.000000."),
        (
            (1, 1, 1, 1, 1, 6),
            "a, b, c and 2 more share the first place of 6 teams, with accuracy 1.000000.",
        ),
    ],
)
def test_the_first_sentence_names_who_is_first(ranks: tuple[int, ...], said: str) -> None:
    assert winner_sentence(board_of(*({"rank": rank} for rank in ranks))) == said


@pytest.mark.parametrize(
    ("possible", "said"),
    [
        (1, ("May truly be the best (1)", "a")),
        (2, ("May truly be the best (2)", "a and b")),
        (12, ("May truly be the best (12)", "a, b, c, d, e, f, g, h, i, j, k and l")),
        (13, ("May truly be the best (13)", "a, b, c, d, e, f, g, h, i, j, k and 2 more")),
    ],
)
def test_the_summary_lists_twelve_who_may_be_the_best(possible: int, said: tuple[str, str]) -> None:
    summary = board_summary(board_of(*[{"possible_winner": True}] * possible, {}))
    assert summary is not None
    assert summary.lines == (said,)


@pytest.mark.parametrize(
    ("public_ranks", "said"),
    [
        ((), []),
        ((1,), []),  # a single team is compared with no other
        ((2, 1), ["b (private rank 2)"]),
        ((1, 1, 1), ["a (private rank 1), b (private rank 2), c (private rank 3)"]),
        ((1, 1, 1, 1), ["a (private rank 1), b (private rank 2), c (private rank 3) and others"]),
    ],
)
def test_the_summary_names_three_who_were_first_on_the_public_rows(
    public_ranks: tuple[int, ...], said: list[str]
) -> None:
    summary = board_summary(board_of(*({"public_rank": rank} for rank in public_ranks), {}))
    assert summary is not None
    assert summary.lines == tuple(("First on the public rows", names) for names in said)


@pytest.mark.parametrize(
    ("best", "of_one", "of_two"),
    [
        ({"estimate": None, "low": 0.5, "high": 0.7}, [], []),
        ({"estimate": 0.6, "low": None, "high": None}, [], ["0.600000"]),
        (
            {"estimate": 0.6, "low": 0.5, "high": 0.7},
            ["95% interval 0.500000 to 0.700000"],
            ["0.600000, 95% interval 0.500000 to 0.700000"],
        ),
        (
            {"estimate": 0.6, "low": 0.5, "high": 0.7, "winners": [{"low": 0.55, "high": 0.65}]},
            ["95% interval 0.550000 to 0.650000"],
            ["0.600000, 95% interval 0.550000 to 0.650000"],
        ),
        (
            {"estimate": 0.6, "low": 0.5, "high": 0.7, "winners": [{"low": None, "high": None}]},
            [],
            ["0.600000"],
        ),
    ],
)
def test_the_summary_has_the_true_score_of_the_winner(
    best: dict[str, Any], of_one: list[str], of_two: list[str]
) -> None:
    names = "True score", "The winner's true score, corrected for selection"
    for teams, name, lines in ((1, names[0], of_one), (2, names[1], of_two)):
        summary = board_summary(board_of(*[{}] * teams, best_score_corrected=best))
        assert summary is not None
        assert summary.lines == tuple((name, text) for text in lines)


def test_the_summary_shows_eight_places_with_bars_to_the_last_rank_of_theirs() -> None:
    # The bars end at rank 10, the highest of the first eight; the ninth team's 20 does not count.
    ends = [(1, 2), (1, 10), (3, 3), *[(None, None)] * 5, (9, 20)]
    summary = board_summary(board_of(*({"rank_low": low, "rank_high": high} for low, high in ends)))
    assert summary is not None
    assert (summary.highest, summary.n_teams) == (10, 9)
    assert [place.rank for place in summary.places] == list(range(1, 9))
    assert [(place.team, place.score) for place in summary.places[:3]] == [
        ("a", "1.000000"),
        ("b", "0.500000"),
        ("c", "0.333333"),
    ]
    # Start and length in per cent of ten ranks.
    assert [(place.ranks, place.bar) for place in summary.places[:4]] == [
        ("1 to 2", (0.0, 20.0)),
        ("1 to 10", (0.0, 100.0)),
        ("3", (20.0, 10.0)),
        ("", None),
    ]
    assert board_summary(a_result(standings=())) is None


def texts_of(result: ScoreResult, title: str) -> list[str]:
    """Return the texts of the sections with a title."""
    return [section.text for section in board_sections(result) if section.title == title]


WINS = "How often each comes first"
ALL_COUNT = (
    "Teams that tie for the first place all count, so the shares may add up to more than 100%."
)


@pytest.mark.parametrize(
    ("rates", "said", "charts"),
    [
        ((0.0, 0.0), None, 0),
        ((1.0, 0.0), "a came first each time.", 0),
        (
            (0.7, 0.3),
            "a came first in 70.0% of them, more often than any other team. 2 teams of 2 came "
            f"first at least once. {ALL_COUNT}",
            1,
        ),
        (
            (0.4, 0.3999, 0.2, 0.0),  # 39.99% is written as 40.0%
            "2 teams each came first in 40.0% of them: a, b. 3 teams of 4 came first at least "
            f"once. {ALL_COUNT}",
            1,
        ),
        (
            (0.3, 0.3, 0.3),
            "3 teams each came first in 30.0% of them: a, b, c. 3 teams of 3 came first at least "
            f"once. {ALL_COUNT}",
            1,
        ),
        (
            (0.1, 0.2, 0.2, 0.2, 0.2),
            "4 teams each came first in 20.0% of them: b, c, d and others. 5 teams of 5 came first "
            f"at least once. {ALL_COUNT}",
            1,
        ),
    ],
)
def test_the_section_on_wins_names_who_came_first_most_often(
    rates: tuple[float, ...], said: str | None, charts: int
) -> None:
    sections = board_sections(board_of(*({"win_rate": rate} for rate in rates)))
    wins = [section for section in sections if section.title == WINS]
    first_sentence = "The rows were drawn again from themselves 100 times."
    last = "This describes these rows. Which teams may truly be the best is told by the ranks."
    assert [section.text for section in wins] == (
        [f"{first_sentence} {said} {last}"] if said else []
    )
    assert [len(section.charts) for section in wins] == ([charts] if said else [])


@pytest.mark.parametrize(
    ("public_ranks", "said"),
    [
        ((1,), None),
        ((1, 2), "Every team has the same rank on the public rows and on the private ones."),
        (
            # a and b: the other way round, a and c: too, b and c: in the same order, 1 pair of 3.
            (3, 1, 2),
            "Of all pairs of teams, 33.3% are in the same order on both. The team that was first "
            "on the public rows, b, has rank 2 on the private ones. a rose most, by 2 places. b "
            "fell most, by 1 place.",
        ),
        (
            # a and b are tied on the public rows; of the other five pairs only c and d are turned.
            (1, 1, 4, 3),
            "Of all pairs of teams, 80.0% are in the same order on both. 2 teams shared the first "
            "place on the public rows. c rose most, by 1 place. b fell most, by 1 place.",
        ),
        (
            # All pairs are tied: none is in another order.
            (2, 2),
            "Of all pairs of teams, 100.0% are in the same order on both. 2 teams shared the first "
            "place on the public rows. a rose most, by 1 place.",
        ),
    ],
)
def test_the_section_on_the_public_ranks_names_who_moved_most(
    public_ranks: tuple[int, ...], said: str | None
) -> None:
    result = board_of(*({"public_rank": rank} for rank in public_ranks), {})
    titled = "Public against private"
    assert texts_of(result, titled) == ([said] if said else [])
    assert texts_of(replace(result, split="public"), titled) == []


def test_pairs_in_the_same_order_are_counted_in_every_part_of_a_long_board() -> None:
    # 300 teams, of which the last two changed places: 1 of 300 * 299 / 2 = 44,850 pairs.
    ranks = [*range(1, 299), 300, 299]
    rows = [
        {**dict.fromkeys(STANDING_COLUMNS), "team": f"t{rank}", "rank": rank, "public_rank": before}
        for rank, before in enumerate(ranks, start=1)
    ]
    (text,) = texts_of(a_result(standings=tuple(rows)), "Public against private")
    assert text.startswith("Of all pairs of teams, 100.0% are in the same order on both.")
    reversed_rows = [{**row, "public_rank": 301 - row["rank"]} for row in rows]
    (text,) = texts_of(a_result(standings=tuple(reversed_rows)), "Public against private")
    assert text.startswith("Of all pairs of teams, 0.0% are in the same order on both.")
    assert "t1 rose most, by 299 places. t300 fell most, by 299 places." in text


def test_the_section_on_ranks_counts_the_comparisons() -> None:
    ranked = [{"rank_low": 1, "rank_high": 3}] * 3
    counted = Finding("ranks", "", {"not_offered": None, "comparisons": 1_234})
    for findings, comparisons in (((), "all 6 comparisons"), ((counted,), "all 1,234 comparisons")):
        (text,) = texts_of(board_of(*ranked, findings=findings), "How certain each rank is")
        assert f"at once, over {comparisons} of one team with another" in text
        assert "The picture shows" not in text
    withheld = Finding("ranks", "", {"not_offered": "Too few rows."})
    (section,) = board_sections(board_of(*ranked, findings=(withheld,)))
    assert section.text == "Rank intervals are withheld. Too few rows."
    assert section.charts == ()
    assert board_sections(board_of({}, {})) == []
    assert board_sections(board_of(ranked[0])) == []


def test_a_picture_of_more_than_fifty_teams_says_that_it_shows_the_first() -> None:
    for teams, counts in (
        (50, []),
        (51, ["the first 50 of 51"]),
        (2_000, ["the first 50 of 2,000"]),
    ):
        rows = [
            {**dict.fromkeys(STANDING_COLUMNS), "team": f"t{place}", "rank": place, "rank_low": 1}
            | {"rank_high": place}
            for place in range(1, teams + 1)
        ]
        (section,) = board_sections(a_result(standings=tuple(rows)))
        parts = re.findall("The picture shows (.*?); the board above lists all teams", section.text)
        assert parts == counts


def test_the_section_on_scores_corrects_the_best_one() -> None:
    scored = [{"score_low": 0.8, "score_high": 1.1}, {"score_low": 0.4, "score_high": 0.7}]
    # The intervals are 0.3 wide, so that scores have 3 + 1 decimals.
    winners = [
        {"place": 1, "team": "a", "score": 1.0, "low": 0.85, "high": 0.95},
        {"place": 2, "team": "b", "score": 0.5, "low": 0.42, "high": 0.68},
        {"place": 3, "team": "c", "score": 0.3, "low": None, "high": None},
    ]
    best = {"estimate": 0.9, "low": 0.85, "high": 0.95, "assumption": "Rows count alike."}
    result = board_of(*scored, best_score_corrected={**best, "winners": winners})
    (section,) = board_sections(result)
    observed, of_each = section.text.split("\n\n")
    assert observed == (
        "The best score, 1.0000, was selected among 2 on the same rows. Such a score is better "
        "than the true one on average. Corrected for selection it is 0.9000. Interval of the "
        "winner's true score, and of the best true score of all: 0.8500 to 0.9500 (95% confidence "
        "each)."
    )
    assert of_each.startswith("Each interval is for one score alone, at 95%. Rows count alike. Two")
    (table,) = section.tables
    assert table.title.endswith("at once with the first at 95%")
    assert table.rows == ((2, "b", "0.5000", "0.4200 to 0.6800"),)
    assert [chart.name for chart in section.charts] == ["best-score", "score-intervals"]
    same = board_of(*scored, best_score_corrected={**best, "estimate": 1.0})
    assert "Corrected for selection it stays the same." in board_sections(same)[0].text
    assert board_sections(same)[0].tables == ()
    unknown = board_of(*scored, best_score_corrected={**best, "estimate": None})
    assert board_sections(unknown)[0].text.startswith("Each interval is for one score alone")


def test_a_board_has_its_columns_in_words_and_the_bars_of_the_rank_intervals() -> None:
    bounds = {"rank_low": 1, "rank_high": 1, "tier": 1, "possible_winner": True, "win_rate": 0.125}
    behind = {"rank_low": 2, "rank_high": 2, "tier": 2, "possible_winner": False, "win_rate": 0.0}
    board = private_board(board_of(bounds, behind, {**behind, "rank_high": 4}, {}))
    assert [(column.title, column.cells) for column in board.columns] == [
        ("rank", ("1", "2", "3", "4")),
        ("team", ("a", "b", "c", "d")),
        ("score", ("1.000000", "0.500000", "0.333333", "0.250000")),
        ("rank interval", ("1", "2", "2 to 4", "")),
        ("tier", ("1", "2", "2", "")),
        ("may be first", ("yes", "", "", "")),
        ("win rate", ("12.5%", "0.0%", "0.0%", "")),
    ]
    by_title = {column.title: column for column in board.columns}
    # Of four ranks each takes 25%.
    assert by_title["rank interval"].bars == ((0.0, 25.0), (25.0, 25.0), (25.0, 75.0), None)
    assert [column.title for column in board.columns if column.bars] == ["rank interval"]
    assert by_title["score"].order == (1.0, 1 / 2, 1 / 3, 1 / 4)
    assert by_title["rank interval"].order == (1.0, 2.0, 2.0, None)
    assert by_title["team"].order is None
    assert board.tiers == ()  # the last team has none
    assert private_board(board_of(bounds, behind)).tiers == (1, 2)
    assert private_board(board_of(behind, bounds)).tiers == ()  # not in the order of the ranks
    assert board.caption == (
        "accuracy on 10 private rows; a larger score is better. Intervals are at 95%."
    )
    smaller = private_board(board_of(bounds, greater_is_better=False))
    assert "; a smaller score is better." in smaller.caption


@pytest.mark.parametrize(("further", "left_out"), [(20, 0), (21, 1), (1_021, 1_001)])
def test_a_board_shows_twenty_columns_of_analyses(further: int, left_out: int) -> None:
    board = private_board(board_of({f"figure_{n}": n / 8 for n in range(further)}))
    titles = [column.title for column in board.columns if column.title.startswith("figure")]
    # figure_0 to figure_19, "figure 0" in words; the first is 0.0 and is shown as 0.
    assert titles == [f"figure {n}" for n in range(20)]
    assert [column.cells for column in board.columns if column.title == "figure 1"] == [("0.125",)]
    assert {column.importance for column in board.columns if column.title in titles} == {5}
    columns = "1 further column is" if left_out == 1 else f"{left_out:,} further columns are"
    note = f"{columns} in the document (--json)."
    assert board.notes == ((note,) if left_out else ())


def test_notes_below_a_board_name_who_is_not_ranked() -> None:
    result = board_of(
        {"score": 0.75},
        baseline={"team": "dice", "score": 0.5},
        unranked=(
            {"team": "owls", "score": 0.25, "baseline": False},
            {"team": "bats", "score": None, "baseline": False},
        ),
        display=BoardDisplay(2, ties="The earlier one is first."),
    )
    assert private_board(result).notes == (
        "The earlier one is first.",
        "The baseline, dice, has a score of 0.50 and is not ranked.",
        "The team owls has a score of 0.25 and is not ranked.",
    )


def test_a_public_board_has_the_columns_that_its_teams_fill() -> None:
    row = {"rank": 1, "team": "owls", "score": 0.75, "submission": 7, "n_submissions": 3}
    standings = [
        {**row, "baseline": False, "seconds": 2.5, "seconds_low": 2.0, "seconds_high": 3.0,
         "answer_model": "tree", "mae": 0.125},
        {**row, "rank": None, "team": "dice", "score": 0.5, "baseline": True, "seconds": None,
         "answer_model": "", "mae": None},
    ]  # fmt: skip
    common = {"title": "T", "caption": "C", "name": "n", "display": BoardDisplay()}
    board = competition_board(standings, **common, scores=["mae"])
    assert [(column.title, column.cells) for column in board.columns] == [
        ("rank", ("1", "")),
        ("team", ("owls", "dice (baseline)")),
        ("score", ("0.75", "0.50")),
        ("sent", ("3", "3")),
        ("seconds", ("2.5", "")),
        ("seconds of all runs", ("2 to 3", "")),
        ("model", ("tree", "")),
        ("mae", ("0.12", "")),
    ]
    assert [column.importance for column in board.columns] == [1, 2, 3, 4, 6, 7, 4, 4]
    with_submissions = competition_board(standings, **common, submissions=True)
    assert [column.title for column in with_submissions.columns][3:5] == ["submission", "sent"]
    assert competition_board([], **common).n_rows == 0
    assert board.notes == ()
    ties = competition_board(standings, **{**common, "display": BoardDisplay(ties="Earlier.")})
    assert ties.notes == ("Earlier.",)


def test_plugins_see_nothing_of_a_public_board_but_its_ranks_teams_and_scores() -> None:
    seen: list[ScoreResult] = []

    class Plugin:
        @hookimpl
        def provide_report_sections(self, result: ScoreResult) -> list[Section]:
            seen.append(result)
            return []

    manager = PluginManager(entry_points=False)
    manager.register(Plugin(), "mine")
    row = {"rank": 1, "team": "owls", "score": 0.75, "submission": 7, "n_submissions": 3}
    unranked = {**row, "rank": None, "team": "dice", "baseline": True}
    standings = [{**row, "baseline": False}, unranked]
    public_report(PublicBoard("T", "mae", False, standings), manager)
    (result,) = seen
    ranked = {**dict.fromkeys(STANDING_COLUMNS), "rank": 1, "team": "owls", "score": 0.75}
    nothing = dict.fromkeys(("positive", "baseline"))
    zeros = dict.fromkeys(("n_rows", "resamples", "resamples_redrawn", "resamples_undefined"), 0)
    assert result.to_dict() == {
        **nothing, **zeros, "schema": "arena/score/2", "metric": "mae", "greater_is_better": False,
        "split": "public", "level": 0.95, "seed": 0, "standings": [ranked],
        "best_score_corrected": dict.fromkeys(("estimate", "low", "high")),
        "rejected": [], "findings": [], "notes": [],
    }  # fmt: skip


def simulated(**changes: Any) -> RankSimulation:
    """Return a simulation of three models on tests of 100 rows, with some fields changed."""
    settings = RanksRequest(
        metric="accuracy", test_rows=(50, 100), competitors=(2, 3), tests=20, seed=4
    )
    shown_scores = {rows: np.full((3, 20), 0.5) for rows in (50, 100)}
    scores = ModelScores(np.array([0.9, 0.8, 0.7]), shown_scores, greater_is_better=True)
    result = RankSimulation(
        settings=settings, world="synthetic", metric="accuracy", scores=scores,
        win_frequency=(WinFrequency(100, 3, 0.625, 0.5, 0.75, 2),),
        ranks=tuple(
            RankQuantiles(rows, count, np.arange(count), np.arange(count) + 1, quantiles)
            for rows, count, quantiles in (
                (50, 3, np.full((3, 4), 9.0)),
                (100, 2, np.full((2, 4), 8.0)),
                (100, 3, np.array([[1, 1, 2, 3], [1, 2, 3, 3], [2, 3, 3, 1_200]], dtype=float)),
            )
        ),
        coverage=(
            Coverage(
                100, 3, kind="intervals", level=0.95,
                boards=40, all_ranks=0.975, best=1.0, each=0.9925,
            ),
        ),
        boards=(),
        rows_needed=tuple(
            RowsNeeded(3, probability, rows=rows, low=low, high=high)
            for probability, rows, low, high in (
                (0.5, 0.0, 0.0, 60.0),
                (0.8, 100.0, 40.0, 2_500.0),
                (0.9, 101.0, 60.0, None),
                (0.95, 10_000.0, 10_000.0, 10_001.0),
                (0.99, np.inf, 90.0, np.inf),
            )
        ),
    )  # fmt: skip
    return replace(result, **changes)


def test_the_report_of_a_simulation_of_ranks_has_its_figures() -> None:
    report = rank_simulation_report(simulated())
    assert dict(report.facts) == {
        "Data": "synthetic",
        "Metric": "accuracy",
        "Test rows": "50, 100",
        "Competitors": "2, 3",
        "Tests of each size": "20",
        "Seed": "4",
    }
    (wins, needed), (), (covered,) = (section.tables for section in report.sections)
    assert wins.rows == ((100, 3, "62.5%", "50.0%", "75.0%", 2),)
    # A number is not extrapolated further than to 100 times the 100 rows of the largest test.
    assert needed.rows == (
        (3, "50.0%", "any", "0", "60", ""),
        (3, "80.0%", "100", "40", "2,500", ""),
        (3, "90.0%", "101", "60", "no upper limit", "extrapolated"),
        (3, "95.0%", "10,000", "10,000", "over 10,000", "extrapolated"),
        (3, "99.0%", "over 10,000", "90", "over 10,000", "extrapolated"),
    )
    assert covered.rows == ((100, 3, "intervals", "97.5%", "100.0%", "99.2%", 40),)
    assert covered.title.startswith("How often ranges at 95% from a single test")
    assert report.sections[0].text.endswith("for these trained models.")
    # The board is that of the most rows and competitors.
    (board,) = report.boards
    assert board.title == "Ranks of the truly best in tests of 100 rows, 3 competitors"
    assert [(column.title, column.cells) for column in board.columns] == [
        ("true rank", ("1", "2", "3")),
        ("team", ("model 0", "model 1", "model 2")),
        ("5% of ranks", ("1", "1", "2")),
        ("50% of ranks", ("1", "2", "3")),
        ("90% of ranks", ("2", "3", "3")),
        ("95% of ranks", ("3", "3", "1,200")),
    ]
    assert board.columns[5].order == (3.0, 3.0, 1200.0)
    assert [column.meaning for column in board.columns[:3]] == [
        "", "a trained model", "the rank in a test is this or better"
    ]  # fmt: skip
    charts = [[chart.name for chart in section.charts] for section in report.sections]
    names = ["50-rows-3-competitors", "100-rows-2-competitors", "100-rows-3-competitors"]
    assert charts == [
        ["win-frequency"],
        [f"{kind}-{name}" for name in names for kind in ("scores", "ranks")],
        [],
    ]


def test_the_report_of_several_sets_of_models_says_how_many() -> None:
    sets = tuple((WinFrequency(100, 3, share, 0.0, 1.0, 1),) for share in (0.5, 0.75))
    report = rank_simulation_report(simulated(by_set=sets, coverage=()))
    assert "those of how often the best wins are over 2 sets of models, and" in (
        report.sections[0].text
    )
    assert report.sections[2].tables == ()


CASES = QuestionPlan(
    metric="score", difference=0.05, level=0.95, power=0.8, cases=1_200, pairs=1_225,
    detectable=0.0123456, unpaired=4_321.4,
    needed=(
        QuestionsForAnswers(1, 1_000.0, 10.2, 20_000.7),
        QuestionsForAnswers(2, 900.1, 10.0, 18_000.0),
    ),
    neighbours=(
        NeighbourPlan(
            "a", "b", lead=0.125, shown=True,
            cases=100.2, cases_low=49.9, cases_high=1_000.0, tasks=7.1,
        ),
        NeighbourPlan(
            "b", "c", lead=0.0, shown=False,
            cases=None, cases_low=3.0, cases_high=None, tasks=None,
        ),
    ),
    notes=(),
)  # fmt: skip


def test_the_report_of_a_plan_from_a_table_rounds_cases_up() -> None:
    report = questions_report(CASES)
    assert report.facts == (("Cases", "1,200"), ("Level", "95%"))
    assert report.verdicts == (
        "A true difference of 0.05 in the mean score of two algorithms is shown with a probability "
        "of 80.0% by a paired test at 95% on 1,000 cases (median over 1,225 pairs). The 1,200 "
        "cases of the table show a difference of 0.0123. With other cases for each algorithm, "
        "4,321 would be needed.",
    )
    (needed,), (neighbours,) = (section.tables for section in report.sections)
    assert needed.rows == ((1, 1_000, 11, 20_001), (2, 901, 10, 18_000))
    assert neighbours.rows == (
        ("a", "b", 0.125, True, 101, 50, 1_000, 8),
        ("b", "c", 0.0, False, None, 3, None, None),
    )


def test_the_report_of_a_queue_has_empty_cells_where_it_grows() -> None:
    waits = (
        QueueWaits(
            1, 1.25, mean_low=None, mean_high=None, most_low=None, most_high=None, at_once=1_800.0
        ),
        QueueWaits(
            2, 0.625, mean_low=3.0, mean_high=6.5, most_low=15.0, most_high=31.0, at_once=900.0
        ),
    )
    report = queue_report(QueuePlan(1_234.5, 10.0, 12.5, waits))
    assert report.facts == (("Programs a day", "1,234.5"), ("Minutes of a program", "10"))
    # 1,234.5 programs of 10 minutes are 8.57 days of a machine, so that at least 9 are needed;
    # 900 minutes are 15 hours.
    assert report.verdicts == (
        "With 1 machine the queue grows every day: use at least 9.",
        "With 2 machines a program waits 3 to 6.5 minutes on average, and 95% of them wait at "
        "most 15 to 31 minutes. If those of a day come at once, the last one has run after 15 "
        "hours.",
    )
    (section,) = report.sections
    assert section.tables[0].rows == (
        (1, "125.0%", None, None, None, None, 1_800.0),
        (2, "62.5%", 3.0, 6.5, 15.0, 31.0, 900.0),
    )
    assert "1,234.5 programs a day" in section.text
    assert "within 12.5 hours of the day. Each needs 10 minutes" in section.text


CHANGED = "The record also has the scores of earlier revisions"


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        (
            "rescored",
            {"revision": 2, "metric": ["mae", "rmse"], "solution_sha256": ["a", "a"],
             "ranks_changed": 1},
            "Scored again, revision 2: the metric from mae to rmse. It changed the private rank of "
            "1 team.",
        ),
        (
            "rescored",
            {"revision": 3, "metric": ["mae", "mae"], "solution_sha256": ["a", "b"],
             "ranks_changed": 0, "phase_metrics": {"two": [None, "mae"]}},
            "Scored again, revision 3: the metric of the phase two from nothing to mae, by a "
            "corrected solution. It changed the private rank of 0 teams.",
        ),
        (
            "rescored",
            {"revision": 4, "metric": ["mae", "mae"], "solution_sha256": ["a", "a"],
             "ranks_changed": 2},
            "Scored again, revision 4: the code of the metric changed. It changed the private rank "
            "of 2 teams.",
        ),
        (
            "epoch",
            {"epoch": 2, "mechanism": ["full", "ladder"], "scope": ["team", "all"],
             "released": [1]},
            "Epoch 2 of the public board began: mechanism from full to ladder; scope from team to "
            "all. 1 submission was released again.",
        ),
        (
            "epoch",
            {"epoch": 3, "mechanism": ["full", "full"], "scope": ["team", "team"],
             "released": [1, 2]},
            "Epoch 3 of the public board began: nothing else changed. 2 submissions were released "
            "again.",
        ),
        (
            "board rebuilt",
            {"released": [4, 5, 6], "cause": "team merged"},
            "The public board was released again for 3 submissions: two teams were merged.",
        ),
        (
            "configuration",
            {"changes": [["limits.per_day", 5, None]]},
            "limits.per_day from 5 to nothing.",
        ),
        (
            "configuration",
            {"changes": [["title", "x" * 121, "x" * 120]]},
            f"title from {'x' * 119}… to {'x' * 120}.",
        ),
        ("configuration", {}, None),
        (
            "repair",
            {"rebuilt": ["teams", "counts"]},
            "Tables derived from the history were rebuilt: teams, counts.",
        ),
        (
            "repair",
            {"lost_submissions": [3, 4]},
            "The database was repaired. Submissions lost: 3, 4.",
        ),
        (
            "repair",
            {"lost_submissions": []},
            "The database was repaired. Submissions lost: none.",
        ),
        ("team merged", {"team": "owls", "to": "bats"}, "The team owls joined the team bats."),
        ("team renamed", {"team": "owls", "to": "bats"}, "The team owls was renamed to bats."),
        ("submission", {}, None),
    ],
)  # fmt: skip
def test_what_changed_while_a_competition_ran_is_told(
    kind: str, payload: dict[str, Any], said: str | None
) -> None:
    time = "2026-03-01T12:30:45.000000+00:00"
    section = history_section([event_of(7, kind, payload, time=time)])
    if said is None:
        assert section is None
        return
    assert section is not None
    assert section.text.startswith(CHANGED)
    assert section.tables[0].rows == (("2026-03-01 12:30", said),)
