"""``arena bayes-error``: what is said of files that cannot be used."""

from __future__ import annotations

import json

import numpy as np
import pytest

from arena_bayes_error.label_file import read_label_file
from program import run_here


def refused(folder, *arguments):
    called = run_here("bayes-error", *arguments, "--json", cwd=folder)
    assert called.returncode in {1, 2}, called.stdout
    assert not called.stdout
    assert "Traceback" not in called.stderr
    return called.stderr


def test_many_faults_of_a_kind_are_counted(tmp_path):
    (tmp_path / "c.csv").write_text("c\n" + "x\n" * 100)
    lines = refused(tmp_path, "c.csv", "--kind", "soft").splitlines()
    assert len(lines) == 5
    assert "97 more of this kind" in lines[-1]


def test_decimal_commas_in_a_file_split_at_commas_are_named(tmp_path):
    (tmp_path / "c.csv").write_text("c\n" + "0,5\n" * 100)
    message = refused(tmp_path, "c.csv", "--kind", "soft")
    assert "97 more of this kind" in message
    assert "decimals are written with a comma" in message


def test_decimal_commas_are_read_between_semicolons(tmp_path):
    path = tmp_path / "c.csv"
    for text, values in (
        ("c;d\n0,25;0,75\n1,5;2\n", [[0.25, 0.75], [1.5, 2.0]]),
        ("c;d\n0.25;0.75\n1.5;2\n", [[0.25, 0.75], [1.5, 2.0]]),
    ):
        path.write_text(text)
        assert read_label_file(path).numbers(["c", "d"]).tolist() == values
    path.write_text('c,d\n"0,5",x\n')  # texts that look like numbers stay as they are
    assert read_label_file(path).values("c") == ("0,5",)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5, np.nan, 0.7], "Row 2: the soft label is missing"),
        ([0.5, np.nan, 7.0], "Rows 2 and 3: the soft label is not between 0 and 1"),
        ([5.5, 20, 100], "divide by 100"),
        ([[3, 1], [0, 4]], "use --kind counts"),
        ([[30.5, 69.5], [25, 75]], "divide by 100"),
    ],
)
def test_numbers_that_are_no_probabilities(tmp_path, values, said):
    np.save(tmp_path / "c.npy", np.array(values))
    assert said in refused(tmp_path, "c.npy", "--kind", "soft")


def test_a_fault_gets_no_hint_that_does_not_fit(tmp_path):
    np.save(tmp_path / "c.npy", np.array([0.5, -1.0]))
    message = refused(tmp_path, "c.npy", "--kind", "soft")
    assert "divide" not in message
    assert "counts" not in message


def test_files_that_cannot_be_opened(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "there is no such file" in refused(tmp_path, "missing.csv", "--kind", "soft")
    assert "it is a folder" in refused(tmp_path, ".", "--kind", "soft")
    assert "or holds objects" in refused(tmp_path, "o.npy", "--kind", "soft")


@pytest.mark.slow
def test_the_picture_names_its_intervals_in_percent(tmp_path):
    np.save(tmp_path / "c.npy", np.linspace(0, 1, 50))
    called = run_here("bayes-error", "c.npy", "--kind", "soft", "--chart", "c.json", cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    _, intervals, bound = json.loads((tmp_path / "c.json").read_text())["layer"]
    points = [
        (row["team"], row["what"])
        for chart in (intervals, bound)
        for row in chart["data"]["values"]
    ]
    assert points == [
        ("interval for few rows", "95% interval"),
        ("t interval", "95% interval"),
        ("bootstrap interval", "95% interval"),
        ("Hoeffding bound", "bound with probability 95%"),
    ]
    assert intervals["encoding"]["x"]["axis"]["format"] == ".2~%"
