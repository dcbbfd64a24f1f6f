"""The program shows, writes and exports no soft label, not even in a message."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from competition_folder import change
from program import UNPROTECTED, run_here, write_csv

N = 60
IDS = [f"r{row:02d}" for row in range(N)]
SOFT = np.round(np.random.default_rng(8).uniform(0.01, 0.99, N), 9)
SECRETS = {f"{value:.9f}"[2:9] for share in SOFT for value in (share, 1 - share)}


def solution(path, soft=SOFT):
    rng = np.random.default_rng(0)
    truth = (rng.random(N) < SOFT).astype(int)
    usage = np.where(np.arange(N) % 2 == 0, "Public", "Private")
    columns = zip(IDS, truth, usage, (f"{share:.9f}" for share in soft), strict=True)
    write_csv(path, ["id", "y", "Usage", "doubt"], list(columns))


@pytest.fixture
def here(tmp_path):
    """A solution, and files that hold no more than two decimals."""
    solution(tmp_path / "solution.csv")
    for number, team in enumerate("abc"):
        rng = np.random.default_rng(number)
        values = np.clip(SOFT + rng.normal(0, 0.2, N), 0.05, 0.95).round(2)
        write_csv(tmp_path / "files" / f"{team}.csv", ["id", "y"],
                  list(zip(IDS, values, strict=True)))  # fmt: skip
    write_csv(tmp_path / "files" / "d.csv", ["id", "y"], [(i, "x") for i in IDS[3:]])
    return tmp_path


def told(texts):
    """Return the secrets that stand in a text."""
    return sorted(secret for secret in SECRETS for text in texts if secret in text)


@pytest.mark.slow
def test_they_are_in_nothing_that_is_shown_written_or_exported(here):
    options = ("--metric", "log_loss", "--target", "y", "--soft-labels", "doubt", "--seed", 1)
    calls = [run_here("init", "c", "--solution", "solution.csv", *UNPROTECTED, *options, cwd=here)]
    assert calls[0].returncode == 0, calls[0].stderr
    change(here / "c", "resamples = 1000", "resamples = 40")
    there = partial(run_here, cwd=here / "c")
    for command in (
        ("import", "../files"),
        ("leaderboard",),
        ("leaderboard", "--csv"),
        ("leaderboard", "--json"),
        ("leaderboard", "--html", "../board.html"),
        ("finalize", "--json"),
        ("leaderboard", "--private", "--json"),
        ("leaderboard", "--private", "--csv"),
        ("submissions", "--json"),
        ("report", "--out", "../report.html"),
        ("report", "--public", "--out", "../public.html"),
        ("replay", "--mechanism", "full"),
        ("rescore", "--solution", "../solution.csv"),
        ("export", "../out"),
        ("verify", "../out", "../solution.csv"),
        ("verify", "../out", "../files/a.csv"),
        ("submit", "../solution.csv", "-t", "thief"),
        ("audit", "--json"),
        ("score", "../solution.csv", "../files", *options, "--resamples", 20, "--json"),
        ("validate", "../solution.csv", "../files", *options[:6]),
    ):
        calls.append(there(*command, "--verbose"))
    codes = {" ".join(map(str, call.args)): call.returncode for call in calls}
    assert list(codes.values()).count(0) >= len(calls) - 3, codes
    finalized = next(call for call in calls if "finalize" in call.args)
    assert '"bayes-error"' in finalized.stdout
    files = [here / "board.html", here / "report.html", here / "public.html"]
    files += [path for path in (here / "out").rglob("*") if path.is_file()]
    files += [p for p in (here / "c").iterdir() if p.suffix != ".duckdb" and p.is_file()]
    texts = [call.stdout + call.stderr for call in calls]
    texts += [path.read_text(encoding="utf-8") for path in files]
    assert len(files) > 12
    assert "Lowest possible error rate" in texts[len(calls) + 1]
    assert len(told([(here / "solution.csv").read_text()])) == N
    assert not told(texts)


@pytest.mark.slow
def test_the_public_page_does_not_tell_the_floor(here):
    """Before the end no output tells how certain the labels of the private rows are."""
    options = ("--metric", "log_loss", "--target", "y", "--soft-labels", "doubt", "--seed", 1)
    assert (
        run_here(
            "init", "c", "--solution", "solution.csv", *UNPROTECTED, *options, cwd=here
        ).returncode
        == 0
    )
    change(here / "c", "resamples = 1000", "resamples = 40")
    for command in (("import", "../files"), ("report", "--public", "--out", "../public.html")):
        assert run_here(*command, cwd=here / "c").returncode == 0
    page = (here / "public.html").read_text(encoding="utf-8")
    assert "floor" not in page.partition("<script")[0]
    assert "better could anyone do" not in page


@pytest.mark.parametrize("wrong", [1.5, -0.5, float("nan")])
def test_a_fault_in_a_solution_quotes_none(here, wrong):
    soft = SOFT.copy()
    soft[7] += wrong
    solution(here / "wrong.csv", soft)
    options = ("--metric", "log_loss", "--target", "y", "--soft-labels", "doubt")
    called = run_here(
        "init", "w", "--solution", "wrong.csv", *UNPROTECTED, *options, "--verbose", cwd=here
    )
    assert called.returncode == 1
    assert "row 9" in called.stderr
    assert not told([called.stdout, called.stderr])


@pytest.mark.parametrize("kind", ["soft", "uncertainty", "counts"])
def test_a_fault_in_a_file_of_labels_quotes_none(here, kind):
    soft = SOFT + np.where(np.arange(N) % 9 == 0, 1, 0)
    rows = [(f"{share:.9f}",) for share in soft]
    write_csv(here / "labels.csv", ["doubt", "other"], [(*row, *row) for row in rows])
    column = "doubt,other" if kind == "counts" else "doubt"
    options = ("--kind", kind, "--column", column, "--verbose")
    called = run_here("bayes-error", "labels.csv", *options, cwd=here)
    assert called.returncode == 1
    assert called.stderr
    assert not told([called.stdout, called.stderr])
