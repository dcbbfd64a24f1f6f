"""Journeys of an organiser in a real browser, on ``arena serve`` with all its processes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.client import Client
from arena.config import CONFIG_NAME
from arena.server.records.layout import Layout
from browser import PATIENCE, new_context
from program import run_here, write_csv
from scenario import IDS, N_ROWS, PUBLIC, TRUTH, Scenario
from serving import Server, arguments_of, children, running, tokens_of, until

pytestmark = pytest.mark.slow  # a browser and a server take long to start

WIDE: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}}


@pytest.fixture
def race(tmp_path: Path) -> Path:
    """Create a competition by the command, as an organiser does."""
    usage = np.where(PUBLIC, "Public", "Private")
    rows = zip(IDS, TRUTH, usage, strict=True)
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    process = run_here(
        "init", "race", "--solution", "solution.csv", "--metric", "accuracy", cwd=tmp_path
    )
    assert process.returncode == 0, process.stderr
    set_in(tmp_path / "race", "mechanism", '"ladder-free"')
    return tmp_path / "race"


def set_in(folder: Path, key: str, value: str) -> None:
    """Set a key of competition.toml by hand."""
    path = folder / CONFIG_NAME
    text, n_changed = re.subn(
        rf"^(# )?{key} =.*$", f"{key} = {value}", path.read_text(), count=1, flags=re.MULTILINE
    )
    assert n_changed == 1, key
    path.write_text(text)


@contextmanager
def organiser(browser: Any, server: Server) -> Iterator[Any]:
    """Open the organiser's page by the link that the server printed."""
    context = new_context(browser, **WIDE)
    page = context.new_page()
    page.goto(server.organiser_link)
    page.click("main button")
    page.wait_for_url("**/race/admin")
    yield page
    context.close()


def seen(page: Any, look: Callable[[str], object]) -> str:
    """Load a page again until it shows something; return its text."""
    end = time.monotonic() + PATIENCE
    while not look(text := page.text_content("main")):
        assert time.monotonic() < end, text
        page.wait_for_timeout(200)
        page.reload()
    return str(text)


def sent(server: Server, token: str, file: Path) -> dict[str, Any]:
    client = Client(f"{server.url}/race", token)
    return client.wait(client.submit(file)["request"], PATIENCE)


def test_a_course_is_hosted_from_nothing(browser: Any, race: Path, scenario: Scenario) -> None:
    """From the printed link to a second person's score, by the pages alone."""
    file = scenario.file_right_on(80)
    with running(race) as server, organiser(browser, server) as host:
        host.click("text=Create a new registration code")
        code = host.locator("code.secret").text_content()
        context = new_context(browser, viewport={"width": 360, "height": 740})
        page = context.new_page()
        page.goto(f"{server.url}/race/")
        page.click("text=Take part")
        for name, value in (("code", code), ("name", "Ada"), ("team", "Ants")):
            page.fill(f"#{name}", value)
        if page.locator("#accept").count():
            page.check("#accept")
        page.click("main button.button")
        page.goto(f"{server.url}/race/submit")
        page.set_input_files("#file", str(file))
        page.click("form.card button.button")
        page.wait_for_selector(".verdict:has-text('0.8')")
        context.close()
        host.goto(f"{server.url}/race/admin/submissions")
        assert file.name in host.text_content("main")


def test_a_deadline_is_extended_in_the_browser(browser: Any, race: Path) -> None:
    deadline = (datetime.now(UTC) + timedelta(days=3)).replace(second=0, microsecond=0)
    set_in(race, "deadline", deadline.isoformat())
    later = deadline + timedelta(days=7)
    with running(race) as server, organiser(browser, server) as host:
        host.click("nav >> text=Settings")
        host.fill("[id='competition.deadline']", later.strftime("%Y-%m-%d %H:%M"))
        host.click("form:has(fieldset) >> text=Preview")
        assert "competition.deadline:" in host.text_content("#preview")
        host.click("#preview >> text=Apply")
        host.wait_for_url("**/submissions/*")
        seen(host, lambda text: "competition.deadline:" in text)
        host.goto(f"{server.url}/race/overview")
        day = later.strftime("%Y-%m-%dT%H:%M")
        seen(host, lambda _text: host.locator(f"main time[datetime^='{day}']").count())
        # Announced, with a question about it answered for everybody.
        host.goto(f"{server.url}/race/admin")
        host.fill("#text", "The deadline moves by a **week**.")
        host.click("text=Announce >> nth=-1")
        host.goto(f"{server.url}/race/")
        assert "moves by a week" in host.text_content("main")
    assert f"{later.year}-{later:%m-%d}" in (race / CONFIG_NAME).read_text()


def test_a_wrong_solution_is_corrected_in_mid_competition(
    browser: Any, race: Path, scenario: Scenario
) -> None:
    tokens = tokens_of(Layout(race / "server"), "race", ["Ants", "Bees"])
    with running(race) as server, organiser(browser, server) as host:
        for token, right in zip(tokens, (90, 70), strict=True):
            assert sent(server, token, scenario.file_right_on(right))["status"] == "accepted"
        wrong = np.where(np.arange(N_ROWS) < 40, 1 - TRUTH, TRUTH)
        usage = np.where(PUBLIC, "Public", "Private")
        rows = zip(IDS, wrong, usage, strict=True)
        write_csv(race / "corrected_solution.csv", ["id", "y", "Usage"], rows)
        host.goto(f"{server.url}/race/admin#rescore")
        host.click("text=Preview the rescore")
        answer = seen(host, lambda text: "enter the code" in text)
        code = re.search(r"enter the code (\w+)", answer)
        assert code is not None
        host.goto(f"{server.url}/race/admin#rescore")
        host.fill("#preview", code[1])
        host.click("text=Apply the rescore")
        seen(host, lambda text: "Labels were corrected" in text or "rescored" in text)
        host.goto(f"{server.url}/race/")
        text = seen(host, lambda text: "were released again" in text)
        assert "0.7" in text and "0.9" not in text.partition("Public board")[2]  # noqa: PT018


def test_a_laptop_dies_and_the_folder_moves(
    scenario: Scenario, browser: Any, race: Path, tmp_path: Path
) -> None:
    (token,) = tokens_of(Layout(race / "server"), "race", ["Ants"])
    moved = tmp_path / "new" / "race"
    with running(race) as server, organiser(browser, server) as host:
        assert sent(server, token, scenario.file_right_on(80))["status"] == "accepted"
        host.goto(f"{server.url}/race/admin/teams")
        started = children(server.process.pid)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(arguments_of(pid) for pid in started), "The processes did not end.")
    moved.parent.mkdir()
    race.rename(moved)
    with running(moved) as server, organiser(browser, server) as host:
        host.goto(f"{server.url}/race/")
        assert "Ants" in seen(host, lambda text: "0.8" in text)
        again = sent(server, token, scenario.file_right_on(90))
        assert (again["status"], again["score"]) == ("accepted", pytest.approx(0.9))


def test_results_are_verified_and_published(browser: Any, race: Path, scenario: Scenario) -> None:
    tokens = tokens_of(Layout(race / "server"), "race", ["Ants", "Bees"])
    with running(race) as server, organiser(browser, server) as host:
        for token, right in zip(tokens, (90, 70), strict=True):
            assert sent(server, token, scenario.file_right_on(right))["status"] == "accepted"
        # By hand, because a deadline is never set to an earlier time by the web.
        set_in(race, "deadline", (datetime.now(UTC) - timedelta(seconds=1)).isoformat())
        host.goto(f"{server.url}/race/")
        seen(host, lambda text: "The deadline has passed" in text)
        host.goto(f"{server.url}/race/admin")
        host.check("#sure")
        host.click("#end + form button:has-text('Finalize')")
        seen(host, lambda text: "See the private board before publishing it" in text)
        host.click("text=See the private board before publishing it")
        assert "may be first and are not verified" in host.text_content("main")
        host.select_option("#verify-submission", "1")
        host.fill("#verify-note", "Trained again: the same file.")
        host.click("text=Record the outcome")
        seen(host, lambda text: "Submission 1 is verified" in text)
        host.goto(f"{server.url}/race/admin/result")
        assert "verified" in host.locator("tr", has_text="Ants").text_content()
        host.check("#sure")
        host.click("main button:has-text('Publish')")
        seen(host, lambda text: "is published, as result 1" in text)
        context = new_context(browser)
        guest = context.new_page()
        guest.goto(f"{server.url}/race/private")
        row = guest.locator("tr", has_text="Ants").text_content()
        assert "verified" in row
        assert guest.locator("#verify").count() == 0
        context.close()
