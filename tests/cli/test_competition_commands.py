"""The commands of a competition that lasts, from ``arena init`` to ``arena repair``."""

from __future__ import annotations

import csv
import io
import stat
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from arena.competition.competition import Competition
from arena.report.cells import columns_of
from arena.report.model import Column
from arena.report.terminal import print_columns, print_table
from arena.types import Table, Usage
from competition_folder import IDS, INIT, N_ROWS, change, document, write_file, write_solution
from program import run_here, with_options, write_csv

# -- init ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_init_writes_what_a_competition_needs(here: Path, arena_there: Any) -> None:
    assert {"arena.duckdb", "competition.toml", "sample_submission.csv"} <= {
        path.name for path in (here / "c").iterdir()
    }
    assert stat.S_IMODE((here / "c" / "arena.duckdb").stat().st_mode) == 0o600
    assert 'title = "[red]Trial"' in (here / "c" / "competition.toml").read_text()
    answer = document(arena_there("submit", "sample_submission.csv", "-t", "s", "--json"), "submit")
    assert (answer["status"], answer["released"]) == ("accepted", 0.5)


@pytest.mark.slow
def test_options_of_init_reach_the_settings(tmp_path: Path) -> None:
    rows = [(row // 2, i, row % 2, "Private", "z") for row, i in enumerate(IDS)]
    write_csv(tmp_path / "solution.csv", ["group", "key", "label", "part", "other"], rows)
    called = run_here(
        *with_options(
            INIT, "--id", "key", "--target", "label", "--usage", "part", "--positive", "0",
            "--cluster", "group", "--mechanism", "kaggle(rounding=0.1)", "--public-share", 0.5,
        ),
        cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    with Competition.open(tmp_path / "c") as competition:
        assert competition.solution.targets[0].classes == ("1", "0")
        assert competition.solution.clusters is not None
        assert competition.settings.public.mechanism == "kaggle(rounding=0.1)"
        usage = competition.solution.usage
        assert (usage == Usage.PUBLIC).sum() == N_ROWS / 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--metric", "roc_uac"), 1, "Did you mean 'roc_auc'?"),
        (("--metric", " "), 2, "--metric is empty"),
        (("--mechanism", "fulll"), 1, "Did you mean 'full'?"),
        (("--public-share", "1.5"), 2, "public share"),
        (("--title", "a\x7fb"), 2, "--title contains a control character"),
        (("--target", "nothing"), 1, "nothing"),
        (("--solution", "none.csv"), 1, "none.csv"),
        (("--seed", "-1"), 2, "seed"),
    ],
)
def test_a_refused_init_leaves_nothing(
    tmp_path: Path, arguments: tuple[str, str], code: int, message: str
) -> None:
    write_solution(tmp_path)
    called = run_here(*with_options(INIT, *arguments), cwd=tmp_path)
    assert called.returncode == code
    assert message in called.stderr
    assert called.stdout == ""
    assert not (tmp_path / "c").exists()


def test_init_copies_the_inputs_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "16")
    write_solution(tmp_path)
    for name in ("hidden", "shown"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text(name)
    inputs = ("--programs", "hidden", "--sample-inputs", "shown")
    called = run_here(*INIT, *inputs, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    assert (tmp_path / "c/programs/inputs/rows.csv").read_text() == "hidden"
    assert (tmp_path / "c/files/sample_inputs/rows.csv").read_text() == "shown"
    lines = called.stdout.splitlines()
    assert lines[2] == (
        "Teams submit programs. They run on the files of c/programs/inputs, after a trial on "
        "c/files/sample_inputs; limits and the libraries that they may import are set under "
        "[programs]."
    )
    assert lines[-3:] == [
        "    arena submit main.py --team sample -C c",
        "    arena leaderboard -C c",
        "    arena serve -C c",
    ]


def test_init_overwrites_nothing(here: Path) -> None:
    again = run_here(*INIT, cwd=here)
    assert again.returncode == 1
    (here / "d").mkdir()
    (here / "d" / "sample_submission.csv").write_text("mine")
    other = run_here("init", "d", *INIT[2:], cwd=here)
    assert other.returncode == 1
    assert "already contains sample_submission.csv" in other.stderr
    assert [path.name for path in (here / "d").iterdir()] == ["sample_submission.csv"]


# -- the folder of a competition -----------------------------------------------------------------


def test_the_folder_is_found_upwards_or_named(here: Path) -> None:
    inside = here / "c" / "some" / "where"
    inside.mkdir(parents=True)
    assert run_here("submissions", cwd=inside).returncode == 0
    assert run_here("submissions", "-C", "c", cwd=here).returncode == 0
    nowhere = run_here("submissions", "--json", cwd=here)
    assert nowhere.returncode == 1
    assert nowhere.stdout == ""
    assert nowhere.stderr.startswith("arena: There is no competition.toml in ")


# -- submissions ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_submission_is_answered(here: Path, arena_there: Any) -> None:
    first = document(arena_there("submit", "../files/a.csv", "-t", " a ", "--json"), "submit")
    assert (first["submission"], first["team"], first["status"]) == (1, "a", "accepted")
    assert document(arena_there("submit", "../files/a.csv", "-t", "a", "--json"), "submit") == first
    process = arena_there("submit", "../files/a.csv", "--team", "a")
    assert process.stdout.startswith("Submission 1 of a: accepted. Its public score is 0.")
    assert process.stderr == ""
    keyed = ("submit", "../files/b.csv", "-t", "a", "--key", "k", "--json")
    assert document(arena_there(*keyed), "submit")["submission"] == 2
    other = document(arena_there("submit", "../files/c.csv", *keyed[2:]), "submit")
    assert other["submission"] == 2  # the key says that it is the same


@pytest.mark.slow
def test_what_was_there_already_is_counted_apart(here: Path, arena_there: Any) -> None:
    assert arena_there("submit", "../files/a.csv", "-t", "a").returncode == 0
    first = arena_there("import", "../files")
    assert "2 accepted, 1 was there already, 1 rejected." in first.stdout
    assert "3 were there already, 1 rejected." in arena_there("import", "../files").stdout


def test_a_team_without_a_name_is_told_of_the_option(here: Path, arena_there: Any) -> None:
    called = arena_there("submit", "../files/a.csv", "--team", " ")
    assert called.returncode == 1
    assert "The team name is empty. Give a name with --team." in called.stdout


@pytest.mark.slow
def test_what_is_not_accepted_exits_with_one(here: Path, arena_there: Any) -> None:
    change(here / "c", "# per_day =", "per_day = 1")
    rejected = document(arena_there("submit", "../files/d.csv", "-t", "a", "--json"), "submit", 1)
    assert rejected["status"] == "rejected"
    assert rejected["faults"][0]["row"] == 2
    assert arena_there("submit", "../files/a.csv", "-t", "a").returncode == 0
    refused = arena_there("submit", "../files/b.csv", "-t", "a")
    assert refused.returncode == 1
    assert "refused" in refused.stdout
    assert "1 submission a day" in refused.stdout
    missing = arena_there("submit", "none.csv", "-t", "a", "--json")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "There is no file none.csv." in missing.stderr
    assert arena_there("submit", "..", "-t", "a").returncode == 1


@pytest.mark.slow
def test_an_import_takes_a_folder_and_goes_on(here: Path, arena_there: Any) -> None:
    change(here / "c", "# total =", "total = 1")
    assert arena_there("submit", "../files/b.csv", "-t", "b").returncode == 0
    write_file(here / "files" / "b" / "more.csv", 9)
    first = document(arena_there("import", "../files", "--json"), "import")
    assert [answer["team"] for answer in first["answers"]] == ["a", "b", "b", "c", "d"]
    assert [answer["status"] for answer in first["answers"]] == ["accepted"] * 4 + ["rejected"]
    assert document(arena_there("import", "../files", "--json"), "import") == first
    listed = document(arena_there("submissions", "--json"), "submissions")["submissions"]
    assert len(listed) == 5
    process = arena_there("import", "../files", "--strict")
    assert process.returncode == 1
    assert "of d (d.csv): rejected." in process.stdout
    assert "not a number (40)" in process.stdout
    assert process.stdout.count("row ") == 3
    assert process.stdout.endswith("4 were there already, 1 rejected.\n")


def test_an_import_of_nothing_exits_with_one(here: Path, arena_there: Any) -> None:
    (here / "empty").mkdir()
    called = arena_there("import", "../empty", "--json")
    assert document(called, "import", 1)["answers"] == []
    assert called.stderr == "arena: No submission was accepted.\n"
    assert arena_there("import", "../none").returncode == 1


@pytest.mark.slow
def test_submissions_are_listed(here: Path, arena_there: Any) -> None:
    assert arena_there("submissions").stderr == "There is no submission yet.\n"
    assert arena_there("import", "../files").returncode == 0
    assert arena_there("select", "--team", "b", 2).returncode == 0
    assert arena_there("disqualify", 3, "--reason", "copied").returncode == 0
    rows = document(arena_there("submissions", "--json"), "submissions")["submissions"]
    assert [row["status"] for row in rows] == ["accepted", "accepted", "disqualified", "rejected"]
    assert [row["selected"] for row in rows] == [False, True, False, False]
    assert [row["file"] for row in rows] == ["a.csv", "b.csv", "c.csv", "d.csv"]
    (own,) = document(arena_there("submissions", "-t", "b", "--json"), "submissions")["submissions"]
    assert own == rows[1]
    assert "disqualified" in arena_there("submissions").stdout
    again = arena_there("disqualify", 3, "--reason", " copied ")
    assert again.returncode == 2
    assert "3 is already disqualified for this reason" in again.stderr
    other = arena_there("disqualify", 3, "--reason", "a \u202eleak")
    assert "was excluded already, for the reason: copied" in other.stdout
    *_, last = document(arena_there("audit", "--json"), "audit")["events"]
    assert last["payload"]["reason_before"] == "copied"
    assert arena_there("submissions", "-t", "x").stderr == "This team has no submissions.\n"


@pytest.mark.slow
def test_choices_are_checked(here: Path, arena_there: Any) -> None:
    assert arena_there("import", "../files").returncode == 0
    chosen = arena_there("select", "-t", "a", 1)
    assert chosen.stdout == "a chose 1.\n"
    assert "The rule of the final selection is best_public" in chosen.stderr
    change(here / "c", 'rule = "best_public"', 'rule = "chosen"')
    back = arena_there("select", "-t", "a")
    assert back.stdout == "a chose no submissions.\n"
    assert "selections are not used" not in back.stderr
    for arguments in (
        ("select", "-t", "a", 2),
        ("select", "-t", "a", 1, 2, 3),
        ("select", "1"),
        ("disqualify", 9, "--reason", "x"),
        ("disqualify", 1, "--reason", " "),
    ):
        called = arena_there(*arguments)
        assert called.returncode == 2
        assert called.stdout == ""
        assert called.stderr


# -- boards --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_public_leaderboard(here: Path, arena_there: Any) -> None:
    change(here / "c", "# baseline =", 'baseline = "b"')
    assert document(arena_there("leaderboard", "--json"), "leaderboard")["standings"] == []
    answers = document(arena_there("import", "../files", "--json"), "import")["answers"]
    released = {
        answer["team"]: answer["released"] for answer in answers if answer["status"] == "accepted"
    }
    board = document(arena_there("leaderboard", "--json"), "leaderboard")
    assert (board["split"], board["metric"], board["title"]) == ("public", "roc_auc", "[red]Trial")
    assert {row["team"]: row["score"] for row in board["standings"]} == released
    assert {row["team"]: row["rank"] for row in board["standings"]}["b"] is None
    scores = [row["score"] for row in board["standings"]]
    assert scores == sorted(scores, reverse=True)
    output = arena_there("leaderboard").stdout
    assert "[red]Trial: public board, roc_auc (larger is better)" in output
    assert "b (baseline)" in output
    rows = list(csv.DictReader(io.StringIO(arena_there("leaderboard", "--csv").stdout)))
    assert [row["team"] for row in rows] == [row["team"] for row in board["standings"]]
    assert [float(row["score"]) for row in rows] == scores
    assert arena_there("leaderboard", "--csv", "--json").returncode == 2


@pytest.mark.slow
def test_an_exemption_says_that_no_team_has_its_name(arena_there: Any) -> None:
    assert arena_there("submit", "../files/a.csv", "--team", "Owls").returncode == 0
    exempted = {
        team: arena_there("exempt", team, "--extra", "1", "--reason", "ill")
        for team in ("Owls", "Olws")
    }
    assert {team: "No team of this name" in done.stderr for team, done in exempted.items()} == {
        "Owls": False,
        "Olws": True,
    }
    assert all("is exempted" in done.stdout for done in exempted.values())


@pytest.mark.slow
def test_the_private_leaderboard(here: Path, arena_there: Any) -> None:
    change(here / "c", "resamples = 1000", "resamples = 50")
    assert arena_there("import", "../files").returncode == 0
    early = arena_there("leaderboard", "--private", "--json")
    assert (early.returncode, early.stdout) == (2, "")
    assert "finalize" in early.stderr
    with Competition.open(here / "c") as competition:
        result = competition.finalize()
    board = document(arena_there("leaderboard", "--private", "--json"), "leaderboard")
    assert board["split"] == "private"
    scores = [row["score"] for row in board["standings"]]
    assert scores == [row["score"] for row in result.standings]
    rows = list(
        csv.DictReader(io.StringIO(arena_there("leaderboard", "--private", "--csv").stdout))
    )
    assert [float(row["rank_high"]) for row in rows] == [
        row["rank_high"] for row in result.standings
    ]
    assert "rank interval" in arena_there("leaderboard", "--private").stdout


def test_a_narrow_terminal_gets_the_important_columns() -> None:
    rows = tuple((10**29 + rank, rank, "team", "") for rank in range(9))
    table = Table("Board", ("wide", "rank", "team", "empty"), rows, importance=(3, 1, 2, 1))
    out = Console(file=io.StringIO(), width=24)
    print_table(table, out, most=4)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert text.startswith("Board")
    assert "1000" not in text
    assert "… and 5 more" in text
    flat = " ".join(text.split())
    assert "Too wide for this terminal: wide; --json prints all." in flat
    assert "empty" not in text


def test_the_lines_of_a_long_table_are_those_of_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["owls", "日本", "é", "long…", "", "[red]x"]
    rows = tuple((10**n, name) for n, name in enumerate(names))
    table = Table("Board", ("rank", "team"), rows)

    def shown() -> str:
        out = Console(file=io.StringIO(), width=40, markup=False)
        print_columns(columns_of(table), out, title="Board", most=None)
        text: str = out.file.getvalue()  # type: ignore[attr-defined]
        return text

    by_rich = shown()
    monkeypatch.setattr("arena.report.terminal.ROWS_OF_RICH", 2)
    assert shown() == by_rich


def test_the_picture_of_ranks_is_narrowed_before_it_is_left_out() -> None:
    columns = [
        Column("team", "", ("a" * 32,) * 16),
        Column("rank interval", "", ("",) * 16, bars=((0.0, 100.0), *[None] * 15)),
    ]
    for width, marks in ((60, 16), (50, 10), (45, 5), (44, 0)):
        out = Console(file=io.StringIO(), width=width)
        print_columns(columns, out, title="")
        assert isinstance(out.file, io.StringIO)
        assert out.file.getvalue().count("━") == marks, width


def test_long_texts_are_wrapped_in_a_table_and_cut_on_a_board() -> None:
    table = Table("", ("question", "answer"), (("Which?", "word " * 20),))
    wrapped, cut = (Console(file=io.StringIO(), width=50) for _ in range(2))
    print_table(table, wrapped)
    print_columns(columns_of(table), cut, title="")
    assert wrapped.file.getvalue().count("word") == 20  # type: ignore[attr-defined]
    assert "…" in cut.file.getvalue()  # type: ignore[attr-defined]


def test_letters_that_are_two_columns_wide_do_not_hide_the_other_columns() -> None:
    short_names = {"長" * 26: "長" * 15 + "…", "長" * 16: "長" * 16, "a" * 40: "a" * 31 + "…"}
    for name, cut in short_names.items():
        out = Console(file=io.StringIO(), width=60)
        print_columns([Column("team", "", (name,))], out, title="")
        text: str = out.file.getvalue()  # type: ignore[attr-defined]
        assert text.rsplit(maxsplit=1)[-1] == cut
