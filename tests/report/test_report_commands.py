"""The commands that write reports: what they say, what they refuse, and what they leave out."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from competition_folder import change
from hostile_competition import SCRIPT, write_files
from page_text import text_of
from program import UNPROTECTED, run_here

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a competition of a few teams once."""
    folder = tmp_path_factory.mktemp("commands")
    write_files(folder)
    run = partial(run_here, cwd=folder)
    creation = run(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED, "--metric", "roc_auc", "--seed", 1,
        "--title", "A <b>title",
    )  # fmt: skip
    assert creation.returncode == 0, creation.stderr
    settings = folder / "c" / "competition.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("resamples = 1000", "resamples = 100"), encoding="utf-8")
    for number, team in enumerate((SCRIPT, "one", "two")):
        assert run("submit", "-C", "c", f"{number}.csv", "--team", team).returncode == 0
    assert run("submit", "-C", "c", "refused.csv", "--team", "late").returncode == 1
    assert run("disqualify", "-C", "c", 3, "--reason", "two <accounts>").returncode == 0
    return folder


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_once, tmp_path / "work"))


@pytest.fixture
def run(folder: Path) -> Run:
    return partial(run_here, cwd=folder)


def test_report_before_and_after_the_end(run: Run, folder: Path) -> None:
    early = run("report", "-C", "c", "--out", "page.html")
    assert early.returncode == 2
    assert early.stderr.endswith("There is no private board yet: finalize first.\n")
    assert not (folder / "page.html").exists()
    finalized = run(
        "finalize", "-C", "c", "--report", "end.html", "--charts", "pictures", "--table", "b.tex"
    )
    assert finalized.returncode == 0, finalized.stderr
    assert "The report is end.html" in finalized.stderr
    assert (folder / "pictures" / "rank-intervals.png").exists()
    assert r"\begin{tabular}" in (folder / "b.tex").read_text(encoding="utf-8")
    events = json.loads(run("audit", "-C", "c", "--json").stdout)["events"]
    done = run("report", "-C", "c", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    assert json.loads(run("audit", "-C", "c", "--json").stdout)["events"] == events
    assert (folder / "page.html").read_bytes() == (folder / "end.html").read_bytes()
    text = text_of((folder / "page.html").read_text(encoding="utf-8"))
    for sentence in ("A <b>title", SCRIPT, "Disqualified: two <accounts>", "refused.csv of late"):
        assert sentence in text


def test_a_board_that_changed_since_is_not_reported_as_final(run: Run, folder: Path) -> None:
    assert run("finalize", "-C", "c").returncode == 0
    assert run("submit", "-C", "c", "5.csv", "--team", "newcomer").returncode == 0
    refused = run("report", "-C", "c", "--out", "page.html")
    assert refused.returncode == 2
    messages = [line for line in refused.stderr.splitlines() if not line.endswith("…")]  # progress
    assert len(messages) == 1
    assert messages[0].endswith("Run arena finalize again first.")
    assert not (folder / "page.html").exists()


def test_the_report_says_what_changed_while_it_ran(run: Run, folder: Path) -> None:
    change(folder / "c", 'mechanism = "full"', 'mechanism = "kaggle"')
    assert run("submit", "-C", "c", "5.csv", "--team", "newcomer").returncode == 0
    change(folder / "c", 'name = "roc_auc"', 'name = "average_precision"')
    assert run("rescore", "-C", "c", "--apply").returncode == 0
    done = run("finalize", "-C", "c", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    text = text_of((folder / "page.html").read_text(encoding="utf-8"))
    _, _, details = text.partition("How it was computed")
    for sentence in (
        "What changed while it ran",
        "analysis.resamples from 1000 to 100.",
        "public.mechanism from full to kaggle.",
        "The public board was released again for 2 submissions",
        "Scored again, revision 2: the metric from roc_auc to average_precision. It changed",
    ):
        assert sentence in details
    assert run("report", "-C", "c", "--out", "public.html", "--public").returncode == 0
    public = text_of((folder / "public.html").read_text(encoding="utf-8"))
    assert "mechanism from" not in public


def test_the_public_pages_at_any_time(run: Run, folder: Path) -> None:
    for command in (
        ("report", "-C", "c", "--out", "public.html", "--public"),
        ("leaderboard", "-C", "c", "--html", "public.html"),
    ):
        (folder / "public.html").unlink(missing_ok=True)
        done = run(*command)
        assert done.returncode == 0, done.stderr
        text = text_of((folder / "public.html").read_text(encoding="utf-8"))
        assert SCRIPT in text
        for sentence in ("How to submit", "last entry (UTC)", "Updated", "Last hash of the record"):
            assert sentence in text
        for left_out in ("refused", "late", "accounts", "Disqualified", "0.csv"):
            assert left_out not in text.replace("related", "")
    private = run("leaderboard", "-C", "c", "--html", "x.html", "--private")
    assert private.returncode == 2
    assert "arena report writes the private one" in private.stderr


def test_score_writes_report_and_charts_beside_its_document(run: Run, folder: Path) -> None:
    (folder / "files").mkdir()
    for number in range(3):
        shutil.copy(folder / f"{number}.csv", folder / "files")
    shutil.copy(folder / "refused.csv", folder / "files")
    command = (
        "score", "solution.csv", "files", "--metric", "roc_auc", "--resamples", 100, "--json",
        "--report", "page.html", "--charts", "pictures",
    )  # fmt: skip
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "arena/score/2"
    assert "refused.csv" in text_of((folder / "page.html").read_text(encoding="utf-8"))
    assert (folder / "pictures" / "wins.svg").exists()


@pytest.mark.parametrize("target", ["files", "nowhere/page.html"])
def test_a_bad_target_is_refused_before_anything_is_computed(
    run: Run, folder: Path, target: str
) -> None:
    (folder / "files").mkdir()
    for command in (
        ("score", "no-such.csv", "files", "--metric", "roc_auc", "--report", target),
        ("report", "-C", "c", "--out", target),
        ("finalize", "-C", "c", "--report", target),
        ("leaderboard", "-C", "c", "--html", target),
        ("demo", "--out", "d", "--report", target),
    ):
        refused = run(*command)
        assert refused.returncode == 2, command
        assert "folder" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        assert not refused.stdout


def test_a_report_has_the_heading_that_the_organiser_gives(run: Run, folder: Path) -> None:
    score = ("score", "solution.csv", "0.csv", "--metric", "roc_auc", "--resamples", 20)
    (folder / "logo.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    heading = ("--title", "Churn <2027>", "--organiser", "A & B", "--date", "1 May 2027")
    process = run(*score, *heading, "--logo", "logo.svg", "--report", "page.html")
    assert process.returncode == 0, process.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>Churn &lt;2027&gt;</title>" in page
    assert "<bdi>A &amp; B</bdi><bdi>1 May 2027</bdi>" in page
    assert 'src="data:image/svg+xml;base64,PHN2ZyB4' in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--title", "Churn"), "--title, --organiser, --date and --logo need --report FILE."),
        (
            ("--logo", "0.csv", "--report", "page.html"),
            "0.csv must be one of .svg, .png, .webp, .jpg, .jpeg.",
        ),
        (("--logo", "none.png", "--report", "page.html"), "none.png cannot be read: "),
    ],
)
def test_a_heading_that_cannot_be_shown_is_refused(
    run: Run, given: tuple[str, ...], message: str
) -> None:
    refused = run("score", "solution.csv", "0.csv", "--metric", "roc_auc", *given)
    assert refused.returncode in (1, 2)
    assert message in refused.stderr
