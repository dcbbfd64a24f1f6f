"""What a caller or an author of a plugin gets who says nothing: every default, kept as a whole."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from executed_again import executed_again
from kept import check_kept

PACKAGES = (
    "arena.interfaces", "arena.competition", "arena.programs", "arena.public_board", "arena.runner",
    "arena.server",
)  # fmt: skip
OTHERS = (
    "arena.client", "arena.requests", "arena.simulation.competition.play", "arena.simulation.data",
    "arena.simulation.past.teams", "arena.simulation.plan.organiser",
    "arena.simulation.ranks.coverage", "arena.simulation.requests", "arena.types",
)  # fmt: skip
"""Modules of other packages whose defaults others rely on."""


def modules() -> Iterator[str]:
    """Yield the modules whose defaults are kept."""
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for part in pkgutil.walk_packages(path, f"{package}."):
            if not part.ispkg:
                yield part.name
    yield from OTHERS


def written(default: Any) -> str:
    return "a function" if inspect.isfunction(default) else repr(default)


def of_signature(name: str, function: Any) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty:
            yield f"{name}({parameter.name}) = {written(parameter.default)}"


def of_class(name: str, kind: type) -> Iterator[str]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    for field in fields:
        if field.default is not dataclasses.MISSING:
            yield f"{name}.{field.name} = {written(field.default)}"
        elif field.default_factory is not dataclasses.MISSING:
            yield f"{name}.{field.name} = {field.default_factory.__name__}()"
    known = {field.name for field in fields}
    for member, value in vars(kind).items():
        if member in known or (member[0] == "_" and member != "__init__"):
            continue
        function = getattr(value, "__func__", value)  # of a class or static method
        if inspect.isfunction(function) and function.__module__.startswith("arena"):
            if not (fields and member == "__init__"):
                yield from of_signature(f"{name}.{member}", function)
        elif member == "tables":  # a statement of SQL
            continue
        elif isinstance(value, bool | int | float | str | tuple | None) and member[0] != "_":
            yield f"{name}.{member} = {value!r}"


def of_module(module: ModuleType) -> Iterator[str]:
    targets = re.findall(r"^(\w[\w, ]*)(?:: [^=\n]+)? = ", inspect.getsource(module), re.MULTILINE)
    assigned = set(", ".join(targets).split(", "))
    for name, value in vars(module).items():
        if name[0] == "_" or getattr(value, "__module__", module.__name__) != module.__name__:
            continue
        if inspect.isclass(value):
            yield from of_class(name, value)
        elif inspect.isfunction(value):
            yield from of_signature(name, value)
        elif (
            isinstance(value, int | float | str | tuple)
            and name in assigned
            and " at 0x" not in repr(value)  # a table of functions
        ):
            yield f"{name} = {value!r}"


def test_defaults_are_kept() -> None:
    lines = []
    for name in modules():
        module = executed_again(name)
        lines += [f"{name}.{line}" for line in of_module(module)]
    check_kept("defaults.txt", "\n".join(lines) + "\n")
