"""The script that builds the documentation beside that of other versions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "docs"


@pytest.mark.slow
def test_a_version_is_listed_beside_those_that_are_there(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "conf.py").write_text('project = "arena"\n')
    (source / "index.rst").write_text("Title\n=====\n\nText.\n")
    for version in ("0.0.9", "0.0.10", "99.0rc1"):
        (site / version).mkdir(parents=True)
        (site / version / "index.html").touch()

    command = [sys.executable, SCRIPT, site, "https://docs.example.org/arena/", source]
    subprocess.run(command, check=True)

    (present,) = {folder.name for folder in site.iterdir() if folder.is_dir()} - {
        "0.0.9",
        "0.0.10",
        "99.0rc1",
    }
    listed = json.loads((site / "versions.json").read_text())
    assert [entry["version"] for entry in listed] == [present, "0.0.10", "0.0.9", "99.0rc1"]
    assert [entry["version"] for entry in listed if entry["preferred"]] == [present]
    assert listed[0]["url"] == f"https://docs.example.org/arena/{present}/"
    assert "Text." in (site / present / "index.html").read_text()
    assert f"url={present}/" in (site / "index.html").read_text()
