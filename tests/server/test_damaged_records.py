"""Damaged and removed files of a server: rebuilt if they follow from the record, else named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.config import ServerSection
from arena.server.compare import stored_differences
from arena.server.processes import WebStart, run_web
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout, WebSettings
from arena.server.records.published import Published, Publisher, State
from arena.server.records.uploads import Uploads
from arena.server.scorer import main as scorer_process
from arena.server.scorer.attempts import Attempts
from arena.server.scorer.scorer import Scorer
from arena.server.web import main as web_process
from arena.server.web.site import Site
from program import run_here
from served import predictions, send
from serving import board, running, until
from web_site import NAME, WebSite

JUNK: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda data: b"x" * len(data),
    "zeros": lambda data: data[:4096] + bytes(len(data) - 4096),
    "truncated": lambda data: data[: len(data) // 2 - 100],
}


def judge(folder: Path, layout: Layout) -> None:
    with (
        Competition.open(folder) as competition,
        Scorer(competition, "race", layout, ServerSection()) as scorer,
    ):
        while scorer.step():
            pass


def close_whole(path: Path) -> None:
    """Move what is in the log of a database into its file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


@pytest.mark.parametrize("name", JUNK)
def test_what_is_published_is_written_again(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also for a reader that has the damaged file open."""
    path = tmp_path / "race.sqlite"
    first = Publisher(path)
    rows = [{"team": f"team {number}"} for number in range(300)]
    first.publish(documents={"board": rows}, state=State("open", 1.0, cursor=1))
    first.close()
    reader = Published(path)
    assert len(reader.board()) == 300
    path.write_bytes(JUNK[name](path.read_bytes()))
    again = Publisher(path)
    assert "is damaged" in caplog.text
    again.publish(documents={"board": rows[:1]}, state=State("open", 2.0), replace_all=True)
    assert reader.board() == rows[:1]
    assert reader.state().beat == 2.0
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._connection.execute("DELETE FROM documents")
    again.close()
    reader.close()


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", "7", '{"current": 7, "single_until": 1, "deaths": {}}', "\ufffd", "[" * 9999,
     '{"current": [], "single_until": 1e999, "deaths": {}}',
     '{"current": ["x"], "single_until": 1, "deaths": {}}',
     '{"current": [1], "single_until": 1, "deaths": []}'],
)  # fmt: skip
def test_a_damaged_note_of_what_was_judged_is_not_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "race.json"
    path.write_text(text, "utf-8")
    assert not Attempts.read(path).alone(1)
    Attempts.read(path).begin([1])
    assert Attempts.read(path).alone(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", JUNK)
def test_a_damaged_queue_is_named_in_one_sentence(
    folder: Path, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.server.scorer.main.signal.signal", lambda *_: None)
    layout = Layout(folder / "server")
    layout.create()
    Accounts(layout.intake).close()
    intake = Intake(layout.intake)
    send(layout, intake, "red", predictions(1))
    intake.close()
    judge(folder, layout)
    close_whole(layout.intake)
    layout.intake.write_bytes(JUNK[name](layout.intake.read_bytes()))
    (difference,) = stored_differences(folder, layout, "race").differences
    assert f"{layout.intake} is damaged" in difference
    called = run_here("serve", "--port", "0", cwd=folder)
    assert called.returncode == 1
    assert f"{layout.intake} is damaged" in " ".join(called.stderr.split())
    assert len(called.stderr.splitlines()) < 5, called.stderr
    with pytest.raises(SystemExit):
        scorer_process.main(str(folder), "race", str(layout.root))
    assert "cannot be used" in caplog.text
    with pytest.raises(SystemExit):
        run_web(WebStart(0, str(layout.root), ("race",), ""))
    assert "Traceback" not in caplog.text


def test_nothing_is_acknowledged_in_a_removed_queue(tmp_path: Path) -> None:
    intake = Intake(tmp_path / "intake.sqlite")
    options = {"competition": "race", "team": "red", "member": "7", "payload": {}}
    intake.append(kind="finalize", **options)  # type: ignore[arg-type]
    intake.path.unlink()
    with pytest.raises(sqlite3.DatabaseError, match="was removed"):
        intake.append(kind="finalize", **options)  # type: ignore[arg-type]
    Intake(intake.path).close()
    with pytest.raises(sqlite3.DatabaseError, match="replaced"):
        intake.append(kind="finalize", **options)  # type: ignore[arg-type]
    intake.close()


def test_the_uploads_of_a_lost_queue_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    layout = Layout(tmp_path)
    layout.create()
    uploads = Uploads(layout.uploads)
    waiting = uploads.put([b"id,y\n"])
    (layout.uploads / "half.part").touch()
    site = Site(WebSettings(layout, ("race",), ""))
    web_process.sweep_uploads(site)
    assert [path.name for path in layout.uploads.iterdir()] == [waiting.name]
    assert "another queue was removed or lost" in caplog.text
    send(layout, site.intake, "red", b"id,y\n")
    web_process.sweep_uploads(site)
    assert not uploads.path(waiting.name).exists()
    site.close()


def test_a_folder_of_uploads_that_was_removed_is_told_to_everybody(
    web: WebSite, caplog: pytest.LogCaptureFixture
) -> None:
    program = web.program(web.token(web.person("Ann", "red")))
    web.site.uploads.folder.rmdir()
    answer = program.post(f"/api/v1/{NAME}/submissions", content=b"id,y\n")
    assert answer.status_code == 503, answer.text
    assert "The records of the server are damaged" in answer.json()["detail"]
    assert "No file can be created in the folder of uploads" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_scorer_notices_that_its_files_were_removed(folder: Path) -> None:
    layout = Layout(folder / "server")
    layout.create()
    with (
        Competition.open(folder) as competition,
        Scorer(competition, "race", layout, ServerSection()) as scorer,
    ):
        layout.public("race").unlink()
        with pytest.raises(sqlite3.DatabaseError, match="was removed"):
            scorer.run(lambda: False)


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_a_running_server_publishes_again_and_reports_a_removed_database(folder: Path) -> None:
    layout = Layout(folder / "server")
    layout.create()
    intake = Intake(layout.intake)
    send(layout, intake, "red", predictions(1))
    intake.close()
    with running(folder) as server:
        until(lambda: board(server) == ["red"], "the submission is judged")
        layout.public("race").unlink()
        until(lambda: layout.public("race").exists(), "the scorer is started again")
        until(lambda: board(server) == ["red"], "the board is shown again")
        (folder / "arena.duckdb").rename(folder / "elsewhere")
        until(
            lambda: "was removed or replaced while" in server.log.read_text(), "the log reports it"
        )
        (folder / "elsewhere").rename(folder / "arena.duckdb")
        assert "Traceback" not in server.log.read_text()
