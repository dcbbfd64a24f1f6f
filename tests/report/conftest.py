"""A competition of hostile names that has come to its end, and its reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena import Competition, Settings
from arena.report import Report, page
from arena.report.competition import competition_report, public_competition_report
from hostile_competition import BASELINE, HOSTILE, TITLE, write_files


@pytest.fixture(scope="session")
def competition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Competition]:
    """Run a competition to its end; tests must not change it."""
    folder = tmp_path_factory.mktemp("report")
    files = write_files(folder)
    settings = Settings.model_validate(
        {
            "competition": {
                "title": TITLE,
                "deadline": "2100-01-02T03:04:00",
                "baseline": BASELINE,
            },
            "metric": {"name": "roc_auc"},
            "analysis": {"resamples": 200},
        }
    )
    created = Competition.create(folder / "c", folder / "solution.csv", settings, seed=1)
    with created as competition:
        for file, team in zip(files, (*HOSTILE, BASELINE), strict=True):
            assert competition.submit(file, team).status == "accepted"
        competition.submit(folder / "refused.csv", "refused team")
        competition.finalize()
        yield competition


@pytest.fixture(scope="session")
def report(competition: Competition) -> Report:
    """Return the organiser's report."""
    return competition_report(competition)


@pytest.fixture(scope="session")
def html(report: Report) -> str:
    """Return the page of the organiser's report."""
    return page(report)


@pytest.fixture(scope="session")
def public_html(competition: Competition) -> str:
    """Return the page that participants may see."""
    return page(public_competition_report(competition))
