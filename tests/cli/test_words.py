"""What a command says to somebody who chose the wrong metric, or none."""

from __future__ import annotations

from pathlib import Path

from arena import PluginManager
from arena.cli.items import parameters_of
from arena.utils.docstrings import parameter_meanings
from program import run_here, write_csv

REGISTRIES = ("metrics", "mechanisms", "analyses", "competitors")


def test_each_parameter_of_a_built_in_item_is_explained() -> None:
    manager = PluginManager()
    unexplained = [
        (entry.name, parameter)
        for registry in REGISTRIES
        for entry in getattr(manager, registry)
        for parameter in parameters_of(entry.item)
        if parameter not in parameter_meanings(entry.item)
    ]
    assert not unexplained


def test_the_values_of_a_parameter_are_listed(tmp_path: Path) -> None:
    output = run_here("metrics", "f1", cwd=tmp_path).stdout
    assert "A submission holds a label for each row." in output
    assert all(value in output for value in ("binary", "macro", "weighted", "micro"))


def test_a_metric_that_is_missing_or_unsuitable_has_a_way_out(tmp_path: Path) -> None:
    rows = [[f"r{number}", "abc"[number % 3]] for number in range(30)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    write_csv(tmp_path / "a.csv", ["id", "y"], rows)
    assert "'arena metrics'" in run_here("score", "solution.csv", "a.csv", cwd=tmp_path).stderr
    refused = run_here("score", "solution.csv", "a.csv", "--metric", "f1", cwd=tmp_path).stderr
    assert "choose f1(average=macro)" in refused


def test_equal_faults_of_a_solution_are_one_line_with_three_examples(tmp_path: Path) -> None:
    write_csv(tmp_path / "gaps.csv", ["id", "y"], [[f"r{row}", ""] for row in range(40)])
    refused = run_here("score", "gaps.csv", "gaps.csv", "--metric", "accuracy", cwd=tmp_path).stderr
    (line,) = refused.splitlines()
    assert "empty cell (40), such as row 2, id 'r0', column 'y'; row 3," in line
    assert line.endswith("row 4, id 'r2', column 'y': The target is empty: write a label.")
