"""Writes the counts of a campaign as pages: docs/coverage.md, and one for each kind of boards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from coverage_boards import Cell
from coverage_cells import CELLS
from coverage_counts import OF_OTHERS, Count, Store, bar, detectable
from coverage_procedures import PROCEDURES

__all__ = ["pages", "table"]

COMMAND = "python tests/coverage/run.py --boards 1000 --low-boards 10000 --out docs"
OWN = [procedure.name for procedure in PROCEDURES if not procedure.beside]

_INDEX = """# Measured coverage

The measured coverage of each interval and set that arena prints, on simulated boards whose true
scores are known. The boards are deliberately difficult: few rows, few groups, rare classes, rare
failures, heavy tails. They are grouped by kind, with a page for each. The command on a page
simulates its boards, and

```text
{command}
```

simulates all boards and writes these pages. {extent}

- **covered**: the share of the boards on which all that the interval or set claims was true, of
  those on which arena offered it at its nominal level; in brackets its own 95% interval (Clopper
  and Pearson 1934), which tells how much the number of boards says. Where several submissions are
  truly the best, a set of possible winners is scored by the share of them that it contains.
- **width** (in parentheses): the mean where it is offered; for rank sets in ranks, for sets of
  possible winners and of the possible first three in submissions, for scores in their unit.
- **offered**: the share of the boards on which arena offered it; no figure: all. On the others
  arena says why it is withheld.
- **boards**: the number of simulated boards.

The required coverage is .94 where the nominal level is 95%. A coverage significantly below it
(one-sided test, 1%) is **bold**, and is measured on up to 10,000 boards. Designs that
are fast to simulate have more boards. With so many boards, a coverage that is too low is found with
probability .8 if it is at most

| boards | true coverage | intervals and sets with so many boards or more |
|---|---|---|
{detected}
Each page compares, on the first {of_others} boards, with procedures written from their papers:
*csranks stepdown* and *cstaubest* (Mogstad, Romano, Shaikh and Wilhelm 2024), quantiles of the
largest bootstrap error, percentiles of resamples, *BCa* (Efron 1987), Student's $t$, also on a
logarithmic scale, *betting* (Waudby-Smith and Ramdas 2024), and Clopper and Pearson (1934). A
procedure is valid here if its measured coverage is at most one standard error below the required
one; the best valid one has the smallest mean width, and the width ratio is the mean width of arena
over it. Boards on which arena withholds its interval count for the other procedures only.

| kind | designs | intervals and sets | boards per interval | significantly too low |
|---|---|---|---|---|
{kinds}
## Significantly below the required coverage

{low}
## What a violated assumption costs

These boards violate on purpose an assumption that is printed with the intervals. They are left out
above, and the violation is named on the pages.

{beyond}
**Losses without an upper end.** The intervals of scores assume that losses go on beyond the
largest one in the sample, to at most five times as much; the sets of ranks do not assume it,
and hold, except where losses so rare that most teams have none in the sample hide that all are
equal: ten teams, five of which lose 5 more on 2% of 40 cases. There the ranks are offered on the
few samples that hold hardly any such loss; with a range (`--value-range`) they hold.

Where 1% of 200 errors are ten times as large as the others, the MSE is 1.99, and
13% of the samples (0.99^200) have no large error: they are samples of normal errors, whose MSE is
1. An interval that holds on 94% of these boards must therefore reach 1.99 on most samples of
200 normal errors, too; now it ends at 1.4 on average. However wide it is, larger and rarer
errors exist with which it fails (Bahadur and Savage 1956). The ranks are withheld on samples in
which large errors occur, and with them the winner's interval, so that it is offered only on
those without any.

```{{toctree}}
:hidden:

{toctree}
```
"""

_PAGE = """# Coverage: {kind}

*Coverage [its 95% interval] (mean width)* of each interval and set; [](../coverage.md) explains the
columns and the other procedures. The boards are defined in `tests/coverage/`.

```text
{command}
```

{own}
## Comparison with other procedures

{beside}"""


def slug(kind: str) -> str:
    """Return the name of a page.

    >>> slug("losses, R2")
    'losses-r2'
    """
    return re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")


def pages(store: Store) -> dict[str, str]:
    """Return the text of each page by its path below docs."""
    kinds = dict.fromkeys(cell.kind for cell in CELLS)
    texts, lines, low, beyond, toctree = {}, [], [], [], []
    all_boards: list[int] = []
    for kind in kinds:
        cells = [cell for cell in CELLS if cell.kind == kind and store.counts.get(cell.name)]
        if not cells:
            continue
        name = f"coverage/{slug(kind)}"
        toctree.append(name)
        command = COMMAND.replace("--out", f'--kind "{kind}" --out')
        own = {cell: store.counts[cell.name] for cell in cells}
        texts[f"{name}.md"] = _PAGE.format(
            kind=kind,
            command=command,
            own=table(own),
            beside=beside(own),
        )
        claims = [
            (cell, claim, counts[claim])
            for cell, counts in own.items()
            for claim in OWN
            if claim in counts and counts[claim].offered
        ]
        below = [(cell, claim, count) for cell, claim, count in claims if count.is_low(cell.level)]
        failing = [each for each in below if each[0].requires(each[1])]
        low += failing
        beyond += [each for each in below if each not in failing]
        boards = sorted(count.boards for _, _, count in claims)
        all_boards += boards
        lines.append(
            f"| [{kind}]({name}.md) | {len(cells)} | {len(claims)} | {_extent(boards)} | "
            f"{len(failing)} |"
        )
    simulated = sum(bool(store.counts.get(cell.name)) for cell in CELLS)
    extent = (
        f"Last run on {store.last}: {simulated} of {len(CELLS)} designs of boards, "
        f"{store.resamples:,} resamples of the rows each (500 for combined scores), "
        f"seed {store.seed}."
    )
    texts["coverage.md"] = _INDEX.format(
        command=COMMAND,
        extent=extent,
        of_others=OF_OTHERS,
        kinds="\n".join(lines) + "\n",
        detected=_detected(all_boards),
        low=_low(low),
        beyond=_low(beyond),
        toctree="\n".join(toctree),
    )
    # The names of designs, by which counts are stored, have a space before the sign.
    return {path: text.replace(" %", "%") for path, text in texts.items()}


def _detected(all_boards: Sequence[int]) -> str:
    return "".join(
        f"| {least:,} | {detectable(least):.3f} | "
        f"{sum(boards >= least for boards in all_boards):,} of {len(all_boards):,} |\n"
        for least in (100, 200, 300, 500, 1_000)
    )


def _low(failing: Sequence[tuple[Cell, str, Count]]) -> str:
    if not failing:
        return "None.\n"
    lines = ["| design | interval or set | covered | boards |", "|---|---|---|---|"]
    lines += [
        f"| {cell.name} | {claim} | {count.share:.3f} ± {count.error:.3f} | {count.boards:,} |"
        for cell, claim, count in failing
    ]
    return "\n".join(lines) + "\n"


def table(counts: Mapping[Cell, Mapping[str, Count]]) -> str:
    """Return a Markdown table of arena's own procedures, one line for each kind of boards."""
    claims = [name for name in OWN if any(name in own for own in counts.values())]
    lines = [f"| design | {' | '.join(claims)} | boards |", "|---|" + "---|" * (len(claims) + 1)]
    for cell, own in counts.items():
        name = cell.name + (f" (at {cell.level:.0%})" if cell.level != 0.95 else "")
        name += f" ({cell.violates.value})" if cell.violates else ""
        cells = [_entry(own.get(claim), cell) for claim in claims]
        extent = _extent(count.boards for claim, count in own.items() if claim in claims)
        lines.append(f"| {name} | {' | '.join(cells)} | {extent} |")
    return "\n".join(lines) + "\n"


def _extent(boards: Iterable[int]) -> str:
    """Return the smallest and the largest number of boards, or the only one."""
    ordered = sorted(set(boards))
    return " to ".join(f"{count:,}" for count in (*ordered[:1], *ordered[1:][-1:]))


def _failed(count: Count, cell: Cell) -> bool:
    return count.share < bar(cell.level) - count.error


def _entry(count: Count | None, cell: Cell) -> str:
    if count is None:
        return ""
    if not count.offered:
        return "not offered"
    share = f"{count.share:.3f}"
    share = f"**{share}**" if count.is_low(cell.level) else share
    low, high = count.bounds
    share += f" [{low:.3f}, {high:.3f}]"
    offered = (
        "" if count.offered == count.boards else f", offered {count.offered / count.boards:.0%}"
    )
    return f"{share} ({count.mean_width:.4g}){offered}"


def beside(counts: Mapping[Cell, Mapping[str, Count]]) -> str:
    """Return a table that compares arena with the best valid procedure of others."""
    lines = [
        "| design | interval or set | arena | best valid one | width ratio | not valid |",
        "|---|---|---|---|---|---|",
    ]
    for cell, own in counts.items():
        for claim in OWN:
            names = [
                procedure.name
                for procedure in PROCEDURES
                if procedure.beside == claim and procedure.name in own
            ]
            if not names or claim not in own:
                continue
            arena = own[claim]
            failed = [name for name in names if _failed(own[name], cell)]
            valid = [name for name in names if name not in failed]
            best = min(valid, key=lambda name: own[name].mean_width, default=None)
            ratio = ""
            if best is not None and arena.offered and own[best].width > 0:
                ratio = f"{arena.mean_width / own[best].mean_width:.2f}"
            entry = "none" if best is None else f"{best} {_entry(own[best], cell)}"
            others = ", ".join(f"{name} {own[name].share:.2f}" for name in failed)
            lines.append(
                f"| {cell.name} | {claim} | {_entry(arena, cell)} | {entry} | {ratio} | {others} |"
            )
    return "\n".join(lines) + "\n"
