"""Faults: collected without end, reported at most twenty of a kind, and shown harmlessly.

What a participant wrote may be long, or hold control characters that move a terminal's cursor:
it is shortened and escaped before it enters a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from arena.types import Fault

__all__ = [
    "FAULTS_OF_A_KIND",
    "FaultList",
    "clean",
    "describe",
    "first_of_each_kind",
    "plural",
    "show",
    "show_all",
]

FAULTS_OF_A_KIND = 20
"""How many faults of one kind are reported one by one; the others are counted."""

_SHOWN = 60
_SHOWN_IDS = 200
_SHOWN_MESSAGE = 500


def clean(text: str, limit: int = _SHOWN_IDS) -> str:
    r"""Return text fit for a terminal: at most ``limit`` characters, nothing unprintable.

    >>> clean("a" + chr(27) + "[31m"), clean("long", limit=3)
    ('a\\x1b[31m', 'lo…')
    """
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


def show(text: str) -> str:
    r"""Return text of a participant as a message quotes it.

    >>> show("7" + chr(0x202E))
    "'7\\u202e'"
    """
    return f"'{clean(text, _SHOWN)}'"


def show_all(texts: Iterable[str], limit: int = 10) -> str:
    """Return several texts as a message lists them.

    >>> show_all(["id", "target"])
    "'id', 'target'"
    """
    listed = list(texts)
    more = f" and {len(listed) - limit:,} more" if len(listed) > limit else ""
    return ", ".join(show(text) for text in listed[:limit]) + more


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def describe(fault: Fault) -> str:
    """Return a fault as one line: where it is, and what is wrong.

    >>> describe(Fault("empty cell", "The cell is empty.", row=3, id="a", column="target"))
    "row 3, id 'a', column 'target': The cell is empty."
    """
    places = (
        None if fault.row is None else f"row {fault.row}",
        None if fault.id is None else f"id {show(fault.id)}",
        None if fault.column is None else f"column {show(fault.column)}",
    )
    where = ", ".join(place for place in places if place)
    return f"{where}: {fault.message}" if where else fault.message


class FaultList:
    """Faults of one file: the first twenty of every kind, and the count of the others."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Fault]] = {}
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(
        self,
        kind: str,
        message: str,
        *,
        row: int | None = None,
        id: str | None = None,
        column: str | None = None,
    ) -> None:
        """Add one fault; ``id`` and ``column`` are cleaned here."""
        self.add_each(
            kind,
            (0,),
            lambda _: Fault(
                kind,
                message,
                row=row,
                id=None if id is None else clean(id),
                column=None if column is None else clean(column),
            ),
        )

    def add_each(self, kind: str, positions: Sequence[int], make: Callable[[int], Fault]) -> None:
        """Add one fault for each position; ``make`` is called only for those that are shown."""
        count = len(positions)
        if not count:
            return
        kept = self._kept.setdefault(kind, [])
        kept.extend(make(int(p)) for p in positions[: FAULTS_OF_A_KIND - len(kept)])
        self._counts[kind] = self._counts.get(kind, 0) + count

    def add_count(self, kind: str, count: int) -> None:
        """Count further faults of a kind that are not shown one by one."""
        if count:
            self._kept.setdefault(kind, [])
            self._counts[kind] = self._counts.get(kind, 0) + count

    def to_tuple(self, most: int = FAULTS_OF_A_KIND) -> tuple[Fault, ...]:
        """Return what was collected, kinds in the order of their first fault."""
        faults: list[Fault] = []
        for kind, kept in self._kept.items():
            faults.extend(kept[:most])
            rest = self._counts[kind] - len(kept[:most])
            if rest:
                faults.append(Fault(kind, f"… and {rest:,} more of this kind ({kind})."))
        return tuple(faults)


def first_of_each_kind(found: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the first twenty faults of each kind, what they say made harmless, and a count.

    >>> faults = [Fault("empty mask", f"Row {i} has no mask.") for i in range(22)]
    >>> first_of_each_kind(faults)[-1].message
    '… and 2 more of this kind (empty mask).'
    """
    faults = FaultList()
    for fault in found:
        message = clean(fault.message, _SHOWN_MESSAGE)
        faults.add(fault.kind, message, row=fault.row, id=fault.id, column=fault.column)
    return faults.to_tuple()
