"""Verifies an export: scores the finals again, and compares every figure with its board."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.boards.boards_over_phases import (
    PhaseFinals,
    phases_by_board,
    phases_of_boards,
    rows_with_labels,
)
from arena.competition.boards.final_document import columns_in_brackets
from arena.competition.boards.finalize import (
    evaluate_finals,
    final_board_settings,
    with_boards_over_phases,
    with_combined_boards,
    with_roster,
)
from arena.competition.create import read_settings_solution
from arena.competition.exports.claims import (
    Claims,
    counting_teams,
    is_result,
    last_recorded,
    read_claims,
    recorded_row_counts,
    recorded_row_sets,
    recorded_solution,
    recorded_submissions,
    require,
    usage_rows,
)
from arena.competition.exports.contradictions import contradictions_in
from arena.competition.record.combined_boards import ABOUT_PHASES
from arena.competition.record.combined_documents import (
    combined_boards,
    phase_files,
    verdicts_of_combined,
)
from arena.competition.record.phases import all_rows_in, with_rows
from arena.competition.record.roster import Roster
from arena.competition.record.secondary import secondary_metrics
from arena.competition.state import metric_code
from arena.errors import InputError
from arena.evaluation.scores import is_black_box
from arena.evaluation.solution_metric import scoring_metric
from arena.intake import read_submission
from arena.interfaces import Metric, traits_of
from arena.interfaces.faults import describe
from arena.plugin.manager import PluginManager
from arena.scoring.board import BoardRun
from arena.scoring.result import ScoreResult, unranked_rows
from arena.store import Store
from arena.store.digests import keyed_digest, predictions_digest
from arena.store.solutions import solution_digests
from arena.types import IntArray, Solution, SubmissionRecord, Usage, usage_array, usage_names
from arena.utils.parallel import Progress
from arena.utils.text import printable

_NOT_COMPARED = {"submission", "file"}


_TOLERANCE = 1e-9


def verify_bundle(
    folder: Path, solution_path: Path, manager: PluginManager, progress: Progress
) -> tuple[str, ...]:
    """Score the finals of an export again and return a sentence on each difference.

    A difference in the solution comes first.

    Raises
    ------
    InputError
        If the export or the solution cannot be read.
    """
    claims = read_claims(folder)
    phase = claims.phase
    settings = claims.settings.in_phase(phase)
    read = read_settings_solution(solution_path, claims.settings, manager)
    read = _in_recorded_order(claims, read)
    problems = list(difference_of_solution(claims, read))
    with_usage = _with_usage(claims, read, problems)
    split = all_rows_in(with_usage, [claims.settings.phase[phase]] if phase else [])
    solution = split.labelled()
    problems += contradictions_in(claims)
    problems += difference_of_metric(claims, manager)
    name = settings.metric.specification
    metric = scoring_metric(manager.metrics.resolve(name), solution.outline())
    with Store.open() as store:
        store.put_solution(solution)
        records, changed = _take_finals(store, claims, solution, metric)
        marked = [records[row["submission"]] for row in unranked_rows(claims.result)]
        ranked = {
            team: [records[number].submission for number in numbers]
            for team, numbers in claims.finals.items()
        }
        teams = {*ranked, *(record.team for record in marked)}
        every_team = claims.roster(finalized=True)
        roster = every_team.among(teams)
        problems += changed
        run = BoardRun(
            specification=name,
            metric=metric,
            solution=solution,
            split="private",
            settings=dataclasses.replace(
                final_board_settings(settings, claims.result["seed"]),
                intervals=had_intervals(claims.result, metric),
            ),
            store=store,
            manager=manager,
            progress=progress,
            secondary=secondary_metrics(settings, solution, manager),
            brackets=roster.boards,
            n_pending=int((split.pending & (split.usage == np.uint8(Usage.PRIVATE))).sum()),
        )

        def rank(board_run: BoardRun) -> ScoreResult:
            board = evaluate_finals(board_run, ranked, [*records.values()], settings)
            return with_roster(board_run, board, marked, roster)

        result = with_combined_boards(run, settings, rank)
        if files := phase_files(claims.result):
            phase_finals = _claimed_phase_finals(
                claims, with_usage, files=files, records=records, roster=every_team
            )
            result = with_boards_over_phases(run, result, settings, phase_finals)
        problems += lacking_boards_over_phases(claims, with_usage, every_team)
        recomputed = result.to_dict()
    return (
        *problems,
        *differences_of_boards(claims.result, recomputed),
        *_of_combined(claims, recomputed),
    )


def _claimed_phase_finals(
    claims: Claims,
    solution: Solution,
    files: Mapping[str, Mapping[str, int]],
    records: Mapping[int, SubmissionRecord],
    roster: Roster,
) -> PhaseFinals:
    """Return what the boards over phases of an export are of, by the submissions in its store."""
    renumbered = {
        name: {team: records[number].submission for team, number in files.get(name, {}).items()}
        for name in phases_of_boards(claims.settings, claims.phase)
    }
    return PhaseFinals(
        settings=claims.settings,
        phase=claims.phase,
        solution=solution,
        files=renumbered,
        records={record.submission: record for record in records.values()},
        roster=roster,
    )


def lacking_boards_over_phases(claims: Claims, solution: Solution, roster: Roster) -> Iterator[str]:
    """Yield a sentence on each board over phases that an export must have and has not.

    It must if two phases have labels, and a team that is ranked has a file in each of these.
    """
    counting = counting_teams(recorded_submissions(claims.events))
    claimed = combined_boards(claims.result)
    for name, phases in phases_by_board(claims.settings, claims.phase).items():
        if name in claimed:
            continue
        labelled = [
            phase for phase in phases if rows_with_labels(claims.settings, phase, solution).any()
        ]
        complete = set.intersection(*(counting.get(phase, set()) for phase in labelled or [""]))
        if len(labelled) > 1 and complete - set(roster.unranked):
            yield f"result.json lacks the board {printable(name)}."


def _of_combined(claims: Claims, recomputed: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each difference of a combined board."""
    claimed = combined_boards(claims.result)
    verdicts, verdicts_again = verdicts_of_combined(claims.result), verdicts_of_combined(recomputed)
    for name, again in combined_boards(recomputed).items():
        require(is_result(claimed.get(name)), claims.folder / "result.json")
        for difference in differences_of_boards(claimed[name], again):
            yield f"Board {printable(name)}: {difference}"
        texts = (verdicts[name], claimed[name].get(ABOUT_PHASES))
        texts_again = (verdicts_again[name], again.get(ABOUT_PHASES))
        teams = [str(row["team"]) for row in again["standings"]]
        if _numbers_and_names(texts, teams) != _numbers_and_names(texts_again, teams):
            yield f"Board {printable(name)}: its sentences differ."
    for name in claimed.keys() - combined_boards(recomputed).keys():
        yield f"Board {printable(name)} does not follow from the settings."


def _numbers_and_names(texts: Iterable[Any], names: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the numbers and names in texts, whose words may be those of another version."""
    return [
        (re.findall(r"\d+", str(text)), [name for name in names if name in str(text)])
        for text in texts
    ]


def had_intervals(result: Mapping[str, Any], metric: Metric) -> bool:
    """Return whether intervals were requested; a metric may have refused all resamples.

    The public scores of a black-box metric are only computed with intervals.
    """
    public = any(row.get("public_score") is not None for row in result["standings"])
    return bool(result.get("resamples", True)) or (is_black_box(metric) and public)


def difference_of_solution(claims: Claims, solution: Solution) -> Iterator[str]:
    """Yield a sentence if the solution is not the recorded one."""
    number, digests = recorded_solution(claims)
    if not digests:
        yield "events.jsonl does not record the solution: the beginning of the record is missing."
    elif solution_digests(solution, claims.key)["labels"] != digests.get("labels"):
        corrected = " after its last correction" if number > 1 else ""
        yield (
            f"This is not the solution of this competition{corrected}: its labels, ids or groups "
            "differ from those in the record. Use the file the competition was created with."
        )


def _with_usage(claims: Claims, solution: Solution, problems: list[str]) -> Solution:
    """Return the solution with the split of the export; a changed split adds to the problems."""
    row_sets = recorded_row_sets(claims)
    codes = {name: code for code, name in enumerate(usage_names(row_sets))}
    path, rows = usage_rows(claims)
    require(all(usage in codes for _, usage in rows), path)
    usage = usage_array([codes[usage] for _, usage in rows])
    _, digests = recorded_solution(claims)
    if digests and keyed_digest(claims.key, usage.tobytes()) != digests.get("usage"):
        problems.append(
            "usage.csv is not the split of this competition: it differs from the record."
        )
    return dataclasses.replace(solution, usage=usage, row_sets=row_sets)


def _in_recorded_order(claims: Claims, solution: Solution) -> Solution:
    """Return a solution in the order of the rows of an export: those that were added come last.

    Raises
    ------
    InputError
        If it has other ids.
    """
    _, rows = usage_rows(claims)
    ids = [row_id for row_id, _ in rows]
    if ids == solution.ids.to_pylist():
        return solution
    positions = {row_id: position for position, row_id in enumerate(solution.ids.to_pylist())}
    if sorted(ids) != sorted(positions):
        raise InputError(
            "This is not the solution of this competition, or usage.csv was changed: their ids "
            "differ."
        )
    order = np.array([positions[row_id] for row_id in ids], dtype=np.intp)
    ordered = with_rows(solution, order)
    tasks, names = ordered.tasks, ordered.task_names
    if tasks is not None:
        tasks, codes = codes_by_occurrence(tasks)
        names = tuple(names[code] for code in codes)
    clusters = ordered.clusters
    if clusters is not None:
        clusters, _ = codes_by_occurrence(clusters)
    return dataclasses.replace(ordered, tasks=tasks, task_names=names, clusters=clusters)


def codes_by_occurrence(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the codes numbered by their first occurrence, and the code that each was before."""
    before, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse], before[order]


def difference_of_metric(claims: Claims, manager: PluginManager) -> Iterator[str]:
    """Yield a sentence if the metric is a file and its code differs from the recorded code."""
    recorded = None
    for event in claims.events:
        recorded = event.payload.get("metric_sha256", recorded)
    code = metric_code(claims.settings.metric.specification, manager)
    if code is None:
        return
    if sha256(code.encode("utf-8", "surrogatepass")).hexdigest() != recorded:
        yield "The code of the metric file differs from the code that gave the recorded scores."


def _take_finals(
    store: Store, claims: Claims, solution: Solution, metric: Metric
) -> tuple[dict[int, SubmissionRecord], list[str]]:
    """Store the finals in the order of their numbers, so that ties are broken as before.

    Returns
    -------
    Their records, with new numbers, by their numbers in the export, and a sentence on each whose
    predictions differ from the record.
    """
    allowed = traits_of(metric).prediction_range
    teams = {
        submission: team
        for team, team_finals in claims.written.items()
        for submission in team_finals
    }
    records: dict[int, SubmissionRecord] = {}
    changed = []
    every_row = np.arange(solution.n_rows)
    row_counts = recorded_row_counts(claims, solution).of(sorted(teams)).tolist()
    solutions = {n_rows: with_rows(solution, every_row[:n_rows]) for n_rows in set(row_counts)}
    for submission, n_rows in zip(sorted(teams), row_counts, strict=True):
        path = claims.folder / "finals" / f"{submission}.csv"
        read = read_submission(path, solutions[n_rows], prediction_range=allowed)
        if read.values is None:
            raise InputError(f"{path} cannot be used: {describe(read.faults[0])}")
        recorded = last_recorded(claims, "predictions", str(submission))
        if predictions_digest(claims.key, read.values) != recorded:
            changed.append(
                f"finals/{submission}.csv does not contain the predictions of submission "
                f"{submission} that events.jsonl records."
            )
        records[submission] = store.add_submission(
            teams[submission],
            path.name,
            read.sha256,
            read.values[np.minimum(every_row, n_rows - 1)],
            key=str(submission),
        )
    return records, changed


def differences_of_boards(claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each difference between a claimed board and the recomputed one."""
    # n_pending is absent where every row has a label; older exports may lack the others.
    for key, default in (("n_rows", None), ("n_pending", 0), ("greater_is_better", None)):
        expected = computed.get(key, default)
        if claimed.get(key, expected if default is None else default) != expected:
            yield f"{key} differs."
    recomputed_rows = {row["team"]: row for row in computed["standings"]}
    for row in claimed["standings"]:
        recomputed_row = recomputed_rows.pop(row["team"], None)
        if recomputed_row is None:
            yield f"The team {printable(row['team'])} is not on the recomputed board."
            continue
        for column in sorted(set(row) - _NOT_COMPARED):
            if not _agree(row[column], recomputed_row.get(column)):
                yield f"{column} of the team {printable(row['team'])} differs."
    again = {row["team"]: row for row in unranked_rows(computed)}
    for row in unranked_rows(claimed):
        what = f"the {'baseline' if row['baseline'] else 'unranked team'} {printable(row['team'])}"
        for column in ("score", "public_score", "baseline"):
            if not _agree(row.get(column), again.get(row["team"], {}).get(column)):
                yield f"{column} of {what} differs."
    listed = {row["team"] for row in unranked_rows(claimed)}
    for team in sorted(again.keys() - listed):
        yield f"The team {printable(team)}, which is not ranked, is missing from the board."
    yield from _differences_in_brackets(claimed, computed)
    for team in recomputed_rows:
        yield f"The team {printable(team)} is missing from the exported board."
    if not _agree(claimed["best_score_corrected"]["estimate"],
                  computed["best_score_corrected"]["estimate"]):  # fmt: skip
        yield "The corrected best score differs."


def _differences_in_brackets(
    claimed: Mapping[str, Any], recomputed: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a sentence on each bracket whose teams, or columns among them, differ."""
    brackets, again = claimed.get("brackets", {}), recomputed.get("brackets", {})
    try:
        boards = columns_in_brackets(claimed)
    except (KeyError, TypeError):
        boards = {}
    boards_again = columns_in_brackets(recomputed)
    for name in sorted({*brackets, *again}):
        if brackets.get(name) != again.get(name):
            yield f"The teams of the bracket {printable(name)} differ."
        elif boards.get(name) != boards_again.get(name):
            yield f"The ranks in the bracket {printable(name)} differ."


def _agree(claimed: Any, computed: Any) -> bool:
    if isinstance(claimed, float) and isinstance(computed, float | int):
        return math.isclose(claimed, computed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(claimed == computed)
