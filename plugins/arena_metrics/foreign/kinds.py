"""What a kind of foreign metric is, and what was asked of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

import numpy.typing as npt

from arena.types import PredictionKind, RowContext
from arena_metrics.foreign.source import Source

__all__ = ["Asked", "Call", "Kind"]

Call: TypeAlias = Callable[[Callable[..., Any], npt.NDArray[Any]], Any]
"""Calls the function for a submission with ``(n,)`` counts of its rows; it can be pickled."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of foreign metric is asked for, found, called and understood."""

    prefix: str
    form: str
    """How it is asked for, such as ``kaggle:FILE.py``."""
    description: str
    """What it runs, in a line."""
    function: str
    """The name of the function; empty where it is asked for too, as ``module:function``."""
    given: int
    """How many parameters of the function are given by arena, first of all."""
    prepare: Callable[[Asked, RowContext, npt.NDArray[Any], npt.NDArray[Any]], Call]
    """Makes the call for truth and prediction of the rows of a context."""
    shown_error: str = ""
    """The class of exceptions whose text is for participants."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that arena takes instead of the function, and their defaults."""
    prediction: PredictionKind = PredictionKind.TEXT
    stand_ins: Mapping[str, Callable[[], ModuleType]] = field(default_factory=dict)
    """Modules that the code may import, where there is none, and what makes them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric as it was asked for, found and checked."""

    kind: Kind
    name: str
    source: Source
    parameters: Mapping[str, Any]
    """For the function."""
    own: Mapping[str, Any]
    """For arena."""
    greater_is_better: bool
    note: str
    """Which direction is better, and why that is thought."""
    time_limit: float
    """Seconds that one call may take."""
    takes_weights: bool = False
    """Whether the function has a parameter ``sample_weight``."""
