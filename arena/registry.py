"""Items by name, and the plugin that each came from."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from arena.errors import DuplicateNameError, UnknownNameError, UsageError
from arena.interfaces import MetricFamily, MetricFamilyOfFiles
from arena.specification import Specification, parse_specification

__all__ = ["Entry", "Registry", "nearest"]

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Entry(Generic[_Item]):
    """An item and where it came from."""

    name: str
    item: _Item
    plugin: str


class Registry(Generic[_Item]):
    """Items of one kind by name. A name stands once, whoever provides it.

    Examples
    --------
    >>> registry = Registry[object]("mechanism")
    >>> registry.add("full", object(), plugin="mine")
    >>> registry.resolve("ful")
    Traceback (most recent call last):
    arena.errors.UnknownNameError: There is no mechanism 'ful'. Did you mean 'full'?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[_Item]] = {}
        self._families: dict[str, Entry[MetricFamily]] = {}
        self._kept: dict[str, str] = {}

    def add(self, name: str, item: _Item, *, plugin: str) -> None:
        """Register an item.

        Raises
        ------
        DuplicateNameError
            If the name is taken.
        """
        self._refuse_duplicate(name, plugin, self._entries)
        self._entries[name] = Entry(name, item, plugin)

    def add_family(self, family: MetricFamily, *, plugin: str) -> None:
        """Register a family, which makes the items ``prefix:rest`` on demand."""
        self._refuse_duplicate(family.prefix, plugin, self._families)
        self._families[family.prefix] = Entry(family.prefix, family, plugin)

    def _refuse_duplicate(self, name: str, plugin: str, taken: Mapping[str, Entry[Any]]) -> None:
        if name in taken:
            raise DuplicateNameError(
                f"The plugins {taken[name].plugin!r} and {plugin!r} both provide a {self.kind} "
                f"named {name!r}. Uninstall one of them, or ask its author to rename it."
            )

    def __iter__(self) -> Iterator[Entry[_Item]]:
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))

    @property
    def families(self) -> tuple[Entry[MetricFamily], ...]:
        """The families, by prefix."""
        return tuple(self._families[prefix] for prefix in sorted(self._families))

    def keep(self, text: str, code: str) -> None:
        """Have a specification mean this code from now on, whatever becomes of the file."""
        self._kept[text] = code

    def within(self, folder: Path) -> Registry[_Item]:
        """Return the same items for one competition.

        A file that a specification names is looked for in this folder, not in the current one,
        and what is kept concerns no other competition.
        """
        own = Registry[_Item](self.kind)
        own._entries, own._kept = dict(self._entries), dict(self._kept)
        own._families = {
            prefix: dataclasses.replace(entry, item=_family_within(entry.item, folder))
            for prefix, entry in self._families.items()
        }
        return own

    def resolve(
        self,
        text: str,
        *,
        fresh: bool = False,
        fitting: Callable[[_Item], bool] = lambda _: True,
    ) -> _Item:
        """Return the item that a specification such as ``f1(average=macro)`` asks for.

        An item with parameters is a dataclass: its fields are the parameters. What has a colon and
        no prefix of a family is for the family without a prefix, if there is one.

        Parameters
        ----------
        fresh
            Whether an item of the organiser's own file is made of what the file holds now, even if
            other code was kept.
        fitting
            Of which items the names are told where nothing has this name.

        Raises
        ------
        UnknownNameError
            If nothing has this name; the message holds the nearest names.
        UsageError
            If the specification, or one of its parameters, is wrong.
        """
        specification = parse_specification(text)
        family, rest = self._family_of(specification.name)
        if family is not None:
            code = None if fresh else self._kept.get(text)
            return self._make(family.item, specification, rest, code)
        entry = self._entries.get(specification.name)
        if entry is None:
            raise UnknownNameError(self._unknown(specification.name, fitting))
        return _with_parameters(entry, specification.parameters, self.kind)

    def plugin_of(self, text: str) -> str:
        """Return the name of the plugin that provides what a specification asks for.

        Raises
        ------
        UnknownNameError
            If nothing has this name.
        """
        name = parse_specification(text).name
        entry = self._entries.get(name) or self._family_of(name)[0]
        if entry is None:
            raise UnknownNameError(self._unknown(name))
        return entry.plugin

    def settled(self, text: str) -> str:
        """Return a specification that the current folder has no part in; its code is tried.

        What it names is sought from the current folder on, and named from the folder of
        :meth:`within` on if it lies there.
        """
        specification = parse_specification(text)
        family, rest = self._family_of(specification.name)
        if family is None or not isinstance(family.item, MetricFamilyOfFiles):
            return text
        return family.item.settle(rest, specification.parameters)

    def _family_of(self, name: str) -> tuple[Entry[MetricFamily] | None, str]:
        """Return the family that a name belongs to, and what it is asked for."""
        prefix, colon, rest = name.partition(":")
        if not colon:
            return None, ""
        if prefix in self._families:
            return self._families[prefix], rest
        return self._families.get(""), name

    def _make(
        self, family: Any, specification: Specification, rest: str, code: str | None
    ) -> _Item:
        if code is not None and isinstance(family, MetricFamilyOfFiles):
            return cast("_Item", family.remake(rest, specification.parameters, code))
        try:
            return cast("_Item", family.make(rest, specification.parameters))
        except UnknownNameError as error:
            prefix = specification.name.partition(":")[0]
            guess = nearest(prefix, [known for known in self._families if known])
            if prefix in self._families or not guess:
                raise
            raise UnknownNameError(f"{error} Did you mean the prefix {guess}?") from error

    def _unknown(self, name: str, fitting: Callable[[_Item], bool] = lambda _: True) -> str:
        named = [own for own, entry in self._entries.items() if fitting(entry.item)]
        known = [*named, *(f"{prefix}:" for prefix in self._families if prefix)]
        if not known:
            return f"There is no {self.kind} {name!r}: no plugin provides any."
        guess = nearest(name, known)
        return f"There is no {self.kind} {name!r}. " + (
            f"Did you mean {guess}?" if guess else f"There are: {', '.join(sorted(known))}."
        )


def _family_within(family: MetricFamily, folder: Path) -> MetricFamily:
    return family.within(folder) if isinstance(family, MetricFamilyOfFiles) else family


def nearest(name: str, known: list[str]) -> str:
    """Return the names most like this one, quoted, or an empty text.

    >>> nearest("acuracy", ["accuracy", "mae"])
    "'accuracy'"
    """
    folded = {candidate.lower(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=3)
    return " or ".join(repr(folded[match]) for match in matches)


def _with_parameters(entry: Entry[_Item], parameters: Mapping[str, Any], kind: str) -> _Item:
    if not parameters:
        return entry.item
    fields = _fields(entry.item)
    unknown = [name for name in parameters if name not in fields]
    if unknown:
        guess = nearest(unknown[0], fields)
        takes = f"It takes: {', '.join(fields)}." if fields else "It takes none."
        takes = f"Did you mean {guess}? {takes}" if guess else takes
        raise UsageError(f"The {kind} {entry.name!r} has no parameter {unknown[0]!r}. {takes}")
    replace: Callable[..., _Item] = dataclasses.replace
    try:
        return replace(entry.item, **parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The {kind} {entry.name!r} refused its parameters: {error}") from error


def _fields(item: object) -> list[str]:
    if not dataclasses.is_dataclass(item):
        return []
    return [field.name for field in dataclasses.fields(item) if field.init]
