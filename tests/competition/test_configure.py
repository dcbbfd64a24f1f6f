"""Settings that the web process asks to change: which may be, and that the file stays the truth."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import tomlkit

from arena.changeable_settings import CHANGEABLE, choices, read_value
from arena.competition import configure
from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.config import CONFIG_NAME, Settings, read_settings
from arena.errors import InputError, UsageError
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


def test_a_place_to_which_predictions_cannot_be_moved_is_a_fault_of_the_file(
    folder: Path, tmp_path: Path
) -> None:
    scenario, path = Scenario(folder.parent), folder / CONFIG_NAME
    text = path.read_text()
    with scenario.reopen() as competition:
        competition.submit(scenario.file(1), "a")
        path.write_text(text.replace("# predictions =", f'predictions = "{tmp_path}/other"'))
        assert competition.has_new_settings()
        refused = "[store] predictions cannot be changed like this."
        assert refused in competition.settings_fault()
    with CompetitionView.open(folder) as view:
        assert "asks for another place of predictions" in view.notes[0]
    with pytest.raises(InputError, match=re.escape(refused)):
        scenario.reopen()


CHANGES: dict[str, Any] = {
    "competition.title": "New", "competition.start": START, "competition.deadline": LATER,
    "competition.late_until": LATER, "competition.baseline": "b",
    "data.id": "id", "data.target": ["x"], "data.usage": "x", "data.cluster": "x",
    "data.time": "x", "data.tasks": "x", "data.weight": "x", "data.positive": "0",
    "data.classes": ["1", "0"], "data.soft_labels": ["x"], "data.pending_labels": True,
    "data.no_header": ["id", "y"], "data.submission_columns": ["x"],
    "metric.name": "f1", "metric.secondary": ["f1"], "metric.decimals": 2, "metric.unit": "%",
    "metric.lower_is_better": True, "metric.time_limit": 5, "metric.memory_limit": 500,
    "public.mechanism": "full", "public.scope": "competition", "public.scores": "own",
    "public.freeze": START, "public.accepted_rows": 5,
    "limits.per_day": 9, "limits.per_week": 9, "limits.total": 9, "limits.max_bytes": 1000,
    "limits.count_rejected": True,
    "final.rule": "last", "final.count": 1, "final.ties": "earliest", "final.columns": ["f1"],
    "analysis.resamples": 200, "analysis.level": 0.9, "analysis.intervals": False,
    "analysis.ranker": "no", "analysis.full_bootstrap": True,
    "store.predictions": "elsewhere", "plugins.required": ["none"],
}  # fmt: skip
OF_TABLES = {"programs", "bracket", "phase", "question", "board", "server"}
"""Sections that are not there, or say nothing about scores."""

LATER_ONLY = {"metric.name"} | {key for key in CHANGES if key.startswith("data.")}
"""Keys of which a sentence says that they wait for a rescore, or change nothing any more."""


@pytest.mark.slow
def test_each_key_that_changes_after_submissions_is_applied_or_refused_everywhere(
    folder: Path,
) -> None:
    sections = Settings.model_fields
    keys = {
        f"{name}.{key}"
        for name in sections.keys() - OF_TABLES
        for key in sections[name].annotation.model_fields  # type: ignore[union-attr]
    }
    assert keys == CHANGES.keys()
    scenario, path = Scenario(folder.parent), folder / CONFIG_NAME
    text, refused = path.read_text(), set()
    competition = scenario.reopen()
    scenario.send(competition, ("a", 90), ("b", 80))
    for whole_key, value in CHANGES.items():
        section, _, key = whole_key.partition(".")
        document = tomlkit.parse(text)
        document[section][key] = value  # type: ignore[index]
        path.write_text(tomlkit.dumps(document))
        fault = competition.settings_fault()
        competition.close()
        if fault:
            refused.add(whole_key)
            with pytest.raises(InputError, match=re.escape(fault.partition(": ")[2])):
                scenario.reopen()
            path.write_text(text)
        competition = scenario.reopen()
        wanted = read_settings(path)
        assert competition.settings.changes_to(wanted) == [
            change for change in competition.settings.changes_to(wanted) if change[0] in LATER_ONLY
        ], whole_key
    competition.close()
    assert refused == {
        "metric.lower_is_better", "metric.time_limit", "metric.memory_limit", "final.columns",
        "analysis.ranker", "store.predictions",
    }  # fmt: skip


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
        rest = {**changes, "limits.per_week": [None, 9]}  # a part was written before the kill
        assert ask(competition, rest) == ("done", "limits.per_week: not set -> 9.")
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


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except (InputError, UsageError) as error:
        return str(error)
    return ""


def test_a_deadline_is_moved_later_while_no_private_board_is_computed() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    later = noon + timedelta(microseconds=1)
    first = "The first deadline is set in competition.toml only."
    earlier = "A deadline is moved later here; competition.toml can set an earlier one."
    final = "The private board is computed, so the deadline can no longer be moved."
    for before, after, is_final, message in (
        (None, later, False, first),
        (noon, None, False, earlier),
        (noon, noon, False, earlier),
        (noon, later, True, final),
        (noon, later, False, ""),
    ):
        assert message == refusal(
            lambda before=before, after=after, is_final=is_final: configure.check_new_deadline(
                before, after, is_final=is_final
            )
        )


def test_a_value_has_the_type_of_its_setting() -> None:
    kinds: dict[str, tuple[Any, ...]] = {
        "text": ("a",), "time": ("2026-03-01T12:00:00Z",), "number": (7, 0.5), "flag": (True,),
        "choice": ("b",), "list": (["a"],),
    }  # fmt: skip
    for kind, values in kinds.items():
        assert configure.typed_value(None, kind, "key") is None
        for value in values:
            expected = datetime(2026, 3, 1, 12, tzinfo=UTC) if kind == "time" else value
            assert configure.typed_value(value, kind, "key") == expected
        wrong = {"number": "7", "flag": 1, "list": "a"}.get(kind, 7)
        for value in (wrong, "yes" if kind == "flag" else True):
            with pytest.raises(UsageError) as error:
                configure.typed_value(value, kind, "key")
            assert str(error.value) == f"key: {value} is not a value of this setting."


def test_texts_are_written_to_pages_and_to_the_rules_only(tmp_path: Path) -> None:
    most = "A text has at most 20,000 characters."
    assert configure.normalized_text("a\r\nb \n\n") == "a\nb\n"
    assert configure.normalized_text("x" * 20_000) == "x" * 20_000 + "\n"
    for text in ("x" * 20_001, 7, None):
        assert refusal(lambda text=text: configure.normalized_text(text)) == most
    server = SimpleNamespace(rules="rules.md")
    state: Any = SimpleNamespace(folder=tmp_path, wanted=SimpleNamespace(server=server))
    assert configure.file_of_text(state, "rules") == tmp_path / "rules.md"
    for rules in ("../rules.md", "rules.txt", "a b.md"):
        server.rules = rules
        message = refusal(lambda: configure.file_of_text(state, "rules"))
        assert message == f"The rules are in {rules}, which is written by hand only."
    for name in ("pages/a.md", "pages/_footer.md", f"pages/{'x' * 80}.md", "pages/1-a_B.md"):
        assert configure.file_of_text(state, name) == tmp_path / name
    for name in ("a.md", "pages/../a.md", "pages/.a.md", "pages/-a.md", f"pages/{'x' * 81}.md",
                 "pages/a.txt", "pages/a.md "):  # fmt: skip
        message = refusal(lambda name=name: configure.file_of_text(state, name))
        assert message == "A page is called pages/NAME.md, with letters, digits, - and _.", name
    (tmp_path / "pages").symlink_to(tmp_path)
    message = refusal(lambda: configure.file_of_text(state, "pages/a.md"))
    assert message == "pages is a link, so pages are written by hand only."
