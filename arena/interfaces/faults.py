"""Collects the faults of a file: all are counted, up to twenty of a kind are reported.

Text from a participant may be long or contain control characters that move a terminal's cursor. It
is truncated and escaped before it is put into a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from arena.types import Fault

FAULTS_OF_A_KIND = 20
"""The number of faults of a kind that are reported; further ones are only counted."""

_EXAMPLES = 3
_SHOWN = 60
_SHOWN_IDS = 200
_SHOWN_MESSAGE = 500


def clean(text: str, limit: int = _SHOWN_IDS) -> str:
    r"""Return text that is safe for a terminal: at most ``limit`` characters, all printable.

    >>> clean("a" + chr(27) + "[31m"), clean("long", limit=3)
    ('a\\x1b[31m', 'lo…')
    """
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


def show(text: str) -> str:
    r"""Return a participant's text, quoted for a message.

    >>> show("7" + chr(0x202E))
    "'7\\u202e'"
    """
    return f"'{clean(text, _SHOWN)}'"


def show_all(texts: Iterable[str], limit: int = 10) -> str:
    """Return several texts, quoted and joined for a message.

    >>> show_all(["id", "target"])
    "'id', 'target'"
    """
    listed = list(texts)
    more = f" and {len(listed) - limit:,} more" if len(listed) > limit else ""
    return ", ".join(show(text) for text in listed[:limit]) + more


def describe(fault: Fault) -> str:
    """Return a fault as one line: location and message.

    >>> describe(Fault("empty cell", "The cell is empty.", row=3, id="a", column="target"))
    "row 3, id 'a', column 'target': The cell is empty."
    """
    place = _place(fault)
    return f"{place}: {fault.message}" if place else fault.message


def _place(fault: Fault) -> str:
    parts = (
        None if fault.row is None else f"row {fault.row}",
        None if fault.id is None else f"id {show(fault.id)}",
        None if fault.column is None else f"column {show(fault.column)}",
    )
    return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """All faults of one kind."""

    kind: str
    count: int
    cause: str | None
    """The probable common cause."""
    examples: tuple[Fault, ...]
    """The first three."""


def group_faults(faults: Iterable[Fault]) -> tuple[FaultGroup, ...]:
    """Return the faults of a file by kind, in the order of the first of each.

    >>> faults = [Fault("empty cell", "The cell is empty.", row=row) for row in range(2, 7)]
    >>> group = group_faults(faults)[0]
    >>> group.kind, group.count, len(group.examples)
    ('empty cell', 5, 3)
    """
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        kinds.setdefault(fault.kind, []).append(fault)
    return tuple(
        FaultGroup(
            kind,
            sum(fault.count for fault in faults_of_kind),
            next((fault.cause for fault in faults_of_kind if fault.cause), None),
            tuple(fault for fault in faults_of_kind if fault.count == 1)[:_EXAMPLES],
        )
        for kind, faults_of_kind in kinds.items()
    )


def fault_lines(faults: Iterable[Fault]) -> list[str]:
    """Return the faults of a file as text: a line per kind, with three examples.

    The examples stand in the line if they say the same of several places, else below it.

    >>> fault_lines([Fault("NaN", "Write a number.", row=row) for row in (2, 3)])
    ['NaN (2), such as row 2; row 3: Write a number.']
    >>> fault_lines([Fault("NaN", f"Write {number}.", row=number) for number in (2, 3)])
    ['NaN (2)', '  row 2: Write 2.', '  row 3: Write 3.']
    """
    lines = []
    for group in group_faults(faults):
        head = f"{group.kind} ({group.count:,})" + (f": {group.cause}" if group.cause else "")
        alone = group.count == 1 and group.cause is None
        places = [_place(fault) for fault in group.examples]
        messages = {fault.message for fault in group.examples}
        if group.cause is None and len(messages) == 1 and len(places) > 1 and all(places):
            lines.append(f"{head}, such as {'; '.join(places)}: {messages.pop()}")
            continue
        lines += [] if alone else [head]
        lines += [("" if alone else "  ") + describe(fault) for fault in group.examples]
    return lines


class Refused(Exception):  # noqa: N818 - control flow, not an error of the program
    """Ends the reading of a file; the reason is in its :class:`FaultList`."""


class FaultList:
    """The faults of one file: the first twenty of every kind and the number of all."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Fault]] = {}
        self._counts: dict[str, int] = {}
        self._causes: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    @property
    def replaced_bytes(self) -> bool:
        """Whether invalid bytes of the file were replaced, each with a fault."""
        return not self._counts.keys().isdisjoint(("wrong encoding", "NUL byte"))

    def add(
        self,
        kind: str,
        message: str,
        *,
        row: int | None = None,
        id: str | None = None,
        column: str | None = None,
    ) -> None:
        """Add a fault; ``id`` and ``column`` are escaped."""
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

    def refuse(self, kind: str, message: str, **where: Any) -> NoReturn:
        """Add a fault and end the reading of the file."""
        self.add(kind, message, **where)
        raise Refused(message)

    def add_each(self, kind: str, positions: Sequence[int], make: Callable[[int], Fault]) -> None:
        """Add a fault for each position; ``make`` is called only for those that are reported."""
        count = len(positions)
        if not count:
            return
        self._counts[kind] = self._counts.get(kind, 0) + count
        kept_faults = self._kept.setdefault(kind, [])
        kept_faults.extend(make(int(p)) for p in positions[: FAULTS_OF_A_KIND - len(kept_faults)])

    def explain(self, kind: str, cause: str | None) -> None:
        """Set the probable common cause of the faults of a kind, unless it is already set."""
        if cause is not None:
            self._causes.setdefault(kind, cause)

    def to_tuple(self, most: int = FAULTS_OF_A_KIND) -> tuple[Fault, ...]:
        """Return the collected faults; kinds are in the order of their first fault."""
        faults: list[Fault] = []
        for kind, kept_faults in self._kept.items():
            cause = self._causes.get(kind)
            faults.extend(replace(fault, cause=cause) for fault in kept_faults[:most])
            rest = self._counts[kind] - len(kept_faults[:most])
            if rest:
                message = f"… and {rest:,} more of this kind ({kind})."
                faults.append(Fault(kind, message, count=rest, cause=cause))
        return tuple(faults)


def first_of_each_kind(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the first twenty faults of each kind, escaped, and the number of further ones.

    >>> faults = [Fault("empty mask", f"Row {i} has no mask.") for i in range(22)]
    >>> first_of_each_kind(faults)[-1].message
    '… and 2 more of this kind (empty mask).'
    """
    fault_list = FaultList()
    for fault in faults:
        message = clean(fault.message, _SHOWN_MESSAGE)
        fault_list.add(fault.kind, message, row=fault.row, id=fault.id, column=fault.column)
    return fault_list.to_tuple()
