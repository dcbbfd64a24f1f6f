"""The hooks of this package: hooks provide objects, and the objects compute."""

from arena.hookspecs import hookimpl
from arena_example.deciles import Deciles
from arena_example.lead import Lead, lead_sections
from arena_example.steps import Steps
from arena_example.within import Within


@hookimpl
def provide_metrics():
    return [Within()]


@hookimpl
def provide_mechanisms():
    return [Deciles(), Steps()]


@hookimpl
def provide_analyses():
    return [Lead()]


@hookimpl
def provide_report_sections(result):
    return lead_sections(result)
