"""Registered items by name, with the plugin that provides each."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from arena.errors import DuplicateNameError, PluginError, UnknownNameError, UsageError
from arena.interfaces import Deferred, MetricFamily, MetricFamilyOfFiles
from arena.plugin.info import attributed, missing_members
from arena.plugin.specification import Specification, parse_specification

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Entry(Generic[_Item]):
    """An item and the plugin that provides it."""

    name: str
    item: _Item
    plugin: str


class Registry(Generic[_Item]):
    """Items of one kind by name. Names are unique across plugins.

    Parameters
    ----------
    kind
        What an item is, for messages.
    protocol
        What an item that is imported later must satisfy; None: it is not checked.
    failed
        Called with the plugin, what it did and the error of each item that cannot be listed.

    Examples
    --------
    >>> registry = Registry[object]("mechanism")
    >>> registry.add("full", object(), plugin="mine")
    >>> registry.resolve("ful")
    Traceback (most recent call last):
    arena.errors.UnknownNameError: There is no mechanism 'ful'. Did you mean 'full'?
    """

    def __init__(
        self,
        kind: str,
        protocol: type[Any] | None = None,
        failed: Callable[[str, str, BaseException], None] | None = None,
    ) -> None:
        self.kind = kind
        self._protocol, self._failed = protocol, failed
        self._entries: dict[str, Entry[_Item]] = {}
        self._families: dict[str, Entry[MetricFamily]] = {}
        self._deferred: dict[str, Entry[Deferred]] = {}
        self._deferred_families: dict[str, Entry[Deferred]] = {}
        self._folder: Path | None = None
        self._pinned: dict[str, str] = {}

    def add(self, name: str, item: _Item, *, plugin: str) -> None:
        """Register an item.

        Raises
        ------
        DuplicateNameError
            If the name is taken.
        """
        self._refuse_duplicate(name, plugin, self._deferred | self._entries)
        self._entries[name] = Entry(name, item, plugin)

    def add_family(self, family: MetricFamily, *, plugin: str) -> None:
        """Register a family, which makes the items ``prefix:rest`` on demand."""
        self._refuse_duplicate(family.prefix, plugin, self._deferred_families | self._families)
        self._families[family.prefix] = Entry(family.prefix, family, plugin)

    def add_deferred(self, item: Deferred, *, plugin: str) -> None:
        """Register an item or a family that is imported when it is first used."""
        if item.is_family:
            taken: Mapping[str, Entry[Any]] = self._deferred_families | self._families
        else:
            taken = self._deferred | self._entries
        self._refuse_duplicate(item.name, plugin, taken)
        known = self._deferred_families if item.is_family else self._deferred
        known[item.name] = Entry(item.name, item, plugin)

    def _refuse_duplicate(self, name: str, plugin: str, taken: Mapping[str, Entry[Any]]) -> None:
        if name in taken:
            raise DuplicateNameError(
                f"The plugins {taken[name].plugin!r} and {plugin!r} both provide a {self.kind} "
                f"named {name!r}. Uninstall one of them, or ask its author to rename it."
            )

    def __iter__(self) -> Iterator[Entry[_Item]]:
        for name in sorted({*self._deferred, *self._entries}):
            entry = None
            with self._listing(self._deferred.get(name)):
                entry = self._entry(name)
            if entry is not None:
                yield entry

    @property
    def families(self) -> tuple[Entry[MetricFamily], ...]:
        """The families, by prefix."""
        found = []
        for prefix in self._prefixes():
            with self._listing(self._deferred_families.get(prefix)):
                found.append(self._family(prefix))
        return tuple(one for one in found if one is not None)

    def _prefixes(self) -> list[str]:
        return sorted({*self._deferred_families, *self._families})

    @contextlib.contextmanager
    def _listing(self, deferred: Entry[Deferred] | None) -> Iterator[None]:
        """Leave out what cannot be imported, and report it."""
        try:
            yield
        except PluginError as error:
            if deferred is None or self._failed is None:
                raise
            self._failed(deferred.plugin, f"loading the {self.kind} {deferred.name!r}", error)

    def _entry(self, name: str) -> Entry[_Item] | None:
        deferred = self._deferred.get(name)
        if name not in self._entries and deferred is not None:
            self._entries[name] = Entry(name, self._loaded(deferred), deferred.plugin)
        return self._entries.get(name)

    def _family(self, prefix: str) -> Entry[MetricFamily] | None:
        deferred = self._deferred_families.get(prefix)
        if prefix not in self._families and deferred is not None:
            family = self._loaded(deferred)
            if self._folder is not None and isinstance(family, MetricFamilyOfFiles):
                family = family.within(self._folder)
            self._families[prefix] = Entry(prefix, family, deferred.plugin)
        return self._families.get(prefix)

    def _loaded(self, deferred: Entry[Deferred]) -> Any:
        with attributed(deferred.plugin, f"loading the {self.kind} {deferred.name!r}"):
            item = deferred.item.load()
            protocol = MetricFamily if deferred.item.is_family else self._protocol
            missing = [] if protocol is None else missing_members(item, protocol)
            if missing:
                raise TypeError(
                    f"{type(item).__name__} is no {self.kind}: it lacks {', '.join(missing)}"
                )
            return item

    def pin(self, text: str, code: str) -> None:
        """Resolve a specification to this code from now on, even if the file changes."""
        self._pinned[text] = code

    def within(self, folder: Path) -> Registry[_Item]:
        """Return a copy for the competition in a folder.

        File names in specifications are relative to this folder, and pinned code applies to this
        competition only.
        """
        own = Registry[_Item](self.kind, self._protocol, self._failed)
        own._entries, own._pinned = dict(self._entries), dict(self._pinned)
        own._deferred = dict(self._deferred)
        own._deferred_families = dict(self._deferred_families)
        own._folder = folder
        for prefix, entry in self._families.items():
            family = entry.item
            if isinstance(family, MetricFamilyOfFiles):
                family = family.within(folder)
            own._families[prefix] = dataclasses.replace(entry, item=family)
        return own

    def resolve(
        self,
        text: str,
        *,
        fresh: bool = False,
        suggest: Callable[[_Item], bool] = lambda _: True,
    ) -> _Item:
        """Return the item that a specification such as ``f1(average=macro)`` selects.

        An item with parameters is a dataclass: its fields are the parameters. A name with a colon
        but without a known prefix is passed to the family without a prefix, if there is one.

        Parameters
        ----------
        fresh
            Whether to read the organiser's file again, even if other code is pinned.
        suggest
            Which items the error message may name if this name is unknown.

        Raises
        ------
        UnknownNameError
            If the name is unknown; the message suggests similar names.
        UsageError
            If the specification or one of its parameters is invalid.
        """
        specification = parse_specification(text)
        family, rest = self._family_of(specification.name)
        if family is not None:
            code = None if fresh else self._pinned.get(text)
            return self._make(family.item, specification, rest, code)
        entry = self._entry(specification.name)
        if entry is None:
            raise UnknownNameError(self._unknown(specification.name, suggest))
        return _with_parameters(entry, specification.parameters, self.kind)

    def plugin_of(self, text: str) -> str:
        """Return the name of the plugin that provides the item of a specification.

        Raises
        ------
        UnknownNameError
            If the name is unknown.
        """
        name = parse_specification(text).name
        entry: Entry[Any] | None = self._deferred.get(name) or self._entries.get(name)
        entry = entry or self._family_of(name)[0]
        if entry is None:
            raise UnknownNameError(self._unknown(name))
        return entry.plugin

    def settled(self, text: str) -> str:
        """Return a specification that does not depend on the current folder; imports its code.

        A file in the folder of :meth:`within` is named relative to that folder, any other file by
        its absolute path.
        """
        specification = parse_specification(text)
        family, rest = self._family_of(specification.name)
        if family is None or not isinstance(family.item, MetricFamilyOfFiles):
            return text
        return family.item.settle(rest, specification.parameters)

    def _family_of(self, name: str) -> tuple[Entry[MetricFamily] | None, str]:
        """Return the family that a name belongs to, and the rest of the name."""
        prefix, colon, rest = name.partition(":")
        if not colon:
            return None, ""
        family = self._family(prefix)
        return (self._family(""), name) if family is None else (family, rest)

    def _make(
        self, family: Any, specification: Specification, rest: str, code: str | None
    ) -> _Item:
        if code is not None and isinstance(family, MetricFamilyOfFiles):
            return cast("_Item", family.remake(rest, specification.parameters, code))
        try:
            return cast("_Item", family.make(rest, specification.parameters))
        except UnknownNameError as error:
            prefix = specification.name.partition(":")[0]
            known = self._prefixes()
            guess = nearest(prefix, [one for one in known if one])
            if prefix in known or not guess:
                raise
            raise UnknownNameError(f"{error} Did you mean the prefix {guess}?") from error

    def _unknown(self, name: str, suggest: Callable[[_Item], bool] = lambda _: True) -> str:
        named = [entry.name for entry in self if suggest(entry.item)]
        known = [*named, *(f"{prefix}:" for prefix in self._prefixes() if prefix)]
        if not known:
            return f"There is no {self.kind} {name!r}: no plugin provides any."
        guess = nearest(name, known)
        return f"There is no {self.kind} {name!r}. " + (
            f"Did you mean {guess}?" if guess else f"There are: {', '.join(sorted(known))}."
        )


def nearest(name: str, known: list[str]) -> str:
    """Return the most similar names, quoted and joined with "or", or an empty text.

    >>> nearest("acuracy", ["accuracy", "mae"]), nearest("f1_macro", ["accuracy", "f1"])
    ("'accuracy'", "'f1'")
    """
    folded = {candidate.lower(): candidate for candidate in known}
    wanted = name.lower().replace("-", "_")
    matches = difflib.get_close_matches(wanted, folded, n=3) or [
        candidate for candidate in folded if wanted.startswith(f"{candidate}_")
    ]
    return " or ".join(repr(folded[match]) for match in matches)


def _with_parameters(entry: Entry[_Item], parameters: Mapping[str, Any], kind: str) -> _Item:
    if not parameters:
        return entry.item
    fields = (
        [field.name for field in dataclasses.fields(entry.item) if field.init]
        if dataclasses.is_dataclass(entry.item)
        else []
    )
    unknown = [name for name in parameters if name not in fields]
    if unknown:
        guess = nearest(unknown[0], fields)
        takes = f"Its parameters: {', '.join(fields)}." if fields else "It has no parameters."
        takes = f"Did you mean {guess}? {takes}" if guess else takes
        raise UsageError(f"The {kind} {entry.name!r} has no parameter {unknown[0]!r}. {takes}")
    replace: Callable[..., _Item] = dataclasses.replace
    try:
        return replace(entry.item, **parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The {kind} {entry.name!r} rejects its parameters: {error}") from error
