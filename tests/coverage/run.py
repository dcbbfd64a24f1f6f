"""Measure the coverage of every interval that arena prints, and write the pages.

    python tests/coverage/run.py --boards 1000 --low-boards 10000 --out docs

The file given with ``--store`` keeps what has been counted, also when the command is interrupted:
started again, it continues where it stopped, and with ``--seconds`` it stops by itself. The kinds
of boards have equally many boards at any time. To count a changed procedure again, name it with
``--again``. ``--boards 0 --out docs`` writes the pages from what is kept.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from coverage_boards import Cell
from coverage_cells import CELLS
from coverage_counts import Count, Store
from coverage_procedures import PROCEDURES, Procedure
from coverage_runner import count_cell
from coverage_tables import pages, table

_AT_ONCE = 50
"""After so many boards of a cell the counts are kept, and another cell has its turn."""


def main() -> None:
    """Count until every chosen cell has its boards, then print or write what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=1000, help="boards per cell")
    parser.add_argument(
        "--low-boards", type=int, default=0,
        help="boards where coverage is significantly below the bar after --boards",
    )  # fmt: skip
    parser.add_argument("--resamples", type=int, default=300, help="resamples per board")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cell", action="append", help="only cells whose name holds this text, or one of several"
    )
    parser.add_argument("--kind", action="append", help="only cells of this kind, or of several")
    parser.add_argument("--procedure", default="", help="only procedures whose name holds this")
    parser.add_argument("--again", default="", help="count procedures with this in the name again")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument(
        "--store", type=Path, default=Path("docs/coverage.json"), help="the file of the counts"
    )
    parser.add_argument("--out", type=Path, help="the folder of the pages; default: print a table")
    given = parser.parse_args()
    store = Store(given.seed, given.resamples)
    if given.store.exists():
        store = Store.read(given.store)
        if (store.seed, store.resamples) != (given.seed, given.resamples):
            parser.error(f"{given.store} was counted with another seed or number of resamples.")
    wanted = given.cell or [""]
    cells = [
        cell
        for cell in CELLS
        if any(text in cell.name for text in wanted) and cell.kind in (given.kind or [cell.kind])
    ]
    if given.again:
        for cell in cells:
            own = store.counts.get(cell.name, {})
            store.counts[cell.name] = {
                name: one for name, one in own.items() if given.again not in name
            }
    deadline = time.monotonic() + given.seconds
    with threadpool_limits(1):
        while time.monotonic() < deadline and count_some(given, store, cells):
            store.write(given.store)
    if given.out is None:
        print(table({cell: store.counts.get(cell.name, {}) for cell in cells}))
        return
    for path, text in pages(store).items():
        target = given.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def count_some(given: argparse.Namespace, store: Store, cells: list[Cell]) -> bool:
    """Count some boards of the cell that has the fewest; return whether any were lacking."""
    behind: dict[Cell, list[Procedure]] = {}
    least = sys.maxsize
    for cell in cells:
        for procedure in PROCEDURES:
            if given.procedure not in procedure.name or not procedure.suits(cell):
                continue
            count = store.counts.get(cell.name, {}).get(procedure.name, Count())
            low = count.boards > given.boards or (
                count.boards == given.boards and count.is_low(cell.level)
            )
            if low and not procedure.beside and not cell.dependent:
                wanted = max(given.boards, given.low_boards)
            else:
                wanted = given.boards
            if count.boards >= wanted:
                continue
            if count.boards < least:
                behind, least = {}, count.boards
            if count.boards == least:
                behind.setdefault(cell, []).append(procedure)
    if not behind:
        return False
    cell, procedures = next(iter(behind.items()))
    target = given.boards if least < given.boards else given.low_boards
    boards, started = min(_AT_ONCE, target - least), time.perf_counter()
    more = count_cell(
        cell,
        boards,
        first=least,
        seed=store.seed,
        resamples=cell.resamples or store.resamples,
        procedures=procedures,
    )
    store.add(cell.name, more)
    seconds = time.perf_counter() - started
    print(f"{cell.name}: boards {least} to {least + boards}, {seconds:.1f} s", file=sys.stderr)
    return True


if __name__ == "__main__":
    main()
