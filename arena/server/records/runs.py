"""Programs that a server processes: their states, and the leases of runners.

Nothing here is part of the record of the competition: the scorer records a program when its trial
ended well, and its submission after its run on the hidden inputs. A lease has a number. Its result
counts only as long as no other runner took the run.
"""

from __future__ import annotations

import itertools
import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from arena.errors import ArenaError
from arena.programs.figures import is_figure
from arena.server.records.intake import new_id
from arena.server.records.names import RefusedError
from arena.server.records.sqlite import Records, connect, damage
from arena.utils.strict_json import parse_json

_LOGGER = logging.getLogger("arena.server.runs")

LEASE_SECONDS = 60.0
"""A runner that gives no sign of life for so long loses its run."""
_MOST = 2**50
"""A number of a program is less: a sum of two can be stored."""
_DAMAGED = ".damaged-"
_MOST_LOSSES = 2
"""A run whose runners were lost, or failed, so often is set aside."""


class ProgramState(StrEnum):
    """The state of a program."""

    TRIAL_WAITS = "trial waits"
    TRIAL_RUNS = "trial runs"
    TRIAL_FAILED = "trial failed"
    """Final: the team sees the whole log, and nothing was counted."""
    RECORDED = "recorded"
    """Its trial ended well, and the scorer was asked to record it."""
    REFUSED = "refused"
    """Final: by a limit or the deadline."""
    RUN_WAITS = "run waits"
    RUNS = "runs"
    RAN = "ran"
    """Final: its submission was sent to the scorer."""
    SET_ASIDE = "set aside"
    """Final: two runners were lost or failed with its trial; nothing was counted."""


WAITING = (ProgramState.TRIAL_WAITS, ProgramState.RUN_WAITS)
RUNNING = (ProgramState.TRIAL_RUNS, ProgramState.RUNS)
FINAL = (
    ProgramState.TRIAL_FAILED, ProgramState.REFUSED, ProgramState.RAN, ProgramState.SET_ASIDE
)  # fmt: skip

AGAIN = {ProgramState.REFUSED, ProgramState.SET_ASIDE}
"""A program in one of these may be sent again with its key."""


class LeaseLostError(ArenaError):
    """The runner no longer has the lease of the run (status 409)."""


class TrialLimitError(RefusedError):
    """The team has no trial left today, or too many programs that wait (status 429)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How the trial of a program ended; its team sees all of it."""

    end: str
    seconds: float
    peak_mb: float
    log: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Trial:
        """Return the trial of a document; raise ValueError if a value is missing or invalid."""
        end, log = (document.get(name) for name in ("end", "log"))
        seconds, peak_mb = (document.get(name) for name in ("seconds", "peak_mb"))
        if not (isinstance(end, str) and isinstance(log, str)):
            raise ValueError("end and log are texts")
        if not (is_figure(seconds) and is_figure(peak_mb)):
            raise ValueError("seconds and peak_mb are numbers from 0")
        return cls(end, seconds, peak_mb, log)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a team sent."""

    number: int
    program: str
    competition: str
    team: str
    member: str
    key: str
    payload: Mapping[str, Any]
    """Of the request that records it: ``upload``, ``file``, ``bytes``, ``sha256``."""
    received: datetime
    state: ProgramState
    lease: int
    """The number of its lease: one more when a runner takes one of its runs, or loses it."""
    losses: int
    """How many runners of its present run were lost, or failed."""
    until: float
    """When that lease ends, in seconds since 1970."""
    trial: Trial | None
    """How its trial ended; None before that."""
    request: str | None
    """The id of the request that has its submission; None before that."""
    message: str
    """Why it was refused."""

    @classmethod
    def of(cls, row: sqlite3.Row) -> Program:
        """Return a stored program.

        Raises
        ------
        KeyError, OverflowError, RecursionError, TypeError, ValueError
            If the web process cannot have written it.
        """
        values = dict(row)
        payload, trial = (_object(values[name]) for name in ("payload", "trial"))
        program = cls(
            **values
            | {
                "payload": payload,
                "trial": Trial.of(trial) if trial else None,
                "received": datetime.fromisoformat(values["received"]).astimezone(UTC),
                "state": ProgramState(values["state"]),
            }
        )
        texts = [
            *(values[name] for name in ("program", "competition", "team", "member", "key")),
            *(payload[name] for name in ("upload", "file", "sha256")),
            *(payload.get(name, "") for name in ("phase", "description")),
            *(program.request or "", program.message),
        ]
        numbers = (program.lease, program.losses, program.until, payload["bytes"])
        if not all(isinstance(text, str) for text in texts) or not payload["upload"].isalnum():
            raise ValueError("it lacks a text")
        if not all(is_figure(number) and number < _MOST for number in numbers):
            raise ValueError("it lacks a number")
        return program


def _object(text: object) -> dict[str, Any]:
    """Return the object of a JSON text."""
    document = parse_json(text) if isinstance(text, str) else None
    if not isinstance(document, dict):
        raise TypeError("it is no JSON object")
    return document


_TABLE = """
CREATE TABLE IF NOT EXISTS programs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, program TEXT NOT NULL UNIQUE,
    competition TEXT NOT NULL, team TEXT NOT NULL, member TEXT NOT NULL, key TEXT NOT NULL,
    payload TEXT NOT NULL, received TEXT NOT NULL, state TEXT NOT NULL,
    lease INTEGER NOT NULL DEFAULT 0, losses INTEGER NOT NULL DEFAULT 0,
    until REAL NOT NULL DEFAULT 0,
    trial TEXT NOT NULL DEFAULT '{}', request TEXT, message TEXT NOT NULL DEFAULT '',
    UNIQUE (competition, team, key)
);
CREATE INDEX IF NOT EXISTS programs_in_state ON programs (competition, state, number);
"""


class Runs(Records):
    """The programs of all competitions of a server.

    A file that arena cannot have written is set aside, and a new one begins. A program that it
    cannot have written is left out: :meth:`n_unreadable`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> runs = Runs(Path(tempfile.mkdtemp()) / "runs.sqlite")
    >>> payload = {"upload": "u", "file": "main.py", "bytes": 9, "sha256": "ab"}
    >>> sent = runs.add("race", team="ants", member="1", key="k", payload=payload,
    ...                 received=datetime.now(UTC), trials_per_day=1, most_waiting=3)
    >>> leased = runs.lease("race")
    >>> leased.program == sent.program, leased.state.value, runs.lease("race")
    (True, 'trial runs', None)
    >>> runs.close()
    """

    tables = _TABLE

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        damage_text = _damage(path)
        if damage_text:
            _LOGGER.error("%s is damaged (%s) and was set aside.", path, damage_text)
            _set_aside(path)
        self._path = path
        self._unreadable: set[int] = set()
        super().__init__(path, clock)

    def files_set_aside(self) -> list[str]:
        """Return the names of damaged files that were set aside, until they are removed."""
        start = f"{self._path.name}{_DAMAGED}"
        numbers = (path.name.removeprefix(start) for path in self._path.parent.glob(f"{start}*"))
        # The name of such a file's log goes on after the number.
        return [f"{start}{number}" for number in sorted(map(int, filter(str.isdecimal, numbers)))]

    def n_unreadable(self) -> int:
        """Return how many programs are left out because they cannot be read."""
        return len(self._unreadable)

    def add(
        self,
        competition: str,
        *,
        team: str,
        member: str,
        key: str | None,
        payload: Mapping[str, Any],
        received: datetime,
        trials_per_day: int,
        most_waiting: int,
        former: Collection[str] = (),
    ) -> Program:
        """Store a program, which waits for its trial; one with a stored key is returned unchanged.

        One that was refused or set aside may be sent again. Programs under ``former`` names of the
        team count as its own.

        Raises
        ------
        TrialLimitError
            If the team has sent as many today as it may, or has too many that wait.
        """
        program = new_id()
        key, time = key or program, received.astimezone(UTC).isoformat(timespec="microseconds")
        with self._change() as database:
            earlier = self.find(competition, team, *former, key=key)
            if earlier is not None:
                return earlier
            # One that cannot be read is not found, but has its key too.
            database.execute(
                "UPDATE programs SET key = key || ' of ' || program"
                " WHERE competition = ? AND team = ? AND key = ?",
                (competition, team, key),
            )
            programs = self.of_team(competition, team, *former)
            day = received.astimezone(UTC).date()
            today = sum(earlier.received.date() == day for earlier in programs)
            if today >= trials_per_day:
                raise TrialLimitError(
                    "Programs of a team that are tried on a day: at most {trials} (a day starts at "
                    "00:00 UTC). This limit is reached.",
                    trials=trials_per_day,
                )
            if sum(earlier.state not in FINAL for earlier in programs) >= most_waiting:
                raise TrialLimitError(
                    "Programs of your team that wait: {programs}. Send the next one after one of "
                    "them has run.",
                    programs=most_waiting,
                )
            row = (program, competition, team, member, key, json.dumps(payload), time)
            database.execute(
                "INSERT INTO programs (program, competition, team, member, key, payload, received,"
                " state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, ProgramState.TRIAL_WAITS),
            )
            return self._of("program = ?", program)[0]

    def find(self, competition: str, *names: str, key: str) -> Program | None:
        """Return the program of a team, under any of its names, with an idempotency key.

        None: there is none, or it may be sent again.
        """
        marks = ", ".join("?" * len(names))
        programs = self._of(
            f"competition = ? AND team IN ({marks}) AND key = ?", competition, *names, key
        )
        return next((program for program in programs if program.state not in AGAIN), None)

    def get(self, program: str) -> Program | None:
        """Return a program by its id, or None."""
        return next(iter(self._of("program = ?", program)), None)

    def of_team(self, competition: str, *names: str) -> list[Program]:
        """Return the programs of a team under any of its names, in the order in which they came."""
        marks = ", ".join("?" * len(names))
        return self._of(f"competition = ? AND team IN ({marks})", competition, *names)

    def in_state(self, competition: str, state: ProgramState) -> list[Program]:
        """Return the programs in a state, in the order in which they came."""
        return self._of("competition = ? AND state = ?", competition, state)

    def place(self, program: Program) -> int | None:
        """Return the place of a waiting program in the queue of runners: 1 is next."""
        if program.state not in WAITING:
            return None
        (row,) = self._rows(
            "SELECT count(*) FROM programs"
            " WHERE competition = ? AND state IN (?, ?) AND (losses, number) < (?, ?)",
            *(program.competition, *WAITING, program.losses, program.number),
        )
        return int(row[0]) + 1

    def n_lost(self, competition: str) -> int:
        """Return how many runs wait again, because their runner failed or was lost."""
        (row,) = self._rows(
            "SELECT count(*) FROM programs"
            " WHERE competition = ? AND state IN (?, ?) AND losses > 0",
            *(competition, *WAITING),
        )
        return int(row[0])

    def lease(
        self,
        competition: str,
        *,
        trials: bool = True,
        hidden: bool = True,
        current_names: Mapping[str, str] = MappingProxyType({}),
    ) -> Program | None:
        """Let a runner take the next run: of a team at most one runs on the hidden inputs.

        ``current_names``: the present name of each team that was renamed, by its former name.
        A run that was lost comes after those that were not: if its program is to blame, it does not
        end the runners of the others.
        """
        limits = {ProgramState.TRIAL_WAITS: trials, ProgramState.RUN_WAITS: hidden}
        with self._change():

            def team_of(program: Program) -> str:
                return current_names.get(program.team, program.team)

            teams = set(map(team_of, self.in_state(competition, ProgramState.RUNS)))
            waiting = self._of("competition = ? AND state IN (?, ?)", competition, *WAITING)
            for program in sorted(waiting, key=lambda program: program.losses):
                in_turn = program.state is ProgramState.TRIAL_WAITS or team_of(program) not in teams
                if not in_turn or not limits[program.state]:
                    continue
                runs = RUNNING[WAITING.index(program.state)]
                until = self._now() + LEASE_SECONDS
                self._set(program, state=runs, lease=program.lease + 1, until=until)
                return self.get(program.program)
        return None

    def leased(self, program: str, lease: int) -> Program:
        """Return the program of a lease; raise LeaseLostError if the lease has ended."""
        leased = self.get(program)
        if leased is None or leased.state not in RUNNING or leased.lease != lease:
            raise LeaseLostError("This run is no longer yours: end it, and ask for another one.")
        return leased

    def beat(self, program: str, lease: int) -> None:
        """Prolong a lease; raise LeaseLostError if another runner has the run."""
        with self._change():
            self._set(self.leased(program, lease), until=self._now() + LEASE_SECONDS)

    def expire(self, competition: str) -> list[Program]:
        """Take the runs from runners that are lost; return those that were lost too often.

        The caller sets them aside.
        """
        with self._change():
            running = [program for runs in RUNNING for program in self.in_state(competition, runs)]
            ended = [program for program in running if program.until < self._now()]
            for program in ended:
                self._set(program, lease=program.lease + 1)  # a late result has another number
            return [program for program in ended if not self._waits_again(program)]

    def fail(self, program: str, lease: int) -> bool:
        """Let a run wait for another runner, because the machine of its runner failed.

        Returns False if it was lost too often: the caller sets it aside. Raises LeaseLostError if
        the lease has ended.
        """
        with self._change():
            return self._waits_again(self.leased(program, lease))

    def _waits_again(self, program: Program) -> bool:
        """Let a run wait again that was lost; return False if it was lost too often."""
        if program.losses + 1 >= _MOST_LOSSES:
            return False
        waits = WAITING[RUNNING.index(program.state)]
        self._set(program, state=waits, losses=program.losses + 1)
        return True

    def change(self, program: Program, state: ProgramState, **more: Any) -> bool:
        """Put a program into another state; return False if it has left its own meanwhile."""
        with self._change():
            current = self.get(program.program)
            if current is None or current.state is not program.state:
                return False
            self._set(program, state=state, losses=0, **more)
        return True

    def uploads(self) -> set[str]:
        """Return the uploads of programs that a runner may still need."""
        programs = self._of(f"state NOT IN ({', '.join('?' * len(FINAL))})", *FINAL)
        return {str(program.payload["upload"]) for program in programs}

    def _set(self, program: Program, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self._database.execute(
            f"UPDATE programs SET {names} WHERE program = ?",  # noqa: S608 - our own names
            (*values.values(), program.program),
        )

    def _of(self, where: str, *values: Any) -> list[Program]:
        rows = self._rows(f"SELECT * FROM programs WHERE {where} ORDER BY number", *values)  # noqa: S608
        return [program for program in map(self._read, rows) if program is not None]

    def _read(self, row: sqlite3.Row) -> Program | None:
        """Return a stored program; None if it cannot be read."""
        try:
            return Program.of(row)
        except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
            number = int(row["number"])
            if number not in self._unreadable:
                _LOGGER.error("Program %d in %s cannot be read: %s.", number, self._path, error)
            self._unreadable.add(number)
            return None


def _damage(path: Path) -> str:
    """Return why a file cannot be used; empty if it can, or is missing."""
    damage_text = damage(path)
    if damage_text or not path.exists():
        return damage_text
    with closing(connect(path)) as stored, closing(sqlite3.connect(":memory:")) as new:
        new.executescript(_TABLE)
        return "" if _shape(stored) <= _shape(new) else "its tables are not those of arena"


def _shape(database: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Return the objects of a database, tables with their columns."""
    objects = database.execute(
        "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()
    columns = "SELECT name, type FROM pragma_table_info(?)"
    return {
        (kind, name, *map(tuple, database.execute(columns, (name,)).fetchall()))
        for kind, name in objects
    }


def _set_aside(path: Path) -> None:
    """Give a damaged file, with its log, another name."""
    names = (f"{path.name}{_DAMAGED}{number}" for number in itertools.count(1))
    name = next(name for name in names if not path.with_name(name).exists())
    for ending in ("-wal", "-shm", ""):
        part = path.with_name(path.name + ending)
        if part.exists():
            part.rename(path.with_name(name + ending))
