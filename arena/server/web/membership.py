"""How people take part and in which team: they register, ask a team, leave it, rename it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from arena.errors import UsageError
from arena.requests import Request
from arena.server.records.invites import Invite
from arena.server.records.names import name_taken, team_key
from arena.server.records.people import Account
from arena.server.records.teams import Team, TeamRequest, full_team
from arena.server.web import actions
from arena.server.web.call import Call, cannot_create_a_team
from arena.server.web.language import _
from arena.server.web.mail import accepted_mails, address_of, request_mails
from arena.server.web.problems import Problem
from arena.server.web.provider import Identity
from arena.utils.look_alikes import look_alike
from arena.utils.questions import check_answers, is_kept


def register(
    call: Call,
    *,
    name: str,
    contact: str,
    code: str,
    team: str,
    rules: str,
    ask: bool = False,
    answers: Mapping[str, str] | None = None,
    identity: Identity | None = None,
) -> tuple[Account, str]:
    """Register a person by invitation, code or openly; return the account and its sign-in key.

    ``ask``: ``team`` exists, and is asked to take the person in.
    ``identity`` is who signed in at the provider: such an account has no sign-in key, and the key
    that is returned is empty.

    Raises
    ------
    Problem
        403 if the code is not valid or registration is by invitation; 409 or 422 for the names.
    """
    call.limit("register", call.address, 10)
    accounts, provider = call.site.accounts, call.site.provider()
    if identity is None and provider is not None and provider.oidc_only:
        raise Problem(
            403,
            _("To register, sign in with {name}, by the button on this page.").format(
                name=provider.provider_name
            ),
        )
    checked = _team_answers(call, answers)
    # A refusal leaves neither an account behind nor a link that was used.
    with accounts.as_one():
        account = accounts.register(
            name, contact, subject=None if identity is None else identity.subject
        )
        invite = enter(call, account, code=code, team=team, rules=rules, ask=ask)
        if not contact and invite is not None and invite.contact:
            accounts.set_contact(account.account, invite.contact)
        account = accounts.account(account.account, call.competition.name)
        key = ""
        if identity is None:
            key, _token = accounts.make_token(account.account, "sign-in key", "signin")
    _mail_captain(call, account.account)
    _answer_as_founder(call, account.account, checked)
    return account, key


def join(
    call: Call,
    *,
    team: str,
    code: str,
    rules: str,
    ask: bool = False,
    answers: Mapping[str, str] | None = None,
) -> None:
    """Join the competition with an account that exists already.

    Raises
    ------
    Problem
        As :func:`register`.
    """
    call.limit("join", call.account.account, 10)
    checked = _team_answers(call, answers)
    with call.site.accounts.as_one():
        enter(call, call.account, code=code, team=team, rules=rules, ask=ask)
    _mail_captain(call, call.account.account)
    _answer_as_founder(call, call.account.account, checked)


def _team_answers(call: Call, answers: Mapping[str, str] | None) -> dict[str, str]:
    """Return the answers to questions about teams; 422 if one is wrong."""
    try:
        return check_answers(call.competition.facts.questions_of_teams, answers or {})
    except UsageError as error:
        raise Problem(422, str(error)) from None


def _answer_as_founder(call: Call, account: str, answers: Mapping[str, str]) -> None:
    """Have the answers of a team recorded that has no other member; else they are not its own."""
    accounts, name = call.site.accounts, call.competition.name
    team = accounts.team_of(name, account)
    if answers and team is not None and len(accounts.members(team.team)) == 1:
        call.site.intake.append(
            competition=name,
            team=actions.record_name(call, team),
            member=account,
            kind="answer",
            payload={"answers": dict(answers)},
            received=call.site.clock(),
        )


def enter(
    call: Call, account: Account, *, code: str, team: str, rules: str, ask: bool
) -> Invite | None:
    """Let an account take part, by invitation, code or openly; return the invitation.

    It is refused once the competition accepts no files any more, late ones included.

    The account is active if it has a personal invitation or the competition needs no approval.
    """
    accounts, competition, limits = call.site.accounts, call.competition, call.competition.limits
    _check_may_take_part(call, account.account)
    if not ask:  # a member of a team is refused before any name, code or rules are checked
        _check_teamless(call, account)
    actions.check_open(call, call.site.clock(), late=True)
    text, version = competition.rules()
    if text is not None and rules != version:
        raise Problem(422, _("Read the rules and accept them to take part."))
    invite = accounts.invitation(code) if code else None
    fits = (
        invite is not None
        and invite.kind in {"register", "team"}
        and invite.competition == competition.name
    )
    if code and not fits:
        raise Problem(
            403,
            _(
                "This link or code is not valid: it was used, has expired or is mistyped. "
                "Ask the person who sent it for a new one."
            ),
        )
    if not fits and limits.join != "open":
        raise Problem(403, _("To take part you need a code or an invitation from the organiser."))
    is_personal = invite is not None and invite.uses is not None
    if invite is not None:
        accounts.use(code)
    accounts.enter(
        competition.name,
        account.account,
        "active" if is_personal or not limits.approve else "waiting",
    )
    if invite is not None and invite.kind == "team":
        if invite.team in call.merging:
            raise _merging()
        try:
            _check_brackets(call, account.account, accounts.team(str(invite.team)))
            accounts.join_team(str(invite.team), account.account, limits.team_size)
        except KeyError:
            raise Problem(
                409, _("This team was merged into another one. Ask for a new link.")
            ) from None
    elif invite is not None and invite.team:
        _enter_team(call, account, invite.team, may_join=True)
    elif ask:
        _ask(call, account, team)
    else:
        _enter_team(call, account, team, may_join=False)
    if version:
        accounts.accept_rules(competition.name, account.account, version)
    return invite


def _check_teamless(call: Call, account: Account) -> None:
    """Refuse a member of a team, and say how it joins another one: 422."""
    team = call.site.accounts.team_of(call.competition.name, account.account)
    if team is None:
        return
    is_over = call.competition.state().phase in actions.OVER
    already = _("You are in the team {name} already.").format(name=team.name)
    raise Problem(422, f"{already} {_over().detail if is_over else to_join_another_team()}")


def to_join_another_team() -> str:
    """Return what a member of a team does to join another one."""
    return _("To join another one, leave it or ask for a merge on the page Team and tokens.")


def _check_may_take_part(call: Call, account: str) -> None:
    """Refuse judges and readers: they see results that teams do not see, and decide nothing."""
    if call.site.accounts.account(account, call.competition.name).role != "organiser":
        raise Problem(
            403, _("With your role you see results that teams do not see. You cannot be in a team.")
        )


def _enter_team(call: Call, account: Account, name: str, *, may_join: bool) -> Team:
    """Create a team with this member, or let the member join it if the invitation says so."""
    accounts, competition = call.site.accounts, call.competition
    coming = [team for team, to in call.renaming.items() if team_key(to) == team_key(name)]
    existing = accounts.team_named(competition.name, name)
    if existing is None and coming:
        existing = accounts.team(coming[0])
    if existing is not None and may_join:
        _check_brackets(call, account.account, existing)
        return accounts.join_team(existing.team, account.account, competition.limits.team_size)
    if not may_join and accounts.has_departed(competition.name, account.account):
        raise Problem(409, cannot_create_a_team())
    if not may_join:
        accounts.check_new_team(competition.name, name)
        _check_not_on_record(call, name)
    return accounts.create_team(competition.name, name, account.account)


def _check_not_on_record(call: Call, name: str, other_than: str = "") -> None:
    """Refuse the names of baselines and those of teams of the record, also former and coming ones.

    Their submissions may have come in by other commands: a namesake could read their answers.
    """
    names = {
        *call.competition.published.all_names(),
        *call.competition.facts.baselines,
        *call.renaming.values(),
    }
    if any(
        team_key(name) == team_key(taken_name) or look_alike(name, taken_name)
        for taken_name in names
        if taken_name and taken_name != other_than
    ):
        raise name_taken(name)


def rename(call: Call, name: str) -> None:
    """Ask to rename the own team; its account follows once the record has the new name.

    409 after the end.
    """
    call.limit("rename", call.account.account, 5)
    if call.competition.state().phase in {"finalized", "published"}:
        raise Problem(409, _("The competition is over: its final result was computed."))
    rename_for(call, actions.check_may_submit(call), name)


def rename_for(call: Call, team: Team, name: str, *, by_organiser: bool = False) -> None:
    """Ask to rename a team; 409 while an earlier new name waits."""
    if team.team in call.renaming:
        raise Problem(409, _("The last new name is still being recorded. Try again in a minute."))
    old = actions.record_name(call, team)
    name = call.site.accounts.check_rename(team.team, name)
    _check_not_on_record(call, name, other_than=old)
    if name == old:
        call.site.accounts.rename_team(team.team, name)
        return
    request, _new = call.site.intake.append(
        competition=call.competition.name,
        team="" if by_organiser else team.name,
        member=call.account.account,
        kind="rename",
        payload={"team": old, "to": name, "accounts": [team.team]},
        received=call.site.clock(),
    )
    call.competition.changes = [*call.site.changes(call.competition), request]


def leave(call: Call, member: str) -> None:
    """Leave the team of this account, or remove another member as its captain.

    Raises
    ------
    Problem
        403 if the person is not the captain and removes another member; 409 after the end of the
        competition, or while the team is being merged.
    """
    account, accounts = call.account, call.site.accounts
    call.limit("leave", account.account, 5)
    team = actions.team_not_merging(call)
    if call.competition.state().phase in actions.OVER:
        raise _over()
    if member != account.account and captain(call, team) != account.account:
        raise Problem(403, _("Only the captain of a team can remove others."))
    accounts.leave_team(team.team, member, counts=actions.has_sent(call, team))


def remove_member(call: Call, team: Team, member: str) -> None:
    """Remove a member from a team, as an organiser; 409 while the team is merged."""
    if team.team in call.merging:
        raise _merging()
    call.site.accounts.leave_team(team.team, member, counts=actions.has_sent(call, team))


def captain(call: Call, team: Team) -> str | None:
    """Return the account of the first member who is not blocked; None if there is none."""
    return next(iter(_active_members(call, team)), None)


def _active_members(call: Call, team: Team) -> list[str]:
    accounts = call.site.accounts
    members = [member.account for member in accounts.members(team.team)]
    return [
        member
        for member in members
        if accounts.account(member, team.competition).state != "blocked"
    ]


def ask_team(call: Call, name: str) -> None:
    """Ask a team to take the person in, or to merge with the person's own team.

    An earlier request of the person to another team ends.

    Raises
    ------
    Problem
        404 without such a team; 403 or 409 if the teams could not be united now.
    """
    call.limit("ask", call.account.account, 5)
    _ask(call, call.account, name)
    _mail_captain(call, call.account.account)


def _ask(call: Call, account: Account, name: str) -> None:
    accounts, competition = call.site.accounts, call.competition
    team = accounts.team_named(competition.name, name)
    if team is None:
        raise Problem(404, _("There is no team {name}.").format(name=name[:80]))
    if competition.name not in accounts.competitions_of(account.account):
        raise Problem(409, _("Take part in the competition first."))
    _check_may_unite(call, account.account, team)
    accounts.ask_team(team.team, account.account)


def _mail_captain(call: Call, account: str) -> None:
    """Mail the captain of the team that an account asks, if it asks one.

    Not while accounts are changed as one: mails are another connection to their file.
    """
    accounts, facts = call.site.accounts, call.competition.facts
    for request in accounts.team_requests(call.competition.name, account=account):
        asked_captain = captain(call, accounts.team(request.team)) or ""
        call.site.mails.add(
            request_mails(call.site, facts, asker=account, team=request.team, captain=asked_captain)
        )


def requests_to(call: Call, team: Team) -> list[TeamRequest]:
    """Return the open requests to a team, the oldest first."""
    return call.site.accounts.team_requests(team.competition, team=team.team)


def own_request(call: Call) -> TeamRequest | None:
    """Return the open request of the person to a team."""
    requests = call.site.accounts.team_requests(call.competition.name, account=call.account.account)
    return next(iter(requests), None)


def end_request(call: Call) -> None:
    """End the own open request; 404 without one."""
    if not call.site.accounts.drop_team_request(call.competition.name, call.account.account):
        raise _no_request()


def answer_request(call: Call, account: str, *, accept: bool) -> None:
    """Accept or decline a request to the own team, as its captain.

    A person joins at once. Teams are merged in the order of the queue, as by the organiser.

    Raises
    ------
    Problem
        403 if the sender is not the captain; 404 without such a request; 403 or 409 if the teams
        cannot be united any more.
    """
    call.limit("answer", call.account.account, 10)
    team, accounts = call.team, call.site.accounts
    if captain(call, team) != call.account.account:
        raise Problem(403, _("Only the captain of a team answers requests."))
    request = next(
        (request for request in requests_to(call, team) if request.account == account), None
    )
    if request is None:
        raise _no_request()
    if accept:
        _check_may_unite(call, account, team)
        if request.own_team is None:
            accounts.join_team(team.team, account, call.competition.limits.team_size)
        else:
            merge(call, accounts.team(request.own_team), team)
        call.site.mails.add(accepted_mails(call.site, call.competition.facts, request))
    accounts.drop_team_request(team.competition, account)


def merge(call: Call, team: Team, into: Team, *, by_organiser: bool = False) -> Request:
    """Ask to merge two teams and return the request; members move once the record has done it.

    409 while programs of ``team`` wait: what they write is a submission of the team that sent them.
    """
    if call.merging & {team.team, into.team}:
        raise _merging()
    if actions.has_unfinished_programs(call, team):
        raise Problem(
            409,
            _("Programs of the team {name} wait or run. Merge it after that.").format(
                name=team.name
            ),
        )
    request, _new = call.site.intake.append(
        competition=call.competition.name,
        team="" if by_organiser else into.name,
        member=call.account.account,
        kind="merge",
        payload={
            "team": actions.record_name(call, team),
            "into": actions.record_name(call, into),
            "accounts": [team.team, into.team],
        },
        received=call.site.clock(),
    )
    call.competition.changes = [*call.site.changes(call.competition), request]
    return request


def _check_may_unite(call: Call, asker: str, team: Team) -> None:
    """Refuse that a person joins a team, or that the person's own team is merged into it."""
    accounts, competition, now = call.site.accounts, call.competition, call.site.clock()
    asking_team, deadline = accounts.team_of(team.competition, asker), competition.deadline()
    _check_may_take_part(call, asker)
    if competition.state().phase in actions.OVER or (deadline is not None and now > deadline):
        raise _over()
    if asking_team == team:
        raise Problem(409, _("You are in the team {name} already.").format(name=team.name))
    _check_brackets(call, asker, team)
    most = competition.limits.team_size
    if asking_team is None:
        if team.team in call.merging:
            raise _merging()
        if len(_active_members(call, team)) >= most:
            raise full_team(team, most)
        return
    if call.merging & {asking_team.team, team.team}:
        raise _merging()
    if captain(call, asking_team) != asker:
        raise Problem(403, _("Only the captain of a team can ask to merge it."))
    members = len(_active_members(call, team)) + len(_active_members(call, asking_team))
    if members > most:
        raise Problem(
            409,
            _("Together the teams have {n} members, and a team has at most {most}.").format(
                n=members, most=most
            ),
        )
    both = (asking_team, team)
    team_facts = [competition.published.team(actions.record_name(call, side)) for side in both]
    if any(facts.disqualified for facts in team_facts):
        raise Problem(409, _("A disqualified team cannot be merged."))
    waiting = sum(actions.left(call, side).waiting for side in both)
    current, others = competition.facts.current_phase, competition.facts.phase_names
    n_used = {
        name: sum(facts.used_in_phases.get(name, 0) for facts in team_facts) for name in others
    }
    n_used[current] = sum(facts.used_total for facts in team_facts)
    since = min(asking_team.created, team.created)
    for phase, count in n_used.items():
        if not count and phase != current:  # perhaps it has not begun
            continue
        allowed, n_files = allowed_until_now(call, since, phase), count + waiting
        if allowed is not None and n_files > allowed + sum(facts.extra for facts in team_facts):
            raise Problem(
                409,
                _(
                    "Together the teams have sent {n} files. One team could have sent {most} since "
                    "the older of them was created, so they cannot be merged yet."
                ).format(n=n_files, most=allowed),
            )


def _check_brackets(call: Call, account: str, team: Team) -> None:
    """Refuse that a person, alone or with the own team, leaves a bracket that a team chose: 409."""
    accounts, published = call.site.accounts, call.competition.published
    asking_team = accounts.team_of(team.competition, account)
    names = [team.name, *accounts.departed_from(team.competition, account)]
    names += [asking_team.name] if asking_team is not None else []
    answers = [published.team(published.current_name(name)).answers for name in names]
    for key, question in call.competition.facts.questions.items():
        chosen = {of_team[key] for of_team in answers if key in of_team}
        if is_kept(question) and len(chosen) > 1:
            raise Problem(
                409,
                _("The teams chose different brackets: {names}. Ask the organiser.").format(
                    names=", ".join(sorted(chosen))
                ),
            )


def allowed_until_now(call: Call, since: datetime, phase: str) -> int | None:
    """Return how many files one team may have sent since a time; None without a limit.

    In a phase, whose files are counted, not since before its start.
    """
    facts, now = call.competition.facts.of_phase(phase), call.site.clock()
    starts = [entry["start"] for entry in facts.phases if entry["phase"] == phase]
    of_phase = [datetime.fromisoformat(start) for start in (*starts, facts.start) if start]
    since = max([since, *of_phase])
    days = (now.date() - since.astimezone(UTC).date()).days + 1
    limits = [
        facts.total,
        None if facts.per_day is None else facts.per_day * days,
        None if facts.per_week is None else facts.per_week * -(-(days + 6) // 7),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _over() -> Problem:
    return Problem(409, _("The competition is over, so teams can no longer change."))


def _merging() -> Problem:
    return Problem(409, _("One of these teams is being merged already. Try again in a minute."))


def _no_request() -> Problem:
    return Problem(404, _("There is no such request any more."))


def change_account(call: Call, name: str, contact: str) -> None:
    """Change the name and the contact of the own account."""
    call.limit("account", call.account.account, 10)
    with call.site.accounts.as_one():
        call.site.accounts.set_name(call.account.account, name)
        call.site.accounts.set_contact(call.account.account, contact)


def delete_account(call: Call) -> None:
    """Delete the own account; 403 after an old sign-in, 409 for an organiser."""
    call.check_fresh()
    _delete(call, call.account.account)


def delete_member(call: Call, team: Team, member: str) -> None:
    """Delete the account of a member, as an organiser; 403 if it takes part elsewhere as well.

    An organiser of the whole server deletes it then.
    """
    call.check_fresh()
    accounts = call.site.accounts
    if member not in {teammate.account for teammate in accounts.members(team.team)}:
        raise Problem(404, _("This person is not in the team any more."))
    is_elsewhere = accounts.competitions_of(member) != {call.competition.name}
    if is_elsewhere and not accounts.account(call.account.account).organiser:
        raise Problem(
            403,
            _(
                "This person also takes part in another competition: only an organiser of the "
                "whole server can delete the account."
            ),
        )
    _delete(call, member)


def _delete(call: Call, account: str) -> None:
    if call.site.is_organiser(account):
        raise Problem(409, _("An organiser's account cannot be deleted here."))
    call.site.mails.forget(address_of(call.site.accounts.account(account).contact) or "")
    call.site.messages.forget(account)
    call.site.slots.forget(account)
    call.site.accounts.forget_person(account)
    call.site.intake.forget_answers(account)
