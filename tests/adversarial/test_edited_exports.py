"""Edits of an export: ``verify`` names each, for every file and every column or key that it has.

What ``verify`` cannot name stands at the end, with the reason.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.exports.claims import read_claims
from arena.competition.exports.verify import verify_bundle
from arena.config import Settings
from arena.errors import ArenaError, InputError
from arena.plugin.manager import PluginManager
from arena.utils.parallel import NoProgress
from scenario import Scenario


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the export of a competition of three teams and a baseline."""
    here = tmp_path_factory.mktemp("exported")
    scenario = Scenario(here)
    with scenario.create(
        total=5, per_day=2, resamples=20, intervals=True, baseline="base"
    ) as competition:
        for number, team in enumerate(["one", "two", "one", "two", "three", "base"], start=1):
            competition.submit(scenario.file(number), team)
        assert competition.submit(scenario.file(7), "one").status == "refused"
        competition.select("one", [1])
        competition.disqualify(4, "two accounts")
    scenario.clock.now += timedelta(days=1)
    with scenario.reopen() as competition:
        competition.submit(scenario.file(8), "three")
        competition.finalize()
        competition.export(here / "out")
    return here


def problems_of(folder: Path) -> tuple[str, ...]:
    try:
        return verify_bundle(folder / "out", folder / "solution.csv", PluginManager(), NoProgress())
    except ArenaError as error:
        return (str(error),)


def edits_of_table(text: str) -> Iterator[tuple[str, str]]:
    rows = list(csv.reader(io.StringIO(text, newline="")))

    def written(changed: list[list[str]]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(changed)
        return out.getvalue()

    for position, name in enumerate(rows[0]):
        for value in ("7.25", "", "x"):
            if rows[1][position] != value:
                changed = [row.copy() for row in rows]
                changed[1][position] = value
                yield f"{name} is {value!r}", written(changed)
        yield f"no {name}", written([row[:position] + row[position + 1 :] for row in rows])
    yield "a column more", written([[*row, "1"] for row in rows])
    yield "a row less", written(rows[:-1])
    yield "a row twice", written([*rows, rows[-1]])
    yield "another row", written([*rows, ["9" for _ in rows[0]]])


def paths_in(document: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to every key, and to the first entry of every list."""
    keys: list[str | int] = [0] if isinstance(document, list) and document else []
    keys = list(document) if isinstance(document, dict) else keys
    for key in keys:
        yield (*above, key)
        yield from paths_in(document[key], (*above, key))


def edits_of_document(text: str) -> Iterator[tuple[str, str]]:
    for path in paths_in(json.loads(text)):
        for value in (None, 12345.5, "x", "gone"):
            document = json.loads(text)
            holder = document
            for key in path[:-1]:
                holder = holder[key]
            if holder[path[-1]] == value:
                continue
            if value == "gone":
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            yield f"{'.'.join(map(str, path))} is {value!r}", json.dumps(document)


def edits_of_lines(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    for place in (0, 1, len(lines) - 1):
        for key in json.loads(lines[place]):
            changed = json.dumps({**json.loads(lines[place]), key: "x"})
            yield (
                f"{key} of line {place}",
                "\n".join([*lines[:place], changed, *lines[place + 1 :]]),
            )
        yield f"no line {place}", "\n".join(lines[:place] + lines[place + 1 :])
    yield "a line twice", "\n".join([*lines, lines[-1]])
    yield "another order", "\n".join([*lines[:2], lines[3], lines[2], *lines[4:]])


EDITS = {".csv": edits_of_table, ".json": edits_of_document, ".jsonl": edits_of_lines}
NOT_COMPARED = {"README.txt"}
"""It says what the other files are, in the words of the version that wrote it."""


def edits_of(out: Path) -> Iterator[tuple[Path, str, str | None]]:
    """Yield a file, what is done to it, and its text after that; None: it is removed."""
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        if path.name in NOT_COMPARED:
            continue
        yield path, "removed", None
        yield path, "empty", ""
        text = path.read_text()
        edits = EDITS.get(path.suffix, lambda text: iter([("a letter more", f"{text[:-1]}x\n")]))
        for what, changed in edits(text):
            yield path, what, changed
    yield out / "more.txt", "added", "x"
    yield out / "finals" / "99.csv", "added", "id,y\n"


def means_the_same(text: str | None, path: Path) -> bool:
    """Return whether settings are equal: a key without which its default holds may be missing."""
    read = Settings.model_validate_json
    return text is not None and read(text) == read(path.read_text())


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", [15, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_edit_of_an_export_is_named(exported: Path, tmp_path: Path, share: int) -> None:
    original = exported / "out"
    copy = Path(shutil.copytree(exported, tmp_path / "x"))
    assert problems_of(copy) == ()
    unnoticed, tried = [], 0
    for path, what, text in [*edits_of(original)][::share]:
        shutil.rmtree(copy / "out")
        shutil.copytree(original, copy / "out")
        changed = copy / "out" / path.relative_to(original)
        if text is None:
            changed.unlink()
        else:
            changed.write_text(text)
        problems = problems_of(copy)
        if not problems and not (path.name == "settings.json" and means_the_same(text, path)):
            unnoticed.append(f"{changed.name}: {what}")
        assert all(len(problem) < 1_000 for problem in problems), (path, what)
        tried += 1
    assert unnoticed == []
    assert tried > 400 // share


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [("public.csv", "public.csv has the column x"), ("submissions.csv", "csv has the column x")],
)
def test_a_column_more_is_named(exported: Path, tmp_path: Path, name: str, message: str) -> None:
    copy = Path(shutil.copytree(exported, tmp_path / "x"))
    path = copy / "out" / name
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([f"{first},x", *(f"{line},1" for line in others), ""]))
    assert message in "\n".join(problems_of(copy))


@pytest.mark.slow
def test_what_means_the_same_is_not_named(exported: Path, tmp_path: Path) -> None:
    """The order of rows, and spaces around numbers, as in every file that is submitted."""
    copy = Path(shutil.copytree(exported, tmp_path / "x"))
    final, *_ = sorted((copy / "out" / "finals").iterdir())
    for path in (copy / "out" / "public.csv", final):
        first, *others = path.read_text().splitlines()
        path.write_text("\n".join([first, *reversed(others), ""]))
    assert problems_of(copy) == ()


def with_repeated_keys(text: str) -> Iterator[str]:
    """Yield a document with the first key of each object twice, first with another value."""
    for match in re.finditer(r'\{\s*("(?:[^"\\]|\\.)*")\s*:', text):
        place = match.start() + 1
        yield f"{text[:place]}{match[1]}: null, {text[place:]}"


@pytest.mark.slow
@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_a_repeated_key_is_refused_in_every_object_of_an_export(exported: Path, share: int) -> None:
    """Readers differ in which value they take, so that a document would mean two things."""
    refused = 0
    for path in sorted((exported / "out").glob("*.json*")):
        original = path.read_text()
        try:
            for changed in [*with_repeated_keys(original)][::share]:
                path.write_text(changed)
                with pytest.raises(InputError, match="is not in the format of an export"):
                    read_claims(path.parent)
                refused += 1
        finally:
            path.write_text(original)
    assert refused > 50 // share
