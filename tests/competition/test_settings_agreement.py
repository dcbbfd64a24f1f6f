"""Settings that contradict each other are refused by name, before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.record import adopted_settings
from arena.competition.record.settings_agreement import check_agreement
from arena.competition.record.teams import RENAMED, Teams
from arena.errors import InputError, PluginError
from event_records import event_of
from scenario import MANAGER, Scenario, settings_of

BRACKETS = {"of": "team", "brackets": True}
AFTER = {"after": "dev", "private_rows": "final"}
REFUSED: Sequence[tuple[Mapping[str, Any], str]] = [
    ({"board": {"Macro": {}, "macro": {}}}, "[board] has names that look the same: 'Macro' and"),
    ({"bracket": {"e\u0301": {}, "\u00e9": {}}}, "[bracket], with the choices of questions, has"),
    (
        {
            "bracket": {"Master": {}},
            "question": {"year": {"choices": ["master", "bachelor"], **BRACKETS}},
        },
        "has names that look the same: 'master' and 'Master'",
    ),
    ({"question": {"year": {"choices": ["A", "a"]}}}, "[question.year] choices has names that"),
    (
        {"question": {key: {"choices": ["x", key], **BRACKETS} for key in ("year", "town")}},
        "'x' is a choice of [question.year] and of [question.town]",
    ),
    ({"baseline": ["Base", "base"]}, "[competition] baseline has names that"),
    ({"baseline": " "}, "[competition] baseline has an empty name"),
    ({"metric": "f1", "secondary": ["f1"]}, "[metric] secondary: f1 is listed twice"),
    ({"board": {"x": {"columns": ["f1", "f1"]}}}, "[board.x] columns: f1 is listed twice"),
    ({"final_columns": ["f1"]}, "[final] columns: f1 is neither in [metric] secondary nor in"),
    ({"phase": {"week": {"each": "due", "series": "x"}}}, "a series named week: omit series"),
    (
        {"phase": {"dev": {"end": "2026-03-02"}, "final": {"end": "2026-03-01", **AFTER}}},
        "[phase.final] after: the phase dev does not end before final ends",
    ),
    (
        {"phase": {"dev": {}, "final": {"end": "2026-03-01", **AFTER}}},
        "[phase.final] after: the phase dev does not end before final ends",
    ),
]


@pytest.mark.parametrize(("keys", "message"), REFUSED)
def test_contradictions_are_refused_by_name(keys: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        check_agreement(settings_of(**keys))
    assert message in str(refused.value)


def test_settings_that_agree_are_accepted() -> None:
    check_agreement(
        settings_of(
            bracket={"master": {"ranked": False}},
            question={"year": {"choices": ["master", "bachelor"], **BRACKETS}},
            phase={"dev": {"end": "2026-03-01"}, "final": {**AFTER}},
        )
    )


@pytest.mark.slow
def test_they_are_refused_when_made_and_when_opened(scenario: Scenario) -> None:
    brackets = {"Staff": {}, "staff": {}}
    with pytest.raises(InputError, match="look the same"):
        scenario.create(bracket=brackets)
    assert not scenario.folder.exists()
    scenario.create().close()
    scenario.configure(bracket=brackets)
    with pytest.raises(InputError, match="look the same"):
        scenario.reopen()


WRONG_NAMES: Mapping[str, Mapping[str, Any]] = {
    "[metric] name": {"metric": "acuracy"},
    "[metric] name: 'f1((' is not": {"metric": "f1(("},
    "[metric] name: /": {"metric": "kaggle:/gone.py"},
    "[metric] name: rmse scores value": {"metric": "rmse"},
    "[metric] secondary": {"secondary": ["nope"]},
    "[board.all]": {"board": {"all": {"columns": ["accuracy", "nope"]}}},
    "[public] mechanism": {"mechanism": "kagle"},
    "[analysis] ranker": {"ranker": "simultaneous(x=1)"},
    "[programs] sandbox: There is no sandbox 'nope'": {"programs_sandbox": "nope"},
    "[programs] environment: 'python' is no digest": {"programs_environment": "python"},
    "[phase.dev] metric": {"phase": {"dev": {"metric": {"secondary": ["nope"]}}}},
    "[phase.dev] public": {"phase": {"dev": {"public": {"mechanism": "kagle"}}}},
}


def test_a_name_that_does_not_exist_is_refused_with_the_file_and_its_key(
    scenario: Scenario,
) -> None:
    with scenario.create(mechanism="ladder-free") as competition:
        for place, keys in WRONG_NAMES.items():
            scenario.configure(**{"mechanism": "ladder-free", **keys})
            assert competition.settings_fault().startswith(f"competition.toml: {place}")


@pytest.mark.parametrize("wrong", ["rmse", "log_loss"])
def test_a_metric_of_other_predictions_is_refused_when_it_is_read(
    scenario: Scenario, wrong: str
) -> None:
    with scenario.create() as competition:
        scenario.configure(metric=wrong)
        assert competition.settings_fault().startswith(f"competition.toml: [metric] name: {wrong} ")


@pytest.mark.slow
def test_a_plugin_that_is_required_must_be_there_at_the_start(scenario: Scenario) -> None:
    with pytest.raises(PluginError, match="requires the plugin 'rules'"):
        scenario.create(required=["rules"])
    assert not scenario.folder.exists()


@pytest.mark.parametrize("baselines", [["zero", "old"], ["zero", "new"]])
def test_a_team_that_was_renamed_is_no_baseline(
    monkeypatch: pytest.MonkeyPatch, baselines: list[str]
) -> None:
    renamed = event_of(1, RENAMED, {"team": "old", "to": "new"})
    ledger = SimpleNamespace(teams=lambda: Teams.of([renamed]))
    monkeypatch.setattr(adopted_settings, "Ledger", lambda _: ledger)
    store: Any = SimpleNamespace(meta=lambda _: settings_of().model_dump_json())
    with pytest.raises(InputError) as refused:
        adopted_settings.view_settings(store, MANAGER, settings_of(baseline=baselines))
    assert str(refused.value) == (
        f"competition.toml: [competition] baseline names {baselines[1]!r}, a team that was renamed "
        "or merged. Submit the baseline under a new name, and set that name."
    )
