"""Attacks as an organiser would run them, from the installed plugins."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from arena.interfaces import Competitor, Mechanism, Metric
from arena.plugin.manager import PluginManager
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.rows import synthetic_rows

LADDER_DATA = Path(__file__).parents[3] / "shared" / "data" / "ladder"


@lru_cache
def manager() -> PluginManager:
    return PluginManager()


def metric_named(name: str) -> Metric:
    return manager().metrics.resolve(name)


def mechanism_named(name: str) -> Mechanism:
    return manager().mechanisms.resolve(name)


def competitor_named(name: str) -> Competitor:
    return manager().competitors.resolve(name)


def run_attack(
    attack: str,
    mechanism: str,
    *,
    metric: str = "accuracy",
    rows: int = 4000,
    total_rows: int | None = None,
    classes: int = 2,
    submissions: int = 400,
    repeats: int = 5,
    **settings: Any,
) -> Curve:
    chosen = metric_named(metric)
    campaign = Campaign(
        lambda rng: synthetic_rows(chosen, rows, total_rows or rows, classes, rng),
        submissions,
        repeats,
        **settings,
    )
    (curve,) = campaign.run(
        {attack: competitor_named(attack)}, {mechanism: mechanism_named(mechanism)}
    )
    return curve
