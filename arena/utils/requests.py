"""Requests: the choices of a job as one object, which a command or a function makes.

A field of a request is an option of the command and a keyword of the function. Its annotation
states the help and the range of its value, and :func:`check_choices` checks them in one place.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from arena.errors import UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """What a command says about a field of a request, and the range of its values."""

    help: str
    least: float | None = None
    """The smallest value; None: no limit."""
    most: float | None = None
    """The largest value; None: no limit."""
    joins: bool = False
    """Whether a single value on the command line is compared with the default ones."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Where the work of a job is done."""

    engine: str = "local"
    """``local``, ``dask`` or ``ray``."""
    scheduler: str | None = None
    """The address of the cluster."""
    workers: int = 0
    """0: as many as the engine has."""

    def open(self) -> Any:
        """Connect to the engine; see :func:`arena.utils.engines.open_engine`."""
        from arena.utils.engines import open_engine

        return open_engine(self.engine, self.scheduler, self.workers)


HERE = EngineChoice()
"""This machine, all of its processors."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request."""

    name: str
    kind: Any
    """``bool``, ``int``, ``float``, ``str``, ``Path``, a record, or ``tuple`` of one of them."""
    several: bool
    """Whether it is a tuple of such values."""
    optional: bool
    """Whether None is allowed."""
    choice: Choice | None
    """None: the field is a record of its own, such as the columns of a solution."""
    default: Any
    """:data:`dataclasses.MISSING`: the field is required."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is dataclasses.MISSING


@cache
def fields_of(request: type) -> Mapping[str, Field]:
    """Return the fields of a request by name, in order.

    >>> @dataclass
    ... class Rehearsal:
    ...     days: Annotated[int, Choice("Days.", least=1)] = 30
    >>> fields_of(Rehearsal)["days"].kind, fields_of(Rehearsal)["days"].choice.least
    (<class 'int'>, 1)
    """
    hints = get_type_hints(request, include_extras=True)
    fields = {}
    for field in dataclasses.fields(request):
        kind, choice = hints[field.name], None
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            choice = next((note for note in notes if isinstance(note, Choice)), None)
        parts = [part for part in get_args(kind) if part is not type(None)]
        optional = type(None) in get_args(kind)
        kind = parts[0] if optional else kind
        several = get_origin(kind) is tuple
        kind = get_args(kind)[0] if several else kind
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        fields[field.name] = Field(
            name=field.name,
            kind=kind,
            several=several,
            optional=optional,
            choice=choice,
            default=default,
        )
    return fields


def check_choices(request: Any) -> None:
    """Check that the numbers of a request are whole where they count, and within their ranges.

    Raises
    ------
    UsageError
        If one is not; the message names the field and the value.

    Examples
    --------
    >>> @dataclass
    ... class Rehearsal:
    ...     days: Annotated[int, Choice("Days.", least=1)] = 30
    >>> check_choices(Rehearsal(days=0))
    Traceback (most recent call last):
    arena.errors.UsageError: days takes whole numbers from 1, not 0.
    """
    for field in fields_of(request.__class__).values():
        choice = getattr(request, field.name)
        if field.choice is None or field.kind not in (int, float) or choice is None:
            continue
        for value in choice if field.several else (choice,):
            _check(field, field.choice, value)


def _check(field: Field, choice: Choice, value: Any) -> None:
    whole = field.kind is int
    least = -math.inf if choice.least is None else choice.least
    most = math.inf if choice.most is None else choice.most
    try:
        right = (isinstance(value, Integral) or not whole) and least <= value <= most
    except TypeError:
        right = False
    if right:
        return
    text = "whole numbers" if whole else "numbers"
    text += "" if choice.least is None else f" from {choice.least:g}"
    text += "" if choice.most is None else f" to {choice.most:g}"
    raise UsageError(f"{field.name} takes {text}, not {value}.")


def refuse_unused(request: type, other: type, keywords: Mapping[str, Any]) -> None:
    """Refuse what a job does not use and another one does.

    Parameters
    ----------
    request, other
        The kinds of the requests of both jobs; ``job`` says what a job is.
    keywords
        Field of the other one -> value.

    Raises
    ------
    UsageError
        If a value is not the default.
    """
    for name, value in keywords.items():
        if value != fields_of(other)[name].default:
            raise UsageError(f"{request.job} does not use {name}: omit it.")  # type: ignore[attr-defined]
