"""Writes the counts of a campaign as the page docs/coverage.md."""

from __future__ import annotations

from collections.abc import Mapping

from coverage_boards import Cell
from coverage_procedures import PROCEDURES
from coverage_runner import Count

__all__ = ["compared_with_csranks", "page", "table"]

Counts = Mapping[Cell, Mapping[str, Count]]

_PAGE = """# Measured coverage

How often each interval or set that arena prints held, on simulated boards whose true scores are
known. The boards are deliberately difficult: few rows, few groups, rare classes, heavy tails.

- **covered**: the share of the boards on which all that the interval or set claims was true,
  plus or minus the standard error of the simulation. Only boards on which arena printed it as
  holding at its nominal level count. Where several submissions are truly the best, the share of
  them in the set of possible winners counts.
- **offered**: the share of such boards. On the others arena withholds it, or prints it with the
  reason why it does not hold at the level.
- **width**: the mean width where it is offered; for rank sets in ranks, for sets of possible
  winners in submissions, for scores in the units of the score.
- **boards**: how many boards were drawn. {resamples:,} resamples of the rows each, seed {seed}.

{extent}
The bar for nominal 95% is .94. Coverage over few boards is uncertain by two to three times the
standard error beside it. `tests/coverage/run.py` simulates all this and writes this page;
`tests/coverage/coverage_boards.py` and `coverage_metrics.py` define each kind of board.

The intervals assume that rows, or groups of rows, are independent. Boards on which every row is
entered twice break this on purpose: arena does not detect copies of rows, and its rank sets then
hold far too seldom. With a column that groups the copies (`--cluster`) they hold.

## Intervals and sets that arena prints

{own}
## Beside csranks

The R package csranks (Mogstad, Romano, Shaikh and Wilhelm 2024) takes scores as jointly normal with
a known covariance. Its `stepdown` sets and its `cstaubest` for one prize, written again from the
paper and given the covariance over the resamples, on the same boards: *covered (mean width)*. On
boards where arena withholds its claim, csranks is counted too, arena is not.

{compared}
## Beside the usual bootstrap

The interval for the best true score beside quantiles of the largest bootstrap error with standard
errors held fixed, and the interval of a single score beside percentiles of its resamples:
*covered (mean width)* on the same boards.

{bootstrap}"""


def page(counts: Counts, *, resamples: int, seed: int, note: str = "") -> str:
    """Return the page; ``note`` says what else the reader must know of the figures."""
    simulated = {cell: own for cell, own in counts.items() if own}
    usual = [own for cell, own in simulated.items() if cell.resamples is None]
    others = [cell for cell in simulated if cell.resamples is not None]
    boards, further = (
        [one.boards for own in some for one in own.values()]
        for some in (usual, [simulated[cell] for cell in others])
    )
    extent = (
        f"{len(simulated)} of {len(counts)} kinds of boards have been simulated so far, on at "
        f"least {min(boards + further, default=0):,} boards each.{' ' * bool(note)}{note}\n"
    )
    if others and usual:
        extent += (
            f'Those from "{others[0].name}" on have at least {min(further):,} boards with '
            f"{others[0].resamples:,} resamples, the others at least {min(boards):,} boards.\n"
        )
    return _PAGE.format(
        extent=extent,
        own=table(counts),
        compared=compared_with_csranks(counts),
        bootstrap=_compared(
            counts,
            (
                "best score",
                "best score, bootstrap maximum",
                "own score",
                "own score, percentiles",
            ),
        ),
        resamples=resamples,
        seed=seed,
    )


def table(counts: Counts) -> str:
    """Return a Markdown table of arena's own procedures, one line per cell and procedure."""
    lines = [
        "| board | interval | nominal | covered | width | offered | boards |",
        "|---|---|---|---|---|---|---|",
    ]
    own = [one.name for one in PROCEDURES if not one.competitor]
    for cell, by_procedure in counts.items():
        for name in own:
            if name not in by_procedure:
                continue
            one = by_procedure[name]
            covered = f"{one.share:.3f} ± {one.error:.3f}" if one.offered else "not offered"
            width = f"{one.mean_width:.4g}" if one.offered else ""
            lines.append(
                f"| {cell.name} | {name} | {cell.level:g} | {covered} | {width} | "
                f"{one.offered / one.boards:.0%} | {one.boards:,} |"
            )
    return "\n".join(lines) + "\n"


def compared_with_csranks(counts: Counts) -> str:
    """Return coverage and mean width of arena's sets beside those of csranks."""
    return _compared(
        counts, ("rank sets", "csranks stepdown", "possible winners", "csranks cstaubest")
    )


def _compared(counts: Counts, names: tuple[str, ...]) -> str:
    lines = [
        "| board | nominal | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for cell, by_procedure in counts.items():
        found = [by_procedure[name] for name in names if name in by_procedure]
        if len(found) < len(names) or len({one.boards for one in found}) > 1:
            continue  # not yet on the same boards
        shown = [
            f"{one.share:.3f} ({one.mean_width:.4g})" if one.offered else "not offered"
            for one in found
        ]
        lines.append(f"| {cell.name} | {cell.level:g} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"
