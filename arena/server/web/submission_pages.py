"""The pages on which a team submits files and sees those that it sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from arena.responses import RequestState
from arena.server.records.teams import Team
from arena.server.web import actions, api, manager
from arena.server.web.boards import rounds_of
from arena.server.web.body import check_confirmed, read_many, receive, whole_number
from arena.server.web.call import Call, address
from arena.server.web.documents import request_state
from arena.server.web.language import _
from arena.server.web.problems import Problem
from arena.server.web.rendering import Pages, form_handler, go_to, refusals_on, show_page
from arena.server.web.score_chart import score_chart


async def _show_submit(
    call: Call, problem: Problem | None = None, checked: Any = None, status: int = 200,
    file: str = "",
) -> Response:  # fmt: skip
    team, facts = call.own_team, call.competition.facts
    open_phases = actions.open_phases(call, call.site.clock())
    rows_decide = facts.programs is None and actions.are_rounds(facts, open_phases)
    commands = submit_commands(
        address(call, ""),
        call.competition.name,
        programs=bool(facts.programs),
        phase="" if rows_decide or len(open_phases) < 2 else open_phases[0],
        required=[key for key, question in facts.questions.items() if question["required"]],
    )
    return show_page(
        call,
        "submit.html",
        status=status,
        problem=problem,
        checked=checked,
        file=file,
        open_phases=open_phases,
        rounds=rounds_of(call),
        rows_decide=rows_decide,
        commands=commands.values(),
        with_kaggle="kaggle" in commands,
        left=actions.left(call, team) if team else None,
        team_answers=team_answers(call, team),
        rules_accepted=call.person.account is None or call.has_accepted_rules,
        has_sample=call.competition.published.etag("sample") is not None,
    )


def submit_commands(
    url: str, name: str, *, programs: bool, phase: str, required: Sequence[str]
) -> dict[str, str]:
    """Return program -> the command that submits a file, with all that the competition needs.

    ``phase``: the one to name, empty if one is open; ``required``: the questions to answer. The
    kaggle client sends no phase, answer or program.

    >>> commands = submit_commands(
    ...     "https://a.org", "race", programs=False, phase="dev", required=["method"]
    ... )
    >>> list(commands)
    ['arena', 'curl']
    >>> commands["arena"].partition(" --token-file ")[2]
    'token.txt --phase dev --answer "method=…" submission.csv'
    """
    file = "main.py" if programs else "submission.csv"
    options = [f"--phase {phase}"] if phase else []
    options += [f'--answer "{key}=…"' for key in required]
    query = [f"file={file}"] if programs else []  # its suffix says what it is
    query += [f"phase={phase}"] if phase else []
    query += [f"answer.{key}=…" for key in required]
    address = f"{url}/api/v1/{name}/submissions{'?' if query else ''}{'&'.join(query)}"
    to = f"arena submit --to {url}/{name} --token-file token.txt"
    commands = {
        "arena": " ".join([to, *options, file]),
        "curl": f'curl --fail-with-body -H "Authorization: Bearer $(cat token.txt)" \\\n'
        f'  --data-binary @{file} "{address}"',
    }
    if not (programs or phase or required):
        commands["kaggle"] = (
            f'KAGGLE_API_ENDPOINT={url} KAGGLE_USERNAME=me KAGGLE_KEY="$(cat token.txt)" \\\n'
            f'  kaggle competitions submit {name} -f {file} -m "first try"'
        )
    return commands


@refusals_on(_show_submit)
async def _submit(call: Call) -> Response:
    call.limit("upload", call.account.account, call.competition.limits.uploads_per_minute)
    actions.check_may_submit(call)
    actions.check_open(call, call.site.clock(), late=True)
    received = await receive(call.request, call.site, call.competition, call.account.account)
    key = received.fields.get("key", "")[:100] or None
    # A second click sends the same form again; another file from the same page is a new one.
    request, _new = await actions.submit(
        call, received, f"page-{key}-{received.stored.sha256[:16]}" if key else None
    )
    return go_to(call, f"/submissions/{request.request}")


@refusals_on(_show_submit)
async def _check(call: Call) -> Response:
    checked = await api.validate_file(call)
    if checked is None:
        raise Problem(
            503,
            _(
                "The file was not checked within a minute, because many files are waiting. "
                "Try again later."
            ),
        )
    return await _show_submit(call, checked=checked)


async def _sample(call: Call) -> Response:
    document = call.competition.published.document("sample")
    if document is None:
        raise Problem(404, _("There is no such page."))
    return Response(
        document.body,
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="sample_submission.csv"'},
    )


async def _show_mine(
    call: Call, problem: Problem | None = None, status: int = 200,
    fields: dict[str, str] | None = None,  # noqa: ARG001 - as every form's page
) -> Response:  # fmt: skip
    team = call.team
    facts = call.competition.published.team(actions.record_name(call, team))
    states = [request_state(sending) for sending in actions.sent(call, team, limit=actions.LISTED)]
    files = [state for state in states if state["kind"] == "submit"]
    compared = [
        answer
        for key in ("first", "second")
        for answer in files
        if str(answer["submission"]) == call.request.query_params.get(key)
    ]
    rows, _etag = call.competition.board()
    own_row = next((row for row in rows if row.get("team") == facts.team), {})
    chosen_now = [
        answer
        for answer in files
        if answer["submission"] in facts.selected
        and answer["phase"] == call.competition.facts.current_phase
    ]
    return show_page(
        call,
        "mine.html",
        status=status,
        problem=problem,
        team=team,
        sent=files,
        standing=own_row.get("submission"),
        compared=compared if len(compared) == 2 else [],
        difference=call.competition.chance(),
        members={member.account: member.name for member in call.site.accounts.members(team.team)},
        chart=_score_charts(files),
        others=[
            state
            for state in states
            if state["kind"] in {"rename", "select", "withdraw", "merge"}
            and state["status"] != "done"
        ][:3],
        selected=set(facts.selected),
        chose_too_many=len(chosen_now) > call.competition.facts.final_count,
        disqualified=facts.disqualified,
        left=actions.left(call, team),
        gets_result_mail=call.account.account
        in call.site.accounts.result_mails(call.competition.name),
    )


def _score_charts(files: Sequence[RequestState]) -> Markup:
    """Return a chart of the released scores of each phase: another one can have another metric."""
    by_phase: dict[str, list[tuple[str, float]]] = {}
    for file in reversed(files):
        if file["score"] is not None:
            score = (file["received"], file["score"])
            by_phase.setdefault(file["phase"], []).append(score)
    return Markup("").join(score_chart(scores, phase) for phase, scores in by_phase.items())


def team_answers(call: Call, team: Team | None) -> Mapping[str, str]:
    """Return the answers of a team to the questions, with those that are not recorded yet."""
    if team is None:
        return {}
    recorded = call.competition.published.team(actions.record_name(call, team)).answers
    return {**actions.waiting_answers(call, team), **recorded}


async def _mine(call: Call) -> Response:
    return await _show_mine(call)


@refusals_on(_show_mine)
async def _choose(call: Call) -> Response:
    values, form = await read_many(call.request, call.competition.limits, "submission")
    await form.close()
    chosen = [number for value in values if (number := whole_number(value)) is not None]
    if len(chosen) < len(values):
        raise Problem(422, _("Choose submissions by their check boxes."))
    requests = actions.select_in_phases(call, chosen)
    only = f"/{requests[0].request}" if len(requests) == 1 else ""
    return go_to(call, f"/submissions{only}")


async def _withdraw_submission(call: Call, fields: dict[str, str]) -> Response:
    check_confirmed(fields)
    submission = whole_number(fields.get("submission", ""))
    if submission is None:
        raise Problem(422, _("Fill in all fields of the form."))
    request = actions.withdraw_submission(call, submission)
    return go_to(call, f"/submissions/{request.request}")


async def _choose_result_mail(call: Call, fields: dict[str, str]) -> Response:
    actions.choose_result_mail(call, wanted=bool(fields.get("wanted")))
    return go_to(call, "/submissions")


async def _one(call: Call) -> Response:
    call.account  # noqa: B018 - 401 without an account
    sending = actions.sent_request(call, call.request.path_params["request"])
    return show_page(
        call,
        "request.html",
        one=request_state(sending),
        sender=manager.name_of(call, sending.request),
        has_file=manager.has_file(call, sending.request),
    )


PAGES: Pages = (
    ("GET", "/submit", "anyone", "read", _show_submit),
    ("POST", "/submit", "member", "submit", _submit),
    ("POST", "/check", "member", "submit", _check),
    ("GET", "/sample_submission.csv", "anyone", "read", _sample),
    ("GET", "/submissions", "member", "read", _mine),
    ("GET", "/submissions.csv", "member", "read", api.submissions_csv),
    ("POST", "/selection", "member", "submit", _choose),
    ("POST", "/result-mail", "member", "submit", form_handler(_show_mine, _choose_result_mail)),
    ("POST", "/withdrawals", "member", "submit", form_handler(_show_mine, _withdraw_submission)),
    ("GET", "/submissions/{request}", "signed-in", "read", _one),
)
