"""The organiser's settings and texts: shown, previewed and changed, by the page and the API."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from arena import responses
from arena.changeable_settings import (
    LONGEST_TEXT,
    changeable,
    choices,
    ends_the_competition,
    kind_of,
    read_value,
)
from arena.requests import Request
from arena.server.web import actions, models
from arena.server.web.body import read_fields
from arena.server.web.call import Call
from arena.server.web.documents import request_state
from arena.server.web.language import _
from arena.server.web.problems import Problem
from arena.server.web.rendering import Pages, go_to, refusals_on, show_page

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Competition", (
        ("competition.title", "Title"),
        ("competition.start", "Start"),
        ("competition.deadline", "Deadline"),
        ("competition.late_until", "Late files until"),
        ("server.organisers", "Organisers"),
        ("server.contact", "Contact"),
        ("server.forum", "Address of the forum"),
        ("server.colour", "Colour of links, such as #0a5c9c"),
    )),
    ("Limits", (
        ("limits.per_day", "Submissions a day"),
        ("limits.per_week", "Submissions a week"),
        ("limits.total", "Submissions in total"),
        ("limits.max_bytes", "Bytes of a file"),
        ("server.uploads_per_minute", "Uploads a minute"),
        ("server.keep_uploads_days", "Days for which files are kept"),
    )),
    ("People", (
        ("server.join", "Registration"),
        ("server.approve", "The organiser approves each account"),
        ("server.team_size", "Members of a team"),
        ("server.board", "Who sees the board"),
        ("server.files", "Who downloads the data"),
    )),
    ("E-mail", (
        ("server.smtp_host", "Mail server"),
        ("server.smtp_port", "Port"),
        ("server.smtp_tls", "Encryption"),
        ("server.smtp_user", "Name to sign in with"),
        ("server.smtp_from", "Sender"),
        ("server.reminder_hours", "Hours between the reminder and the deadline"),
    )),
)  # fmt: skip
"""Title of a group -> its keys and their labels."""


def current_settings(call: Call) -> dict[str, Any]:
    """Return the value of each setting that can be changed here, as JSON; None: not set."""
    facts = call.competition.facts
    phases = {f"phase.{phase['phase']}": phase for phase in facts.phases}
    values: dict[str, Any] = {}
    for key in changeable(facts.phase_names):
        section, _dot, name = key.rpartition(".")
        if section in phases:
            value = phases[section][name]
        else:
            value = getattr(facts.server if section == "server" else facts, name)
        values[key] = list(value) if isinstance(value, tuple) else value
    return values


def current_texts(call: Call) -> dict[str, str]:
    """Return the rules and the pages as they are published: ``rules``, ``pages/NAME.md``."""
    pages = {f"pages/{name}.md": text for name, text in call.competition.folder().pages}
    return {"rules": call.competition.rules()[0] or "", "pages/overview.md": "", **pages}


def changed_settings(call: Call, new_values: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return ``key: [before, after]`` of the settings that differ; 422 for one that cannot."""
    current = current_settings(call)
    for key in new_values:
        if key not in current:
            raise _by_hand_only(key)
    values = {key: _in_utc(key, value) for key, value in new_values.items()}
    changes = {key: [current[key], value] for key, value in values.items() if value != current[key]}
    of_mail = next((key for key in changes if key.startswith("server.smtp_")), None)
    if of_mail and not call.site.accounts.account(call.account.account).organiser:
        # The mail server is sent a password, which belongs to all competitions of this server.
        raise _by_hand_only(of_mail)
    ends = [times for key, times in changes.items() if ends_the_competition(key)]
    if any(not all(times) or times[1] <= times[0] for times in ends):
        raise Problem(
            422,
            _(
                "Here a deadline can only be moved later. The first one, and an earlier one, are "
                "set in competition.toml."
            ),
        )
    return changes


def _by_hand_only(key: str) -> Problem:
    return Problem(422, _("{key} can be changed in competition.toml only.").format(key=key[:80]))


def _in_utc(key: str, value: Any) -> Any:
    """Return a value; a time as the facts have it."""
    if value is None or kind_of(key) != "time":
        return value
    try:
        return read_value(key, str(value))
    except ValueError:
        raise _no_value(key, str(value)) from None


def _no_value(label: str, text: str) -> Problem:
    sentence = _("{label}: {text} is not a value of this setting.")
    return Problem(422, sentence.format(label=label, text=repr(text[:60])))


def _changed_texts(call: Call, new_texts: Mapping[str, str]) -> dict[str, str]:
    current = current_texts(call)
    clean = {name: text.replace("\r\n", "\n").rstrip() for name, text in new_texts.items()}
    return {name: text for name, text in clean.items() if text != current.get(name, "").rstrip()}


def preview(call: Call, settings: Mapping[str, Any], texts: Mapping[str, str]) -> list[str]:
    """Return what would change: a line for each setting, and those of texts as a comparison."""
    lines = [
        f"{key}: {_shown(before)} → {_shown(after)}"
        for key, (before, after) in changed_settings(call, settings).items()
    ]
    before = current_texts(call)
    for name, text in _changed_texts(call, texts).items():
        old, new = before.get(name, "").rstrip().splitlines(), text.splitlines()
        lines += difflib.unified_diff(old, new, name, name, lineterm="", n=1)
    return lines


def _shown(value: Any) -> str:
    return _("not set") if value in (None, "", []) else str(value)


def change(call: Call, settings: Mapping[str, Any], texts: Mapping[str, str]) -> Request:
    """Ask the scorer to change settings and texts; 403 after an old sign-in, 422 for nothing."""
    call.check_fresh()
    changes = changed_settings(call, settings)
    written = _changed_texts(call, texts)
    if not changes and not written:
        raise Problem(422, _("Nothing differs from the current settings."))
    return actions.admin(call, "configure", {"changes": changes, "texts": written})


async def show_settings(call: Call) -> responses.SettingsState:
    """Return the settings and texts that can be changed here."""
    return responses.SettingsState(settings=current_settings(call), texts=current_texts(call))


async def preview_settings(call: Call, body: models.SettingsChange) -> responses.SettingsPreview:
    """Return what a change would change."""
    return responses.SettingsPreview(changes=preview(call, body.settings, body.texts))


async def change_settings(call: Call, body: models.SettingsChange) -> responses.RequestState:
    """Change settings and texts."""
    request = change(call, body.settings, body.texts)
    return request_state(actions.sent_request(call, request.request))


# The page


def _typed(key: str, value: Any) -> str:
    """Return a value as a person types it.

    >>> _typed("competition.deadline", "2026-12-05T12:00:00+00:00")
    '2026-12-05 12:00'
    """
    if value and kind_of(key) == "time":
        text = datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None).isoformat(" ")
        return text.removesuffix(":00")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(value)
    return "" if value is None else str(value)


async def _show(
    call: Call,
    problem: Problem | None = None,
    status: int = 200,
    fields: Mapping[str, str] | None = None,
    lines: list[str] | None = None,
) -> Response:
    fields, texts = fields or {}, current_texts(call)
    if page := "".join(filter(_may_name, fields.get("new-page", "")))[:80]:
        texts.setdefault(f"pages/{page}.md", "")
    values = {
        key: fields.get(key, _typed(key, value)) for key, value in current_settings(call).items()
    }
    groups = [(_(title), [(key, _(label)) for key, label in keys]) for title, keys in GROUPS]
    phases = [
        (
            f"{_('Phase')} {name}",
            [(f"phase.{name}.start", _("Start")), (f"phase.{name}.end", _("End"))],
        )
        for name in call.competition.facts.phase_names
    ]
    return show_page(
        call,
        "admin_settings.html",
        status=status,
        problem=problem,
        groups=[
            (
                title,
                [(key, label, kind_of(key), values[key]) for key, label in keys if key in values],
            )
            for title, keys in [groups[0], *phases, *groups[1:]]
        ],
        choices=choices,
        texts={name: fields.get(name, text) for name, text in texts.items()},
        longest=LONGEST_TEXT,
        lines=lines,
        sent={name: text for name, text in fields.items() if name in values or _is_text(name)},
    )


def _is_text(name: str) -> bool:
    return name == "rules" or name.startswith("pages/")


def _may_name(mark: str) -> bool:
    return mark.isascii() and (mark.isalnum() or mark in "-_")


def _of_form(call: Call, fields: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    settings: dict[str, Any] = {}
    labels = {key: label for _title, keys in GROUPS for key, label in keys}
    for key in changeable(call.competition.facts.phase_names).keys() & fields.keys():
        try:
            settings[key] = read_value(key, fields[key])
        except ValueError:
            raise _no_value(_(labels.get(key, key)), fields[key]) from None
    return settings, {name: text for name, text in fields.items() if _is_text(name)}


async def _change(call: Call) -> Response:
    fields: dict[str, str] = {}

    async def show(call: Call, problem: Problem, status: int) -> Response:
        return await _show(call, problem, status, fields)

    @refusals_on(show)
    async def act(call: Call) -> Response:
        fields.update(await read_fields(call.request, call.competition.limits))
        settings, texts = _of_form(call, fields)
        if fields.get("kind") == "apply":
            request = change(call, settings, texts)
            return go_to(call, f"/submissions/{request.request}")
        if fields.get("kind") == "new page":
            return await _show(call, fields=fields)
        return await _show(call, fields=fields, lines=preview(call, settings, texts))

    return await act(call)


PAGES: Pages = (
    ("GET", "/admin/settings", "organiser", "admin", _show),
    ("POST", "/admin/settings", "organiser", "admin", _change),
)
