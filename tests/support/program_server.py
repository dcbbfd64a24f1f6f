"""A served competition of programs without its processes: web site, scorer and scripted runners."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from arena.competition.competition import Competition
from arena.competition.programs.runners import add_runner
from arena.config import Settings
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer.scorer import Scorer
from arena.server.web.app import create_app
from arena.server.web.site import Buckets, Site
from arena.server_section import ServerSection
from arena.store.signatures import signature_of
from program import write_csv
from scripted_sandbox import ScriptedSandbox, manager_with

NAME, URL, N_ROWS = "race", "https://arena.example.org", 40
GOOD = "id,y\n" + "".join(f"r{i},{i / N_ROWS}\n" for i in range(N_ROWS))
SERVER = ServerSection(join="open", uploads_per_minute=1_000, reads_per_minute=100_000)


def write_competition(folder: Path, **sections: Any) -> Path:
    """Create a competition of programs, with sample inputs and hidden inputs."""
    write_csv(folder / "solution.csv", ["id", "y"], [(f"r{i}", i % 2) for i in range(N_ROWS)])
    programs = {"sandbox": "scripted", **sections.pop("programs", {})}
    settings = Settings.model_validate(
        {
            "metric": {"name": "roc_auc"},
            "analysis": {"intervals": False},
            "programs": programs,
            "server": SERVER,
            **sections,
        }
    )
    path = folder / NAME
    manager = manager_with(ScriptedSandbox())
    solution = folder / "solution.csv"
    Competition.create(path, solution, settings, public_share=0.5, seed=1, manager=manager).close()
    for inputs in ("programs/inputs", "files/sample_inputs"):
        (path / inputs).mkdir(parents=True)
        (path / inputs / "x.csv").write_text(f"id\n{inputs}\n")
    for name in ("local", "one", "two"):
        add_runner(path, name)
    return path


class ProgramServer:
    """The processes of a server as objects, which a test ends and starts as it likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.layout = Layout(folder.parent / "server")
        self.layout.create()
        self.offset = timedelta()
        self.start_scorer()
        self.start_web()
        self.accounts: dict[str, str] = {}

    def clock(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def start_scorer(self) -> None:
        self.competition = Competition.open(self.folder, manager=manager_with(ScriptedSandbox()))
        self.scorer = Scorer(self.competition, NAME, self.layout, SERVER, clock=self.clock)

    def end_scorer(self) -> None:
        self.scorer.close()
        self.competition.close()

    def start_web(self) -> None:
        self.site = Site(WebSettings(self.layout, (NAME,), URL), clock=self.clock)
        self.site.buckets = Buckets(clock=lambda: 0.0)
        self.app = create_app(self.site)

    def end_web(self) -> None:
        self.site.close()

    def close(self) -> None:
        self.end_web()
        self.end_scorer()

    def client(self, **headers: str) -> TestClient:
        return TestClient(self.app, base_url=URL, headers=headers, follow_redirects=False)

    def member(self, team: str) -> TestClient:
        """Return a program of a member of a team."""
        if team not in self.accounts:
            account = self.site.accounts.register(f"member of {team}").account
            self.site.accounts.create_team(NAME, team, account)
            self.accounts[team] = self.site.accounts.make_token(account, "test", "submit")[0]
        return self.client(authorization=f"Bearer {self.accounts[team]}")

    def organiser(self) -> TestClient:
        """Return a program of a new organiser."""
        account = self.site.accounts.register("Org", organiser=True).account
        token = self.site.accounts.make_token(account, "test", "admin")[0]
        return self.client(authorization=f"Bearer {token}")

    def send(self, team: str, script: dict[str, Any], *, phase: str = "", **headers: str) -> Any:
        """Submit a program; return the answer."""
        of_phase = f"&phase={phase}" if phase else ""
        return self.member(team).post(
            f"/api/v1/{NAME}/submissions?file=main.py{of_phase}",
            content=json.dumps(script).encode(),
            headers=headers,
        )

    def state(self, team: str, request: str) -> dict[str, Any]:
        answer = self.member(team).get(f"/api/v1/{NAME}/requests/{request}")
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()
        return state

    def judge(self) -> None:
        """Let the scorer judge everything that waits."""
        while self.scorer.step():
            pass

    def runner(self, name: str = "local") -> Runner:
        return Runner(self, add_runner(self.folder, name))


class Runner:
    """A runner that runs scripts: it does everything but start a program."""

    def __init__(self, server: ProgramServer, file: Path) -> None:
        self.server = server
        self.document = json.loads(file.read_text())

    def client(self) -> TestClient:
        return self.server.client(authorization=f"Bearer {self.document['token']}")

    def post(self, path: str, **body: Any) -> Any:
        return self.client().post(f"/api/v1/{NAME}{path}", **body)

    def offer(self) -> dict[str, Any]:
        facts = self.server.site.competition(NAME).facts.programs or {}
        inputs = [
            runs[folder] for runs in facts["runs"].values() for folder in ("sample", "inputs")
        ]
        return {
            "runner": "x",
            "sandbox": "scripted",
            "versions": {"scripted": "1"},
            "inputs": inputs,
        }

    def lease(self) -> dict[str, Any]:
        """Take a run."""
        answer = self.post("/runs/lease", json=self.offer())
        assert answer.status_code == 200, answer.text
        run: dict[str, Any] = answer.json()
        return run

    def result(self, run: dict[str, Any], **other: Any) -> tuple[dict[str, Any], bytes | None]:
        """Return the result of a run as its program says, and the output."""
        address = f"/api/v1/{NAME}/runs/{run['run']}/program?lease={run['lease']}"
        program = self.client().get(address)
        assert program.status_code == 200, program.text
        script = json.loads(program.content)["trial" if run["kind"] == "trial" else "hidden"]
        output = script.get("output", "").encode() if script["end"] == "ok" else None
        document = {
            **{key: run[key] for key in ("run", "lease", "kind", "program", "sha256")},
            **{key: run[key] for key in ("inputs", "environment", "limits")},
            "sandbox": "scripted",
            "runner": self.document["name"],
            "versions": {"scripted": "1"},
            "started": "2026-03-01T00:00:00+00:00",
            "seconds": script.get("seconds", 12.34),
            "cpu_seconds": 20.0,
            "peak_mb": script.get("peak_mb", 345.6),
            "end": script["end"],
            "output_sha256": None if output is None else hashlib.sha256(output).hexdigest(),
            "log": script.get("log", ""),
            **other,
        }
        return document, output

    def sign(self, document: dict[str, Any]) -> str:
        return signature_of(document, bytes.fromhex(self.document["key"]))

    def send(
        self, document: dict[str, Any], output: bytes | None, *, signature: str | None = None
    ) -> Any:
        fields = {
            "result": json.dumps(document),
            "signature": signature or self.sign(document),
        }
        files = {} if output is None else {"output": ("predictions.csv", output)}
        # A form without a file is sent in parts too.
        form = {name: (None, value) for name, value in fields.items()} | files
        return self.post(f"/runs/{document['run']}/result", files=form)

    def run(self) -> dict[str, Any]:
        """Take a run and send its result; return the run."""
        run = self.lease()
        answer = self.send(*self.result(run))
        assert answer.status_code == 200, answer.text
        return run


def script(
    output: str = GOOD, *, end: str = "ok", trial_end: str = "ok", log: str = "a line of the log"
) -> dict[str, Any]:
    """Return a program by how its trial and its hidden run end; ``log`` is that of the trial."""
    return {
        "trial": {"end": trial_end, "log": log},
        "hidden": {"end": end, "output": output, "log": output},
    }
