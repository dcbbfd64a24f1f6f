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
    ("audit --released --json", "--released excludes other options"),
    ("audit --released --since x", "--released excludes other options"),
    ("demo --programs --json", "--programs shows its board only"),
    ("demo --programs --out used", "used is not empty: choose another one"),
    ("export --site --phase final out", "the pages have every phase"),
    ("import used --codabench a --evalai b", "exclude other options and each other"),
    ("import used --codabench a --json", "exclude other options and each other"),
    ("init c", "Give --solution and --metric"),
    ("init c --settings s --metric accuracy", "--settings excludes other settings"),
    ("init c --settings s", "--settings needs FOLDER and --solution"),
    ("masks used -o out.csv --labels 0", "--labels are whole numbers from 1"),
    ("masks used -o out.csv --column id", "--column cannot be id"),
    ("masks used -o file", "file exists: choose another name or delete it"),
    ("plan --from file -C c", "does not use -C, --phase and --wait"),
    ("programs rerun", "Name submissions, or give --finalists, or --from"),
    ("programs rerun 1 --finalists", "Name submissions, or give --finalists, or --from"),
    ("runner --token-file t --to a", "Give --inputs FOLDER for hidden runs"),
    ("runner --token-file t --inputs used", "Give either --to ADDRESS or --work FOLDER"),
    ("runner --token-file t --inputs used --to a --work used", "Give either --to ADDRESS or"),
    ("submit a.csv --team a --answer b", "--answer is 'b', but must be KEY=TEXT"),
    ("winners 1", "Name both the submission and --state"),
    ("winners --state open", "Name both the submission and --state"),
]


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.doc").touch()
    for command, sentence in REFUSED:
        before = sorted(tmp_path.rglob("*"))
        done = run_here(*command.split(), cwd=tmp_path)
        errors = " ".join(done.stderr.split())
        assert (done.returncode, sentence in errors) == (2, True), (command, errors)
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
