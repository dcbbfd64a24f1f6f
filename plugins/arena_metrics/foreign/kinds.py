"""The description of a kind of foreign metric, and of one requested metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy.typing as npt

from arena.types import PredictionKind, RowContext
from arena_metrics.foreign.source import Source, StaticInfo

WHOLE_FILES = "raw"
"""The value of ``format`` with which the metric reads solution and submission itself."""


class Call(Protocol):
    """Calls the function on a submission with ``(n,)`` row counts; it can be pickled."""

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        """Return what the function returns."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How the metrics of one platform are specified, found and called."""

    prefix: str
    form: str
    """The form of a specification, such as ``kaggle:FILE.py``."""
    description: str
    """The metrics that it runs, in one line."""
    function: str
    """The name of the function; empty if the specification names it (``module:function``)."""
    n_given: int
    """How many leading parameters of the function arena passes."""
    prepare: Callable[[Request, RowContext, npt.NDArray[Any], npt.NDArray[Any]], Call]
    """Builds the call for truth and prediction of the rows of a context."""
    shown_errors: tuple[str, ...] = ("ParticipantVisibleError",)
    """The names of the exception classes whose text is shown to participants."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that arena handles instead of the function, and their defaults."""
    formats: tuple[str, ...] = ()
    """The values of the option ``format``, if there is one."""
    row_sets: bool = False
    """Whether its frames may have any number of rows per id."""
    prediction: PredictionKind = PredictionKind.TEXT
    stand_ins: Mapping[str, Callable[[], ModuleType]] = field(default_factory=dict)
    """Modules that the code may import; each is built if it cannot be imported."""
    replaces: bool = False
    """Whether the stand-ins also replace modules that are installed."""
    direction: Callable[[Source, Mapping[str, Any]], tuple[bool | None, str]] | None = None
    """Finds out from the files beside the code and the options whether larger is better, and says
    where; None if unknown."""
    find: Callable[[Path, Mapping[str, Any], str | None], Source] | None = None
    """Finds the code of a kind that is not a Python file with a function; its last argument is the
    stored code, if there is any."""
    variant: Callable[[Source], tuple[Kind, Source, StaticInfo] | None] | None = None
    """How code without the function is called instead; None if it is not."""
    load: Callable[[Source], Callable[..., Any]] | None = None
    """Returns the function of that code, in the process that calls it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One foreign metric: its source and its validated parameters."""

    kind: Kind
    name: str
    source: Source
    parameters: Mapping[str, Any]
    """Passed to the function."""
    options: Mapping[str, Any]
    """Handled by arena."""
    greater_is_better: bool
    note: str
    """Which direction is better, and where this comes from."""
    time_limit: float
    """Seconds that one call may take."""
    memory_limit: float | None = None
    """Megabytes that one process may allocate."""
    network: bool = False
    """Whether a call may use the network."""
    takes_weights: bool = False
    """Whether the function has a parameter ``sample_weight``."""


def module_of(name: str, **contents: Any) -> ModuleType:
    """Return a module with these contents, for :attr:`Kind.stand_ins`."""
    module = ModuleType(name)
    module.__dict__.update(contents)
    return module
