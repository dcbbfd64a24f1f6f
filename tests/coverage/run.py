"""Measure the coverage of every interval that arena prints, and write the table.

    python tests/coverage/run.py --boards 1000 --store counts --out docs/coverage.md

The folder given with ``--store`` keeps what has been counted, a file per cell: started again, the
simulation continues where it stopped. To count a changed procedure again, name it with ``--again``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from dataclasses import astuple
from pathlib import Path

from threadpoolctl import threadpool_limits

from coverage_boards import Cell
from coverage_cells import CELLS
from coverage_procedures import PROCEDURES, Procedure
from coverage_runner import Count, count_cell
from coverage_tables import page, table

_AT_ONCE = 50
"""After so many boards of a cell the counts are kept, and another cell has its turn."""


def main() -> None:
    """Count until every chosen cell has its boards, then print or write what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=1000, help="boards per cell")
    parser.add_argument("--resamples", type=int, default=1000, help="resamples per board")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cell", action="append", help="only cells whose name holds this text, or one of several"
    )
    parser.add_argument("--part", default="0/1", help="K/N: only every Nth cell, from the Kth on")
    parser.add_argument("--procedure", default="", help="only procedures whose name holds this")
    parser.add_argument("--own", action="store_true", help="leave out the competitors")
    parser.add_argument("--again", default="", help="count procedures with this in the name again")
    parser.add_argument("--store", type=Path, help="the folder that keeps the counts")
    parser.add_argument("--out", type=Path, help="the Markdown file; default: print the table")
    parser.add_argument("--note", default="", help="a sentence for the page")
    given = parser.parse_args()
    first, step = map(int, given.part.split("/"))
    wanted = given.cell or [""]
    cells = [cell for cell in CELLS if any(text in cell.name for text in wanted)][first::step]
    counts = {cell: _kept(given, cell) for cell in cells}

    def chosen(cell: Cell) -> list[Procedure]:
        return [
            one
            for one in PROCEDURES
            if given.procedure in one.name
            and not (given.own and one.competitor)
            and one.suits(cell)
        ]

    def done(cell: Cell) -> int:
        own = counts[cell]
        return min((own.get(one.name, Count()).boards for one in chosen(cell)), default=10**9)

    if given.again:
        for cell, own in counts.items():
            counts[cell] = {name: one for name, one in own.items() if given.again not in name}
            _keep(given, cell, counts[cell])
    with threadpool_limits(1):
        while cells and (least := min(map(done, cells))) < given.boards:
            for cell in cells:
                if done(cell) == least:
                    _count_more(given, cell, counts[cell], chosen(cell), least)
    if given.out is None:
        print(table(counts))
        return
    given.out.parent.mkdir(parents=True, exist_ok=True)
    text = page(counts, resamples=given.resamples, seed=given.seed, note=given.note)
    given.out.write_text(text, encoding="utf-8")


def _count_more(
    given: argparse.Namespace,
    cell: Cell,
    counts: dict[str, Count],
    procedures: list[Procedure],
    first: int,
) -> None:
    """Count some boards from number ``first`` on, for the procedures that have no more yet."""
    started = time.perf_counter()
    behind = [one for one in procedures if counts.get(one.name, Count()).boards == first]
    boards = min(_AT_ONCE, given.boards - first)
    more = count_cell(
        cell,
        boards,
        first=first,
        seed=given.seed,
        resamples=cell.resamples or given.resamples,
        procedures=behind,
    )
    for name, one in more.items():
        counts[name] = counts.get(name, Count()) + one
        print(
            f"{cell.name:52s} {name:30s} {counts[name].share:.3f} ({counts[name].error:.3f}) "
            f"width {counts[name].mean_width:8.4g} of {counts[name].offered} offered on "
            f"{counts[name].boards} boards",
            file=sys.stderr,
        )
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    _keep(given, cell, counts)


def _file(given: argparse.Namespace, cell: Cell) -> Path:
    resamples = cell.resamples or given.resamples
    return given.store / f"{zlib.crc32(cell.name.encode()):08x}-{given.seed}-{resamples}.json"


def _kept(given: argparse.Namespace, cell: Cell) -> dict[str, Count]:
    if given.store is None or not _file(given, cell).exists():
        return {}
    stored = json.loads(_file(given, cell).read_text())
    return {name: Count(*values) for name, values in stored["counts"].items()}


def _keep(given: argparse.Namespace, cell: Cell, counts: dict[str, Count]) -> None:
    if given.store is None:
        return
    given.store.mkdir(parents=True, exist_ok=True)
    stored = {"cell": cell.name, "counts": {name: astuple(one) for name, one in counts.items()}}
    _file(given, cell).write_text(json.dumps(stored, indent=1))


if __name__ == "__main__":
    main()
