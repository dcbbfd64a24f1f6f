"""Errors of calls from Python name arguments, not the options of commands."""

from __future__ import annotations

from typing import get_type_hints

import pandas as pd
import pytest

import arena
from arena.errors import UsageError
from arena.utils.python_calls import in_python

MESSAGES = {
    "Name one with --value.": "Name one with columns=CaseColumns(value=…).",
    "such as --no-header case,value;": 'such as columns=CaseColumns(no_header=["case", "value"]);',
    "Name it with --baseline whose values": "Name it with baseline=… whose values",
    "(--missing baseline).": '(missing="baseline").',
    "--missing 1 counts them": "missing=1 counts them",
    "pass --lower-is-better otherwise.": "pass greater_is_better=False otherwise.",
    "--resamples and --level": "resamples=… and level=…",
    "--json prints all; --verbose": "--json prints all; --verbose",
}


OF_SEVERAL = {
    "--kind soft does not use --metric;": 'kind="soft" does not use metrics=…;',
    "Name them with --column ('a').": "Name them with columns=… ('a').",
    "--positive selects among the columns": "positive=… selects among the columns",
    "--positive takes column names": "positive=… takes column names",
}


def test_an_option_that_is_repeated_is_an_argument_of_several() -> None:
    for message, expected in OF_SEVERAL.items():
        assert in_python(message, get_type_hints(arena.bayes_error)) == expected


@pytest.mark.parametrize("message", MESSAGES)
def test_options_are_written_as_arguments(message: str) -> None:
    assert in_python(message, get_type_hints(arena.rank)) == MESSAGES[message]


def test_a_call_from_python_is_answered_in_python() -> None:
    table = pd.DataFrame({"algorithm": ["a", "b"], "case": [1, 1], "p": [1, 2], "q": [3, 4]})
    with pytest.raises(UsageError, match=r"Name one with columns=CaseColumns\(value=…\)\."):
        arena.rank(table)
