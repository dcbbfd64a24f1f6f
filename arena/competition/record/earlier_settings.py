"""Settings of earlier versions: ``arena upgrade`` gives them the keys of this one.

``[metric] publish_secondary`` became ``[final] columns``. ``[public] epoch``, which asked for
another mechanism, is gone: the epochs of the board are counted in the database only.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from arena.config import CONFIG_NAME, DATABASE_NAME
from arena.store import Transaction
from arena.store.upgrade import upgrade
from arena.utils.atomic_write import atomic_write
from arena.utils.file_errors import unreadable
from arena.utils.strict_json import parse_json

_PUBLISH = "publish_secondary"
_COMMENT = re.compile(rf"^#[^\n]*\n(?=({_PUBLISH}|epoch)[ =])", re.MULTILINE)
"""The comment above a key that is replaced."""


def upgrade_competition(folder: Path, *, actor: str, time: datetime | None = None) -> list[str]:
    """Upgrade the database and ``competition.toml`` of a competition; return what was done.

    The database changes in one recorded transaction. If an interruption leaves the file as it was,
    the next call replaces its keys.

    Raises
    ------
    InputError
        If ``competition.toml`` cannot be read.
    StoreError
        As :func:`arena.store.upgrade.upgrade`.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = folder / CONFIG_NAME
    try:
        document = tomlkit.parse(_COMMENT.sub("", path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise unreadable(path, error) from error
    replaced_keys = use_current_keys(document)

    def change(transaction: Transaction, meta: Mapping[str, str]) -> None:
        _change_settings(transaction, meta, actor, time)

    report = upgrade(folder / DATABASE_NAME, actor=actor, time=time, change=change)
    if not replaced_keys:
        return [report.sentence]
    atomic_write(path, tomlkit.dumps(document).encode(), path.stat().st_mode & 0o777)
    return [report.sentence, f"In {CONFIG_NAME}, {', and '.join(replaced_keys)}."]


def _change_settings(
    transaction: Transaction, meta: Mapping[str, str], actor: str, time: datetime | None
) -> None:
    """Replace the keys of stored settings, on record, and keep the number of the epoch."""
    settings = parse_json(meta.get("settings", "{}"))
    before = copy.deepcopy(settings)
    if not use_current_keys(settings):
        return
    transaction.put_meta("settings", to_json(settings).decode())
    if "epoch" not in meta:
        transaction.put_meta("epoch", str(before.get("public", {}).get("epoch", 1)))
    changes = [
        [f"{section}.{key}", before.get(section, {}).get(key), keys.get(key)]
        for section, keys in settings.items()
        for key in {**before.get(section, {}), **keys}
        if before.get(section, {}).get(key) != keys.get(key)
    ]
    transaction.append_event("configuration", actor, {"changes": changes}, time)


def use_current_keys(settings: MutableMapping[str, Any]) -> list[str]:
    """Replace the keys of earlier versions in a document of settings; return what was done.

    >>> settings = {"metric": {"name": "auc", "secondary": ["brier"], "publish_secondary": True}}
    >>> use_current_keys(settings)
    ['[final] columns replaces [metric] publish_secondary']
    >>> settings
    {'metric': {'name': 'auc', 'secondary': ['brier']}, 'final': {'columns': ['brier']}}
    """
    done, targets = [], settings.get("data", {}).get("target") or ()
    of_all = dict(settings.get("metric", {}))
    columns = _published_columns(of_all, targets)
    if settings.get("metric", {}).pop(_PUBLISH, None) is not None:
        done.append(f"[final] columns replaces [metric] {_PUBLISH}")
    if columns:
        settings.setdefault("final", {})["columns"] = columns
    for name, phase in settings.get("phase", {}).items():
        section = phase.get("metric", {})
        keys = {"name": section} if isinstance(section, str) else dict(section)
        # A metric of another name takes over no key of [metric].
        of_phase = keys if "name" in keys else {**of_all, **keys}
        if _PUBLISH in keys:
            section.pop(_PUBLISH)
        if (columns_of_phase := _published_columns(of_phase, targets)) != columns:
            phase.setdefault("final", {})["columns"] = columns_of_phase
            done.append(f"[phase.{name}] final has columns instead of {_PUBLISH}")
        elif _PUBLISH in keys:
            done.append(f"{_PUBLISH} was removed from [phase.{name}]")
    if settings.get("public", {}).pop("epoch", None) is not None:
        done.append("[public] epoch was removed")
    return done


def _published_columns(metric: Mapping[str, Any], targets: Sequence[str]) -> list[str]:
    """Return the columns that an earlier version published with a section ``[metric]``."""
    if not metric.get(_PUBLISH):
        return []
    return [*metric.get("secondary", ()), *(targets if len(targets) > 1 else ())]
