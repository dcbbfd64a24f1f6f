"""Measure the coverage of every interval that arena prints, and write the pages.

    python tests/coverage/run.py --boards 1000 --low-boards 10000 --out docs

The file given with ``--store`` keeps what has been counted, also when the command is interrupted:
started again, it continues where it stopped, and with ``--seconds`` it stops by itself. The design
on which the least processor time has been spent has its turn, so that cheap designs have many
boards early; ``--budget`` limits the time spent on each. To count a changed procedure again, name
it with ``--again``. ``--boards 0 --out docs`` writes the pages from what is kept.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from coverage_boards import Cell
from coverage_cells import CELLS
from coverage_counts import OF_OTHERS, Count, Store
from coverage_procedures import PROCEDURES, Procedure
from coverage_runner import count_cell
from coverage_tables import pages, table

_TURN = 2.0
"""After so many processor seconds the counts are kept, and another cell has its turn."""
_AT_ONCE = 5


def main() -> None:
    """Count until every chosen cell has its boards, then print or write what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=1000, help="boards per cell, at most")
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="processor seconds per cell, at most"
    )
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
    options = parser.parse_args()
    store = Store(options.seed, options.resamples)
    if options.store.exists():
        store = Store.read(options.store)
        if (store.seed, store.resamples) != (options.seed, options.resamples):
            parser.error(f"{options.store} was counted with another seed or number of resamples.")
    cell_texts = options.cell or [""]
    cells = [
        cell
        for cell in CELLS
        if any(text in cell.name for text in cell_texts)
        and cell.kind in (options.kind or [cell.kind])
    ]
    if options.again:
        for cell in cells:
            counts = store.counts.get(cell.name, {})
            kept_counts = {
                name: count for name, count in counts.items() if options.again not in name
            }
            if len(kept_counts) < len(counts):
                store.counts[cell.name], store.seconds[cell.name] = kept_counts, 0.0
    deadline = time.monotonic() + options.seconds
    with threadpool_limits(1):
        while time.monotonic() < deadline and count_some(options, store, cells):
            store.write(options.store)
    if options.out is None:
        print(table({cell: store.counts.get(cell.name, {}) for cell in cells}))
        return
    for path, text in pages(store).items():
        target = options.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def count_some(options: argparse.Namespace, store: Store, cells: list[Cell]) -> bool:
    """Count some boards of the cell with the least seconds; return whether any were lacking."""
    for cell in sorted(cells, key=lambda cell: store.seconds.get(cell.name, 0.0)):
        behind = procedures_by_boards(options, store, cell)
        if behind and store.seconds.get(cell.name, 0.0) < options.budget:
            break
    else:
        return False
    first, *further = sorted(behind)
    target = min([options.boards if first < options.boards else options.low_boards, *further])
    started, next_board = time.process_time(), first
    while next_board < target and time.process_time() - started < _TURN:
        boards = min(_AT_ONCE, target - next_board)
        more = count_cell(
            cell,
            boards,
            first=next_board,
            seed=store.seed,
            resamples=cell.resamples or store.resamples,
            procedures=behind[first],
        )
        store.add(cell.name, more)
        next_board += boards
    spent = time.process_time() - started
    store.seconds[cell.name] = store.seconds.get(cell.name, 0.0) + spent
    print(f"{cell.name}: boards {first} to {next_board}, {spent:.1f} s", file=sys.stderr)
    return True


def procedures_by_boards(
    arguments: argparse.Namespace, store: Store, cell: Cell
) -> dict[int, list[Procedure]]:
    """Return the procedures that lack boards of a cell, by how many they have."""
    behind: dict[int, list[Procedure]] = {}
    for procedure in PROCEDURES:
        if arguments.procedure not in procedure.name or not procedure.suits(cell):
            continue
        count = store.counts.get(cell.name, {}).get(procedure.name, Count())
        low = count.boards > arguments.boards or (
            count.boards == arguments.boards and count.is_low(cell.level)
        )
        n_boards = arguments.boards
        if procedure.beside:
            n_boards = min(n_boards, OF_OTHERS)
        elif low and cell.requires(procedure.name):
            n_boards = max(n_boards, arguments.low_boards)
        if count.boards < n_boards:
            behind.setdefault(count.boards, []).append(procedure)
    return behind


if __name__ == "__main__":
    main()
