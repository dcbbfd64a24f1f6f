"""A typed facade over pluggy that isolates failing plugins.

pluggy aborts a hook call when one implementation raises. Here every implementation is called
separately and its iterable is consumed at once, so that a failure is attributed to its plugin and
the other plugins still run.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt
import pluggy

from arena import hookspecs, interfaces
from arena.errors import DuplicateNameError, PluginError
from arena.plugin.info import (
    ANY_FAILURE,
    Failure,
    PluginInfo,
    distribution_of,
    may_implement,
    unique_entry_points,
    version_of,
)
from arena.plugin.registry import Registry, nearest
from arena.plugin.returned import checked, problem_of_item
from arena.types import (
    RULE_FAILED,
    CompetitionInfo,
    Fault,
    Release,
    Section,
    SubmissionRecord,
)
from arena.utils.lazy import pa
from arena.utils.read_only import read_only
from arena.utils.text import printable

if TYPE_CHECKING:
    # Each is imported when something of its kind is asked for.
    from arena.interfaces import (
        Analysis,
        CaseReader,
        Competitor,
        FloorEstimator,
        Mechanism,
        Metric,
        Modality,
        Paper,
        Ranker,
        Sandbox,
    )

ENTRY_POINT_GROUP = "arena"
KINDS = {
    "metrics": ("metric", "Metric"),
    "modalities": ("modality", "Modality"),
    "mechanisms": ("mechanism", "Mechanism"),
    "rankers": ("ranker", "Ranker"),
    "analyses": ("analysis", "Analysis"),
    "competitors": ("competitor", "Competitor"),
    "floor_estimators": ("kind of labels", "FloorEstimator"),
    "papers": ("paper", "Paper"),
    "case_readers": ("format", "CaseReader"),
    "sandboxes": ("sandbox", "Sandbox"),
}
"""What plugins provide by a hook ``provide_…`` -> the word for an item, and its interface."""
_HOOKS_WITH_LABELS = {"competition_finalized", "provide_report_sections"}
"""Hooks that receive a result, and thus the labels: the text of their errors is not shown."""


class PluginManager:
    """The plugins of one run.

    Parameters
    ----------
    entry_points
        Whether to load the installed plugins (entry points of group ``arena``). Tests and notebooks
        can start with none and :meth:`register` their own.

    Raises
    ------
    DuplicateNameError
        If two distributions provide plugins with the same name.

    Examples
    --------
    >>> manager = PluginManager(entry_points=False)
    >>> manager.plugins
    ()
    """

    def __init__(self, *, entry_points: bool = True) -> None:
        self._pluggy = pluggy.PluginManager(hookspecs.PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self._infos: dict[str, PluginInfo] = {}
        self._failures: list[Failure] = []
        self._registries: dict[str, Registry[Any]] = {}
        self._folder: Path | None = None
        self._required: tuple[str, ...] = ()
        for point in unique_entry_points(ENTRY_POINT_GROUP) if entry_points else ():
            self._load(point)

    # -- loading -------------------------------------------------------------------------------

    def _load(self, point: metadata.EntryPoint) -> None:
        started, failed = time.perf_counter(), False
        try:
            self._register(point.load(), point.name)
        except ANY_FAILURE as error:
            self._fail(point.name, "loading", error)
            failed = True
        self._infos[point.name] = PluginInfo(
            name=point.name,
            version=version_of(point),
            origin=distribution_of(point),
            load_seconds=time.perf_counter() - started,
            failed_to_load=failed,
            may_hold_rule=failed and may_implement(point, "check_submission"),
        )

    def register(self, plugin: object, name: str) -> None:
        """Register a module or object with hook implementations.

        Raises
        ------
        PluginError
            If it implements an unknown hook, or a hook with unknown arguments.
        DuplicateNameError
            If the name is taken.
        """
        if name in self._infos:
            raise DuplicateNameError(f"A plugin named {name!r} is already registered.")
        self._register(plugin, name)
        origin = getattr(plugin, "__file__", None) or type(plugin).__name__
        self._infos[name] = PluginInfo(name, version="", origin=str(origin), load_seconds=0.0)

    def unregister(self, name: str) -> None:
        """Remove a plugin that :meth:`register` added."""
        self._pluggy.unregister(name=name)
        del self._infos[name]
        self._registries.clear()

    def _register(self, plugin: object, name: str) -> None:
        try:
            self._pluggy.register(plugin, name=name)
        except (pluggy.PluginValidationError, ValueError) as error:
            self._pluggy.unregister(name=name)
            raise PluginError(f"Plugin {name!r} cannot be registered: {error}") from error
        problem = self._misuse(plugin)
        if problem:
            self._pluggy.unregister(name=name)
            raise PluginError(f"Plugin {name!r} {problem}")
        self._registries.clear()

    def _misuse(self, plugin: object) -> str | None:
        hook_names = [
            name for name, value in vars(hookspecs).items() if hasattr(value, "arena_spec")
        ]
        for caller in self._pluggy.get_hookcallers(plugin) or []:
            if not caller.has_spec():
                guess = nearest(caller.name, hook_names)
                hint = f"Did you mean {guess}?" if guess else f"Hooks are: {', '.join(hook_names)}."
                return f"implements {caller.name!r}, which is not a hook. {hint}"
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin and (
                    implementation.hookwrapper or implementation.wrapper
                ):
                    return f"wraps the hook {caller.name!r}; arena calls no wrappers."
        return None

    def within(self, folder: Path, required: Sequence[str] = ()) -> Self:
        """Return a copy for the competition in a folder, which requires some plugins by name.

        See :meth:`Registry.within`, and :meth:`require_plugins`.
        """
        manager = copy.copy(self)
        manager._folder = folder.absolute()
        manager._required = tuple(required)
        manager._registries = {**self._registries, "metrics": self.metrics.within(manager._folder)}
        return manager

    # -- calling -------------------------------------------------------------------------------

    def _fail(self, plugin: str, action: str, error: BaseException, *, quoted: bool = True) -> None:
        failure = Failure(plugin, action, error, quoted)
        self._failures.append(failure)
        log = logging.getLogger("arena")
        log.warning("%s", printable(str(failure)))
        log.debug("%s", "".join(traceback.format_exception(error)).rstrip())

    def _call(
        self,
        hook: str,
        arguments: dict[str, Any],
        finish: Callable[[Any], Any],
        failed: Callable[[str], Any] | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """Yield ``(plugin, finish(result))`` of each implementation.

        One that fails is left out, or its result is ``failed(plugin)``.
        """
        caller: pluggy.HookCaller = getattr(self._pluggy.hook, hook)
        for implementation in sorted(
            caller.get_hookimpls(), key=lambda hookimpl: hookimpl.plugin_name
        ):
            named_arguments = {name: read_only(arguments[name]) for name in implementation.argnames}
            try:
                result = finish(implementation.function(**named_arguments))
            except ANY_FAILURE as error:
                quoted = hook not in _HOOKS_WITH_LABELS
                self._fail(implementation.plugin_name, f"running {hook}", error, quoted=quoted)
                if failed is None:
                    continue
                result = failed(implementation.plugin_name)
            yield implementation.plugin_name, result

    # -- what plugins provide ------------------------------------------------------------------

    @property
    def metrics(self) -> Registry[Metric]:
        """All metrics and metric families."""
        return self.registry("metrics")

    @property
    def mechanisms(self) -> Registry[Mechanism]:
        """All mechanisms."""
        return self.registry("mechanisms")

    @property
    def rankers(self) -> Registry[Ranker]:
        """All rankers."""
        return self.registry("rankers")

    @property
    def modalities(self) -> Registry[Modality]:
        """All modalities."""
        return self.registry("modalities")

    @property
    def analyses(self) -> Registry[Analysis]:
        """All analyses."""
        return self.registry("analyses")

    @property
    def competitors(self) -> Registry[Competitor]:
        """All competitors."""
        return self.registry("competitors")

    @property
    def floor_estimators(self) -> Registry[FloorEstimator]:
        """All estimators of the Bayes error."""
        return self.registry("floor_estimators")

    @property
    def papers(self) -> Registry[Paper]:
        """All papers that can be reproduced."""
        return self.registry("papers")

    @property
    def case_readers(self) -> Registry[CaseReader]:
        """All readers of evaluations."""
        return self.registry("case_readers")

    @property
    def sandboxes(self) -> Registry[Sandbox]:
        """All sandboxes."""
        return self.registry("sandboxes")

    def registry(self, kind: str) -> Registry[Any]:
        """Return all items of one of :data:`KINDS`.

        Raises
        ------
        DuplicateNameError
            If a name occurs twice.
        """
        if kind not in self._registries:
            noun, interface = KINDS[kind]
            protocol = getattr(interfaces, interface)
            registry = Registry[Any](noun, protocol, self._fail, self._failures)
            for plugin, items in self._call(f"provide_{kind}", {}, _exhaust):
                for item in items:
                    self._add(registry, plugin, item, protocol)
            if self._folder is not None:
                registry = registry.within(self._folder)
            self._registries[kind] = registry
        return self._registries[kind]

    def _add(self, registry: Registry[Any], plugin: str, item: Any, protocol: Any) -> None:
        if isinstance(item, interfaces.Deferred):
            registry.add_deferred(item, plugin=plugin)
            return
        if registry.kind == "metric" and isinstance(item, interfaces.MetricFamily):
            registry.add_family(item, plugin=plugin)
            return
        problem = problem_of_item(item, protocol, registry.kind)
        if problem:
            self._fail(plugin, f"providing a {registry.kind}", TypeError(problem))
            return
        registry.add(str(item.name), item, plugin=plugin)

    # -- hooks of a run ------------------------------------------------------------------------

    def read_predictions(self, path: Path, competition: CompetitionInfo) -> Any:
        """Return the table from the first plugin that can read the file, or None."""
        arguments = {"path": path, "competition": competition}
        results = self._call("read_predictions", arguments, _table)
        return next((table for _, table in results if table is not None), None)

    def check_submission(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> tuple[Fault, ...]:
        """Return the faults found by the organiser's own rules.

        A rule that fails refuses the file, with a fault of the kind ``RULE_FAILED``; so does a
        plugin that is required, or that may hold a rule, and could not be loaded.
        """
        arguments = {"predictions": predictions, "competition": competition}
        results = self._call("check_submission", arguments, _all(Fault), _rule_failed)
        unloaded = {info.name for info in self.plugins if info.may_hold_rule}
        absent = sorted(unloaded.union(self.missing_plugins))
        return (
            *(fault for plugin in absent for fault in _rule_failed(plugin)),
            *(fault for _, faults in results for fault in faults),
        )

    def submission_scored(
        self, submission: SubmissionRecord, release: Release | None, competition: CompetitionInfo
    ) -> None:
        """Announce a stored submission."""
        arguments = {"submission": submission, "release": release, "competition": competition}
        list(self._call("submission_scored", arguments, lambda answer: answer))

    def competition_finalized(self, result: Any, competition: CompetitionInfo) -> None:
        """Announce that a private board was computed."""
        arguments = {"result": result, "competition": competition}
        list(self._call("competition_finalized", arguments, lambda answer: answer))

    def provide_report_sections(self, result: Any) -> tuple[Section, ...]:
        """Return all sections for the report of a result."""
        results = self._call("provide_report_sections", {"result": result}, _all(Section))
        return tuple(section for _, sections in results for section in sections)

    @contextlib.contextmanager
    def guarded(self, plugin: str, action: str) -> Iterator[None]:
        """Record an error of a plugin's code and suppress it.

        The code may see the labels, so the text of the error is not shown.
        """
        try:
            yield
        except ANY_FAILURE as error:
            self._fail(plugin, action, error, quoted=False)

    # -- status --------------------------------------------------------------------------------

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """All plugins by name, including those that failed to load."""
        return tuple(self._infos[name] for name in sorted(self._infos))

    @property
    def missing_plugins(self) -> tuple[str, ...]:
        """The required plugins that are not installed or failed to load."""
        loaded = {info.name for info in self.plugins if not info.failed_to_load}
        return tuple(name for name in self._required if name not in loaded)

    def require_plugins(self) -> None:
        """Check that all required plugins were loaded.

        Raises
        ------
        PluginError
            If one was not.
        """
        missing = self.missing_plugins
        if missing:
            raise PluginError(
                f"This competition requires the plugin{'s'[: len(missing) - 1]} "
                f"{', '.join(map(repr, missing))}, and arena could not load "
                f"{'it' if len(missing) == 1 else 'them'}. Install what is missing, or see why it "
                f"fails with arena plugins."
            )

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the plugins that check submissions."""
        callers = self._pluggy.hook.check_submission.get_hookimpls()
        return tuple(sorted(caller.plugin_name for caller in callers))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All failures of plugins so far, in order."""
        return tuple(self._failures)


def _all(kind: type[Any]) -> Callable[[Iterable[Any] | None], tuple[Any, ...]]:
    """Return a function that consumes what a hook returned, and checks each item."""
    return lambda result: tuple(checked(item, kind) for item in _exhaust(result))


def _table(table: Any) -> Any:
    if table is None or isinstance(table, pa.Table):
        return table
    raise TypeError(f"it returned {type(table).__name__} and no pyarrow.Table")


def _rule_failed(plugin: str) -> tuple[Fault, ...]:
    message = (
        f"A rule of the organiser failed (plugin {plugin!r}), so this file was not judged. It "
        f"counts for nothing: submit it again once the organiser has mended the rule."
    )
    return (Fault(RULE_FAILED, message),)


def _exhaust(result: Iterable[Any] | None) -> tuple[Any, ...]:
    return () if result is None else tuple(result)
