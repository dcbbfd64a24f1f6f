"""Keeps with the private board what its report shows, so that a report computes nothing again.

The document of the board has no charts, no tables and no sections of plugins. They are kept beside
it in the store, with the software that they belong to. The event of finalizing has their digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arena.competition.state import CompetitionState
from arena.plugin.manager import PluginManager
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import ScoreResult
from arena.store.digests import text_digest
from arena.types import Chart, Fault, Finding, Section, Table
from arena.utils.distribution import installed_version
from arena.utils.strict_json import parse_json

KEPT = "final_report"
"""The name of the entry in the store."""


def to_keep(result: ScoreResult, manager: PluginManager) -> str | None:
    """Return the data of a report besides the document of the board, as JSON.

    None if a plugin failed, or made something that JSON cannot hold: the report then computes the
    board again.
    """
    if manager.failures or result.sections is None:
        return None
    document = {
        "software": software_versions(manager),
        "inputs": result.inputs,
        "findings": [
            {
                "tables": list(map(asdict, finding.tables)),
                "charts": list(map(asdict, finding.charts)),
            }
            for finding in result.findings
        ],
        "sections": list(map(asdict, result.sections)),
    }
    try:
        return json.dumps(document)
    except (TypeError, ValueError):
        return None


def restored(
    state: CompetitionState, document: Mapping[str, Any], digest: str | None
) -> ScoreResult | None:
    """Return the result of a finalized board for its report, from the kept data.

    None if the kept data do not have this digest, or other software kept them.
    """
    text = state.store.meta(state.name_of(KEPT))
    if text is None or text_digest(text) != digest:
        return None
    kept_document = parse_json(text)
    if kept_document["software"] != software_versions(state.manager):
        return None
    findings = zip(document["findings"], kept_document["findings"], strict=True)
    return ScoreResult(
        metric=document["metric"],
        greater_is_better=document["greater_is_better"],
        split=document["split"],
        n_rows=document["n_rows"],
        n_pending=document.get("n_pending", 0),
        positive=document["positive"],
        resamples=document["resamples"],
        resamples_redrawn=document["resamples_redrawn"],
        resamples_undefined=document["resamples_undefined"],
        level=document["level"],
        seed=document["seed"],
        standings=tuple(document["standings"]),
        best_score_corrected=document["best_score_corrected"],
        rejected=tuple(
            RejectedFile(rejected["file"], tuple(Fault(**fault) for fault in rejected["faults"]))
            for rejected in document["rejected"]
        ),
        findings=tuple(
            Finding(
                finding["analysis"],
                finding["verdict"],
                finding["document"],
                tables=_tables(parts["tables"]),
                charts=_charts(parts["charts"]),
            )
            for finding, parts in findings
        ),
        notes=tuple(document["notes"]),
        baseline=document["baseline"],
        unranked=tuple(document.get("unranked", ())),
        brackets={name: tuple(teams) for name, teams in document.get("brackets", {}).items()},
        inputs=tuple((name, sha256) for name, sha256 in kept_document["inputs"]),
        plugins=state.manager,
        display=state.settings.display(public=False),
        sections=tuple(
            Section(
                **{
                    **section,
                    "tables": _tables(section["tables"]),
                    "charts": _charts(section["charts"]),
                }
            )
            for section in kept_document["sections"]
        ),
    )


def _tables(documents: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    return tuple(
        Table(document["title"], tuple(document["columns"]), tuple(map(tuple, document["rows"])))
        for document in documents
    )


def _charts(documents: Sequence[Mapping[str, Any]]) -> tuple[Chart, ...]:
    return tuple(Chart(**document) for document in documents)


def software_versions(manager: PluginManager) -> list[list[str]]:
    """Return the versions of arena and its plugins."""
    plugins = [
        [plugin.name, plugin.version] for plugin in manager.plugins if not plugin.failed_to_load
    ]
    return [["arena", installed_version()], *plugins]
