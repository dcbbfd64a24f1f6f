"""Settings from Codabench, CodaLab and EvalAI: what is taken over, and that nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from arena.competition.other_platforms.codabench import settings_from_codabench
from arena.competition.other_platforms.evalai import evalai_phase, settings_from_evalai
from arena.competition.other_platforms.imported_settings import ImportedSettings
from arena.config import Settings, read_settings
from arena.errors import InputError
from kept import check_kept_document

CODABENCH: Mapping[str, Any] = {
    "version": 2,
    "title": "Owls",
    "image": "owl.png",
    "registration_auto_approve": False,
    "terms": "terms.md",
    "pages": [{"title": "Data & more", "file": "data.md"}, {"title": "Old", "file": "old.html"}],
    "tasks": [
        {"index": 0, "name": "a", "reference_data": "dev", "scoring_program": "s",
         "input_data": "i"},
        {"index": 1, "name": "b", "reference_data": "final", "scoring_program": "s"},
    ],
    "phases": [
        {"name": "Dev phase", "start": "6-1-2024", "end": "2024-08-30", "tasks": [0],
         "max_submissions_per_day": 5, "max_submissions": 100, "execution_time_limit": 500},
        {"name": "Final", "start": "2024-08-31", "end": "2024-09-10", "tasks": [1],
         "max_submissions_per_day": 0, "auto_migrate_to_this_phase": True},
    ],
    "leaderboards": [
        {"title": "Main", "submission_rule": "Force_Last", "columns": [
            {"key": "acc", "index": 0, "sorting": "desc", "precision": 3},
            {"key": "time", "index": 1, "sorting": "asc"}]},
        {"title": "Other", "columns": []},
    ],
}  # fmt: skip
EVALAI: Mapping[str, Any] = {
    "title": "Owls",
    "description": "d.html",
    "evaluation_script": "evaluation_script.zip",
    "start_date": "2024-01-01 00:00:00",
    "end_date": "2024-12-31 23:59:59",
    "leaderboard": [{"id": 1, "schema": {
        "labels": ["err", "acc"], "default_order_by": "err",
        "metadata": {"err": {"sort_ascending": True}}}}],
    "challenge_phases": [
        {"id": 1, "name": "Dev", "codename": "dev", "test_annotation_file": "dev.json",
         "max_submissions_per_day": 5, "max_submissions_per_month": 50,
         "start_date": "2024-01-01 00:00:00", "end_date": "2024-06-01 00:00:00"},
        {"id": 2, "name": "Test", "codename": "test", "test_annotation_file": "test.json",
         "leaderboard_public": False, "allowed_email_ids": ["a@example.org"],
         "is_restricted_to_select_one_submission": True,
         "start_date": "2024-06-01 00:00:00", "end_date": "2024-12-31 23:59:59"},
    ],
    "dataset_splits": [{"id": 7, "codename": "split"}],
    "challenge_phase_splits": [
        {"challenge_phase_id": 1, "leaderboard_id": 1, "dataset_split_id": 7, "visibility": 3,
         "leaderboard_decimal_precision": 2, "is_leaderboard_order_descending": True},
        {"challenge_phase_id": 2, "leaderboard_id": 1, "dataset_split_id": 7, "visibility": 1},
    ],
}  # fmt: skip
READERS: Mapping[str, tuple[Callable[[Path], ImportedSettings], Mapping[str, Any], str]] = {
    "codabench": (settings_from_codabench, CODABENCH, "competition.yaml"),
    "evalai": (settings_from_evalai, EVALAI, "challenge_config.yaml"),
}


def imported(folder: Path, platform: str, document: Mapping[str, Any] | None = None) -> Any:
    """Read a document, written as JSON, which YAML includes."""
    pytest.importorskip("yaml")
    read, default, name = READERS[platform]
    (folder / name).write_text(json.dumps(document or default), encoding="utf-8")
    for page in ("terms.md", "data.md"):
        (folder / page).write_text("# A page", encoding="utf-8")
    return read(folder)


def settings_of(read: ImportedSettings, folder: Path) -> Settings:
    files = read.write(folder / "to")
    return read_settings(files[0])


def test_a_bundle_becomes_phases_that_share_no_deciding_rows(tmp_path: Path) -> None:
    read = imported(tmp_path, "codabench")
    settings = settings_of(read, tmp_path)
    dev, final = settings.phase["dev-phase"], settings.phase["final"]
    assert (dev.public_rows, final.private_rows) == (("dev-phase",), ("final",))
    assert read.row_sets == {"dev-phase": "dev", "final": "final"}
    assert dev.start is not None
    assert (dev.start.isoformat(), dev.limits) == (
        "2024-06-01T00:00:00+00:00",
        {"per_day": 5, "total": 100},
    )
    assert (final.after, final.carry, final.admit) == ("dev-phase", True, "submitted")
    assert settings.metric.name.endswith("(value=acc, task='0')")
    assert (settings.metric.decimals, settings.final.rule) == (3, "last")
    assert settings.server.approve
    assert (tmp_path / "to" / "pages" / "data-more.md").exists()
    assert (tmp_path / "to" / "rules.md").exists()
    with pytest.raises(InputError, match="exists already"):
        read.write(tmp_path / "to")


def test_a_challenge_becomes_phases_with_its_ways_of_showing_scores(tmp_path: Path) -> None:
    read = imported(tmp_path, "evalai")
    settings = settings_of(read, tmp_path)
    test = settings.phase["test"]
    assert (test.admit, test.private_rows) == ("listed", ("test",))
    assert (settings.in_phase("test").public.scores, settings.public.scores) == ("hidden", "board")
    assert settings.in_phase("test").final.count == 1
    assert (settings.metric.lower_is_better, settings.metric.decimals) == (True, 2)
    assert settings.metric.name.endswith("main.py(phase=dev, split=split, value=err)")
    assert "phase Dev: max_submissions_per_month: 50" in read.left_out


@pytest.mark.parametrize(
    ("visible", "is_public", "scores"),
    [
        ((), None, "board"),
        ((), True, "board"),
        ((), False, "hidden"),
        ((3,), False, "board"),
        ((1,), None, "hidden"),
        ((2,), None, "own"),
        ((2,), False, "own"),
        ((1, 2), None, "own"),  # the most visible split decides
        ((1, 2, 3), None, "board"),
        ((4,), None, "board"),  # an unknown visibility
    ],
)
def test_a_phase_shows_scores_as_its_splits_do(
    visible: tuple[int, ...], is_public: bool | None, scores: str
) -> None:
    read = ImportedSettings()
    pairs = [{"visibility": number} for number in visible]
    phase = evalai_phase({"name": "Dev", "leaderboard_public": is_public}, pairs, [], read)
    expected = {} if scores == "board" else {"public": {"scores": scores}}
    assert {key: phase.section[key] for key in ("public",) if key in phase.section} == expected


def test_a_phase_has_its_code_name_or_its_name_or_its_number() -> None:
    earlier: list[Any] = []
    for names, expected in (
        ({"codename": "dev", "name": "First phase"}, "dev"),
        ({"name": "First phase"}, "first-phase"),
        ({"codename": "", "name": "First phase"}, "first-phase-3"),  # the second is called so
        ({}, "phase-4"),
    ):
        earlier.append(evalai_phase(names, [], earlier, ImportedSettings()))
        assert earlier[-1].name == expected


def variants() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, platform and document: those above, and some that are written in other ways."""
    yield "two phases", "codabench", dict(CODABENCH)
    first = CODABENCH["phases"][0]
    yield "one phase", "codabench", {
        **CODABENCH,
        "phases": [{**first, "auto_migrate_to_this_phase": True}],
        "leaderboards": [],
        "leaderboard": {"columns": {"late": {"rank": 2}, "acc": {"rank": 1, "numeric_format": 4},
                                    "none": None}},
    }  # fmt: skip
    yield (
        "phases that end where the next begins",
        "codabench",
        {
            "title": "Old",
            "leaderboard": {"submission_rule": "Other", "columns": {}},
            "phases": {
                1: {"label": "A", "start_date": "2024-02-01"},
                2: {"label": "B", "start_date": "2024-03-01T12:30:00"},
            },
        },
    )
    dev, final = CODABENCH["phases"]
    tasks = CODABENCH["tasks"]
    yield (
        "limits, dates and scores that are not as usual",
        "codabench",
        {
            "title": "Odd",
            "start_date": "soon",
            "has_registration": True,
            "html": {"terms": "terms.md", "overview": "overview.html", "data": "data.md"},
            "phases": [
                {**dev, "end": dev["start"], "max_submissions": 0, "hide_score_output": True},
                {**final, "name": dev["name"], "tasks": [1, 0], "max_submissions": "many",
                 "max_submissions_per_day": 1, "leaderboard_management_mode": "hide_results"},
                {"name": "!", "start": "2024-10-01", "task": 0, "max_submissions": True},
                {"name": "a" * 38 + " bc", "start": "2024-11-01", "tasks": ["2"]},
                {"name": "a" * 38 + " bc", "start": "2024-12-01", "auto_migration": True},
            ],
            "tasks": [*tasks, {"name": "c", "scoring_program": "t", "ingestion_program": "run"},
                      {"index": "x", "name": "unused"}],
            "leaderboards": [{"columns": [{"key": "acc", "precision": "2"}, {"key": "f1"}]}],
            "60 characters": "x" * 60,
            "61 characters": "x" * 61,
            "several words": ["a  b", None],
        },
    )  # fmt: skip
    yield "two challenge phases", "evalai", dict(EVALAI)
    closed, other_board = EVALAI["challenge_phases"][1], {"id": 2, "schema": {"labels": ["f1"]}}
    yield (
        "one phase for some, whose programs run elsewhere",
        "evalai",
        {
            **EVALAI,
            "challenge_phases": [closed],
            "leaderboard": [other_board, *EVALAI["leaderboard"]],
            "is_docker_based": True,
        },
    )
    yield (
        "two boards and no pairs",
        "evalai",
        {
            **EVALAI,
            "leaderboard": [other_board, *EVALAI["leaderboard"]],
            "challenge_phase_splits": [],
            "evaluation_script": None,
        },
    )
    (board,), (first_split, second_split) = EVALAI["leaderboard"], EVALAI["challenge_phase_splits"]
    schema = {"labels": ["err", "acc"]}
    for name, is_descending in (("ascending", False), ("descending", True)):
        pairs = [{**first_split, "is_leaderboard_order_descending": is_descending}, second_split]
        yield f"{name} without metadata", "evalai", {
            **EVALAI, "leaderboard": [{**board, "schema": schema}], "challenge_phase_splits": pairs,
        }  # fmt: skip
    yield "without a schema", "evalai", {**EVALAI, "leaderboard": [{**board, "schema": None}]}


def in_words(time: datetime) -> str:
    return time.strftime("%d %B %Y at %H:%M %Z")


def test_settings_imported_from_other_platforms_are_kept(tmp_path: Path) -> None:
    imports = {}
    for number, (name, platform, document) in enumerate(variants()):
        (folder := tmp_path / str(number)).mkdir()
        try:
            settings = imported(folder, platform, document)
        except InputError as error:
            imports[name] = str(error).replace(str(folder), "FOLDER")
            continue
        parts = {part: getattr(settings, part) for part in ("document", "left_out", "row_sets")}
        imports[name] = json.loads(
            json.dumps(parts, default=in_words).replace(str(folder), "FOLDER")
        )
    check_kept_document("imports", imports)


def _with_another_key(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every mapping in a document."""
    if isinstance(document, Mapping):
        yield path
    items = document.items() if isinstance(document, Mapping) else enumerate(document)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from _with_another_key(value, (*path, key))


UNREAD = {"pages", "leaderboard", "dataset_splits", "challenge_phase_splits"}
"""Lists whose parts only name other parts: a further key in them has no meaning."""


@pytest.mark.parametrize("platform", READERS)
def test_a_key_that_is_not_taken_over_is_always_named(tmp_path: Path, platform: str) -> None:
    places = [
        place
        for place in _with_another_key(READERS[platform][1])
        if not UNREAD & {*map(str, place)} and place[:2] != ("leaderboards", 1)
    ]
    for place in places:
        document = json.loads(json.dumps(READERS[platform][1]))
        part = document
        for key in place:
            part = part[key]
        part["invented_key"] = "invented value"
        if place[:1] == ("leaderboards",) and place[-2:] == ("columns", 1):
            continue  # of further columns, the column itself is left out
        named = imported(tmp_path, platform, document).left_out
        assert any("invented_key: invented value" in line for line in named), place


@pytest.mark.parametrize(
    ("platform", "text", "said"),
    [
        ("codabench", "[", "cannot be read"),
        ("codabench", "7", "does not describe a competition"),
        ("codabench", "{title: x}", "has no phases"),
        ("evalai", "{title: x}", "has no challenge_phases"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, platform: str, text: str, said: str) -> None:
    pytest.importorskip("yaml")
    read, _, name = READERS[platform]
    with pytest.raises(InputError, match="There is no"):
        read(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read(tmp_path)
