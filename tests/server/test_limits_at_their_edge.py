"""Limits of the server: the largest value within each of them, and the first one beyond it."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from starlette.requests import Request

from arena.errors import StoreError
from arena.requests import Answer
from arena.server import checker
from arena.server.records.announcements import Announcement
from arena.server.records.intake import Intake
from arena.server.records.names import RefusedError
from arena.server.records.runs import Program, ProgramState
from arena.server.records.shared_files import SharedFile
from arena.server.scorer import shared_folder
from arena.server.scorer.facts import rules_of
from arena.server.scorer.shared_folder import FolderReader
from arena.server.web import app
from arena.server.web.body import read_fields, read_result
from arena.server.web.feed import atom
from arena.server.web.language import choose
from arena.server.web.limits import network
from arena.server.web.operations import Metrics
from arena.server.web.problems import Problem
from arena.server.web.programs import trial_of
from arena.server.web.prose import markdown
from arena.server.web.provider import Identity
from arena.server.web.rendering import size_in_words
from arena.server.web.shared import SHARED_KEY, SharedAnswers
from arena.server.web.site import Buckets
from arena.server_section import ServerSection
from arena.utils.processes import AnswerError, encode
from web_site import NAME, WebSite

API = f"/api/v1/{NAME}"
NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    """Return a site that these tests share; each test registers its own accounts."""
    web = WebSite(tmp_path_factory.mktemp("limits"), max_bytes=100)
    yield web
    web.close()


def test_requests_are_counted_anew_in_each_minute_of_the_clock() -> None:
    times = iter([59.0, 59.0, 60.0, 60.0])
    buckets = Buckets(clock=lambda: next(times))
    assert [buckets.take("a", 1) for _ in range(4)] == [0, 1, 0, 60]


def test_each_kind_of_link_has_its_lifetime(site: WebSite) -> None:
    member, host = site.person("Eva", "Elks"), site.person("Org", organiser=True)
    site.browser(member).post(f"{API}/team/invites")
    site.browser(member).post(f"/{NAME}/device")
    site.browser(host).post(
        f"/{NAME}/admin/teams/organiser", data={"name": "Second", "role": "organiser"}
    )
    people = site.site.accounts.accounts(NAME)
    (second,) = [person.account for person in people if person.name == "Second"]
    team = site.site.accounts.team_named(NAME, "Elks")
    teams = [team.team if team else None]
    lifetimes = {
        (invite.kind, invite.account == member): (invite.expires or invite.created) - invite.created
        for invite in site.site.accounts.invites()
        if invite.account in (member, second) or invite.team in teams
    }
    minute = timedelta(minutes=1)
    assert {kind: round(lifetime / minute) for kind, lifetime in lifetimes.items()} == {
        ("team", False): 14 * 24 * 60,
        ("signin", True): 15,
        ("signin", False): 2 * 24 * 60,
    }


def test_a_link_into_a_team_that_was_merged_says_so(site: WebSite) -> None:
    link = site.site.accounts.invite("team", team="merged", competition=NAME)
    page = site.browser().get(f"/invite/{link}")
    assert page.status_code == 404
    assert "This team was merged into another one. Ask for a new link." in page.text


def test_an_account_has_room_for_twenty_files_of_the_largest_size(site: WebSite) -> None:
    """20 files of at most 100 bytes: the room is 2,000 bytes."""
    account = site.person("Ida", "Ibex")
    client, stored = site.program(site.token(account)), site.site.stored_bytes
    for bytes_before, status in ((1_995, 202), (1_996, 507)):
        site.site.stored_bytes = lambda *_, before=bytes_before: before  # type: ignore[method-assign]
        answer = client.post(f"{API}/submissions?file={bytes_before}.csv", content=b"id,y\n")
        assert answer.status_code == status
    site.site.stored_bytes = stored  # type: ignore[method-assign]
    assert "would take more than 2,000 bytes" in answer.json()["detail"]


def test_the_scorer_is_silent_after_a_minute(site: WebSite) -> None:
    for seconds, silent in ((55.0, False), (60.5, True)):
        site.scorer.state(beat=time.time() - seconds)
        health = site.program().get("/health").json()["competitions"][NAME]
        assert health["well"] is not silent
        assert ("The scorer gave no sign of life for 6" in str(health["problem"])) is silent
        page = site.browser().get(f"/{NAME}/").text
        assert ("Submissions are received but not scored at the moment." in page) is silent
    site.scorer.state()


def test_submissions_are_chosen_by_numbers_only(site: WebSite) -> None:
    browser = site.browser(site.person("Pia", "Pikes"))
    for values, refused in ((["1", "x"], True), (["x"], True), (["1", "2"], False)):
        page = browser.post(f"/{NAME}/selection", data={"submission": values})
        assert ("Choose submissions by their check boxes." in page.text) is refused


def test_the_bounds_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = FolderReader(tmp_path, tmp_path / "copies", "")
    monkeypatch.setattr(FolderReader, "_copied", lambda _, path, *__: SharedFile(path.name, 1, "0"))
    monkeypatch.setattr(shared_folder, "page_text", lambda path: path.name)
    sizes = {"a.png": 20 * 2**20, "b.png": 20 * 2**20 + 1}
    paths = {
        **{tmp_path / "pages" / f"{number:02}.md": 1 for number in range(51)},
        **{tmp_path / "pages" / name: size for name, size in sizes.items()},
        **{tmp_path / "files" / f"{number}": 2**60 for number in range(5_001)},
    }
    read = reader._read({path: (size, 0, 0) for path, size in paths.items()})
    assert [name for name, _text in read.pages] == [f"{number:02}" for number in range(50)]
    assert [image.name for image in read.images] == ["a.png"]
    assert len(read.files) == 5_000
    assert read.files[-1].name == "4999"


def test_a_page_is_shown_up_to_a_mebibyte(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_bytes(b"x" * (2**20 + 1))
    assert len(shared_folder.page_text(tmp_path / "long.md") or "") == 1_048_576


def test_the_rest_of_a_refused_upload_is_read_for_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed: list[float] = []

    def timeout(seconds: float) -> Any:
        allowed.append(seconds)
        return asyncio.timeout(0)

    async def receive() -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(app, "asyncio", SimpleNamespace(timeout=timeout))
    request = Request({"type": "http", "headers": [(b"content-length", b"9")]})
    body = app.IncomingBody(receive, request)
    asyncio.run(body.read_rest())
    assert (allowed, body.is_complete) == ([10.0], False)


def test_eight_idle_connections_to_a_checker_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Any] = []
    timeouts: list[float] = []
    reader = checker.RemoteReader(tmp_path / "none")
    connection: Any = SimpleNamespace(settimeout=timeouts.append, close=lambda: closed.append(1))
    monkeypatch.setattr(checker, "_ask", lambda *_: "digest")
    monkeypatch.setattr(checker, "receive_answer", lambda *_: "what was read")
    monkeypatch.setattr(checker, "seconds_of", lambda _: (1, 10))
    monkeypatch.setattr(reader, "_connection", lambda: (connection, None))
    form: Any = object()
    for _ in range(10):
        assert reader(tmp_path / "f.csv", form) == "what was read"
    assert (len(reader._idle), len(closed)) == (8, 2)
    assert timeouts == [71.0] * 10  # 1.1 times 10 seconds, and a minute


def test_connecting_to_a_checker_is_tried_for_half_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: 10.0 * len(pauses), sleep=pauses.append)
    monkeypatch.setattr(checker, "time", clock)
    with pytest.raises(StoreError) as refused:
        checker.RemoteReader(tmp_path / "none.sock")._connection()
    assert str(refused.value) == (
        f"The process that reads uploaded files does not answer at {tmp_path}/none.sock (there is "
        "no such file or folder). Start it, with the same --data and --checker-user; requests wait "
        "meanwhile."
    )
    assert pauses == [0.1] * 4  # the last attempt is after 40 seconds, the one before it after 30


def test_messages_of_a_checker_have_two_parts_of_a_known_size_at_most() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.settimeout(5.0)  # a test that fails must not wait
        checker.send_parts(near, b"abc", b"abcd", b"\3")
        assert checker.receive_message(far, 3) == b"abc"
        with pytest.raises(ValueError, match=r"^A message of 4 bytes is longer than 3\.$"):
            checker.receive_message(far, 3)
        assert far.recv(4) == b"abcd"
        form: Any = SimpleNamespace(max_memory=0)
        with pytest.raises(AnswerError, match=r"^An answer has 3 parts\.$"):
            checker.receive_answer(far, form, "")
        checker.send_parts(near, b"\2", *encode(np.zeros(2)))
        with pytest.raises(AnswerError, match=r"^An answer is no values and no faults\.$"):
            checker.receive_answer(far, form, "")


def test_a_row_of_invitations_with_a_bad_name_is_named_by_its_number(site: WebSite) -> None:
    rows = [("Good", "a", ""), ("", "b", "")]
    with pytest.raises(RefusedError, match=r"^Row 2: "):
        site.site.accounts.invite_teams(NAME, rows, made_by="x", expires=None)


def test_an_intake_knows_private_answers_drops_checks_and_continues_numbers(tmp_path: Path) -> None:
    intake = Intake(tmp_path / "intake.sqlite")
    for number, private in enumerate(({"a": "1", "b": "2"}, {"b": "3"}, {})):
        intake.append(
            competition="c", team="t", member="m", kind="submit", key=str(number),
            payload={"private": private, "upload": "u"},
        )  # fmt: skip
    assert intake.answered_privately("c", "m") == {"a", "b"}
    assert intake.answered_privately("c", "other") == set()
    intake.add_check("c", "u", "f.csv")
    intake.drop_checks()
    assert intake.checks("c") == []
    # A queue with requests keeps its numbers; that of a new competition continues after 9.
    assert (intake.number_after("c", 9), intake.number_after("d", 9)) == (False, True)
    later, _ = intake.append(competition="d", team="t", member="m", kind="submit", payload={})
    assert later.seq == 10
    intake.close()


def test_the_version_of_a_queue_changes_with_what_another_process_stores(tmp_path: Path) -> None:
    reading, writing = (Intake(tmp_path / "intake.sqlite") for _ in range(2))
    before = reading.version()
    assert reading.version() == before
    writing.append(competition="c", team="t", member="m", kind="submit", payload={})
    assert reading.version() != before
    for intake in (reading, writing):
        intake.close()


def announcement(number: int, text: str) -> Announcement:
    return Announcement(number, text, NOW)


def test_texts_are_cut_at_their_longest(tmp_path: Path) -> None:
    assert [len(network("x" * length)) for length in (63, 64, 65)] == [63, 64, 64]
    # Only 200 characters of Accept-Language are read: they end with "de", or with " d".
    assert [choose(None, " " * spaces + "de") for spaces in (198, 199)] == ["de", "en"]
    for length, is_formula in ((4_000, True), (4_001, False)):
        assert ("<math" in markdown(f"${'1' * length}$")) is is_formula
    posted = [announcement(number, "t" * (99 + number)) for number in range(51)]
    feed = ElementTree.fromstring(  # noqa: S314 - of this server
        atom(posted, title="T", author="A", address="https://a.org/c")
    )
    titles = [entry.findtext("{*}title") or "" for entry in feed.findall("{*}entry")]
    assert [len(title) for title in titles] == [99, *[100] * 49]
    trial = {"end": "ok", "seconds": 1.0, "peak_mb": 1.0, "log": "l" * 65_537}
    assert len(trial_of(trial).log) == 65_536
    (tmp_path / "rules.md").write_text("r" * (2**20 + 1))
    rules = rules_of(SimpleNamespace(folder=tmp_path), SimpleNamespace(rules="rules.md"))  # type: ignore[arg-type]
    assert len(rules or "") == 1_048_576
    assert [size_in_words(size) for size in (999, 1_000, 99_940, 100_000, 10**6, 10**15)] == [
        "999 bytes", "1.0 kB", "99.9 kB", "100 kB", "1.0 MB", "1000 TB",
    ]  # fmt: skip


def test_an_identity_of_a_provider_has_bounded_texts() -> None:
    claims = {"sub": "s" * 255, "name": "n" * 81, "email": "e" * 254, "email_verified": "true"}
    identity = Identity.of("i", claims)
    assert (len(identity.subject), len(identity.name)) == (2 + 255, 80)
    assert (identity.email, identity.verified) == ("e" * 254, True)
    assert Identity.of("i", {**claims, "email": "e" * 255}).email == ""
    assert Identity.of("i", {**claims, "name": f"{' ' * 998}abc"}).name == "ab"
    for subject in ("", "s" * 256, None, "\n"):
        with pytest.raises(ValueError, match="sub"):
            Identity.of("i", {**claims, "sub": subject})


def test_a_form_has_at_most_forty_fields_and_one_file(site: WebSite) -> None:
    browser = site.browser(site.person("Una", "Urchins"))
    for n_fields, n_files, status in ((40, 1, 422), (41, 1, 400), (0, 2, 400)):
        fields = {f"field-{number}": "" for number in range(n_fields)}
        files = [("other", ("f.csv", b"x"))] * n_files
        page = browser.post(f"/{NAME}/submit", data=fields, files=files)
        assert page.status_code == status, (n_fields, n_files)
        assert ("No file was sent. Choose a file first." in page.text) is (status == 422)


def test_numbers_of_a_program_are_below_two_to_the_power_of_fifty() -> None:
    payload = {"upload": "u", "file": "main.py", "sha256": "ab", "bytes": 2**50 - 1}
    row: dict[str, Any] = {
        "number": 1, "program": "p", "competition": "c", "team": "t", "member": "m", "key": "k",
        "payload": json.dumps(payload), "received": NOW.isoformat(),
        "state": ProgramState.TRIAL_WAITS.value, "trial": "{}", "request": None,
        "lease": 2**50 - 1, "losses": 0, "until": 0.0, "message": "",
    }  # fmt: skip
    assert Program.of(row).lease == 1_125_899_906_842_623  # type: ignore[arg-type]
    for name in ("lease", "losses", "until"):
        with pytest.raises(ValueError, match="it lacks a number"):
            Program.of({**row, name: 2**50})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it lacks a number"):
        Program.of({**row, "payload": json.dumps({**payload, "bytes": 2**50})})  # type: ignore[arg-type]


def test_two_hundred_pages_of_a_board_are_kept(site: WebSite) -> None:
    competition = site.site.competitions[NAME]
    for number in range(201):
        competition.keep("etag", ("", "", "", number, 1), b"")
        assert len(competition._kept) == (number % 200) + 1
    competition.keep("another", ("", "", "", 0, 1), b"")
    competition.keep("another", ("", "", "", 1, 1), b"")
    assert len(competition._kept) == 2


def test_two_hundred_answers_for_everybody_are_kept(site: WebSite) -> None:
    shared = SharedAnswers(site.site, Metrics())
    scope = {SHARED_KEY: (site.site.competitions[NAME], 1)}
    start: Any = {"status": 200, "headers": []}
    for number in range(201):
        shared.keep(scope, ("/", b"", "en", str(number)), start, {"body": b""}, kind="page")
        assert len(shared._kept) == (number % 200) + 1


def test_an_overview_has_the_newest_of_each_list(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def answers(team: str | None, *, limit: int) -> list[Answer]:
        """Return rejected submissions, for 21 reasons in turn."""
        limits.append(limit)
        reasons = [({"kind": f"reason-{number:02}."},) for number in range(21)]
        files = [
            Answer(f"r{number}", number, team="t", kind="submit", status="rejected", faults=reason)
            for number, reason in enumerate(reasons)
        ]
        return [files[number % 21] for number in range(limit)] if team is None else []

    def after(_name: str, _cursor: int, limit: int) -> list[Any]:
        limits.append(limit)
        return []

    monkeypatch.setattr(site.site.competitions[NAME].published, "answers", answers)
    monkeypatch.setattr(site.site.intake, "after", after)
    page = site.browser(site.person("Olga", organiser=True)).get(f"/{NAME}/admin").text
    assert limits == [2_000, 50, 20]
    # 2,000 = 95 * 21 + 5: the first five reasons have 96 files each.
    assert "Of the last 2000 submissions" in page
    assert [f"reason-{number:02}." in page for number in (0, 19, 20)] == [True, True, False]


def request_of(content_type: str, body: bytes) -> Request:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop()

    headers = [(b"content-type", content_type.encode())]
    return Request({"type": "http", "headers": headers}, receive)


def test_forms_have_a_largest_size(site: WebSite) -> None:
    """A form: 65,536 bytes. A result: 524,288 in a field, and 100 more with its output."""
    limits = ServerSection(join="open")

    def status(reading: Any) -> int:
        try:
            asyncio.run(reading)
        except Problem as problem:
            return problem.status
        return 200

    def of_form(n_bytes: int) -> int:
        body = b"result=".ljust(n_bytes, b"x")
        return status(read_fields(request_of("application/x-www-form-urlencoded", body), limits))

    def of_result(*lengths: int) -> int:
        start = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
        body = b"".join(start + b"x" * length + b"\r\n" for length in lengths) + b"--b--\r\n"
        request = request_of("multipart/form-data; boundary=b", body)
        return status(read_result(request, site.site, limits, 100))

    assert [of_form(n_bytes) for n_bytes in (65_536, 65_537)] == [200, 413]
    assert [of_result(n_bytes) for n_bytes in (524_288, 524_289)] == [200, 400]
    # A field has 51 bytes around it, and the form 7 at its end: 524,388 - 2 * 51 - 7.
    assert [of_result(262_144, n_bytes) for n_bytes in (262_135, 262_136)] == [200, 413]
