"""The JSON documents of the HTTP API; the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena.changeable_settings import LONGEST_TEXT
from arena.server.records.accounts import LONGEST_NOTE
from arena.server.records.announcements import LONGEST
from arena.server.records.messages import LONGEST as LONGEST_MESSAGE

Name = Annotated[str, Field(min_length=1, max_length=200)]
VerificationState = Literal["verified", "failed", "open"]
Time = Annotated[str, Field(description="ISO 8601, UTC.")]


class Sending(BaseModel):
    """A body that a client sends: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Join(Sending):
    """Enter the competition with a team: create one, or join by a team's invitation."""

    team: str = Field("", max_length=200, description="The new team's name.")
    code: str = Field("", max_length=200, description="The team's invitation or the code.")
    rules: str = Field("", max_length=200, description="The version of the rules that you accept.")
    answers: dict[str, str] = Field(
        {}, max_length=100, description="Of a new team, to public questions about teams."
    )


class Selection(Sending):
    """The chosen final submissions; an empty list chooses none."""

    submissions: list[Annotated[int, Field(ge=1, le=2**53)]] = Field(max_length=100)


class NewToken(Sending):
    """A token for programs."""

    name: Name
    scope: Literal["read", "submit", "admin"] = "submit"
    days: Annotated[int, Field(ge=1, le=3_650)] | None = Field(
        None, description="Days until it expires. Default: 30 days after the deadline."
    )


class OldToken(Sending):
    """The token to revoke."""

    token: Name = Field(description="Its identifier, not its secret.")


class TeamChange(Sending):
    """A new name of the team."""

    name: Name


class Withdrawal(Sending):
    """A submission of the own team to withdraw, for good."""

    submission: Annotated[int, Field(ge=1, le=2**53)]


class Reason(Sending):
    """Why something is decided; participants see it."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Retraction(Reason):
    """Why a result is retracted; ``phase`` as in :class:`FinalStep`."""

    phase: str = Field("", max_length=40)


class NewExemption(Sending):
    """What a team may do that others may not; it replaces an earlier one."""

    team: Name
    until: str | None = Field(
        None, max_length=40, description="It may submit until then: ISO 8601, after the deadline."
    )
    extra: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0, description="Additional submissions: a day, a week and in total."
    )
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class OldMember(Sending):
    """The member who leaves the team."""

    account: str = Field("", max_length=200, description="Empty: yourself.")


class AskedTeam(Sending):
    """The team that is asked."""

    team: Name


class TeamAnswer(Sending):
    """The answer to a request to the own team."""

    account: Name
    accept: bool


class AccountNames(Sending):
    """The name and the contact of the own account."""

    name: Name
    contact: str = Field("", max_length=200)


class AccountChange(Sending):
    """An account to approve or block."""

    account: Name


class NewAnnouncement(Sending):
    """An announcement to all participants."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)] = Field(description="Markdown.")
    mail: bool = Field(False, description="Also send it by e-mail to the members of all teams.")


class NewQuestion(Sending):
    """A message to the organisers."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_MESSAGE)]


class NewMessage(Sending):
    """An organiser's answer to a message, or a message to each member of a team."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_MESSAGE)] = Field(
        description="Markdown."
    )
    answers: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="The number of the message that is answered."
    )
    team: str = Field("", max_length=200)
    published: str = Field(
        "",
        max_length=LONGEST_MESSAGE,
        description="The question as everybody may read it, beside the answer; empty: the answer "
        "is private.",
    )


class ResultMail(Sending):
    """Whether an e-mail says that a file that one sent has its result."""

    wanted: bool


class OldInvitation(Sending):
    """A link that GET /admin/invitations lists."""

    invite: Name


class OldAnnouncement(Sending):
    """The announcement to withdraw."""

    announcement: Annotated[int, Field(ge=1, le=2**53)]


class TeamEdit(Sending):
    """A new name of a team, or the organisers' note on it; what is not named stays."""

    name: Name | None = None
    note: str | None = Field(None, max_length=LONGEST_NOTE, description="Only organisers see it.")


class MergeTeams(Sending):
    """A team that joins another one."""

    team: Name
    into: Name


class TeamBracket(Sending):
    """A team, and whether it is to be in a bracket."""

    team: Name
    bracket: Name
    member: bool = True


class Decision(Sending):
    """A submission or a team, and the reason, which is put on record."""

    submission: Annotated[int, Field(ge=1, le=2**53)] | None = None
    team: Name | None = None
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class NewVerification(Sending):
    """What the verification of a final submission found."""

    submission: Annotated[int, Field(ge=1, le=2**53)]
    state: VerificationState = Field(description="open: nothing yet.")
    note: str = Field("", max_length=500, description="Everybody can see it; failed needs one.")


class Rescore(Sending):
    """Preview a rescore, or apply one that was previewed."""

    preview: str = Field(
        "", max_length=40, description="The code in the answer to a preview. Empty: preview only."
    )


class FinalStep(Sending):
    """A final step; ``phase`` is empty without phases, or for the current one."""

    phase: str = Field("", max_length=40)
    seen: Name = Field(description="The digest that GET /admin/health returns.")


class Message(BaseModel):
    """The result."""

    message: str


class AnnouncementState(BaseModel):
    """An announcement to all participants, as it was posted."""

    announcement: int
    posted: Time
    text: str = Field(description="Markdown.")


class AnnouncementPosted(AnnouncementState):
    """An announcement that was posted."""

    mailed: int = Field(description="How many e-mails wait to be sent.")


class AnnouncementList(BaseModel):
    """The announcements, newest first."""

    announcements: list[AnnouncementState]


class SettingsChange(Sending):
    """New values of settings, and new texts; what is not named stays."""

    settings: dict[str, bool | int | float | str | list[str] | None] = Field(
        {}, max_length=50, description="The key with its section, such as limits.per_day -> value."
    )
    texts: dict[str, Annotated[str, Field(max_length=LONGEST_TEXT)]] = Field(
        {}, max_length=50, description="rules or pages/NAME.md -> Markdown."
    )


class SettingsState(BaseModel):
    """The settings and texts that can be changed by the web."""

    settings: dict[str, Any]
    texts: dict[str, str]


class SettingsPreview(BaseModel):
    """What a change would change."""

    changes: list[str] = Field(
        description="A line for each setting; texts as the lines that differ."
    )


class MessageState(BaseModel):
    """A message between a participant and the organisers."""

    message: int
    from_organiser: bool
    text: str = Field(description="Plain text of a participant, Markdown of an organiser.")
    posted: Time
    answers: int | None = Field(description="The number of the message that it answers.")
    published: str = Field(
        description="The question as everybody reads it, beside this answer; empty: private."
    )


class MessageList(BaseModel):
    """Messages, newest first."""

    messages: list[MessageState]


class Info(BaseModel):
    """The competition."""

    name: str
    title: str
    metric: str
    greater_is_better: bool
    mechanism: str
    mechanism_text: str
    deadline: Time | None
    mark: dict[str, str] | None = Field(
        None, description="When (time) and why (cause) the public board was last released again."
    )
    pending_labels: dict[str, int] | None = Field(
        None, description="How many public rows have no label yet (pending) and how many do."
    )
    phase: str = Field(description="starting, open, closed, finalized or published.")
    columns: list[str]
    rows: int
    start: Time | None = None
    late_until: Time | None = Field(
        None, description="Until when files are received after the deadline, which are not ranked."
    )
    scores: str = Field("board", description="Who sees scores: board, own or hidden.")
    freeze: Time | None = Field(
        None, description="The board shows what was received until then; the own scores go on."
    )
    paused: dict[str, str] | None = Field(
        None, description="Since when (time) and why (reason) files are refused for a while."
    )
    current_phase: str = Field(
        "", description="The phase of the board and of the limits; GET /phases lists all."
    )
    questions: dict[str, dict[str, Any]] = Field(
        {}, description="Questions that a submission answers: key -> text, choices, required, of."
    )
    brackets: list[str] = Field(
        [], description="Named sets of teams; GET /board?bracket=NAME is the board of one."
    )
    exemptions: list[dict[str, Any]] = Field(
        [], description="Teams that may submit later (until) or more often (extra), and the reason."
    )
    per_day: int | None
    per_week: int | None = None
    total: int | None
    max_bytes: int
    final_rule: str
    final_count: int
    join: str
    rules: str | None = Field(description="The rules as Markdown.")
    rules_version: str
    server_time: Time
    waiting: int


class Phases(BaseModel):
    """The phases of a competition."""

    phases: list[dict[str, Any]] = Field(
        description="As of arena phases --json, in the order of competition.toml."
    )


class BoardPage(BaseModel):
    """A page of the public board."""

    rows: list[dict[str, Any]] = Field(description="As of arena leaderboard --json, best first.")
    late: list[dict[str, Any]] = Field(
        [], description="Files after the deadline, which are not ranked, the last one first."
    )
    total: int
    after: int
    next: int | None = Field(description="The value of after for the next page.")
    etag: str


class RequestState(BaseModel):
    """A request and its answer, or its place in the queue."""

    request: str
    kind: str
    status: str = Field(
        description="waiting, accepted, rejected, refused, disqualified, withdrawn, set_aside, "
        "trial_failed or done."
    )
    received: Time
    place: int | None = Field(None, description="1 is judged next.")
    seconds: float | None = Field(None, description="The expected wait.")
    file: str = ""
    submission: int | None = None
    score: float | None = Field(None, description="The score on the public board.")
    source: int | None = Field(
        None,
        description="The submission whose score it is, if the mechanism repeated an earlier one.",
    )
    private: float | None = Field(
        None, description="The score on the private rows, once the result is published."
    )
    private_rank: int | None = Field(
        None, description="The rank that it would have among the final submissions."
    )
    late: bool = Field(False, description="Whether it came after the deadline: it is not ranked.")
    phase: str = Field("", description="The phase for which it counts.")
    rounds: list[RequestState] = Field(
        [], description="The file in the further open rounds whose rows it has, if it has several."
    )
    closed_rounds: list[str] = Field(
        [], description="Rounds whose rows the file has, and that were not open: they do not count."
    )
    before_rebuild: bool = Field(
        False, description="Whether the score is from before the board was released again."
    )
    faults: list[dict[str, Any]] = []
    message: str = ""
    selected: bool = False
    description: str = Field("", description="The team's note.")
    answers: dict[str, str] = Field({}, description="The answers to questions that came with it.")
    reason: str = Field("", description="Why it is disqualified.")
    receipt: str | None = None
    sha256: str | None = None
    member: str = ""
    trial: dict[str, Any] | None = Field(
        None,
        description="How the trial of a program ended: end, seconds, peak_mb and its whole log.",
    )


class RunnerState(Sending):
    """What a runner is, which runs it takes, and which inputs it holds."""

    runner: Name
    sandbox: Name
    versions: dict[Name, Name] = Field(max_length=20)
    inputs: list[Name] = Field(max_length=100, description="The digests of folders.")
    kinds: list[Literal["trial", "hidden"]] = Field(
        default=["trial", "hidden"], min_length=1, description="The kinds of runs that it takes."
    )


class Lease(BaseModel):
    """A run that a runner has for a minute."""

    run: str
    lease: int = Field(description="Its number, for every later request about this run.")
    kind: Literal["trial", "hidden"]
    program: str
    file: str
    sha256: str
    bytes: int
    inputs: str = Field(description="The digest of the inputs to run on.")
    environment: str
    limits: dict[str, Any] = Field(description="Keys of the section [programs].")
    max_bytes: int


class Beat(Sending):
    """A sign of life of a runner."""

    lease: int


class SubmissionsPage(BaseModel):
    """The team's requests, newest first."""

    requests: list[RequestState]
    next: int | None = Field(description="The value of before for the next page.")
    left_today: int | None
    left_total: int | None
    waiting: int
    resets: Time
    selected: list[int]


class Checked(BaseModel):
    """Whether a file would be accepted; nothing is stored."""

    status: str = Field(description="ok or rejected.")
    faults: list[dict[str, Any]]


class Person(BaseModel):
    """A person in a team or an account."""

    account: str
    name: str
    contact: str
    joined: Time


class TeamState(BaseModel):
    """The own team."""

    name: str
    members: list[Person]
    size: int = Field(description="How many members a team may have.")
    new_name: str | None = Field(None, description="The name that is being recorded.")


class TeamRequestState(BaseModel):
    """A request to a team."""

    team: str = Field(description="The name of the team that is asked.")
    account: str
    name: str = Field(description="Of the person who asks.")
    own_team: str | None = Field(description="The person's team, which would be merged into it.")
    asked: Time


class TeamRequests(BaseModel):
    """The own open request to a team, and those to the own team."""

    sent: TeamRequestState | None
    received: list[TeamRequestState]


class InviteMade(BaseModel):
    """An invitation, shown once."""

    url: str
    expires: Time | None


class TokenState(BaseModel):
    """A token without its secret."""

    token: str
    name: str
    scope: str
    created: Time
    expires: Time | None
    used: Time | None


class TokenMade(TokenState):
    """A new token; its secret is shown once."""

    secret: str


class TokenList(BaseModel):
    """The tokens of the account."""

    tokens: list[TokenState]


class Health(BaseModel):
    """The scorer, the queue and the disk."""

    phase: str
    beat_seconds: float
    waiting: int
    oldest: Time | None
    seconds_each: float
    judged: int
    set_aside: int
    checker_deaths: int
    problem: str | None
    disk_free_bytes: int
    seen: str = Field(description="The digest that a final step must send.")


class FileState(BaseModel):
    """A file that is offered for download."""

    name: str
    bytes: int
    sha256: str


class FileList(BaseModel):
    """The files that are offered for download."""

    files: list[FileState]


class Rows(BaseModel):
    """A list of records."""

    rows: list[dict[str, Any]]


class SubmissionRows(Rows):
    """A page of the submissions of all teams."""

    total: int = Field(description="How many submissions match.")


class Invited(BaseModel):
    """The links of a CSV of teams, shown once."""

    rows: list[dict[str, str]]
    mailed: int = Field(description="How many of the links are sent by e-mail.")
