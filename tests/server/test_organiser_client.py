"""The clients of participants and organisers: they have every operation of the API."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import arena
from arena import OrganiserClient
from arena.client import Client, ServerError
from arena.server.records.mails import Mail
from arena.server.web.api import ENDPOINTS
from web_site import NAME, WebSite, listening

LEFT_OUT = {
    Client: {
        ("GET", "/board.csv"): "the rows of board()",
        ("GET", "/submissions.csv"): "those of submissions()",
        ("GET", "/events"): "a stream, for pages",
        ("GET", "/private"): "the last of results()",
        ("GET", "/requests/{request}/file"): "the file that was sent",
        ("GET", "/files/{file}"): "download(), which writes it to a folder",
        ("GET", "/tokens"): "of the account, on its page",
        ("DELETE", "/tokens"): "of the account, on its page",
    },
    OrganiserClient: {
        ("GET", "/admin/requests"): "those of all_submissions() and events()",
        ("GET", "/admin/export/{what}"): "CSV",
    },
}
"""Client -> the operations without a method, and what there is instead."""


@pytest.mark.parametrize("client", LEFT_OUT)
def test_every_operation_has_a_method(client: type[Client]) -> None:
    calls = re.findall(r'(?:"([A-Z]+)",\s*)?f?"(/\w[^"]*)"', inspect.getsource(client))
    methods = {
        (method or "GET", re.sub(r"\{quote\((\w+)\)\}", r"{\1}", path.partition("?")[0]))
        for method, path in calls
    }
    offered = {
        (endpoint.method, endpoint.path)
        for endpoint in ENDPOINTS
        if (endpoint.who == "organiser") == (client is OrganiserClient)
        and endpoint.who != "runner"
        and endpoint.scope != "account"  # not for tokens
        and endpoint.path
    }
    assert offered - methods == set(LEFT_OUT[client])
    assert methods <= offered


@pytest.mark.parametrize("client", LEFT_OUT)
def test_every_answer_has_a_type(client: type[Client]) -> None:
    methods = inspect.getmembers(client, inspect.isfunction)
    answers = {
        name: inspect.signature(method).return_annotation
        for name, method in methods
        if not name.startswith("_")
    }
    assert {name for name, answer in answers.items() if "Any" in answer} == set()


SCRIPT = """
from arena.client import Client, OrganiserClient


def best(client: Client) -> float | None:
    row = client.board()[0]
    row["scroe"]  # type: ignore[typeddict-item]
    return row["score"]


def fails(client: Client) -> list[str]:
    request = client.submit("submission.csv")
    request["place"] + 1  # type: ignore[operator]
    return [fault["message"] for fault in request["faults"]]


def members(host: OrganiserClient) -> dict[str, str]:
    host.publish()["warning"]  # type: ignore[typeddict-item]
    return {member["account"]: team["team"] for team in host.teams() for member in team["members"]}
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_keys_of_answers(tmp_path: Path) -> None:
    """On a machine that has the client and what it imports, and nothing else."""
    package = Path(arena.__file__).parent
    for name in ("client.py", "responses.py", "errors.py", "utils/file_digest.py"):
        (tmp_path / "arena" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(package / name, tmp_path / "arena" / name)
    for folder in ("arena", "arena/utils"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "script.py").write_text(SCRIPT)
    arguments = [sys.executable, "-m", "mypy", "--strict", "--python-version=3.11", "script.py"]
    checked = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture
def served(web: WebSite) -> Iterator[tuple[WebSite, OrganiserClient, Client]]:
    host = web.token(web.person("Org", organiser=True), "admin")
    member = web.token(web.person("Ada", "Ants"))
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}/{NAME}"
        yield web, OrganiserClient(url, host, attempts=1), Client(url, member, attempts=1)


def test_an_organiser_works_from_a_program(
    served: tuple[WebSite, OrganiserClient, Client], tmp_path: Any
) -> None:
    web, host, member = served
    assert member.team()["name"] == "Ants"
    (tmp_path / "a.csv").write_text("id,y\n")
    uploaded = member.submit(tmp_path / "a.csv", description="first")
    assert [request["team"] for request in host.queue()] == ["Ants"]
    web.scorer.judge(web.site, faults=({"kind": "odd", "message": "No."},))
    (submission,) = host.all_submissions(search="odd")
    assert (submission["request"], submission["description"]) == (uploaded["request"], "first")
    assert host.all_submissions(status="accepted") == []
    again = host.judge_again(uploaded["request"])
    web.scorer.judge(web.site)
    assert host.request(again["request"])["status"] == "accepted"
    assert host.disqualify("copied", submission=1)["kind"] == "disqualify"
    assert host.undo("not copied", team="Ants")["kind"] == "undo"
    web.scorer.judge(web.site)
    assert [event["kind"] for event in host.events()] == ["undo", "disqualify"]
    posted = host.announce("News")
    host.withdraw_announcement(posted["announcement"])
    (link,) = host.invite("Bees;Bo;bo@example.org")
    assert "/invite/" in link["url"]
    (opened,) = host.invitations()
    assert host.invite_again(opened["invite"])["team"] == "Bees"
    host.withdraw_invitation(host.invitations()[0]["invite"])
    assert host.invitations() == []
    with pytest.raises(ServerError, match="Line 1: The name of the team is missing"):
        host.invite("bo@example.org")
    account = host.teams()[0]["members"][0]["account"]
    host.block(account)
    with pytest.raises(ServerError) as refused:
        member.submissions()
    assert refused.value.status in {401, 403}
    host.approve(account)
    assert member.submissions()["requests"]
    web.site.mails.add([Mail("news", NAME, "ada@example.org", "News", "Text")])
    mail = web.site.mails.claim()
    assert mail is not None
    web.site.mails.failed(mail, "550 no such person")
    (failed,) = host.failed_mails()
    assert (failed["recipient"], failed["reason"]) == ("ada@example.org", "550 no such person")
    host.send_mail_again(failed["mail"])
    assert host.failed_mails() == []
    web.site.accounts.set_contact(account, "ada@example.org")
    host.delete_account(account)
    assert web.site.mails.counts(NAME) == {"failed": 1}
    assert (
        web.site.mails._rows("SELECT * FROM mail_failures") == []
    )  # a reason can quote an address
    assert host.teams()[0]["members"] == []
    with pytest.raises(ServerError, match="There is no such account"):
        host.delete_account(account)
    assert host.finalize()["kind"] == "finalize"
    with pytest.raises(ServerError, match="finalize first"):
        host.publish()
    with pytest.raises(ServerError, match="finalize after the deadline"):
        host.next_result()
