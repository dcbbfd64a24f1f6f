"""Public against private scores over the history of a board, and the similarity of submissions."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena_sota import stored_study
from arena_sota.charts import histograms, report_chart
from arena_sota.reuse import reuse_of_public_rows
from arena_sota.similarity_bound import similarity_bound
from arena_sota.verdict import of_reuse
from competition_folder import document
from kept import check_kept_document
from program import UNPROTECTED, run_here, write_csv


@dataclass(frozen=True)
class RightOrWrong:
    """A metric of predictions that are their own row values."""

    greater_is_better: bool

    def row_values(self, truth: Any, predictions: Any) -> Any:
        assert not truth.flags.writeable
        assert not predictions.flags.writeable
        return predictions

    def from_mean(self, mean: Any) -> Any:
        return mean


def study(
    right: Any, *, greater_is_better: bool = True, teams: int = 3, resamples: int = 200
) -> Any:
    """Return a study of accuracies, or of error rates."""
    values = np.asarray(right if greater_is_better else 1 - right, dtype=float)
    m, n = values.shape
    weights = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=resamples)
    return SimpleNamespace(
        metric=RightOrWrong(greater_is_better),
        truth=np.zeros(n),
        predictions=SimpleNamespace(blocks=lambda _: [(0, values)]),
        clusters=None,
        teams=tuple(f"team {number % teams}" for number in range(m)),
        submissions=np.arange(m),
        scores=values.mean(axis=1),
        resampled=values @ weights.T / n,
        level=0.95,
    )


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_teams_that_correct_public_rows_are_found(greater_is_better: bool) -> None:
    public, private = np.zeros((12, 100)), np.zeros((12, 300))
    public[:, :50] = private[:, :150] = 1
    private[:, 150:156] = 1  # an easier half, all the time
    for number in range(12):
        public[number, 50 : 50 + 3 * number] = 1
    reuse = reuse_of_public_rows(
        study(public, greater_is_better=greater_is_better),
        study(private, greater_is_better=greater_is_better),
    )
    assert reuse.drift is not None
    assert reuse.drift.mean == pytest.approx(0.27)
    assert 0.1 < reuse.drift.low < 0.27 < reuse.drift.high < 0.44
    assert reuse.drift.n == 3
    assert reuse.gaps[0] == pytest.approx(-0.02)
    assert [gap.n for gap in reuse.history] == [2, 2, *[1] * 8]
    assert "the teams adapted to the public rows" in of_reuse(reuse)[0]
    whole = {
        "reuse": reuse.to_dict(),
        "said": [*of_reuse(reuse)],
        "chart": asdict(report_chart(reuse)),
    }
    check_kept_document(f"reuse-{'scores' if greater_is_better else 'errors'}", whole)


def test_equal_submissions_count_as_one_and_independent_ones_as_all() -> None:
    rng = np.random.default_rng(2)
    copies = study(np.tile(rng.random(400) < 0.7, (30, 1)), teams=30)
    reuse = reuse_of_public_rows(copies, copies)
    assert reuse.equivalent == pytest.approx(1, abs=0.3)
    assert reuse.widest < 0.75 * reuse.widest_if_independent
    assert reuse.drift is None
    assert "No team has two submissions" in of_reuse(reuse)[0]
    others = study(rng.random((30, 400)) < 0.7)
    assert reuse_of_public_rows(others, others).equivalent > 18
    varying = rng.random((4, 400)) < 0.7
    alone, with_perfect = (
        reuse_of_public_rows(board, board)
        for board in (study(varying), study(np.vstack([varying, np.ones((2, 400))])))
    )
    assert with_perfect.widest == pytest.approx(alone.widest)
    assert with_perfect.widest_if_independent == pytest.approx(alone.widest_if_independent)
    # Where errors are skewed they can be larger than those of as many independent submissions.
    rare = study(1 - np.eye(30)[:6])
    skewed = reuse_of_public_rows(rare, rare)
    assert skewed.widest > skewed.widest_if_independent
    assert skewed.equivalent == pytest.approx(6)
    perfect = study(np.ones((2, 9)))
    exact = reuse_of_public_rows(perfect, perfect)
    assert (exact.widest, exact.widest_if_independent, exact.equivalent) == (0, 0, 1)
    with pytest.raises(UsageError, match="different submissions"):
        reuse_of_public_rows(copies, study(np.ones((2, 9))))


def test_near_copies_have_a_smaller_bound_and_others_that_of_their_number() -> None:
    rng = np.random.default_rng(3)
    base = rng.random(12_000) < 0.8
    near_copies = np.where(rng.random((60, 12_000)) < 0.0005, ~base, base)
    for right, helps in ((near_copies, True), (rng.random((60, 12_000)) < 0.8, False)):
        public, private = study(right[:, :4_000], resamples=1), study(right[:, 4_000:], resamples=1)
        similar = similarity_bound(public, private)
        assert similar is not None
        assert (similar.bound < similar.bound_by_number) == helps
        assert (similar.centres == 60) != helps
        assert similar.bound_by_number == pytest.approx(np.sqrt(np.log(120 / 0.05) / 8_000))
        assert np.abs(public.scores - right.mean()).max() < similar.bound
        signs = np.where(right[:, 4_000:], 1.0, -1.0)
        agree = (1 + signs @ signs.T / 8_000) / 2
        assert similar.similarity == pytest.approx(agree[np.triu_indices(60, 1)].mean())
        assert (similar.similarity > 0.99) == helps
        assert similar.similarity_if_independent == pytest.approx(0.68, abs=0.02)


def test_the_bound_of_copies_by_hand() -> None:
    """All are one centre: of 0.05, a quarter is for the similarity of the 60 * 59 / 2 pairs.

    The rest is for the errors, a half of it for the centre (Hoeffding) and a half for the 59
    differences from it (Bernstein).
    """
    public, private = (study([np.arange(n) % 4 > 0] * 60, resamples=1) for n in (4_000, 8_000))
    similar = similarity_bound(public, private)
    assert similar is not None
    share = 1 - (0.05 / 4 / 1_770) ** (1 / 8_000)  # of which none of 8,000 private rows is
    level_of_each = 0.05 * 3 / 8
    of_centre = np.sqrt(np.log(2 / level_of_each) / 8_000)
    logarithm = np.log(2 * 59 / level_of_each) / 4_000
    linear = 2 * logarithm / 3
    of_differences = linear + np.sqrt(linear**2 + 2 * share * logarithm)
    assert (similar.centres, similar.bound) == (1, pytest.approx(of_centre + of_differences))


def test_only_right_or_wrong_on_independent_rows_has_the_bound() -> None:
    rng = np.random.default_rng(4)
    squared, accuracies = study(rng.random((5, 30))), study(rng.random((5, 30)) < 0.7)
    assert reuse_of_public_rows(squared, squared).similarity is None
    accuracies.clusters = np.arange(30) // 3
    assert reuse_of_public_rows(accuracies, accuracies).similarity is None


def test_opposite_submissions_share_no_row() -> None:
    right = np.arange(40) % 3 > 0
    opposite, single = study(np.stack([right, ~right]), resamples=1), study([right], resamples=1)
    similar = similarity_bound(opposite, opposite)
    assert similar is not None
    assert (similar.similarity, similar.centres) == (0, 2)
    assert similarity_bound(single, single) is None


def test_the_command_prints_each_sentence_in_one_line(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    studies = study(rng.random((6, 30)) < 0.7), study(rng.random((6, 50)) < 0.7)
    calls = []

    def open_studies(*given: Any, **options: Any) -> Any:
        calls.append((*given, options))
        return contextlib.nullcontext(studies)

    monkeypatch.setattr("arena_sota.stored_study.open_studies", open_studies)
    monkeypatch.setattr("arena_sota.cli.find_folder", lambda folder: folder)
    called = run_here("sota", "reuse", "-C", "c", "--wait", 2, cwd=tmp_path)
    assert called.stdout.splitlines() == [*of_reuse(reuse_of_public_rows(*studies))]
    assert max(map(len, called.stdout.splitlines())) > 120
    (call,) = calls
    assert [str(argument) for argument in call[:1]] == ["c"]
    assert call[1:] == (("public", "private"), {"every": True, "wait": 2.0})


@pytest.mark.slow
def test_the_history_of_a_competition(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    usage = ["Public" if row < 40 else "Private" for row in range(120)]
    cells = [(f"r{row}", labels[row], usage[row]) for row in range(120)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], cells)
    called = run_here(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED, "--metric", "accuracy",
        cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    for number in range(4):
        predictions = np.where(rng.random(120) < 0.6, labels, 1 - labels)
        predictions[: 10 * number] = labels[: 10 * number]
        write_csv(
            tmp_path / "s.csv", ["id", "y"], [(f"r{row}", predictions[row]) for row in range(120)]
        )
        for team in ("a", "b"):
            run_here("submit", "-C", "c", "--team", team, "s.csv", cwd=tmp_path)
    printed = document(run_here("sota", "reuse", "-C", "c", "--json", cwd=tmp_path), "sota-reuse")
    assert len(printed["submissions"]) == 8
    assert printed["drift"]["n"] == 2
    assert printed["drift"]["mean"] > 0
    process = run_here("sota", "reuse", "-C", "c", "--chart", "reuse.json", cwd=tmp_path)
    assert "From a team's first submission to its last" in process.stdout
    assert "as similar as" in process.stdout
    assert "no such public score is off by more than" in process.stdout
    assert "layer" in (tmp_path / "reuse.json").read_text()


def test_whether_the_teams_adapted_is_said_where_the_interval_excludes_zero() -> None:
    rng = np.random.default_rng(2)
    reuse = reuse_of_public_rows(*(study(rng.random((12, 100)) < 0.7) for _ in range(2)))
    assert reuse.drift is not None
    for low, high, verdict in (
        (0.01, 0.2, "the teams adapted to the public rows"),
        (0.0, 0.2, "no adaptation that these rows can show"),
        (-0.1, 0.2, "no adaptation that these rows can show"),
        (-0.1, 0.0, "no adaptation that these rows can show"),
        (-0.1, -0.01, "the private scores gained more"),
    ):
        drift = replace(reuse.drift, mean=0.05, low=low, high=high)
        assert of_reuse(replace(reuse, drift=drift))[0] == (
            f"From a team's first submission to its last the public score gained 0.0500 more than "
            f"the private score, mean of {drift.n} teams ({low:.4f} to {high:.4f} at 95% "
            f"confidence): {verdict}."
        )


def test_two_submissions_that_count_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        stored_study, "_study", lambda state, records, split: SimpleNamespace(scores=np.ones(2))
    )
    monkeypatch.setattr(stored_study, "_of_submissions", lambda study, defined: defined.tolist())
    records = [
        SimpleNamespace(team=team, submission=i) for i, team in enumerate(("a", "b", "host"))
    ]
    state: Any = SimpleNamespace(
        roster=SimpleNamespace(unranked={"host"}),
        ledger=SimpleNamespace(counting=lambda: records),
    )
    assert stored_study.studies_of_splits(state, ("public", "private"), every=True) == (
        [0, 1],
        [0, 1],
    )
    records.append(SimpleNamespace(team="c", submission=3))
    scores = {"public": np.array([1.0, np.nan, 1.0]), "private": np.ones(3)}
    monkeypatch.setattr(
        stored_study,
        "_study",
        lambda state, records, split: SimpleNamespace(scores=scores[split]),
    )
    # A submission whose score one of the splits lacks is in neither study.
    assert stored_study.studies_of_splits(state, ("public", "private"), every=True) == (
        [0, 2],
        [0, 2],
    )
    monkeypatch.setattr(
        stored_study, "final_document", lambda state: {"standings": [{"submission": 1}]}
    )
    with pytest.raises(UsageError, match="At least two submissions that count are needed, not 1"):
        stored_study.studies_of_splits(state, ("private",), every=False)


def test_a_histogram_leaves_out_scores_far_below_the_best() -> None:
    """The best score is 0.9 and the median 0.8: scores from 0.9 - 3 * 0.1 = 0.6 on are shown."""
    scores = np.array([0.1, *[0.8] * 13, 0.85, 0.9])
    for n_scores, n_bins in (
        (1, 8),
        (2, 10),
        (10, 40),
    ):  # a third of the teams, from 8 to 40
        chart = histograms({"observed": np.tile(scores, n_scores)}, {"best": 0.9})
        rows = chart["layer"][0]["data"]["values"]
        width = (0.9 - 0.6) / n_bins
        assert {round((row["to"] - row["from"]) / width, 4) for row in rows} == {1.0}
        assert sum(row["teams"] for row in rows) == 15 * n_scores
        assert rows[-1]["to"] == pytest.approx(0.9, abs=1e-7)
        first = round((rows[0]["from"] - 0.6) / width, 4)
        assert (first, rows[0]["teams"]) == (int(0.2 / width), 13 * n_scores)
    # The best score is 1 and the median 0.75: the lowest score that is shown is 0.25.
    for lowest, n_shown in ((0.25, 4), (0.2499, 3)):
        scores = np.array([lowest, 0.75, 0.75, 1.0])
        rows = histograms({"observed": scores}, {"best": 1.0})["layer"][0]["data"]["values"]
        assert sum(row["teams"] for row in rows) == n_shown
    whole = histograms({"observed": np.array([0.5, 0.7])}, {"best": 0.7})["layer"][0]["data"][
        "values"
    ]
    assert (whole[0]["from"], whole[-1]["to"]) == (0.5, 0.7)
