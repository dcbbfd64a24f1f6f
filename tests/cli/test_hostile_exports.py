"""A changed export is recognised, and the message says what to do."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from competition_folder import change, write_file
from program import run_here


@pytest.fixture(scope="module")
def exported(made_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a solution and an export; one team chose two submissions, one is out."""
    here = Path(shutil.copytree(made_once, tmp_path_factory.mktemp("exported") / "x"))
    change(here / "c", "intervals = true", "intervals = false")
    change(here / "c", "# baseline =", 'baseline = "base"')
    change(here / "c", 'rule = "best_public"', 'rule = "chosen"')
    for number, team in enumerate(["one", "two;=1+1", "=three", "one", "base"], start=1):
        file = write_file(here / f"{number}.csv", number)
        assert run_here("submit", file, f"--team={team}", cwd=here / "c").returncode == 0
    for command in (
        ("select", "--team", "one", 1, 4),
        ("disqualify", 2, "--reason", "a leak"),
        ("finalize", "--json"),
        ("export", here / "out"),
    ):
        called = run_here(*command, cwd=here / "c")
        assert called.returncode == 0, called.stderr
    called = run_here("verify", "out", "solution.csv", cwd=here)
    assert called.returncode == 0, called.stderr
    return here


@pytest.fixture
def there(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "x"))


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return what changes a JSON file of an export."""

    def act(out: Path) -> None:
        document = json.loads((out / name).read_text())
        changed = edit(document)
        (out / name).write_text(json.dumps(document if changed is None else changed))

    return act


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        text = (out / name).read_text()
        assert old in text
        (out / name).write_text(text.replace(old, new, 1))

    return act


def halved(name: str) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        head, *lines = (out / name).read_text().splitlines()
        same = [f"{line.split(',')[0]},0.5" for line in lines]
        (out / name).write_text("\n".join([head, *same]) + "\n")

    return act


def written(name: str, text: str) -> Callable[[Path], None]:
    return lambda out: (out / name).write_text(text) and None


def events(edit: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        lines = (out / "events.jsonl").read_text().splitlines()
        (out / "events.jsonl").write_text("".join(f"{line}\n" for line in edit(lines)))

    return act


def lines_of(name: str, edit: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    """Return what changes the lines of a table, the header first."""

    def act(out: Path) -> None:
        lines = (out / name).read_text().splitlines()
        changed = edit(lines)
        assert changed != lines
        (out / name).write_text("".join(f"{line}\n" for line in changed))

    return act


def without(name: str, line: int) -> Callable[[Path], None]:
    return lines_of(name, lambda lines: lines[:line] + lines[line + 1 :])


def doubled(name: str) -> Callable[[Path], None]:
    return lines_of(name, lambda lines: [*lines, lines[-1]])


def columned(name: str) -> Callable[[Path], None]:
    return lines_of(name, lambda lines: [f"{lines[0]},more", *(f"{line},1" for line in lines[1:])])


def last_column_removed(name: str) -> Callable[[Path], None]:
    return lines_of(name, lambda lines: [line.rpartition(",")[0] for line in lines])


def ranked(team: str, rank: str) -> Callable[[Path], None]:
    """Return what gives a team without a rank one on the public board."""
    return lines_of(
        "public.csv",
        lambda lines: [rank + line if line.startswith(f",{team},") else line for line in lines],
    )


def swapped(name: str) -> Callable[[Path], None]:
    """Return what makes private rows public and public rows private."""
    other = {"Public": "Private", "Private": "Public"}
    return lines_of(
        name,
        lambda lines: [
            f"{row},{other.get(usage, usage)}" for row, usage in (line.split(",") for line in lines)
        ],
    )


def linked(name: str, target: str) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(out / target)

    return act


def higher(document: Any) -> None:
    document["standings"][0]["score"] += 0.01


CONTRADICTIONS: dict[str, tuple[Callable[[Path], None], str]] = {
    "score of the board": (edited("result.json", higher), "not the board that events.jsonl"),
    "score of the table": (replaced("private.csv", ",0.", ",1."), "private.csv differs from"),
    "team of the table": (replaced("private.csv", "one", "eno"), "private.csv differs from"),
    "public score": (replaced("public.csv", ",0.", ",0.1"), "public.csv: the score of"),
    "public rank": (replaced("public.csv", "\n1,", "\n2,"), "public.csv: the rank of"),
    "public baseline": (replaced("public.csv", ",False", ",True"), "baseline is True, and"),
    "listed score": (replaced("submissions.csv", ",0.", ",0.1"), "submissions.csv: the score of"),
    "first event": (events(lambda lines: lines[1:]), "event 1 is missing"),
    "event between": (events(lambda lines: lines[:2] + lines[3:]), "event 3 is missing"),
    "last event": (events(lambda lines: lines[:-1]), "the end is missing"),
    "no event": (events(lambda lines: []), "the end is missing"),
    "order of events": (events(lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]]), "miss"),
    "name in an event": (replaced("events.jsonl", '"one"', '"eno"'), "was changed after"),
    "other finals": (
        edited("finals.json", lambda finals: finals | {"one": [4]}),
        "The submissions in finals.json differ",
    ),
    "extra file": (written("more.csv", "id"), "more.csv does not belong to an export"),
    "extra final": (written("finals/77.csv", "id"), "finals/77.csv does not belong to an export"),
    "predictions": (halved("finals/3.csv"), "score of the team =three differs"),
    "digest of predictions": (halved("finals/3.csv"), "does not contain the predictions of"),
    "public team": (without("public.csv", 1), "public.csv lacks the team"),
    "public rank of the baseline": (ranked("base", "4"), "the baseline base has a rank"),
    "public column": (columned("public.csv"), "public.csv has the column more"),
    "listed submission": (without("submissions.csv", 1), "submissions.csv lacks submission 1"),
    "listed twice": (doubled("submissions.csv"), "submissions.csv lists a submission twice"),
    "missing column": (
        last_column_removed("submissions.csv"),
        "submissions.csv lacks cells of submission 1",
    ),
    "listed column": (columned("submissions.csv"), "submissions.csv has the column more"),
    "a submission more": (
        replaced("submissions.csv", "\n1,", "\n99,"),
        "submissions.csv has submission 99, which events.jsonl does not record",
    ),
    "team of the board": (
        edited("result.json", lambda result: result["standings"][0].update(team="x")),
        "The team x is not on the recomputed board",
    ),
    "missing team of the board": (
        edited("result.json", lambda result: result["standings"].pop() and None),
        "is missing from the exported board",
    ),
    "score of the baseline": (
        edited("result.json", lambda result: result["baseline"].update(score=0.1)),
        "score of the baseline base differs",
    ),
    "corrected best": (
        edited("result.json", lambda result: result["best_score_corrected"].update(estimate=0.5)),
        "The corrected best score differs",
    ),
    "setting": (
        edited("settings.json", lambda keys: keys["competition"].update(title="Another")),
        "The settings in settings.json differ",
    ),
    "final of another team": (
        edited("finals.json", lambda finals: finals | {"one": [3]}),
        "submission 3 of the team one does not count according to events.jsonl",
    ),
    "split": (swapped("usage.csv"), "usage.csv is not the split of this competition"),
    "key": (written("key.txt", "0" * 64), "This is not the solution of this competition"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_contradicts_the_rest_is_told(there: Path, name: str) -> None:
    attack, sentence = CONTRADICTIONS[name]
    attack(there / "out")
    called = run_here("verify", "out", "solution.csv", cwd=there)
    assert called.returncode == 1, called.stderr
    assert sentence in called.stderr
    assert "Traceback" not in called.stderr
    assert called.stdout == ""


DEEP = "[" * 100_000 + "]" * 100_000
UNREADABLE: dict[str, Callable[[Path], None]] = {
    **{f"no {name}": lambda out, name=name: (out / name).unlink()
       for name in ("settings.json", "result.json", "events.jsonl", "usage.csv", "finals.json",
                    "private.csv", "public.csv", "submissions.csv", "finals/3.csv")},
    **{f"nested {name}": written(name, DEEP)
       for name in ("settings.json", "result.json", "events.jsonl", "finals.json")},
    **{f"bytes {name}": lambda out, name=name: (out / name).write_bytes(b"\xff\x00\xfe") and None
       for name in ("settings.json", "result.json", "events.jsonl", "usage.csv", "finals.json",
                    "private.csv", "public.csv", "finals/3.csv")},
    "list of settings": written("settings.json", "[]"),
    "unknown setting": edited("settings.json", lambda keys: keys | {"more": {"a": 1}}),
    "setting out of range": edited("settings.json", lambda keys: keys["analysis"].update(level=7)),
    "unknown metric": edited("settings.json", lambda keys: keys["metric"].update(name="nothing")),
    "no seed": edited("result.json", lambda result: result.pop("seed") and None),
    "seed of text": edited("result.json", lambda result: result.update(seed="x")),
    "seed below zero": edited("result.json", lambda result: result.update(seed=-1)),
    "huge number": replaced("result.json", '"seed": ', '"seed": ' + "9" * 5000),
    "standings of numbers": edited("result.json", lambda result: result.update(standings=[1])),
    "baseline of text": edited("result.json", lambda result: result.update(baseline="x")),
    "path for a final": edited("finals.json", lambda finals: {"one": ["../../solution"]}),
    "no finals": written("finals.json", "{}"),
    "final that is not there": edited("finals.json", lambda finals: finals | {"one": [99]}),
    "event of text": events(lambda lines: ["7", *lines]),
    "event without a hash": events(lambda lines: ['{"sequence": 1}', *lines]),
    "unknown usage": replaced("usage.csv", "Private", "Hidden"),
    "row without usage": replaced("usage.csv", ",Private", ""),
    "huge cell": replaced("usage.csv", "r00", "r" * 200_000),
    "huge team": edited(
        "result.json", lambda result: result["standings"][0].update(team="x" * 200_000)
    ),
    "other ids": replaced("usage.csv", "r00", "r99"),
    "linked final": linked("finals/3.csv", "../solution.csv"),
    "linked result": linked("result.json", "../solution.csv"),
    "linked folder": lambda out: (out / "more").symlink_to("/"),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_an_export_is_told_in_one_line(there: Path, name: str) -> None:
    UNREADABLE[name](there / "out")
    called = run_here("verify", "out", "solution.csv", cwd=there)
    assert called.returncode == 1, called.stderr
    assert called.stdout == ""
    (line,) = called.stderr.splitlines()
    assert line.startswith("arena: ")
    assert len(line) < 500


def test_another_solution_is_told_and_none_of_its_labels(there: Path) -> None:
    lines = (there / "solution.csv").read_text().splitlines()
    flipped = [f"{line[:-1]}{1 - int(line[-1])}" for line in lines[1:]]
    (there / "other.csv").write_text("\n".join([lines[0], *flipped]) + "\n")
    called = run_here("verify", "out", "other.csv", cwd=there)
    assert called.returncode == 1
    assert "score of the team one differs." in called.stderr
    for name in ("out", "none.csv"):
        called = run_here("verify", "out", name, cwd=there)
        assert called.returncode == 1
        assert len(called.stderr.splitlines()) == 1
    for name in ("solution.csv", "none", "."):
        called = run_here("verify", name, "solution.csv", cwd=there)
        assert called.returncode == 1
        assert len(called.stderr.splitlines()) == 1


def test_an_export_says_for_whom_it_is(there: Path) -> None:
    text = (there / "out" / "README.txt").read_text()
    assert "for the organiser" in text
    assert "Do not give it to participants" in text
    listed = {line.split()[0] for line in text.splitlines() if line[:1].islower() and "  " in line}
    assert listed == {"finals/ID.csv"} | {
        path.name for path in (there / "out").iterdir() if path.name not in ("README.txt", "finals")
    }


@pytest.mark.slow
def test_an_export_overwrites_nothing(there: Path) -> None:
    for existing in (there / "out", there / "solution.csv", there / "c"):
        called = run_here("export", existing, cwd=there / "c")
        assert called.returncode == 1
        assert "is not empty" in called.stderr
    assert (there / "solution.csv").read_text().startswith("id,y")


@pytest.mark.slow
def test_ids_with_any_character_go_through_sample_export_and_verify(tmp_path: Path) -> None:
    ids = ["a\rb", "a\nb", "a\r\nb", "a,b", 'a"b', "=1+1", "a\u2028b", "a;b", "\u202ea", "a b"]
    with (tmp_path / "solution.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[identifier, number % 2] for number, identifier in enumerate(ids)]
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["id", "y"], *rows])
    for command in (
        ("init", "c", "--solution", "solution.csv", "--metric=roc_auc", "--public-share=0.5"),
        ("submit", "-C", "c", "--team=a", "c/sample_submission.csv"),
        ("finalize", "-C", "c"),
        ("export", "-C", "c", "out"),
        ("verify", "out", "solution.csv"),
    ):
        called = run_here(*command, cwd=tmp_path)
        assert called.returncode == 0, (command, called.stdout, called.stderr)
