"""A mechanism that fails is named and placed, and not quoted: it may have seen private things."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from arena.errors import PluginError
from arena.hookspecs import hookimpl
from arena.interfaces import Evaluation
from arena.plugin.manager import PluginManager
from arena.types import Release
from scenario import Scenario

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Fails:
    """Raises what it was handed."""

    name: str = "fails"

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        raise ValueError(f"secret score {evaluation.score}")


class Plugin:
    """Provides it."""

    @hookimpl
    def provide_mechanisms(self) -> list[Fails]:
        return [Fails()]


def test_what_a_mechanism_raises_is_placed_and_not_quoted(scenario: Scenario) -> None:
    scenario.manager = PluginManager()
    scenario.manager.register(Plugin(), "mine")
    with scenario.create(mechanism="fails") as competition:
        with pytest.raises(PluginError) as raised:
            competition.submit(scenario.file(1, 0.8), "a")
        assert competition.submissions() == []
    message = str(raised.value)
    assert (
        "'mine' failed while releasing a score: ValueError at test_failing_mechanism.py" in message
    )
    assert "secret" not in message
    assert "secret score 0." in "".join(traceback.format_exception(raised.value))  # --verbose
