"""The organiser's file: what each kind of prediction makes of it, and all its faults at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.errors import InputError, UsageError
from arena.evaluation.binding import sampled_groups
from arena.intake import read_solution
from arena.intake.header import data_in_header
from arena.intake.targets import TargetReading, columns_of_target, has_value
from arena.interfaces.faults import FaultList
from arena.types import ROW_TIMES, MetricTraits, PredictionKind, Target, Usage
from submission_files import Solve

LABEL, PROBABILITY = PredictionKind.LABEL, PredictionKind.PROBABILITY
CLASSES, SCORE, VALUE = (
    PredictionKind.CLASS_PROBABILITIES,
    PredictionKind.SCORE,
    PredictionKind.VALUE,
)


def test_numbers(solve: Solve) -> None:
    solution = solve("id,y\na,1.5\nb,-2\n", VALUE)
    assert solution.truth.dtype == np.float64
    assert solution.truth.tolist() == [1.5, -2]
    assert solution.columns == ("y",)
    assert solution.targets[0].classes is None
    assert solution.usage.tolist() == [Usage.PRIVATE] * 2


def test_decimal_commas(solve: Solve) -> None:
    assert solve("id;y\na;1,5\nb;-2\n", VALUE).truth.tolist() == [1.5, -2]


def test_usage_in_any_case_and_ignored_rows_hold_anything(solve: Solve) -> None:
    content = "id,y,Usage\na,1,Public\nb,2,PRIVATE\nc,,ignored\nd,junk,Ignored\n"
    solution = solve(content, VALUE)
    assert solution.usage.tolist() == [Usage.PUBLIC, Usage.PRIVATE, Usage.IGNORED, Usage.IGNORED]
    assert solution.truth.tolist() == [1, 2, 0, 0]
    labels = solve(content, LABEL)
    assert labels.targets[0].classes == ("1", "2")
    assert labels.truth.tolist() == [0, 1, 0, 0]


def test_usage_column_of_another_name(solve: Solve) -> None:
    solution = solve("id,y,part\na,1,Public\nb,2,Private\n", VALUE, usage="part")
    assert solution.usage.tolist() == [Usage.PUBLIC, Usage.PRIVATE]
    with pytest.raises(InputError, match="no column 'split'"):
        solve("id,y\na,1\n", VALUE, usage="split")


def test_a_column_of_usages_is_recognised_if_it_is_the_only_one(solve: Solve) -> None:
    for header, public, private, guessed in (
        ("id,y,part", "a,1,Public", "b,2,Private", "part"),
        ("id,y,part", "a,1, publictest ", "b,2,PrivateTest", "part"),
        ("id,y,part", "a,1,Public", "b,2,Public", None),  # no private row
        ("id,y,part", "a,1,Public", "b,2,Training", None),
        ("id,y,part,other", "a,1,Public,Public", "b,2,Private,Private", None),
        ("id,y,part,Usage", "a,1,Public,Private", "b,2,Private,Public", None),
        ("part,y", "Public,1", "Private,2", None),  # the id column
    ):
        solution = solve(f"{header}\n{public}\n{private}\n", VALUE, targets=("y",))
        assert solution.guessed_usage == guessed, (header, public)
        if guessed is not None:
            assert solution.usage.tolist() == [Usage.PUBLIC, Usage.PRIVATE]
    with pytest.raises(InputError, match="part"):
        solve("id,y,part,part\na,1,Public,Public\nb,2,Private,Private\n", VALUE)


def test_id_column_is_id_else_the_first(solve: Solve) -> None:
    assert solve("y,id\n1,a\n2,b\n", VALUE).id_column == "id"
    first = solve("row,y\n1,5\n2,6\n", VALUE)
    assert (first.id_column, first.ids.to_pylist()) == ("row", ["1", "2"])
    assert solve("row,y\n1,5\n2,6\n", VALUE, id="y").columns == ("row",)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["10", "9", "2"], ("2", "9", "10")),
        (["b", "a", "10"], ("10", "a", "b")),
        (["1.0", "1", "0"], ("0", "1")),
        (["True", "False"], ("False", "True")),
        (["-1", "1"], ("-1", "1")),
    ],
)
def test_classes_are_sorted_as_numbers_or_as_text(
    solve: Solve, labels: list[str], classes: tuple[str, ...]
) -> None:
    rows = "".join(f"r{i},{label}\n" for i, label in enumerate(labels))
    solution = solve("id,y\n" + rows, LABEL)
    assert solution.targets[0].classes == classes
    assert solution.truth.dtype == np.intp
    for label, code in zip(labels, solution.truth, strict=True):
        named = classes[code]
        assert named == label or float(named) == float(label)


def test_positive_label_comes_last(solve: Solve) -> None:
    content = "id,y\na,cat\nb,dog\n"
    assert solve(content, PROBABILITY).truth.tolist() == [0, 1]
    chosen = solve(content, PROBABILITY, positive="cat")
    assert chosen.targets[0].classes == ("dog", "cat")
    assert chosen.truth.tolist() == [1, 0]
    number = solve("id,y\na,0\nb,1\n", PROBABILITY, positive="0.0")
    assert number.targets[0].classes == ("1", "0")
    with pytest.raises(InputError, match="'eel' must be one of two"):
        solve(content, PROBABILITY, positive="eel")


def test_one_class_only_is_left_to_the_metric(solve: Solve) -> None:
    solution = solve("id,y\na,1\nb,1\n", SCORE)
    assert solution.targets[0].classes == ("0", "1")
    assert solution.truth.tolist() == [1, 1]
    assert solve("id,y\na,x\nb,x\n", SCORE).targets[0].classes == ("x",)


@pytest.mark.parametrize("kind", [SCORE, CLASSES])
def test_more_classes_need_a_column_each(solve: Solve, kind: PredictionKind) -> None:
    solution = solve("id,y\na,cat\nb,dog\nc,eel\n", kind)
    assert solution.columns == ("cat", "dog", "eel")
    assert solution.truth.tolist() == [0, 1, 2]


def test_one_hot_columns_are_one_target(solve: Solve) -> None:
    content = "id,eel,cat,dog\na,0,1,0\nb,0,0,1\nc,1,0,0\n"
    solution = solve(content, CLASSES, targets=("eel", "cat", "dog"))
    assert solution.columns == ("eel", "cat", "dog")
    assert solution.targets[0].classes == ("eel", "cat", "dog")
    assert solution.truth.tolist() == [1, 2, 0]
    two = solve("id,no,yes\na,1,0\nb,0,1\n", CLASSES, targets=("no", "yes"))
    assert two.columns == ("yes",)
    assert two.truth.tolist() == [0, 1]


def test_binary_columns_are_several_targets(solve: Solve) -> None:
    content = "id,p,q\na,0,1\nb,1,1\nc,0,0\n"
    for kind in (SCORE, PROBABILITY, CLASSES):
        solution = solve(content, kind, targets=("p", "q"))
        assert solution.columns == ("p", "q")
        assert [target.classes for target in solution.targets] == [("0", "1")] * 2
        assert solution.truth.tolist() == [[0, 1], [1, 1], [0, 0]]


def test_several_targets_of_labels_and_of_numbers(solve: Solve) -> None:
    labels = solve("id,p,q\na,x,1\nb,y,2\n", LABEL, targets=("p", "q"))
    assert [target.classes for target in labels.targets] == [("x", "y"), ("1", "2")]
    assert labels.truth.tolist() == [[0, 0], [1, 1]]
    values = solve("id,p,q\na,3,1\nb,4,2\n", VALUE, targets=("q", "p"))
    assert values.columns == ("q", "p")
    assert values.truth.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(InputError, match="3 labels"):
        solve("id,p,q\na,x,1\nb,y,2\nc,z,1\n", SCORE, targets=("p", "q"))


@pytest.mark.parametrize(
    "cells",
    [
        ("2", "-1.5", "1e3"),
        ("2026-01-02", "2026-01-01", "2026-02-01"),
        ("2026-01-01T12:00", "2026-01-01 11:59:59", "2026-01-02"),
        ("2026-01-01T12:00Z", "2026-01-01T13:00+02:00", "2026-01-01T12:00:01"),
    ],
)
def test_times_are_numbers_or_dates_of_which_the_order_counts(solve: Solve, cells) -> None:
    lines = "".join(f"{row},1,{cell},Public\n" for row, cell in zip("abc", cells, strict=True))
    solution = solve(f"id,y,when,Usage\n{lines}d,4,,Ignored\n", VALUE, time="when")
    assert solution.columns == ("y",)
    assert np.argsort(solution.extra[ROW_TIMES][:3]).tolist() == [1, 0, 2]
    blocks = sampled_groups(solution, solution.usage == Usage.PUBLIC)
    assert blocks is not None
    assert blocks.tolist() == [0, 0, 0]


def test_what_is_no_time_is_named(solve: Solve) -> None:
    content = "id,y,when\na,1,2026-01-01\nb,2,noon\nc,3,\nd,4,2026-01-02\n"
    with pytest.raises(InputError, match=r"row 3, id 'b', column 'when': 'noon' is no time"):
        solve(content, VALUE, time="when")
    with pytest.raises(UsageError, match="not both"):
        solve(content, VALUE, time="when", cluster="id")


def test_clusters(solve: Solve) -> None:
    content = "id,y,who,Usage\na,1,u,Public\nb,2,v,Private\nc,3,u,Private\nd,4,,Ignored\n"
    solution = solve(content, VALUE, cluster="who")
    assert solution.clusters is not None
    assert solution.clusters[0] == solution.clusters[2] != solution.clusters[1]
    assert solution.columns == ("y",)
    with pytest.raises(InputError, match="row 5, id 'd', column 'who': The cluster is missing"):
        solve(content.replace("Ignored", "Public"), VALUE, cluster="who")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "solution.parquet"
    usage = pa.array(["Public", "Private"]).dictionary_encode()
    pq.write_table(pa.table({"id": [7, 8], "y": [0.5, 1.5], "Usage": usage}), path)
    solution = read_solution(path, kind=VALUE)
    assert solution.ids.to_pylist() == ["7", "8"]
    assert solution.truth.tolist() == [0.5, 1.5]
    assert len(solution.sha256) == 64


@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [  # a word such as NA is a label among texts, and no value among numbers
        (CLASSES, ["NA", "x", "", " "], [True, True, False, False]),
        (CLASSES, ["NA", "1", "", "2"], [False, True, False, True]),
        (VALUE, ["NA", "x", "", "1"], [False, True, False, True]),
        (VALUE, ["NA", "nan", "2", "1"], [False, False, True, True]),
    ],
)
def test_which_cells_have_a_value(
    kind: PredictionKind, cells: list[str], expected: list[bool]
) -> None:
    columns = {"y": pa.array(cells), "z": pa.array(["1"] * 4)}
    everywhere, nowhere = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    assert has_value(columns, everywhere, kind).T.tolist() == [expected, [True] * 4]
    assert has_value(columns, nowhere, kind).all()


REFUSED = [
    ("id,y,z\na,1,2\n", {}, "2 columns could be the target: .*'y', 'z'"),
    ("id\na\n", {}, "no target column"),
    ("id,y\na,1\n", {"targets": ("z",)}, "no column 'z'. The file has 'id', 'y'"),
    ("id,y\na,1\n", {"id": "key"}, "no column 'key'"),
    ("id,y,y\na,1,1\n", {}, "column 'y': The column occurs twice"),
    ("id,y\na,1\n", {"targets": ("y",), "weight": "y"}, "cannot be the target and the column w"),
    ("id,y\na,1\n", {"targets": ("y",), "usage": "y"}, "cannot be the target and the column us"),
    ("id,y,z\na,1,2\n", {"usage": "z", "cluster": "z"}, "z.*cannot have another role"),
    ("id,y,Usage\na,1,Public\n", {"tasks": "Usage"}, "Usage.*cannot have another role"),
    ("id,y,usage\na,1,Public\n", {"cluster": "usage"}, "usage.*cannot have another role"),
    ("id,y\na,1\na,2\n", {}, "row 3, id 'a': The id already occurs in row 2"),
    ("id,y\n,1\n", {}, "row 2, .*The id is empty"),
    ("id,y,Usage\na,1,Secret\n", {}, "row 2, id 'a': 'Secret' is not Public"),
    ("id,y,Usage\na,1,Ignored\n", {}, "All rows are Ignored"),
    ("id,y\na,x\n", {}, "row 2, id 'a', column 'y': The cell is not a number"),
    ("id,y\na,\n", {}, "row 2, id 'a', column 'y': The cell is empty"),
    (
        "id,y\na,-1\n",
        {"traits": MetricTraits(truth_range=(0, np.inf))},
        r"row 2, .*outside \[0, inf\]",
    ),
    ("id,y\n", {}, "only a header line"),
    ("", {}, "The file is empty"),
    ("id,y\na,1,2\nb,3\n", {}, "row 2: The row has 3 fields"),
]


@pytest.mark.parametrize(("content", "options", "message"), REFUSED)
def test_faults_of_the_organiser(
    solve: Solve, content: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        solve(content, VALUE, **options)


def test_numbers_are_no_classes(solve: Solve) -> None:
    numbers = [f"{number / 2}" for number in range(30)]
    content = "id,y\n" + "".join(
        f"r{position},{number}\n" for position, number in enumerate(numbers)
    )
    with pytest.raises(
        InputError, match="30 different numbers, such as '0.5', and the metric need"
    ):
        solve(content, CLASSES)
    assert solve(content, VALUE).n_rows == 30
    ratings = "id,y\n" + "".join(f"r{number},{number % 10 / 2}\n" for number in range(30))
    assert len(solve(ratings, CLASSES).columns) == 10


def test_too_many_classes(solve: Solve) -> None:
    content = "id,y\na,1\nb,2\nc,3\n"
    with pytest.raises(InputError, match="3 distinct labels, but the metric supports at most 2"):
        solve(content, SCORE, traits=MetricTraits(max_classes=2))
    with pytest.raises(InputError, match="needs two labels, but the column has 3"):
        solve(content, PROBABILITY)
    many = "id,y\n" + "".join(f"{i},{i}\n" for i in range(10_500))
    with pytest.raises(InputError, match="If it is a numeric target"):
        solve(many, SCORE)


def test_all_faults_stand_in_one_message(solve: Solve) -> None:
    rows = "a,x,Public\na,1,Nowhere\nb,,Private\n"
    with pytest.raises(InputError) as caught:
        solve("id,y,Usage\n" + rows, VALUE)
    lines = str(caught.value).splitlines()
    assert lines[0] == "The solution 'solution.csv' cannot be used (4 faults):"
    assert len(lines) == 5


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_solution(tmp_path / "solution.csv", kind=VALUE)


def test_decimal_commas_are_read_where_no_comma_separates_columns(solve: Solve) -> None:
    solution = solve('id;y;z\na;"1,5";2\nb;-0,25;3\n', VALUE, targets=("y", "z"))
    assert solution.truth.tolist() == [[1.5, 2.0], [-0.25, 3.0]]
    with pytest.raises(InputError, match="column 'y': The cell has a comma: write a decimal point"):
        solve('id,y,z\na,"1,5",2\nb,-0.25,3\n', VALUE, targets=("y", "z"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"{number}.5" for number in range(20)], None),
        (
            [f"{number}.5" for number in range(21)],
            "The column has 21 different numbers, such as '0.5', and the metric needs classes: "
            "choose a metric for numbers, such as rmse.",
        ),
        ([str(number) for number in range(21)], None),
        ([f"class {number}" for number in range(10_000)], None),
        (
            [f"class {number}" for number in range(10_001)],
            "The column has 10,001 distinct labels, and each would need a column in a submission. "
            "If it is a numeric target, choose a metric for numbers.",
        ),
    ],
    ids=lambda value: None if value is None else str(len(value)),
)
def test_classes_are_few_and_no_fractions(labels: list[str], message: str | None) -> None:
    faults = FaultList()
    reading = TargetReading(PredictionKind.CLASS_PROBABILITIES, None)
    assert columns_of_target(Target("y", tuple(labels)), reading, faults) == tuple(labels)
    assert [fault.message for fault in faults.to_tuple()] == ([] if message is None else [message])


@pytest.mark.parametrize(("n_others", "is_data"), [(99, True), (100, False)])
def test_a_name_that_is_a_hundredth_of_the_cells_below_it_is_one_of_them(
    n_others: int, is_data: bool
) -> None:
    words = pa.array(["cat", *["dog"] * n_others])
    ids = pa.array(list(map(str, range(1 + n_others))))
    reason = data_in_header(["id", "cat"], [ids, words])
    assert reason == ("the name of column 2 is also one of its cells" if is_data else None)
    # More than half of the cells of the first column have the form of its name.
    for n_alike, is_alike in ((2, False), (3, True)):
        names = pa.array(["s7"] * n_alike + ["x"] * 2)
        reason = data_in_header(["s1", "y"], [names, pa.array(["1"] * (n_alike + 2))])
        assert reason == ("the name of column 1 looks like its cells" if is_alike else None)


ROWS = "a,1,0.5\nb,0,0.25\n"


@pytest.mark.parametrize(
    ("content", "kind", "columns", "sentence"),
    [
        ("id\na\nb\n", VALUE, {}, "There is no target column."),
        (
            "id,y,z,Weight\na,1,2,3\n", VALUE, {},
            "3 columns could be the target: name it with --target ('y', 'z', 'Weight'; several are "
            "separated by commas). If the column Weight says how much a row counts, add --weight "
            "Weight.",
        ),
        (
            f"id,y,w\n{ROWS}", VALUE, {"targets": ("y",), "weight": "y"},
            "column 'y': The column cannot be the target and the column weight: name another one.",
        ),
        (
            f"id,y,Usage\n{ROWS}", VALUE, {"targets": ("y",), "cluster": "Usage"},
            "column 'Usage': The column says which rows are public and private, and cannot have "
            "another role: name another one, or rename it in the file.",
        ),
        (
            f"id,y,w\n{ROWS}", VALUE, {"targets": ("y",), "weight": "v"},
            "column 'v': There is no column 'v'. The file has 'id', 'y', 'w'.",
        ),
        (
            "id,y\na,1\nb,0\n", VALUE, {"submission": (" ",)},
            "A submission cannot have a column ' ': name it.",
        ),
        (
            "id,y\na,1\nb,0\n", VALUE, {"submission": ("id",)},
            "column 'id': A submission cannot have the column 'id' twice: name it once.",
        ),
        (
            "id,y\na,1\na,0\n", VALUE, {},
            "row 3, id 'a': The id already occurs in row 2.",
        ),
        ("id,y\na,1\n,0\n", VALUE, {}, "row 3, id '': The id is empty."),
        (
            "id,y,Usage\na,1,Test\nb,0,Private\n", VALUE, {},
            "row 2, id 'a': 'Test' is not Public, Private or Ignored.",
        ),
        (
            f"id,y,p\n{ROWS}", VALUE, {"targets": ("y",), "soft_labels": ("p",)},
            "Soft labels need a single label target: give one column with the probability of the "
            "positive of two labels, or one column per label.",
        ),
        (
            "id,y,p\na,1,1.5\nb,0,0\n", LABEL, {"targets": ("y",), "soft_labels": ("p",)},
            "row 2, id 'a', column 'p': The soft label is outside [0, 1]: write a probability.",
        ),
        (
            "id,y,0,1\na,1,0.5,0.6\nb,0,0,1\n", LABEL,
            {"targets": ("y",), "soft_labels": ("0", "1")},
            "row 2, id 'a': The soft labels of the row do not sum to 1: divide each by their sum.",
        ),
        (
            b"PAR1\0\0\0\0PAR1", VALUE, {},
            "This is not a readable Parquet file: write and send it again.",
        ),
        (
            "id,y\na,\nb,x\n", PredictionKind.TEXT, {"pending_labels": True},
            "An empty cell may be a label of this metric: leave out pending_labels in [data].",
        ),
        (
            "id,y,p\na,1,0.5\nb,0,0.5\n", LABEL,
            {"targets": ("y",), "soft_labels": ("p",), "pending_labels": True},
            "Labels cannot arrive later where there are soft labels.",
        ),
        (
            "id,y\na,\nb,x\n", LABEL, {"pending_labels": True},
            "Labels that arrive later must be known now: name all of them in [data] classes.",
        ),
        (b"", VALUE, {}, "The file is empty: send a header line and one row per id."),
    ],
)  # fmt: skip
def test_a_solution_is_refused_in_a_sentence(
    solve: Solve,
    content: str | bytes,
    kind: PredictionKind,
    columns: dict[str, Any],
    sentence: str,
) -> None:
    with pytest.raises(InputError) as refused:
        solve(content, kind, **columns)
    assert str(refused.value) == f"The solution 'solution.csv' cannot be used: {sentence}"


def test_soft_labels_named_after_the_labels_are_in_their_order(solve: Solve) -> None:
    content = "id,y,{},{}\na,dog,0.25,0.75\nb,cat,1,0\n"
    by_label = {"targets": ("y",), "soft_labels": ("dog", "cat")}
    swapped = solve(content.format("dog", "cat"), LABEL, **by_label)
    assert swapped.soft_labels is not None
    assert swapped.soft_labels.tolist() == [[0.75, 0.25], [0, 1]]  # cat, dog
    by_position = {"targets": ("y",), "soft_labels": ("p", "q")}
    in_order = solve(content.format("p", "q"), LABEL, **by_position)
    assert in_order.soft_labels is not None
    assert in_order.soft_labels.tolist() == [[0.25, 0.75], [1, 0]]
