"""The settings of a server in the record of the competition."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from arena.competition.competition import Competition
from arena.competition.server_settings import SERVED, UNRECORDED
from arena.config import ServerSection
from arena.report.history import history_section
from program import write_csv

RULES = "# Rules\n"


def test_settings_are_recorded_once_and_then_their_changes(tmp_path: Path) -> None:
    rows = [(f"r{row}", row % 2, "Public" if row % 3 else "Private") for row in range(12)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    folder = tmp_path / "race"
    Competition.create(folder, tmp_path / "solution.csv", "accuracy").close()
    secret = {
        "contact": "host@example.org", "smtp_host": "127.0.0.1", "smtp_from": "a@example.org",
        "smtp_user": "mailer", "smtp_password_file": "/etc/secret", "smtp_tls": "none",
        "trusted_proxies": ("10.0.0.7",),
    }  # fmt: skip
    with Competition.open(folder) as competition:
        competition.record_server(ServerSection(), None)
        competition.record_server(ServerSection.model_validate(secret), None)  # not recorded
        competition.record_server(ServerSection.model_validate({**secret, "join": "open"}), RULES)
    with Competition.open(folder) as competition:
        competition.record_server(ServerSection(join="open"), RULES)
        competition.record_server(ServerSection(), RULES)
        payloads = [event.payload for event in competition.events() if event.kind == SERVED]
        assert competition.verify_events() is None
        assert not competition.audit()
        section = history_section(competition.events())
    version = hashlib.sha256(RULES.encode()).hexdigest()[:32]  # what accounts accept
    assert payloads[0]["settings"]["server.join"] == "code"
    assert payloads[1:] == [
        {"changes": [["server.join", "code", "open"], ["server.rules_version", None, version]]},
        {"changes": [["server.join", "open", "code"]]},
    ]
    recorded = {key.removeprefix("server.") for key in payloads[0]["settings"]} - {"rules_version"}
    assert recorded | UNRECORDED == set(ServerSection.model_fields)
    assert not recorded & UNRECORDED
    assert not [
        secret
        for secret in ("host@", "mailer", "secret", "10.0.0.7")
        if secret in json.dumps(payloads)
    ]
    assert section is not None
    lines = [row[1] for row in section.tables[0].rows]
    assert lines[0] == "server.join from code to open."
    assert len(lines) == 3
