"""The JSON documents that the HTTP API takes; :mod:`arena.responses` has those that it returns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena.changeable_settings import LONGEST_TEXT
from arena.server.records.announcements import LONGEST
from arena.server.records.messages import LONGEST as LONGEST_MESSAGE
from arena.server.records.teams import LONGEST_NOTE

Name = Annotated[str, Field(min_length=1, max_length=200)]
VerificationState = Literal["verified", "failed", "open"]


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
    phase: str = Field(
        "",
        max_length=40,
        description="Of an empty list: the phase in which none is chosen. Default: the open one.",
    )


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


class FailedMail(Sending):
    """An e-mail that GET /admin/mails lists."""

    mail: Annotated[str, Field(min_length=1, max_length=500)]


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


class SettingsChange(Sending):
    """New values of settings, and new texts; what is not named stays."""

    settings: dict[str, bool | int | float | str | list[str] | None] = Field(
        {}, max_length=50, description="The key with its section, such as limits.per_day -> value."
    )
    texts: dict[str, Annotated[str, Field(max_length=LONGEST_TEXT)]] = Field(
        {}, max_length=50, description="rules or pages/NAME.md -> Markdown."
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


class Beat(Sending):
    """A sign of life of a runner."""

    lease: int
