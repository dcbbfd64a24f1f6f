"""The export of a finished competition, with which another person can verify the private board.

::

    README.txt          what it is, and for whom
    settings.json       competition.toml as it was in force
    result.json         the private board: the document that `arena score --json` prints
    private.csv         the same for a spreadsheet
    public.csv          the public board
    submissions.csv     every submission, accepted or not
    events.jsonl        the record, one event a line, each bound to the one before by a hash
    usage.csv           which row was public, private or ignored; no label
    finals.json         the submissions of each team that count
    finals/ID.csv       what each of them predicts, and what the organiser's baseline does

Whoever has the solution file can judge the finals again and compare: :func:`verify_bundle`.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from arena.board_run import BoardRun
from arena.bundle_claims import contradictions, read_claims, with_usage
from arena.errors import InputError
from arena.execution import Progress
from arena.finale import board_settings, judge_finals
from arena.founding import read_settings_solution
from arena.intake import describe, read_submission
from arena.interfaces import Metric, traits_of
from arena.plugin_manager import PluginManager
from arena.store import Event, Store
from arena.targets import mean_over_targets
from arena.text import csv_cell, printable
from arena.types import PredictionKind, Solution, SubmissionRecord, Usage

__all__ = ["Bundle", "verify_bundle", "write_bundle"]

_README = """\
An export of arena, for the organiser of the competition.

Not for participants, nor for the public before the end: it holds the private scores, the
predictions of the final submissions, and which rows are private. It holds no label.

Whoever has the solution file can judge the final submissions again and compare every figure:

    arena verify FOLDER SOLUTION

Where the metric stands in a file of the organiser, settings.json names it: it is needed as well,
and a name that does not begin at the root is looked for from the current folder on.

settings.json       competition.toml as it was in force
result.json         the private board, with all digits and the names as the teams wrote them
private.csv         the private board for a spreadsheet: PRIVATE SCORES
public.csv          the public board for a spreadsheet
submissions.csv     every submission, accepted or not
events.jsonl        the record, one event a line, each bound to the one before by a hash
usage.csv           which row was public, private or ignored
finals.json         the submissions of each team that count
finals/ID.csv       what each of them predicts, and what the organiser's baseline does

In the tables for a spreadsheet, an apostrophe stands before a name that a spreadsheet would take
for a formula, and characters that cannot be seen are written out.
"""

_NOT_COMPARED = {"submission", "file"}
_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """What is exported."""

    settings: Mapping[str, Any]
    result: Mapping[str, Any]
    finals: Mapping[str, Sequence[int]]
    """The submissions of each team that count; of several the best."""
    public: Sequence[Mapping[str, Any]]
    submissions: Sequence[Mapping[str, Any]]
    events: Sequence[Event]
    solution: Solution
    """Its ids, usage and classes are written; its truth is not."""


def write_bundle(folder: Path, bundle: Bundle, store: Store) -> list[Path]:
    """Write the bundle into a new or empty folder and return its files.

    The same competition gives the same bytes.

    Raises
    ------
    InputError
        If the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; choose another folder for the export.")
    (folder / "finals").mkdir(parents=True)
    _write_json(folder / "settings.json", bundle.settings)
    _write_json(folder / "result.json", bundle.result)
    for name, rows in (
        ("private.csv", bundle.result["standings"]),
        ("public.csv", bundle.public),
        ("submissions.csv", bundle.submissions),
    ):
        (folder / name).write_text(_table(rows), encoding="utf-8", newline="")
    events = [json.dumps(dataclasses.asdict(event), sort_keys=True) for event in bundle.events]
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in events), encoding="utf-8")
    _write_usage(folder / "usage.csv", bundle.solution)
    _write_json(folder / "finals.json", bundle.finals)
    (folder / "README.txt").write_text(_README, encoding="utf-8")
    baseline = bundle.result.get("baseline")
    written = [one for own in bundle.finals.values() for one in own]
    for submission in sorted([*written, *([baseline["submission"]] if baseline else [])]):
        _write_final(folder / "finals" / f"{submission}.csv", submission, bundle.solution, store)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def verify_bundle(
    folder: Path, solution_path: Path, manager: PluginManager, progress: Progress
) -> tuple[str, ...]:
    """Judge the finals of a bundle again and return what does not agree, a sentence each.

    Raises
    ------
    InputError
        If the bundle or the solution cannot be read.
    """
    claims = read_claims(folder)
    tables = {"private.csv": _table(claims.result["standings"])}
    problems = [*contradictions(folder, claims, tables)]
    settings, claimed, finals = claims.settings, claims.result, claims.finals
    solution = with_usage(read_settings_solution(solution_path, settings, manager), folder)
    name = settings.metric.specification
    metric = mean_over_targets(manager.metrics.resolve(name), len(solution.targets))
    with Store.open() as store:
        store.put_solution(solution)
        baseline = claims.baseline
        records, renumbered = _take_finals(store, claims.written, folder, solution, metric)
        run = BoardRun(
            specification=name,
            metric=metric,
            solution=solution,
            split="private",
            settings=board_settings(settings, claimed["seed"]),
            store=store,
            manager=manager,
            progress=progress,
        )
        marked = [one for one in records if baseline and one.team == baseline["team"]]
        ranked = {team: own for team, own in renumbered.items() if team in finals}
        result = judge_finals(run, ranked, records, settings)
        again = dataclasses.replace(result, baseline=run.unranked(marked[0]) if marked else None)
        found = again.to_dict()
    return (*problems, *_differences(claimed, found))


def _take_finals(
    store: Store,
    finals: Mapping[str, Sequence[int]],
    folder: Path,
    solution: Solution,
    metric: Metric,
) -> tuple[list[SubmissionRecord], dict[str, list[int]]]:
    """Store the finals in the order of their ids, so that ties are broken as they were."""
    allowed = traits_of(metric).prediction_range
    teams = {submission: team for team, own in finals.items() for submission in own}
    records: list[SubmissionRecord] = []
    renumbered: dict[str, list[int]] = {}
    for submission in sorted(teams):
        path = folder / "finals" / f"{submission}.csv"
        read = read_submission(path, solution, prediction_range=allowed)
        if read.values is None:
            raise InputError(f"{path} cannot be used: {describe(read.faults[0])}")
        team = teams[submission]
        record = store.add_submission(
            team, path.name, read.sha256, read.values, key=str(submission)
        )
        records.append(record)
        renumbered.setdefault(team, []).append(record.submission)
    return records, renumbered


def _differences(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    mine = {row["team"]: row for row in found["standings"]}
    for row in claimed["standings"]:
        own = mine.pop(row["team"], None)
        if own is None:
            yield f"The team {printable(row['team'])} does not stand on the board judged again."
            continue
        for column in sorted(set(row) - _NOT_COMPARED):
            if not _agree(row[column], own.get(column)):
                yield f"{column} of the team {printable(row['team'])} differs."
    for column in ("score", "public_score"):
        if not _agree(*((one.get("baseline") or {}).get(column) for one in (claimed, found))):
            yield f"{column} of the baseline differs."
    for team in mine:
        yield f"The team {printable(team)} is missing from the exported board."
    if not _agree(claimed["best_score_corrected"]["estimate"],
                  found["best_score_corrected"]["estimate"]):  # fmt: skip
        yield "The corrected best score differs."


def _agree(claimed: Any, found: Any) -> bool:
    if isinstance(claimed, float) and isinstance(found, float | int):
        return math.isclose(claimed, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(claimed == found)


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(document, indent=2, sort_keys=True, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV that a spreadsheet may open, whatever the teams are called."""
    columns = list(rows[0]) if rows else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(column) for column in columns])
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    return csv_cell(printable(value)) if isinstance(value, str) else value


def _write_csv(path: Path, rows: Iterable[Sequence[Any]], quote_all: bool = False) -> None:
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n", quoting=quoting).writerows(rows)


def _write_usage(path: Path, solution: Solution) -> None:
    # Ids are written as they are: they must match the organiser's own file.
    usage = [Usage(int(code)).name.capitalize() for code in solution.usage]
    rows = zip(solution.ids.to_pylist(), usage, strict=True)
    _write_csv(path, [[solution.id_column, "Usage"], *rows])


def _write_final(path: Path, submission: int, solution: Solution, store: Store) -> None:
    _, block = next(store.predictions([submission]).blocks(1))
    values = block.reshape(solution.n_rows, len(solution.columns))
    columns: list[list[str]] = []
    for position, column in enumerate(values.T.tolist()):
        if solution.kind is PredictionKind.LABEL:
            classes = solution.targets[position].classes or ()
            columns.append([classes[code] for code in column])
        elif solution.kind is PredictionKind.TEXT:
            columns.append(column)
        else:
            columns.append([repr(value) for value in column])
    rows = zip(solution.ids.to_pylist(), *columns, strict=True)
    # A text may hold a line end of any kind, and the writer quotes its own only.
    quote_all = solution.kind is PredictionKind.TEXT
    _write_csv(path, [[solution.id_column, *solution.columns], *rows], quote_all)
