"""``arena serve`` and ``arena backup``: what they refuse, check and write."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import sqlite3
import threading
import time
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from arena.cli.commands import audit, backup, runner, serve
from arena.cli.folder import find_folder
from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, DATABASE_NAME, SAMPLE_NAME, ServerSection, read_settings
from arena.config_sections import ProgramsSection
from arena.errors import InputError, StoreBusyError, UsageError
from arena.server import supervisor
from arena.server.backup import backup as copy
from arena.server.check import problems
from arena.server.marker import (
    MARKER_NAME,
    borrow,
    lending,
    locked,
    marked,
    note_records,
    records_folder,
    served_folder,
)
from arena.server.permissions import prepare
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import OIDC_SECRET, Layout, WebSettings
from arena.server.records.mails import SMTP_PASSWORD
from arena.server.scorer.scorer import Scorer
from arena.server.supervisor import User, address_of, bind
from arena.server.units import UnitCompetition, unit_files
from arena.server.web.main import run
from competition_folder import as_older_version
from served import predictions, send

EXAMPLES = Path(__file__).parents[2] / "examples" / "deploy"


def refusal(*options: str) -> str:
    answer = CliRunner().invoke(serve.app, list(options))
    return str(answer.exception)


@pytest.mark.slow
def test_what_is_not_safe_or_not_possible_is_refused(folder: Path) -> None:
    where = ["-C", str(folder)]
    assert "--same-user" in refusal(*where, "--host", "0.0.0.0")  # noqa: S104
    assert "no user 'nobody-here'" in refusal(*where, "--web-user", "nobody-here")
    assert "needs --web-user" in refusal(*where, "--checker-user", "root")
    with marked(folder, "http://localhost:1", folder / "server"):
        assert "is served already, at http://localhost:1" in refusal(*where)
        with pytest.raises(InputError, match="is served already"), marked(folder, "", folder):
            pass
        left = (folder / MARKER_NAME).read_bytes()
    (folder / MARKER_NAME).write_bytes(left)  # as if the machine had lost its power
    assert served_folder(folder) is None
    layout = Layout(folder / "server")
    layout.create()
    with locked(layout.intake.parent):
        assert "Another server uses the files" in refusal(*where)
        with bind("127.0.0.1", 0) as bound, pytest.raises(InputError, match="Another server"):
            run(bound, WebSettings(layout, ("race",), ""))
    assert "cannot be a name" in refusal(*where, "--name", "../race")
    assert "--name" in refusal(*where, *where, "--name", "both")
    assert "same name" in refusal(*where, *where)
    assert "address of a page" in refusal(*where, "--name", "health")
    with bind("127.0.0.1", 0) as bound:
        port = str(bound.getsockname()[1])
        assert f"port {port} cannot be used" in refusal(*where, "--port", port)


def test_an_older_database_is_not_served(folder: Path) -> None:
    as_older_version(folder / DATABASE_NAME)
    assert "run `arena upgrade`" in refusal("-C", str(folder))
    assert not (folder / MARKER_NAME).exists()


def test_a_server_on_all_addresses_names_one_that_others_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = "0.0.0.0"  # noqa: S104
    monkeypatch.setattr(supervisor, "ROUTED_ADDRESSES", {every: (socket.AF_INET, "127.0.0.7")})
    assert address_of(every, 8000) in {"http://127.0.0.7:8000", "http://127.0.0.1:8000"}
    monkeypatch.setattr(supervisor, "ROUTED_ADDRESSES", {every: (socket.AF_INET, "no address")})
    assert address_of(every, 8000) == f"http://{every}:8000"  # without a network


def test_a_check_names_what_is_missing(folder: Path) -> None:
    settings = read_settings(folder / CONFIG_NAME)
    sentences = " ".join(problems(folder, settings, "http://race.example.org"))
    for missing in ("not encrypted", "deadline", "total", "mechanism = full", "contact", "backup"):
        assert missing in sentences
    assert "per_day" not in sentences
    assert "rules" not in sentences
    assert "Other users of this machine" not in sentences
    folder.chmod(0o750)
    assert "Other users of this machine" in " ".join(problems(folder, settings, ""))


def test_a_check_names_a_missing_sandbox_beside_the_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    settings = read_settings(folder / CONFIG_NAME)
    monkeypatch.setenv("ARENA_RUNNER", str(folder))
    programs = ProgramsSection(sandbox="bwrap", environment=f"sha256:{'0' * 64}")
    sentences = " ".join(problems(folder, settings.model_copy(update={"programs": programs}), ""))
    phrases = ("no bubblewrap on this machine", "backup", "no folder", "sample_inputs")
    for missing in (*phrases, "does not hold the environment sha256:0000"):
        assert missing in sentences


def test_a_check_asks_for_the_space_that_submissions_like_the_sample_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_settings(folder / CONFIG_NAME)
    waiting = settings.server.max_waiting
    usage = shutil._ntuple_diskusage(10**12, 10**12, 10**8)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    sample = folder / SAMPLE_NAME
    sample.write_bytes(b"x" * (10**8 // waiting // 12))
    assert "of the disk" not in " ".join(problems(folder, settings, ""))
    sample.write_bytes(b"x" * (10**9 // waiting // 12))
    assert f"{waiting:,} waiting files of 0.2 MB need 1.0 GB" in " ".join(
        problems(folder, settings, "")
    )
    sample.unlink()
    assert f"files of {settings.limits.max_bytes / 1e6:,.1f} MB" in " ".join(
        problems(folder, settings, "")
    )


def test_units_name_the_folders_and_the_user(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "units"
    options = ["-C", str(folder), "--print-units", str(out), "--data", str(tmp_path / "data")]
    answer = CliRunner().invoke(serve.app, [*options, "--url", "https://race.example.org"])
    assert answer.exit_code == 0, answer.output
    files = {path.name: path.read_text() for path in out.iterdir()}
    assert f"InaccessiblePaths={folder}" in files["arena-web.service"]
    assert f"-C {folder} --name race" in files["arena-scorer-race.service"]
    assert files["Caddyfile"].count("race.example.org") == 1
    assert "{" not in files["setup.sh"]
    # No container engine is needed here: the images are built in no test.
    services = yaml.safe_load(files["compose.yaml"])["services"]
    assert f"{folder}:/competition" in services["scorer-race"]["volumes"]
    assert services["scorer-race"]["network_mode"] == "none"
    assert services["web"]["volumes"] == ["data:/data"]
    started = [services[part]["command"].split() for part in ("web", "scorer-race")]
    image = files["Containerfile"].replace("\\\n", "")
    started.append(json.loads(image.partition("\nCMD ")[2]))
    for arguments in started:
        assert arguments[0] == "serve"
        assert {word for word in arguments if word.startswith("-")} <= options_of(serve.app)


def options_of(app: typer.Typer) -> set[str]:
    return {option for parameter in typer.main.get_command(app).params for option in parameter.opts}


def files_of(competition: UnitCompetition) -> dict[str, str]:
    return unit_files(
        [competition],
        Path("/var/lib/arena"),
        "race.example.org",
        8000,
        max_bytes=200 * 2**20,
        owner="arena",
        program="/usr/local/bin/arena",
    )


def test_the_unit_of_a_runner_keeps_it_from_labels_and_records() -> None:
    competition = UnitCompetition(Path("/srv/race"), "race", "podman(oci_runtime=crun)")
    files = files_of(competition)
    unit = files["arena-runner-race.service"]
    assert "InaccessiblePaths=/srv/race /var/lib/arena\n" in unit
    line = next(
        unit_line
        for unit_line in unit.replace("\\\n", "").split("\n")
        if unit_line.startswith("ExecStart=")
    )
    program, command, *arguments = shlex.split(line.removeprefix("ExecStart="))
    assert (program, command) == ("/usr/local/bin/arena", "runner")
    assert {word for word in arguments if word.startswith("--")} <= options_of(runner.app)
    assert arguments[arguments.index("--sandbox") + 1] == "podman(oci_runtime=crun)"
    assert "arena-run" in files["setup.sh"]


def test_the_units_of_the_examples_are_those_that_are_written() -> None:
    files = files_of(UnitCompetition(Path("/srv/race"), "race"))
    assert {path.name: path.read_text() for path in EXAMPLES.iterdir()} == files


def test_a_served_folder_is_lent_to_a_command(folder: Path) -> None:
    assert borrow(folder, 1.0) is None
    with lending(folder) as lender:
        assert not lender.asked
        assert (folder / ".served.sock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(StoreBusyError, match=r"within 0\.01 s"):
            borrow(folder, 0.01)
        borrowed: list[bool] = []

        def command() -> None:
            with borrow(folder, 600.0) or pytest.fail("nothing listens"):
                borrowed.append(True)

        thread = threading.Thread(target=command)
        thread.start()
        until = time.monotonic() + 600.0
        while not borrowed and time.monotonic() < until:
            if lender.asked:  # also by the first one, which is gone
                lender.lend()
            time.sleep(0.001)
        thread.join()
        assert borrowed


def test_marker_files_that_are_gone_or_left_over_do_not_stop_a_server(tmp_path: Path) -> None:
    """A cleanup can remove them, and a crash of an earlier server can leave them."""
    for left in ((), (MARKER_NAME, ".served.sock")):
        for name in left:
            (tmp_path / name).touch()
        with marked(tmp_path, "http://a", tmp_path), lending(tmp_path):
            assert {path.name for path in tmp_path.iterdir()} == {MARKER_NAME, ".served.sock"}
            assert (tmp_path / ".served.sock").stat().st_mode & 0o777 == 0o600
            for name in (MARKER_NAME, ".served.sock"):
                (tmp_path / name).unlink()
        assert list(tmp_path.iterdir()) == []
    with marked(tmp_path, "http://a", tmp_path), lending(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_audit_borrows_a_served_folder(folder: Path, tmp_path: Path) -> None:
    """As the other commands do; it finds the queue where the server says that it is."""
    layout = Layout(tmp_path / "elsewhere")
    layout.create()
    intake = Intake(layout.intake)
    send(layout, intake, "red", predictions(1))
    with (
        Competition.open(folder) as competition,
        Scorer(competition, "race", layout, ServerSection()) as scorer,
    ):
        while scorer.step():
            pass
    codes: list[int] = []

    def command() -> None:
        codes.append(CliRunner().invoke(audit.app, ["-C", str(folder)]).exit_code)

    for code in (0, 1):
        with marked(folder, "http://localhost", layout.root), lending(folder) as lender:
            competition = Competition.open(folder)  # as the scorer has it
            thread = threading.Thread(target=command)
            thread.start()
            while not lender.asked and thread.is_alive():
                time.sleep(0.001)
            competition.close()
            lender.lend()
            thread.join()
        assert codes.pop() == code
        with contextlib.closing(sqlite3.connect(layout.intake)) as queue, queue:
            queue.execute("UPDATE requests SET team = 'blue'")
    intake.close()


@pytest.mark.slow
def test_a_backup_is_a_competition_with_its_queue(folder: Path, tmp_path: Path) -> None:
    layout = Layout(folder / "server")
    layout.create()
    intake = Intake(layout.intake)
    request = send(layout, intake, "red", predictions(1))
    with Competition.open(folder) as competition:
        competition.submit(layout.uploads / request.payload["upload"], "blue")
    answer = CliRunner().invoke(backup.app, [str(tmp_path / "new" / "copy"), "-C", str(folder)])
    assert answer.exit_code == 0, answer.output
    intake.close()
    copied = Layout(find_folder(tmp_path / "new" / "copy") / "server")
    with Competition.open(tmp_path / "new" / "copy") as competition:
        assert [row["team"] for row in competition.submissions()] == ["blue"]
        assert competition.audit() == ()
    restored = Intake(copied.intake)
    assert restored.after("race", 0) == [request]
    restored.close()
    assert (copied.uploads / request.payload["upload"]).read_bytes() == predictions(1)
    assert (tmp_path / "new" / "copy").stat().st_mode & 0o077 == 0
    for target in (tmp_path / "new" / "copy", folder / "copy"):
        with pytest.raises(InputError):
            copy(folder, layout, target)


def test_each_process_has_its_own_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has_secrets = {}
    secrets = (SMTP_PASSWORD, OIDC_SECRET, "AWS_SECRET_ACCESS_KEY")

    def start(command: list[str], *, env: dict[str, str], **_: object) -> None:
        has_secrets[command[3]] = [name in env for name in secrets]
        assert env["PATH"] == os.environ["PATH"]

    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setattr(supervisor.subprocess, "Popen", start)
    with bind("127.0.0.1", 0) as bound, contextlib.ExitStack() as stack:
        served = [supervisor.Served("race", tmp_path)]
        for child in supervisor.Supervisor(Layout(tmp_path), served, "", bound)._planned(stack):
            child.start(0)
    assert has_secrets == {"scorer": [False, False, True], "web": [True, True, False]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_the_web_process_owns_the_intake_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    web = User.named("nobody")
    layout = Layout(tmp_path / "data")
    folder.chmod(0o755)
    with pytest.raises(InputError, match="chmod 700"):
        prepare(layout, [folder], web)
    folder.chmod(0o700)
    with pytest.raises(InputError, match="--data"):
        prepare(Layout(folder / "server"), [folder], web)
    prepare(layout, [folder], web)
    owners = {path.name: path.stat().st_uid for path in layout.root.iterdir()}
    assert owners == {"intake": web.uid, "public": 0, "scorer": 0}
    for same in (web, User("root", 0, 0)):
        with pytest.raises(InputError, match="user of its own"):
            prepare(layout, [folder], web, same)
    layout.intake.touch(0o600)
    prepare(layout, [folder], web=web, checker=User("checker", 12_345, gid=12_345))
    modes = {
        path.relative_to(layout.root).as_posix(): path.stat().st_mode & 0o7777
        for path in (layout.root, *layout.root.rglob("*"))
    }
    assert modes == {
        ".": 0o711, "checker": 0o711, "intake": 0o2770, "intake/intake.sqlite": 0o660,
        "intake/uploads": 0o2770, "public": 0o2750, "scorer": 0o700,
    }  # fmt: skip
    assert layout.intake.stat().st_uid == web.uid
    alone = Layout(tmp_path / "alone")
    prepare(alone, [folder], web=None)
    assert alone.root.stat().st_mode & 0o777 == 0o700
    assert served_folder(folder) is None


def test_the_order_of_the_folders_does_not_change_where_the_accounts_are(tmp_path: Path) -> None:
    first, second, third = folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    assert records_folder([second, first]) == second / "server"
    for name in (second / "server", tmp_path / "apart"):
        layout = Layout(name)
        layout.create()
        Accounts(layout.intake).close()
    # Without a note too: an earlier version wrote none.
    assert records_folder([first, second]) == second / "server"
    note_records(first, second / "server")
    for order in ([first, second], [second, first], [first], [third, first]):
        assert records_folder(order) == second / "server"
    note_records(third, tmp_path / "apart")
    with pytest.raises(UsageError, match="different accounts and queues"):
        records_folder([first, third])
    moved = (tmp_path / "moved").resolve()
    moved.mkdir()
    second.rename(moved / "b")
    assert records_folder([moved / "b"]) == moved / "b" / "server"
    assert records_folder([first]) == first / "server"


def test_the_units_of_two_competitions_name_both(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "second")
    out = tmp_path / "units"
    options = ["-C", str(folder), "-C", str(other), "--print-units", str(out)]
    answer = CliRunner().invoke(serve.app, [*options, "--url", "https://race.example.org"])
    assert answer.exit_code == 0, answer.output
    files = {path.name: path.read_text() for path in out.iterdir()}
    assert "--part web --name race,second" in files["arena-web.service"]
    assert f"InaccessiblePaths={folder} {other}" in files["arena-web.service"]
    for name, path in (("race", folder), ("second", other)):
        assert f"-C {path} --name {name}" in files[f"arena-scorer-{name}.service"]
        assert f"arena-checker-{name}.socket arena-scorer-{name}" in files["setup.sh"]
        services = yaml.safe_load(files["compose.yaml"])["services"]
        assert f"{path}:/competition" in services[f"scorer-{name}"]["volumes"]


def test_units_of_two_competitions_name_both_and_run_each_sandbox_with_its_rights() -> None:
    competitions = [
        UnitCompetition(Path("/srv/race"), "race", "podman(runtime=crun)"),
        UnitCompetition(Path("/srv/cup"), "cup", "bwrap"),
        UnitCompetition(Path("/srv/quiz"), "quiz"),
    ]
    files = unit_files(
        competitions, Path("/data"), "a.org", 81, max_bytes=1, owner="ada", program="arena"
    )
    parts = ("scorer-{}.service", "checker-{}.socket", "checker-{}.service", "runner-{}.service")
    assert {*files} == {
        *(f"arena-{part.format(name)}" for name in ("race", "cup", "quiz") for part in parts),
        *("setup.sh", "arena-web.service", "Caddyfile", "nginx.conf", "compose.yaml"),
        "Containerfile",
    } - {"arena-runner-quiz.service"}
    for name, privileges, sandbox in (
        ("race", "false", "'podman(runtime=crun)'"), ("cup", "true", "bwrap"),
    ):  # fmt: skip
        unit = files[f"arena-runner-{name}.service"]
        assert f"NoNewPrivileges={privileges}\n" in unit
        assert f"--to http://127.0.0.1:81/{name} " in unit
        assert f" --sandbox {sandbox} " in unit
    setup, compose = files["setup.sh"], files["compose.yaml"]
    assert "install -d -m 700 -o arena-run /var/lib/arena-runner\n" in setup
    assert "chmod 700 /srv/race /srv/cup /srv/quiz\n" in setup
    assert (
        "enable --now arena-web arena-checker-race.socket arena-scorer-race "
        "arena-checker-cup.socket arena-scorer-cup arena-checker-quiz.socket arena-scorer-quiz\n"
    ) in setup
    for text in (setup, compose, files["arena-web.service"]):
        assert "--name race,cup,quiz " in text
    assert [compose.count(f"  scorer-{name}:") for name in ("race", "cup", "quiz")] == [1, 1, 1]


def test_units_are_not_written_for_a_folder_that_would_need_quoting(tmp_path: Path) -> None:
    for name, is_written in (
        ("my race", False), ("race$1", False), ("race:1", False), ("race%n", False),
        ("r\u00e9ce_1.2+a@b-c", True),
    ):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir()
        (folder / CONFIG_NAME).write_text('[metric]\nname = "mae"\n')
        sentence = (
            f"{folder} cannot stand in these files: use a path of letters, digits and any of "
            "/ . _ + @ -"
        )
        out = tmp_path / "out"
        message = refusal("-C", str(folder), "--print-units", str(out))
        assert (message, out.exists()) == (("None", True) if is_written else (sentence, False))


@pytest.mark.slow
@pytest.mark.long
def test_a_check_covers_every_competition(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "second")
    (other / "rules.md").unlink()
    answer = CliRunner().invoke(serve.app, ["-C", str(folder), "-C", str(other), "--check"])
    assert answer.exit_code == 1
    assert "second: There are no rules" in answer.output
    assert "race: There are no rules" not in answer.output
    assert "race: [competition] deadline is not set." in answer.output
