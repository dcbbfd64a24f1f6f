"""Names the teams that a new team can be confused with."""

from __future__ import annotations

from collections.abc import Iterable

from arena.utils.look_alikes import skeleton
from arena.utils.text import printable


class ConfusableNames:
    """The team names so far, by skeleton."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, list[str]] = {}
        for name in names:
            self._names.setdefault(skeleton(name), []).append(name)

    def add(self, name: str) -> str | None:
        """Add a name; if it is new and looks like others, return a sentence that names them.

        >>> ConfusableNames(["owls"]).add("Owls")
        "The new team 'Owls' looks like 'owls'. They are two teams here: is that intended?"
        """
        alike = self._names.setdefault(skeleton(name), [])
        if name in alike:
            return None
        others = " and ".join(map(_shown, alike))
        alike.append(name)
        if not others:
            return None
        return (
            f"The new team {_shown(name)} looks like {others}. They are two teams here: is that "
            f"intended?"
        )


def _shown(name: str) -> str:
    """Return a name, and its escaped form if it is not ASCII."""
    return f"'{printable(name)}'" + ("" if name.isascii() else f", written {name!a},")
