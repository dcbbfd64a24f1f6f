"""What is read of a competition of another platform, and the keys that its files have."""

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
from arena.utils.distribution import how_to_install
from arena.utils.file_errors import unreadable
from arena.utils.times import in_utc

SETTINGS_NAME = "settings.toml"
_MONTH_FIRST = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/](\d{4})")
_MOST_NAME = 40
_NEVER_SHOWN: tuple[Any, ...] = (None, "", [], {}, False)
"""Values of a key that say nothing."""


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


class DocumentKeys:
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

    def take_time(self, key: str) -> datetime | None:
        """Return a time in UTC; one that cannot be read is left out."""
        value = self.take(key)
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
                self._imported.left_out.append(f"{self.where}{key}: {_shortened(value)} is no time")
                return None
        return in_utc(value) if isinstance(value, datetime) else None

    def take_count(self, key: str) -> int | None:
        """Return a limit; one that is no number of at least 1 is left out."""
        value = self.take(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        if value not in (None, ""):
            self._imported.left_out.append(
                f"{self.where}{key}: {_shortened(value)} is no limit of at least 1"
            )
        return None

    def end(self) -> None:
        """Name the keys that nothing took."""
        for key, value in self._rest.items():
            if value not in _NEVER_SHOWN:
                self._imported.left_out.append(f"{self.where}{key}: {_shortened(value)}")


def _shortened(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def items_of(value: Any) -> list[Any]:
    """Return the items of a list; of a mapping its values, none without one."""
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


def open_document(
    place: Path, name: str
) -> tuple[Path, ImportedSettings, DocumentKeys, dict[str, Any]]:
    """Return the file, what is read of it, its keys, and the dates of the competition."""
    path, imported = _file_in(place, name), ImportedSettings()
    keys = DocumentKeys(_read_yaml(path), "", imported)
    start, end = keys.take_time("start_date"), keys.take_time("end_date")
    return path, imported, keys, without_none({"start": start, "deadline": end})


def phase_name(text: Any, taken: Collection[str], position: int) -> str:
    """Return the name of a phase for an address."""
    words = re.sub("[^a-z0-9]+", "-", str(text or "").lower()).strip("-")[:_MOST_NAME].strip("-")
    name = words or f"phase-{position}"
    return name if name not in taken else f"{name[: _MOST_NAME - 3]}-{position}"


def without_none(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section without keys that have no value."""
    return {key: value for key, value in section.items() if value not in (None, {}, "")}


def dates_and_limits(
    keys: DocumentKeys, start: datetime | None, end: datetime | None
) -> dict[str, Any]:
    """Return the dates and the limits of a phase as keys of its section."""
    limits = {
        "per_day": keys.take_count("max_submissions_per_day"),
        "total": keys.take_count("max_submissions"),
    }
    return without_none({"start": start, "end": end, "limits": without_none(limits)})


@dataclass(slots=True)
class ImportedPhase:
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


def set_phases(imported: ImportedSettings, phases: Sequence[ImportedPhase]) -> None:
    """Give each phase its rows: the labels of the last phase decide if no other phase shows them.

    A single phase becomes the competition itself.
    """
    if len(phases) == 1:
        section = {**phases[0].section}
        dates = {"start": section.pop("start", None), "deadline": section.pop("end", None)}
        dates = {**imported.document["competition"], **without_none(dates)}
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
            usages[phase.reference] = phase_name(phase.name, imported.row_sets, len(usages) + 1)
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
