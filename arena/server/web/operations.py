"""Health, metrics and logs, for the people who run the server: none holds a token or a label."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from arena.server.web.events import listeners
from arena.server.web.problems import Problem
from arena.server.web.site import SILENT_AFTER, Site

_LOGGER = logging.getLogger("arena.server.web")
_LOOPBACK = {"127.0.0.1", "::1", "localhost", "testclient"}


class Metrics:
    """The numbers of one web process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "arena_requests", "Answered requests.", ["kind", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "arena_request_seconds",
            "Seconds to answer a request.",
            ["kind"],
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self.waiting = Gauge(
            "arena_waiting", "Requests that wait.", ["competition"], registry=self.registry
        )
        self.beat = Gauge(
            "arena_scorer_beat_seconds",
            "Seconds since the scorer's last sign of life.",
            ["competition"],
            registry=self.registry,
        )
        self.set_aside = Gauge(
            "arena_set_aside",
            "Requests that ended a checker twice.",
            ["competition"],
            registry=self.registry,
        )
        self.mails = Gauge(
            "arena_mails", "E-mails by state.", ["competition", "state"], registry=self.registry
        )
        self.listeners = Gauge("arena_listeners", "Pages that are live.", registry=self.registry)

    def page(self, site: Site) -> Response:
        """Return the metrics in the text format of Prometheus."""
        for name, competition in site.competitions.items():
            try:
                state = competition.state()
            except Problem:
                continue
            self.waiting.labels(name).set(site.intake.waiting(name, state.cursor))
            self.beat.labels(name).set(max(time.time() - state.beat, 0.0))
            self.set_aside.labels(name).set(state.set_aside)
            mails = site.mails.counts(name)
            for kind in ("waiting", "sending", "sent", "failed"):
                self.mails.labels(name, kind).set(mails.get(kind, 0))
        self.listeners.set(listeners())
        return Response(generate_latest(self.registry), media_type="text/plain; version=0.0.4")


def check_loopback(request: Request) -> None:
    """Refuse what does not come from this machine itself; a proxy in front passes nothing on."""
    address = request.client.host if request.client else ""
    forwarded = {"forwarded", "x-forwarded-for", "via"} & set(request.headers)
    if address not in _LOOPBACK or forwarded:
        raise Problem(404, "There is no such page.")


def health(site: Site) -> Response:
    """Return 200 if each scorer gives signs of life, and 503 with the reasons otherwise."""
    report: dict[str, Any] = {}
    for name, competition in site.competitions.items():
        try:
            state = competition.state()
        except Problem as problem:
            report[name] = {"well": False, "problem": problem.detail}
            continue
        beat = time.time() - state.beat
        silent = (
            f"The scorer gave no sign of life for {beat:.0f} s." if beat > SILENT_AFTER else None
        )
        report[name] = {
            "well": silent is None and state.problem is None,
            "phase": state.phase,
            "waiting": site.intake.waiting(name, state.cursor),
            "problem": state.problem or silent,
        }
    well = all(state["well"] for state in report.values())
    return JSONResponse({"well": well, "competitions": report}, 200 if well else 503)


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "members", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_as_json() -> None:
    """Log to stderr, one JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("arena", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    # It logs each request to a provider, not as JSON.
    logging.getLogger("httpx2").setLevel(logging.WARNING)


def log_request(
    route: str, method: str, status: int, seconds: float, account: str | None, address: str
) -> None:
    """Log an answered request by its route: paths can hold the secret of an invitation."""
    _LOGGER.info(
        "request",
        extra={
            "members": {
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1_000, 1),
                "account": account,
                "address": address,
            }
        },
    )
