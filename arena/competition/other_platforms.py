"""Settings from the files of other platforms: Codabench and CodaLab bundles, EvalAI challenges.

What has a counterpart is taken over. Every other key is named, by construction: a key that nothing
takes is among those left out.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena.config import Settings, document_as_toml
from arena.errors import InputError
from arena.plugin.specification import with_parameters
from arena.utils.distribution import how_to_install
from arena.utils.file_errors import unreadable
from arena.utils.times import in_utc

SETTINGS_NAME = "settings.toml"
_MONTH_FIRST = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/](\d{4})")
_MOST_NAME = 40
_NEVER_SHOWN: tuple[Any, ...] = (None, "", [], {}, False)
"""Values of a key that say nothing."""
_RULES = {
    "Add": "chosen",
    "Add_And_Delete": "chosen",
    "Add_And_Delete_Multiple": "chosen",
    "Force_Last": "last",
    "Force_Latest_Multiple": "last",
    "Force_Best": "best_public",
}
"""The submission rule of a Codabench leaderboard -> how final submissions are selected."""
_SEEN_BY = {1: "hidden", 2: "own", 3: "board"}
"""The visibility of an EvalAI split -> who sees scores."""


@dataclass(slots=True)
class ImportedSettings:
    """What was read of a competition of another platform."""

    document: dict[str, Any] = field(default_factory=dict)
    """Sections of ``competition.toml``; without ``[metric] name`` where no metric has one."""
    row_sets: dict[str, str] = field(default_factory=dict)
    """The value of the usage column for the rows of a reference file -> that file."""
    pages: dict[str, Path] = field(default_factory=dict)
    """Pages that can be taken over, by their names in the competition's folder."""
    left_out: list[str] = field(default_factory=list)
    """What has no counterpart, or must be done by hand: a key with its value, or a sentence."""

    def write(self, folder: Path) -> list[Path]:
        """Check the settings and write them and the pages; return the files.

        Raises
        ------
        InputError
            If a file exists already, or the settings contradict each other.
        """
        complete = {**self.document, "metric": {"name": "accuracy", **self.document["metric"]}}
        try:
            Settings.model_validate(complete)
        except ValidationError as error:
            problems = " ".join(
                problem["msg"].removeprefix("Value error, ") for problem in error.errors()
            )
            raise InputError(f"The settings that follow cannot be used: {problems}.") from error
        files = {folder / SETTINGS_NAME: document_as_toml(self.document).encode()}
        files |= {folder / name: path.read_bytes() for name, path in self.pages.items()}
        if existing := [path for path in files if path.exists()]:
            raise InputError(f"{existing[0]} exists already: choose another folder.")
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return [*files]


class _Keys:
    """The keys of a mapping, of which each is taken or left out."""

    def __init__(self, document: Any, where: str, imported: ImportedSettings) -> None:
        self._rest = dict(document) if isinstance(document, Mapping) else {}
        self.where, self._imported = where, imported

    def take(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, which is then not left out."""
        return self._rest.pop(key, default)

    def skip(self, *keys: str) -> None:
        """Leave out keys that describe nothing but the file itself."""
        for key in keys:
            self._rest.pop(key, None)

    def end(self) -> None:
        """Name the keys that nothing took."""
        for key, value in self._rest.items():
            if value not in _NEVER_SHOWN:
                self._imported.left_out.append(f"{self.where}{key}: {_short(value)}")


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def _listed(value: Any) -> list[Any]:
    if isinstance(value, Mapping):  # CodaLab 1.5 numbers its phases by keys
        return [value[key] for key in value]
    return list(value or ())


def _read_yaml(path: Path) -> Mapping[str, Any]:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise InputError(
            f"Files of other platforms need PyYAML: {how_to_install('codabench')}."
        ) from error
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise unreadable(path, error) from error
    if not isinstance(document, Mapping):
        raise InputError(f"{path} does not describe a competition.")
    return document


def _file_in(place: Path, name: str) -> Path:
    path = place / name if place.is_dir() else place
    if not path.is_file():
        raise InputError(f"There is no {path}: name the unpacked folder, or its {name}.")
    return path


def _opened(place: Path, name: str) -> tuple[Path, ImportedSettings, _Keys, dict[str, Any]]:
    """Return the file, what is read of it, its keys, and the dates of the competition."""
    path, imported = _file_in(place, name), ImportedSettings()
    keys = _Keys(_read_yaml(path), "", imported)
    start, end = _time(keys, "start_date", imported), _time(keys, "end_date", imported)
    return path, imported, keys, _without_none({"start": start, "deadline": end})


def _time(keys: _Keys, key: str, imported: ImportedSettings) -> datetime | None:
    """Return a time in UTC; one that cannot be read is left out."""
    value = keys.take(key)
    if value in _NEVER_SHOWN:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, str):
        month_first = _MONTH_FIRST.fullmatch(value.strip())
        try:
            if month_first:
                month, day, year = map(int, month_first.groups())
                value = datetime(year, month, day, tzinfo=UTC)
            else:
                value = datetime.fromisoformat(value.strip())
        except ValueError:
            imported.left_out.append(f"{keys.where}{key}: {_short(value)} is no time")
            return None
    return in_utc(value) if isinstance(value, datetime) else None


def _count(keys: _Keys, key: str, imported: ImportedSettings) -> int | None:
    value = keys.take(key)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    if value not in (None, ""):
        imported.left_out.append(f"{keys.where}{key}: {_short(value)} is no limit of at least 1")
    return None


def _name(text: Any, taken: Collection[str], position: int) -> str:
    """Return the name of a phase for an address."""
    words = re.sub("[^a-z0-9]+", "-", str(text or "").lower()).strip("-")[:_MOST_NAME].strip("-")
    name = words or f"phase-{position}"
    return name if name not in taken else f"{name[: _MOST_NAME - 3]}-{position}"


def _without_none(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if value not in (None, {}, "")}


def _dates_and_limits(
    keys: _Keys, start: datetime | None, end: datetime | None, imported: ImportedSettings
) -> dict[str, Any]:
    """Return the dates and the limits of a phase as keys of its section."""
    limits = {
        "per_day": _count(keys, "max_submissions_per_day", imported),
        "total": _count(keys, "max_submissions", imported),
    }
    return _without_none({"start": start, "end": end, "limits": _without_none(limits)})


@dataclass(slots=True)
class _Phase:
    """A phase of another platform."""

    name: str
    reference: str
    """Of its labels; empty: unknown."""
    start: datetime | None
    section: dict[str, Any]
    task: str | None = None
    """The number of its first task in a Codabench bundle."""
    runs_code: bool = False
    """Whether the platform runs the code of participants in it."""


def _set_phases(imported: ImportedSettings, phases: Sequence[_Phase]) -> None:
    """Give each phase its rows: the labels of the last phase decide if no other phase shows them.

    A single phase becomes the competition itself.
    """
    if len(phases) == 1:
        section = {**phases[0].section}
        dates = {"start": section.pop("start", None), "deadline": section.pop("end", None)}
        dates = {**imported.document["competition"], **_without_none(dates)}
        imported.document["competition"] = dates
        if section.pop("admit", None):
            imported.left_out.append("a list of participants: approve accounts ([server] approve)")
        imported.document |= section
        imported.left_out.append(
            "The platform shows scores on all rows. Mark some of them as Private in the column "
            "Usage, or let arena init draw them: the final board is calculated on those."
        )
        return
    usages: dict[str, str] = {}
    for phase in phases:
        if phase.reference not in usages:
            usages[phase.reference] = _name(phase.name, imported.row_sets, len(usages) + 1)
            imported.row_sets[usages[phase.reference]] = phase.reference or "unknown"
    last = max(phases, key=lambda phase: (phase.start is not None, phase.start, phase.name))
    alone = sum(phase.reference == last.reference for phase in phases) == 1
    sections: dict[str, Any] = {}
    for phase in phases:
        decides = phase is last and alone
        rows = {"private_rows" if decides else "public_rows": usages[phase.reference]}
        sections[phase.name] = {**phase.section, **rows}
        if decides:
            imported.left_out.append(
                f"The phase {phase.name} shows no score before arena finalize: its rows decide. "
                f"With public_rows in place of private_rows it would show them at once."
            )
    if not alone:
        imported.left_out.append(
            "No phase has labels that no other phase shows: without private_rows there is no "
            "final board, and teams can fit what decides."
        )
    imported.document["phase"] = sections


# -- Codabench and CodaLab -------------------------------------------------------------------------


def settings_from_codabench(place: Path) -> ImportedSettings:
    """Return the settings of a bundle: an unpacked folder, or its ``competition.yaml``.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path, imported, keys, dates = _opened(place, "competition.yaml")
    keys.skip("version")
    imported.document["competition"] = {"title": str(keys.take("title") or ""), **dates}
    if keys.take("registration_auto_approve") is False or keys.take("has_registration") is True:
        imported.document["server"] = {"approve": True}
    _codabench_pages(keys, path.parent, imported)
    listed = enumerate(_listed(keys.take("tasks")))
    tasks = {str(task.get("index", position)): task for position, task in listed}
    phases = _codabench_phases(keys, tasks, imported)
    if not phases:
        raise InputError(f"{path} has no phases.")
    _codabench_leaderboard(keys, imported, path.parent, phases)
    used_tasks = {phase.task for phase in phases}
    for number, task in tasks.items():
        if number not in used_tasks:
            imported.left_out.append(f"task {task.get('name', number)}: no phase has it first")
    _set_phases(imported, phases)
    keys.end()
    return imported


def _codabench_pages(keys: _Keys, folder: Path, imported: ImportedSettings) -> None:
    terms, pages = keys.take("terms"), _listed(keys.take("pages"))
    html = keys.take("html") or {}
    files = {"rules.md": terms} if terms else {}
    for page in pages:
        name = _name(page.get("title"), files, len(files) + 1)
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
    keys: _Keys, tasks: Mapping[str, Mapping[str, Any]], imported: ImportedSettings
) -> list[_Phase]:
    phases: list[_Phase] = []
    documents = _listed(keys.take("phases"))
    programs: set[str] = set()
    for position, document in enumerate(documents, start=1):
        title = document.get("name", document.get("label"))
        phase = _Keys(document, f"phase {title}: ", imported)
        phase.skip("index", "name", "label", "phasenumber", "description", "color")
        name = _name(title, [other.name for other in phases], position)
        start_key = "start" if "start" in document else "start_date"
        start = _time(phase, start_key, imported)
        end = _time(phase, "end", imported)
        if start is not None and end is not None and end <= start:
            imported.left_out.append(f"phase {title}: end: {end:%Y-%m-%d %H:%M} is not after start")
            end = None
        if start_key == "start_date" and end is None:
            end = _next_start(documents[position:], start)
        section = _dates_and_limits(phase, start, end, imported)
        migrates = phase.take("auto_migrate_to_this_phase") or phase.take("auto_migration")
        if migrates and phases:
            section |= {"after": phases[-1].name, "carry": True, "admit": "submitted"}
        mode = phase.take("leaderboard_management_mode")
        if phase.take("hide_score_output") or mode == "hide_results":
            section["public"] = {"scores": "hidden"}
        numbers = [str(number) for number in _listed(phase.take("tasks"))]
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
            task = _Keys(
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
            _Phase(
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
    times = (_time(_Keys(document, "", quiet), "start_date", quiet) for document in documents)
    return next((time for time in times if time and (start is None or time > start)), None)


def _codabench_leaderboard(
    keys: _Keys, imported: ImportedSettings, folder: Path, phases: Sequence[_Phase]
) -> None:
    """Take the first column of the first leaderboard as the metric."""
    boards = _listed(keys.take("leaderboards"))
    older = keys.take("leaderboard")
    board = _Keys(boards[0] if boards else older, "leaderboard: ", imported)
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
        first = _Keys(columns[0], f"column {columns[0].get('key')}: ", imported)
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


# -- EvalAI ----------------------------------------------------------------------------------------


def settings_from_evalai(place: Path) -> ImportedSettings:
    """Return the settings of a challenge: an unpacked folder, or its ``challenge_config.yaml``.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path, imported, keys, dates = _opened(place, "challenge_config.yaml")
    title = str(keys.take("title") or "")
    imported.document["competition"] = _without_none({"title": title, **dates})
    keys.skip("published")
    boards = {board.get("id"): board for board in _listed(keys.take("leaderboard"))}
    splits = {split.get("id"): split for split in _listed(keys.take("dataset_splits"))}
    pairs = _listed(keys.take("challenge_phase_splits"))
    documents = _listed(keys.take("challenge_phases"))
    if not documents:
        raise InputError(f"{path} has no challenge_phases.")
    phases: list[_Phase] = []
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
    _set_phases(imported, phases)
    for key in ("description", "evaluation_details", "terms_and_conditions",
                "submission_guidelines"):  # fmt: skip
        if file := keys.take(key):
            imported.left_out.append(f"{key}: write {file} as Markdown in pages/ or rules.md")
    keys.end()
    return imported


def evalai_phase(
    document: Mapping[str, Any],
    pairs: Sequence[Mapping[str, Any]],
    earlier: Sequence[_Phase],
    imported: ImportedSettings,
) -> _Phase:
    """Return a phase of EvalAI's document; what it cannot say here is noted in ``imported``."""
    phase = _Keys(document, f"phase {document.get('name')}: ", imported)
    phase.skip("id", "name", "description", "is_public")
    start, end = (_time(phase, key, imported) for key in ("start_date", "end_date"))
    section = _dates_and_limits(phase, start, end, imported)
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
    name = _name(
        phase.take("codename") or document.get("name"), earlier_names, len(earlier_names) + 1
    )
    reference = str(phase.take("test_annotation_file") or "")
    phase.end()
    return _Phase(name, reference, start, section)


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
