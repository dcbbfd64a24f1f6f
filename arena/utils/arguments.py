"""Arguments of public functions that are one value or several."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def several(value: Any) -> tuple[Any, ...]:
    """Return one value as a tuple of it, and several as a tuple of them.

    A text is one value and not its letters, and a path is one as well.

    >>> several("roc_auc"), several(["f1", "mcc"]), several(0.3), several(())
    (('roc_auc',), ('f1', 'mcc'), (0.3,), ())
    """
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)
