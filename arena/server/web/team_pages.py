"""The organiser's page of one team: its name, members, note, exemption, files and messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from arena.server.records.teams import LONGEST_NOTE, Team
from arena.server.web import actions, membership, models, organiser_api
from arena.server.web.body import check_confirmed, read_fields
from arena.server.web.call import Call
from arena.server.web.problems import Problem
from arena.server.web.rendering import Handler, Pages, go_to, refusals_on, show_page


async def _show(call: Call, problem: Problem | None = None, status: int = 200) -> Response:
    team, competition = organiser_api.team_of_address(call), call.competition
    name = actions.record_name(call, team)
    row = next(row for row in organiser_api.team_rows(call) if row["id"] == team.team)
    exemption = next((row for row in competition.facts.exemptions if row["team"] == name), None)
    answers = competition.published.answers(name, limit=50)
    return show_page(
        call,
        "admin_team.html",
        status=status,
        problem=problem,
        team=row,
        record_name=name,
        new_name=call.renaming.get(team.team),
        left=actions.left(call, team),
        exemption=exemption,
        waiting=[
            request.payload
            for request in call.site.intake.after(
                competition.name, competition.state().cursor, 50, team=""
            )
            if request.kind == "bracket" and request.payload["team"] == name
        ],
        files=[answer for answer in answers if answer.kind == "submit"][:10],
        longest_note=LONGEST_NOTE,
    )


Act = Callable[[Call, Team, dict[str, str]], Awaitable[None]]


async def _rename(call: Call, team: Team, fields: dict[str, str]) -> None:
    organiser_api.change_team(
        call, team, models.TeamEdit.model_construct(name=fields.get("name", ""))
    )


async def _note(call: Call, team: Team, fields: dict[str, str]) -> None:
    note = fields.get("note", "").replace("\r\n", "\n")[:LONGEST_NOTE]
    organiser_api.change_team(call, team, models.TeamEdit.model_construct(note=note))


async def _bracket(call: Call, team: Team, fields: dict[str, str]) -> None:
    payload = {
        "team": actions.record_name(call, team),
        "bracket": fields.get("bracket", "")[:200],
        "member": fields.get("member") == "yes",
    }
    actions.admin(call, "bracket", payload)


async def _remove(call: Call, team: Team, fields: dict[str, str]) -> None:
    check_confirmed(fields)
    membership.remove_member(call, team, fields.get("member", ""))


async def _delete(call: Call, team: Team, fields: dict[str, str]) -> None:
    check_confirmed(fields)
    membership.delete_member(call, team, fields.get("member", ""))


def _form(act: Act) -> Handler:
    @refusals_on(_show)
    async def handle(call: Call) -> Response:
        fields = await read_fields(call.request, call.competition.limits)
        team = organiser_api.team_of_address(call)
        await act(call, team, fields)
        return go_to(call, f"/admin/teams/{team.team}")

    return handle


_TEAM = "/admin/teams/{team}"
PAGES: Pages = (
    ("GET", _TEAM, "organiser", "admin", _show),
    ("POST", f"{_TEAM}/rename", "organiser", "admin", _form(_rename)),
    ("POST", f"{_TEAM}/note", "organiser", "admin", _form(_note)),
    ("POST", f"{_TEAM}/bracket", "organiser", "admin", _form(_bracket)),
    ("POST", f"{_TEAM}/remove", "organiser", "admin", _form(_remove)),
    ("POST", f"{_TEAM}/delete", "organiser", "admin", _form(_delete)),
)
