"""Functions and objects in the place of others: they write each call with its arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


def recorded_function(lines: list[str], name: str, answer: Any = None) -> Callable[..., Any]:
    """Return a function that writes its call, and returns the answer or raises it."""

    def called(*positional: Any, **named: Any) -> Any:
        arguments = [*map(written, positional), *(f"{key}={written(named[key])}" for key in named)]
        lines.append(f"  {name}({', '.join(arguments)})")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return called


class RecordedObject:
    """An object whose methods write their calls. It is also a context manager."""

    def __init__(
        self, lines: list[str], attributes: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> None:
        self.__dict__ |= attributes
        self._lines, self._answers = lines, answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return recorded_function(self._lines, name, self._answers.get(name))

    def __enter__(self) -> RecordedObject:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.append("  it is closed")


def recorded_block(lines: list[str], name: str) -> Callable[..., Any]:
    """Return a context manager that writes its call and its end."""

    @contextlib.contextmanager
    def opening(*positional: Any, **named: Any) -> Iterator[bool]:
        recorded_function(lines, name)(*positional, **named)
        yield True
        lines.append(f"  {name} ends")

    return opening


def written(value: Any) -> str:
    """Return an argument as text: of an object its class, of a frozen dataclass its fields too."""
    if isinstance(value, Path | datetime):
        return str(value)
    if isinstance(value, str | int | float | None):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in value.items()) + "}"
    name = type(value).__name__
    if not (is_dataclass(value) and value.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        return name
    changed_fields = (
        f"{field.name}={written(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    )
    return f"{name}({', '.join(changed_fields)})"
