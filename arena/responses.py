"""The JSON documents with which a served competition answers requests of programs.

The server describes them in its OpenAPI document, and :class:`arena.Client` returns them. They are
dictionaries, so that a client needs nothing but the standard library, and a type checker knows
their keys. Times are texts in ISO 8601, UTC.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

# pydantic reads no TypedDict of typing before Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

_Row = TypeVar("_Row")


class Rows(TypedDict, Generic[_Row]):
    """A list of records."""

    rows: list[_Row]


class FaultRow(TypedDict):
    """A fault of a file: the fields of :class:`arena.types.Fault`."""

    kind: str
    message: str
    row: NotRequired[int | None]
    id: NotRequired[str | None]
    column: NotRequired[str | None]
    count: NotRequired[int]
    cause: NotRequired[str | None]


class Mark(TypedDict):
    """When and why scores were last released again, or a result no longer holds."""

    time: str
    cause: str


class TimedReason(TypedDict):
    """Since when something is so, and why."""

    time: str
    reason: str


class PendingLabels(TypedDict):
    """How many rows have no label yet (``pending``), and how many do."""

    pending: int
    n_rows: int


class Exemption(TypedDict):
    """A team that may submit later or more often, and why."""

    team: str
    until: NotRequired[str | None]
    extra: int
    reason: str


class Question(TypedDict):
    """A question that a submission or a team answers."""

    of: Literal["submission", "team"]
    text: str
    choices: list[str]
    required: bool
    shown: Literal["board", "organisers"]
    brackets: bool
    may_change: bool


class Message(TypedDict):
    """The result."""

    message: str


class AnnouncementState(TypedDict):
    """An announcement to all participants, as it was posted."""

    announcement: int
    posted: str
    text: str
    """Markdown."""


class AnnouncementPosted(AnnouncementState):
    """An announcement that was posted."""

    mailed: int
    """How many e-mails wait to be sent."""


class AnnouncementList(TypedDict):
    """The announcements, newest first."""

    announcements: list[AnnouncementState]


class SettingsState(TypedDict):
    """The settings and texts that can be changed by the web."""

    settings: dict[str, Any]
    texts: dict[str, str]


class SettingsPreview(TypedDict):
    """What a change would change."""

    changes: list[str]
    """A line for each setting; texts as the lines that differ."""


class MessageState(TypedDict):
    """A message between a participant and the organisers."""

    message: int
    from_organiser: bool
    text: str
    """Plain text of a participant, Markdown of an organiser."""
    posted: str
    answers: int | None
    """The number of the message that it answers."""
    published: str
    """The question as everybody reads it, beside this answer; empty: private."""


class MessageList(TypedDict):
    """Messages, newest first."""

    messages: list[MessageState]


class MessageRow(MessageState):
    """A message with its sender, for organisers."""

    account: str
    name: str
    team: str


class Info(TypedDict):
    """The competition."""

    name: str
    title: str
    metric: str
    greater_is_better: bool
    mechanism: str
    mechanism_text: str
    deadline: str | None
    mark: Mark | None
    """When and why the public board was last released again."""
    pending_labels: PendingLabels | None
    """Of the public rows."""
    phase: str
    """starting, open, closed, finalized or published."""
    columns: list[str]
    rows: int
    start: str | None
    late_until: str | None
    """Until when files are received after the deadline, which are not ranked."""
    scores: str
    """Who sees scores: board, own or hidden."""
    freeze: str | None
    """The board shows what was received until then; the own scores go on."""
    paused: TimedReason | None
    """Since when and why files are refused for a while."""
    current_phase: str
    """The phase of the board and of the limits; GET /phases lists all."""
    questions: dict[str, Question]
    """By their keys."""
    brackets: list[str]
    """Named sets of teams; GET /board?bracket=NAME is the board of one."""
    exemptions: list[Exemption]
    per_day: int | None
    per_week: int | None
    total: int | None
    max_bytes: int
    final_rule: str
    final_count: int
    join: str
    rules: str | None
    """The rules as Markdown."""
    rules_version: str
    server_time: str
    waiting: int


class Phase(TypedDict):
    """A phase: a row of ``arena phases --json``."""

    phase: str
    series: str
    """The series of rounds that it belongs to; empty: none."""
    state: Literal["open", "next", "ended"]
    start: str | None
    end: str | None
    metric: str
    board_metric: str
    greater_is_better: bool
    decimals: int | None
    unit: str
    mechanism: str
    scores: Literal["board", "own", "hidden"]
    freeze: str | None
    mark: Mark | None
    per_day: int | None
    per_week: int | None
    total: int | None
    public_rows: int
    private_rows: int
    pending_rows: int
    shares: list[str]
    """Other phases with the same public rows."""
    submissions: int
    admit: str
    """Which teams may submit: all, submitted, top N or listed."""
    qualified: list[str] | None
    """The teams that arena qualify named; null: it named none."""


class Phases(TypedDict):
    """The phases of a competition, in the order of competition.toml."""

    phases: list[Phase]


class ColumnsInBracket(TypedDict):
    """The columns of a team among the teams of a bracket."""

    rank: int | None
    rank_low: NotRequired[int | None]
    rank_high: NotRequired[int | None]
    tier: NotRequired[int | None]
    possible_winner: NotRequired[bool | None]


class BoardRow(TypedDict):
    """A row of a public board, as of ``arena leaderboard --json``."""

    rank: int | None
    """null for a team that is not ranked, such as the baseline."""
    team: str
    score: float | None
    submission: NotRequired[int]
    """Absent on a board over phases, which has a score for each phase instead."""
    n_submissions: int
    baseline: bool
    brackets: NotRequired[dict[str, ColumnsInBracket]]
    answers: NotRequired[dict[str, str]]
    """Question -> answer."""
    seconds: NotRequired[float]
    """The running time of a program."""
    memory_mb: NotRequired[float]
    seconds_low: NotRequired[float]
    seconds_high: NotRequired[float]
    memory_mb_low: NotRequired[float]
    memory_mb_high: NotRequired[float]


class LateRow(TypedDict):
    """A file after the deadline, which is not ranked."""

    team: str
    score: float | None
    submission: int
    received: str


class BoardPage(TypedDict):
    """A page of the public board, best first."""

    rows: list[BoardRow]
    late: list[LateRow]
    """Files after the deadline, the last one first."""
    total: int
    after: int
    next: int | None
    """The value of after for the next page."""
    etag: str


class PrivateRow(TypedDict):
    """A row of a private board; secondary metrics have columns of their own."""

    rank: int | None
    team: str
    submission: NotRequired[int]
    """Absent on a board over phases."""
    score: float | None
    score_low: float | None
    score_high: float | None
    rank_low: int | None
    rank_high: int | None
    tier: int | None
    possible_winner: NotRequired[bool | None]
    rank_median: float | None
    win_rate: float | None
    public_score: NotRequired[float | None]
    """What the mechanism released for the submission."""
    public_rank: NotRequired[int | None]
    """The rank of the team on the public board."""
    n_submissions: NotRequired[int]
    baseline: NotRequired[bool]
    brackets: NotRequired[dict[str, ColumnsInBracket]]
    answers: NotRequired[dict[str, str]]
    verification: NotRequired[Literal["verified", "failed"] | None]
    verification_note: NotRequired[str | None]


class CorrectedScore(TypedDict):
    """The best score, corrected for being the best of many, with its interval; null: unknown."""

    estimate: float | None
    low: float | None
    high: float | None


class PrivateRanking(TypedDict):
    """A private board without what its publication says about it."""

    metric: str
    greater_is_better: bool
    level: float
    resamples: int
    n_rows: NotRequired[int]
    n_pending: NotRequired[int]
    verdicts: list[str]
    brackets: NotRequired[list[str]]
    best_score_corrected: CorrectedScore | None
    leaderboard: list[PrivateRow]


class ResultState(TypedDict):
    """A version of the private board that was published, without its rows."""

    version: int
    published: str
    state: Literal["published", "replaced", "retracted"]
    replaced: str | None
    """When another version replaced it."""
    retracted: TimedReason | None
    mark: Mark | None
    phase: NotRequired[str]


class Result(ResultState):
    """A published private board; a retracted one has only the keys of :class:`ResultState`."""

    metric: NotRequired[str]
    greater_is_better: NotRequired[bool]
    level: NotRequired[float]
    resamples: NotRequired[int]
    n_rows: NotRequired[int]
    n_pending: NotRequired[int]
    verdicts: NotRequired[list[str]]
    brackets: NotRequired[list[str]]
    best_score_corrected: NotRequired[CorrectedScore | None]
    leaderboard: NotRequired[list[PrivateRow]]
    boards: NotRequired[dict[str, PrivateRanking]]
    """The combined boards, by name."""


class NextResult(Result):
    """The private board as it would be published next."""

    unverified: list[str]
    """The teams that may be first and are not verified."""
    failed: list[str]
    """The ranked teams whose file failed the verification."""
    warnings: list[str]
    """The same in sentences."""


class Trial(TypedDict):
    """How the trial of a program ended."""

    end: str
    seconds: float
    peak_mb: float
    log: str


class RequestState(TypedDict):
    """A request and its answer, or its place in the queue."""

    request: str
    kind: str
    status: str
    """waiting, accepted, rejected, refused, disqualified, withdrawn, set_aside, trial_failed or
    done."""
    received: str
    place: int | None
    """1 is judged next."""
    seconds: float | None
    """The expected wait."""
    file: str
    submission: int | None
    score: float | None
    """The score on the public board."""
    source: int | None
    """The submission whose score it is, if the mechanism repeated an earlier one."""
    private: float | None
    """The score on the private rows, once the result is published."""
    private_rank: int | None
    """The rank that it would have among the final submissions."""
    late: bool
    """Whether it came after the deadline: it is not ranked."""
    phase: str
    """The phase for which it counts."""
    rounds: list[RequestState]
    """The file in the further open rounds whose rows it has, if it has several."""
    closed_rounds: list[str]
    """Rounds whose rows the file has, and that were not open: they do not count."""
    before_rebuild: bool
    """Whether the score is from before the board was released again."""
    faults: list[FaultRow]
    message: str
    selected: bool
    description: str
    """The team's note."""
    answers: dict[str, str]
    """The answers to questions that came with it."""
    reason: str
    """Why it is disqualified."""
    receipt: str | None
    sha256: str | None
    member: str
    trial: Trial | None
    """How the trial of a program ended, with its whole log."""


class PublishRequest(RequestState):
    """The request to publish a private board."""

    warnings: list[str]
    """What to know before it is public, such as winners that are not verified."""


class Lease(TypedDict):
    """A run that a runner has for a minute."""

    run: str
    lease: int
    """Its number, for every later request about this run."""
    kind: Literal["trial", "hidden"]
    program: str
    file: str
    sha256: str
    bytes: int
    inputs: str
    """The digest of the inputs to run on."""
    environment: str
    limits: dict[str, Any]
    """Keys of the section [programs]."""
    max_bytes: int


class SubmissionsPage(TypedDict):
    """The team's requests, newest first."""

    requests: list[RequestState]
    next: int | None
    """The value of before for the next page."""
    left_today: int | None
    left_total: int | None
    waiting: int
    resets: str
    selected: list[int]


class Checked(TypedDict):
    """Whether a file would be accepted; nothing is stored."""

    status: Literal["ok", "rejected"]
    faults: list[FaultRow]


class Person(TypedDict):
    """A person in a team or an account."""

    account: str
    name: str
    contact: str
    joined: str


class TeamState(TypedDict):
    """The own team."""

    name: str
    members: list[Person]
    size: int
    """How many members a team may have."""
    new_name: str | None
    """The name that is being recorded."""


class TeamRequestState(TypedDict):
    """A request to a team."""

    team: str
    """The name of the team that is asked."""
    account: str
    name: str
    """Of the person who asks."""
    own_team: str | None
    """The person's team, which would be merged into it."""
    asked: str


class TeamRequests(TypedDict):
    """The own open request to a team, and those to the own team."""

    sent: TeamRequestState | None
    received: list[TeamRequestState]


class InviteMade(TypedDict):
    """An invitation, shown once."""

    url: str
    expires: str | None


class TokenState(TypedDict):
    """A token without its secret."""

    token: str
    name: str
    scope: str
    created: str
    expires: str | None
    used: str | None


class TokenMade(TokenState):
    """A new token; its secret is shown once."""

    secret: str


class TokenList(TypedDict):
    """The tokens of the account."""

    tokens: list[TokenState]


class Health(TypedDict):
    """The scorer, the queue and the disk."""

    phase: str
    beat_seconds: float
    waiting: int
    oldest: str | None
    seconds_each: float
    judged: int
    set_aside: int
    checker_deaths: int
    problem: str | None
    disk_free_bytes: int
    seen: str
    """The digest that a final step must send."""


class FileState(TypedDict):
    """A file that is offered for download."""

    name: str
    bytes: int
    sha256: str


class FileList(TypedDict):
    """The files that are offered for download."""

    files: list[FileState]


class QueueRow(TypedDict):
    """A request that waits."""

    place: int
    request: str
    kind: str
    team: str
    received: str
    file: str


class AnswerRow(TypedDict):
    """An answer, for organisers: the fields of :class:`arena.requests.Answer`."""

    request: str
    seq: int
    team: str
    kind: str
    status: str
    received: str
    judged: str
    member: str
    submission: int | None
    file: str | None
    released: float | None
    source: int | None
    late: bool
    phase: str
    of_request: str
    closed_rounds: list[str]
    private: float | None
    private_rank: int | None
    before_rebuild: bool
    faults: list[FaultRow]
    message: str
    selected: bool
    description: str
    reason: str
    receipt: str | None
    sha256: str | None


class SubmissionRows(Rows[AnswerRow]):
    """A page of the submissions of all teams."""

    total: int
    """How many submissions match."""


class Member(Person):
    """A member of a team, for organisers."""

    state: str
    """active, waiting or blocked."""


class TeamRow(TypedDict):
    """A team with its members, for organisers."""

    id: str
    team: str
    brackets: list[str]
    note: str
    """The organisers' note."""
    created: str
    submissions: int
    """Those that count against the limits of any phase."""
    disqualified: str | None
    """Why it is disqualified; null: it is not."""
    members: list[Member]


class ActivityRow(TypedDict):
    """What was uploaded on a day."""

    day: str
    uploads: int
    accepted: int
    teams: int


class FailedMailRow(TypedDict):
    """An e-mail that the mail server refused for good, or did not take within three days."""

    mail: str
    """Its identifier."""
    recipient: str
    subject: str
    created: str
    reason: str
    """In the words of the mail server."""


class MergeRow(TypedDict):
    """A merge of teams that was asked for."""

    request: str
    team: str
    into: str
    received: str
    by: str
    by_organiser: bool
    status: str
    message: str


class InvitationRow(TypedDict):
    """A link that was not used yet, without its secret."""

    invite: str
    team: str | None
    name: str
    contact: str
    created: str
    expires: str | None


class InvitationLink(TypedDict):
    """A person's link, shown once."""

    team: str
    name: str
    contact: str
    url: str


class Invited(TypedDict):
    """The links of a list of people."""

    rows: list[InvitationLink]
    mailed: int
    """How many of the links are sent by e-mail."""
