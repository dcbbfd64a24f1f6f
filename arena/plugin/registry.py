"""Registered items by name, with the plugin that provides each."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from arena.errors import DuplicateNameError, PluginError, UnknownNameError, UsageError
from arena.interfaces import Deferred, MetricFamily, MetricFamilyOfFiles
from arena.plugin.info import Failure, attributed
from arena.plugin.returned import problem_of_item
from arena.plugin.specification import Specification, parse_specification

_Item = TypeVar("_Item")
_MOST_LISTED = 30
_FIXED = {"name", "greater_is_better", "prediction"}
"""Fields of an item that are no parameters: another direction would reverse the board."""


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
        The word for an item, for messages.
    protocol
        The check of an item that is imported later; None: it is not checked.
    failed
        Called with the plugin, what it did and the error of each item that cannot be listed.
    failures
        Of the plugins so far; one of them may provide a name that is unknown.

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
        failures: Sequence[Failure] = (),
    ) -> None:
        self.kind = kind
        self._protocol, self._failed, self._failures = protocol, failed, failures
        # An item may be a Deferred, which is replaced by what it stands for when it is first used.
        self._entries: dict[str, Entry[Any]] = {}
        self._families: dict[str, Entry[Any]] = {}
        self._folder: Path | None = None
        self._pinned: dict[str, str] = {}

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

    def add_deferred(self, item: Deferred, *, plugin: str) -> None:
        """Register an item or a family that is imported when it is first used."""
        entries = self._families if item.is_family else self._entries
        self._refuse_duplicate(item.name, plugin, entries)
        entries[item.name] = Entry(item.name, item, plugin)

    def _refuse_duplicate(self, name: str, plugin: str, taken: Mapping[str, Entry[Any]]) -> None:
        if name in taken:
            raise DuplicateNameError(
                f"The plugins {taken[name].plugin!r} and {plugin!r} both provide a {self.kind} "
                f"named {name!r}. Uninstall one of them, or ask its author to rename it."
            )

    def __iter__(self) -> Iterator[Entry[_Item]]:
        yield from self._listed(self._entries)

    def __len__(self) -> int:
        """Return the number of items, without those of families."""
        return len(self._entries)

    @property
    def families(self) -> tuple[Entry[MetricFamily], ...]:
        """The families, by prefix."""
        return tuple(self._listed(self._families))

    def _listed(self, entries: dict[str, Entry[Any]]) -> Iterator[Entry[Any]]:
        """Yield the entries by name; what cannot be imported is left out and reported."""
        for name in sorted(entries):
            try:
                entry = self._loaded(entries, name)
            except PluginError as error:
                if self._failed is None:
                    raise
                self._failed(entries[name].plugin, self._loading(name), error)
            else:
                if entry is not None:
                    yield entry

    def _loaded(self, entries: dict[str, Entry[Any]], name: str) -> Entry[Any] | None:
        """Return an entry, imported if it was not yet; None if there is none."""
        entry = entries.get(name)
        if entry is not None and isinstance(entry.item, Deferred):
            with attributed(entry.plugin, self._loading(name)):
                item = self._import(entry.item)
            entry = entries[name] = dataclasses.replace(entry, item=item)
        return entry

    def _loading(self, name: str) -> str:
        return f"loading the {self.kind} {name!r}"

    def _import(self, deferred: Deferred) -> Any:
        item = deferred.load()
        protocol = MetricFamily if deferred.is_family else self._protocol
        self._check(item, protocol)
        return self._placed(item)

    def _check(self, item: Any, protocol: type[Any] | None) -> None:
        problem = None if protocol is None else problem_of_item(item, protocol, self.kind)
        if problem:
            raise TypeError(problem)

    def _placed(self, item: Any) -> Any:
        """Return a family of files for the folder of this registry; anything else as it is."""
        of_files = self._folder is not None and isinstance(item, MetricFamilyOfFiles)
        return item.within(self._folder) if of_files else item

    def pin(self, text: str, code: str) -> None:
        """Resolve a specification to this code from now on, even if the file changes."""
        self._pinned[text] = code

    def within(self, folder: Path) -> Registry[_Item]:
        """Return a copy for the competition in a folder.

        File names in specifications are relative to this folder, and pinned code applies to this
        competition only.
        """
        registry = Registry[_Item](self.kind, self._protocol, self._failed, self._failures)
        registry._entries, registry._pinned = dict(self._entries), dict(self._pinned)
        registry._folder = folder
        registry._families = {
            prefix: dataclasses.replace(entry, item=registry._placed(entry.item))
            for prefix, entry in self._families.items()
        }
        return registry

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
        entry: Entry[_Item] | None = self._loaded(self._entries, specification.name)
        if entry is None:
            raise UnknownNameError(self._unknown(specification.name, suggest))
        item = _with_parameters(entry, specification.parameters, self.kind)
        with attributed(entry.plugin, self._loading(text)):
            self._check(item, self._protocol)
        return item

    def plugin_of(self, text: str) -> str:
        """Return the name of the plugin that provides the item of a specification.

        Raises
        ------
        UnknownNameError
            If the name is unknown.
        """
        name = parse_specification(text).name
        entry = self._entries.get(name) or self._family_of(name)[0]
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
        if prefix in self._families:
            return self._loaded(self._families, prefix), rest
        return self._loaded(self._families, ""), name

    def _make(
        self, family: Any, specification: Specification, rest: str, code: str | None
    ) -> _Item:
        if code is not None and isinstance(family, MetricFamilyOfFiles):
            return cast("_Item", family.remake(rest, specification.parameters, code))
        try:
            return cast("_Item", family.make(rest, specification.parameters))
        except UnknownNameError as error:
            prefix = specification.name.partition(":")[0]
            guess = nearest(prefix, [prefix for prefix in self._families if prefix])
            if prefix in self._families or not guess:
                raise
            raise UnknownNameError(f"{error} Did you mean the prefix {guess}?") from error

    def _unknown(self, name: str, suggest: Callable[[_Item], bool] = lambda _: True) -> str:
        failed = [str(failure) for failure in self._failures if failure.plugin not in self._plugins]
        reasons = "".join(
            f" It may be provided by a plugin that could not be used: {failure}."
            for failure in dict.fromkeys(failed)
        )
        return self._named_nearest(name, suggest) + reasons

    @property
    def _plugins(self) -> set[str]:
        """The plugins that provide an item of this kind."""
        return {entry.plugin for entry in (*self._entries.values(), *self._families.values())}

    def _named_nearest(self, name: str, suggest: Callable[[_Item], bool]) -> str:
        named = [entry.name for entry in self if suggest(entry.item)]
        names = [*named, *(f"{prefix}:" for prefix in self._families if prefix)]
        if not names:
            return f"There is no {self.kind} {name!r}: no plugin provides any."
        if name.endswith(".py") and "" in self._families:
            return (
                f"There is no {self.kind} {name!r}. Name a function of the file: {name}:FUNCTION."
            )
        guess = nearest(name, names)
        if not guess and len(names) > _MOST_LISTED:
            return f"There is no {self.kind} {name!r}: 'arena {self.kind}s' lists all."
        return f"There is no {self.kind} {name!r}. " + (
            f"Did you mean {guess}?" if guess else f"There are: {', '.join(sorted(names))}."
        )


def nearest(name: str, names: list[str]) -> str:
    """Return the most similar names, quoted and joined with "or", or an empty text.

    >>> nearest("acuracy", ["accuracy", "mae"]), nearest("f1_macro", ["accuracy", "f1"])
    ("'accuracy'", "'f1'")
    """
    folded = {candidate.lower(): candidate for candidate in names}
    normalised = name.lower().replace("-", "_")
    matches = difflib.get_close_matches(normalised, folded, n=3) or [
        candidate for candidate in folded if normalised.startswith(f"{candidate}_")
    ]
    return " or ".join(repr(folded[match]) for match in matches)


def parameter_names(item: object) -> list[str]:
    """Return the names of an item's parameters, in the order of its constructor."""
    fields = dataclasses.fields(item) if dataclasses.is_dataclass(item) else ()
    in_order = sorted(fields, key=attrgetter("kw_only"))
    return [field.name for field in in_order if field.init and field.name not in _FIXED]


def _with_parameters(entry: Entry[_Item], parameters: Mapping[str, Any], kind: str) -> _Item:
    if not parameters:
        return entry.item
    fields = parameter_names(entry.item)
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
