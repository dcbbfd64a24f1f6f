"""The matrix of the records of algorithms on cases, and records that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.errors import InputError, UsageError
from arena.interfaces import CaseScores
from arena.scoring.case_matrix import CaseMatrix, case_matrix, combine
from arena.scoring.rank import finding_on_repeats
from arena.types import VOCABULARIES

NAN = np.nan


def scores(algorithms: str, cases: str, values: Any, **columns: Any) -> CaseScores:
    """Return records whose names are single letters; all records have the same ``metric``."""
    letters = {
        name: [*column] if isinstance(column, str) and name != "metric" else column
        for name, column in columns.items()
    }
    return CaseScores([*algorithms], [*cases], np.array(values), **letters)


def parts_of(matrix: CaseMatrix) -> list[Any]:
    """Return the values, the numbers of answers and the variances; -1 stands for NaN."""
    columns = (matrix.values, matrix.repeats, matrix.within)
    return [np.nan_to_num(column.astype(float), nan=-1).tolist() for column in columns]


# a answered case 1 of task s twice, and b gave no answer to case 2.
RECORDS = scores(
    "aaabbab", "1121211", [1.0, 0.0, 2.0, 3.0, NAN, 4.0, 5.0],
    tasks="ssssstt", clusters="qqpqpqq", repeats="1211111",
)  # fmt: skip


def test_answers_to_a_case_of_a_task_are_averaged() -> None:
    matrix = case_matrix(RECORDS)
    assert (matrix.algorithms, matrix.cases) == (("a", "b"), ("s/1", "s/2", "t/1"))
    assert parts_of(matrix) == [
        [[0.5, 2.0, 4.0], [3.0, -1.0, 5.0]],
        [[2, 1, 1], [1, 1, 1]],
        [[0.5, -1.0, -1.0], [-1.0, -1.0, -1.0]],
    ]
    assert matrix.clusters is not None
    assert matrix.tasks is not None
    assert (matrix.clusters.tolist(), matrix.tasks.tolist()) == ([0, 1, 0], [0, 0, 1])
    assert matrix.task_names == ("s", "t")
    assert case_matrix(RECORDS, 0.25).values.tolist() == [[0.5, 2.0, 4.0], [3.0, 0.25, 5.0]]
    (fault,) = matrix.missing()[1]
    assert (list(matrix.missing()), fault.id) == ([1], "s/2")
    filled, n_filled = matrix.filled_from("a")
    assert (filled.values.tolist(), n_filled) == ([[0.5, 2.0, 4.0], [3.0, 2.0, 5.0]], 1)
    assert matrix.filled_from("b")[1] == 0
    with pytest.raises(UsageError) as refused:
        matrix.filled_from("c")
    assert str(refused.value) == (
        "There is no algorithm 'c' to fill missing values from; there are 'a', 'b'."
    )
    subset = matrix.subset([1]).with_cases([2, 1])
    assert (subset.algorithms, subset.cases) == (("b",), ("t/1", "s/2"))
    assert parts_of(subset) == [[[5.0, -1.0]], [[1, 1]], [[-1.0, -1.0]]]
    assert subset.clusters is not None
    assert subset.tasks is not None
    assert (subset.clusters.tolist(), subset.tasks.tolist()) == ([0, 1], [1, 0])
    assert matrix.with_cases([1]).clusters.tolist() == [0]  # type: ignore[union-attr]


def test_repeats_of_a_case_have_a_mean_and_a_variance() -> None:
    # a answers case 1 with 1, 2 and 6: their mean is 3, and (4 + 1 + 9) / 2 = 7.
    answers = scores("aaaab", "11121", [1.0, 2.0, 6.0, 5.0, 4.0], repeats="xyzxx")
    assert parts_of(case_matrix(answers)) == [
        [[3.0, 5.0], [4.0, -1.0]],
        [[3, 1], [1, 0]],
        [[7.0, -1.0], [-1.0, -1.0]],
    ]


def test_repeated_answers_make_up_a_share_of_the_variance() -> None:
    # The means .5 and 1.5 have variance .5. The mean of two answers has variance .25 / 2, so .375
    # is the variance between cases.
    matrix = case_matrix(scores("aaaa", "1122", [0.0, 1.0, 1.5, 1.5], repeats="1212"))
    verdict = finding_on_repeats(matrix, VOCABULARIES["cases"]).verdict
    assert "was answered 2 times" in verdict
    assert "make up 25.0% of the variance" in verdict


def test_cases_are_named_by_task_if_there_are_several_and_equal_names_are_numbered() -> None:
    matrix = case_matrix(scores("ab", "11", [1.0, 2.0], tasks="ss"))
    assert (matrix.cases, matrix.tasks, matrix.task_names) == (("1",), None, ())
    slashes = CaseScores(["a"] * 2, ["y/z", "z"], np.ones(2), tasks=["x", "x/y"])
    assert case_matrix(slashes).cases == ("x/y/z (1)", "x/y/z (2)")
    few_names = case_matrix(scores("aaaaaa", "121212", np.arange(6.0), tasks="ssttuu"))
    assert few_names.cases == ("s/1", "s/2", "t/1", "t/2", "u/1", "u/2")
    assert few_names.values.tolist() == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]


DUPLICATES = (
    " for the case {!r}. If a case was answered several times, name the column that numbers the "
    "answers with --repeat; if cases of several tasks share names, name the column of the tasks "
    "with --task; else remove one of the rows."
)
REFUSED: list[tuple[CaseScores, str]] = [
    (
        scores("abab", "1122", [1.0, 2.0, np.inf, -np.inf]),
        "'a' has an infinite value for the case '2', and a mean needs finite values: write a "
        "finite number, leave the cell empty, or rank the algorithms on each case with "
        "--aggregate rank-then-mean.",
    ),
    (scores("babaa", "12112", np.arange(5.0)), f"'b' has two values{DUPLICATES.format('1')}"),
    (
        scores("abaa", "1111", [1.0, 2.0, 3.0, 4.0], repeats="1121"),
        f"'a' has two values of one repeat{DUPLICATES.format('1')}",
    ),
    (
        scores("aabb", "1221", np.ones(4), clusters="pqrs"),
        "The case '2' is in two clusters: each case has one.",
    ),
    (
        scores("aabb", "1221", np.ones(4), moments=np.array([0.0, 1.0, 2.0, 3.0])),
        "The case '2' is at two times: each case has one.",
    ),
    (
        scores("aA", "12", np.ones(2)),
        "The algorithms 'a' and 'A' seem to be one, written in two ways: write it in one way "
        "everywhere, or rename one if they are different.",
    ),
    (
        CaseScores(["a", "b"], ["1", "1.0"], np.ones(2)),
        "The cases '1' and '1.0' seem to be one, written in two ways: write it in one way "
        "everywhere, or rename one if they are different.",
    ),
    (scores("aaabb", "12344", np.arange(5.0)), f"'b' has two values{DUPLICATES.format('4')}"),
]


@pytest.mark.parametrize(("records", "sentence"), REFUSED)
def test_records_are_refused_in_a_sentence(records: CaseScores, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        case_matrix(records)
    assert str(refused.value) == sentence


def test_algorithms_with_values_for_the_same_case_are_different() -> None:
    assert case_matrix(scores("aaA", "121", np.ones(3))).algorithms == ("a", "A")
    infinite = case_matrix(REFUSED[0][0], infinite=True)
    assert infinite.values.tolist() == [[1.0, np.inf], [2.0, -np.inf]]


def test_files_are_combined_if_they_have_the_same_metric_and_columns() -> None:
    first, second = (
        scores(algorithm, "1", [value], tasks="s", metric="dice", notes=("A.", note))
        for algorithm, value, note in (("a", 1.0, "B."), ("b", 2.0, "C."))
    )
    both = combine([first, second])
    assert [both.algorithms.to_pylist(), both.tasks.to_pylist()] == [["a", "b"], ["s", "s"]]
    assert (both.values.tolist(), both.notes) == ([1.0, 2.0], ("A.", "B.", "C."))
    assert both.clusters is None
    for parts, sentence in (
        ([], "There are no values to rank."),
        (
            [first, scores("b", "1", [2.0], tasks="s", metric="hd95")],
            "The files hold different values (dice, hd95): rank one kind at a time, or choose the "
            "values with --value.",
        ),
        (
            [first, scores("b", "1", [2.0], metric="dice")],
            "Only some of the files have tasks: add them to all, or none.",
        ),
    ):
        with pytest.raises(InputError) as refused:
            combine(parts)
        assert str(refused.value) == sentence
