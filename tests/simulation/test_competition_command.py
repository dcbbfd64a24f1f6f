"""``arena simulate competition``: its document, its folder, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from competition_folder import document
from program import run_here, write_csv

SMALL = (
    "simulate", "competition", "s", "--teams", 5, "--days", 3, "--rows", 300,
    "--train-rows", 200, "--validation-rows", 100, "--workers", 1,
)  # fmt: skip
QUICK = (*SMALL, "--kinds", "copycat=2, random-search=2, block-flip(rows=20)=1")


def test_document_and_going_on(tmp_path):
    first = document(run_here(*QUICK, "--json", cwd=tmp_path), "simulate-competition")
    assert first["seed"] == 0
    assert [kind["teams"] for kind in first["kinds"]] == [2, 2, 1]
    (under,) = first["mechanisms"]
    assert under["truth"] == "exact"
    assert under["submissions"] == sum(row["submissions"] for row in under["standings"])
    assert {row["team"] for row in under["standings"]} >= {under["winner"], under["best"]}
    again = document(run_here(*QUICK, "--json", cwd=tmp_path), "simulate-competition")
    assert again == first
    audited = document(run_here("audit", "-C", "s", "--json", cwd=tmp_path), "audit")
    assert {event["actor"] for event in audited["events"]} == {"simulation with seed 0"}
    assert json.loads((tmp_path / "s" / "simulation.json").read_text())["what"].startswith(
        "Everything in this folder is simulated"
    )


def own_data(folder, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=700)
    values = {"y": np.where(x + rng.normal(size=700) > 0.5, "yes", "no"), **columns}
    write_csv(folder / "own.csv", ["x", *values], list(zip(x, *values.values(), strict=True)))
    return ("--data", "own.csv")


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--mechanism", "laddr-free"), 1, "Did you mean 'ladder-free'"),
        (("--kinds", "copycatt=2"), 1, "Did you mean 'copycat'"),
        (("--kinds", "copycat(share=3)"), 2, "share is above 0"),
        (("--kinds", "auc-oracle"), 2, "take --metric roc_auc"),
        (("--metric", "acuracy"), 1, "Did you mean 'accuracy'"),
        (("--metric", "rmse"), 1, "cannot score"),
        (("--data", "own.csv"), 2, "go together"),
        (("--data", "own.csv", "--target", "y", "--rows", "5000"), 1, "has 700 rows"),
        (("--data", "own.csv", "--target", "one"), 1, "one value only"),
        (("--data", "own.csv", "--target", "z"), 1, "no column 'z'"),
    ],
)
def test_refused_in_a_line_before_anything_is_made(tmp_path, given, code, said):
    own_data(tmp_path, one=np.ones(700))
    called = run_here(*SMALL, *given, cwd=tmp_path)
    assert called.returncode == code, called.stderr
    assert said in called.stderr
    assert called.stderr.count("\n") == 1
    assert not called.stdout
    assert not (tmp_path / "s").exists()
