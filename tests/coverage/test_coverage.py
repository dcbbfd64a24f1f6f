"""Every interval that arena prints holds as often as it says, up to the error of the simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scipy import stats

import run
from coverage_boards import Cell
from coverage_cells import CELLS
from coverage_counts import Count, Store, bar
from coverage_procedures import PROCEDURES
from coverage_runner import count_cell
from coverage_tables import beside, pages, table

BOARDS = {"slow": 80, "campaign": 200}
BY_CHANCE = 1e-5
"""The probability with which a procedure at the bar fails here by chance. A cell has six."""
OWN = [procedure for procedure in PROCEDURES if not procedure.beside]
BY_NAME = {cell.name: cell for cell in CELLS}
REGULAR = (
    "accuracy, n=1,000, equal",
    "accuracy, n=1,000, level .8",
    "accuracy, n=20",
    "accuracy .99, n=300, m=2",
    "mse, n=5, m=5",
    "mse, 5 groups",
    "mse, 20 groups of 1 to 50",
    "ROC AUC, 10 of 1,000 positive, m=30",
    "average precision, 10 of 500 positive",
    "F1, 2 % positive, n=200",
    "rmse, lognormal rows, n=200",
    "balanced accuracy, 5 classes",
    "accuracy, one team with 50 candidates",
)
"""One cell for each repair. The whole grid takes hours."""


def fewest(offered: int, level: float) -> int:
    """Return the fewest boards of those offered that a procedure at the bar (.94 at .95) holds."""
    return int(stats.binom.ppf(BY_CHANCE, offered, bar(level)))


def check(cell: Cell, boards: int) -> None:
    counts = count_cell(cell, boards, procedures=OWN)
    print(table({cell: counts}))
    for name, count in counts.items():
        assert count.covered >= fewest(count.offered, cell.level), name


@pytest.mark.slow
@pytest.mark.parametrize("name", REGULAR)
def test_what_is_offered_holds(name: str) -> None:
    check(BY_NAME[name], BOARDS["slow"])


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(cell.name for cell in CELLS if cell.violates is None))
def test_what_is_offered_holds_in_the_whole_grid(name: str) -> None:
    check(BY_NAME[name], BOARDS["campaign"])


def test_the_table_names_every_cell_once() -> None:
    assert len(BY_NAME) == len(CELLS)


def test_a_few_boards_of_a_cell_are_counted() -> None:
    cell = BY_NAME["mse, n=10, m=2"]
    counts = count_cell(cell, 3, resamples=20)
    assert [count.boards for count in counts.values()] == [3] * len(counts)
    assert len(counts) == sum(procedure.suits(cell) for procedure in PROCEDURES)
    assert table({cell: counts}).count("\n") == 3
    compared = {
        procedure.beside for procedure in PROCEDURES if procedure.beside and procedure.suits(cell)
    }
    assert beside({cell: counts}).count("\n") == 2 + len(compared)


@pytest.mark.slow
def test_the_pages_are_those_of_the_kept_counts() -> None:
    docs = Path("docs")
    written = {
        str(path.relative_to(docs)): path.read_text(encoding="utf-8")
        for path in [docs / "coverage.md", *docs.glob("coverage/*.md")]
    }
    assert written == pages(Store.read(docs / "coverage.json"))


@pytest.mark.slow
def test_counts_add_up_to_those_of_all_boards() -> None:
    cell = BY_NAME["mse, n=10, m=2"]
    whole = count_cell(cell, 5, resamples=20, procedures=OWN)
    parts = [count_cell(cell, n, first=first, resamples=20, procedures=OWN)
             for first, n in ((0, 2), (2, 3))]  # fmt: skip
    for name, count in whole.items():
        total = parts[0][name] + parts[1][name]
        assert (total.boards, total.offered, total.covered) == (5, count.offered, count.covered)
        assert total.width == pytest.approx(count.width)


def test_the_share_is_of_the_boards_on_which_it_was_offered() -> None:
    count = Count(boards=10, offered=8, covered=6, covered_withheld=2, width=16.0)
    assert (count.share, count.mean_width) == (0.75, 2.0)


@pytest.mark.slow
def test_an_interrupted_campaign_continues(tmp_path, monkeypatch) -> None:
    counts_file = tmp_path / "counts.json"

    def campaign(boards: int, *more: str) -> dict[str, Count]:
        options = ["--cell", "mse, n=10, m=2", "--resamples", "20", "--store", str(counts_file)]
        out = ["--out", str(tmp_path), "--boards", str(boards)]
        monkeypatch.setattr(sys, "argv", ["run.py", *options, *out, *more])
        run.main()
        return Store.read(counts_file).counts["mse, n=10, m=2"]

    assert campaign(2)["rank sets"].boards == 2
    continued = campaign(4)
    assert continued["own score"].boards == 4
    assert campaign(4, "--again", "own score") == continued
    assert campaign(9, "--seconds", "0") == continued
    assert campaign(9, "--budget", "0") == continued
    page = (tmp_path / "coverage" / "shares-and-squared-errors.md").read_text()
    assert "| mse, n=10, m=2 |" in page


def test_what_is_low_after_all_boards_is_counted_further(tmp_path, monkeypatch) -> None:
    counts_file = tmp_path / "counts.json"
    store, cell = Store(0, 20), "mse, n=10, m=2"
    store.add(cell, {procedure.name: Count(4, 4, 4, 0, 4.0, 4) for procedure in PROCEDURES})
    store.counts[cell]["own score"] = Count(4, 4, 0, 0, 4.0, 0)
    store.write(counts_file)
    options = ["--cell", cell, "--resamples", "20", "--store", str(counts_file), "--boards", "4"]
    monkeypatch.setattr(sys, "argv", ["run.py", *options, "--low-boards", "6"])
    run.main()
    boards = {name: count.boards for name, count in Store.read(counts_file).counts[cell].items()}
    assert boards.pop("own score") == 6
    assert set(boards.values()) == {4}
