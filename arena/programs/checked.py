"""The last check of a sandbox on this machine, which a server requires."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.programs.running import runner_folder
from arena.utils.atomic_write import atomic_write


def record_check(
    sandbox: str, versions: Mapping[str, str], not_held: Sequence[str]
) -> dict[str, Any]:
    """Store the result of a check, and return it as a JSON document."""
    document = {
        "sandbox": sandbox,
        "versions": dict(versions),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "not_held": list(not_held),
    }
    runner_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_write(_file(sandbox), json.dumps(document).encode(), mode=0o644)
    return document


def last_check(sandbox: str, versions: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the last check of a sandbox; None if there is none with these versions."""
    try:
        document: dict[str, Any] = json.loads(_file(sandbox).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return document if document.get("versions") == dict(versions) else None


def _file(sandbox: str) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in sandbox)
    return runner_folder() / f"checked-{name}.json"
