"""A short command does not import what only the end of a competition needs."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import arena
from checkout import python_path
from program import run_here, write_csv

_CODE = """
import sys
from arena.cli.main import main
sys.argv = ["arena", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
heavy = ["scipy", "pandas", "sklearn", "numba", "altair", "lightgbm", "statsmodels"]
heavy += ["arena.charts", "arena.report.contents", "http.client", "ssl"]
heavy += ["arena_mechanisms.noisy"]
if sys.argv[1] == "leaderboard":  # reads no file of predictions
    heavy += ["pyarrow", "arena.intake.reader", "joblib"]
    heavy += ["arena.competition.submit", "arena.competition.boards.finalize"]
    heavy += ["arena.scoring.board"]
    heavy += ["arena.public_board.releaser", "arena.store.audit", "arena.evaluation.similar"]
    heavy += ["arena.evaluation.scores", "arena.evaluation.row_weights", "arena.utils.processes"]
    heavy += [f"arena.interfaces.{one}" for one in ("analyses", "competitors", "floors", "papers")]
if sys.argv[1] == "submit":  # prints lines only
    heavy += ["rich", "pyarrow.compute", "pyarrow.parquet", "arena.store.audit"]
    heavy += ["arena.competition.create", "arena.competition.queue.processing"]
    heavy += ["arena.intake.solution", "arena.intake.mask_files", "arena.scoring.settings"]
    heavy += ["arena.evaluation.black_box", "multiprocessing"]
if sys.argv[1] == "validate":
    heavy.remove("arena.charts")
    heavy += ["duckdb", "arena.scoring.board", "arena.evaluation.best_score"]
if sys.argv[1] == "score":
    heavy = ["numpy.f2py", "scipy.optimize", "scipy.stats", "pandas", "sklearn", "duckdb"]
if sys.argv[1] == "--help":
    heavy += ["numpy", "duckdb", "pyarrow"]
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def _run(*arguments: str, folder: Path) -> str:
    called = subprocess.run(
        [sys.executable, "-c", _CODE, *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    return called.stderr.splitlines()[-1]


def test_help_imports_no_library_of_arrays_or_storage(tmp_path: Path) -> None:
    assert _run("--help", folder=tmp_path) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["submit", "leaderboard"])
@pytest.mark.parametrize("mechanism", ["kaggle", "ladder-free"])
def test_submit_and_leaderboard_import_nothing_heavy(
    tmp_path: Path, command: str, mechanism: str
) -> None:
    rows = [[f"r{i}", i % 2] for i in range(40)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    process = run_here(
        *("init", "c", "--solution", "solution.csv", "--metric", "accuracy"),
        *("--mechanism", mechanism), cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    write_csv(tmp_path / "team.csv", ["id", "y"], rows)
    arguments = [command, "-C", "c"] + (["team.csv", "-t", "a"] if command == "submit" else [])
    assert _run(*arguments, folder=tmp_path) == "[]"


@pytest.mark.slow
def test_validate_imports_neither_the_store_nor_the_board(tmp_path: Path) -> None:
    write_csv(tmp_path / "solution.csv", ["id", "y"], [[f"r{i}", i % 2] for i in range(40)])
    write_csv(tmp_path / "team.csv", ["id", "y"], [[f"r{i}", i % 2] for i in range(40)])
    arguments = ["validate", "solution.csv", "team.csv", "--metric", "accuracy"]
    assert _run(*arguments, folder=tmp_path) == "[]"


@pytest.mark.slow
def test_score_of_areas_imports_little_of_scipy(tmp_path: Path) -> None:
    (tmp_path / "sent").mkdir()
    write_csv(tmp_path / "solution.csv", ["id", "y"], [[f"r{i}", i % 2] for i in range(40)])
    for team in range(4):
        rows = [[f"r{i}", i % 2 + (7 + team) * i % 11 / 5] for i in range(40)]
        write_csv(tmp_path / "sent" / f"{team}.csv", ["id", "y"], rows)
    arguments = ["score", "solution.csv", "sent", "--metric", "roc_auc", "--json"]
    assert _run(*arguments, folder=tmp_path) == "[]"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a reader is forked")
def test_the_reader_of_submit_is_forked_before_anything_is_read(tmp_path: Path) -> None:
    """A program that calls the command may hold labels: its reader is a new process."""
    rows = [[f"r{i}", i % 2] for i in range(40)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    write_csv(tmp_path / "team.csv", ["id", "y"], rows)
    code = """
import os, sys
import duckdb
from arena.cli.main import main
done = []
fork, connect = os.fork, duckdb.connect
os.fork = lambda: (done.append("fork"), fork())[1]
duckdb.connect = lambda *given, **named: (done.append("open"), connect(*given, **named))[1]
for arguments in (None, ["submit", "-C", "c", "team.csv", "-t", "b"]):
    try:
        main(arguments)
    except SystemExit as end:
        assert not end.code, end.code
print(done[:2], done.count("fork"), file=sys.stderr)
"""
    process = run_here("init", "c", "--solution", "solution.csv", "--metric", "mae", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    called = subprocess.run(
        [sys.executable, "-c", code, "submit", "-C", "c", "team.csv", "-t", "a"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert called.stderr.splitlines()[-1] == "['fork', 'open'] 1", called.stderr


@pytest.mark.slow
def test_the_end_calls_what_was_registered_and_keeps_the_exit_code(tmp_path: Path) -> None:
    """The program ends before Python takes itself apart, but not before everything else."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'arena.cli.main':\n"
        "            import atexit\n"
        "            atexit.register(print, 'registered')\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    for arguments, code in ((["--version"], 0), (["no-such-command"], 2)):
        called = subprocess.run(
            [sys.executable, "-m", "arena", *arguments],
            env={**os.environ, "PYTHONPATH": python_path(tmp_path)},
            capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
        assert called.returncode == code
        assert called.stdout.splitlines()[-1] == "registered"


def test_the_public_names_are_imported_on_first_use() -> None:
    code = "import sys, arena; print(len([name for name in sys.modules if name[:6] == 'arena.']))"
    called = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert called.stdout == "0\n"
    for name in arena.__all__:
        assert inspect.getdoc(getattr(arena, name)), name
    with pytest.raises(AttributeError, match="no attribute 'sotta'"):
        _ = arena.sotta


@pytest.mark.few(1)
@pytest.mark.parametrize("module", ["typer", "arena.errors", "arena.cli.discovery"])
def test_an_interrupt_while_the_program_is_imported_leaves_no_traceback(
    module: str, tmp_path: Path
) -> None:
    """``sitecustomize`` sends Ctrl-C at the moment in which a module is looked for."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    called = subprocess.run(
        [sys.executable, "-m", "arena", "--help"],
        env={**os.environ, "PYTHONPATH": python_path(tmp_path)},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert (called.returncode, called.stdout, called.stderr) == (130, "", "")


def test_the_installed_program_starts_as_the_module_does() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"] == {"arena": "arena.__main__:run"}
