"""List the simulated teams and attackers, or describe one."""

from __future__ import annotations

from arena.cli.items import items_app

app = items_app(
    "competitors",
    says="List the simulated teams and attackers, or show one with its parameters.",
    name_help="A competitor, such as lightgbm-climber or block-flip(rows=16).",
    column="what it does",
    suite="check_competitor",
)
