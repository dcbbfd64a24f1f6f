"""Messages between participants and organisers, and the line in the organisers' chat."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from arena import OrganiserClient
from arena.client import Client
from arena.server.web.mail import Postman
from web_site import NAME, WebSite, listening

API = f"/api/v1/{NAME}"


def test_a_question_is_answered_privately_and_for_everybody(web: WebSite) -> None:
    ada = web.program(web.token(web.person("Ada", "Ants")))
    bo, guest = web.program(web.token(web.person("Bo", "Bees"))), web.program()
    host = web.program(web.token(web.person("Org", organiser=True), "admin"))
    for text in ("Is *our* trick allowed?", "When does it end?"):
        assert ada.post(f"{API}/messages", json={"text": text}).status_code == 201
    rows = host.get(f"{API}/admin/messages").json()["rows"]
    assert [(row["name"], row["team"], row["text"]) for row in rows] == [
        ("Ada", "Ants", "When does it end?"), ("Ada", "Ants", "Is *our* trick allowed?"),
    ]  # fmt: skip
    public = {"answers": rows[0]["message"], "text": "Soon.", "published": "The end?"}
    private = {"answers": rows[1]["message"], "text": "Yes."}
    for body in (public, private):
        assert host.post(f"{API}/admin/messages", json=body).status_code == 201
    assert web.site.messages.unanswered(NAME) == []
    page = guest.get(f"/{NAME}/messages").text
    assert ("The end?" in page, "Soon." in page) == (True, True)
    assert ("Yes." in page, "When does it end?" in page, "Ada" in page) == (False, False, False)
    published = guest.get(f"{API}/answers").json()["messages"]
    assert [(message["published"], message["text"]) for message in published] == [
        ("The end?", "Soon.")
    ]
    assert len(ada.get(f"{API}/messages").json()["messages"]) == 4
    assert bo.get(f"{API}/messages").json()["messages"] == []
    for wrong, status in (
        ({"text": "x"}, 422), ({"text": "x", "team": "Ants", "answers": 1}, 422),
        ({"text": "x", "team": "Wasps"}, 404), ({"text": "x", "answers": 99}, 404),
        ({"text": "x", "team": "Ants", "published": "y"}, 422),
    ):  # fmt: skip
        assert host.post(f"{API}/admin/messages", json=wrong).status_code == status
    written = host.post(f"{API}/admin/messages", json={"text": "Hi", "team": "Bees"})
    assert written.status_code == 201
    (message,) = bo.get(f"{API}/messages").json()["messages"]
    assert (message["text"], message["from_organiser"]) == ("Hi", True)


@pytest.mark.slow
def test_the_pages_of_a_question(web: WebSite) -> None:
    ada = web.browser(web.person("Ada", "Ants"))
    host = web.browser(web.person("Org", organiser=True))
    assert web.browser().post(f"/{NAME}/messages", data={"text": "x"}).status_code == 401
    assert "has 1 to 5,000" in ada.post(f"/{NAME}/messages", data={"text": " "}).text
    assert ada.post(f"/{NAME}/messages", data={"text": "Why?"}).status_code == 303
    assert "Why?" in ada.get(f"/{NAME}/messages").text
    page = host.get(f"/{NAME}/admin/messages").text
    assert "Why?" in page
    number = web.site.messages.unanswered(NAME)[0].message
    fields = {"answers": str(number), "text": "So.", "published": "Why so?", "kind": "publish"}
    assert host.post(f"/{NAME}/admin/messages", data=fields | {"published": " "}).status_code == 422
    assert host.post(f"/{NAME}/admin/messages", data=fields).status_code == 303
    assert "Why so?" in web.browser().get(f"/{NAME}/messages").text
    for n in range(10):
        web.offset += timedelta(minutes=1)
        web.site.messages.ask(NAME, web.site.accounts.accounts(NAME)[0].account, str(n))
    assert ada.post(f"/{NAME}/messages", data={"text": "more"}).status_code == 409


def test_who_waits_or_is_blocked_is_told_and_who_waits_can_ask(web: WebSite) -> None:
    waiting, blocked = (web.person(name, name) for name in ("Wai", "Blo"))
    for account, state in ((waiting, "waiting"), (blocked, "blocked")):
        web.site.accounts.set_state(account, state, NAME)
    browser = web.browser(waiting)
    assert "has not approved your account yet" in browser.get(f"/{NAME}/").text
    assert browser.post(f"/{NAME}/messages", data={"text": "How long?"}).status_code == 303
    browser = web.browser(blocked)
    for path in ("/", "/overview", "/submit"):
        assert "has blocked your account" in browser.get(f"/{NAME}{path}").text
    refused = browser.post(f"/{NAME}/messages", data={"text": "Why?"})
    assert (refused.status_code, "has blocked your account" in refused.text) == (401, True)
    assert "blocked" not in web.browser().get(f"/{NAME}/").text


@contextmanager
def chat(statuses: list[int]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Run a server of webhooks on this machine; yield its address and what it received."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", received
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()


def test_the_organisers_chat_gets_each_fact_once(tmp_path: Path) -> None:
    file = tmp_path / "webhook"
    with chat([500]) as (address, received):
        file.write_text(f"{address}\n")
        web = WebSite(tmp_path / "root", webhook_file=str(file), approve=True)
        postman = Postman(web.site)
        ada = web.browser(web.person("Ada", "Ants"))
        ada.post(f"/{NAME}/messages", data={"text": "A <secret> @everyone question"})
        postman.write()
        assert sum(iter(postman.send_one, False)) == 1  # refused: it waits for a minute
        web.offset += timedelta(minutes=1)
        joined = web.browser().post(f"/{NAME}/join", data={"name": "Cy", "team": "Cats"})
        assert joined.status_code == 200
        web.scorer.state(phase="closed", set_aside=2)
        for _again in range(2):
            postman.write()
            while postman.send_one():
                pass
        web.close()
    texts = [message["text"] for message in received]
    assert texts[0] == texts[1]
    assert len(texts) == len(set(texts)) + 1
    for words in ("sent a message", "waits for approval", "2 files were set aside",
                  "deadline has passed"):  # fmt: skip
        assert sum(words in text for text in set(texts)) == 1, words
    assert not any("secret" in text or "Cy" in text for text in texts)


def test_a_result_is_mailed_to_who_chose_it_before(tmp_path: Path) -> None:
    web = WebSite(tmp_path, smtp_host="mail.example.org", smtp_from="a@example.org")
    ada = web.program(web.token(web.person("Ada", "Ants", contact="ada@example.org")))
    other = web.program(web.token(web.person("Bo", "Ants", contact="by phone")))
    assert other.put(f"{API}/result-mail", json={"wanted": True}).status_code == 409

    def submit(content: bytes) -> None:
        assert ada.post(f"{API}/submissions", content=content).status_code == 202
        web.scorer.judge(web.site)

    submit(b"id,y\na,1\n")
    assert ada.put(f"{API}/result-mail", json={"wanted": True}).status_code == 200
    submit(b"id,y\na,2\n")
    postman = Postman(web.site)
    assert (postman.write(), postman.write()) == (1, 0)
    mail = web.site.mails.claim()
    assert mail is not None
    assert (mail.recipient, "0.75" in mail.body) == ("ada@example.org", False)
    ada.put(f"{API}/result-mail", json={"wanted": False})
    submit(b"id,y\na,3\n")
    assert postman.write() == 0
    web.close()


@pytest.mark.slow
def test_messages_by_the_client(web: WebSite) -> None:
    member, host = web.person("Ada", "Ants"), web.person("Org", organiser=True)
    with listening(web.app) as port:
        url = f"http://127.0.0.1:{port}/{NAME}"
        client = Client(url, web.token(member), attempts=1)
        organiser = OrganiserClient(url, web.token(host, "admin"), attempts=1)
        question = client.ask("Why?")
        assert organiser.all_messages()[0]["text"] == "Why?"
        organiser.answer(question["message"], "So.", published="Why so?")
        organiser.write("Ants", "Well done.")
        assert [message["text"] for message in client.messages()] == ["Well done.", "So.", "Why?"]
        assert [answer["published"] for answer in client.answers()] == ["Why so?"]


def test_a_forum_is_linked(web: WebSite) -> None:
    server = web.facts.server.model_copy(update={"forum": "https://forum.example.org"})
    web.scorer.publish(replace(web.facts, server=server))
    assert 'href="https://forum.example.org"' in web.browser().get(f"/{NAME}/messages").text
