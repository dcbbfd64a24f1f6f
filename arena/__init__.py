"""arena runs a prediction competition on the organiser's own machine.

The names below are imported when they are first used, so that ``import arena`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.competition import Competition
    from arena.competition_view import CompetitionView
    from arena.config import Settings
    from arena.hookspecs import hookimpl
    from arena.plugin_manager import PluginManager
    from arena.private_board import BoardSettings
    from arena.score_result import ScoreResult
    from arena.score_settings import ScoreSettings, SolutionColumns
    from arena.scoring import score, validate

__all__ = [
    "BoardSettings",
    "Competition",
    "CompetitionView",
    "PluginManager",
    "ScoreResult",
    "ScoreSettings",
    "Settings",
    "SolutionColumns",
    "hookimpl",
    "score",
    "validate",
]

_HOMES = {
    "BoardSettings": "arena.private_board",
    "Competition": "arena.competition",
    "CompetitionView": "arena.competition_view",
    "PluginManager": "arena.plugin_manager",
    "ScoreResult": "arena.score_result",
    "ScoreSettings": "arena.score_settings",
    "Settings": "arena.config",
    "SolutionColumns": "arena.score_settings",
    "hookimpl": "arena.hookspecs",
    "score": "arena.scoring",
    "validate": "arena.scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'arena' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
