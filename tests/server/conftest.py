"""A competition that is served, without its processes; and a web site without a scorer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.server.records.layout import Layout
from checked_responses import checked_responses
from program import write_csv
from served import N_ROWS
from web_site import WebSite


@pytest.fixture(scope="session", autouse=True)
def _checked_responses() -> Iterator[None]:
    """Check that every answer of the API in this process has the type of its endpoint."""
    with checked_responses():
        yield


@pytest.fixture(scope="session")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a competition that no test changes."""
    tmp_path = tmp_path_factory.mktemp("created")
    rng = np.random.default_rng(2)
    rows = [(f"r{i}", int(rng.random() < 0.5)) for i in range(N_ROWS)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    settings = Settings.of(metric="roc_auc", per_day=3, final_rule="chosen", intervals=False)
    path = tmp_path / "race"
    Competition.create(
        path,
        tmp_path / "solution.csv",
        settings,
        public_share=0.5,
        seed=1,
        clock=lambda: datetime(2026, 3, 1, tzinfo=UTC),  # before all clocks of tests
    ).close()
    (path / "rules.md").write_text("# Rules\n")
    return path


@pytest.fixture
def folder(created: Path, tmp_path: Path) -> Path:
    """Return the folder of a new competition."""
    return shutil.copytree(created, tmp_path / "race")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout_of_test = Layout(tmp_path / "server")
    layout_of_test.create()
    return layout_of_test


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebSite]:
    site = WebSite(tmp_path / "root")
    yield site
    site.close()
