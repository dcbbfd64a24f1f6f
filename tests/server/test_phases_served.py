"""Phases on a server: what is open, which board is shown, and when that changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from arena.client import RefusedRequestError
from arena.competition.competition import Competition
from arena.config import ServerSection, Settings
from arena.server.compare import RecordedRequests
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.published import CompetitionFacts, Published
from arena.server.scorer.facts import facts
from arena.server.scorer.scorer import Scorer, kept_after_a_rebuild
from program import write_csv
from scenario import IDS, MANAGER, N_ROWS, TRUTH
from served_boards import MovedClock, served_here

USAGE = np.where(np.arange(N_ROWS) % 2 == 0, "dev", "final")
PHASES = {
    "dev": {"end": "2999-01-01", "public_rows": "dev", "limits": {"total": 3}},
    "warm-up": {"end": "2998-01-01", "public_rows": "dev", "limits": {"total": 1}},
    "final": {"start": "2999-01-02", "end": "2999-02-01", "private_rows": "final"},
}


def _file(path: Path, usage: str, wrong: int) -> Path:
    rows = np.flatnonzero(usage == USAGE)
    cells = [1 - TRUTH[row] if n < wrong else TRUTH[row] for n, row in enumerate(rows)]
    write_csv(path, ["id", "y"], [[IDS[row], cell] for row, cell in zip(rows, cells, strict=True)])
    return path


@pytest.mark.slow
def test_a_served_competition_goes_from_phase_to_phase(tmp_path: Path) -> None:
    rows = list(zip(IDS, TRUTH, USAGE, strict=True))
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    settings = Settings.of(metric="accuracy", mechanism="ladder-free", phase=PHASES)
    race = tmp_path / "race"
    Competition.create(race, tmp_path / "solution.csv", settings, manager=MANAGER).close()
    clock = MovedClock()
    with served_here(race, Layout(tmp_path / "served"), clock, ["owls"]) as served:
        client, address = served.clients["owls"], str(served.organiser.base_url)

        def send(usage: str, wrong: int, **phase: str) -> dict[str, Any]:
            name = "-".join([usage, str(wrong), *phase.values()])
            submission = client.submit(_file(tmp_path / f"{name}.csv", usage, wrong), **phase)
            served.judge()
            return client.wait(submission["request"])

        def shown(path: str) -> Any:
            return httpx.get(f"{address}{path}".rstrip("/")).json()

        with pytest.raises(RefusedRequestError, match="Name one of them: dev"):
            send("dev", 10)
        with pytest.raises(RefusedRequestError, match="no such phase. Choose one of these: dev"):
            send("dev", 10, phase="other")
        assert send("dev", 10, phase="dev")["score"] == 0.9
        assert send("dev", 12, phase="warm-up")["score"] == 0.9  # one instance for both
        assert send("dev", 11, phase="warm-up")["status"] == "refused"
        with closing(Published(Layout(tmp_path / "served").public("race"))) as published:
            assert published.team("owls").used_in_phases == {"dev": 1, "warm-up": 1}
        # Of two open phases that began at no time, the first is shown.
        assert [row["score"] for row in shown("board")["rows"]] == [0.9]
        assert shown("board?phase=final")["rows"] == []
        assert httpx.get(f"{address}board?phase=x").status_code == 404
        assert [phase["state"] for phase in shown("phases")["phases"]] == ["open", "open", "next"]
        page = httpx.get(address.replace("/api/v1", ""), follow_redirects=True).text
        assert 'href="?phase=final"' in page
        assert "This phase has the same public rows as: warm-up" in page

        clock.offset = datetime(2999, 1, 3, tzinfo=UTC) - datetime.now(UTC)
        served.judge()
        assert [phase["state"] for phase in shown("phases")["phases"]] == ["ended", "ended", "open"]
        assert shown("")["current_phase"] == "final"
        assert send("final", 5)["score"] is None
        assert shown("board")["rows"] == []
        assert len(shown("board?phase=dev")["rows"]) == 1

        clock.offset = datetime(2999, 2, 3, tzinfo=UTC) - datetime.now(UTC)
        served.judge()
        assert [row["score"] for row in served.end()["leaderboard"]] == [0.95]


DUE = ("2998-03-08", "2998-03-15", "2998-03-22")
ROUNDS = [f"week-{day}" for day in DUE]


def _forecasts(path: Path, days: Sequence[str]) -> Path:
    write_csv(path, ["id", "y"], [(f"{place}@{day}", 1.0) for day in days for place in "ab"])
    return path


@pytest.mark.slow
def test_an_upload_counts_for_every_open_round_whose_rows_it_has(tmp_path: Path) -> None:
    rows = [(f"{place}@{day}", day, "") for day in DUE for place in "ab"]
    write_csv(tmp_path / "solution.csv", ["id", "due", "y"], rows)
    phase = {"week": {"each": "due", "limits": {"total": 2}}}
    settings = Settings.of(metric="mae", pending_labels=True, phase=phase)
    season = tmp_path / "season"
    Competition.create(season, tmp_path / "solution.csv", settings, manager=MANAGER).close()
    clock, layout = MovedClock(), Layout(tmp_path / "served")
    with served_here(season, layout, clock, ["owls"]) as served:
        client = served.clients["owls"]

        def send(name: str, days: Sequence[str], **keys: str) -> dict[str, Any]:
            submission = client.submit(_forecasts(tmp_path / f"{name}.csv", days), **keys)
            served.judge()
            return client.wait(submission["request"])

        def rounds_of(answer: dict[str, Any]) -> list[tuple[str, str]]:
            return [
                (round_answer["phase"], round_answer["status"])
                for round_answer in (answer, *answer["rounds"])
            ]

        first = send("all", DUE)
        assert rounds_of(first) == [(name, "accepted") for name in ROUNDS]
        assert send("all", DUE) == first
        other = client.request(first["rounds"][1]["request"])
        assert (other["phase"], other["submission"], other["rounds"]) == (ROUNDS[2], 3, [])
        named = send("named", DUE, phase=ROUNDS[2], key="named")
        assert rounds_of(named) == [(ROUNDS[2], "accepted")]
        page = client._json("GET", "/submissions?limit=2")  # all rounds of a file together
        assert [request["submission"] for request in page["requests"]] == [4, 1, 2, 3]

        clock.offset = datetime(2998, 3, 10, tzinfo=UTC) - datetime.now(UTC)
        served.judge()
        late = send("late", [DUE[0], DUE[2], DUE[1]], key="late")
        assert rounds_of(late) == [(ROUNDS[1], "accepted"), (ROUNDS[2], "refused")]
        assert late["closed_rounds"] == [ROUNDS[0]]
        refused = send("ended", DUE[:1], key="ended")
        assert rounds_of(refused) == [(ROUNDS[0], "refused")]
        submissions = client._json("GET", "/submissions")["requests"]

        with closing(Accounts(layout.intake, clock=clock)) as accounts:
            people = (person.account for person in accounts.accounts(season.name))
            member = next(account for account in people if accounts.team_of(season.name, account))
            session = accounts.open_session(member)

        def page(path: str, **cookies: str) -> str:
            address = str(served.organiser.base_url).replace("/api/v1", "") + path
            return httpx.get(address, cookies=cookies, follow_redirects=True).text

        for_everybody = page("")
        assert "1 round has ended" in for_everybody
        assert "/submissions/" not in for_everybody
        assert for_everybody.index(ROUNDS[1]) < for_everybody.index(ROUNDS[0])  # open ones first
        assert for_everybody.count("0 of 2") == len(ROUNDS)
        assert "This phase shows no scores before its result is published." in for_everybody
        assert "Rule of the public board" not in for_everybody
        own = page("submit", arena=session)
        links = re.findall(r"/submissions/([\w-]+)\">(\d+)</a>", own)
        assert links == [(late["request"], "5"), (named["request"], "4"), (first["request"], "1")]
    with Competition.open(season, clock=clock) as competition:
        assert competition.audit() == ()
        with Scorer(competition, season.name, layout, ServerSection(), clock=clock):
            published = Published(layout.public(season.name))
            again = published.answers("owls")
            published.close()
        with closing(Intake(layout.intake, read_only=True)) as intake:
            recorded = RecordedRequests.of(competition.events())
            assert recorded.compare(intake, season.name).differences == ()
    assert [(state.request, state.status, list(state.closed_rounds)) for state in again] == [
        (submission["request"], submission["status"], submission["closed_rounds"])
        for submission in submissions
    ]


@pytest.mark.slow
def test_standing_scores_of_every_phase_follow_a_rebuild(tmp_path: Path) -> None:
    rows = list(zip(IDS, TRUTH, USAGE, strict=True))
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    phases = {"dev": {"public_rows": "dev"}, "final": {"public_rows": "final"}}
    settings = Settings.of(metric="accuracy", mechanism="ladder-free", phase=phases)
    race = tmp_path / "race"
    with Competition.create(race, tmp_path / "solution.csv", settings, manager=MANAGER) as opened:
        for phase in phases:
            for wrong in (30, 10, 20):
                opened.submit(_file(tmp_path / "x.csv", phase, wrong), "owls", phase=phase)
        numbers = [record.submission for record in opened.records()]
        assert kept_after_a_rebuild(opened, numbers) == set()
        opened.disqualify(2, "a leak")
        standing = {
            row["submission"] for view in opened.in_each_phase() for row in view.leaderboard()
        }
        assert standing == {3, 5}
        assert kept_after_a_rebuild(opened, numbers) == {1, 2, 4, 6}


@pytest.mark.slow
def test_the_page_of_another_phase_has_the_facts_of_that_phase(tmp_path: Path) -> None:
    """As they are once it is the current one, but for texts on its metric and mechanism."""
    rows = list(zip(IDS, TRUTH, USAGE, strict=True))
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    phases = {
        "dev": {"public_rows": "dev"},
        "final": {
            "start": "2026-01-01", "end": "2999-01-01", "public_rows": "final",
            "metric": {"name": "f1(average=macro)", "decimals": 2, "unit": "%"},
            "public": {"mechanism": "kaggle", "freeze": "2998-01-01"},
            "limits": {"per_day": 2, "per_week": 3, "total": 4},
            "final": {"rule": "last"},
        },
    }  # fmt: skip
    settings = Settings.of(metric="accuracy", mechanism="ladder-free", phase=phases)
    solution = tmp_path / "solution.csv"
    with Competition.create(tmp_path / "race", solution, settings, manager=MANAGER) as opened:
        dev_facts, final_facts = (
            facts(opened.in_phase(name), "race", ServerSection()) for name in ("dev", "final")
        )
    differ = {
        field.name
        for field in fields(CompetitionFacts)
        if getattr(dev_facts.of_phase("final"), field.name) != getattr(final_facts, field.name)
    }
    assert differ <= {"current_phase", "metric_text", "mechanism_text", "final_rule"}, differ


@pytest.mark.slow
def test_a_board_over_phases_is_on_the_site(tmp_path: Path) -> None:
    usage = np.array(
        [f"{task} {('public', 'private')[n // 2 % 2]}" for n, task in enumerate(USAGE)]
    )
    rows = list(zip(IDS, TRUTH, usage, strict=True))
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    phases = {
        name: {"public_rows": f"{name} public", "private_rows": f"{name} private"}
        for name in ("dev", "final")
    }
    settings = Settings.of(
        metric="accuracy",
        mechanism="full",
        phase=phases,
        board={"both tasks": {"phases": ["dev", "final"], "weights": {"dev": 3}}},
    )
    race = tmp_path / "race"
    Competition.create(race, tmp_path / "solution.csv", settings, manager=MANAGER).close()
    with served_here(race, Layout(tmp_path / "served"), MovedClock(), ["owls"]) as served:
        client, address = served.clients["owls"], str(served.organiser.base_url)
        for name, wrong in (("dev", 20), ("final", 40)):
            submission = client.submit(_file(tmp_path / f"{name}.csv", name, wrong), phase=name)
            served.judge()
            assert client.wait(submission["request"])["status"] == "accepted"
        query = "board=both+tasks"
        (row,) = httpx.get(f"{address}board?{query}").json()["rows"]
        dev, final = (
            httpx.get(f"{address}board?phase={name}").json()["rows"][0]["score"] for name in phases
        )
        assert row["score"] == pytest.approx((3 * dev + final) / 4)
        assert (row["accuracy of dev"], row["accuracy of final"]) == (dev, final)
        table = httpx.get(f"{address}board.csv?{query}").text.splitlines()
        assert (
            table[0] == "rank,team,score,n_submissions,baseline,accuracy of dev,accuracy of final"
        )
        assert httpx.get(f"{address}board?board=x").status_code == 404
        site = address.replace("/api/v1", "")
        assert 'href="?board=both+tasks"' in httpx.get(site, follow_redirects=True).text
        page = httpx.get(f"{site}?{query}").text
        assert "This board is by the weighted mean of accuracy over phases" in page
        assert "dev, final." in page
