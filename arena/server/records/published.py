"""The documents that the scorer of a competition publishes, and the web process shows.

Everything here is derived: the scorer can write it again from the competition's record. The web
process shows :class:`Answer` and :class:`TeamFacts` to the members of their team and to the
organiser only; everything else is public.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from arena.requests import Answer
from arena.responses import ActivityRow, FaultRow
from arena.server.records.sqlite import close, connect, damage, identity, transaction
from arena.server_section import ServerSection
from arena.utils.strict_json import parse_json

_LOGGER = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    name TEXT PRIMARY KEY, media TEXT NOT NULL, body BLOB NOT NULL, etag TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS answers (
    request TEXT PRIMARY KEY, seq INTEGER NOT NULL, team TEXT NOT NULL, document TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_of_team ON answers (team, seq);
CREATE INDEX IF NOT EXISTS answers_in_order ON answers (seq);
CREATE TABLE IF NOT EXISTS teams (team TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, team TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class TeamFacts:
    """The facts for a team about itself, beyond its answers."""

    team: str
    """Its current name."""
    used_total: int = 0
    """Submissions that count against ``limits.total``, waiting ones not included."""
    day: str = ""
    """The UTC day of ``used_day``, such as 2026-03-01; on a later day nothing is used."""
    used_day: int = 0
    """Submissions that count against ``limits.per_day`` on that day."""
    week: str = ""
    """The ISO week of ``used_week``, such as 2026-W49; in a later one nothing is used."""
    used_week: int = 0
    """Submissions that count against ``limits.per_week`` in that week."""
    extra: int = 0
    """How many submissions more than others it may send: a day, a week and in total."""
    until: str | None = None
    """When it may submit last, if that is after the deadline: ISO 8601, UTC."""
    selected: tuple[int, ...] = ()
    """The chosen final submissions."""
    last: str | None = None
    """When its last accepted submission was received: ISO 8601, UTC."""
    disqualified: str | None = None
    """The reason, if the team is disqualified."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Its last answers to the questions about teams."""
    used_in_phases: Mapping[str, int] = field(default_factory=dict)
    """Phase -> submissions that count against its ``limits.total``, where there are any."""

    @property
    def used_ever(self) -> int:
        """Submissions that count against ``limits.total`` of any phase."""
        return sum(self.used_in_phases.values()) if self.used_in_phases else self.used_total

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> TeamFacts:
        """Return the object that a JSON document describes."""
        return cls(**{**document, "selected": tuple(document["selected"])})


@dataclass(frozen=True, slots=True)
class CompetitionFacts:
    """The public facts of a competition: the document ``competition``."""

    name: str
    """The name in paths; also that of the requests in the intake."""
    title: str
    metric: str
    """The metric's specification, e.g. ``roc_auc``."""
    board_metric: str
    """The metric of the public board in words: bounded, if the mechanism bounds its values."""
    greater_is_better: bool
    mechanism: str
    """The release mechanism's specification."""
    mechanism_text: str
    """Meaning of a public score, for participants; empty if the mechanism's author gives none."""
    deadline: str | None
    """ISO 8601, UTC."""
    columns: tuple[str, ...]
    """The columns of a submission, the id column first."""
    rows: int
    """Rows of a submission without the header."""
    kind: str
    """``score``, ``label``, ...: the kind of prediction."""
    per_day: int | None
    total: int | None
    max_bytes: int
    count_rejected: bool
    final_rule: str
    """``best_public``, ``last``, ``chosen`` or ``best_private``."""
    final_count: int
    server: ServerSection = field(default_factory=ServerSection)
    """The section ``[server]`` of ``competition.toml``."""
    decimals: int | None = None
    """Digits of scores on pages; None: six significant ones."""
    unit: str = ""
    """The unit of scores on pages."""
    ties: str = "shared"
    """``shared``, ``earliest`` or ``secondary``."""
    tie_metric: str = ""
    """The metric that orders teams with the same score on the final board, if ties are
    ``secondary``."""
    metric_text: str = ""
    """What the metric measures, in the words of its author."""
    public_rows: int = 0
    """Rows behind the public board."""
    mark: Mapping[str, str] | None = None
    """``time`` and ``cause`` of the last rebuild of the public board."""
    pending_labels: Mapping[str, int] | None = None
    """The fields of :class:`arena.utils.pending_labels.PendingLabels`, for the public board."""
    scores: str = "board"
    """Who sees scores: ``board``, ``own`` or ``hidden``."""
    freeze: str | None = None
    """When the board is frozen: ISO 8601, UTC."""
    late_until: str | None = None
    """Until when files are received after the deadline, which are not ranked: ISO 8601, UTC."""
    start: str | None = None
    """When submissions are received first: ISO 8601, UTC."""
    per_week: int | None = None
    paused: Mapping[str, str] | None = None
    """``time`` and ``reason``, if files are refused for a while."""
    exemptions: tuple[Mapping[str, Any], ...] = ()
    """``team``, ``until``, ``extra`` and ``reason`` of each exempted team."""
    result: int = 0
    """The last published version of the private board; 0: there is none."""
    programs: Mapping[str, Any] | None = None
    """``sandbox``, ``trials_per_day``, ``packed_bytes`` of the largest program, and ``runs``: what
    a runner needs in each phase (empty without phases), ``limits``, ``environment``, ``max_bytes``
    of an output, and the digests ``sample`` and ``inputs``. None: teams submit predictions."""
    baselines: tuple[str, ...] = ()
    """The organiser's own teams."""
    phases: tuple[Mapping[str, Any], ...] = ()
    """The phases with their dates, rows and states; empty without phases."""
    current_phase: str = ""
    """The phase of the board and of the limits; empty without phases."""
    brackets: tuple[str, ...] = ()
    """The named sets of teams whose boards can be shown."""
    boards: tuple[str, ...] = ()
    """The public boards over phases."""
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Key -> ``of``, ``text``, ``choices``, ``required``, ``shown`` and ``brackets``."""

    @property
    def rounds(self) -> list[Mapping[str, Any]]:
        """The phases that are rounds of a series."""
        return [phase for phase in self.phases if phase.get("series")]

    @property
    def other_phases(self) -> list[Mapping[str, Any]]:
        """The phases that are no rounds."""
        return [phase for phase in self.phases if not phase.get("series")]

    @property
    def phase_names(self) -> list[str]:
        """The names of the phases, in their order."""
        return [phase["phase"] for phase in self.phases]

    def of_phase(self, name: str) -> CompetitionFacts:
        """Return the facts with the limits, rows, metric and mechanism of a phase.

        The dates are those of the whole competition.
        """
        if not name or name == self.current_phase:
            return self
        (phase,) = (phase for phase in self.phases if phase["phase"] == name)
        names = {field.name for field in fields(self)} - {"start"}
        of_phase = {key: value for key, value in phase.items() if key in names}
        same = {key: phase[key] == getattr(self, key) for key in ("metric", "mechanism")}
        return replace(
            self,
            **of_phase,
            metric_text=self.metric_text if same["metric"] else "",
            mechanism_text=self.mechanism_text if same["mechanism"] else "",
        )

    @property
    def questions_of_teams(self) -> dict[str, Mapping[str, Any]]:
        """The public questions about teams, which a team may answer when it is founded."""
        items = self.public_questions.items()
        return {
            key: {**question, "required": False}
            for key, question in items
            if question["of"] == "team"
        }

    @property
    def public_questions(self) -> dict[str, Mapping[str, Any]]:
        """The questions whose answers are columns of boards."""
        items = self.questions.items()
        return {key: question for key, question in items if question["shown"] == "board"}

    @property
    def largest_upload(self) -> int:
        """The bytes of the largest file that a team may send: predictions, or a program."""
        return self.max_bytes if self.programs is None else int(self.programs["packed_bytes"])

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> CompetitionFacts:
        """Return the object that a JSON document describes."""
        # Another arena may have published it: keys are read if they are there.
        facts = {fact.name: document[fact.name] for fact in fields(cls) if fact.name in document}
        server = ServerSection.of(document.get("server", {}))
        lists = {
            key: tuple(facts.get(key, ())) for key in ("columns", "baselines", "brackets", "boards")
        }
        return cls(**{**facts, **lists, "server": server})


@dataclass(frozen=True, slots=True)
class State:
    """The state of the scorer: the document ``state``, written at least every few seconds."""

    phase: str = "starting"
    """``starting``, ``open``, ``closed`` (the deadline has passed), ``finalized`` or ``published``.
    """
    beat: float = 0.0
    """When it was written, in seconds since 1970; older than 60 s: the scorer does not run."""
    cursor: int = 0
    """The number of the last judged request: those after it wait."""
    waiting: int = 0
    """Requests that waited when it was written."""
    oldest: str | None = None
    """When the oldest of them was received: ISO 8601, UTC."""
    seconds_each: float = 0.0
    """Seconds to judge a request, a moving average: times the place, the expected wait."""
    judged: int = 0
    """Requests judged since the scorer started."""
    set_aside: int = 0
    """Requests that ended a checker twice; the organiser should look at each."""
    checker_deaths: int = 0
    """Checkers that died or ran into a limit since the scorer started."""
    busy_since: float | None = None
    """When it began to judge the current group, in seconds since 1970; None: it is idle."""
    problem: str | None = None
    """Why nothing is judged at the moment, in one sentence for the organiser; None: all is well."""


@dataclass(frozen=True, slots=True)
class Document:
    """A published document."""

    media: str
    """Its media type."""
    body: bytes
    etag: str
    """Changes if and only if the body changes."""

    def json(self) -> Any:
        """Return the body as JSON."""
        return parse_json(self.body)


class Publisher:
    """Writes the published documents. Only the scorer of the competition has one. Thread-safe.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "churn.sqlite"
    >>> publisher, reader = Publisher(path), Published(path)
    >>> publisher.publish(
    ...     documents={"board": [{"rank": 1, "team": "red", "score": 0.9}]},
    ...     answers=[Answer("a1", 1, "red", "submit", "accepted", "", "", submission=1)],
    ...     state=State("open", 1.5, cursor=1))
    >>> reader.board()[0]["team"], reader.answer("a1").submission, reader.state().cursor
    ('red', 1, 1)
    >>> reader.close(); publisher.close()
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        if damage_text := damage(path):
            # All of it follows from the record; a reader notices that this is another file.
            _LOGGER.warning(
                "%s is damaged (%s) and is written again from the record.", path, damage_text
            )
            for end in ("-wal", "-shm", "-journal", ""):
                path.with_name(path.name + end).unlink(missing_ok=True)
        self._connection = connect(path, durable=False)
        path.chmod(0o640)
        self._connection.executescript(_SCHEMA)
        self._path, self._file = path, identity(path)

    def publish(
        self,
        *,
        answers: Iterable[Answer] = (),
        teams: Iterable[TeamFacts] = (),
        names: Mapping[str, str] | None = None,
        documents: Mapping[str, Any] | None = None,
        state: State | None = None,
        replace_all: bool = False,
    ) -> None:
        """Publish everything in one transaction.

        Parameters
        ----------
        answers, teams
            Replace those of the same request or team.
        names
            Maps each former name of a team to its current name; None: no change.
        documents
            Texts and bytes are published as they are, anything else as JSON; None removes one.
        replace_all
            First remove everything that was published before, except ``folder``, which does not
            follow from the record; readers see both at once.
        """
        with self._lock, transaction(self._connection) as connection:
            if replace_all:
                for table in ("answers", "teams", "names"):
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608
                connection.execute("DELETE FROM documents WHERE name != 'folder'")
            for name, content in (documents or {}).items():
                if content is None:
                    connection.execute("DELETE FROM documents WHERE name = ?", (name,))
                    continue
                _put_document(connection, name, content)
            if state is not None:
                _put_document(connection, "state", asdict(state))
            connection.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                [
                    (answer.request, answer.seq, answer.team, _json(asdict(answer)))
                    for answer in answers
                ],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO teams VALUES (?, ?)",
                [(team.team, _json(asdict(team))) for team in teams],
            )
            if names is not None:
                connection.execute("DELETE FROM names")
                connection.executemany("INSERT INTO names VALUES (?, ?)", list(names.items()))

    def check_place(self) -> None:
        """Raise sqlite3.DatabaseError if the file was removed: readers would not see later writes.

        Takes 2 µs.
        """
        if identity(self._path) != self._file:
            raise sqlite3.DatabaseError(f"{self._path} was removed or replaced while it was open")

    def answers_of(self, team: str) -> list[Answer]:
        """Return every answer to a team, to publish them again with changes."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT document FROM answers WHERE team = ? ORDER BY seq", (team,)
            ).fetchall()
        return [Answer.of(parse_json(row["document"])) for row in rows]

    def close(self) -> None:
        """Close the file so that a user who may only read it can open it."""
        with self._lock:
            close(self._connection)


def _put_document(connection: sqlite3.Connection, name: str, content: Any) -> None:
    if isinstance(content, bytes):
        media, body = "application/octet-stream", content
    elif isinstance(content, str):
        media, body = "text/plain; charset=utf-8", content.encode()
    else:
        media, body = "application/json", _json(content).encode()
    etag = hashlib.sha256(body).hexdigest()[:32]
    connection.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET media = excluded.media, body = excluded.body, etag = excluded.etag"
        " WHERE etag != excluded.etag",
        (name, media, body, etag),
    )


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, ServerSection):
        return value.model_dump(mode="json")
    raise TypeError(f"A {type(value).__name__} cannot be published.")


_CONDITIONS = {
    "team": "team = ?",
    "status": "json_extract(document, '$.status') = ?",
    "day": "substr(json_extract(document, '$.received'), 1, 10) = ?",
    "phase": "json_extract(document, '$.phase') = ?",
    "search": "instr(lower("
    + " || ' ' || ".join(
        f"coalesce({text}, '')"
        for text in (
            "team",
            *(
                f"json_extract(document, '$.{key}')"
                for key in ("file", "description", "submission", "sha256", "faults")
            ),
        )
    )
    + "), lower(?)) > 0",
}
_ORDERS = {
    "newest": "seq DESC",
    "oldest": "seq",
    "highest": "json_extract(document, '$.released') DESC NULLS LAST, seq",
    "lowest": "json_extract(document, '$.released') NULLS LAST, seq",
    "team": "team, seq DESC",
}
ORDERS = tuple(_ORDERS)
"""Orders of :class:`SubmissionQuery`."""


@dataclass(frozen=True, slots=True)
class SubmissionQuery:
    """Which submissions an organiser looks for; an empty text is no condition."""

    team: str = ""
    """The current name."""
    status: str = ""
    day: str = ""
    """Received on this UTC day, such as 2026-03-01."""
    phase: str = ""
    search: str = ""
    """In the team, file, description, number, digest or faults."""
    order: str = "newest"
    """One of :data:`ORDERS`."""
    page: int = 1
    limit: int = 100


class Published:
    """Reads the documents that a scorer published. Safe to use from several threads.

    The documents are

    ``competition``
        :class:`CompetitionFacts`.
    ``board``
        The public board: a list of rows as of ``arena leaderboard --json``, best first.
    ``released NAME``
        A public board over phases: the fields of
        :class:`arena.competition.boards.released_boards.ReleasedBoard`.
    ``results``
        What there is to say about every published version of the private board, the last one last.
    ``result VERSION``
        A version: the document of the final result, whose key ``leaderboard`` has the rows with
        their intervals. Of a retracted one no rows.
    ``chance``
        ``difference``: by how much two equally good models differ by chance at the top of the
        public board, or None; see :func:`arena.public_board.chance.chance_difference`.
    ``next result``
        The private board as it would be published next, for organisers; only after the deadline.
    ``late``
        The files after the deadline, the last one first: team, score, submission, received.
    ``private``
        The last version, unless it was retracted.
    ``sample``
        ``sample_submission.csv``.
    ``rules``
        The file of ``[server] rules``, Markdown; absent without one. Its etag is its version.
    ``folder``
        :class:`~arena.server.records.shared_files.SharedFolder`.
    ``state``
        :class:`State`.
    ``check ID``
        The faults of a file that was checked: :meth:`check`.

    Raises
    ------
    sqlite3.OperationalError
        If the file does not exist: the scorer has never run. The methods raise it too, if the
        scorer is just starting; ask again in a moment.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = identity(path)
        self._connection = connect(path, read_only=True)

    def _open_again(self) -> None:
        self._connection.close()
        self._file = identity(self._path)
        self._connection = connect(self._path, read_only=True)

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            if identity(self._path) not in (self._file, (0, 0)):
                self._open_again()  # the scorer replaced a damaged file
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.DatabaseError:
                # A scorer that ended or started in this moment changed the journal mode.
                self._open_again()
                return self._connection.execute(query, values).fetchall()

    def version(self) -> int:
        """Return a number that changes whenever something was published since; it costs 5 µs.

        The state is published every few seconds: compare etags to learn what changed.
        """
        return int(self._rows("PRAGMA data_version")[0][0])

    def etag(self, name: str) -> str | None:
        """Return the etag of a document, or None if there is none."""
        rows = self._rows("SELECT etag FROM documents WHERE name = ?", name)
        return rows[0]["etag"] if rows else None

    def document(self, name: str) -> Document | None:
        """Return a document, or None if there is none."""
        rows = self._rows("SELECT media, body, etag FROM documents WHERE name = ?", name)
        return Document(**rows[0]) if rows else None

    def _content(self, name: str) -> Any:
        document = self.document(name)
        return None if document is None else document.json()

    def competition(self) -> CompetitionFacts | None:
        """Return the public facts, or None before the scorer's first publication."""
        content = self._content("competition")
        return None if content is None else CompetitionFacts.of(content)

    def state(self) -> State:
        """Return the state of the scorer; its defaults before the first publication."""
        content = self._content("state") or {}
        field_names = {fact.name for fact in fields(State)}
        return State(**{key: value for key, value in content.items() if key in field_names})

    def board(self) -> list[dict[str, Any]]:
        """Return the rows of the public board, best first."""
        return self._content("board") or []

    def check(self, check: str) -> list[FaultRow] | None:
        """Return the faults of a checked file, or None while it waits to be checked."""
        content: list[FaultRow] | None = self._content(f"check {check}")
        return content

    def answer(self, request: str) -> Answer | None:
        """Return the answer to a request, or None while it waits. The caller checks the team."""
        rows = self._rows("SELECT document FROM answers WHERE request = ?", request)
        return Answer.of(parse_json(rows[0]["document"])) if rows else None

    def answers(
        self, team: str | None, *, before: int | None = None, limit: int = 100
    ) -> Sequence[Answer]:
        """Return the last answers to a team by its current name, or to all (None), newest first.

        Those for all rounds of a file are returned together, also beyond the limit. ``before``
        continues after the last ``seq`` of the previous call.
        """
        chosen = "FROM answers WHERE (?1 IS NULL OR team = ?1) AND (?2 IS NULL OR seq < ?2)"
        last = f"SELECT seq {chosen} ORDER BY seq DESC LIMIT 1 OFFSET ?3 - 1"
        rows = self._rows(
            f"SELECT document {chosen} AND seq >= coalesce(({last}), seq)"
            f" ORDER BY seq DESC, json_extract(document, '$.submission')",
            team,
            before,
            limit,
        )
        return [Answer.of(parse_json(row["document"])) for row in rows]

    def further_rounds(self, answer: Answer) -> list[Answer]:
        """Return the answers for the further rounds of a file, in the order of the rounds."""
        rows = self._rows(
            "SELECT document FROM answers WHERE seq = ?1 AND request != ?2"
            " AND json_extract(document, '$.of_request') = ?2"
            " ORDER BY json_extract(document, '$.submission')",
            answer.seq,
            answer.request,
        )
        return [Answer.of(parse_json(row["document"])) for row in rows]

    def last_in_phases(self, team: str) -> dict[str, Answer]:
        """Return the last accepted submission of a team in each phase in which it has one."""
        rows = self._rows(
            "SELECT document FROM answers WHERE team = ?"
            " AND json_extract(document, '$.status') = 'accepted'"
            " ORDER BY json_extract(document, '$.submission')",
            team,
        )
        answers = (Answer.of(parse_json(row["document"])) for row in rows)
        return {answer.phase: answer for answer in answers if answer.kind == "submit"}

    def activity(self, days: int) -> list[ActivityRow]:
        """Return the uploads, accepted ones and teams of the last days with uploads, in UTC."""
        rows = self._rows(
            "SELECT substr(json_extract(document, '$.received'), 1, 10) AS day,"
            " count(*) AS uploads,"
            " sum(json_extract(document, '$.status') = 'accepted') AS accepted,"
            " count(DISTINCT team) AS teams"
            " FROM answers WHERE json_extract(document, '$.kind') = 'submit'"
            " GROUP BY day ORDER BY day DESC LIMIT ?",
            days,
        )
        return [cast(ActivityRow, dict(row)) for row in rows]

    def last_entries(self, teams: Sequence[str]) -> dict[str, str]:
        """Return when the last accepted submission of each of these teams was received."""
        marks = ", ".join("?" * len(teams))
        rows = self._rows(
            f"SELECT team, json_extract(document, '$.last') AS last FROM teams"  # noqa: S608
            f" WHERE team IN ({marks}) AND last IS NOT NULL",
            *teams,
        )
        return {row["team"]: row["last"] for row in rows}

    def submissions(self, query: SubmissionQuery) -> tuple[list[Answer], int]:
        """Return a page of the answers to submissions of all teams, and how many match."""
        filters = {key: text for key, text in asdict(query).items() if key in _CONDITIONS and text}
        conditions = [
            "json_extract(document, '$.kind') = 'submit'",
            *(_CONDITIONS[key] for key in filters),
        ]
        matching = f"FROM answers WHERE {' AND '.join(conditions)}"
        total = self._rows(f"SELECT count(*) {matching}", *filters.values())[0][0]
        rows = self._rows(
            f"SELECT document {matching} ORDER BY {_ORDERS[query.order]} LIMIT ? OFFSET ?",
            *filters.values(),
            query.limit,
            query.limit * (query.page - 1),
        )
        return [Answer.of(parse_json(row["document"])) for row in rows], int(total)

    def same_file(self, answer: Answer) -> list[Answer]:
        """Return the other answers to the same file, oldest first."""
        if not answer.sha256:
            return []
        rows = self._rows(
            "SELECT document FROM answers WHERE json_extract(document, '$.sha256') = ?"
            " AND request != ? ORDER BY seq LIMIT 100",
            answer.sha256,
            answer.request,
        )
        return [Answer.of(parse_json(row["document"])) for row in rows]

    def received(self, team: str, submission: int) -> str:
        """Return when a submission of a team was received; empty if it is not published."""
        rows = self._rows(
            "SELECT json_extract(document, '$.received') AS received FROM answers"
            " WHERE team = ? AND json_extract(document, '$.submission') = ?",
            team,
            submission,
        )
        return str(rows[0]["received"]) if rows else ""

    def current_name(self, name: str) -> str:
        """Return the current name of a team that was renamed or merged; else the same name."""
        rows = self._rows("SELECT team FROM names WHERE name = ?", name)
        return rows[0]["team"] if rows else name

    def all_names(self) -> list[str]:
        """Return the current and the former names of all teams that sent something."""
        return [
            row["team"] for row in self._rows("SELECT team FROM teams UNION SELECT name FROM names")
        ]

    def names(self) -> dict[str, str]:
        """Return the current name of each team that was renamed or merged, by its former name."""
        return {row["name"]: row["team"] for row in self._rows("SELECT name, team FROM names")}

    def team(self, name: str) -> TeamFacts:
        """Return the facts of a team by its current name; defaults if it sent nothing yet."""
        rows = self._rows("SELECT document FROM teams WHERE team = ?", name)
        return TeamFacts.of(parse_json(rows[0]["document"])) if rows else TeamFacts(name)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
