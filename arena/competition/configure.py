"""Changes of the settings and texts of a served competition, asked for in the browser.

``competition.toml`` stays the only source: the change is written into it, its comments are kept,
and it applies because the scorer reads the file again. What may be changed is in
:mod:`arena.changeable_settings`; the web process is not trusted with anything else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.changeable_settings import LONGEST_TEXT, Kind, changeable, ends_the_competition
from arena.competition.boards.consequences import text_of_changed_marks
from arena.competition.record.adopted_settings import check_place, view_settings
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME, Settings, read_settings, settings_of_document
from arena.errors import ArenaError, InputError, UsageError
from arena.utils.atomic_write import atomic_write
from arena.utils.times import time_of

_PAGE = re.compile(r"pages/[A-Za-z0-9_][A-Za-z0-9_-]{0,79}\.md")


def has_new_settings(state: CompetitionState) -> bool:
    """Return whether ``competition.toml`` says something else than what was read from it."""
    try:
        return read_settings(state.folder / CONFIG_NAME) != state.wanted
    except InputError:
        return True


def settings_fault(state: CompetitionState) -> str:
    """Return why ``competition.toml``, as it is now, cannot be adopted; empty if it can be."""
    try:
        _check(state, read_settings(state.folder / CONFIG_NAME))
    except (ArenaError, ValueError) as error:
        return str(error)
    return ""


def _check(state: CompetitionState, new_settings: Settings) -> CompetitionState:
    """Return the state with new settings; raise an error if opening it with them would."""
    settings, _notes, changes = view_settings(state.store, state.manager, new_settings)
    if settings.store != state.settings.store:
        check_place(state.store, settings)
    return replace(state, settings=settings, unrecorded=changes)


def configure(state: CompetitionState, changes: Mapping[str, Any], texts: Mapping[str, Any]) -> str:
    """Write changed settings and texts into the competition's folder, and return what changed.

    That is also which published results the settings mark once they apply.

    Parameters
    ----------
    changes
        The key with its section -> ``[before, after]``, as JSON; None: not set.
    texts
        ``rules`` or ``pages/NAME.md`` -> the new text.

    Raises
    ------
    UsageError
        If a key may not be changed, has another value by now, or a deadline is not moved later.
    InputError
        If the settings would not be valid.
    """
    path = state.folder / CONFIG_NAME
    content = path.read_text(encoding="utf-8")
    written, sentences = _with_changes(state, content, changes)
    # The answer is read in a browser, which need not know the folder.
    settings = settings_of_document(tomllib.loads(written), Path(CONFIG_NAME))
    try:
        changed = _check(state, settings)
    except (ArenaError, ValueError) as error:  # its text could quote a label
        raise UsageError("These settings do not suit the competition. Nothing changed.") from error
    files = {file_of_text(state, name): normalized_text(text) for name, text in texts.items()}
    for file, text in files.items():
        file.parent.mkdir(exist_ok=True)
        atomic_write(file, text.encode(), 0o644)
        sentences.append(f"{file.relative_to(state.folder).as_posix()} was written")
    if written != content:
        atomic_write(path, written.encode(), path.stat().st_mode & 0o777)
    if not sentences:
        return "Nothing was changed."
    marked = text_of_changed_marks(state, changed)
    return " ".join(filter(None, (f"{'. '.join(sentences)}.", marked)))


def _with_changes(
    state: CompetitionState, content: str, changes: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Return the text of ``competition.toml`` with the changes, and a clause on each of them."""
    import tomlkit

    said: list[str] = []
    document: Any = tomlkit.parse(content)
    current = Settings.model_validate(tomllib.loads(content))
    kinds = changeable(current.phase)
    for key, (before, asked) in changes.items():
        if key not in kinds:
            raise UsageError(f"{key} is changed in {CONFIG_NAME} only.")
        section, _, name = key.rpartition(".")
        now = _json(_value(current, section, name))
        after = typed_value(asked, kinds[key], key)
        if now == _json(after):  # it was written before an interruption
            continue
        if now != before:
            raise UsageError(
                f"{key} is {_shown(now)} by now, not {_shown(before)}: load the page again."
            )
        if ends_the_competition(key):
            board = state.in_phase(section.removeprefix("phase.")) if current.phase else state
            is_final = bool(board.events("finalized"))
            check_new_deadline(_value(current, section, name), after, is_final=is_final)
        table = document
        for part in section.split(".", maxsplit=1):
            if part not in table:
                table[part] = tomlkit.table()
            table = table[part]
        if after is None:
            table.pop(name, None)
        else:
            table[name] = after
        said.append(f"{key}: {_shown(now)} -> {_shown(_json(after))}")
    return tomlkit.dumps(document), said


def _value(settings: Settings, section: str, name: str) -> Any:
    """Return the value of a setting; that of a phase may be the default for all phases."""
    if section.startswith("phase."):
        dates = settings.in_phase(section.removeprefix("phase.")).competition
        return dates.deadline if name == "end" else dates.start
    return getattr(getattr(settings, section), name)


def check_new_deadline(before: datetime | None, after: datetime | None, *, is_final: bool) -> None:
    """Refuse a deadline that is not later than the one before, or that nothing can follow."""
    # Else a web process that is taken over could end the competition and show private scores.
    if before is None:
        raise UsageError(f"The first deadline is set in {CONFIG_NAME} only.")
    if after is None or after <= before:
        raise UsageError(f"A deadline is moved later here; {CONFIG_NAME} can set an earlier one.")
    if is_final:
        raise UsageError("The private board is computed, so the deadline can no longer be moved.")


_TYPES: Mapping[Kind, type | tuple[type, ...]] = {
    "text": str, "time": str, "number": (int, float), "flag": bool, "choice": str, "list": list,
}  # fmt: skip
"""How a document has the values of settings."""


def typed_value(value: Any, kind: Kind, key: str) -> Any:
    """Return a value of a document in the type that the setting has."""
    if value is None:
        return None
    # Else true would be the number 1, and "7" the number 7.
    if isinstance(value, bool) != (kind == "flag") or not isinstance(value, _TYPES[kind]):
        raise UsageError(f"{key}: {_shown(value)} is not a value of this setting.")
    return time_of(str(value)) if kind == "time" else value


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _shown(value: Any) -> str:
    return "not set" if value in (None, "", []) else str(value)


def normalized_text(text: Any) -> str:
    """Return a text with Unix line ends and one at its end; UsageError if it is too long."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise UsageError(f"A text has at most {LONGEST_TEXT:,} characters.")
    return text.replace("\r\n", "\n").rstrip() + "\n"


def file_of_text(state: CompetitionState, name: str) -> Path:
    """Return the file of a text; UsageError if it may not be written."""
    if name == "rules":
        rules = state.wanted.server.rules
        if not re.fullmatch(r"[A-Za-z0-9_-]+\.md", rules):
            raise UsageError(f"The rules are in {rules}, which is written by hand only.")
        return state.folder / rules
    if not _PAGE.fullmatch(name):
        raise UsageError("A page is called pages/NAME.md, with letters, digits, - and _.")
    if (state.folder / "pages").is_symlink():
        raise InputError("pages is a link, so pages are written by hand only.")
    return state.folder / name
