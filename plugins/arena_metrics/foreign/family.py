"""The families ``kaggle:``, ``hf:``, ``evalai:``, ``mlebench:`` and ``module:function``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.errors import UnknownNameError, UsageError
from arena.specification import Specification
from arena.types import PredictionKind
from arena_metrics.foreign.evalai import EVALAI
from arena_metrics.foreign.hugging_face import HUGGING_FACE
from arena_metrics.foreign.kaggle import KAGGLE
from arena_metrics.foreign.kinds import Asked, Kind
from arena_metrics.foreign.metric import ForeignMetric
from arena_metrics.foreign.mlebench import MLEBENCH
from arena_metrics.foreign.plain import PLAIN
from arena_metrics.foreign.source import Facts, Source, facts_of, find_file, find_module, load

__all__ = ["FAMILIES", "ForeignFamily"]

_TIME_LIMIT = 60.0
_COMMON: Mapping[str, Any] = {"lower_is_better": None, "time_limit": _TIME_LIMIT}
"""Parameters that arena takes of every kind, and their defaults."""
_PREDICTIONS = {
    kind.value.replace(" ", "_"): kind.value
    for kind in PredictionKind
    if kind is not PredictionKind.TEXT
}


@dataclass(frozen=True, slots=True)
class ForeignFamily:
    """The metrics of one kind, each made from a file or a module."""

    kind: Kind
    home: Path | None = None
    """The folder that files are relative to; None: the current one."""

    @property
    def prefix(self) -> str:
        """What stands before the colon; empty for the kind that has no prefix."""
        return self.kind.prefix

    @property
    def form(self) -> str:
        """How one is asked for."""
        return self.kind.form

    @property
    def description(self) -> str:
        """What the family runs, in a line."""
        return self.kind.description

    def known(self) -> Sequence[str]:
        """Return nothing: the organiser's files cannot be listed."""
        return ()

    def within(self, folder: Path) -> ForeignFamily:
        """Return the same family for files that are relative to a folder."""
        return replace(self, home=folder)

    def make(self, rest: str, parameters: Mapping[str, Any]) -> ForeignMetric:
        """Return the metric of a file or module; its code is read, and not run.

        Raises
        ------
        InputError
            If there is no such file, or it is not Python.
        UnknownNameError
            If there is no such module or function.
        UsageError
            If the function does not take one of the parameters, or one for arena is wrong.
        """
        return self.remake(rest, parameters, None)

    def remake(self, rest: str, parameters: Mapping[str, Any], text: str | None) -> ForeignMetric:
        """Return the metric as its code was when it was kept, whatever became of the file."""
        mine = {**_COMMON, **self.kind.own}
        own = {**mine, **{key: parameters[key] for key in mine if key in parameters}}
        theirs = {key: value for key, value in parameters.items() if key not in mine}
        name = self._name(rest)
        own = _checked(name, own)
        home = self.home or Path.cwd()
        source = _source(self.kind, rest, home, home / (own.get("folder") or ""), text)
        facts = facts_of(source)
        if not facts.defines:
            raise UnknownNameError(f"{source.shown} has no function {source.function!r}.")
        _check_parameters(name, theirs, facts, self.kind.given, mine)
        greater, note = _direction(name, own["lower_is_better"], facts)
        return ForeignMetric(
            Asked(
                kind=self.kind,
                name=name,
                source=source,
                parameters=theirs,
                own=own,
                greater_is_better=greater,
                note=note,
                time_limit=float(own["time_limit"]),
                takes_weights="sample_weight" in (facts.parameters or ("sample_weight",)),
            )
        )

    def _name(self, rest: str) -> str:
        place, function = _parts(self.kind, rest)
        place = Path(place).name if place.endswith(".py") else place
        parts = (self.prefix, place, "" if self.kind.function else function)
        return ":".join(part for part in parts if part)

    def settle(self, rest: str, parameters: Mapping[str, Any]) -> str:
        """Return the specification without the current folder; the code is run once.

        What lies in the home of the family is named from there on, anything else absolutely.

        Raises
        ------
        MetricError
            If the code cannot be imported.
        """
        source = replace(self, home=None).make(rest, parameters).asked.source
        _try_import(self.kind, source)
        if source.path is not None and not source.module:
            place = self._from_home(source.path)
            settled = place if self.kind.function else f"{place}:{source.function}"
        else:
            settled = rest
            if source.path is not None and source.path.is_relative_to(source.folder):
                parameters = {**parameters, "folder": self._from_home(source.folder)}
        return str(Specification(":".join(filter(None, (self.prefix, settled))), parameters))

    def _from_home(self, path: Path) -> str:
        """Return a path from the home on if it lies there, and absolutely if not."""
        if self.home is not None and path.resolve().is_relative_to(self.home.resolve()):
            return path.resolve().relative_to(self.home.resolve()).as_posix()
        return str(path.absolute())


def _parts(kind: Kind, rest: str) -> tuple[str, str]:
    """Return the file or module, and the function."""
    if kind.function:
        return rest, kind.function
    place, _, function = rest.rpartition(":")
    return place, function


def _source(kind: Kind, rest: str, home: Path, folder: Path, text: str | None) -> Source:
    """Return the source of a file, from the home on, or of a module in a folder."""
    place, function = _parts(kind, rest)
    if not place or not function:
        raise UsageError(f"{kind.prefix}:{rest} is not of the form {kind.form}.".lstrip(":"))
    if kind.function or place.endswith(".py"):
        return find_file(home / Path(place).expanduser(), function, text)
    return find_module(place, function, folder.absolute(), text)


def _checked(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters for arena, checked."""
    limit, lower = own["time_limit"], own["lower_is_better"]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        raise UsageError(f"The time_limit of {name} must be a number of seconds above 0.")
    if lower not in (None, True, False):
        raise UsageError(f"lower_is_better of {name} must be True or False.")
    prediction = own.get("prediction", "")
    if prediction and prediction not in _PREDICTIONS:
        kinds = ", ".join(_PREDICTIONS)
        raise UsageError(f"{name} has no prediction={prediction}; it is one of {kinds}.")
    return {**own, "prediction": _PREDICTIONS.get(prediction, "")}


def _check_parameters(
    name: str, theirs: Mapping[str, Any], facts: Facts, given: int, mine: Mapping[str, Any]
) -> None:
    if facts.parameters is None:
        return
    taken = [one for one in facts.parameters[given:] if one != "sample_weight"]
    for one in theirs:
        if one not in taken:
            near = difflib.get_close_matches(one, [*taken, *mine], n=1)
            guess = f"Did you mean {near[0]}?" if near else f"It takes: {', '.join(taken)}."
            takes = guess if taken or near else "It takes none."
            raise UsageError(f"The metric {name} has no parameter {one!r}. {takes}")


def _direction(name: str, lower: bool | None, facts: Facts) -> tuple[bool, str]:
    """Return whether a greater score is better, and a sentence on why."""
    if lower is not None:
        greater, why = not lower, "as was asked for"
    elif facts.greater_is_better is not None:
        greater, why = facts.greater_is_better, "as its greater_is_better says"
    else:
        greater, why = True, "since nothing else is said; --lower-is-better would say so"
    return greater, f"{name}: a {'greater' if greater else 'smaller'} score is better, {why}."


def _try_import(kind: Kind, source: Source) -> None:
    from arena.worker_processes import Ended, run_limited

    (result,) = run_limited(
        _imports, [(source, kind)], workers=1, seconds=_TIME_LIMIT, purpose=str(source.folder)
    )
    if isinstance(result, Ended):
        raise UsageError(f"{source.shown} cannot be imported: {result}.")


def _imports(source: Source, kind: Kind) -> None:
    load(source, kind.stand_ins)


FAMILIES: tuple[ForeignFamily, ...] = tuple(
    ForeignFamily(kind) for kind in (KAGGLE, HUGGING_FACE, EVALAI, MLEBENCH, PLAIN)
)
"""One family for each kind."""
