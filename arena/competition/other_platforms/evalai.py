"""Settings from the challenges of EvalAI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    without_none,
)
from arena.errors import InputError
from arena.plugin.specification import with_parameters

_SEEN_BY = {1: "hidden", 2: "own", 3: "board"}
"""The visibility of an EvalAI split -> who sees scores."""


def settings_from_evalai(place: Path) -> ImportedSettings:
    """Return the settings of a challenge: an unpacked folder, or its ``challenge_config.yaml``.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path, imported, keys, dates = open_document(place, "challenge_config.yaml")
    title = str(keys.take("title") or "")
    imported.document["competition"] = without_none({"title": title, **dates})
    keys.skip("published")
    boards = {board.get("id"): board for board in items_of(keys.take("leaderboard"))}
    splits = {split.get("id"): split for split in items_of(keys.take("dataset_splits"))}
    pairs = items_of(keys.take("challenge_phase_splits"))
    documents = items_of(keys.take("challenge_phases"))
    if not documents:
        raise InputError(f"{path} has no challenge_phases.")
    phases: list[ImportedPhase] = []
    for document in documents:
        of_phase = [pair for pair in pairs if pair.get("challenge_phase_id") == document.get("id")]
        phases.append(evalai_phase(document, of_phase, phases, imported))
    first: Mapping[str, Any] = pairs[0] if pairs else {}
    runs_code = keys.take("is_docker_based") or keys.take("remote_evaluation")
    script = keys.take("evaluation_script")
    board = boards.get(first.get("leaderboard_id"), next(iter(boards.values()), {}))
    split = splits.get(first.get("dataset_split_id"), {}).get("codename", "")
    codename = str(documents[0].get("codename") or "")
    metric = _evalai_metric(board, first, imported)
    value = metric.pop("value", "")
    if runs_code:
        imported.left_out.append(
            "is_docker_based, remote_evaluation: the code of participants or another machine "
            "computes scores. Set [metric] name, and see arena init --programs."
        )
    else:
        main = path.parent / Path(str(script or "evaluation_script")).with_suffix("") / "main.py"
        named = {"phase": codename, "split": str(split), "value": value}
        chosen = {key: text or None for key, text in named.items()}
        metric["name"] = with_parameters(f"evalai:{main.resolve()}", **chosen)
        if not main.is_file():
            what = script or "the evaluation script"
            imported.left_out.append(f"evaluation_script: unpack {what} so that {main} exists")
    imported.document["metric"] = metric
    for other in boards.values():
        if other is not board:
            imported.left_out.append(f"leaderboard {other.get('id')}: arena has one board a phase")
    set_phases(imported, phases)
    for key in ("description", "evaluation_details", "terms_and_conditions",
                "submission_guidelines"):  # fmt: skip
        if file := keys.take(key):
            imported.left_out.append(f"{key}: write {file} as Markdown in pages/ or rules.md")
    keys.end()
    return imported


def evalai_phase(
    document: Mapping[str, Any],
    pairs: Sequence[Mapping[str, Any]],
    earlier: Sequence[ImportedPhase],
    imported: ImportedSettings,
) -> ImportedPhase:
    """Return a phase of EvalAI's document; what it cannot say here is noted in ``imported``."""
    phase = DocumentKeys(document, f"phase {document.get('name')}: ", imported)
    phase.skip("id", "name", "description", "is_public")
    start, end = (phase.take_time(key) for key in ("start_date", "end_date"))
    section = dates_and_limits(phase, start, end)
    visibilities = [
        _SEEN_BY[pair["visibility"]] for pair in pairs if pair.get("visibility") in _SEEN_BY
    ]
    if phase.take("leaderboard_public") is False and "board" not in visibilities:
        visibilities.append("hidden")
    scores = next((value for value in ("board", "own", "hidden") if value in visibilities), "board")
    if scores != "board":
        section["public"] = {"scores": scores}
    if phase.take("allowed_email_ids"):
        section["admit"] = "listed"
    if phase.take("is_restricted_to_select_one_submission"):
        section["final"] = {"rule": "chosen", "count": 1}
    earlier_names = [other.name for other in earlier]
    name = phase_name(
        phase.take("codename") or document.get("name"), earlier_names, len(earlier_names) + 1
    )
    reference = str(phase.take("test_annotation_file") or "")
    phase.end()
    return ImportedPhase(name, reference, start, section)


def _evalai_metric(
    board: Mapping[str, Any], pair: Mapping[str, Any], imported: ImportedSettings
) -> dict[str, Any]:
    schema = board.get("schema")
    if not isinstance(schema, Mapping):
        schema = {}
    labels = list(schema.get("labels") or ())
    value = schema.get("default_order_by") or (labels[0] if labels else "")
    about = (schema.get("metadata") or {}).get(value) or {}
    ascending = about.get("sort_ascending")
    if ascending is None:
        ascending = pair.get("is_leaderboard_order_descending") is False
    metric: dict[str, Any] = {"value": str(value), "lower_is_better": bool(ascending)}
    if isinstance(pair.get("leaderboard_decimal_precision"), int):
        metric["decimals"] = pair["leaderboard_decimal_precision"]
    for label in labels:
        if label != value:
            imported.left_out.append(
                f"column {label}: a further value of the evaluation, which a name in [metric] "
                f"secondary shows on the final board"
            )
    return metric
