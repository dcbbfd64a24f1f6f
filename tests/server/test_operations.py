"""What the people who run a server see: health, numbers and lines of the log."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest

from arena.server.records.published import State
from arena.server.web import operations
from arena.server.web.operations import JsonLines, Metrics, health, log_as_json, log_request
from arena.server.web.problems import Problem

NOW = 1_000_000.0


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a server of two competitions: of the first one nothing is published yet."""
    monkeypatch.setattr(operations.time, "time", lambda: NOW)
    monkeypatch.setattr(operations, "listeners", lambda: 4)

    def starting() -> State:
        raise Problem(503, "It is starting.")

    server: Any = SimpleNamespace(
        state=State("open", NOW - 60.0, cursor=7, set_aside=2),
        intake=SimpleNamespace(waiting=lambda name, cursor: cursor - 4),
        mails=SimpleNamespace(counts=lambda name: {"sent": 5, "failed": 1}),
    )
    running = SimpleNamespace(state=lambda: server.state)
    server.competitions = {"new": SimpleNamespace(state=starting), "race": running}
    return server


def answer(site: Any) -> tuple[int, Any]:
    response = health(site)
    return response.status_code, json.loads(bytes(response.body))


def test_a_scorer_is_silent_after_a_minute(site: Any) -> None:
    starting = {"well": False, "problem": "It is starting."}
    of_race = {"well": True, "phase": "open", "waiting": 3, "problem": None}
    document = {"well": False, "competitions": {"new": starting, "race": of_race}}
    assert answer(site) == (503, document)
    del site.competitions["new"]
    assert answer(site) == (200, {"well": True, "competitions": {"race": of_race}})
    site.state = State("open", NOW - 60.5, cursor=7)
    silent = {**of_race, "well": False, "problem": "The scorer gave no sign of life for 60 s."}
    assert answer(site) == (503, {"well": False, "competitions": {"race": silent}})
    site.state = State("open", NOW, cursor=7, problem="The disk is full.")
    full = {**of_race, "well": False, "problem": "The disk is full."}
    assert answer(site) == (503, {"well": False, "competitions": {"race": full}})


def test_numbers_are_those_of_each_competition(site: Any) -> None:
    lines = bytes(Metrics().page(site).body).decode().splitlines()
    numbers = [line for line in lines if not line.startswith("#") and "request" not in line]
    assert numbers == [
        'arena_waiting{competition="race"} 3.0',
        'arena_scorer_beat_seconds{competition="race"} 60.0',
        'arena_set_aside{competition="race"} 2.0',
        'arena_mails{competition="race",state="waiting"} 0.0',
        'arena_mails{competition="race",state="sending"} 0.0',
        'arena_mails{competition="race",state="sent"} 5.0',
        'arena_mails{competition="race",state="failed"} 1.0',
        "arena_listeners 4.0",
    ]
    site.state = State("open", NOW + 5.0, cursor=7)  # the clock was set back
    assert (
        'arena_scorer_beat_seconds{competition="race"} 0.0'
        in bytes(Metrics().page(site).body).decode()
    )


def test_seconds_of_requests_are_counted_up_to_a_minute() -> None:
    metrics = Metrics()
    metrics.seconds.labels("page").observe(0.3)
    lines = generate_latest(metrics.registry).decode().splitlines()
    counts = [
        (re.findall('le="(.*)"', line)[0], line.rpartition(" ")[2])
        for line in lines
        if line.startswith("arena_request_seconds_bucket")
    ]
    faster = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25")
    slower = ("0.5", "1.0", "2.5", "5.0", "10.0", "30.0", "60.0", "+Inf")
    assert counts == [*((le, "0.0") for le in faster), *((le, "1.0") for le in slower)]


def test_a_request_is_logged_with_its_milliseconds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "arena")
    log_request(
        "/invite/{secret}", "GET", status=404, seconds=0.01234, account=None, address="192.0.2.1"
    )
    (record,) = caplog.records
    assert record.members == {  # type: ignore[attr-defined]
        "method": "GET", "route": "/invite/{secret}", "status": 404, "ms": 12.3, "account": None,
        "address": "192.0.2.1",
    }  # fmt: skip


@pytest.fixture
def _loggers() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("arena", "uvicorn", "httpx2")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("_loggers")
def test_a_line_of_the_log_is_one_json_object() -> None:
    log_as_json()
    for name in ("arena", "uvicorn"):
        logger = logging.getLogger(name)
        assert (logger.level, logger.propagate, len(logger.handlers)) == (logging.INFO, False, 1)
        assert isinstance(logger.handlers[0].formatter, JsonLines)
    assert logging.getLogger("httpx2").level == logging.WARNING
    try:
        raise ValueError("ü")
    except ValueError:
        record = logging.LogRecord("arena", logging.WARNING, "", 1, "%d of ü", (3,), sys.exc_info())
    record.created, record.members = 0.25, {"status": 500}
    line = JsonLines().format(record)
    assert "\n" not in line
    document = json.loads(line)
    assert document.pop("exception").endswith("ValueError: ü")
    assert document == {
        "time": "1970-01-01T00:00:00.250+00:00", "level": "warning", "message": "3 of ü",
        "status": 500,
    }  # fmt: skip
    assert "ü" in line
