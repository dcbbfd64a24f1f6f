"""A reimplementation of Kaggle's module ``kaggle_metric_utilities``.

It is used when a metric imports ``kaggle_metric_utilities`` and the module is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype


class ParticipantVisibleError(Exception):
    """An error whose text is shown to the team."""


class HostVisibleError(Exception):
    """An error whose text is shown to the organiser only."""


def treat_as_participant_error(error_message: str, solution: pd.DataFrame | Any) -> bool:
    """Return whether an error's text cannot reveal anything about the solution.

    This holds if every column of the solution is numeric and the text contains no digit and, where
    the solution contains booleans, neither "true" nor "false".

    >>> treat_as_participant_error("all rows are equal", np.array([1.0, 2.0]))
    True
    >>> treat_as_participant_error("label 3 is missing", np.array([1.0, 2.0]))
    False
    """
    dtypes = list(solution.dtypes) if isinstance(solution, pd.DataFrame) else [solution.dtype]
    if not all(is_numeric_dtype(dtype) for dtype in dtypes):
        return False
    if any(character.isnumeric() for character in error_message):
        return False
    truths = any(is_bool_dtype(dtype) for dtype in dtypes)
    return not (truths and any(word in error_message.lower() for word in ("true", "false")))


def safe_call_score(
    metric_function: Callable[..., Any], solution: Any, submission: Any, **metric_func_kwargs: Any
) -> Any:
    """Call a metric; convert an error that is safe to show to a :class:`ParticipantVisibleError`.

    Raises
    ------
    ParticipantVisibleError
        If the metric raises it, or an error that is safe to show.
    HostVisibleError
        If the metric raises it.
    """
    try:
        return metric_function(solution, submission, **metric_func_kwargs)
    except Exception as error:
        kinds = {kind.__name__: kind for kind in (ParticipantVisibleError, HostVisibleError)}
        error_kind = kinds.get(type(error).__name__)
        if error_kind is None and treat_as_participant_error(str(error), solution):
            error_kind = ParticipantVisibleError
        if error_kind is None:
            raise
        raise error_kind(str(error)) from error


def verify_valid_probabilities(df: pd.DataFrame, df_name: str) -> None:
    """Check that each row holds probabilities that sum to 1.

    Raises
    ------
    ParticipantVisibleError
        If a value is not a number or outside [0, 1], or a row does not sum to 1.
    """
    rules: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: all(is_numeric_dtype(dtype) for dtype in df.dtypes), "must be numeric"),
        (lambda: not (df.to_numpy() < 0).any(), "must be at least zero"),
        (lambda: not (df.to_numpy() > 1).any(), "must be no greater than one"),
        (lambda: np.allclose(df.sum(axis=1), 1), "must add up to one within each row"),
    )
    for holds, requirement in rules:
        if not holds():
            raise ParticipantVisibleError(f"All target values in {df_name} {requirement}")
