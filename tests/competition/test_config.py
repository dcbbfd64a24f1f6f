"""competition.toml: a comment for every key, and a sentence for every mistake."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from arena.config import Settings, read_settings, settings_as_toml
from arena.errors import InputError, UsageError
from arena.server_section import ConfigSection
from thinned import examples

SCHEMA = Path(__file__).parents[2] / "schemas" / "competition-1.json"


def sections() -> dict[str, type[ConfigSection]]:
    """Return the model of each section; of those with any name, such as ``bracket.NAME``."""
    sections: dict[str, type[ConfigSection]] = {}
    for name, field in Settings.model_fields.items():
        kinds: tuple[Any, ...] = get_args(field.annotation)
        sections[f"{name}.NAME" if kinds else name] = kinds[-1] if kinds else field.annotation
    return sections


SECTIONS = sections()


def given_settings(**sections: Any) -> Settings:
    return Settings.model_validate({"metric": {"name": "roc_auc"}, **sections})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    original = given_settings(
        competition={"title": 'The "great"\nrace', "deadline": "2026-12-01T12:00:00+02:00"},
        data={"target": ["a", "b"], "cluster": "patient"},
        limits={"per_day": 3, "count_rejected": True},
        final={"rule": "chosen", "count": 1, "ties": "earliest"},
    )
    (tmp_path / "competition.toml").write_text(settings_as_toml(original), encoding="utf-8")
    assert read_settings(tmp_path / "competition.toml") == original


@pytest.mark.slow
@given(title=st.text(max_size=30), total=st.none() | st.integers(1, 10**6))
@settings(max_examples=examples(50))
def test_any_title_survives(title: str, total: int | None) -> None:
    original = given_settings(competition={"title": title}, limits={"total": total})
    assert Settings.model_validate(tomllib.loads(settings_as_toml(original))) == original


def test_every_key_has_a_comment() -> None:
    lines = settings_as_toml(given_settings()).splitlines()
    assert not {"[programs]", "[server]"} & set(lines)
    names = {"bracket.NAME": "x y", "board.NAME": "x y", "phase.NAME": "dev"}
    names |= {"question.NAME": "method"}
    named = {name.partition(".")[0]: {names[name]: {}} for name in SECTIONS if "." in name}
    changed = given_settings(server={"team_size": 3}, programs={"cores": 3}, **named)
    lines = settings_as_toml(changed).splitlines()
    for name, model in SECTIONS.items():
        about = (model.__doc__ or "").strip()
        assert about
        quoted = names.get(name, "").replace("x y", '"x y"')
        head = f"[{name.replace('NAME', quoted)}]"
        assert lines[lines.index(head) - 1] == f"# {about}"
        for key, described in model.model_fields.items():
            (line_number,) = [
                number
                for number, line in enumerate(lines)
                if line.removeprefix("# ").startswith(f"{key} =")
                and f"# {described.description}" == lines[number - 1]
            ]
            assert lines[line_number - 1].startswith("# ")


def test_letters_of_any_alphabet_are_written_as_they_are() -> None:
    assert 'title = "Größe 大"' in settings_as_toml(
        given_settings(competition={"title": "Größe 大"})
    )


def test_the_comment_of_a_key_lists_its_choices() -> None:
    listed = 0
    for section in SECTIONS.values():
        for field in section.model_fields.values():
            for choice in get_args(field.annotation):
                if get_origin(field.annotation) is Literal:
                    assert choice in (field.description or ""), field
                    listed += 1
    assert listed >= 8


def test_a_deadline_without_an_offset_is_utc() -> None:
    assert given_settings(
        competition={"deadline": "2026-12-01T12:00:00"}
    ).competition.deadline == datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[metric]\nname="x"\n[limits]\nper_dya=3', "[limits] per_dya is unknown. Did you mean"),
        ('[metric]\nname="x"\n[limit]\nper_day=3', "[limit] is unknown. Did you mean 'limits'"),
        ('[metric]\nname="x"\npublish_secondary=true', "publish_secondary is a key of earlier"),
        ('[metric]\nname="x"\n[public]\nepoch=2', "[public] epoch is a key of earlier versions."),
        ('[metric]\nname="x"\n[public]\ncolumns=["f1"]', "columns that [final] names"),
        ('[metric]\nname="x"\n[task.a]\nsolution="x"', "[task] is unknown. Tasks are phases"),
        ('[metric]\nname="x"\n[phase.a]\nsolution="x"', "solution has the rows of all phases"),
        ("[metric]\n", "[metric] name is missing"),
        ("[limits]\nper_day=3", "[metric] is missing"),
        ('[metric]\nname="x"\n[limits]\nper_day=0', "per_day is 0, but must be 1 or more."),
        ('[metric]\nname="x"\n[limits]\nper_day="ten"', 'is "ten", but must be a whole number'),
        ('[metric]\nname="x"\n[limits]\nper_day=2.5', "is 2.5, but must be a whole number, such"),
        ('[metric]\nname="x"\n[limits]\ncount_rejected="so"', 'is "so", but must be true or false'),
        ('[metric]\nname="x"\n[analysis]\nlevel=1.0', "level is 1.0, but must be less than 1."),
        ('[metric]\nname="x"\n[analysis]\nlevel="high"', 'is "high", but must be a number, such'),
        ('[metric]\nname="x"\n[final]\nrule="best"', "but must be one of 'best_public', 'last',"),
        ('[metric]\nname="x"\n[data]\ntarget="y"', 'must be a list of texts, such as ["a", "b"]'),
        ('[metric]\nname="x"\n[data]\ncluster=2026-01-01', 'is "2026-01-01", but must be a text'),
        ('[metric]\nname=""', '[metric] name is "", but must be a text that is not empty.'),
        ('final=3\n[metric]\nname="x"', "[final] is 3, but must be a section of keys."),
        (
            '[metric]\nname="x"\n[competition]\ndeadline="soon"',
            '[competition] deadline is "soon", but must be a date and time, such as 2026-12-31T23',
        ),
        (
            '[metric]\nname="x"\n[competition]\ndeadline=20261231',
            "[competition] deadline is 20261231, but must be a date and time, such as",
        ),
        (
            '[metric]\nname="x"\n[competition]\ndeadline=9999-12-31T23:59:59-14:00',
            "[competition] deadline: a time must be in the years 1 to 9999 (UTC)",
        ),
        ('[metric]\nname="x', "cannot be read"),
    ],
)  # fmt: skip
def test_every_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "competition.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "competition.toml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"perday": 3}, "There is no setting 'perday'. Did you mean 'per_day'?"),
        (
            {"xyz": 3},
            "There is no setting 'xyz'. There are: title, start, deadline, late_until, baseline, ",
        ),
        ({"per_day": 0}, "[limits] per_day is 0, but must be 1 or more."),
        ({"level": 1.0, "final_rule": "best"}, '[final] rule is "best", but must be one of '),
    ],
)
def test_every_mistake_in_a_keyword_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Settings.of(metric="roc_auc", **keys)


def test_keywords_name_the_keys_of_all_sections() -> None:
    of_keywords = Settings.of(
        metric="mae", target="y", secondary="mse", soft_labels=["p", "q"], baseline="base",
        mechanism="kaggle", total=9, final_rule="chosen", final_count=3, ties="earliest",
    )  # fmt: skip
    assert of_keywords == Settings.model_validate(
        {
            "metric": {"name": "mae", "secondary": ["mse"]},
            "data": {"target": ["y"], "soft_labels": ["p", "q"]},
            "competition": {"baseline": "base"},
            "public": {"mechanism": "kaggle"},
            "limits": {"total": 9},
            "final": {"rule": "chosen", "count": 3, "ties": "earliest"},
        }
    )
    changed = of_keywords.model_copy(update={"limits": given_settings().limits})
    assert of_keywords.changes_to(changed) == [["limits.total", 9, None]]
    assert of_keywords.changes_to(of_keywords) == []


def test_several_mistakes_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "competition.toml").write_text('[metric]\nname=3\n[final]\nrule="best"')
    with pytest.raises(InputError, match=r"\[metric\] name.*\[final\] rule"):
        read_settings(tmp_path / "competition.toml")


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="arena init"):
        read_settings(tmp_path / "competition.toml")


def test_the_schema_is_that_of_the_settings() -> None:
    assert json.loads(SCHEMA.read_text()) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "arena/competition/1",
        **Settings.model_json_schema(),
    }


@pytest.mark.parametrize(
    ("sections", "allowed", "refused", "sentence"),
    [
        (
            lambda name: {"bracket": {name: {}}},
            ["x", "x" * 60, "a b"],
            ["", " ", "x" * 61, "a\tb"],
            "a name has 1 to 60 printable characters",
        ),
        (
            lambda name: {"board": {name: {}}},
            ["x" * 60],
            ["a,b", "a;b", "a/b"],
            "a name has no comma, semicolon or slash, since lists of names have them",
        ),
        (
            lambda name: {"phase": {name: {}}},
            ["a", "1" * 40, "a-1"],
            ["", "a" * 41, "A", "-a", "a b"],
            "a name has small letters, digits and hyphens, at most 40",
        ),
        (
            lambda key: {"question": {key: {}}},
            ["a", "a" * 40, "a_1"],
            ["", "a" * 41, "1a", "_a", "A"],
            "a key has at most 40 small letters, digits and _, and begins with a letter",
        ),
        (
            lambda choice: {"question": {"q": {"choices": ["other", choice]}}},
            ["x" * 200, "a b"],
            ["x" * 201, "a  b"],
            "is empty, too long or has double spaces",
        ),
        (
            lambda admit: {"phase": {"a": {}, "b": {"after": "a", "admit": admit,
                                                    "private_rows": "b", "public_rows": "c"}}},
            ["all", "listed", "submitted", "top 1", "top 10"],
            ["top 0", "top", "top -1", "none"],
            'must be "all", "submitted", "listed", or "top" and a number, as "top 10"',
        ),
        (
            lambda n_sets: {"phase": {"a": {"private_rows": [f"r{n}" for n in range(n_sets)]}}},
            [1_000],
            [1_001],
            "the phases name rows by 1,001 values of the usage column, and a competition has at "
            "most 1,000",
        ),
    ],
)  # fmt: skip
def test_names_and_counts_are_held_up_to_their_bound(
    sections: Any, allowed: list[Any], refused: list[Any], sentence: str
) -> None:
    for value in allowed:
        given_settings(**sections(value))
    for value in refused:
        with pytest.raises(ValidationError, match=re.escape(sentence)):
            given_settings(**sections(value))


def test_sixty_letters_of_a_wrong_value_are_shown(tmp_path: Path) -> None:
    for n_letters, text in ((58, f'"{"x" * 58}"'), (59, f'"{"x" * 58}…')):
        (tmp_path / "competition.toml").write_text(
            f'[metric]\nname="x"\n[limits]\nper_day="{"x" * n_letters}"'
        )
        with pytest.raises(InputError) as caught:
            read_settings(tmp_path / "competition.toml")
        assert f"[limits] per_day is {text}, but must be a whole number" in str(caught.value)


def test_rounds_of_a_series_share_no_rows_whatever_phases_come_before() -> None:
    rounds = {name: {"series": "weekly", "private_rows": name} for name in ("b", "c")}
    given_settings(phase={"a": {}, **rounds})
    rounds["c"]["private_rows"] = "B"
    with pytest.raises(
        ValidationError, match="the rounds b and c of the series weekly share rows marked as b:"
    ):
        given_settings(phase={"a": {}, **rounds})
