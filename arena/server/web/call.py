"""One request to a competition: its sender, the permissions, and the records."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request

from arena.server.records.people import Account
from arena.server.records.teams import Team
from arena.server.web.language import _
from arena.server.web.limits import sender
from arena.server.web.people import Person, bearer, identify, person_in
from arena.server.web.problems import EXPECTED, Problem, too_many_requests
from arena.server.web.site import CompetitionSite, Site


@dataclass(slots=True)
class Call:
    """A request to a competition."""

    request: Request
    site: Site
    competition: CompetitionSite
    person: Person

    def __post_init__(self) -> None:
        self.person = person_in(self.person, self.site.accounts, self.competition.name)
        self.site.changes(self.competition)  # changes the accounts of merged and renamed teams

    @property
    def merging(self) -> set[str]:
        """The teams, by identifier, that are being merged now; it can begin during an upload."""
        changes = self.site.changes(self.competition)
        merges = (change for change in changes if change.kind == "merge")
        return {team for merge in merges for team in merge.payload.get("accounts", ())}

    @property
    def renaming(self) -> dict[str, str]:
        """The new names that are being recorded, by the identifier of their team."""
        changes = self.site.changes(self.competition)
        renames = (
            change for change in changes if change.kind == "rename" and "accounts" in change.payload
        )
        return {rename.payload["accounts"][0]: rename.payload["to"] for rename in renames}

    @property
    def account(self) -> Account:
        """The account; 401 without one."""
        if self.person.blocked:
            raise Problem(401, _("The organiser has blocked your account in this competition."))
        if self.person.account is None:
            raise Problem(
                401,
                _("Sign in first. Programs send a token: Authorization: Bearer TOKEN."),
                {"WWW-Authenticate": "Bearer"},
            )
        return self.person.account

    @property
    def own_team(self) -> Team | None:
        """The team of the account, or ``None``."""
        if self.person.account is None:
            return None
        return self.site.accounts.team_of(self.competition.name, self.person.account.account)

    @property
    def team(self) -> Team:
        """The team of the account; 403 without one."""
        self.account  # noqa: B018 - 401 without an account
        team = self.own_team
        if team is None:
            create_one = _("You are in no team yet. Create one, or use a team's invitation.")
            raise Problem(403, cannot_create_a_team() if self.has_departed else create_one)
        return team

    @property
    def has_departed(self) -> bool:
        """Whether the person left a team that had submitted, and so cannot create one."""
        account = self.person.account
        return account is not None and self.site.accounts.has_departed(
            self.competition.name, account.account
        )

    @property
    def has_accepted_rules(self) -> bool:
        """Whether the account accepted the rules as they are now; true if there are none."""
        text, version = self.competition.rules()
        accepted = self.site.accounts.accepted
        return text is None or bool(accepted(self.competition.name, self.account.account, version))

    def check_approved(self) -> None:
        """Refuse an account that waits for the organiser's approval: 403."""
        if self.account.state == "waiting":
            raise Problem(
                403, _("The organiser has not approved your account yet. Try again later.")
            )

    def check_fresh(self) -> None:
        """Refuse a step that needs a recent sign-in: 403."""
        if not self.person.fresh(self.site.clock()):
            raise Problem(
                403, _("You signed in more than an hour ago. Sign in again for this step.")
            )

    @property
    def address(self) -> str:
        """The address that the request comes from, or its network: see :func:`sender`."""
        return sender(self.request)

    def limit(self, what: str, who: str, per_minute: int) -> None:
        """Count this request; 429 if there were too many in this minute."""
        wait = self.site.buckets.take((what, who), per_minute)
        if wait:
            raise too_many_requests(wait)

    def token_expiry(self) -> timedelta:
        """Return how long tokens last by default: until 30 days after the deadline, or a year."""
        deadline = self.competition.deadline()
        now = self.site.clock()
        if deadline is None:
            return timedelta(days=365)
        return max(deadline + timedelta(days=30) - now, timedelta(days=1))


def cannot_create_a_team() -> str:
    """Return why a person who left a team that had submitted cannot create another one."""
    return _(
        "You were a member of another team, so you cannot create another one: it would have limits "
        "of its own. Join a team by invitation, or ask the organiser."
    )


def rules_not_accepted() -> Problem:
    """Return the problem of an account that has not accepted the rules as they are now."""
    return Problem(
        403, _("Accept the rules first, on the page Rules. They may have changed since you did.")
    )


def nothing_to_publish() -> Problem:
    """Return the problem of an organiser who asks for a private board that there is not."""
    return Problem(
        404,
        _(
            "There is no private board to publish: finalize after the deadline, and again after a "
            "decision."
        ),
    )


def may_download(call: Call) -> bool:
    """Return whether the sender may download the files of the competition."""
    access, person = call.competition.limits.files, call.person
    if access == "anyone" or person.organiser:
        return True
    if person.account is None or call.own_team is None or person.account.state == "waiting":
        return False
    return access == "members" or call.has_accepted_rules


def check_runner(call: Call) -> None:
    """Refuse a request without the token of a runner of this competition: 401."""
    token = bearer(call.request.headers.get("authorization", "")) or ""
    digest = hashlib.sha256(token.encode()).hexdigest()
    digests, _etag = call.competition.held("runners", lambda document: document.json())
    if digest not in (digests or {}).values():
        raise Problem(401, "Only runners of this competition may ask this: the token is not valid.")


def _check_organiser(call: Call, account: Account) -> None:
    if not account.organiser:
        # The same as for an address that does not exist.
        raise Problem(404, _("There is no such page."))
    previews = account.role == "judge" and call.request.scope["path"].endswith("/admin/rescore")
    if call.request.method not in {"GET", "HEAD"} and account.role != "organiser" and not previews:
        raise Problem(403, _("With your role you see these pages, and change nothing."))
    if "admin" not in call.person.scopes:
        raise Problem(403, _("This token does not have the scope admin. Create one that does."))


def check_who(call: Call, who: str, scope: str) -> None:
    """Refuse a request whose sender may not send it.

    ``who`` is ``anyone``, ``reader`` (anyone, or approved members only if the board is theirs),
    ``downloader`` (as ``[server] files`` says), ``signed-in``, ``member`` or ``organiser``; for a
    ``runner`` see :func:`check_runner`.
    """
    person = call.person
    if who == "anyone":
        return
    needs_approval = who == "reader" or scope in {"submit", "account"}
    if who == "reader":
        if call.competition.limits.board == "anyone" or person.organiser:
            return
        who = "member"
    if who == "downloader":
        if may_download(call):
            return
        call.team  # noqa: B018 - 401 or 403 without an account or a team
        call.check_approved()
        raise rules_not_accepted()
    account = call.account
    if who == "organiser":
        _check_organiser(call, account)
        return
    if scope == "account" and person.program:
        raise Problem(403, _("A token cannot do this. Sign in with a browser."))
    if scope not in person.scopes:
        raise Problem(
            403, _("This token does not have the scope {scope}. Create one that does.").format(
                scope=scope
            ),
        )  # fmt: skip
    if who == "member":
        if needs_approval:
            call.check_approved()
        call.team  # noqa: B018 - 403 without a team


def address(call: Call, path: str) -> str:
    """Return the full address of a page."""
    url = call.site.settings.url
    return (url or str(call.request.base_url).rstrip("/")) + path


def call_of(request: Request, site: Site, name: str | None) -> Call | None:
    """Return the call of a competition; None if there is none, or it has published nothing yet."""
    if name not in site.competitions:
        return None
    try:
        person = identify(request, site.accounts)
        call = Call(request, site, site.competitions[name], person)
        call.competition.facts  # noqa: B018 - raises before the first publication
    except EXPECTED:
        return None
    return call
