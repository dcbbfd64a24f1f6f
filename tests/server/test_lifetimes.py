"""How long sessions, tokens, links and sign-ins last, to the second; other bounds of a server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from arena.config import Settings
from arena.errors import SandboxError
from arena.server import check
from arena.server.records.accounts import Accounts
from arena.server.records.names import RefusedError
from arena.server.records.sign_ins import IDLE, SESSION
from arena.server.units import UnitCompetition, unit_files
from arena.server.web.body import announces_more, base_name, limited_chunks, whole_number
from arena.server.web.problems import Problem
from arena.server.web.provider import FLOW_SECONDS, Seals
from arena.server_section import DRAFT_MARK

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(tmp_path: Path, clock: Clock) -> Iterator[Accounts]:
    with contextlib.closing(Accounts(tmp_path / "accounts.sqlite", clock)) as opened:
        yield opened


def test_a_session_ends_after_its_time_or_without_use(accounts: Accounts, clock: Clock) -> None:
    assert (timedelta(days=7), timedelta(hours=12)) == (SESSION, IDLE)
    ada = accounts.register("Ada").account

    def opened_at(*moments: datetime) -> list[bool]:
        """Return whether a session of START is open at each of these times, used at each."""
        clock.now = START
        secret = accounts.open_session(ada)
        are_open = []
        for clock.now in moments:
            session = accounts.session(secret)
            assert session is None or session[1] == START
            are_open.append(session is not None)
        return are_open

    assert opened_at(START + IDLE) == [True]
    assert opened_at(START + IDLE + SECOND) == [False]
    used = [START + timedelta(hours=12 * k) for k in range(15)]  # up to seven days
    assert opened_at(*used, START + SESSION + SECOND) == [True] * 15 + [False]
    # Of a clock that was set back: otherwise it would last until that time.
    assert opened_at(START - 60 * SECOND) == [True]
    assert opened_at(START - 61 * SECOND) == [False]
    clock.now = START
    secret = accounts.open_session(ada)
    accounts.close_session(secret)
    assert accounts.session(secret) is None
    assert accounts.session("unknown") is None


@pytest.mark.parametrize(("after", "valid"), [(59, True), (60, False), (61, False)])
def test_a_token_and_a_link_end_when_they_expire(
    after: int, valid: bool, accounts: Accounts, clock: Clock
) -> None:
    ada = accounts.register("Ada").account
    ends = START + timedelta(seconds=60)
    secret, token = accounts.make_token(ada, " my  program ", "read", ends)
    link = accounts.invite("team", team="t", expires=ends)
    assert (token.name, token.scope, token.expires) == ("my program", "read", ends)
    clock.now = START + timedelta(seconds=after)
    assert (accounts.holder(secret) is not None) is valid
    assert (accounts.invitation(link) is not None) is valid
    assert [invite.kind for invite in accounts.invites()] == ["team"] * valid
    if not valid:
        with pytest.raises(RefusedError, match="^This link or code is not valid: it was used, has"):
            accounts.use(link)


def test_tokens_and_links_without_an_end_stay(accounts: Accounts, clock: Clock) -> None:
    ada = accounts.register("Ada").account
    secret, token = accounts.make_token(ada, "", "submit")
    link = accounts.invite("team", team="t", uses=None)
    clock.now = START + timedelta(days=9_999)
    held = accounts.holder(secret)
    assert held is not None
    assert (held[0].account, held[1].name) == (ada, "token")
    assert [accounts.use(link).kind for _ in range(3)] == ["team"] * 3
    assert [accounts.revoke(ada, token.token) for _ in range(2)] == [True, False]
    assert not accounts.revoke("another", token.token)
    assert accounts.holder(secret) is None


def test_the_last_use_of_a_token_is_kept_to_the_minute(accounts: Accounts, clock: Clock) -> None:
    ada = accounts.register("Ada").account
    secret, _ = accounts.make_token(ada, "program", "read")
    used = []
    for seconds in (0, 60, 61, 121, 122):
        clock.now = START + seconds * SECOND
        accounts.holder(secret)
        (token,) = accounts.tokens(ada)
        used.append(token.used)
    later = START + 61 * SECOND
    assert used == [START, START, later, later, START + 122 * SECOND]


def test_a_link_works_as_often_as_it_says(accounts: Accounts) -> None:
    assert accounts.invitation(accounts.invite("team", team="t", uses=0)) is None
    for uses in (1, 2):
        link = accounts.invite("team", team="t", uses=uses)
        for _ in range(uses):
            accounts.use(link)
        with pytest.raises(RefusedError):
            accounts.use(link)
    secret = accounts.invite("team", team="t")
    (invite,) = accounts.invites(team="t", kind="team")
    assert accounts.invites(team="u") == accounts.invites(kind="signin") == []
    accounts.withdraw(invite.invite, team="u")
    assert accounts.invitation(secret) is not None
    accounts.withdraw(invite.invite, team="t")
    assert accounts.invitation(secret) is None


def test_the_link_of_the_organiser_works_for_a_day(accounts: Accounts, clock: Clock) -> None:
    link = accounts.organiser_link("https://a.org")
    assert link.startswith("https://a.org/invite/")
    (organiser,) = accounts.accounts()
    assert (organiser.name, organiser.organiser) == ("Organiser", True)
    secret = link.rpartition("/")[2]
    clock.now = START + timedelta(days=1) - SECOND
    invite = accounts.invitation(secret)
    assert invite is not None
    assert (invite.kind, invite.account) == ("signin", organiser.account)
    clock.now += SECOND
    assert accounts.invitation(secret) is None
    accounts.organiser_link("https://a.org")
    assert len(accounts.accounts()) == 1


def test_a_sign_in_at_a_provider_is_finished_once_and_in_time(clock: Clock) -> None:
    seals = Seals(clock)
    text = seals.seal("flow", {"state": "ü"}, 60.0)
    clock.now = START + 59 * SECOND
    assert seals.open("flow", text) == {"state": "ü"}
    clock.now = START + 60 * SECOND
    assert seals.open("flow", text) is None
    assert Seals(clock).open("flow", text) is None  # of another process
    assert [seals.spend("a"), seals.spend("b"), seals.spend("a")] == [True, True, False]
    clock.now += timedelta(seconds=FLOW_SECONDS) - SECOND
    assert not seals.spend("a")
    clock.now += SECOND
    assert seals.spend("a")
    assert list(seals._spent) == ["a"]  # what has ended is forgotten


def test_numbers_and_names_in_forms_have_a_length() -> None:
    assert [whole_number("9" * n) for n in (15, 16)] == [10**15 - 1, None]
    assert [whole_number("9" * n, digits=2) for n in (0, 1, 2, 3)] == [None, 9, 99, None]
    assert [whole_number(text) for text in ("٣", "-1", " 1", "1.0")] == [None] * 4
    assert base_name("C:\\data\\a\x07b.csv") == "ab.csv"
    assert base_name("data/") == base_name("\n") == "submission.csv"
    assert base_name("a" * 121) == "a" * 120


@pytest.mark.parametrize(
    ("length", "more"), [(None, False), ("9", False), ("10", False), ("11", True), ("x", True)]
)
def test_a_length_that_is_said_is_checked_first(length: str | None, more: bool) -> None:
    request: Any = SimpleNamespace(headers={} if length is None else {"content-length": length})
    assert announces_more(request, 10) is more


def received(
    monkeypatch: pytest.MonkeyPatch, *parts: tuple[float, bytes | Exception], most: int = 10
) -> tuple[bytes, list[float]]:
    """Return a body whose parts arrive after these seconds, and how long each is waited for.

    The limits are 5 seconds without a byte, and then a second for each two bytes.
    """
    now, waits, left = 100.0, list[float](), [*parts]

    async def stream() -> AsyncIterator[bytes]:
        while left:
            content = left.pop(0)[1]
            if isinstance(content, Exception):
                raise content
            yield content

    async def wait_for(part: Any, seconds: float) -> Any:
        nonlocal now
        waits.append(round(seconds, 3))
        pause = left[0][0] if left else 0.0
        now += pause
        if pause > seconds:
            part.close()
            raise TimeoutError
        return await part

    async def read() -> bytes:
        limits: Any = SimpleNamespace(body_seconds=5.0, bytes_per_second=2.0)
        return b"".join([part async for part in limited_chunks(request, limits, most)])

    async def following(parts: AsyncIterator[bytes], default: None) -> bytes | None:
        async for part in parts:
            return part
        return default

    request: Any = SimpleNamespace(stream=stream)
    module = "arena.server.web.body"
    monkeypatch.setattr(f"{module}.time.monotonic", lambda: now)
    monkeypatch.setattr(f"{module}.asyncio.wait_for", wait_for)
    monkeypatch.setattr(f"{module}.anext", following, raising=False)
    body = asyncio.run(read())
    return body, waits


def test_a_body_may_be_as_slow_and_as_large_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    # After 4 s and 4 bytes 5 + 4 / 2 - 4 = 3 s are left, and 3 s later with 10 bytes
    # 5 + 10 / 2 - 7 = 3 s; no pause may be longer than 5 s.
    parts = ((4.0, b"1234"), (3.0, b"567890"))
    assert received(monkeypatch, *parts) == (b"1234567890", [5.0, 3.0, 3.0])
    monkeypatch.undo()
    assert received(monkeypatch, (0.0, b"1234"))[1] == [5.0, 5.0]


@pytest.mark.parametrize(
    ("parts", "status", "sentence"),
    [
        (((4.0, b"1234"), (3.1, b"5")), 408, "The upload stopped or was too slow, so nothing was"),
        (((0.0, b"12345678901"),), 413, "The file is too large: the limit is 10 bytes. Send fewer"),
        (((0.0, ClientDisconnect()),), 400, "The connection broke before the body was complete."),
    ],
)
def test_a_body_that_is_too_slow_or_large_is_refused(
    parts: Any, status: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Problem) as refused:
        received(monkeypatch, *parts)
    assert refused.value.status == status
    assert refused.value.detail.startswith(sentence)
    assert refused.value.headers == ({} if status == 400 else {"Connection": "close"})


@pytest.mark.parametrize(
    ("max_bytes", "megabytes"), [(999_999, 2), (1_000_000, 2), (1_000_001, 3), (20_000_000, 21)]
)
def test_the_proxy_lets_a_file_and_its_form_through(max_bytes: int, megabytes: int) -> None:
    files = unit_files(
        [UnitCompetition(Path("/srv/race"), "race")], Path("/srv/data"), "a.org", 8000,
        max_bytes=max_bytes, owner="ada", program="/usr/bin/arena",
    )  # fmt: skip
    assert f"client_max_body_size {megabytes}m;" in files["nginx.conf"]
    assert f"max_size {megabytes}MB" in files["Caddyfile"]


@pytest.mark.parametrize(("days", "is_new"), [(1.99, True), (2.01, False)])
def test_a_backup_is_two_days_old_at_most(days: float, is_new: bool, tmp_path: Path) -> None:
    assert not check.has_recent_backup(tmp_path)
    backup_time = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    (tmp_path / ".last-backup").touch()
    os.utime(tmp_path / ".last-backup", (backup_time, backup_time))
    assert check.has_recent_backup(tmp_path) is is_new


def checked(url: str = "https://a.org", **sections: Any) -> list[str]:
    about: dict[str, Any] = {
        "metric": {"name": "roc_auc"},
        "competition": {"title": "T", "deadline": datetime.now(UTC) + timedelta(days=9)},
        "limits": {"per_day": 5, "total": 50},
        "public": {"mechanism": "ladder"},
        "server": {"contact": "host@a.org"},
    }
    return [*check.problems_of_settings(Settings.model_validate(about | sections), url)]


def test_what_a_server_should_be_told_before_it_starts() -> None:
    assert checked() == []
    assert checked(url="") == [
        "[server] url is empty: the address that participants use is not known."
    ]
    assert checked(url="http://a.org") == [
        "http://a.org is not encrypted: put a proxy with TLS in front (--print-units)."
    ]
    assert checked(public={"mechanism": "full"}) == [
        "[public] mechanism = full shows exact scores, from which labels can be computed."
    ]
    mail = {"smtp_host": "m", "smtp_from": "r@a.org", "smtp_tls": "none", "contact": "host@a.org"}
    assert checked(server=mail) == [
        "[server] smtp_tls is none: e-mails with invitation links are not encrypted."
    ]
    assert checked(competition={}, limits={}, server={}) == [
        f"{key} is not set."
        for key in (
            "[competition] deadline", "[competition] title", "[limits] per_day",
            "[limits] total", "[server] contact",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(("minutes", "is_over"), [(59, True), (61, False), (-61, True)])
def test_a_deadline_within_the_hour_is_said(minutes: int, is_over: bool) -> None:
    deadline = datetime.now(UTC) + timedelta(minutes=minutes)
    problems = checked(competition={"title": "T", "deadline": deadline})
    sentence = f"[competition] deadline is {deadline:%Y-%m-%d %H:%M} UTC: it is over, or nearly."
    assert problems == ([sentence] if is_over else [])


def test_a_check_names_what_a_sandbox_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results: list[Any] = []

    def last_check(specification: str, versions: Any) -> Any:
        assert (specification, versions) == ("box", {"box": "1"})
        if isinstance(results[-1], Exception):
            raise results[-1]
        return results[-1]

    sandboxes = SimpleNamespace(resolve=lambda _: SimpleNamespace(versions=lambda: {"box": "1"}))
    monkeypatch.setattr(check, "PluginManager", lambda: SimpleNamespace(sandboxes=sandboxes))
    monkeypatch.setattr(check, "last_check", last_check)
    for result, sentences in (
        (SandboxError("There is no box."), ["There is no box."]),
        (None, ["The sandbox box was not checked on this machine with its versions: run arena "
                "programs check --sandbox box."]),
        ({"not_held": []}, []),
        ({"not_held": ["fork", "disk"]}, ["The sandbox box does not hold every program on this "
                                          "machine: fork, disk. arena programs check says what to "
                                          "do."]),
    ):  # fmt: skip
        results.append(result)
        assert [*check.problems_of_sandbox("box")] == sentences


def test_a_check_names_what_a_folder_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate(
        {
            "metric": {"name": "mae"}, "limits": {"max_bytes": 1_000_000},
            "programs": {"inputs": "in", "sample": "shown"},
        }
    )  # fmt: skip
    assert [*check.problems_of_inputs(tmp_path, settings)] == [
        f"There is no folder {tmp_path / name} with inputs of programs: create it."
        for name in ("in", "shown")
    ]
    monkeypatch.setattr(check, "problems_of_settings", lambda *_: ())
    # 2,000 files of 1 MB wait, each stored three times: 6 GB.
    needed = 6 * 10**9
    usage = SimpleNamespace(free=needed - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    (tmp_path / ".last-backup").touch()
    tmp_path.chmod(0o701)
    assert [*check.problems_of(tmp_path, settings, "")] == [
        f"There are no rules: write {tmp_path / 'rules.md'}.",
        f"Other users of this machine can enter {tmp_path}: run chmod 700 {tmp_path}.",
        "6.0 GB of the disk are free, but 2,000 waiting files of 1.0 MB need 6.0 GB: free some "
        "space, or lower [limits] max_bytes or [server] max_waiting.",
    ]
    tmp_path.chmod(0o700)
    usage.free = needed
    for text, sentences in (
        ("# Rules", []),
        (f"{DRAFT_MARK} -->", [f"The rules are a draft: complete {tmp_path / 'rules.md'} and "
                               "delete its first line."]),
    ):  # fmt: skip
        (tmp_path / "rules.md").write_text(text)
        assert [*check.problems_of(tmp_path, settings, "")] == sentences
    (tmp_path / "sample_submission.csv").write_bytes(b"x" * 100)
    usage.free = 3 * 4 * 100 * 2_000  # real predictions are four times as long
    (tmp_path / ".last-backup").unlink()
    backup = "There is no backup of the last 2 days: run arena backup by a timer."
    assert [*check.problems_of(tmp_path, settings, "")] == [*sentences, backup]
    usage.free -= 1
    assert len([*check.problems_of(tmp_path, settings, "")]) == 3
