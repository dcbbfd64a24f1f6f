"""The page of the own team, account, tokens and sign-in; every form works without script."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from starlette.responses import RedirectResponse, Response

from arena.server.web import actions, api, membership
from arena.server.web.body import check_confirmed, whole_number
from arena.server.web.call import Call, address
from arena.server.web.cookies import cookies_of
from arena.server.web.language import _
from arena.server.web.people import cookie_name, drop_cookie
from arena.server.web.problems import Problem
from arena.server.web.provider_pages import newcomer, newcomer_cookie
from arena.server.web.rendering import Pages, form_handler, go_to, show_page
from arena.server.web.submission_pages import team_answers

DEVICE = timedelta(minutes=15)
"""How long a link for another device works."""


async def _show_team(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None, made: Mapping[str, Any] | None = None,
) -> Response:  # fmt: skip
    account, team = call.account, call.own_team
    accounts = call.site.accounts
    tokens, provider = accounts.tokens(account.account), call.site.provider()
    subject = accounts.subject(account.account) or ""
    is_linked = provider is not None and subject.startswith(f"{provider.oidc_issuer} ")
    return show_page(
        call,
        "team.html",
        status=status,
        problem=problem,
        fields=fields or {},
        team=team,
        new_name=call.renaming.get(team.team) if team else None,
        members=call.site.accounts.members(team.team) if team else [],
        invites=call.site.accounts.invites(team=team.team, kind="team") if team else [],
        captain=membership.captain(call, team) if team else None,
        is_merging=team is not None and team.team in call.merging,
        brackets=call.competition.brackets_of(actions.record_name(call, team)) if team else [],
        team_answers=team_answers(call, team),
        requests=api.team_requests(call),
        tokens=[token for token in tokens if token.scope != "signin"],
        made=made or {},
        url=address(call, ""),
        has_key=accounts.has_key(account.account),
        provider=provider,
        is_linked=is_linked,
        identity=newcomer(call.request, call.site) if provider and not is_linked else None,
    )


async def _team(call: Call) -> Response:
    return await _show_team(call)


async def _rename(call: Call, fields: dict[str, str]) -> Response:
    membership.rename(call, fields.get("name", ""))
    return go_to(call, "/team")


async def _invite(call: Call, _fields: dict[str, str]) -> Response:
    call.team  # noqa: B018 - 403 without a team
    return await _show_team(call, made={"invite": api.invite_member(call)["url"]})


async def _withdraw(call: Call, fields: dict[str, str]) -> Response:
    call.site.accounts.withdraw(fields.get("invite", ""), team=call.team.team)
    return go_to(call, "/team")


async def _leave(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    membership.leave(call, fields.get("member") or call.account.account)
    return go_to(call, "/team")


async def _ask_team(call: Call, fields: dict[str, str]) -> Response:
    membership.ask_team(call, fields.get("asked-team", ""))
    return go_to(call, "/team")


async def _end_team_request(call: Call, _fields: dict[str, str]) -> Response:
    membership.end_request(call)
    return go_to(call, "/team")


async def _answer_team(call: Call, fields: dict[str, str]) -> Response:
    accept = fields.get("kind") == "accept"
    if accept:
        check_confirmed(fields)
    membership.answer_request(call, fields.get("account", ""), accept=accept)
    return go_to(call, "/team")


async def _change_account(call: Call, fields: dict[str, str]) -> Response:
    membership.change_account(call, fields.get("account-name", ""), fields.get("contact", ""))
    return go_to(call, "/team")


async def _delete_account(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    membership.delete_account(call)
    response = RedirectResponse("/", 303)
    drop_cookie(response, call.request, cookie_name(call.request))
    return response


async def _new_token(call: Call, fields: dict[str, str]) -> Response:
    text = fields.get("days", "")
    days = whole_number(text)
    if text and not 0 < (days or 0) <= 3_650:
        raise Problem(422, _("The number of days is between 1 and 3,650."))
    scope = fields.get("scope", "submit")
    if scope not in {"read", "submit", "admin"}:
        raise Problem(422, _("Choose a scope from the list."))
    name = " ".join(fields.get("name", "").split()) or _("my program")
    token_made = api.new_token(call, name, scope, days)
    return await _show_team(call, made={"token": token_made})


async def _revoke(call: Call, fields: dict[str, str]) -> Response:
    call.site.accounts.revoke(call.account.account, fields.get("token", ""))
    return go_to(call, "/team")


async def _new_key(call: Call, _fields: dict[str, str]) -> Response:
    session = cookies_of(call.request).get(cookie_name(call.request))
    key = call.site.accounts.new_key(call.account.account, session)
    return await _show_team(call, made={"key": key})


async def _device(call: Call, _fields: dict[str, str]) -> Response:
    account = call.account.account
    call.limit("device", account, 5)
    secret = call.site.accounts.invite(
        "signin", account=account, made_by=account, expires=call.site.clock() + DEVICE
    )
    return await _show_team(call, made={"device": f"{address(call, '')}/invite/{secret}"})


async def _link(call: Call, fields: dict[str, str]) -> Response:
    call.check_fresh()
    identity = newcomer(call.request, call.site)
    # The form names the identity: another tab may have signed in as somebody else meanwhile.
    if identity is None or identity.digest != fields.get("identity"):
        raise Problem(
            409,
            _("The sign-in there was more than half an hour ago, or as somebody else. Repeat it."),
        )
    call.site.accounts.link_subject(call.account.account, identity.subject)
    response = go_to(call, "/team")
    drop_cookie(response, call.request, newcomer_cookie(call.request))
    return response


async def _forget(call: Call, _fields: dict[str, str]) -> Response:
    response = go_to(call, "/team")
    drop_cookie(response, call.request, newcomer_cookie(call.request))
    return response


async def _unlink(call: Call, _fields: dict[str, str]) -> Response:
    call.check_fresh()
    provider = call.site.provider()
    if provider is not None and provider.oidc_only:
        # With it, a person could register a second time.
        raise Problem(
            409,
            _("Everybody signs in with {name} here, so the identity stays linked.").format(
                name=provider.provider_name
            ),
        )
    call.site.accounts.unlink_subject(call.account.account)
    return go_to(call, "/team")


PAGES: Pages = (
    ("GET", "/team", "signed-in", "read", _team),
    ("POST", "/team/rename", "member", "submit", form_handler(_show_team, _rename)),
    ("POST", "/team/invite", "member", "account", form_handler(_show_team, _invite)),
    ("POST", "/team/withdraw", "member", "submit", form_handler(_show_team, _withdraw)),
    ("POST", "/team/leave", "member", "account", form_handler(_show_team, _leave)),
    ("POST", "/team/ask", "signed-in", "submit", form_handler(_show_team, _ask_team)),
    ("POST", "/team/unask", "signed-in", "submit", form_handler(_show_team, _end_team_request)),
    ("POST", "/team/answer", "member", "account", form_handler(_show_team, _answer_team)),
    ("POST", "/account", "signed-in", "account", form_handler(_show_team, _change_account)),
    ("POST", "/account/delete", "signed-in", "account", form_handler(_show_team, _delete_account)),
    ("POST", "/tokens", "signed-in", "account", form_handler(_show_team, _new_token)),
    ("POST", "/tokens/revoke", "signed-in", "submit", form_handler(_show_team, _revoke)),
    ("POST", "/sign-in-key", "signed-in", "account", form_handler(_show_team, _new_key)),
    ("POST", "/device", "signed-in", "account", form_handler(_show_team, _device)),
    ("POST", "/provider/link", "signed-in", "account", form_handler(_show_team, _link)),
    ("POST", "/provider/unlink", "signed-in", "account", form_handler(_show_team, _unlink)),
    (
        "POST",
        "/provider/forget",
        "signed-in",
        "account",
        form_handler(_show_team, _forget),
    ),
)
