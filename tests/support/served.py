"""Submissions to a served competition, put into its queue as the web process does."""

from __future__ import annotations

import numpy as np

from arena.requests import Request
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.uploads import Uploads

N_ROWS = 40


def predictions(number: int, n_rows: int = N_ROWS) -> bytes:
    """Return a submission file."""
    rng = np.random.default_rng(number)
    return "\n".join(["id,y", *(f"r{i},{rng.random():.6f}" for i in range(n_rows)), ""]).encode()


def send(
    layout: Layout,
    intake: Intake,
    team: str,
    content: bytes,
    name: str = "a.csv",
    *,
    member: str = "7",
) -> Request:
    """Store an upload and its request."""
    stored = Uploads(layout.uploads).put([content])
    payload = {
        "upload": stored.name,
        "file": name,
        "bytes": stored.bytes,
        "sha256": stored.sha256,
    }
    request, _new = intake.append(
        competition="race", team=team, member=member, kind="submit", payload=payload
    )
    return request
