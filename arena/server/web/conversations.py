"""Messages between participants and organisers: pages and operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from arena import responses
from arena.server.records.messages import LONGEST, Message
from arena.server.web import models
from arena.server.web.body import read_fields, whole_number
from arena.server.web.call import Call
from arena.server.web.language import _
from arena.server.web.mail import message_mails, organisers_notice
from arena.server.web.problems import Problem
from arena.server.web.prose import markdown
from arena.server.web.rendering import Pages, go_to, refusals_on, show_page

MOST_UNANSWERED = 10
"""Messages of one account that can wait for an answer."""


def _text(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    _check_length(text)
    return text


def _check_length(text: str) -> None:
    if not 0 < len(text) <= LONGEST:
        raise Problem(422, _("A message has 1 to {most} characters.").format(most=f"{LONGEST:,}"))


def ask(call: Call, text: str) -> Message:
    """Send a message to the organisers; 409 if too many of the account are unanswered."""
    account, site, name = call.account.account, call.site, call.competition.name
    call.limit("message", account, 5)
    unanswered = site.messages.unanswered(name)
    waiting = [message for message in unanswered if message.account == account]
    if len(waiting) >= MOST_UNANSWERED:
        raise Problem(409, _("Your earlier messages are not answered yet. Wait for an answer."))
    message = site.messages.ask(name, account, _text(text))
    facts = call.competition.facts
    site.mails.add(
        organisers_notice(
            facts,
            f"message {message.message}",
            f"A participant sent a message: {site.settings.url}/{name}/admin/messages",
        )
    )
    return message


def reply(call: Call, body: models.NewMessage) -> list[Message]:
    """Send an organiser's message, and mail it.

    It goes to the account that sent the message it answers, or to each member of a team.

    Raises
    ------
    Problem
        404 without such a message or team; 422 for a text without an addressee, or an answer to
        publish that answers nothing.
    """
    site, name, text = call.site, call.competition.name, _text(body.text)
    if (body.answers is None) == (not body.team):
        raise Problem(422, _("Name the message that is answered, or a team."))
    if body.published and body.answers is None:
        raise Problem(422, _("Only an answer to a message can be published."))
    if body.answers is not None:
        question = next(
            (message for message in site.messages.all_of(name) if message.message == body.answers),
            None,
        )
        if question is None or question.from_organiser:
            raise Problem(404, _("There is no such message."))
        accounts = [question.account]
    else:
        team = site.accounts.team_named(name, body.team)
        if team is None:
            raise Problem(404, _("There is no team {name}.").format(name=body.team))
        accounts = [member.account for member in site.accounts.members(team.team)]
    with site.messages.as_one():
        messages = [
            site.messages.reply(
                name, account, text, answers=body.answers, published=body.published.strip()
            )
            for account in accounts
        ]
    site.mails.add(message_mails(site, call.competition.facts, messages))
    return messages


def _state(message: Message) -> responses.MessageState:
    return responses.MessageState(
        message=message.message,
        from_organiser=message.from_organiser,
        text=message.text,
        posted=message.posted.isoformat(),
        answers=message.answers,
        published=message.published,
    )


def _states(messages: Sequence[Message]) -> responses.MessageList:
    return responses.MessageList(messages=[_state(message) for message in messages])


async def own_messages(call: Call) -> responses.MessageList:
    """Return the conversation of the account with the organisers."""
    return _states(call.site.messages.of(call.competition.name, call.account.account))


async def published_answers(call: Call) -> responses.MessageList:
    """Return the answers that everybody sees."""
    return _states(call.site.messages.published(call.competition.name))


async def send_message(call: Call, body: models.NewQuestion) -> responses.MessageState:
    """Send a message to the organisers."""
    return _state(ask(call, body.text))


async def all_messages(call: Call) -> responses.Rows[responses.MessageRow]:
    """Return every message of the competition, with its sender's name and team."""
    return responses.Rows(rows=_rows(call, call.site.messages.all_of(call.competition.name)))


async def send_reply(call: Call, body: models.NewMessage) -> responses.MessageList:
    """Answer a message or write to a team."""
    return _states(reply(call, body))


def _rows(call: Call, messages: Sequence[Message]) -> list[responses.MessageRow]:
    accounts, name = call.site.accounts, call.competition.name
    people = {account.account: account.name for account in accounts.accounts(name)}
    teams = {
        member.account: team.name for team, members in accounts.teams(name) for member in members
    }
    return [
        responses.MessageRow(
            **_state(message),
            account=message.account,
            name=people.get(message.account, ""),
            team=teams.get(message.account, ""),
        )
        for message in messages
    ]


async def _show(
    call: Call, problem: Problem | None = None, status: int = 200, text: str = ""
) -> Response:
    name, account, messages = call.competition.name, call.person.account, call.site.messages
    may_read = call.competition.limits.board == "anyone" or account is not None
    return show_page(
        call,
        "messages.html",
        status=status,
        problem=problem,
        text=text,
        longest=LONGEST,
        conversation=_with_html(messages.of(name, account.account)) if account else [],
        answers=_with_html(messages.published(name)) if may_read else [],
    )


def _with_html(messages: Sequence[Message]) -> list[tuple[Message, Any]]:
    """Return messages with the HTML of those of organisers; participants write plain text."""
    return [
        (message, markdown(message.text, below=2) if message.from_organiser else None)
        for message in messages
    ]


async def _ask(call: Call) -> Response:
    fields: dict[str, str] = {}

    @refusals_on(lambda call, **shown: _show(call, text=fields.get("text", ""), **shown))
    async def send(call: Call) -> Response:
        fields.update(await read_fields(call.request, call.competition.limits))
        ask(call, fields.get("text", ""))
        return go_to(call, "/messages")

    return await send(call)


async def _show_all(call: Call, problem: Problem | None = None, status: int = 200) -> Response:
    name, messages = call.competition.name, call.site.messages
    unanswered = messages.unanswered(name)
    waiting = {message.message for message in unanswered}
    earlier = [message for message in messages.all_of(name) if message.message not in waiting]
    return show_page(
        call,
        "admin_messages.html",
        status=status,
        problem=problem,
        longest=LONGEST,
        unanswered=_rows(call, unanswered),
        earlier=_rows(call, earlier[:200]),
        names=sorted(team.name for team, _members in call.site.accounts.teams(name)),
    )


@refusals_on(_show_all)
async def _reply(call: Call) -> Response:
    fields = await read_fields(call.request, call.competition.limits)
    published = ""
    if fields.get("kind") == "publish":
        published = fields.get("published", "").strip()
        if not published:
            raise Problem(422, _("Write the question as everybody may read it."))
        _check_length(published)
    reply(
        call,
        models.NewMessage.model_construct(
            text=fields.get("text", ""),
            answers=whole_number(fields.get("answers", "")),
            team=fields.get("team", "").strip()[:200],
            published=published,
        ),
    )
    return go_to(call, "/admin/messages")


PAGES: Pages = (
    ("GET", "/messages", "anyone", "read", _show),
    ("POST", "/messages", "signed-in", "submit", _ask),
    ("GET", "/admin/messages", "organiser", "admin", _show_all),
    ("POST", "/admin/messages", "organiser", "admin", _reply),
)
