"""Which column of a file is meant by which expected name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence

from arena.intake.faults import FaultList, show, show_all

__all__ = ["match_columns"]

_CUTOFF = 0.6
_MAX_GUESSED = 200


def match_columns(
    names: Sequence[str],
    expected: Sequence[str],
    faults: FaultList,
    *,
    never_meant: Collection[str] = (),
    row: int | None = None,
) -> dict[str, int]:
    """Return the position of each expected column; what is wrong with the names is a fault.

    A misspelt column is matched by guess, so that its cells are checked too.

    Parameters
    ----------
    names
        As they stand in the file.
    expected
        All of them, and no others, must occur once.
    never_meant
        Names that are not taken for a misnamed column just because they are left over.
    row
        The line of the header.

    Examples
    --------
    >>> faults = FaultList()
    >>> match_columns(["ID", "target"], ["id", "target"], faults)
    {'target': 1, 'id': 0}
    >>> faults.to_tuple()[0].message
    "Column 'ID' is not known; did you mean 'id'? Upper and lower case count. Rename it."
    """
    _report_repeated(names, faults, row)
    found = {name: names.index(name) for name in dict.fromkeys(expected) if name in set(names)}
    missing = [name for name in expected if name not in found]
    extra = [name for name in dict.fromkeys(names) if name not in set(expected)]
    guesses = _guess(missing, extra, never_meant)
    for name, (written, why) in guesses.items():
        message = f"Column {show(written)} is not known; did you mean {show(name)}? {why}Rename it."
        faults.add("misnamed column", message, row=row, column=written)
        found[name] = list(names).index(written)
    for name in (name for name in missing if name not in guesses):
        message = f"Column {show(name)} is missing; the file has {show_all(names)}. Add it."
        faults.add("missing column", message, row=row, column=name)
    taken = {written for written, _ in guesses.values()}
    for name in (name for name in extra if name not in taken):
        faults.add("extra column", _extra_message(name, expected), row=row, column=name)
    return found


def _report_repeated(names: Sequence[str], faults: FaultList, row: int | None) -> None:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > 1:
            message = f"Column {show(name)} occurs {count:,} times: keep one of them."
            faults.add("repeated column", message, row=row, column=name)


def _extra_message(name: str, expected: Sequence[str]) -> str:
    if not name.strip():
        return (
            "A column without a name, such as the index that pandas writes, does not belong here: "
            "write the file with index=False."
        )
    return f"Column {show(name)} does not belong here: keep only {show_all(expected)}."


def _guess(
    missing: Sequence[str], extra: Sequence[str], never_meant: Collection[str]
) -> Mapping[str, tuple[str, str]]:
    """Return missing name -> (name in the file, why it is taken for that)."""
    guesses: dict[str, tuple[str, str]] = {}
    left = [name for name in extra if len(name) <= _MAX_GUESSED][:_MAX_GUESSED]

    def take(name: str, written: str, why: str) -> None:
        guesses[name] = (written, why)
        left.remove(written)

    for name in missing[:_MAX_GUESSED]:
        same = [e for e in left if e.strip().casefold() == name.strip().casefold()]
        if same:
            spaces = same[0].strip() != same[0]
            why = "There are spaces around it. " if spaces else "Upper and lower case count. "
            take(name, same[0], why)
            continue
        near = difflib.get_close_matches(name, left, n=1, cutoff=_CUTOFF)
        if near:
            take(name, near[0], "")
    rest = [name for name in missing if name not in guesses]
    left = [name for name in left if name.strip() and name not in never_meant]
    if len(rest) == 1 and len(left) == 1:
        take(rest[0], left[0], "No other name is left. ")
    return guesses
