"""One small plan, whose figures are worked out from the pilot's answers beside it."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from kept import check_kept, check_kept_document, masked
from page_text import charts_of, lines_of, text_of
from program import run_here, write_csv

N = 120


def planned(folder: Path, *more: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the document of a plan, and which rows of the pilot each submission has right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=N)
    write_csv(folder / "solution.csv", ["id", "y"], list(enumerate(truth.tolist())))
    right = {}
    for name, share in (("a", 0.9), ("b", 0.8), ("c", 0.7)):
        right[name] = rng.random(N) < share
        sent = np.where(right[name], truth, 1 - truth)
        write_csv(folder / f"{name}.csv", ["id", "y"], list(enumerate(sent.tolist())))
    done = run_here(
        "plan", "solution.csv", "a.csv", "b.csv", "c.csv", "-m", "accuracy", "--rows", "100,400",
        "--per-day", "2", "--teams", "5", "--public-share", "0.3", "--days", 2, "--resamples", 150,
        "--json", *more, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), right


def test_the_command_prints_what_the_formulas_give(tmp_path: Path) -> None:
    document, right = planned(tmp_path, "--report", "plan.html")
    check_kept_document("plan", document)
    html = (tmp_path / "plan.html").read_text(encoding="utf-8")
    check_kept("plan.txt", masked(lines_of(html)))
    check_kept_document("plan-charts", charts_of(html))
    assert (document["pilot_rows"], document["submissions"], document["copies"]) == (N, 3, 0)

    # The standard error of a difference is that of the mean of the rows' differences.
    errors = [
        (right[one].astype(int) - right[other]).std(ddof=1) / np.sqrt(N)
        for one, other in combinations("abc", 2)
    ]
    error, difference = document["standard_error"], document["difference"]
    assert error == pytest.approx(np.median(errors), rel=0.1)
    # It shrinks with the root of the rows; a two-sided test at 5%, and at 5% / 3 of three pairs.
    for row in document["rows"]:
        lead = difference / (error * np.sqrt(N / row["test_rows"]))
        for name, tail in (("power", 0.025), ("power_corrected", 0.025 / 3)):
            critical = stats.norm.isf(tail)
            power = stats.norm.sf(critical - lead) + stats.norm.cdf(-critical - lead)
            assert row[name] == pytest.approx(power, abs=0.02)
        for name in ("power", "power_corrected", "best_wins", "interval_width", "winner_width"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    few, many = document["rows"]
    assert few["best_wins"] < many["best_wins"]
    assert few["interval_width"] > many["interval_width"]
    for needed in document["power_rows"]:
        critical = stats.norm.isf(0.025 / 3) + stats.norm.ppf(needed["power"])
        assert needed["test_rows"] == pytest.approx(
            N * (critical * error / difference) ** 2, rel=0.05
        )

    assert len(document["answers"]) == 6
    # 30% public: 120 private rows are 70% of 171 rows; two submissions on each of two days.
    by_share = next(sweep for sweep in document["sweeps"] if sweep["name"] == "public_share")[
        "designs"
    ]
    assert {row["public_rows"] + row["private_rows"] for row in by_share} == {171}
    assert [row["public_rows"] for row in by_share if row["setting"] == 0.3] == [51]
    for sweep in document["sweeps"]:
        for design in sweep["designs"]:
            on_a_day = design["setting"] if sweep["name"] == "per_day" else 2
            assert design["submissions"] == 2 * on_a_day
            for name in ("best_wins", "tau", "contenders"):
                assert design[f"{name}_low"] <= design[name] <= design[f"{name}_high"], name
            assert design["loss"] >= 0
    by_rows = next(sweep for sweep in document["sweeps"] if sweep["name"] == "rows")["designs"]
    assert by_rows[0]["best_wins"] < by_rows[-1]["best_wins"]
    assert by_rows[0]["loss"] > by_rows[-1]["loss"]


@pytest.mark.slow
def test_the_report_has_what_the_command_prints(tmp_path: Path) -> None:
    document, _ = planned(tmp_path, "--report", "plan.html")
    page = " ".join(text_of((tmp_path / "plan.html").read_text(encoding="utf-8")).split())
    assert document["paragraph"] in page
    for needed in document["best_wins_rows"]:
        low, high = needed["test_rows_low"], needed["test_rows_high"]
        ends = f"at least {low:,.0f}" if high is None else f"{low:,.0f} to {high:,.0f}"
        is_known = high is not None and high <= 10 * low and needed["test_rows"] is not None
        number = f"{needed['test_rows']:,.0f} .*?" if is_known else ""
        share = f"{100 * needed['probability']:.0f}"
        assert re.search(rf"first place {share}(\.0)?% {number}{ends}", page)
    for answer in document["answers"]:
        assert answer["question"] in page
        assert answer["answer"] in page
