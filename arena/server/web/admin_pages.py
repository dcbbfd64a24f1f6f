"""The organiser's pages: queue, health, teams, announcements, decisions, final steps, exports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, get_args

from starlette.responses import Response

from arena.server.records.announcements import LONGEST
from arena.server.records.names import team_key
from arena.server.records.people import HOST_ROLES, Account
from arena.server.web import actions, models, organiser_api
from arena.server.web.body import check_confirmed, read_fields, whole_number
from arena.server.web.call import Call, address
from arena.server.web.invitations import read_invitations
from arena.server.web.language import _
from arena.server.web.paging import SEARCHED_ABOVE, matches, page_of, search_of
from arena.server.web.problems import Problem
from arena.server.web.rendering import Handler, Pages, go_to, refusals_on, show_page

_RECENT = 2_000
"""Answers that the overview counts."""


async def _overview(
    call: Call, problem: Problem | None = None, status: int = 200, made: Any = None
) -> Response:
    cursor, name = call.competition.state().cursor, call.competition.name
    answers = call.competition.published.answers(None, limit=_RECENT)
    queue = call.site.intake.after(name, cursor, 50)
    names = [team.name for team, _members in call.site.accounts.teams(name)]
    rejected: Counter[tuple[str, str]] = Counter()
    same: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        if answer.kind != "submit":
            continue
        for fault in answer.faults[:1]:
            rejected[(answer.status, str(fault.get("kind", "")))] += 1
        if answer.sha256:
            same[answer.sha256].add(answer.team)
    return show_page(
        call,
        "admin.html",
        status=status,
        problem=problem,
        made=made or {},
        health=organiser_api.health(call),
        has_next_result=call.competition.published.etag("next result") is not None,
        approvals=[
            account for account in call.site.accounts.accounts(name) if account.state == "waiting"
        ],
        mails=call.site.mails.counts(name),
        failed_mails=call.site.mails.failures(name),
        queue=queue,
        rejected=rejected.most_common(20),
        n_counted=sum(answer.kind == "submit" for answer in answers),
        same_file=sorted(
            Counter(tuple(sorted(teams)) for teams in same.values() if len(teams) > 1).items()
        ),
        alike=_alike(names),
        events=call.competition.published.answers("", limit=20),
        activity=await organiser_api.activity(call),
        decisions=[request for request in queue if not request.team],
        names=sorted(names),
        set_aside=[answer for answer in answers if answer.status == "set_aside"],
        codes=[
            invite
            for invite in call.site.accounts.invites(kind="register")
            if invite.competition == name and invite.uses is None
        ],
        exports=sorted(organiser_api.EXPORTS),
        announcements=call.site.announcements.of(name),
        longest=LONGEST,
        may_mail=bool(call.competition.facts.server.smtp_host),
    )


def _alike(names: list[str]) -> list[list[str]]:
    """Return groups of names that differ in digits and punctuation only."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        letters = "".join(mark for mark in team_key(name) if mark.isalpha())
        groups[letters].append(name)
    return [group for letters, group in sorted(groups.items()) if letters and len(group) > 1]


async def _teams(
    call: Call, problem: Problem | None = None, status: int = 200, made: Any = None
) -> Response:
    teams, search = organiser_api.team_rows(call), search_of(call)
    matching = [team for team in teams if matches(search, *_searched_texts(team))]
    return show_page(
        call,
        "admin_teams.html",
        status=status,
        problem=problem,
        made=made or {},
        names=sorted(team["team"] for team in teams),
        search=search,
        found=len(matching),
        searched_above=SEARCHED_ABOVE,
        **page_of(call, matching),
        invitations=organiser_api.open_invitations(call),
        merges=organiser_api.merges(call),
        may_mail=bool(call.competition.facts.server.smtp_host),
    )


def _searched_texts(team: Mapping[str, Any]) -> Iterator[str]:
    yield from (team["team"], team["note"])
    for member in team["members"]:
        yield from (member["name"], member["contact"], member["state"])


async def _show(call: Call) -> Response:
    return await _overview(call)


async def _show_teams(call: Call) -> Response:
    return await _teams(call)


Act = Callable[[Call, dict[str, str]], Awaitable[Response | None]]


def _form(act: Act, show: Callable[..., Awaitable[Response]], path: str) -> Handler:
    """Return a handler of a form: it goes back to its page, or shows there why not."""

    @refusals_on(show)
    async def handle(call: Call) -> Response:
        fields = await read_fields(call.request, call.competition.limits)
        answer = await act(call, fields)
        return answer or go_to(call, path)

    return handle


def _needed(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "").strip()
    if not value or len(value) > 500:
        raise Problem(422, _("Fill in all fields of the form."))
    return value


async def _code(call: Call, _fields: dict[str, str]) -> Response:
    """Replace the registration code: earlier codes stop working."""
    import secrets

    accounts, name = call.site.accounts, call.competition.name
    for invite in accounts.invites(kind="register"):
        if invite.competition == name and invite.uses is None:
            accounts.withdraw(invite.invite)
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    code = "-".join("".join(secrets.choice(alphabet) for _i in range(4)) for _j in range(4))
    accounts.invite(
        "register", competition=name, uses=None, code=code, made_by=call.account.account
    )
    return await _overview(call, made={"code": code})


async def _decide(call: Call, fields: dict[str, str]) -> None:
    kind = fields.get("kind", "")
    if kind not in {"disqualify", "undo"}:
        raise Problem(422, _("Fill in all fields of the form."))
    reason, what = _needed(fields, "reason"), _needed(fields, "what")
    payload: dict[str, Any] = {"reason": reason}
    submission = whole_number(what)
    if submission is None:
        payload["team"] = what
    else:
        payload["submission"] = submission
    actions.admin(call, kind, payload)


async def _announce(call: Call, fields: dict[str, str]) -> None:
    text = fields.get("text", "").replace("\r\n", "\n").strip()
    if not 0 < len(text) <= LONGEST:
        raise Problem(
            422, _("An announcement has 1 to {most} characters.").format(most=f"{LONGEST:,}")
        )
    organiser_api.announce(call, text, mail=bool(fields.get("mail")))


async def _withdraw(call: Call, fields: dict[str, str]) -> None:
    organiser_api.withdraw_announcement(call, whole_number(fields.get("announcement", "")) or 0)


async def _rescore(call: Call, fields: dict[str, str]) -> None:
    preview = fields.get("preview", "").strip()
    if fields.get("kind") == "apply" and not preview:
        raise Problem(422, _("Enter the code of the preview, which is in its answer below."))
    actions.rescore(call, preview[:40] if fields.get("kind") == "apply" else "")


async def _pause(call: Call, fields: dict[str, str]) -> None:
    if fields.get("kind") == "resume":
        actions.admin(call, "resume", {})
    else:
        actions.admin(call, "pause", {"reason": _needed(fields, "reason")})


async def _exempt(call: Call, fields: dict[str, str]) -> None:
    payload: dict[str, Any] = {
        "team": _needed(fields, "team"),
        "reason": _needed(fields, "reason"),
        "extra": whole_number(fields.get("extra", "") or "0") or 0,
    }
    if until := fields.get("until", "").strip():
        payload["until"] = until[:40]
    actions.admin(call, "exempt", payload)


async def _retract(call: Call, fields: dict[str, str]) -> None:
    check_confirmed(fields)
    actions.retract(call, _needed(fields, "reason"), fields.get("phase", ""))


async def _verify_winner(call: Call, fields: dict[str, str]) -> None:
    submission, state = whole_number(fields.get("submission", "")), fields.get("state", "")
    note = fields.get("note", "").strip()[:500]
    if submission is None or state not in get_args(models.VerificationState):
        raise Problem(422, _("Fill in all fields of the form."))
    if state == "failed" and not note:
        raise Problem(422, _("Say in the note why the verification failed."))
    actions.admin(call, "verification", {"submission": submission, "state": state, "note": note})


async def _step(call: Call, fields: dict[str, str]) -> None:
    kind = fields.get("kind", "")
    if kind not in {"finalize", "publish"}:
        raise Problem(422, _("Fill in all fields of the form."))
    check_confirmed(fields)
    actions.final_step(call, kind, fields.get("seen", ""), phase=fields.get("phase", ""))


async def _invite(call: Call, fields: dict[str, str]) -> Response:
    """Show what a list means, or create its links."""
    text = fields.get("csv", "")
    people, faults = read_invitations(text)
    if fields.get("kind") == "create" and people and not faults:
        return await _teams(call, made={"invited": organiser_api.invite_teams(call, people)})
    existing = {team.name for team, _members in call.site.accounts.teams(call.competition.name)}
    return await _teams(
        call,
        status=422 if faults else 200,
        made={"text": text, "people": people, "faults": faults, "existing": existing},
    )


async def _withdraw_link(call: Call, fields: dict[str, str]) -> None:
    organiser_api.withdraw_invitation(call, fields.get("invite", ""))


async def _link_again(call: Call, fields: dict[str, str]) -> Response:
    invited = organiser_api.send_invitation_again(call, fields.get("invite", ""))
    return await _teams(call, made={"invited": invited})


async def _mail_again(call: Call, fields: dict[str, str]) -> None:
    organiser_api.send_mail_again(call, fields.get("mail", ""))


async def _state(call: Call, fields: dict[str, str]) -> None:
    state = fields.get("state", "")
    if state not in {"active", "blocked"}:
        raise Problem(422, _("Fill in all fields of the form."))
    if state == "blocked":
        check_confirmed(fields)
    organiser_api.set_account_state(call, _needed(fields, "account"), state)


async def _merge(call: Call, fields: dict[str, str]) -> None:
    team, into = _needed(fields, "team"), _needed(fields, "into")
    check_confirmed(fields)
    organiser_api.merge_teams(call, team, into)


async def _link(call: Call, fields: dict[str, str]) -> Response:
    """Create a link that signs in a person who lost the key.

    Whoever has the link is that person, in every competition of the server.
    """
    account = organiser_api.participant(call, _needed(fields, "account"))
    accounts, organiser = call.site.accounts, call.account.account
    elsewhere = accounts.competitions_of(account.account) - {call.competition.name}
    if not all(accounts.account(organiser, name).organiser for name in elsewhere):
        raise Problem(
            403,
            _(
                "This person takes part in competitions of other organisers too. Ask the host of "
                "the server for the link."
            ),
        )
    return await _signin_link(call, account)


async def _organiser(call: Call, fields: dict[str, str]) -> Response:
    """Create an account of an organiser of this competition, and the link that signs it in."""
    accounts, name = call.site.accounts, fields.get("role", "organiser")
    role = next((role for role in HOST_ROLES if role == name), None)
    if role is None:
        raise Problem(422, _("Fill in all fields of the form."))
    with accounts.as_one():
        account = accounts.register(_needed(fields, "name"))
        accounts.enter(call.competition.name, account.account, organiser=role)
    return await _signin_link(call, account)


async def _signin_link(call: Call, account: Account) -> Response:
    """Show a link that signs in to an account, once and within two days."""
    secret = call.site.accounts.invite(
        "signin",
        account=account.account,
        made_by=call.account.account,
        expires=call.site.clock() + timedelta(days=2),
    )
    reset_link = {"signin": address(call, f"/invite/{secret}"), "name": account.name}
    return await _teams(call, made=reset_link)


_TEAMS = "/admin/teams"
_ANNOUNCED = "/admin#announce"
_EVENTS = "/admin#events"
PAGES: Pages = (
    ("GET", "/admin", "organiser", "admin", _show),
    ("POST", "/admin/code", "organiser", "admin", _form(_code, _overview, "/admin")),
    ("POST", "/admin/announce", "organiser", "admin", _form(_announce, _overview, _ANNOUNCED)),
    ("POST", "/admin/withdraw", "organiser", "admin", _form(_withdraw, _overview, _ANNOUNCED)),
    ("POST", "/admin/mails", "organiser", "admin", _form(_mail_again, _overview, "/admin#mails")),
    ("POST", "/admin/decide", "organiser", "admin", _form(_decide, _overview, _EVENTS)),
    ("POST", "/admin/rescore", "organiser", "admin", _form(_rescore, _overview, _EVENTS)),
    ("POST", "/admin/pause", "organiser", "admin", _form(_pause, _overview, _EVENTS)),
    ("POST", "/admin/exempt", "organiser", "admin", _form(_exempt, _overview, _EVENTS)),
    ("POST", "/admin/retract", "organiser", "admin", _form(_retract, _overview, _EVENTS)),
    ("POST", "/admin/winners", "organiser", "admin", _form(_verify_winner, _overview, _EVENTS)),
    ("POST", "/admin/step", "organiser", "admin", _form(_step, _overview, _EVENTS)),
    ("GET", _TEAMS, "organiser", "admin", _show_teams),
    ("POST", "/admin/teams/invite", "organiser", "admin", _form(_invite, _teams, _TEAMS)),
    ("POST", "/admin/teams/withdraw", "organiser", "admin", _form(_withdraw_link, _teams, _TEAMS)),
    ("POST", "/admin/teams/again", "organiser", "admin", _form(_link_again, _teams, _TEAMS)),
    ("POST", "/admin/teams/state", "organiser", "admin", _form(_state, _teams, _TEAMS)),
    ("POST", "/admin/teams/merge", "organiser", "admin", _form(_merge, _teams, _EVENTS)),
    ("POST", "/admin/teams/link", "organiser", "admin", _form(_link, _teams, _TEAMS)),
    ("POST", "/admin/teams/organiser", "organiser", "admin", _form(_organiser, _teams, _TEAMS)),
    ("GET", "/admin/export/{what}.csv", "organiser", "admin", organiser_api.export),
)
