"""The families ``kaggle:``, ``hf:``, ``evalai:``, ``codabench:``, ``mlebench:`` and functions."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.errors import UnknownNameError, UsageError
from arena.plugin.specification import Specification
from arena.types import PredictionKind
from arena_metrics.foreign.codabench import CODABENCH
from arena_metrics.foreign.counted import CASE_STATISTICS, COMBINE, CountedMetric
from arena_metrics.foreign.evalai import EVALAI
from arena_metrics.foreign.hugging_face import HUGGING_FACE
from arena_metrics.foreign.kaggle import KAGGLE
from arena_metrics.foreign.kinds import Kind, Request
from arena_metrics.foreign.loading import function_of
from arena_metrics.foreign.metric import ForeignMetric
from arena_metrics.foreign.mlebench import MLEBENCH
from arena_metrics.foreign.notebook import NOTEBOOK
from arena_metrics.foreign.plain import PLAIN
from arena_metrics.foreign.source import (
    Source,
    StaticInfo,
    find_file,
    find_module,
    inspect_source,
)

_TIME_LIMIT = 60.0
_COMMON: Mapping[str, Any] = {
    "lower_is_better": None,
    "time_limit": _TIME_LIMIT,
    "memory_limit": None,
    "network": False,
    "folder": "",
    "rows": "one",
}
"""Options that arena handles for every kind of metric, and their defaults."""
_OF_NO_FUNCTION = StaticInfo(defines=True, parameters=(), greater_is_better=None)
_PREDICTIONS = {
    kind.value.replace(" ", "_"): kind.value
    for kind in PredictionKind
    if kind is not PredictionKind.TEXT
}


@dataclass(frozen=True, slots=True)
class ForeignFamily:
    """The metrics of one kind; each is loaded from a file or a module."""

    kind: Kind
    home: Path | None = None
    """The folder that file names are relative to; None: the current folder."""

    @property
    def prefix(self) -> str:
        """The text before the colon; empty for the kind without a prefix."""
        return self.kind.prefix

    @property
    def form(self) -> str:
        """The form of a specification, such as ``kaggle:FILE.py``."""
        return self.kind.form

    @property
    def description(self) -> str:
        """The metrics that the family runs, in one line."""
        return self.kind.description

    def known(self) -> Sequence[str]:
        """Return nothing: the organiser's files cannot be listed."""
        return ()

    def within(self, folder: Path) -> ForeignFamily:
        """Return the same family with file names relative to a folder."""
        return replace(self, home=folder)

    def make(self, rest: str, parameters: Mapping[str, Any]) -> ForeignMetric:
        """Return the metric of a file or module; its code is read but not run.

        Raises
        ------
        InputError
            If the file does not exist or is not Python.
        UnknownNameError
            If the module or function does not exist.
        UsageError
            If the function does not take one of the parameters, or an option of arena is invalid.
        """
        return self.remake(rest, parameters, None)

    def remake(self, rest: str, parameters: Mapping[str, Any], text: str | None) -> ForeignMetric:
        """Return the metric with the stored code ``text``, even if the file has changed since."""
        defaults = {**_COMMON, **self.kind.options}
        options = {**defaults, **{key: parameters[key] for key in defaults if key in parameters}}
        passed_on = {key: value for key, value in parameters.items() if key not in defaults}
        name = self._name(rest)
        options = _check_options(name, options, self.kind)
        home = self.home or Path.cwd()
        folder = Path(options["folder"]).expanduser() if options["folder"] else None
        if self.kind.find is not None:
            source = self.kind.find(home / Path(rest).expanduser(), options, text)
        else:
            source = _source(self.kind, rest, home=home, folder=folder, text=text)
        info = inspect_source(source) if self.kind.find is None else _OF_NO_FUNCTION
        kind, other = self.kind, None
        if not info.defines and kind.variant is not None:
            other = kind.variant(source)
        if other is not None:
            kind, source, info = other
        if not info.defines:
            raise UnknownNameError(f"{source.shown} has no function {source.function!r}.")
        _check_parameters(name, passed_on, info=info, n_given=kind.n_given, options=defaults)
        greater, note = _direction(name, options, info=info, kind=kind, source=source)
        counts = kind is PLAIN and source.function == CASE_STATISTICS
        combine = replace(source, function=COMBINE)
        if counts and not inspect_source(combine).defines:
            raise UnknownNameError(
                f"{source.shown} has no function {COMBINE!r}, which makes a score of the sums of "
                f"what {CASE_STATISTICS} returns."
            )
        return (CountedMetric if counts else ForeignMetric)(
            Request(
                kind=kind,
                name=name,
                source=source,
                parameters=passed_on,
                options=options,
                greater_is_better=greater,
                note=note,
                time_limit=float(options["time_limit"]),
                memory_limit=options["memory_limit"] or _half_of_the_memory(),
                network=options["network"],
                takes_weights="sample_weight" in (info.parameters or ("sample_weight",)),
            )
        )

    def _name(self, rest: str) -> str:
        place, function = _parts(self.kind, rest)
        is_path = place.endswith((".py", NOTEBOOK)) or self.kind.find is not None
        place = Path(place).name if is_path else place
        parts = (self.prefix, place, "" if self.kind.function else function)
        return ":".join(part for part in parts if part)

    def settle(self, rest: str, parameters: Mapping[str, Any]) -> str:
        """Return a specification that does not depend on the current folder.

        Paths inside the home of the family become relative to it, all others absolute. The code
        is imported once, in a worker process.

        Raises
        ------
        MetricError
            If the code cannot be imported.
        """
        metric = replace(self, home=None).make(rest, parameters)
        source = metric.request.source
        _try_import(metric)
        if self.kind.find is not None:
            settled = self._from_home(Path(rest).expanduser())
        elif source.path is not None and not source.module:
            place = self._from_home(source.path)
            settled = place if self.kind.function else f"{place}:{source.function}"
            if parameters.get("folder"):
                parameters = {**parameters, "folder": self._from_home(source.roots[0])}
        else:
            settled = rest
            if source.path is not None and source.path.is_relative_to(source.folder):
                parameters = {**parameters, "folder": self._from_home(source.folder)}
        return str(Specification(":".join(filter(None, (self.prefix, settled))), parameters))

    def _from_home(self, path: Path) -> str:
        """Return a path relative to the home if it is inside it, else the absolute path."""
        if self.home is not None and path.resolve().is_relative_to(self.home.resolve()):
            return path.resolve().relative_to(self.home.resolve()).as_posix()
        return str(path.absolute())


def _parts(kind: Kind, rest: str) -> tuple[str, str]:
    """Return the file or module and the function."""
    if kind.function:
        return rest, kind.function
    place, _, function = rest.rpartition(":")
    return place, function


def _source(kind: Kind, rest: str, home: Path, folder: Path | None, text: str | None) -> Source:
    """Return the source of a file relative to the home, or of a module in a folder."""
    place, function = _parts(kind, rest)
    if not place or not function:
        raise UsageError(f"{kind.prefix}:{rest} is not of the form {kind.form}.".lstrip(":"))
    if kind.function or place.endswith((".py", NOTEBOOK)):
        root = None if folder is None else (home / folder).absolute()
        return find_file(home / Path(place).expanduser(), function, text, root)
    return find_module(place, function, (home / (folder or "")).absolute(), text)


def _check_options(name: str, options: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return arena's options after validation."""
    for limit, unit in (("time_limit", "seconds"), ("memory_limit", "megabytes")):
        value = options[limit]
        if value is None and limit == "memory_limit":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(f"The {limit} of {name} must be a number of {unit} above 0.")
    if options["lower_is_better"] not in (None, True, False):
        raise UsageError(f"lower_is_better of {name} must be True or False.")
    if options["network"] not in (True, False):
        raise UsageError(f"network of {name} must be True or False.")
    if options["rows"] not in ("one", *(["any"] if kind.row_sets else [])):
        raise UsageError(f"rows of {name} must be {'one or any' if kind.row_sets else 'one'}.")
    form = options.get("format", "")
    if form and form not in kind.formats:
        formats = ", ".join(kind.formats)
        raise UsageError(f"{name} has no format={form}; it is one of {formats}.")
    prediction = options.get("prediction", "")
    if prediction and prediction not in _PREDICTIONS:
        kinds = ", ".join(_PREDICTIONS)
        raise UsageError(f"{name} has no prediction={prediction}; it is one of {kinds}.")
    return {**options, "prediction": _PREDICTIONS.get(prediction, "")}


def _half_of_the_memory() -> float | None:
    """Return half of the physical memory in megabytes; None if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**21
    except (AttributeError, OSError, ValueError):
        return None


def _check_parameters(
    name: str,
    parameters: Mapping[str, Any],
    info: StaticInfo,
    n_given: int,
    options: Mapping[str, Any],
) -> None:
    if info.parameters is None:
        return
    accepted = [
        parameter for parameter in info.parameters[n_given:] if parameter != "sample_weight"
    ]
    for parameter in parameters:
        if parameter not in accepted:
            near = difflib.get_close_matches(parameter, [*accepted, *options], n=1)
            guess = (
                f"Did you mean {near[0]}?" if near else f"Its parameters: {', '.join(accepted)}."
            )
            hint = guess if accepted or near else "It has no parameters."
            raise UsageError(f"The metric {name} has no parameter {parameter!r}. {hint}")


def _direction(
    name: str, options: Mapping[str, Any], info: StaticInfo, kind: Kind, source: Source
) -> tuple[bool, str]:
    """Return whether larger is better, and a sentence that says where this comes from."""
    lower = options["lower_is_better"]
    if lower is not None:
        return not lower, f"{name}: {'smaller' if lower else 'larger'} is better, as requested."
    greater, origin = info.greater_is_better, "its greater_is_better"
    if greater is None and kind.direction is not None:
        greater, origin = kind.direction(source, options)
    if greater is None:
        why = f" ({origin})" if origin and kind.direction is not None else ""
        return True, f"{name}: assuming larger is better{why}; pass --lower-is-better otherwise."
    better = "larger" if greater else "smaller"
    return greater, f"{name}: {better} is better, as {origin} says."


def _try_import(metric: ForeignMetric) -> None:
    from arena.utils.processes import Confinement, Ended, run_limited

    source, traits = metric.request.source, metric.traits
    (result,) = run_limited(
        _imports,
        [(source, metric.request.kind)],
        workers=1,
        seconds=_TIME_LIMIT,
        purpose=str(source.folder),
        confinement=Confinement(traits.memory_limit, traits.network, traits.folder),
    )
    if isinstance(result, Ended):
        raise UsageError(f"{source.shown} cannot be imported: {result}.")


def _imports(source: Source, kind: Kind) -> None:
    function_of(kind, source)


FAMILIES: tuple[ForeignFamily, ...] = tuple(
    ForeignFamily(kind) for kind in (KAGGLE, HUGGING_FACE, EVALAI, CODABENCH, MLEBENCH, PLAIN)
)
"""One family for each kind."""


def family_of(prefix: str) -> ForeignFamily:
    """Return the family of a prefix, such as ``kaggle``."""
    return next(family for family in FAMILIES if family.prefix == prefix)
