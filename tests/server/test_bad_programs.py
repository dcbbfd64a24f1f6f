"""The message to a team about a file that is not a program, however the team submits it.

Every hostile file is submitted in every way, and the team gets the sentence about it. The file
reaches no sandbox, counts against no limit, and is not kept.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from arena.cli.commands import programs as programs_command
from arena.cli.commands import submit as submit_command
from arena.client import Client, ServerError
from arena.competition.programs.runners import add_runner
from arena.programs.unpack import unpack_here
from arena.runner import Runner, RunnerKey
from hostile_archives import HOSTILE, LIMITS
from program_server import NAME, ProgramServer, write_competition
from scripted_sandbox import ScriptedSandbox
from web_site import listening

Text = Callable[[], str]
"""Returns what was printed since the last call."""


@dataclass
class Host:
    """A served competition, and a runner of it that unpacks what it gets."""

    server: ProgramServer
    port: int
    sandbox: ScriptedSandbox

    def run(self) -> None:
        """Run all that waits."""
        inputs, sample = (
            Runner.digests([self.server.folder / name])
            for name in ("programs/inputs", "files/sample_inputs")
        )
        key = RunnerKey.read(add_runner(self.server.folder, "local"))
        url = f"http://127.0.0.1:{self.port}/{NAME}"
        Runner(url, key, self.sandbox, "scripted", inputs, sample).run(once=True)
        self.server.judge()


def by_the_api(host: Host, file: Path, printed: Text) -> str:
    answer = host.server.member("ants").post(
        f"/api/v1/{NAME}/submissions?file={file.name}", content=file.read_bytes()
    )
    if answer.is_error:
        return str(answer.json()["detail"])
    host.run()
    trial = host.server.state("ants", answer.json()["request"])["trial"]
    return str(trial["log"])


def by_the_page(host: Host, file: Path, printed: Text) -> str:
    browser = host.server.member("ants")
    browser.headers["accept"] = "text/html"
    answer = browser.post(f"/{NAME}/submit", files={"file": (file.name, file.read_bytes())})
    if not answer.is_error:
        host.run()
        answer = browser.get(answer.headers["location"])
    return html.unescape(answer.text)


def by_a_client(host: Host, file: Path, printed: Text) -> str:
    host.server.member("ants")
    client = Client(f"http://127.0.0.1:{host.port}/{NAME}", host.server.accounts["ants"])
    try:
        submission = client.submit(file)
    except ServerError as error:
        return str(error)
    host.run()
    submit_command.print_state(client.request(submission["request"]))
    return printed()


def by_the_command(host: Host, file: Path, printed: Text) -> str:
    competition = host.server.competition
    with pytest.raises(typer.Exit):
        submit_command.print_program(
            competition, competition.submit_program(file, "ants"), as_json=False
        )
    return printed()


def at_home(host: Host, file: Path, printed: Text) -> str:
    inputs, output = host.server.folder / "files/sample_inputs", file.with_name("output")
    with pytest.raises(typer.Exit):
        programs_command.try_program(file, inputs, output, "bwrap")
    return printed()


EMPTY = "The file is empty. Send it with its content."
"""What a server says before it stores a file."""
WAYS: Mapping[str, Callable[[Host, Path, Text], str]] = {
    way.__name__: way for way in (by_the_api, by_the_page, by_a_client, by_the_command, at_home)
}

ON_A_SERVER = {"by_the_api", "by_the_page", "by_a_client"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = write_competition(
        tmp_path_factory.mktemp("bad"), programs={"trials_per_day": 1_000}, limits={"per_day": 1}
    )
    server = ProgramServer(folder)
    with listening(server.app) as port:
        yield Host(server, port, ScriptedSandbox())
    server.close()


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack in this process with small limits, and let a runner not wait for more work."""
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    monkeypatch.setattr("arena.server.web.programs.LONGEST_POLL", 0.0)
    monkeypatch.setattr("arena.programs.unpack.PackedLimits", lambda: LIMITS)

    def here(function: Callable[..., Any], *task: Any, **_: Any) -> Any:
        return function(*task)

    monkeypatch.setattr("arena.programs.unpack.call_limited", here)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_hostile_file_is_answered_by_its_sentence(
    way: str, host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case, (content, _) in HOSTILE.items():
        file = tmp_path / "model.zip"
        file.write_bytes(content)
        (tmp_path / case).mkdir()
        ((_, sentence),) = unpack_here(str(file), str(tmp_path / case), "main.py", LIMITS)
        if not content and way in ON_A_SERVER:
            sentence = EMPTY
        answer = WAYS[way](host, file, lambda: capsys.readouterr().out)
        assert answer.count(sentence) == 1, (case, answer)
        assert list((tmp_path / "runner").glob("work/*")) == [], case
    assert host.sandbox.runs == []
    assert host.server.competition.quota_used("ants") == 0
    assert host.server.competition.events("submission", "program received") == ()
    assert list(host.server.layout.uploads.iterdir()) == []
