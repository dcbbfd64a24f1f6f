"""List the analyses of a finished board, or describe one."""

from __future__ import annotations

from arena.cli.items import items_app

app = items_app(
    "analyses",
    says="List the analyses that a finished board gets, or show one with its parameters.",
    name_help="An analysis, as listed.",
    column="what it finds",
    suite="check_analysis",
)
