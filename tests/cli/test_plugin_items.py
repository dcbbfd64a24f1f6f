"""The commands that list what plugins provide have one form, and check what is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from program import run_here

ITEMS = {
    "metrics": "accuracy",
    "mechanisms": "ladder(eta=0.02)",
    "competitors": "boosting",
    "analyses": "bootstrap-ranks",
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] * (kind in {"metrics", "mechanisms"}))
        for kind in ITEMS
    ],
)
def test_items_are_listed_described_and_checked(tmp_path: Path, kind: str) -> None:
    listed = run_here(kind, "--json", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    document = json.loads(listed.stdout)
    assert (document["schema"], document["check"]) == (f"arena/{kind}/1", None)
    name = ITEMS[kind]
    if kind == "analyses":
        name = document["analyses"][0]["name"]
    checked = run_here(kind, name, "--check", "--json", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    found = json.loads(checked.stdout)
    assert [item["name"] for item in found[kind]] == [name]
    assert {check["outcome"] for check in found["check"]["checks"]} <= {
        "ok",
        "lacking",
        "not tried",
    }
    process = run_here(kind, name, "--check", cwd=tmp_path)
    assert re.search(r"None of \d+ checks? failed\.", process.stdout)
    nameless = run_here(kind, "--check", cwd=tmp_path)
    assert (nameless.returncode, nameless.stdout) == (2, "")
    unknown = run_here(kind, "no-such-thing", cwd=tmp_path)
    assert unknown.returncode == 1
    assert "There is no" in unknown.stderr
