"""Every benchmark starts as a script, and ends with one line of JSON; some are summed up."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import summarize_scale
from smallest_runs import SMALLEST

from browser import installed_chromium, missing

FOLDER = Path(__file__).parent
SUMMED_UP = {command.split()[0].removesuffix(".py") for command in summarize_scale.PARTS.values()}
EXTRAS = {
    "bench_engines": ("distributed", "dask"),
    "bench_metrics": ("pycocotools", "detection"),
    "bench_serve": ("uvicorn", "serve"),
    "bench_slow_clients": ("uvicorn", "serve"),
    "bench_report": ("playwright", "test"),
}
HAS_CLUSTERS = all(map(importlib.util.find_spec, ("distributed", "ray")))


def run(name: str, *options: str) -> str:
    called = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert called.returncode == 0, called.stderr
    return called.stdout


def test_every_script_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("bench_*.py")} == set(SMALLEST)


@pytest.mark.campaign  # a small run of each is in the slow run
@pytest.mark.parametrize("name", SMALLEST)
def test_a_script_explains_its_options(name: str) -> None:
    assert "--help" in run(name, "--help")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_extra_is_named_in_one_sentence(name: str) -> None:
    script, (module, extra) = str(FOLDER / f"{name}.py"), EXTRAS[name]
    without = f"""
import importlib.util, runpy, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == {module!r} else find(name, *more)
sys.argv = [{script!r}]
sys.path.insert(0, {str(FOLDER)!r})
runpy.run_path({script!r}, run_name="__main__")
"""
    called = subprocess.run(
        [sys.executable, "-c", without], capture_output=True, text=True, check=False
    )
    assert called.returncode == 1
    assert called.stderr == f'{name}.py needs the extra {extra}: pip install ".[{extra}]".\n'


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "bench_slow_clients" else ())
        for name in SMALLEST
        if name not in SUMMED_UP
    ],
)
def test_a_small_run_ends_with_its_result(name: str) -> None:
    assert isinstance(json.loads(run(name, *SMALLEST[name].split()).splitlines()[-1]), dict)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_a_small_run_of_each_part_is_summed_up(tmp_path: Path) -> None:
    if installed_chromium() is None:
        missing("Chromium")
    page = tmp_path / "scale.md"
    parts = [name for name in summarize_scale.PARTS if name != "engines" or HAS_CLUSTERS]
    run("summarize_scale", "--small", "--out", str(page), "--only", ",".join(parts))
    document = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert list(document) == parts
    text = page.read_text("utf-8")
    assert "Not measured." not in text
    assert ("Not measured yet: `engines`." in text) is not HAS_CLUSTERS
    assert text.count("Not measured yet") == (not HAS_CLUSTERS)
    rows = [
        row
        for name, aims in summarize_scale.AIMS.items()
        if name in document
        for row in aims(document[name]["figures"])
    ]
    assert len(rows) >= len(parts)
    for row in rows:
        assert f"| {row.what} |" in text
        assert row.measured


def kept(name: str, **figures: object) -> dict[str, object]:
    return {
        name: {
            "command": f"{name}.py",
            "date": "2026-03-01",
            "cores": 2,
            "load": "0.1 to 0.2",
            "figures": figures,
        }
    }


@pytest.mark.parametrize(("ratio", "answer"), [(2, "yes"), (2.01, "**no**")])
def test_whether_an_aim_is_met_is_computed(ratio: float, answer: str) -> None:
    page = summarize_scale.page(kept("store", write_ratio=ratio, keyed_write_ratio=1))
    what = "Writing predictions, over DuckDB's own insert of the values"
    ratios = f"the values alone {ratio}, with the submission 1"
    assert f"| {what} | 2 times | {ratios} times | {answer} |" in page
    assert f"{int(ratio == 2)} of 1 aims are met. Not measured yet: `start`, `csv`, " in page


def test_one_figure_above_the_limit_misses_an_aim() -> None:
    page = summarize_scale.page(
        kept("start", submit={"least": 0.4}, leaderboard={"a": 0.3, "b": 1})
    )
    assert "| 0.35 s | a 0.3, b 1 s | **no** |" in page
    assert "| 0.45 s | least 0.4 s | yes |" in page


def test_a_part_is_run_again_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "scale.md"
    before = {
        **kept("start", submit={"": 0.4}, leaderboard={"": 0.3}),
        **kept("store", write_ratio=3, keyed_write_ratio=1),
    }
    page.with_suffix(".json").write_text(json.dumps(before))

    def run_part(command: str) -> dict[str, object]:
        if command != "bench_store.py":
            raise subprocess.CalledProcessError(1, command)
        return kept("store", write_ratio=1.5, keyed_write_ratio=1)["store"]

    monkeypatch.setattr(summarize_scale, "run_part", run_part)
    monkeypatch.setattr(sys, "argv", ["", "--only", "start,store", "--out", str(page)])
    with pytest.raises(SystemExit, match=r"Failed: start\."):
        summarize_scale.main()
    text = page.read_text("utf-8")
    assert "| 2 times | the values alone 1.5, with the submission 1 times | yes |" in text
    assert "| 0.35 s | 0.3 s | yes |" in text
