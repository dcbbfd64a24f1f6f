"""List the metrics, or describe one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.completion import complete_metric
from arena.cli.console import console, print_document
from arena.cli.items import (
    checked_item,
    finish_checks,
    parameters_of,
    print_parameters,
    refuse_check_without_name,
)
from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    MetricFamily,
    MetricFamilyOfFiles,
    traits_of,
)
from arena.plugin.manager import PluginManager
from arena.types import SENT, PredictionKind
from arena.utils.docstrings import parameter_meanings, summary_of
from arena.utils.text import printable

app = typer.Typer(add_completion=False)

_CAPABILITIES = (
    ("row values", HasRowValues, "its rows are scored one by one: resampling is a matrix product"),
    ("influence values", HasInfluenceValues, "standard errors and paired tests come from its rows"),
    ("resample", HasResample, "it has its own fast resampling"),
)

_WIDTH_WITH_PLUGINS = 110


@app.command()
def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A metric, such as roc_auc or f1(average=macro).",
            autocompletion=complete_metric,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Test it, and report errors and missing parts.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """List the metrics, or show one: its direction, the content of a submission, its parameters.

    The families at the end of the list make metrics on demand, such as sklearn:jaccard_score.
    With --check, the exit code is 1 if the metric does not meet arena's requirements.
    """
    refuse_check_without_name("metric", name, check)
    manager = PluginManager()
    registry = manager.metrics
    if name is not None:
        documents = [_document(name, registry.resolve(name), registry.plugin_of(name))]
    else:
        documents = [_document(entry.name, entry.item, entry.plugin) for entry in registry]
    families = [
        {
            "prefix": family.name,
            "plugin": family.plugin,
            "known": list(family.item.known()),
            **_form(family.item),
        }
        for family in registry.families
    ]
    conformance = None
    if check and name is not None:
        from arena.testing import check_metric

        conformance = checked_item(check_metric, registry.resolve(name))
    if as_json:
        document = {"schema": "arena/metrics/1", "metrics": documents, "families": families}
        print_document(document | {"check": conformance.to_dict() if conformance else None})
    elif name is not None:
        _print_one(documents[0])
    else:
        _print_all(documents, families)
    finish_checks(conformance, as_json=as_json)


def _form(family: MetricFamily) -> dict[str, str]:
    if isinstance(family, MetricFamilyOfFiles):
        return {"form": family.form, "description": family.description}
    return {"form": f"{family.prefix}:NAME", "description": ""}


def _document(name: str, metric: Metric, plugin: str) -> dict[str, Any]:
    traits = traits_of(metric)
    return {
        "name": name,
        "plugin": plugin,
        "greater_is_better": metric.greater_is_better,
        "prediction": str(metric.prediction),
        "parameters": parameters_of(metric),
        "capabilities": [name for name, kind, _ in _CAPABILITIES if isinstance(metric, kind)],
        "needs_every_class": traits.needs_every_class,
        "stratify_by_class": traits.stratify_by_class,
        "meanings": parameter_meanings(metric),
        "description": summary_of(metric),
    }


def _print_all(documents: list[dict[str, Any]], families: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    out = console()
    names = ["metric", "better", "a submission holds", "parameters", "plugin"]
    if out.width < _WIDTH_WITH_PLUGINS:
        names.remove("plugin")
    table = Table(box=box.SIMPLE_HEAD)
    for name in names:
        table.add_column(name, no_wrap=name == "metric", overflow="fold")
    for document in documents:
        parameters = ", ".join(f"{key}={value}" for key, value in document["parameters"].items())
        direction = "larger" if document["greater_is_better"] else "smaller"
        cells = (
            document["name"],
            direction,
            document["prediction"],
            parameters,
            document["plugin"],
        )
        table.add_row(*map(printable, cells[: len(names)]))
    for family in families:
        table.add_row(*(family["form"], "", "", "", family["plugin"])[: len(names)])
    out.print(table)
    for family in families:
        if family["description"]:
            out.print(printable(f"{family['form']}: {family['description']}."), soft_wrap=True)


def _print_one(document: dict[str, Any]) -> None:
    out = console()
    out.print(printable(document["name"]), style="bold")
    out.print(printable(document["description"]), soft_wrap=True)
    out.print(f"{'Larger' if document['greater_is_better'] else 'Smaller'} is better.")
    out.print(f"A submission holds {SENT[PredictionKind(document['prediction'])]}.")
    print_parameters(document)
    for name, _, meaning in _CAPABILITIES:
        if name in document["capabilities"]:
            out.print(f"It has {name}: {meaning}.")
    if not document["capabilities"]:
        out.print("It is called as a whole, on some 120 parts of the rows, for each submission.")
    out.print(f"From the plugin {printable(document['plugin'])}.")
