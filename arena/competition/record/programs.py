"""Programs as submissions: what is on record of a program and of its run on the hidden inputs.

A program is recorded by a separate event, which counts towards the limits of its team at the time
of its last byte. Its run on the hidden inputs becomes an ordinary submission, whose idempotency key
is the id of the program and whose event has the figures of the run. A program whose run failed by a
fault of the machine is set aside, and no longer counts.

A program could print hidden inputs into its output, and a fault of a file quotes cells, ids and
columns. So a fault of such a submission has only the kind of failure and rounded figures, also in
the database: nothing that shows faults can show more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from arena.config import Settings
from arena.interfaces.faults import describe
from arena.programs.figures import two_digits
from arena.store import Event, Store
from arena.store.events import PROGRAM_RECEIVED
from arena.types import Fault

SET_ASIDE = "program set aside"
RERUN = "program rerun"
INVALID = "output invalid"
_ENDS: Mapping[str, str] = {
    "time": "It did not end within {seconds:g} seconds.",
    "memory": "It needed more than {memory_mb:,} MB of memory.",
    "disk": "It wrote more than {disk_mb:,} MB of files.",
    "crash": "It ended with an error.",
    "no output": "It wrote no predictions to the folder /output.",
    "output too large": "Its output is larger than a submission may be: {max_bytes:,} bytes.",
    INVALID: "Its output is not a valid submission.",
}
"""How a run can fail by a fault of the program -> the sentence for its team."""
_MOST_DETAIL = 3
_KEYS_OF_A_PROGRAM = ("program", "team", "file", "sha256", "late", "phase")
"""The fields of a program that are in its event; the time of the event is when it was received."""


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A program that was received, and has its place in the limits of its team."""

    program: str
    """Its id: the idempotency key of its submission."""
    team: str
    """The name under which its submission is stored."""
    file: str
    """The name of its file."""
    sha256: str
    """The digest of its file."""
    received: datetime
    """When the last byte arrived."""
    late: bool = False
    """Whether it came after the deadline: its submission is listed apart."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no named phases."""

    @property
    def kept_name(self) -> str:
        """The name under which the competition keeps it: its digest, and what it is."""
        return f"{self.sha256}{'.py' if self.file.endswith('.py') else '.zip'}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as the payload of its event, which has the time."""
        return {key: getattr(self, key) for key in _KEYS_OF_A_PROGRAM}

    @classmethod
    def of(cls, event: Event) -> Self:
        """Return the program that an event received."""
        received = datetime.fromisoformat(event.time)
        return cls(received=received, **{key: event.payload[key] for key in _KEYS_OF_A_PROGRAM})


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A run on the hidden inputs, as the runner reports it."""

    end: str
    """``ok``, a kind of failure, or anything else: see :attr:`machine_fault`."""
    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: Path | None = None
    """What it wrote, of a run that ended well."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the record: ``runner``, ``sandbox``, ``versions``, ``inputs``,
    ``environment``, ``limits``, ``started`` and ``output_sha256``."""

    @classmethod
    def lost(cls, reason: str, about: Mapping[str, Any] | None = None) -> Self:
        """Return a run that failed by a fault of the machine; ``reason`` is for the organiser."""
        return cls("machine", 0.0, 0.0, 0.0, about={**(about or {}), "reason": reason})

    @property
    def machine_fault(self) -> str | None:
        """Why it says nothing of the program; None: it ended well, or the program failed."""
        if self.end == "ok" or self.end in _ENDS:
            return None
        return str(self.about.get("reason", "The machine that runs programs failed."))

    def to_dict(self) -> dict[str, Any]:
        """Return what the record keeps of it, at full precision: for the organiser."""
        figures = {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds}
        return {"end": self.end, **figures, "peak_mb": self.peak_mb, **self.about}


def failure_of(run: ProgramRun, settings: Settings) -> Fault:
    """Return the fault that the team of a failed run is shown; it says nothing of the output.

    >>> failure_of(ProgramRun("time", 601.3, 590.0, 211.0), Settings.of(metric="auc")).message[:84]
    'It did not end within 600 seconds. It ran for 600 seconds. It used 210 MB of memory.'
    """
    limits = {**settings.programs.model_dump(), "max_bytes": settings.limits.max_bytes}
    figures = {
        "seconds": f"It ran for {two_digits(run.seconds):g} seconds.",
        "memory": f"It used {two_digits(run.peak_mb):,g} MB of memory.",
    }
    sentences = [
        _ENDS[run.end].format_map(limits),
        *(figures[name] for name in settings.programs.show),
        "Nothing else of a run on hidden inputs is shown: try the program on the sample inputs.",
    ]
    return Fault(run.end, " ".join(sentences))


def concealed(
    faults: tuple[Fault, ...], run: ProgramRun, settings: Settings
) -> tuple[tuple[Fault, ...], str]:
    """Return the faults that a team is shown of a run's output, and the details for the organiser.

    All faults of the output are replaced by a single one without details.
    """
    if not faults or faults[0].kind == run.end:
        return faults, ""
    detail = " ".join(map(describe, faults[:_MOST_DETAIL]))
    return (failure_of(replace(run, end=INVALID), settings),), detail


def programs_in(store: Store) -> dict[str, ProgramRecord]:
    """Return every program that was received, by its id; without those set aside."""
    records: dict[str, ProgramRecord] = {}
    for event in store.each_event(PROGRAM_RECEIVED, SET_ASIDE):
        if event.kind == PROGRAM_RECEIVED:
            record = ProgramRecord.of(event)
            records[record.program] = record
        elif event.kind == SET_ASIDE:
            records.pop(str(event.payload["program"]), None)
    return records


FIGURES: Mapping[str, tuple[str, str]] = {
    "seconds": ("seconds", "seconds"),
    "memory": ("memory_mb", "peak_mb"),
}
"""A figure in ``[programs] show`` -> its column on the board, and its key in a record of a run."""
FIGURE_COLUMNS = tuple(
    f"{column}{end}" for column, _ in FIGURES.values() for end in ("", "_low", "_high")
)
"""The columns of a board for the figures of a run, and for their ranges over several."""


def figures_in(
    submissions: Iterable[Event], reruns: Iterable[Event], settings: Settings
) -> dict[int, dict[str, float]]:
    """Return the figures that the board shows, to two digits, of each submission of a program.

    ``seconds`` is that of the run that counts. ``seconds_low`` and ``seconds_high`` are the range
    over all runs, if the program was run again and ended well; the same of ``memory_mb``.

    Parameters
    ----------
    submissions, reruns
        The events of these kinds.
    """
    chosen = [FIGURES[name] for name in settings.programs.show]
    if not settings.programs.sandbox or not chosen:
        return {}
    again: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in reruns:
        if event.payload["run"]["end"] == "ok":
            again[event.payload["submission"]].append(event.payload["run"])
    figures: dict[int, dict[str, float]] = {}
    for submission, (_, run) in runs_in(submissions).items():
        columns = figures[submission] = {column: two_digits(run[key]) for column, key in chosen}
        if others := again.get(submission):
            for column, key in chosen:
                of_all_runs = [two_digits(program_run[key]) for program_run in (run, *others)]
                columns |= {f"{column}_low": min(of_all_runs), f"{column}_high": max(of_all_runs)}
    return figures


def runs_in(events: Iterable[Event]) -> dict[int, tuple[str, Mapping[str, Any]]]:
    """Return the program and its run of each accepted submission that a program wrote.

    A file that is carried into a phase is that of the program that wrote it for the phase before.
    """
    runs: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for event in events:
        payload = event.payload
        if event.kind != "submission" or payload["status"] != "accepted":
            continue
        if "run" in payload:
            runs[payload["submission"]] = payload["program"], payload["run"]
        elif payload.get("carried") in runs:
            runs[payload["submission"]] = runs[payload["carried"]]
    return runs
