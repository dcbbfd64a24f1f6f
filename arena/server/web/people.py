"""Who sends a request: a person's browser, a program with a token, or neither."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from arena.server.records.accounts import Accounts
from arena.server.records.people import Account
from arena.server.records.sign_ins import SESSION
from arena.server.web.cookies import cookies_of
from arena.server.web.language import _
from arena.server.web.problems import Problem

RUNNER_TOKEN = "runner_"  # noqa: S105 - how such a token begins
FRESH = timedelta(hours=1)
"""How long after signing in an organiser may finalize and publish."""
_SCOPES = {  # "account" is of browsers only: a stolen token must not outlive its revocation
    "read": {"read"},
    "submit": {"read", "submit"},
    "admin": {"read", "submit", "admin"},
    "signin": frozenset[str](),
}


@dataclass(frozen=True, slots=True)
class Person:
    """Who sends a request.

    Attributes
    ----------
    account
        The account, or ``None``.
    scopes
        Permissions of the request: ``read``, ``submit``, ``admin``, and ``account``: create tokens,
        keys and invitations, which only a browser may that a person signed in.
    program
        Whether a token was sent rather than a cookie.
    since
        When the browser signed in.
    blocked
        Whether a browser is signed in to an account that is blocked in the competition.
    """

    account: Account | None = None
    scopes: frozenset[str] = frozenset()
    program: bool = False
    since: datetime | None = None
    blocked: bool = False

    @property
    def organiser(self) -> bool:
        """Whether the request may do what organisers do."""
        return self.account is not None and self.account.organiser and "admin" in self.scopes

    def fresh(self, now: datetime) -> bool:
        """Whether the browser signed in recently; programs always count as such."""
        return self.program or (self.since is not None and now - self.since < FRESH)


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie: the protected one, except without TLS."""
    return "__Host-arena" if request.scope["scheme"] == "https" else "arena"


def set_cookie(response: Response, request: Request, name: str, value: str, seconds: float) -> None:
    """Set a cookie that scripts cannot read and other sites' forms do not send."""
    response.set_cookie(
        name,
        value,
        max_age=int(seconds),
        path="/",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def drop_cookie(response: Response, request: Request, name: str) -> None:
    """Delete a cookie of :func:`set_cookie`."""
    response.delete_cookie(name, path="/", secure=request.url.scheme == "https", httponly=True)


def signed_in(response: Response, accounts: Accounts, request: Request, account: str) -> Response:
    """Return a response that signs the browser in, by a new session: the old one ends."""
    old = cookies_of(request).get(cookie_name(request))
    if old:
        accounts.close_session(old)
    secret = accounts.open_session(account)
    set_cookie(
        response, request, name=cookie_name(request), value=secret, seconds=SESSION.total_seconds()
    )
    return response


def redirect_target(text: str) -> str:
    """Return a path on this site: ``/`` for anything else.

    >>> redirect_target("/churn/team"), redirect_target("//evil.example.org")
    ('/churn/team', '/')
    """
    local = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if local and text.isprintable() and len(text) < 300 else "/"


def identify(request: Request, accounts: Accounts) -> Person:
    """Return who sends a request. With a token, cookies are ignored.

    Raises
    ------
    Problem
        401 if the request has a token that is not valid. That of a runner is of no account: see
        :func:`arena.server.web.call.check_runner`.
    """
    header = request.headers.get("authorization")
    if header is not None:
        secret = bearer(header)
        if secret and secret.startswith(RUNNER_TOKEN):
            return Person()
        held = accounts.holder(secret) if secret else None
        if held is None:
            raise Problem(
                401,
                "This token is not valid: it is mistyped, has expired or was revoked. Create a new "
                "one on the page of your team.",
                {"WWW-Authenticate": "Bearer"},
            )
        account, token = held
        return Person(account, frozenset(_SCOPES.get(token.scope, ())), program=True)
    cookie = cookies_of(request).get(cookie_name(request))
    session = accounts.session(cookie) if cookie else None
    if session is None:
        return Person()
    account, since = session
    return Person(account, frozenset({"read", "submit", "account", "admin"}), since=since)


def person_in(person: Person, accounts: Accounts, competition: str) -> Person:
    """Return the sender with the role that the account has in a competition.

    Approval, blocks and organisers belong to a competition. A blocked person is nobody there.

    Raises
    ------
    Problem
        401 if a blocked person sends a token.
    """
    if person.account is None:
        return person
    account = accounts.account(person.account.account, competition)
    if account.state == "blocked":
        if person.program:
            raise Problem(
                401,
                "This account is blocked in this competition. Ask the organiser.",
                {"WWW-Authenticate": "Bearer"},
            )
        return Person(blocked=True)
    scopes = person.scopes if account.organiser else person.scopes - {"admin"}
    return replace(person, account=account, scopes=scopes)


def bearer(header: str) -> str:
    """Return the token of an Authorization header: Bearer, or the password of Basic."""
    scheme, _space, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # not ASCII, not base64, or not UTF-8
            return ""
    return ""


def from_another_site(request: Request, url: str) -> bool:
    """Return whether a page of another site made a browser send this request.

    Browsers say so by Sec-Fetch-Site, or older ones by Origin. Programs send neither.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("origin")
    if origin is None:
        return cookie_name(request) in cookies_of(request)
    own_addresses = {f"{request.url.scheme}://{request.headers.get('host', '')}", url}
    return origin not in own_addresses


def refuse_other_sites(request: Request, url: str) -> None:
    """Refuse a change that another site's page asked for; a token is never sent by itself."""
    safe = request.method in {"GET", "HEAD", "OPTIONS"}
    if not safe and "authorization" not in request.headers and from_another_site(request, url):
        raise Problem(
            403, _("This form was sent from another site. Open the page here and send it again.")
        )
