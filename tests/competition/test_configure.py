"""Settings that the web process asks to change: which may be, and that the file stays the truth."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from arena.changeable_settings import CHANGEABLE, choices, read_value
from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, Settings, read_settings
from arena.requests import Request
from arena.server.web.settings_pages import GROUPS
from arena.server_section import ServerSection
from scenario import START, Scenario

DEADLINE = "2026-12-01T00:00:00+00:00"
LATER = "2026-12-08T00:00:00+00:00"


@pytest.fixture
def folder(scenario: Scenario) -> Path:
    scenario.create(title="Race", deadline=DEADLINE, per_day=5).close()
    path = scenario.folder / CONFIG_NAME
    path.write_text(f"# By hand.\n{path.read_text()}", encoding="utf-8")
    return scenario.folder


def ask(competition: Competition, changes: dict[str, Any], **texts: str) -> tuple[str, str]:
    seq = competition.cursor + 1
    request = Request(
        seq=seq,
        request=f"request-{seq}",
        kind="configure",
        team="",
        member="1",
        received=START,
        payload={"changes": changes, "texts": texts},
    )
    (answer,) = competition.process([request], seconds=60.0)
    return answer.status, answer.message


def test_a_change_is_written_and_adopted_with_comments_kept(folder: Path) -> None:
    before = (folder / CONFIG_NAME).read_text().splitlines()
    changes = {
        "competition.title": ["Race", "A [new] race"],
        "competition.deadline": [DEADLINE, LATER],
        "limits.per_day": [5, None],
        "server.forum": ["", "https://forum.example.org"],
    }
    with Scenario(folder.parent).reopen() as competition:
        assert not competition.has_new_settings()
        status, message = ask(competition, changes, **{"pages/prizes.md": "# Prizes\r\n\r\nOne."})
        assert (status, "competition.title: Race -> A [new] race" in message) == ("done", True)
        assert competition.has_new_settings()
        assert competition.settings_fault() == ""
        assert ask(competition, changes) == ("done", "Nothing was changed.")  # as after a kill
    settings = read_settings(folder / CONFIG_NAME)
    assert settings.competition.deadline == datetime(2026, 12, 8, tzinfo=UTC)
    assert (settings.limits.per_day, settings.server.forum) == (None, "https://forum.example.org")
    after = (folder / CONFIG_NAME).read_text().splitlines()
    comments = [[line for line in text if line.startswith("#")] for text in (before, after)]
    assert comments[0] == comments[1]
    assert (folder / "pages/prizes.md").read_text() == "# Prizes\n\nOne.\n"
    with Scenario(folder.parent).reopen() as competition:
        assert competition.settings.competition.title == "A [new] race"
        recorded = competition.events("configuration")[-1].payload["changes"]
        assert ["competition.title", "Race", "A [new] race"] in recorded
        assert competition.audit() == ()


@pytest.mark.parametrize(
    ("changes", "texts", "said"),
    [
        ({"metric.name": ["accuracy", "f1"]}, {}, "is changed in competition.toml only"),
        ({"public.mechanism": ["ladder", "full"]}, {}, "is changed in competition.toml only"),
        ({"server.rules": ["rules.md", "/etc/passwd"]}, {}, "is changed in competition.toml only"),
        ({"competition.deadline": [DEADLINE, "2026-11-30T00:00:00+00:00"]}, {}, "moved later"),
        ({"competition.deadline": [DEADLINE, None]}, {}, "moved later"),
        ({"competition.title": ["Other", "x"]}, {}, "load the page again"),
        ({"limits.per_day": [5, -1]}, {}, "per_day is -1, but must be 1 or more"),
        ({"limits.per_day": [5, True]}, {}, "True is not a value of this setting"),
        ({"limits.per_day": [5, "7"]}, {}, "7 is not a value of this setting"),
        ({"competition.start": [None, "9999-12-31T23:59-23:59"]}, {}, "is not a time such as"),
        ({"competition.start": [None, LATER]}, {}, "start must be before deadline"),
        ({}, {"pages/../competition.toml": "x"}, "A page is called"),
        ({}, {"competition.toml": "x"}, "A page is called"),
        ({}, {"rules": "x" * 20_001}, "at most 20,000 characters"),
    ],
)
@pytest.mark.few(1)
def test_anything_else_is_refused_and_changes_no_file(
    folder: Path, changes: dict[str, Any], texts: dict[str, str], said: str
) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*.[tm]*")}
    with Scenario(folder.parent).reopen() as competition:
        status, message = ask(competition, changes, **texts)
        assert (status, said in message) == ("refused", True), message
    assert {path: path.read_bytes() for path in folder.glob("*.[tm]*")} == before
    assert not (folder / "pages").exists()


@pytest.mark.slow
def test_the_first_deadline_is_set_in_the_file_and_none_moves_after_the_end(
    scenario: Scenario,
) -> None:
    """Else a web process that is taken over could end a competition and show private scores."""
    scenario.create().close()
    with scenario.reopen() as competition:
        first = ask(competition, {"competition.deadline": [None, LATER]})
        assert (first[0], "first deadline" in first[1]) == ("refused", True)


@pytest.mark.slow
def test_a_phase_is_extended_in_its_own_section(scenario: Scenario) -> None:
    phases = {"dev": {"end": DEADLINE}, "final": {"start": LATER}}
    scenario.create(deadline="2027-01-01T00:00:00Z", phase=phases).close()
    with scenario.reopen() as competition:
        moved = ask(competition, {
            "phase.dev.end": [DEADLINE, LATER], "phase.dev.start": [None, "2026-01-01T00:00:00Z"],
            "phase.final.end": ["2027-01-01T00:00:00+00:00", "2027-02-01T00:00:00+00:00"],
        })  # fmt: skip
        assert (moved[0], "phase.dev.end" in moved[1]) == ("done", True), moved
        settings = read_settings(scenario.folder / CONFIG_NAME)
        assert settings.in_phase("dev").competition.deadline == datetime(2026, 12, 8, tzinfo=UTC)
        assert settings.in_phase("final").competition.deadline == datetime(2027, 2, 1, tzinfo=UTC)
        for key, times in (
            ("phase.dev.end", [LATER, DEADLINE]),
            ("phase.none.end", [None, LATER]),
            ("phase.dev.rows", [None, LATER]),
            ("competition.deadline", ["2027-01-01T00:00:00+00:00", "2028-01-01T00:00:00+00:00"]),
        ):
            assert ask(competition, {key: times})[0] == "refused", key


def test_every_setting_is_on_the_page_and_exists() -> None:
    on_the_page = [key for _title, keys in GROUPS for key, _label in keys]
    assert (len(on_the_page), set(on_the_page)) == (len(CHANGEABLE), set(CHANGEABLE))
    defaults = Settings.model_validate({"metric": {"name": "auc"}}).model_dump(mode="json")
    defaults["server"] = ServerSection().model_dump(mode="json")
    for key, kind in CHANGEABLE.items():
        section, _dot, name = key.partition(".")
        assert name in defaults[section], key
        if kind == "choice":
            assert choices(key) == get_args(ServerSection.model_fields[name].annotation)
            with pytest.raises(ValueError, match="no such"):
                read_value(key, "no such")
