"""The pages with the rules, and on which a person enters a competition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from arena.server.web import actions, membership
from arena.server.web.call import Call
from arena.server.web.language import _
from arena.server.web.people import drop_cookie, signed_in
from arena.server.web.problems import Problem
from arena.server.web.provider_pages import newcomer, newcomer_cookie
from arena.server.web.rendering import Pages, form_handler, go_to, served_markdown, show_page


async def _show_rules(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None,  # noqa: ARG001 - as every form's page
) -> Response:  # fmt: skip
    text, version = call.competition.rules()
    account = call.person.account
    return show_page(
        call,
        "rules.html",
        status=status,
        problem=problem,
        rules=served_markdown(call, text),
        version=version,
        accepted=call.site.accounts.accepted(call.competition.name, account.account, version)
        if account
        else None,
    )


async def _rules(call: Call) -> Response:
    return await _show_rules(call)


async def _accept(call: Call, fields: dict[str, str]) -> Response:
    _text, version = call.competition.rules()
    if fields.get("version") != version:
        raise Problem(409, _("The rules changed since this page was loaded. Read them again."))
    call.site.accounts.accept_rules(call.competition.name, call.account.account, version)
    return go_to(call, "/submit")


async def show_join(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None, code: str = "", invite: Any = None,
) -> Response:  # fmt: skip
    """Show the page on which a person enters, by an invitation or without one."""
    text, version = call.competition.rules()
    end = actions.end_of_files(call)
    return show_page(
        call,
        "join.html",
        status=status,
        problem=problem or end,
        fields=fields or {},
        code=code or (fields or {}).get("code", ""),
        invite=invite,
        team=call.own_team,
        to_join_another=membership.to_join_another_team(),
        rules=text is not None,
        version=version,
        provider=call.site.provider(),
        newcomer=None if call.person.account else newcomer(call.request, call.site),
    )


async def _join_page(call: Call) -> Response:
    return await show_join(call)


async def _join(call: Call, fields: dict[str, str]) -> Response:
    rules = fields.get("version", "") if fields.get("accept") else ""
    ask, answers = bool(fields.get("ask")), actions.given_answers(fields)
    if call.person.account is not None:
        membership.join(
            call,
            team=fields.get("team", ""),
            code=fields.get("code", ""),
            rules=rules,
            ask=ask,
            answers=answers,
        )
        return go_to(call, "/team" if ask else "/submit")
    identity = newcomer(call.request, call.site) if fields.get("provider") else None
    if fields.get("provider") and identity is None:
        raise Problem(403, _("You signed in more than half an hour ago. Sign in again."))
    account, key = membership.register(
        call,
        name=fields.get("name", ""),
        contact=identity.email if identity and identity.verified else fields.get("contact", ""),
        code=fields.get("code", "").strip(),
        team=fields.get("team", ""),
        rules=rules,
        ask=ask,
        answers=answers,
        identity=identity,
    )
    person = replace(call.person, account=account)  # the page is shown to the person signed in
    page = show_page(call, "welcome.html", account=account, key=key, person=person, asked=ask)
    if identity is not None:
        drop_cookie(page, call.request, newcomer_cookie(call.request))
    return signed_in(page, call.site.accounts, call.request, account.account)


PAGES: Pages = (
    ("GET", "/rules", "anyone", "read", _rules),
    ("POST", "/rules", "signed-in", "submit", form_handler(_show_rules, _accept)),
    ("GET", "/join", "anyone", "read", _join_page),
    ("POST", "/join", "anyone", "read", form_handler(show_join, _join)),
)
