"""Whole outputs, kept as files beside the tests.

A test of one sentence does not see the others. ``ARENA_KEEP=1 pytest TESTS`` writes the files after
a change; their difference is then read like that of code.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arena.interfaces import Reproduction
from arena.utils.tabular import as_json

FOLDER = Path(__file__).parents[1] / "kept"
_LONG = 60
_LEFT_BY_ROUNDING = 1e-9


def check_kept(name: str, text: str) -> None:
    """Compare a text with the kept one of this name."""
    path = FOLDER / name
    if os.environ.get("ARENA_KEEP"):
        path.write_text(text, encoding="utf-8")
    kept_text = path.read_text(encoding="utf-8")
    assert text.splitlines() == kept_text.splitlines(), (
        f"ARENA_KEEP=1 pytest writes tests/kept/{name}."
    )


def masked(text: str) -> str:
    """Replace what differs by run or machine: times, sizes, versions, digests, last digits."""
    text = re.sub(r"\b\d+(\.\d)? [kMG]B\b", "SIZE", text)
    text = re.sub(r"20[2-9]\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?(\+00:00|Z)?)?", "TIME", text)
    text = re.sub(r"\d+(\.\d+){2,}\S*", "VERSION", text)
    text = re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number[0]):.5g}", text)
    return re.sub(r"\b(?!(.)\1{11})[0-9a-f]{12,64}\b", "DIGEST", text)


def shortened(value: Any) -> Any:
    """Return a document with numbers of five digits, in which machines agree.

    What is left of 0 by rounding differs between them.
    """
    if isinstance(value, float):
        return 0.0 if abs(value) < _LEFT_BY_ROUNDING else float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(item) for item in value]
    return value


def check_kept_document(name: str, document: Any) -> None:
    """Compare a document with the kept ``name.json``, its numbers to five digits."""
    text = json.dumps(shortened(document), indent=1, ensure_ascii=False)
    check_kept(f"{name}.json", f"{masked(text)}\n")


def check_kept_reproduction(name: str, reproduction: Reproduction, **others: Any) -> None:
    """Compare all that a repeated paper shows, and other parts of the same document."""
    document = as_json({**asdict(reproduction), **others})
    check_kept_document(name, with_short_curves(document))


def with_short_curves(value: Any) -> Any:
    """Return a document with every tenth point of curves, which are many, and the last one."""
    if isinstance(value, dict):
        return {key: with_short_curves(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    points = [value[:-1:10], value[-1:]] if len(value) > _LONG else [value]
    return [with_short_curves(item) for part in points for item in part]
