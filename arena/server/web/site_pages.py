"""The pages that belong to no competition: the index, sign-in and links."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from arena.server.web import actions, language, provider_pages
from arena.server.web.body import read_fields
from arena.server.web.call import Call, call_of
from arena.server.web.cookies import cookies_of
from arena.server.web.join_pages import show_join
from arena.server.web.language import _
from arena.server.web.limits import sender
from arena.server.web.mail import address_of, mail_lost_key, mailing_competitions
from arena.server.web.people import cookie_name, drop_cookie, identify, redirect_target, signed_in
from arena.server.web.problems import Problem, too_many_requests
from arena.server.web.provider_pages import newcomer, newcomer_cookie
from arena.server.web.rendering import left, render
from arena.server.web.site import Site
from arena.server_section import ServerSection


@dataclass(frozen=True, slots=True)
class _SitePages:
    """The pages that belong to no competition."""

    site: Site

    async def index(self, request: Request) -> Response:
        if len(self.site.competitions) == 1:
            return RedirectResponse(f"/{next(iter(self.site.competitions))}/", 303)
        return render(
            self.site,
            request,
            None,
            "index.html",
            groups=self._groups(),
            newcomer=newcomer(request, self.site),
        )

    def _groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the competitions by what a reader can do in them, the next deadline first."""
        now = self.site.clock()
        rows: dict[str, list[dict[str, Any]]] = {"open": [], "upcoming": [], "over": []}
        for competition in self.site.competitions.values():
            facts, deadline = competition.facts, competition.deadline()
            over = competition.state().phase in actions.OVER or (
                deadline is not None and deadline < now
            )
            upcoming = facts.start is not None and datetime.fromisoformat(facts.start) > now
            rows["over" if over else "upcoming" if upcoming else "open"].append(
                {
                    "name": competition.name,
                    "title": facts.title or competition.name,
                    "start": facts.start if upcoming else None,
                    "deadline": facts.deadline,
                    "left": left(facts.deadline, now) if facts.deadline else "",
                    "metric": facts.board_metric,
                    "teams": len(competition.board()[0])
                    if competition.limits.board == "anyone"
                    else 0,
                }
            )
        for group in rows.values():
            group.sort(key=lambda row: (row["deadline"] or "9", row["title"]))
        return [
            (_("Open"), rows["open"]),
            (_("Upcoming"), rows["upcoming"]),
            (_("Over"), rows["over"][::-1]),
        ]

    async def sign_in_page(
        self,
        request: Request,
        problem: Problem | None = None,
        then: str = "",
        *,
        is_link_requested: bool = False,
    ) -> Response:
        call = call_of(request, self.site, next(iter(self.site.competitions), None))
        return render(
            self.site,
            request,
            call,
            "sign_in.html",
            status=problem.status if problem else 200,
            problem=problem,
            then=then or redirect_target(request.query_params.get("then", "/")),
            provider=self.site.provider(),
            is_link_requested=is_link_requested,
            may_mail=bool(mailing_competitions(self.site)),
            here="/sign-in",
        )

    async def sign_in(self, request: Request) -> Response:
        address = sender(request)
        then = "/"
        try:
            fields = await read_fields(request, ServerSection())
            then = redirect_target(fields.get("then", "/"))
            if wait := self.site.buckets.take(("sign in", address), 10):
                raise too_many_requests(wait)
            held = self.site.accounts.holder(fields.get("key", "").strip())
            if held is None or held[1].scope != "signin":
                raise Problem(
                    403,
                    _(
                        "This sign-in key is not valid. It was shown when you registered; the "
                        "organiser can send you a link that signs you in."
                    ),
                )
        except Problem as problem:
            return await self.sign_in_page(request, problem, then)
        return signed_in(RedirectResponse(then, 303), self.site.accounts, request, held[0].account)

    async def lost_key(self, request: Request) -> Response:
        """Mail a link to the accounts with an address; the answer never says if there is one."""
        address = sender(request)
        fields = await read_fields(request, ServerSection())
        contact = address_of(fields.get("contact", ""))
        most = {("lost", address): 10, ("lost", (contact or "").casefold()): 3}
        wait = max(self.site.buckets.take(key, n) for key, n in most.items())
        if wait:
            return await self.sign_in_page(request, too_many_requests(wait))
        if contact is None:
            problem = Problem(422, _("This is no e-mail address."))
            return await self.sign_in_page(request, problem)
        page = await self.sign_in_page(request, is_link_requested=True)
        # After the answer, so that its time does not say it either.
        page.background = BackgroundTask(mail_lost_key, self.site, contact)
        return page

    async def sign_out(self, request: Request) -> Response:
        secret = cookies_of(request).get(cookie_name(request))
        if secret:
            self.site.accounts.close_session(secret)
        response = RedirectResponse("/", 303)
        drop_cookie(response, request, cookie_name(request))
        drop_cookie(response, request, newcomer_cookie(request))
        return response

    async def choose_language(self, request: Request) -> Response:
        fields = await read_fields(request, ServerSection())
        response = RedirectResponse(redirect_target(fields.get("then", "/")), 303)
        if fields.get("language") in language.LANGUAGES:
            response.set_cookie(
                "language", fields["language"], max_age=31_536_000, samesite="lax", httponly=True
            )
        return response

    async def invitation(self, request: Request) -> Response:
        """Show the invitation of a link; only the form uses it, because previews open links too."""
        secret = request.path_params["secret"]
        invite = self.site.accounts.invitation(secret)
        if invite is None:
            raise Problem(
                404,
                _(
                    "This link or code is not valid: it was used, has expired or is mistyped. "
                    "Ask the person who sent it for a new one."
                ),
            )
        name = invite.competition or next(iter(self.site.competitions))
        if invite.kind == "signin":
            account = self.site.accounts.account(str(invite.account))
            call = call_of(request, self.site, name)
            return render(
                self.site, request, call, "sign_in_link.html", account=account, secret=secret
            )
        person = identify(request, self.site.accounts)
        call = Call(request, self.site, self.site.competition(name), person)
        team = None
        if invite.kind == "team":
            try:
                team = self.site.accounts.team(str(invite.team)).name
            except KeyError:
                raise Problem(
                    404, _("This team was merged into another one. Ask for a new link.")
                ) from None
        invite_fields = {
            "team": team or invite.team, "name": invite.name, "contact": invite.contact,
        }  # fmt: skip
        return await show_join(call, code=secret, invite=invite_fields)

    async def use_invitation(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        invite = self.site.accounts.invitation(secret)
        if invite is None or invite.kind != "signin":
            return await self.invitation(request)
        self.site.accounts.use(secret)
        account = self.site.accounts.account(str(invite.account))
        organised = [
            name
            for name in self.site.competitions
            if self.site.accounts.account(account.account, name).organiser
        ]
        name = next(iter([*organised, *self.site.competitions]))
        target = f"/{name}/admin" if organised else f"/{name}/"
        return signed_in(
            RedirectResponse(target, 303), self.site.accounts, request, account.account
        )


def routes(site: Site) -> list[Route]:
    """Return the routes of these pages."""
    pages = _SitePages(site)
    return [
        Route("/", pages.index),
        Route("/sign-in", pages.sign_in_page),
        Route("/sign-in", pages.sign_in, methods=["POST"]),
        *provider_pages.routes(site, pages.sign_in_page),
        Route("/sign-in/lost", pages.lost_key, methods=["POST"]),
        Route("/sign-out", pages.sign_out, methods=["POST"]),
        Route("/language", pages.choose_language, methods=["POST"]),
        Route("/invite/{secret}", pages.invitation),
        Route("/invite/{secret}", pages.use_invitation, methods=["POST"]),
    ]
