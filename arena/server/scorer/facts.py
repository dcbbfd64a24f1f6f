"""The public facts of a competition, as the scorer publishes them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arena.competition.programs.runners import digest_of_inputs, token_digests
from arena.competition.view import CompetitionView
from arena.config import SAMPLE_NAME
from arena.interfaces import ExplainsScores, Mechanism, Metric, source_of
from arena.programs.unpack import PackedLimits
from arena.public_board.chance import chance_difference, independent_rows
from arena.public_board.mechanism import find_mechanism, public_metric
from arena.server.records.published import CompetitionFacts
from arena.server_section import ServerSection, is_draft
from arena.types import PredictionKind

_RULES_BYTES = 2**20


def facts(competition: CompetitionView, name: str, server: ServerSection) -> CompetitionFacts:
    """Return the public facts: nothing in them depends on a label."""
    competition, phases = competition.in_phase(), competition.phases()
    settings, solution = competition.settings, competition.solution
    mechanism = competition.manager.mechanisms.resolve(settings.public.mechanism)
    start, deadline = receiving_dates(competition, phases)
    limits, freeze = settings.limits, settings.public.freeze
    display = settings.display(public=True)
    late_until = settings.competition.late_until
    pending = competition.pending_labels(private=False)
    return CompetitionFacts(
        name=name,
        title=settings.competition.title,
        metric=settings.metric.specification,
        board_metric=competition.board_metric,
        greater_is_better=competition.greater_is_better,
        mechanism=settings.public.mechanism,
        mechanism_text=mechanism_text(mechanism),
        deadline=deadline,
        columns=(solution.id_column, *solution.columns),
        rows=solution.n_rows,
        kind=PredictionKind(solution.kind).value,
        per_day=limits.per_day,
        total=limits.total,
        max_bytes=limits.max_bytes,
        count_rejected=limits.count_rejected,
        final_rule=settings.final.rule,
        final_count=settings.final.count,
        baselines=settings.competition.baselines,
        brackets=tuple(settings.brackets),
        boards=competition.released_boards,
        questions={
            key: question.model_dump(mode="json") for key, question in settings.question.items()
        },
        server=server,
        decimals=display.decimals,
        unit=display.unit,
        ties=settings.final.ties,
        tie_metric=next(iter(settings.metric.secondary), ""),
        metric_text=metric_text(competition),
        public_rows=solution.outline().n_public,
        mark=None if (mark := competition.mark(private=False)) is None else asdict(mark),
        pending_labels=None if pending is None else pending._asdict(),
        late_until=None if late_until is None else late_until.isoformat(),
        scores=settings.public.scores,
        freeze=None if freeze is None else freeze.isoformat(),
        start=start,
        per_week=limits.per_week,
        paused=competition.paused(),
        exemptions=tuple(competition.exemptions()),
        result=len(competition.results()),
        phases=tuple(phases),
        current_phase=competition.phase,
        programs=_programs(competition),
    )


def receiving_dates(
    competition: CompetitionView, phases: Sequence[Mapping[str, Any]]
) -> tuple[str | None, str | None]:
    """Return when files are received first and last, in any phase: ISO 8601; None: no limit."""
    if not phases:
        dates = competition.settings.competition
        limits = (dates.start, dates.deadline)
        start, deadline = (None if time is None else time.isoformat() for time in limits)
        return start, deadline
    starts, ends = ([phase[key] for phase in phases] for key in ("start", "end"))
    return None if None in starts else min(starts), None if None in ends else max(ends)


def _programs(competition: CompetitionView) -> dict[str, Any] | None:
    """Return what runners and participants must know of runs, without the names of inputs."""
    programs = competition.settings.programs
    if not programs.sandbox:
        return None
    return {
        "sandbox": programs.sandbox,
        "trials_per_day": programs.trials_per_day,
        "packed_bytes": PackedLimits().packed_bytes,
        "runs": {view.phase: _runs_of_a_phase(view) for view in competition.in_each_phase()},
    }


def _runs_of_a_phase(competition: CompetitionView) -> dict[str, Any]:
    section = competition.settings.programs
    return {
        "environment": section.environment,
        "sample": digest_of_inputs(competition.folder / section.sample),
        "inputs": digest_of_inputs(competition.folder / section.inputs),
        "limits": section.for_runners,
        "max_bytes": competition.settings.limits.max_bytes,
    }


def mechanism_text(mechanism: Mechanism) -> str:
    """Return the mechanism's text for participants; else the first sentence of its class."""
    if isinstance(mechanism, ExplainsScores):
        return mechanism.for_participants
    return _first_paragraph(mechanism)


def metric_text(competition: CompetitionView) -> str:
    """Return the first sentence of the metric's class; empty for code of the organiser."""
    metric: Metric = competition.manager.metrics.resolve(competition.settings.metric.specification)
    return "" if source_of(metric) is not None else _first_paragraph(metric)


def _first_paragraph(item: object) -> str:
    return " ".join((type(item).__doc__ or "").split("\n\n")[0].split())


def documents(competition: CompetitionView, name: str, server: ServerSection) -> dict[str, Any]:
    """Return the documents that change only with the settings, and the boards."""
    sample = None
    with contextlib.suppress(FileNotFoundError):
        sample = (competition.folder / SAMPLE_NAME).read_bytes()
    return {
        "competition": asdict(facts(competition, name, server)),
        **board_documents(competition),
        **result_documents(competition),
        "rules": rules_of(competition, server),
        "sample": sample,
        "runners": token_digests(competition.folder),
    }


def result_documents(competition: CompetitionView) -> dict[str, Any]:
    """Return the documents of the published results, of every phase."""
    boards = competition.in_each_phase()
    results = sorted(
        (result for board in boards for result in board.results()),
        key=lambda result: int(result["version"]),
    )
    # Before the end, a web process that is taken over must not read private scores.
    coming = competition.next_result() if competition.has_ended else None
    documents: dict[str, Any] = {"results": results, "private": None, "next result": coming}
    for result in results:
        name = f"result {result['version']}"
        boards_of_result = (
            board.published_private_leaderboard(result["version"]) for board in boards
        )
        documents[name] = next((board for board in boards_of_result if board is not None), None)
        documents["private"] = None if result["state"] == "retracted" else documents[name]
    return documents


def board_documents(competition: CompetitionView) -> dict[str, Any]:
    """Return the public board, and how large a difference at its top is by chance alone.

    Of a competition with phases also the board of each of them, and the boards over phases.
    """
    boards = {
        f"board {phase['phase']}": competition.in_phase(phase["phase"]).leaderboard()
        for phase in competition.phases()
    }
    released = {
        f"released {name}": asdict(competition.released_board(name))
        for name in competition.released_boards
    }
    competition = competition.in_phase()
    board = competition.leaderboard()
    top = next((row["score"] for row in board if row["score"] is not None), None)
    settings, solution = competition.settings, competition.solution
    mechanism = find_mechanism(settings, competition.manager)
    metric = public_metric(settings, mechanism, solution.outline(), competition.manager)
    difference = None if top is None else chance_difference(metric, independent_rows(solution), top)
    chance = {"difference": difference}
    return {
        "board": board,
        "chance": chance,
        "late": competition.late_files(),
        "brackets": competition.brackets(),
        **boards,
        **released,
    }


def rules_of(competition: CompetitionView, server: ServerSection) -> str | None:
    """Return the text of the rules; None if there are none, or only a draft."""
    if server.rules:
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            path = competition.folder / server.rules
            text = path.read_bytes()[:_RULES_BYTES].decode("utf-8", "replace")
            return None if is_draft(text) else text
    return None
