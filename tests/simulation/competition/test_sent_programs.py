"""Simulated teams that send programs: the whole path, and a machine without a sandbox."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import SandboxError, UsageError
from arena.plugin.manager import PluginManager
from arena.simulation.competition.prepare import with_programs
from arena.simulation.competition.sent_programs import (
    program_with,
    settings_with_programs,
    write_inputs,
)
from arena.simulation.competition.simulate import simulate
from arena.simulation.competition.teams import read_kinds
from arena.utils.parallel import NoProgress
from arena_sandboxes.bubblewrap import Bubblewrap


def test_a_program_is_two_files_without_a_time() -> None:
    with zipfile.ZipFile(io.BytesIO(program_with(b"id,y\n"))) as members:
        times = {member.filename: member.date_time for member in members.infolist()}
        assert members.read("predictions.csv") == b"id,y\n"
        assert all(member.compress_type == zipfile.ZIP_DEFLATED for member in members.infolist())
    assert times == dict.fromkeys(["main.py", "predictions.csv"], (1980, 1, 1, 0, 0, 0))


def test_what_programs_run_on_are_the_ids_and_for_the_trial_those_of_none(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {
            "metric": {"name": "accuracy"},
            "programs": {"sandbox": "podman", "seconds": 3, "command": "python other.py"},
        }
    )
    programs = settings_with_programs(settings).programs
    plain = settings_with_programs(Settings.of(metric="accuracy")).programs
    assert (programs.sandbox, plain.sandbox) == ("podman", "bwrap")
    assert (programs.seconds, programs.command, tuple(programs.show)) == (3, plain.command, ())
    solution = SimpleNamespace(id_column="row", ids=pa.array(["a", "b"]))
    for _ in range(2):  # the folders may exist
        write_inputs(tmp_path / "new", programs, solution)
    written = [(tmp_path / "new" / name / "rows.csv").read_bytes()
               for name in (programs.inputs, programs.sample)]  # fmt: skip
    assert written == [b"row\r\na\r\nb\r\n", b"row\r\n"]


@pytest.mark.slow
def test_a_machine_without_a_sandbox_leaves_out_the_teams_that_send_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))

    def fails(*_: object) -> None:
        raise SandboxError("bwrap is not installed.")

    monkeypatch.setattr(Bubblewrap, "run", fails)
    manager, settings = PluginManager(), Settings.of(metric="accuracy")
    kinds = read_kinds("program(of=boosting)=2, copycat", manager.competitors)
    same, left, notes = with_programs(settings, kinds, manager)
    assert (same, [kind.specification for kind in left]) == (settings, ["copycat"])
    assert notes == [
        "program(of=boosting) is left out: this machine runs no programs. bwrap is not installed."
    ]
    with pytest.raises(UsageError, match="runs no programs"):
        with_programs(settings, kinds[:1], manager)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_team_that_sends_programs_has_the_scores_of_one_that_sends_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    boards = {}
    for kind in ("boosting", "program(of=boosting)"):
        folder = tmp_path / kind
        for _ in range(2):  # what is stored is not run again
            simulate(
                folder, "full", kinds=kind, teams=2, days=1, rows=60, train_rows=60,
                validation_rows=30, baseline="none", progress=NoProgress(),
            )  # fmt: skip
        with Competition.open(folder) as competition:
            assert competition.audit() == ()
            boards[kind] = [row["score"] for row in competition.private_leaderboard()]
            received = competition.events("program received")
            of_teams = [row for row in competition.submissions() if "simulated 0" in row["team"]]
            assert len(received) == (len(of_teams) if kind.startswith("program") else 0)
    assert boards["boosting"] == boards["program(of=boosting)"]
