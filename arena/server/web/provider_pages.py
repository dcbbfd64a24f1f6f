"""Sign-in with OpenID Connect: redirect to the provider, callback, redirect to a page.

Accounts are looked up by issuer and subject only: having the e-mail address of an account does not
give access to it. Signing in creates no account. The identity of a new person is kept in a cookie,
and the form *Take part* registers the person with the usual code or invitation, rules and approval.

A person who is signed in by a key or a link can link an identity to the account. It is kept in the
same cookie and linked by a form of its own, which names it: another site could have sent the
browser to the provider, signed in there as somebody else, to be let in to the account later.
"""

from __future__ import annotations

import hmac
import importlib
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from arena.server.records.layout import OIDC_SECRET
from arena.server.records.people import Account
from arena.server.web.cookies import cookies_of
from arena.server.web.language import _
from arena.server.web.limits import sender
from arena.server.web.people import (
    cookie_name,
    drop_cookie,
    identify,
    redirect_target,
    set_cookie,
    signed_in,
)
from arena.server.web.problems import Problem, too_many_requests
from arena.server.web.provider import FLOW_SECONDS, NEWCOMER_SECONDS, Flow, Identity, ProviderError
from arena.server.web.site import Site
from arena.server_section import ServerSection

if TYPE_CHECKING:
    from arena.server.web.openid import Provider

_LOGGER = logging.getLogger("arena.server.web")
_PER_MINUTE = 60
"""Steps of sign-ins per address: a class behind one address signs in at the same time."""
_MAX_CODE = 4_096
_CALLBACK = "/sign-in/oidc/callback"
ShowSignIn = Callable[..., Awaitable[Response]]


def newcomer_cookie(request: Request) -> str:
    """Return the name of the cookie that says who signed in at the provider without an account."""
    return f"{cookie_name(request)}-newcomer"


def newcomer(request: Request, site: Site) -> Identity | None:
    """Return who signed in at the provider in this browser and has no account yet."""
    sealed = cookies_of(request).get(newcomer_cookie(request))
    opened = site.seals.open("newcomer", sealed) if sealed else None
    return None if opened is None else Identity(**opened)


def routes(site: Site, show_sign_in: ShowSignIn) -> list[Route]:
    """Return the two pages of a sign-in; a refusal is shown on the page where it began."""
    providers: dict[ServerSection, Provider] = {}

    async def provider(settings: ServerSection) -> Provider:
        """Return the provider; its libraries are loaded once, while other requests go on."""
        try:
            openid: Any = await run_in_threadpool(
                importlib.import_module, "arena.server.web.openid"
            )
        except ImportError:
            raise _problem(ProviderError("setup", "the extra oidc is missing"), settings) from None
        if not os.environ.get(OIDC_SECRET):
            raise _problem(ProviderError("setup", f"{OIDC_SECRET} is not set"), settings)
        if settings not in providers:
            providers[settings] = openid.Provider(settings, f"{site.settings.url}{_CALLBACK}")
        return providers[settings]

    async def start(request: Request) -> Response:
        then = redirect_target(request.query_params.get("then", "/"))
        flow = Flow.begin(then, link="link" in request.query_params)
        try:
            settings = provider_settings(site, request)
            try:
                url = await (await provider(settings)).authorization_url(flow)
            except ProviderError as error:
                raise _problem(error, settings) from None
        except Problem as problem:
            return await show_sign_in(request, problem, then)
        response = RedirectResponse(url, 303)
        sealed = site.seals.seal("flow", asdict(flow), FLOW_SECONDS)
        set_cookie(
            response, request, name=_flow_cookie(request), value=sealed, seconds=FLOW_SECONDS
        )
        return response

    async def callback(request: Request) -> Response:
        try:
            settings = provider_settings(site, request)
            flow = _finished(site, request)
        except Problem as problem:
            # The cookie stays: another site may have sent the browser here during a sign-in.
            return await show_sign_in(request, problem, "/")
        try:
            code = authorization_code(request, settings)
            try:
                identity = await (await provider(settings)).identity(flow, code, site.clock())
            except ProviderError as error:
                raise _problem(error, settings) from None
            response = _arrived(
                site, request, identity=identity, settings=settings, then=flow.then, link=flow.link
            )
        except Problem as problem:
            response = await show_sign_in(request, problem, flow.then)
        drop_cookie(response, request, _flow_cookie(request))
        return response

    return [Route("/sign-in/oidc", start), Route(_CALLBACK, callback)]


def _flow_cookie(request: Request) -> str:
    return f"{cookie_name(request)}-sign-in"


def provider_settings(site: Site, request: Request) -> ServerSection:
    """Return the settings of the provider; 404 without one, 429 after too many requests."""
    settings = site.provider()
    if settings is None:
        raise Problem(404, _("There is no such page."))
    if wait := site.buckets.take(("provider", sender(request)), _PER_MINUTE):
        raise too_many_requests(wait)
    return settings


def _finished(site: Site, request: Request) -> Flow:
    """Return the sign-in that this browser began and now finishes, once."""
    sealed = cookies_of(request).get(_flow_cookie(request), "")
    opened, state = site.seals.open("flow", sealed), _only(request, "state")
    flow = None if opened is None else Flow(**opened)
    if (
        flow is None
        or not hmac.compare_digest(flow.state.encode(), state.encode())
        or not site.seals.spend(flow.state)
    ):
        raise Problem(
            400,
            _(
                "This sign-in was not begun in this browser, was finished already or took more "
                "than ten minutes. Start again at {url}"
            ).format(url=f"{site.settings.url}/sign-in"),
        )
    return flow


def _only(request: Request, name: str) -> str:
    """Return a parameter of the address; an empty text unless it is there once."""
    values = request.query_params.getlist(name)
    return values[0] if len(values) == 1 else ""


def authorization_code(request: Request, settings: ServerSection) -> str:
    """Return the code of the provider."""
    # RFC 9207: another provider's answer is not taken for this one's.
    if "iss" in request.query_params and _only(request, "iss") != settings.oidc_issuer:
        raise _problem(ProviderError("untrusted", "the answer names another issuer"), settings)
    error = _only(request, "error")
    if error in {"unauthorized_client", "invalid_scope", "unsupported_response_type"}:
        raise _problem(ProviderError("setup", error), settings)
    if error in {"server_error", "temporarily_unavailable"}:
        raise _problem(ProviderError("unreachable", error), settings)
    if error:
        raise Problem(
            403,
            _(
                "{name} did not sign you in, or you stopped it there. Try again, or ask the "
                "organiser for another way to sign in."
            ).format(name=settings.provider_name),
        )
    code = _only(request, "code")
    if not 0 < len(code) <= _MAX_CODE:
        raise _problem(ProviderError("untrusted", "there is no code"), settings)
    return code


def _problem(error: ProviderError, settings: ServerSection) -> Problem:
    """Return the message to the person; the log has the reason, for the organiser."""
    _LOGGER.warning("A sign-in by the provider failed: %s: %s.", error.kind, error.reason)
    name = settings.provider_name
    if error.kind == "setup":
        text = _(
            "Signing in with {name} is not set up completely. Tell the organiser: arena serve "
            "--check and the log of the server name what is missing."
        )
        return Problem(503, text.format(name=name))
    if error.kind == "unreachable":
        text = _(
            "{name} cannot be reached, or does not answer as expected. Try again in a few "
            "minutes, and tell the organiser if it fails again."
        )
        return Problem(503, text.format(name=name), {"Retry-After": "30"})
    text = _(
        "The answer of {name} does not prove who you are. Start again, and tell the organiser if "
        "it fails again."
    )
    return Problem(403, text.format(name=name))


def _arrived(
    site: Site,
    request: Request,
    identity: Identity,
    settings: ServerSection,
    then: str,
    *,
    link: bool,
) -> Response:
    """Sign the person in, or send somebody without an account to the form that registers.

    With ``link``, the person goes back to the form that links the identity to the account.
    """
    if settings.needs_email and not identity.verified:
        raise Problem(
            403,
            _(
                "{name} does not say that your e-mail address is verified. Verify it there, then "
                "sign in again."
            ).format(name=settings.provider_name),
        )
    if not settings.admits(identity.email):
        raise Problem(
            403,
            _(
                "Only e-mail addresses of these domains are admitted: {domains}. Sign out at "
                "{name} and sign in again with such an address, or ask the organiser."
            ).format(domains=", ".join(settings.oidc_domains), name=settings.provider_name),
        )
    account = site.accounts.by_subject(identity.subject)
    if link:
        _check_can_be_linked(site, request, account)
    if account is None or link:
        target = then if link else _join_page(site, then)
        response: Response = RedirectResponse(target, 303)
        sealed = site.seals.seal("newcomer", asdict(identity), NEWCOMER_SECONDS)
        set_cookie(
            response, request, name=newcomer_cookie(request), value=sealed, seconds=NEWCOMER_SECONDS
        )
        return response
    if account.state == "blocked":
        raise Problem(403, _("Your account is blocked. Ask the organiser."))
    response = signed_in(RedirectResponse(then, 303), site.accounts, request, account.account)
    drop_cookie(response, request, newcomer_cookie(request))
    return response


def _check_can_be_linked(site: Site, request: Request, holder: Account | None) -> None:
    """Refuse to link an identity without a session, or one that an account has."""
    person = identify(request, site.accounts)
    if person.account is None:
        raise Problem(401, _("You were signed out meanwhile. Sign in, then link the identity."))
    if holder is not None and holder.account == person.account.account:
        raise Problem(409, _("This identity is linked to your account already."))
    if holder is not None:
        raise Problem(
            409,
            _(
                "This identity belongs to another account here. It was not linked. Ask the "
                "organiser if both accounts are yours."
            ),
        )


def _join_page(site: Site, then: str) -> str:
    """Return where somebody registers who wanted to see a page; ``/`` lists the competitions."""
    first, _slash, rest = then.partition("?")[0].removeprefix("/").partition("/")
    if first == "invite" and rest:
        return then
    names = [first] if first in site.competitions else list(site.competitions)
    return f"/{names[0]}/join" if len(names) == 1 else "/"
