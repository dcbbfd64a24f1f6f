"""Arguments that exclude each other, or lack their other half, are refused at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from program import run_here

REFUSED: list[tuple[str, str]] = [
    ("disqualify --reason x", "either the number of a submission or --team"),
    ("disqualify 1 --team a --reason x", "either the number of a submission or --team"),
    ("leaderboard --csv --json", "--csv and --json exclude each other"),
    ("leaderboard --private --html a.html", "--html is for the public board"),
    ("metrics --check", "--check needs the name of a metric"),
    ("report --public --final --out a.html", "--public and --final exclude each other"),
    ("reproduce --json", "--json needs the name of a paper"),
    ("rank cases.csv --missing none", "fault, worst, baseline, pairwise or a number, not 'none'"),
    ("submit a.csv", "Name the team by --team, or a server by --to"),
    ("submit a.csv --team a --token-file t", "--token-file needs --to"),
    ("submit a.csv --to http://localhost:1 --team a", "the token names the team"),
    ("submit a.csv --to http://localhost:1 -C c", "the token names the team"),
    ("submit a.csv --to http://localhost:1", "--to needs --token-file"),
    ("submit a.csv --to http://localhost:1 --token-file none", "The token cannot be read from"),
    ("serve --part web", "--part web needs --name and --data"),
    ("serve --part checker --name a", "--part checker needs --name and --data"),
    ("demo --out file", "file is a file; choose another folder with --out"),
    ("demo --out used", "has files that are not of a demo"),
]


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.doc").touch()
    for command, said in REFUSED:
        before = sorted(tmp_path.rglob("*"))
        done = run_here(*command.split(), cwd=tmp_path)
        told = " ".join(done.stderr.split())
        assert (done.returncode, said in told) == (2, True), (command, told)
        assert done.stdout == ""
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("audit", "no competition"),
        ("leaderboard -C nowhere", "nowhere"),
        ("serve --check -C nowhere", "nowhere"),
    ],
)
def test_a_folder_without_a_competition_is_named(tmp_path: Path, command: str, said: str) -> None:
    done = run_here(*command.split(), cwd=tmp_path)
    assert done.returncode in {1, 2}
    assert said in " ".join(done.stderr.split())
