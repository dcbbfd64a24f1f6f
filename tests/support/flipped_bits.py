"""Damage of one byte in a file of a database, then an opening, a repair and a submission.

Every byte of the write-ahead log and of the journal, flipped and cut off (half an hour):

    python tests/support/flipped_bits.py
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from arena.errors import StoreError
from arena.store import Store
from arena.store.repair import repair
from arena.utils.processes import call_limited
from submit_work import make_solution, submit, values_of

__all__ = [
    "CUT",
    "DATABASE",
    "JOURNAL",
    "LOG",
    "N_ROWS",
    "changes_of",
    "leave_killed",
    "open_or_repair",
    "outcomes_apart",
    "repair_then_submit",
]

DATABASE, LOG, JOURNAL = "x.duckdb", "x.duckdb.wal", "x.duckdb.journal"
N_ROWS, N_SUBMISSIONS = 300, 6
CUT = 0
"""In the place of the bits to flip: the file ends before this byte."""
GOOD = ("not opened", "refused", "whole", "repaired")


def leave_killed(folder: Path, copy: Path, n_rows: int = N_ROWS) -> Path:
    """Make a database, and copy it as a kill leaves it: half the submissions in its log."""
    path = folder / DATABASE
    for first in (1, 4):
        with Store.open(path) as store:
            store.put_solution(make_solution(n_rows))
            for number in range(first, first + 3):
                submit(store, number, values_of(number, n_rows))
            if first > 1:
                shutil.copytree(folder, copy)
    return copy


def _damage(killed: Path, folder: Path, name: str, place: int, bits: int) -> dict[str, bytes]:
    shutil.copytree(killed, folder)
    content = bytearray((folder / name).read_bytes())
    if bits == CUT:
        del content[place:]
    else:
        content[place] ^= bits
    (folder / name).write_bytes(content)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _is_as_before(folder: Path, before: dict[str, bytes]) -> bool:
    """Whether no file was changed. DuckDB removes an empty log, in which nothing was."""
    now = {file.name: file.read_bytes() for file in folder.iterdir() if file.name in before}
    return all(now.get(name, b"") == content for name, content in before.items())


def _lost_by(store: Store) -> str | None:
    """Return what is wrong with a database that says that it holds everything."""
    if problems := store.audit():
        return problems[0]
    kept_flips = [
        submission.submission
        for submission in store.submissions()
        if submission.status == "accepted"
    ]
    return (
        None
        if kept_flips == list(range(1, N_SUBMISSIONS + 1))
        else f"kept {kept_flips} without a word"
    )


def open_or_repair(
    killed: Path, folder: Path, name: str, place: int, bits: int, *, mend: bool
) -> str:
    """Damage a copy of a folder and open it; if that is refused and ``mend``, repair it and submit.

    ``whole``: everything acknowledged is there. ``not opened``, ``refused`` and ``repaired``:
    opening said so in a sentence and changed nothing; then as :func:`repair_then_submit`.
    """
    before = _damage(killed, folder, name, place, bits)
    try:
        with Store.open(folder / DATABASE, create=False) as store:
            return _lost_by(store) or "whole"
    except StoreError as error:
        if "\n" in str(error) or not str(error).endswith("."):
            return f"no sentence: {error}"
    if not _is_as_before(folder, before):
        return "not opened, but a file was changed"
    if not mend:
        return "not opened"
    came = _repair(folder, before)
    return "whole after a repair" if came == "whole" else came


def repair_then_submit(killed: Path, folder: Path, name: str, place: int, bits: int) -> str:
    """Damage a copy of a folder, repair, submit and audit; return what came of it.

    ``refused``: every file is as it was, so that a backup can be put beside the good ones.
    ``whole``: there was nothing to repair. ``repaired``: nothing was lost silently. Anything else
    says what is wrong.
    """
    return _repair(folder, _damage(killed, folder, name, place, bits))


def _repair(folder: Path, before: dict[str, bytes]) -> str:
    path = folder / DATABASE
    try:
        report = repair(path)
    except StoreError:
        return "refused" if _is_as_before(folder, before) else "refused, but a file was changed"
    with Store.open(path) as store:
        if problems := store.audit():
            return problems[0]
        kept_flips = [
            submission.submission
            for submission in store.submissions()
            if submission.status == "accepted"
        ]
        lost = [entry.submission for entry in report.lost]
        if sorted(kept_flips + lost) != list(range(1, N_SUBMISSIONS + 1)):
            return f"kept {kept_flips}, lost {lost}"
        n_rows = store.solution().n_rows
        submit(store, 9, values_of(9, n_rows))
    with Store.open(path) as store:
        if problems := store.audit():
            return problems[0]
    return "whole" if report.quarantine is None else "repaired"


def changes_of(content: bytes, every: int, seed: int) -> list[tuple[int, int]]:
    """Return ``(place, bits)``: each nth byte flipped, in one bit or several, and cut off."""
    rng = np.random.default_rng(seed)
    places = range(int(rng.integers(every)), len(content), every)
    single = (1 << rng.integers(8, size=len(places))).tolist()
    several = rng.integers(1, 256, size=len(places)).tolist()
    return [
        (place, bits)
        for place, first, some in zip(places, single, several, strict=True)
        for bits in (first if rng.random() < 0.5 else some, CUT)
    ]


def outcomes(
    killed: Path, name: str, changes: Sequence[tuple[int, int]], mend_every: int
) -> list[str]:
    """Return what came of each change; an error that is no sentence is named."""
    messages = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (place, bits) in enumerate(changes):
            copy = Path(folder) / str(number)
            mend = number % mend_every == mend_every - 1
            try:
                messages.append(open_or_repair(killed, copy, name, place, bits, mend=mend))
            except Exception as error:  # noqa: BLE001 - any is a failure
                messages.append(f"{type(error).__name__}: {error}")
            shutil.rmtree(copy, ignore_errors=True)
    return messages


def outcomes_apart(
    killed: Path, name: str, changes: Sequence[tuple[int, int]], mend_every: int
) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield each change and what came of it, from another process that DuckDB may end.

    Of the databases that were not opened, every nth is repaired, which takes a second.
    """
    came = call_limited(
        outcomes, killed, name, changes, mend_every, seconds=1800.0, purpose="flips"
    )
    if isinstance(came, list):
        yield from zip(changes, came, strict=True)
    elif len(changes) == 1:
        yield changes[0], f"ended its process: {came}"
    else:
        half = len(changes) // 2
        yield from outcomes_apart(killed, name, changes[:half], mend_every)
        yield from outcomes_apart(killed, name, changes[half:], mend_every)


def main() -> None:
    """Run a share of the changes and print one JSON object for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only each nth byte")
    parser.add_argument("--mend-every", type=int, default=50, help="repair each nth change")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", choices=[LOG, JOURNAL, DATABASE], action="append")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "open").mkdir()
        killed = leave_killed(Path(folder) / "open", Path(folder) / "killed", options.rows)
        for name in options.file or (LOG, JOURNAL):
            content = (killed / name).read_bytes()
            changes = changes_of(content, options.every, options.seed)
            counts: Counter[str] = Counter()
            for first in range(0, len(changes), 100):
                some = changes[first : first + 100]
                for change, came in outcomes_apart(killed, name, some, options.mend_every):
                    counts[came] += 1
                    if came not in GOOD:
                        failed = True
                        print(f"{name} {change}: {came}", flush=True)
            print(json.dumps({"file": name, "bytes": len(content), "changes": len(changes),
                              "outcomes": counts}), flush=True)  # fmt: skip
    sys.exit(failed)


if __name__ == "__main__":
    import flipped_bits  # the other process imports it by this name

    flipped_bits.main()
