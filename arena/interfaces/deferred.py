"""Items of a plugin that are imported when they are first used."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """Something that a plugin provides, imported when it is first used.

    A command uses one metric of many: importing the others would take a tenth of its time.

    Examples
    --------
    >>> Deferred("ordered", "collections:OrderedDict").load()
    OrderedDict()
    """

    name: str
    """Its name, or the prefix of a family."""
    place: str
    """``module:attribute``, of a class or function that is called."""
    arguments: tuple[Any, ...] = ()
    """Its arguments."""
    is_family: bool = False
    """Whether it is a family of metrics."""

    def load(self) -> Any:
        """Import the module and return the object. Errors that the module raises propagate."""
        module, _, attribute = self.place.partition(":")
        return getattr(importlib.import_module(module), attribute)(*self.arguments)
