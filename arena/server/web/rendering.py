"""Templates to pages: everything in them is escaped."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from arena.server.web import actions, language
from arena.server.web.body import read_fields
from arena.server.web.call import Call, cannot_create_a_team
from arena.server.web.documents import fault_line
from arena.server.web.problems import EXPECTED, problem_of
from arena.server.web.prose import Addresses, markdown
from arena.server.web.site import SILENT_AFTER, Site
from arena.utils.distribution import installed_version
from arena.utils.formatting import BoardDisplay, released_format

_HERE = Path(__file__).parent
STYLE = _HERE / "static" / "style.css"
_BYTES = 1_000
LOGOS = ("_logo.svg", "_logo.png", "_logo.webp", "_logo.jpg")
"""Names of an image in ``pages/`` that is shown beside the title."""
Handler = Callable[[Call], Awaitable[Response]]
Pages: TypeAlias = tuple[tuple[str, str, str, str, Handler], ...]
"""Method, path below the competition, who, scope, handler; as those of an endpoint."""


def _when(value: str | datetime | None) -> Markup:
    """Return a time as an element: UTC, to which a script adds the reader's own zone."""
    if not value:
        return Markup("")
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    moment = moment.astimezone(UTC)
    time_text = moment.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(
        moment.isoformat(timespec="seconds"), time_text
    )


def left(deadline: str, now: datetime) -> str:
    """Return the time until a deadline in the reader's language; empty if it has passed."""
    time_left = datetime.fromisoformat(deadline) - now
    if time_left <= timedelta(0):
        return ""
    days, hours = time_left.days, time_left.seconds // 3_600
    if days >= 2:
        return language.ngettext("{n} day left", "{n} days left", days).format(n=days)
    hours += 24 * days
    if hours:
        return language.ngettext("{n} hour left", "{n} hours left", hours).format(n=hours)
    minutes = time_left.seconds // 60
    return language.ngettext("{n} minute left", "{n} minutes left", minutes).format(n=minutes)


@pass_context
def _score(context: Context, value: Any, column: Sequence[float | None] = ()) -> str:
    """Return a score with the digits and unit of the competition, or six significant digits.

    The scores of a column have the same digits, so that their points are below each other.
    """
    facts = context.get("facts")
    if value is None or facts is None:
        return "" if value is None else f"{value:.6g}"
    if not column and facts.decimals is None and not facts.unit:
        return f"{value:.6g}"
    return released_format(column or [value], BoardDisplay(facts.decimals, facts.unit))(value)


def size_in_words(value: int) -> str:
    """Return a number of bytes in words.

    >>> size_in_words(1_650_000)
    '1.6 MB'
    """
    size, unit = float(value), "bytes"
    for bigger in ("kB", "MB", "GB", "TB"):
        if size < _BYTES:
            break
        size, unit = size / _BYTES, bigger
    return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"


@cache
def _asset(name: str) -> str:
    """Return the address of a static file; it changes with the content, so browsers may keep it."""
    digest = sha256((_HERE / "static" / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        language._, language.ngettext, newstyle=True
    )
    environment.filters.update(
        when=_when, left=left, score=_score, size=size_in_words, fault=fault_line
    )
    environment.globals.update(
        asset=_asset, arena_version=installed_version(), languages=language.LANGUAGES
    )
    return environment


def render(
    site: Site,
    request: Request,
    call: Call | None,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> Response:
    """Return a page. ``call`` is ``None`` on pages that belong to no competition."""
    common: dict[str, Any] = {
        "call": call,
        "person": call.person if call else None,
        "here": request.scope["path"],
        "language": language.current.get(),
        "n_competitions": len(site.competitions),
        "key": secrets.token_urlsafe(9),
        "problem": None,
    }
    if call is not None:
        state = call.competition.state()
        folder = call.competition.folder()
        names = {image.name for image in folder.images}
        common |= {
            "tabs": [tab for tab in folder.tabs() if tab[0] not in {"overview", "data"}],
            "has_data": bool(folder.files) or folder.page("data") is not None,
            "logo": next((logo for logo in LOGOS if logo in names), None),
            "footer": served_markdown(call, folder.page("_footer"), below=1),
            "base": f"/{call.competition.name}",
            "facts": call.competition.facts,
            "limits": call.competition.limits,
            "state": state,
            "silent": site.clock().timestamp() - state.beat > SILENT_AFTER,
            "has_private": call.competition.published.etag("result 1") is not None,
            "has_rules": call.competition.published.etag("rules") is not None,
            "has_team": call.own_team is not None,
            "why_no_team": cannot_create_a_team()
            if call.own_team is None and call.has_departed
            else "",
            "now": site.clock(),
            "over": state.phase in actions.OVER,
            "over_for_files": actions.end_of_files(call) is not None,
        }
    page = environment().get_template(template).render({**common, **context})
    return HTMLResponse(page, status, headers=dict(headers or {}))


def served_markdown(call: Call, text: str | None, *, below: int = 0) -> Markup | None:
    """Return an organiser's Markdown as a part of a page of its competition; None for None."""
    if text is None:
        return None
    return markdown(text, below=below, addresses=Addresses.served(call.competition.name))


def show_page(call: Call, template: str, **context: Any) -> Response:
    """Return a page of a competition; its status may be among the context."""
    return render(call.site, call.request, call, template, **context)


def go_to(call: Call, path: str) -> Response:
    """Return the answer that sends a browser to a page of the competition, after a form."""
    return RedirectResponse(f"/{call.competition.name}{path}", 303)


def refusals_on(show: Callable[..., Awaitable[Response]]) -> Callable[[Handler], Handler]:
    """Return a decorator of a form's handler: a refusal is shown above the page ``show`` makes."""

    def decorate(act: Handler) -> Handler:
        @wraps(act)
        async def handle(call: Call) -> Response:
            try:
                return await act(call)
            except EXPECTED as error:
                problem = problem_of(error)
                if problem is None:
                    raise
                return await show(call, problem=problem, status=problem.status)

        return handle

    return decorate


def form_handler(
    show: Callable[..., Awaitable[Response]],
    act: Callable[[Call, dict[str, str]], Awaitable[Response]],
) -> Handler:
    """Return a handler of a form: a refusal is shown on its page, with the person's input."""

    async def handle(call: Call) -> Response:
        fields: dict[str, str] = {}

        @refusals_on(partial(show, fields=fields))
        async def act_on_fields(call: Call) -> Response:
            fields.update(await read_fields(call.request, call.competition.limits))
            return await act(call, fields)

        return await act_on_fields(call)

    return handle
