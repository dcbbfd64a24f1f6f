"""List the mechanisms of the public board, or describe one."""

from __future__ import annotations

from arena.cli.completion import complete_mechanism
from arena.cli.items import items_app

app = items_app(
    "mechanisms",
    says="List the mechanisms that can release public scores, or show one with its parameters.",
    name_help="A mechanism, such as ladder-free or ladder(eta=0.01).",
    column="released scores",
    suite="check_mechanism",
    autocompletion=complete_mechanism,
)
