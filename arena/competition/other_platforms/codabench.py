"""Settings from the bundles of Codabench and CodaLab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.competition.other_platforms.imported_settings import (
    DocumentKeys,
    ImportedPhase,
    ImportedSettings,
    dates_and_limits,
    items_of,
    open_document,
    phase_name,
    set_phases,
)
from arena.errors import InputError
from arena.plugin.specification import with_parameters

_RULES = {
    "Add": "chosen",
    "Add_And_Delete": "chosen",
    "Add_And_Delete_Multiple": "chosen",
    "Force_Last": "last",
    "Force_Latest_Multiple": "last",
    "Force_Best": "best_public",
}
"""The submission rule of a Codabench leaderboard -> how final submissions are selected."""


def settings_from_codabench(place: Path) -> ImportedSettings:
    """Return the settings of a bundle: an unpacked folder, or its ``competition.yaml``.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path, imported, keys, dates = open_document(place, "competition.yaml")
    keys.skip("version")
    imported.document["competition"] = {"title": str(keys.take("title") or ""), **dates}
    if keys.take("registration_auto_approve") is False or keys.take("has_registration") is True:
        imported.document["server"] = {"approve": True}
    _codabench_pages(keys, path.parent, imported)
    listed = enumerate(items_of(keys.take("tasks")))
    tasks = {str(task.get("index", position)): task for position, task in listed}
    phases = _codabench_phases(keys, tasks, imported)
    if not phases:
        raise InputError(f"{path} has no phases.")
    _codabench_leaderboard(keys, imported, path.parent, phases)
    used_tasks = {phase.task for phase in phases}
    for number, task in tasks.items():
        if number not in used_tasks:
            imported.left_out.append(f"task {task.get('name', number)}: no phase has it first")
    set_phases(imported, phases)
    keys.end()
    return imported


def _codabench_pages(keys: DocumentKeys, folder: Path, imported: ImportedSettings) -> None:
    terms, pages = keys.take("terms"), items_of(keys.take("pages"))
    html = keys.take("html") or {}
    files = {"rules.md": terms} if terms else {}
    for page in pages:
        name = phase_name(page.get("title"), files, len(files) + 1)
        files[f"pages/{name}.md"] = page.get("file")
    files |= {f"pages/{name}.md": file for name, file in html.items() if name != "terms"}
    if "terms" in html:
        files["rules.md"] = html["terms"]
    for name, file in files.items():
        path = folder / str(file)
        if path.suffix.lower() == ".md" and path.is_file():
            imported.pages[name] = path
        else:
            imported.left_out.append(f"page {file}: write it as Markdown in {name}")


def _codabench_phases(
    keys: DocumentKeys, tasks: Mapping[str, Mapping[str, Any]], imported: ImportedSettings
) -> list[ImportedPhase]:
    phases: list[ImportedPhase] = []
    documents = items_of(keys.take("phases"))
    programs: set[str] = set()
    for position, document in enumerate(documents, start=1):
        title = document.get("name", document.get("label"))
        phase = DocumentKeys(document, f"phase {title}: ", imported)
        phase.skip("index", "name", "label", "phasenumber", "description", "color")
        name = phase_name(title, [other.name for other in phases], position)
        start_key = "start" if "start" in document else "start_date"
        start = phase.take_time(start_key)
        end = phase.take_time("end")
        if start is not None and end is not None and end <= start:
            imported.left_out.append(f"phase {title}: end: {end:%Y-%m-%d %H:%M} is not after start")
            end = None
        if start_key == "start_date" and end is None:
            end = _next_start(documents[position:], start)
        section = dates_and_limits(phase, start, end)
        migrates = phase.take("auto_migrate_to_this_phase") or phase.take("auto_migration")
        if migrates and phases:
            section |= {"after": phases[-1].name, "carry": True, "admit": "submitted"}
        mode = phase.take("leaderboard_management_mode")
        if phase.take("hide_score_output") or mode == "hide_results":
            section["public"] = {"scores": "hidden"}
        numbers = [str(number) for number in items_of(phase.take("tasks"))]
        if (single := phase.take("task")) is not None:
            numbers = [str(single)]
        for number in numbers[1:]:
            task_name = tasks.get(number, {}).get("name", number)
            imported.left_out.append(f"phase {title}: task {task_name}: a phase has one task")
        task = phase
        if numbers:
            described = tasks.get(numbers[0], {})
            # Of a task of several phases, the first says what is left out.
            is_first = numbers[0] not in {other.task for other in phases}
            task = DocumentKeys(
                described,
                f"task {described.get('name')}: ",
                imported if is_first else ImportedSettings(),
            )
            task.skip("index", "name", "description", "is_public", "key")
        if program := task.take("scoring_program"):
            programs.add(str(program))
        reference = str(task.take("reference_data") or "")
        runs_code = bool(task.take("ingestion_program"))
        task.end()
        if numbers:
            phase.end()
        phases.append(
            ImportedPhase(
                name,
                reference,
                start=start,
                section=section,
                task=next(iter(numbers), None),
                runs_code=runs_code,
            )
        )
    if len(programs) > 1:
        imported.left_out.append(
            f"scoring_program: the phases have several ({', '.join(sorted(programs))}), and arena "
            f"has one metric: that of the first"
        )
    return phases


def _next_start(documents: Sequence[Mapping[str, Any]], start: datetime | None) -> datetime | None:
    """Return when the next phase begins: there a phase of CodaLab 1.5 ends."""
    quiet = ImportedSettings()
    times = (DocumentKeys(document, "", quiet).take_time("start_date") for document in documents)
    return next((time for time in times if time and (start is None or time > start)), None)


def _codabench_leaderboard(
    keys: DocumentKeys, imported: ImportedSettings, folder: Path, phases: Sequence[ImportedPhase]
) -> None:
    """Take the first column of the first leaderboard as the metric."""
    boards = items_of(keys.take("leaderboards"))
    older = keys.take("leaderboard")
    board = DocumentKeys(boards[0] if boards else older, "leaderboard: ", imported)
    board.skip("index", "title", "key", "leaderboards")
    columns = board.take("columns") or []
    if isinstance(columns, Mapping):
        columns = [{"key": key, **(column or {})} for key, column in columns.items()]
    columns = sorted(columns, key=lambda column: column.get("rank", column.get("index", 0)) or 0)
    rule = board.take("submission_rule")
    if rule in _RULES:
        imported.document["final"] = {"rule": _RULES[rule]}
    elif rule:
        imported.left_out.append(f"leaderboard: submission_rule: {rule}")
    board.end()
    for other in boards[1:]:
        imported.left_out.append(f"leaderboard {other.get('title')}: arena has one board a phase")
    metric: dict[str, Any] = {}
    if columns:
        first = DocumentKeys(columns[0], f"column {columns[0].get('key')}: ", imported)
        first.skip("index", "title", "label", "rank", "sorting", "sort", "hidden", "leaderboard")
        decimals = first.take("precision", first.take("numeric_format"))
        if isinstance(decimals, int):
            metric["decimals"] = decimals
        key = first.take("key")
        first.skip("computation", "computation_indexes", "computed")  # the metric computes it
        first.end()
        task = next((phase.task for phase in phases if phase.task is not None), None)
        metric["name"] = with_parameters(
            f"codabench:{folder.resolve()}", value=str(key), task=task or None
        )
    for column in columns[1:]:
        imported.left_out.append(
            f"column {column.get('key')}: a further value of the scoring program, which a name in "
            f"[metric] secondary shows on the final board"
        )
    if any(phase.runs_code for phase in phases):
        metric.pop("name", None)
        imported.left_out.append(
            "ingestion_program: it runs the code of participants. Set [metric] name, and see "
            "arena init --programs."
        )
    imported.document["metric"] = metric
