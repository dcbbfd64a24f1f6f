"""Boards worked out by hand: every way by which arena computes a board gives these numbers.

The arithmetic stands beside each number, so that a reader can check it with paper. No number here
was computed by arena or another library.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import log, sqrt
from pathlib import Path

import pytest

from arena.competition.view import CompetitionView
from arena.server.records.layout import Layout
from board_routes import (
    BoardCase,
    Boards,
    PrivateRow,
    PublicRow,
    by_commands,
    by_python,
    by_score,
    by_score_of_python,
    by_view,
    differences,
    finalize,
    initialize,
    run,
    verify,
)
from served_boards import BEFORE_THE_DEADLINE, MovedClock, ServedCompetition, served_here
from serving import running

CASES = (
    BoardCase(
        # Larger is better, ties share a rank, a faulty file, ignored rows.
        "ties",
        metric="accuracy",
        table="""
id  Usage    y   | ant | bee | cat | dog | eel
p1  Public   yes | yes | yes | no  | no  | yes
p2  Public   no  | no  | no  | no  | yes | no
p3  Public   yes | yes | no  | yes | no  | yes
p4  Public   no  | yes | no  | no  | yes | no
i1  Ignored  yes | no  | no  | no  | no  | no
s1  Private  yes | yes | no  | yes | no  | yes
s2  Private  no  | yes | no  | no  | no  | perhaps
s3  Private  yes | yes | yes | no  | no  | yes
s4  Private  no  | no  | yes | no  | no  | no
s5  Private  yes | yes | yes | yes | no  | yes
""",
        rejected=[5],
        public=[
            PublicRow(1, "ant", 1, 3 / 4),  # not p4
            PublicRow(1, "bee", 2, 3 / 4),  # not p3
            PublicRow(1, "cat", 3, 3 / 4),  # not p1
            PublicRow(4, "dog", 4, 0 / 4),
        ],
        private=[
            PrivateRow(1, "ant", 1, 4 / 5, 3 / 4, 1),  # not s2
            PrivateRow(1, "cat", 3, 4 / 5, 3 / 4, 1),  # not s3
            PrivateRow(3, "bee", 2, 3 / 5, 3 / 4, 1),  # not s1, s4
            PrivateRow(4, "dog", 4, 2 / 5, 0 / 4, 4),  # s2, s4
        ],
    ),
    BoardCase(
        # Smaller is better, the last file counts, a baseline, of tied teams the earlier is ahead.
        "baseline",
        metric="mae",
        settings={"baseline": "base", "final_rule": "last", "ties": "earliest"},
        table="""
id  Usage    y | ant | base | bee | ant | cat
p1  Public   1 | 1   | 2    | 2   | 3   | 0
p2  Public   4 | 4   | 5    | 3   | 4   | 4
s1  Private  2 | 2   | 4    | 3   | 2   | 3
s2  Private  5 | 9   | 5    | 5   | 6   | 5
s3  Private  0 | 0   | 1    | 1   | 1   | 0
""",
        public=[  # the best file of each team
            PublicRow(1, "ant", 1, 0),  # (0 + 0) / 2; its other file (2 + 0) / 2
            PublicRow(2, "cat", 5, 1 / 2),  # (1 + 0) / 2
            PublicRow(None, "base", 2, 1),  # (1 + 1) / 2
            PublicRow(3, "bee", 3, 1),  # (1 + 1) / 2
        ],
        private=[
            PrivateRow(1, "cat", 5, 1 / 3, 1 / 2, 1),  # (1 + 0 + 0) / 3
            PrivateRow(2, "bee", 3, 2 / 3, 1, 2),  # (1 + 0 + 1) / 3
            PrivateRow(3, "ant", 4, 2 / 3, 1, 2),  # (0 + 1 + 1) / 3; public (2 + 0) / 2
            PrivateRow(None, "base", 2, 1, 1, None),  # (2 + 0 + 1) / 3
        ],
        scored=[
            PrivateRow(1, "cat", 5, 1 / 3, 1 / 2, 1),
            PrivateRow(2, "ant", 4, 2 / 3, 1, 2),
            PrivateRow(2, "bee", 3, 2 / 3, 1, 2),
            PrivateRow(4, "base", 2, 1, 1, 2),
        ],
    ),
    BoardCase(
        # Teams choose two files, and the better one on the private rows counts.
        "chosen",
        metric="rmse",
        settings={"final_rule": "chosen", "final_count": 2},
        table="""
id  Usage    y | ant | bee | ant | ant | bee | cat | cat
p1  Public   0 | 2   | 1   | 0   | 1   | 3   | 0   | 2
p2  Public   0 | -2  | 1   | 0   | 1   | 3   | 0   | 2
s1  Private  0 | 1   | 2   | 4   | 2   | 0   | 3   | 1
s2  Private  0 | 1   | -2  | 4   | 4   | 0   | 4   | 7
""",
        selected={"ant": [1, 4], "cat": [7]},
        public=[
            PublicRow(1, "ant", 3, 0),
            PublicRow(1, "cat", 6, 0),
            PublicRow(3, "bee", 2, 1),  # sqrt((1 + 1) / 2); its other file sqrt((9 + 9) / 2)
        ],
        private=[
            # Of its two sqrt((1 + 1) / 2) and sqrt((4 + 16) / 2); public sqrt((4 + 4) / 2).
            PrivateRow(1, "ant", 1, 1, 2, 2),
            # It chose none, so the better one on the public rows: sqrt((4 + 4) / 2).
            PrivateRow(2, "bee", 2, 2, 1, 1),
            PrivateRow(3, "cat", 7, 5, 2, 2),  # sqrt((1 + 49) / 2); public sqrt((4 + 4) / 2)
        ],
        noted=["A team that selected several is ranked by the best of them on these rows."],
        scored=[
            PrivateRow(1, "bee", 5, 0, 3, 3),
            PrivateRow(2, "ant", 4, sqrt(10), 1, 1),  # sqrt((4 + 16) / 2)
            PrivateRow(3, "cat", 7, 5, 2, 2),
        ],
    ),
    BoardCase(
        # The best file of each team on the private rows counts; the positive label is named.
        "best on private",
        metric="f1",
        roles={"positive": "sick"},
        settings={"final_rule": "best_private"},
        table="""
id  Usage    y    | ant  | ant  | bee
p1  Public   sick | sick | well | sick
p2  Public   well | well | well | sick
p3  Public   sick | sick | sick | sick
s1  Private  sick | well | sick | sick
s2  Private  sick | well | sick | well
s3  Private  sick | sick | well | well
s4  Private  well | well | sick | sick
s5  Private  well | well | well | well
""",
        # 2 TP / (2 TP + FP + FN)
        public=[
            PublicRow(1, "ant", 1, 1),  # its other file 2 / (2 + 0 + 1)
            PublicRow(2, "bee", 3, 4 / 5),  # 4 / (4 + 1 + 0)
        ],
        private=[
            PrivateRow(1, "ant", 2, 2 / 3, 2 / 3, 2),  # 4 / (4 + 1 + 1); the other 2 / (2 + 0 + 2)
            PrivateRow(2, "bee", 3, 2 / 5, 4 / 5, 1),  # 2 / (2 + 1 + 2)
        ],
        noted=["Each team is ranked by its best submission on these same rows."],
    ),
    BoardCase(
        # A disqualified submission and a disqualified team.
        "disqualified",
        metric="mse",
        disqualified=[1, "dog"],
        table="""
id  Usage    y | ant | bee | cat | ant | dog
p1  Public   1 | 1   | 1   | 3   | 2   | 1
p2  Public   1 | 1   | 2   | 3   | 2   | 1
s1  Private  0 | 0   | 1   | 2   | 1   | 0
s2  Private  0 | 0   | 1   | 0   | 3   | 0
""",
        public=[
            PublicRow(1, "bee", 2, 1 / 2),  # (0 + 1) / 2
            PublicRow(2, "ant", 4, 1),  # (1 + 1) / 2
            PublicRow(3, "cat", 3, 4),  # (4 + 4) / 2
        ],
        private=[
            PrivateRow(1, "bee", 2, 1, 1 / 2, 1),  # (1 + 1) / 2
            PrivateRow(2, "cat", 3, 2, 4, 3),  # (4 + 0) / 2
            PrivateRow(3, "ant", 4, 5, 1, 2),  # (1 + 9) / 2
        ],
        scored=[
            PrivateRow(1, "dog", 5, 0, 0, 1),
            PrivateRow(2, "bee", 2, 1, 1 / 2, 2),
            PrivateRow(3, "cat", 3, 2, 4, 4),
            PrivateRow(4, "ant", 4, 5, 1, 3),
        ],
    ),
    BoardCase(
        # Rows in two groups, each of which makes another team the winner; no public rows.
        "groups",
        metric="mae",
        roles={"cluster": "user"},
        settings={"decimals": 1},
        resamples=20,
        table="""
id  Usage    user  y | ant | bee
s1  Private  u     0 | 0   | 2
s2  Private  u     4 | 4   | 6
s3  Private  v     1 | 3   | 1
s4  Private  v     1 | -1  | 1
""",
        public=[],
        private=[
            PrivateRow(1, "ant", 1, 1, None, None),  # (0 + 0 + 2 + 2) / 4
            PrivateRow(1, "bee", 2, 1, None, None),  # (2 + 2 + 0 + 0) / 4
        ],
        # Resamples draw the two groups u and v. Drawn twice, u makes ant the winner, which has 2 on
        # the other group; v makes bee the winner, which has 2 on u. Both have less on all rows: 1.
        best=1,
        said=["Corrected for selection, the best score stays 1.0."],
    ),
    BoardCase(
        # Rows count by their weights.
        "weights",
        metric="mae",
        roles={"weight": "w"},
        table="""
id  Usage    w  y | ant | bee
p1  Public   1  0 | 1   | 3
p2  Public   3  0 | 3   | 1
s1  Private  1  0 | 4   | 1
s2  Private  2  0 | 0   | 1
s3  Private  5  0 | 1   | 2
z1  Private  0  0 | 99  | 0
""",
        public=[
            PublicRow(1, "bee", 2, 3 / 2),  # (1 * 3 + 3 * 1) / 4
            PublicRow(2, "ant", 1, 5 / 2),  # (1 * 1 + 3 * 3) / 4
        ],
        private=[
            PrivateRow(1, "ant", 1, 9 / 8, 5 / 2, 2),  # (1 * 4 + 2 * 0 + 5 * 1) / 8
            PrivateRow(2, "bee", 2, 13 / 8, 3 / 2, 1),  # (1 * 1 + 2 * 1 + 5 * 2) / 8
        ],
        # (1 + 2 + 5)^2 / (1 + 4 + 25) = 64 / 30
        said=["the 3 ranked rows are worth 2 rows of equal weight"],
    ),
    BoardCase(
        # The score is the mean over the targets, each of which has a column.
        "targets",
        metric="rmse",
        target=["x", "y"],
        table="""
id  Usage    x  y  | ant   | bee
p1  Public   0  0  | 1  3  | 0  2
s1  Private  0  10 | 1  13 | 0  16
s2  Private  4  10 | 6  12 | 4  10
""",
        public=[
            PublicRow(1, "bee", 2, 1),  # (0 + 2) / 2
            PublicRow(2, "ant", 1, 2),  # (1 + 3) / 2
        ],
        private=[
            PrivateRow(1, "ant", 1, (sqrt(5 / 2) + sqrt(13 / 2)) / 2, 2, 2),  # 2.07
            PrivateRow(2, "bee", 2, (0 + sqrt(18)) / 2, 1, 1),  # 2.12
        ],
        columns={
            "rmse of x": {"ant": sqrt(5 / 2), "bee": 0},  # sqrt((1 + 4) / 2)
            "rmse of y": {"ant": sqrt(13 / 2), "bee": sqrt(18)},  # sqrt((9 + 4) / 2), (36 + 0) / 2
        },
    ),
    BoardCase(
        # Tied teams are ordered by a secondary metric, which is undefined for one of them.
        "secondary",
        metric="mae",
        settings={"ties": "secondary", "secondary": ["rmsle", "mse"]},
        table="""
id  Usage    y | dog | bee | ant | cat
p1  Public   0 | 1   | 1   | 1   | 1
s1  Private  0 | -1  | 1   | 0   | 1
s2  Private  1 | 0   | 2   | 3   | 2
""",
        public=[
            PublicRow(1, "dog", 1, 1),
            PublicRow(1, "bee", 2, 1),
            PublicRow(1, "ant", 3, 1),
            PublicRow(1, "cat", 4, 1),
        ],
        private=[  # the mean absolute error is (1 + 1) / 2 or (0 + 2) / 2
            PrivateRow(1, "ant", 3, 1, 1, 1),
            PrivateRow(2, "bee", 2, 1, 1, 1),
            PrivateRow(2, "cat", 4, 1, 1, 1),
            PrivateRow(4, "dog", 1, 1, 1, 1),
        ],
        scored=[
            PrivateRow(1, "ant", 3, 1, 1, 1),
            PrivateRow(1, "bee", 2, 1, 1, 1),
            PrivateRow(1, "cat", 4, 1, 1, 1),
            PrivateRow(1, "dog", 1, 1, 1, 1),
        ],
        columns={
            "rmsle": {
                "ant": sqrt((0 + log(4 / 2) ** 2) / 2),  # 0.49
                "bee": sqrt((log(2 / 1) ** 2 + log(3 / 2) ** 2) / 2),  # 0.57
                "cat": sqrt((log(2 / 1) ** 2 + log(3 / 2) ** 2) / 2),
                "dog": None,  # -1 is out of its range
            },
            # (0 + 4) / 2, and (1 + 1) / 2 three times
            "mse": {"ant": 2, "bee": 1, "cat": 1, "dog": 1},
        },
    ),
    BoardCase(
        # Masks as runs of pixels.
        "masks",
        metric="dice",
        target=["mask"],
        table="""
id  Usage    mask    | ant | bee
p1  Public   1 2     | 2 2 | 1 2
s1  Private  1 4     | 3 4 | 1 4
s2  Private  1 2 4 1 | 1 2 | -1
s3  Private  -1      | -1  | 1 1
""",
        # 2 |A and B| / (|A| + |B|)
        public=[
            PublicRow(1, "bee", 2, 1),
            PublicRow(2, "ant", 1, 1 / 2),  # 2 * 1 / (2 + 2)
        ],
        private=[
            # (2 * 2 / (4 + 4) + 2 * 2 / (3 + 2) + 1) / 3 = (1/2 + 4/5 + 1) / 3
            PrivateRow(1, "ant", 1, 23 / 30, 1 / 2, 2),
            PrivateRow(2, "bee", 2, 1 / 3, 1, 1),  # (1 + 0 + 0) / 3
        ],
    ),
    BoardCase(
        # The share of pairs in the right order, tied pairs by half.
        "pairs",
        metric="roc_auc",
        table="""
id  Usage    y | ant | bee | cat
p1  Public   1 | 0.9 | 0.3 | 0.5
p2  Public   0 | 0.1 | 0.6 | 0.5
s1  Private  1 | 0.9 | 0.2 | 0.5
s2  Private  1 | 0.4 | 0.8 | 0.5
s3  Private  0 | 0.4 | 0.5 | 0.5
s4  Private  0 | 0.3 | 0.5 | 0.5
s5  Private  0 | 0.1 | 0.1 | 0.5
""",
        public=[
            PublicRow(1, "ant", 1, 1),
            PublicRow(2, "cat", 3, 1 / 2),
            PublicRow(3, "bee", 2, 0),
        ],
        private=[
            PrivateRow(1, "ant", 1, 11 / 12, 1, 1),  # (3 + 1/2 + 1 + 1) / 6
            PrivateRow(2, "bee", 2, 2 / 3, 0, 3),  # (1 + 3) / 6
            PrivateRow(3, "cat", 3, 1 / 2, 1 / 2, 2),
        ],
    ),
    BoardCase(
        # The public board shows rounded scores, in the order of the exact ones.
        "rounded",
        metric="log_loss",
        mechanism="kaggle(rounding=0.5)",
        sent=["a", "b", "c"],
        table="""
id  Usage    y | ant               | bee              | cat
p1  Public   a | 0.5   0.3   0.2   | 0.4   0.3  0.3   | 0.1   0.8  0.1
s1  Private  a | 0.5   0.25  0.25  | 0.25  0.5  0.25  | 0.5   0.5  0
s2  Private  b | 0.4   0.5   0.1   | 0.1   0.5  0.4   | 0.25  0.25  0.5
s3  Private  c | 0.25  0.25  0.5   | 0.5   0    0.5   | 0.25  0.5  0.25
""",
        public=[
            PublicRow(1, "ant", 1, 0.5),  # log(2) = 0.69
            PublicRow(2, "bee", 2, 1),  # log(2.5) = 0.92
            PublicRow(3, "cat", 3, 2.5),  # log(10) = 2.30
        ],
        private=[
            PrivateRow(1, "ant", 1, log(2), log(2), 1),  # (log(2) + log(2) + log(2)) / 3
            PrivateRow(2, "bee", 2, 4 / 3 * log(2), log(2.5), 2),  # (log(4) + log(2) + log(2)) / 3
            PrivateRow(3, "cat", 3, 5 / 3 * log(2), log(10), 3),  # (log(2) + log(4) + log(4)) / 3
        ],
    ),
    BoardCase(
        # A Ladder with a step of 0.25: the first score, then those better by more than a step.
        "ladder",
        metric="accuracy",
        mechanism="ladder(eta=0.25)",
        table="""
id  Usage    y | ant | bee | ant | ant | ant
p1  Public   1 | 1   | 1   | 1   | 1   | 1
p2  Public   1 | 1   | 1   | 1   | 1   | 1
p3  Public   1 | 0   | 1   | 1   | 1   | 1
p4  Public   1 | 0   | 0   | 0   | 1   | 1
p5  Public   0 | 1   | 1   | 1   | 1   | 1
s1  Private  1 | 1   | 1   | 1   | 1   | 1
s2  Private  0 | 0   | 0   | 0   | 1   | 0
""",
        public=[
            # 2/5, the nearest multiple 0.5; 3/5 < 0.5 + 0.25, so 0.5 again; 4/5, multiple 0.75
            PublicRow(1, "ant", 4, 0.75),
            PublicRow(2, "bee", 2, 0.5),  # 3/5
        ],
        private=[
            PrivateRow(1, "bee", 2, 1, 3 / 5, 2),
            # Its best on the public rows, 4/5; of the two that are as good the earlier one.
            PrivateRow(2, "ant", 4, 1 / 2, 4 / 5, 1),
        ],
        scored=[
            PrivateRow(1, "ant", 5, 1, 4 / 5, 1),
            PrivateRow(1, "bee", 2, 1, 3 / 5, 2),
        ],
    ),
    BoardCase(
        # Labels of a public and a private row are corrected after the submissions.
        "corrected",
        metric="accuracy",
        corrected={"p1": "no", "s1": "no"},
        table="""
id  Usage    y   | ant | bee | ant
p1  Public   yes | yes | no  | no
p2  Public   no  | no  | no  | no
s1  Private  yes | yes | no  | yes
s2  Private  no  | no  | no  | no
s3  Private  yes | yes | no  | yes
s4  Private  yes | yes | yes | no
""",
        public=[  # by the corrected labels, by which the first file has 1 / 2
            PublicRow(1, "bee", 2, 2 / 2),
            PublicRow(1, "ant", 3, 2 / 2),
        ],
        private=[
            # Its last file is now its best on the public rows: 2 / 2, not 1 / 2.
            PrivateRow(1, "bee", 2, 3 / 4, 2 / 2, 1),  # not s3
            PrivateRow(2, "ant", 3, 2 / 4, 2 / 2, 1),  # s2, s3
        ],
    ),
    BoardCase(
        # A team that is better on every row is the first with certainty.
        "certain",
        metric="mae",
        copies=12,
        resamples=50,
        table="""
id  Usage    y  | ant | bee
p1  Public   10 | 11  | 12
s1  Private  10 | 11  | 25
s2  Private  20 | 18  | 32
s3  Private  30 | 33  | 43
""",
        public=[
            PublicRow(1, "ant", 1, 1),
            PublicRow(2, "bee", 2, 2),
        ],
        private=[
            PrivateRow(1, "ant", 1, 2, 1, 1),  # (1 + 2 + 3) / 3
            PrivateRow(2, "bee", 2, 40 / 3, 2, 2),  # (15 + 12 + 13) / 3
        ],
        # Every error of ant is smaller than every error of bee, so ant wins every resample.
        columns={
            "rank_low": {"ant": 1, "bee": 2},
            "rank_high": {"ant": 1, "bee": 2},
            "tier": {"ant": 1, "bee": 2},
            "possible_winner": {"ant": True, "bee": False},
            "bootstrap_rank_low": {"ant": 1, "bee": 2},
            "bootstrap_rank_high": {"ant": 1, "bee": 2},
            "rank_median": {"ant": 1, "bee": 2},
            "win_rate": {"ant": 1, "bee": 0},
            "prize_share": {"ant": 1, "bee": 0},
        },
        best=2,  # the winner's score is the mean of its scores on parts of the rows
        said=[
            "The submission on rank 1 is better than the other (95% confidence).",
            "Corrected for selection, the best score stays 2.00",
        ],
    ),
)


OF_SCORES = {
    "best on private", "ties", "ladder", "certain", "groups", "weights", "targets", "masks",
    "pairs", "rounded",
}  # fmt: skip
"""Cases about scores: the default run finalizes them from Python, and the others by commands."""


def each_case(*slow: str) -> pytest.MarkDecorator:
    """Return all cases, some of which only the slow run takes."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, marks=pytest.mark.slow if case.name in slow else (), id=case.name)
            for case in CASES
        ],
    )


served_cases = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in {"baseline", "chosen", "disqualified"}],
    ids=lambda case: case.name,
)


@each_case()
def test_a_scored_folder_has_the_board_worked_out_by_hand(case: BoardCase, tmp_path: Path) -> None:
    assert differences(case, by_score(case, tmp_path), scored=True) == {}


@each_case(*{case.name for case in CASES} - OF_SCORES)
def test_data_in_memory_have_the_board_worked_out_by_hand(case: BoardCase, tmp_path: Path) -> None:
    assert differences(case, by_score_of_python(case), scored=True) == {}
    assert differences(case, by_python(case, tmp_path)) == {}


@each_case(*OF_SCORES, "baseline")  # which the default run serves, and finalizes by commands
def test_a_finalized_competition_has_the_boards_worked_out_by_hand(
    case: BoardCase, tmp_path: Path
) -> None:
    assert differences(case, by_commands(case, tmp_path)) == {}
    assert differences(case, by_view(case, tmp_path)) == {}
    if case.name in {"corrected", "secondary", "weights"}:
        verify(case, tmp_path)
    if case.corrected:
        told = run(tmp_path, "verify", "export", "solution.csv", code=1)
        assert "not the solution of this competition after its last correction" in told


@pytest.mark.few(1)
@served_cases
def test_a_served_competition_has_the_boards_worked_out_by_hand(
    case: BoardCase, tmp_path: Path
) -> None:
    initialize(case, tmp_path, *BEFORE_THE_DEADLINE)
    layout, clock = Layout(tmp_path / "server"), MovedClock()
    with served_here(tmp_path / "race", layout, clock, case.teams) as served:
        public = served.play(case, tmp_path)
        clock.offset += timedelta(days=365_000)
        private = served.end()
    ranks = {row.team: row.rank for row in case.public}
    # What is published beside the private board is what the public board has shown.
    published = [row._replace(public_rank=ranks[row.team]) for row in case.private]
    boards = Boards(public, private["leaderboard"], private["best_score_corrected"])
    assert differences(replace(case, private=published), boards) == {}
    assert differences(case, finalize(case, tmp_path)) == {}
    verify(case, tmp_path)


def test_a_replay_has_the_public_board_worked_out_by_hand(tmp_path: Path) -> None:
    ladder = next(case for case in CASES if case.name == "ladder")
    exact = [PublicRow(1, "ant", 4, 4 / 5), PublicRow(2, "bee", 2, 3 / 5)]
    by_python(replace(ladder, mechanism="full"), tmp_path)
    with CompetitionView.open(tmp_path / "race") as competition:
        replay = competition.replay([ladder.mechanism, "full"])
    released, replayed = replay.released, replay.replayed
    assert [board.mechanism for board in (released, *replayed)] == [
        "full",
        ladder.mechanism,
        "full",
    ]
    for board, rows in ((released, exact), (replayed[0], ladder.public), (replayed[1], exact)):
        assert [
            PublicRow(*(row[name] for name in PublicRow._fields)) for row in board.standings
        ] == [*rows]
    # Of the five submissions: 2/5, 3/5 of bee, 3/5 of ant, 4/5 and 4/5 again.
    scores = [[0.4, 0.6, 0.6, 0.8, 0.8], [0.5, 0.5, 0.5, 0.75, 0.75]]
    document = replay.to_dict()["submissions"]
    assert [row["released"] for row in document] == scores[0]
    assert [row["replayed"] for row in document] == [
        list(pair) for pair in zip(*scores[::-1], strict=True)
    ]
    assert [board.improvements for board in replayed] == [3, 4]


@pytest.mark.slow
@served_cases
def test_a_server_has_the_boards_worked_out_by_hand(case: BoardCase, tmp_path: Path) -> None:
    initialize(case, tmp_path)
    with running(tmp_path / "race") as server:
        served = ServedCompetition.at(server.url, "race", server.layout, case.teams)
        with served.organiser:
            public = served.play(case, tmp_path)
    found = finalize(case, tmp_path)
    assert found.public == public
    assert differences(case, found) == {}
