"""``arena rank``: tables of values per case, held to ``arena score`` and to definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.charts import titled
from arena.errors import InputError, UsageError
from arena.evaluation.repeats import repeat_variance
from arena.evaluation.scores import influence_values
from arena.hookspecs import hookimpl
from arena.intake import CaseColumns
from arena.plugin.manager import PluginManager
from arena.report.contents import board_report
from arena.scoring import rank as module
from arena.scoring.result import ScoreResult
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.types import TEAMS, VOCABULARIES, Section, SolutionColumns
from program import write_csv
from schemas import check_document

QUICK = BoardSettings(60, workers=1)
BARE = PluginManager(entry_points=False)
"""Without analyses, which have their own tests."""
M, N = 4, 45


def rank(table: Any, *, manager: PluginManager = BARE, **settings: Any) -> ScoreResult:
    return module.rank(table, manager=manager, **{"board": QUICK, **settings})


def losses(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    shared = rng.exponential(size=N)
    return (shared + rng.exponential(size=(M, N)) + 0.4 * np.arange(M)[:, None]).round(3)


def long_table(values: Any, **columns: Any) -> dict[str, Any]:
    m, n = values.shape
    return {
        "algorithm": np.repeat([f"a{j}" for j in range(m)], n),
        "case": np.tile([f"c{i}" for i in range(n)], m),
        "loss": values.ravel(),
        **{name: np.tile(column, m) for name, column in columns.items()},
    }


def scores_of(result: ScoreResult) -> dict[str, float]:
    return {row["team"]: row["score"] for row in result.standings}


@pytest.mark.slow
@pytest.mark.parametrize("role", ["cluster", "time"])
def test_the_board_is_that_of_the_same_values_as_predictions(tmp_path: Path, role: str) -> None:
    """A loss of |0 - value| is the value: both ways must agree in every figure."""
    values = losses()
    texts = np.repeat([f"{i}" for i in range(N // 5)], 5)
    rows = [(f"c{i}", 0.0, texts[i], "Private") for i in range(N)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "text", "Usage"], rows)
    for j in range(M):
        own = [(f"c{i}", value) for i, value in enumerate(values[j].tolist())]
        write_csv(tmp_path / "submissions" / f"a{j}.csv", ["id", "y"], own)
    columns = SolutionColumns(targets=("y",), **{role: "text"})
    settings = ScoreSettings("mae", columns, board=QUICK)
    scored = score(tmp_path / "solution.csv", [tmp_path / "submissions"], settings)
    ranked = rank(
        long_table(values, text=texts),
        greater_is_better=False,
        value_range=(0.0, np.inf),
        columns=CaseColumns(value="loss", **{role: "text"}),
        manager=PluginManager(),
    )
    for standing, other in zip(scored.standings, ranked.standings, strict=True):
        assert {**standing, "file": None} == {**other, "file": None}
    corrected = [dict(result.best_score_corrected) for result in (scored, ranked)]
    for words in ("assumption", "reason"):
        of_rows, of_cases = (document.pop(words) for document in corrected)
        assert (of_rows and of_rows.replace("rows", "cases")) == of_cases
    assert corrected[0] == corrected[1]
    verdicts = " ".join(finding.verdict for finding in scored.findings)
    for word, noun in (("submission", "algorithm"), ("team", "algorithm"), ("row", "case")):
        verdicts = verdicts.replace(word, noun)
    of_cases_only = {"task-aggregates", "task-critical-difference"}
    shared = [finding for finding in ranked.findings if finding.analysis not in of_cases_only]
    assert verdicts == " ".join(pair.verdict for pair in shared)
    assert ranked.split == "cases"


def test_long_wide_csv_and_parquet_are_the_same_table(tmp_path: Path) -> None:
    values = losses(1)
    wide = {"image": [f"c{i}" for i in range(N)], **{f"a{j}": values[j] for j in range(M)}}
    write_csv(tmp_path / "wide.csv", list(wide), zip(*wide.values(), strict=True))
    pq.write_table(pa.table(long_table(values)), tmp_path / "long.parquet")
    first = rank(tmp_path / "wide.csv", greater_is_better=False)
    second = rank(tmp_path / "long.parquet", greater_is_better=False)
    third = rank(long_table(values), greater_is_better=False)
    assert first.standings == second.standings == third.standings
    assert second.metric == "mean loss"
    assert second.inputs[0][0] == "long.parquet"


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("mean", {"a": 0.6, "b": 1.3 / 3, "c": 1.6 / 3}),
        ("median", {"a": 0.9, "b": 0.5, "c": 0.4}),
        ("rank-then-mean", {"a": 5 / 3, "b": 2.0, "c": 7 / 3}),
        ("rank-then-median", {"a": 1.0, "b": 2.0, "c": 3.0}),
    ],
)
def test_aggregates_are_their_definitions(aggregate: str, expected: Any) -> None:
    table = {"case": [1, 2, 3], "a": [0.9, 0.9, 0.0], "b": [0.5, 0.7, 0.1], "c": [0.4, 0.2, 1.0]}
    result = rank(table, greater_is_better=True, aggregate=aggregate)
    assert scores_of(result) == pytest.approx(expected)
    ordered = sorted(expected.values(), reverse=not aggregate.startswith("rank"))
    assert [row["score"] for row in result.standings] == pytest.approx(ordered)


def test_equal_values_share_the_mean_of_their_places_or_the_first() -> None:
    table = {"case": [1, 2, 3], "a": [0.9, 0.5, 0.5], "b": [0.1, 0.5, 0.5], "c": [0.5, 0.9, 0.5]}
    shared = rank(table, greater_is_better=True, aggregate="rank-then-mean")
    assert scores_of(shared) == pytest.approx({"a": 5.5 / 3, "b": 7.5 / 3, "c": 5 / 3})
    first = rank(table, greater_is_better=True, aggregate="rank-then-mean", ties="min")
    assert scores_of(first) == pytest.approx({"a": 4 / 3, "b": 2.0, "c": 4 / 3})
    with pytest.raises(UsageError, match="average, min, not 'max'"):
        rank(table, ties="max")


TASKS = {
    "case": [1, 2, 3, 4, 5, 6],
    "task": ["auc", "auc", "auc", "auc", "loss", "loss"],
    "a": [0.9, 0.8, 0.9, 0.8, 0.5, 0.3],
    "b": [0.7, 0.6, 0.7, 0.6, 0.4, 0.2],
    "c": [0.8, 0.9, 0.9, 0.9, 0.9, 0.7],
}
"""By mean: a .85 and .4, b .65 and .3, c .875 and .8."""
COMBINED = {
    "mean": {"a": 0.625, "b": 0.475, "c": 0.8375},
    "geometric": {"a": (0.85 * 0.4) ** 0.5, "b": (0.65 * 0.3) ** 0.5, "c": 0.7**0.5},
    "worst": {"a": 0.4, "b": 0.3, "c": 0.8},
    "mean_rank": {"a": 2.0, "b": 3.0, "c": 1.0},
}


@pytest.mark.parametrize("how", COMBINED)
def test_tasks_count_alike_however_many_cases_they_have(how: str) -> None:
    result = rank(TASKS, greater_is_better=True, combine=how)
    assert scores_of(result) == pytest.approx(COMBINED[how])
    rows = {row["team"]: row for row in result.standings}
    assert rows["a"]["mean value of loss"] == pytest.approx(0.4)
    assert result.split == "cases"


def test_tasks_of_the_other_direction_are_ranked_and_never_averaged() -> None:
    shared = {"greater_is_better": True, "opposite": ["loss"]}
    # Ranks by AUC: c, a, b. By loss: b, a, c.
    ranked = rank(TASKS, combine="mean_rank", **shared)
    assert scores_of(ranked) == pytest.approx({"a": 2.0, "b": 2.0, "c": 2.0})
    weighted = rank(TASKS, combine="mean_rank", weights={"loss": 3}, **shared)
    assert scores_of(weighted) == pytest.approx({"a": 2.0, "b": 1.5, "c": 2.5})
    by_case = rank(TASKS, aggregate="rank-then-mean", **shared)
    assert scores_of(by_case) == pytest.approx({"a": 10.5 / 6, "b": 14 / 6, "c": 11.5 / 6})
    for settings in ({}, {"combine": "mean"}, {"combine": "worst"}):
        with pytest.raises(UsageError, match=r"\(loss\) have no mean: rank them"):
            rank(TASKS, **shared, **settings)
    with pytest.raises(UsageError, match="no task 'lung' of the opposite direction: auc, loss"):
        rank(TASKS, opposite=["lung"], combine="mean_rank")
    with pytest.raises(UsageError, match="one task only"):
        rank({"case": [1, 2], "a": [0.5, 1.0]}, combine="mean")


def test_a_missing_task_has_the_values_of_a_baseline() -> None:
    table = {**TASKS, "b": [0.7, 0.6, 0.7, 0.6, None, None]}
    assert set(scores_of(rank(table, combine="mean"))) == {"a", "c"}
    filled = rank(table, combine="mean", missing="baseline", baseline="a")
    assert scores_of(filled)["b"] == pytest.approx((0.65 + 0.4) / 2)
    assert "Missing values are those of a: 2 of them." in filled.notes
    with pytest.raises(UsageError, match="no algorithm 'd' to fill"):
        rank(table, missing="baseline", baseline="d")
    for options in ({"missing": "baseline"}, {"baseline": "a"}):
        with pytest.raises(UsageError, match="Name the algorithm with --baseline"):
            rank(table, **options)


def test_geometric_means_are_relative_to_a_baseline() -> None:
    """The ranks are those without it; the baseline has exactly 1, whatever the rows."""
    ratio = rank(TASKS, combine="geometric", baseline="b")
    absolute = rank(TASKS, combine="geometric")
    before, after = (scores_of(result) for result in (absolute, ratio))
    assert after == pytest.approx({name: before[name] / before["b"] for name in before})
    columns = ("rank", "rank_low", "rank_high", "win_rate")
    for standing, other in zip(absolute.standings, ratio.standings, strict=True):
        assert [standing[name] for name in columns] == [other[name] for name in columns]
    assert ratio.study is not None
    metric, truth = ratio.study.metric, ratio.study.truth
    block = next(iter(ratio.study.predictions.blocks(3)))[1]
    values = influence_values(metric, truth, block)
    assert values is not None
    np.testing.assert_allclose(values[1], 0, atol=1e-12)
    weight = np.ones(6)
    weight[1] += 1e-6
    change = (metric.score(truth, block[0], weight) - metric.score(truth, block[0])) / 1e-6
    assert values[0, 1] == pytest.approx(6 * change * np.sqrt(4 / 3 * 5 / 6), rel=1e-4)
    with pytest.raises(UsageError, match="'d' has no value for every case"):
        rank(TASKS, combine="geometric", baseline="d")


def test_repeats_are_averaged_and_their_variance_is_told_apart() -> None:
    rng = np.random.default_rng(3)
    n, k = 4_000, 4
    ability = 0.2 + 0.6 * rng.random((2, n))
    answers = (rng.random((2, n, k)) < ability[..., None]).astype(float)
    means, within = answers.mean(axis=2), answers.var(axis=2, ddof=1)
    variance = repeat_variance(means, within, np.full((2, n), k))
    assert variance.between == pytest.approx(0.6**2 / 12, abs=0.005)
    assert variance.within == pytest.approx((ability * (1 - ability)).mean(axis=1), rel=0.05)
    total = (variance.between + variance.within / k) / n
    assert variance.standard_error**2 == pytest.approx(total, rel=1e-9)

    few = answers[:, :30]
    table = {
        "algorithm": np.repeat(["a", "b"], 30 * k),
        "case": np.tile(np.repeat(np.arange(30), k), 2),
        "value": few.ravel(),
        "repeat": np.tile(np.arange(k), 60),
    }
    result = rank(table, greater_is_better=True)
    assert scores_of(result) == pytest.approx({"a": few[0].mean(), "b": few[1].mean()})
    assert result.findings[-1].analysis == "repeats"
    assert result.findings[-1].document["answers"] == [4.0, 4.0]
    del table["repeat"]
    with pytest.raises(InputError, match="'a' has two values for the case '0'.*--repeat"):
        rank(table, greater_is_better=True)


def answers_to(*rows: tuple[str, str, list[float]]) -> dict[str, list[Any]]:
    """Return the table of the answers of an algorithm to a case, numbered."""
    cells = [
        (algorithm, case, answer, number)
        for algorithm, case, answers in rows
        for number, answer in enumerate(answers)
    ]
    names = ("algorithm", "case", "value", "repeat")
    return dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))


def test_pass_at_k_is_the_chance_that_one_of_k_answers_is_right() -> None:
    """Of 3 answers with 1 right, 2 are wrong with C(2, 2) / C(3, 2) = 1/3; with 2 right, never."""
    rows = (
        ("a", "1", [1, 0, 0]),
        ("a", "2", [0, 1, 1]),
        ("b", "1", [0, 0, 0]),
        ("b", "2", [1, 0, 1]),
    )
    table = answers_to(*rows)
    for k, expected in ((1, (1 / 2, 1 / 3)), (2, (5 / 6, 1 / 2))):
        result = rank(table, greater_is_better=True, aggregate=f"pass@{k}")
        assert scores_of(result) == pytest.approx(dict(zip("ab", expected, strict=True)))
        assert result.metric == f"pass@{k} of value"
    once = {"case": [1, 2], "a": [1, 0], "b": [1, 1]}
    single = rank(once, greater_is_better=True, aggregate="pass@1")
    assert scores_of(single) == {"a": 0.5, "b": 1.0}
    right_or_wrong = "pass@1 needs answers that are right (1) or wrong (0)."
    for records, k, sentence in (
        (table, 4, "'a' has 3 answers to the case '1', and pass@4 needs 4: add answers, or number "
                   "them with --repeat auto."),
        (answers_to(*rows[:3], ("b", "2", [1, 0])), 3,
         "'b' has 2 answers to the case '2', and pass@3 needs 3: add answers, or number them with "
         "--repeat auto."),
        (answers_to(*rows[:3], ("b", "2", [0.5, 0.5, 0])), 1, right_or_wrong),
        (answers_to(*rows[:3], ("b", "2", [0.5])), 1, right_or_wrong),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            rank(records, greater_is_better=True, aggregate=f"pass@{k}")
        assert str(refused.value) == sentence


def test_missing_values_are_faults_or_the_worst_or_a_number() -> None:
    table = {"case": [1, 2, 3, 4], "a": [0.5, 1.0, None, 0.5], "b": [0.2, 0.4, 0.6, 0.4]}
    fault = rank(table, greater_is_better=True)
    assert scores_of(fault) == {"b": 0.4}
    assert fault.rejected[0].file == "a"
    assert [(found_fault.kind, found_fault.id) for found_fault in fault.rejected[0].faults] == [
        ("missing value", "3")
    ]
    worst = rank(table, greater_is_better=True, missing="worst")
    assert scores_of(worst) == {"a": 0.5, "b": 0.4}
    assert any("Missing values count as 0: 1 of them" in note for note in worst.notes)
    long = {"algorithm": list("aaab"), "case": [1, 2, 3, 1], "value": [0.5, 1.0, None, 0.2]}
    absent = rank(long, greater_is_better=True, missing="worst")  # b has neither case 2 nor 3
    assert any("Missing values count as 0: 3 of them" in note for note in absent.notes)
    loss = rank(table, greater_is_better=False, missing="worst", value_range=(0, 1))
    assert scores_of(loss)["a"] == 0.75
    # A loss that happens to lie below 1 may be larger.
    assert rank(table, greater_is_better=False).study.metric.value_range == (0.0, np.inf)
    number = rank(table, greater_is_better=True, missing=0.2)
    assert scores_of(number)["a"] == 0.55
    below = rank(table, greater_is_better=True, missing=-2)
    assert scores_of(below)["a"] == 0.0
    assert not any("taken as their range" in note for note in below.notes)
    with pytest.raises(InputError, match="between -2 and 1, outside the range of 0 to 1"):
        rank(table, greater_is_better=True, missing=-2, value_range=(0, 1))


def test_what_is_compared_in_pairs_says_how_many_cases_are_shared() -> None:
    nan = float("nan")
    table = {
        "case": [*"vwxyz"],
        "a": [1.0, 2.0, 3.0, 4.0, 5.0],
        "b": [2.0, nan, 4.0, 5.0, 6.0],
        "c": [nan, 3.0, 4.0, 5.0, nan],
        "d": [nan, nan, nan, 5.0, 6.0],
    }
    result = rank(table, greater_is_better=True, missing="pairwise")
    (rejected,) = result.rejected
    assert (rejected.file, rejected.faults[0].kind) == ("d", "few values")
    assert "It has values for 40% of the cases, and 50% are needed" in rejected.faults[0].message
    assert {row["team"]: row["coverage"] for row in result.standings} == {
        "a": 1.0, "b": 0.8, "c": 0.6,
    }  # fmt: skip
    (coverage,) = [finding for finding in result.findings if finding.analysis == "coverage"]
    assert coverage.document == {
        "algorithms": ["a", "b", "c"], "share": [1.0, 0.8, 0.6], "fewest_shared": 2,
    }  # fmt: skip
    assert "at least 2 of 5" in coverage.verdict
    # On the cases that both have b - a is 1, c - a is 1 and c - b is 0; the mean is over all three.
    assert scores_of(result) == pytest.approx({"a": -2 / 3, "b": 1 / 3, "c": 1 / 3})


def test_each_task_has_its_own_cases_and_a_consensus() -> None:
    values = losses(2)
    tasks = np.repeat(["lung", "liver", "brain"], N // 3)
    table = long_table(values, organ=tasks)
    table["case"] = np.tile(np.tile(np.arange(N // 3), 3), M)
    columns = CaseColumns(task="organ", value="loss")
    result = rank(table, greater_is_better=False, columns=columns)
    assert result.study is not None
    assert result.study.task_names == ("lung", "liver", "brain")
    assert scores_of(result) == pytest.approx(
        {f"a{j}": values[j].mean() for j in range(M)}, rel=1e-11
    )


def test_a_board_speaks_of_algorithms_and_cases_but_keeps_names() -> None:
    table = {"case": range(40), "row net": [0.9, 0.8] * 20, "forest": [0.5, 0.7] * 20}
    result = rank(table, greater_is_better=True)
    assert repr(result).startswith("<ScoreResult: mean value on 40 cases, 2 algorithms, first row")
    assert result.to_markdown().startswith("| rank | algorithm |")
    assert "| row net " in result.to_markdown()
    report = board_report(result, BARE)
    messages = [
        *report.verdicts,
        *(text for section in report.technical[:1] for text in (section.text,)),
    ]
    assert messages[0].startswith("row net is first of 2 algorithms, with mean value 0.85")
    assert "The 40 ranked cases were drawn again" in messages[-1]
    assert ("Algorithms ranked", "2") in report.facts
    (stated,) = report.technical[0].tables  # a mean of values has no positive label
    assert [setting for setting, _ in stated.rows] == [
        "metric", "a larger score is better", "ranked on", "confidence level", "resamples",
        "resamples drawn again because a class was missing", "resamples left out", "seed",
    ]  # fmt: skip


def test_tooltips_call_teams_by_their_noun_and_keep_the_data() -> None:
    data = {"values": [{"team": "row net", "field": "team"}]}
    tooltip = [{"field": "team", "type": "nominal"}, {"field": "share"}]
    chart = {"data": data, "encoding": {"tooltip": tooltip}}
    models = titled(chart, VOCABULARIES["questions"])
    assert models["data"] == data
    assert models["encoding"]["tooltip"] == [{"title": "model", **tooltip[0]}, tooltip[1]]
    assert titled(chart, TEAMS) == chart


class Announcer:
    """A plugin whose sections and verdicts are its own."""

    @hookimpl
    def provide_report_sections(self, result: Any) -> list[Section]:
        return [Section("Reviewers", "The radiology team of Basel read each row.")]


def test_what_plugins_write_is_not_rewritten() -> None:
    manager = PluginManager(entry_points=False)
    manager.register(Announcer(), "announcer")
    table = {"case": range(40), "row net": [0.9, 0.8] * 20, "forest": [0.5, 0.7] * 20}
    report = board_report(rank(table, greater_is_better=True, manager=manager), manager)
    (section,) = (section for section in report.sections if section.title == "Reviewers")
    assert section.text == "The radiology team of Basel read each row."


def test_the_document_names_algorithms() -> None:
    table = {"case": range(40), "row net": [0.9, 0.8] * 20, "forest": [0.5, 0.7] * 20}
    document = rank({**table, "gap": [0.5] * 39 + [None]}, greater_is_better=True).to_dict()
    check_document(document, "rank")
    assert [row["algorithm"] for row in document["standings"]] == ["row net", "forest"]
    assert [row["algorithm"] for row in document["rejected"]] == ["gap"]
    assert (document["schema"], document["n_cases"]) == ("arena/rank/1", 40)
    assert not {"team", "submission"} & set(document["standings"][0])


def test_the_direction_is_assumed_with_a_note() -> None:
    result = rank({"case": [1, 2], "a": [3.0, 4.0], "b": [1.0, 2.0]})
    assert result.standings[0]["team"] == "a"
    assert any("assuming larger is better; pass --lower-is-better" in note for note in result.notes)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"case": [1], "a": ["x"]}, "'x' is not a number"),
        ({"case": [1, 2, 2], "a": [1.0, 2.0, 2.0]}, "two values for the case '2'"),
        ({"case": [1], "a": [np.inf]}, "finite"),
        ({"case": [1, 2]}, "no column with the values"),
        (
            {"algorithm": ["a", "b"], "case": [1, 1], "value": [1.0, 2.0], "cluster": ["x", "y"]},
            "'1' is in two clusters",
        ),
        ({"algorithm": ["a"], "case": [1], "x": [1.0], "y": [1.0]}, "Name one with --value"),
        ({"algorithm": ["a"], "question": [1], "x": [1.0]}, "cases with --case"),
        ({"case": [1, 2], "a": [5.0, 6.0]}, "outside the range"),
    ],
)
def test_an_invalid_table_is_named_in_a_sentence(table: Any, message: str) -> None:
    wrong = (0.0, 1.0) if "outside" in message else None
    with pytest.raises((InputError, UsageError), match=message):
        rank(table, greater_is_better=True, value_range=wrong)
