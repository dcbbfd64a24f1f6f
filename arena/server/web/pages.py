"""The pages of a site: one table, from which the routes come."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.server.web import (
    account_pages,
    admin_pages,
    board_pages,
    conversations,
    folder_pages,
    join_pages,
    manager,
    settings_pages,
    site_pages,
    submission_pages,
    team_pages,
)
from arena.server.web.call import call_of
from arena.server.web.endpoint import route_path
from arena.server.web.language import _
from arena.server.web.problems import TITLES, Problem
from arena.server.web.rendering import Pages, render
from arena.server.web.site import Site


def problem_page(request: Request, problem: Problem, site: Site) -> Response:
    """Return a refusal as a page, with the step that helps."""
    name = request.path_params.get("competition") or next(iter(site.competitions), None)
    call = call_of(request, site, name)
    return render(
        site,
        request,
        call,
        "problem.html",
        status=problem.status,
        headers=problem.headers,
        problem=problem,
        title=_(TITLES.get(problem.status, "Not possible now")),
        here=request.scope["path"],
    )


PAGES: Pages = (
    *board_pages.PAGES,
    *submission_pages.PAGES,
    *account_pages.PAGES,
    *join_pages.PAGES,
    *conversations.PAGES,
    *settings_pages.PAGES,
    *folder_pages.PAGES,
    *manager.PAGES,
    *admin_pages.PAGES,
    *team_pages.PAGES,
)


def routes(site: Site, guarded: Any) -> list[Route]:
    """Return the routes of all pages."""
    return [
        *site_pages.routes(site),
        *(
            Route(
                f"/{{competition}}{route_path(path)}",
                guarded(site, who, scope, handler),
                methods=[method],
            )
            for method, path, who, scope, handler in PAGES
        ),
    ]
