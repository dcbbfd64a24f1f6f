"""Small competitions whose boards are worked out by hand, and the ways by which arena reaches them.

Every route takes a case and returns the boards that arena shows, as the tuples of the case.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import arena
from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.config import Settings
from program import run_here, write_csv


class PublicRow(NamedTuple):
    """A row of the public board."""

    rank: int | None
    team: str
    submission: int
    score: float


class PrivateRow(NamedTuple):
    """A row of the private board; of the baseline, which comes last, the rank is None."""

    rank: int | None
    team: str
    submission: int
    score: float
    public_score: float | None
    public_rank: int | None


@dataclass(frozen=True)
class BoardCase:
    """A competition and its boards, worked out by hand."""

    name: str
    metric: str
    table: str
    """The rows of the solution, then after each ``|`` a submission under the name of its team, in
    the order of arrival. Cells are separated by two spaces or more."""
    public: Sequence[PublicRow]
    private: Sequence[PrivateRow]
    scored: Sequence[PrivateRow] | None = None
    """The board of ``arena score``, which takes the last file of each team and knows no decision;
    None: as the private board."""
    columns: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Further columns of the private board, by team."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Options of the solution's columns: ``cluster``, ``weight``, ``positive``."""
    target: Sequence[str] = ("y",)
    sent: Sequence[str] | None = None
    """The columns of a submission; None: the target columns."""
    mechanism: str = "full"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of ``competition.toml``, as :meth:`arena.Settings.of` names them."""
    rejected: Sequence[int] = ()
    """The numbers of submissions with a fault."""
    selected: Mapping[str, Sequence[int]] = field(default_factory=dict)
    disqualified: Sequence[int | str] = ()
    """Numbers of submissions, and teams."""
    corrected: Mapping[str, str] = field(default_factory=dict)
    """Labels that are corrected before the end, by id; ``private`` is the board after that."""
    copies: int = 1
    """How many times each row occurs, which changes no score."""
    resamples: int = 0
    """0: no intervals."""
    best: float | None = None
    """The best score corrected for selection."""
    said: Sequence[str] = ()
    """Sentences below the private board and below that of ``arena score``."""
    noted: Sequence[str] = ()
    """Sentences below the private board only."""

    @property
    def _parts(self) -> list[list[list[str]]]:
        """The cells by line and part of the line, the header first."""
        lines = [line.split("|") for line in self.table.strip().splitlines()]
        return [[re.split(r"\s{2,}", part.strip()) for part in line] for line in lines]

    @property
    def teams(self) -> list[str]:
        """The team of each submission."""
        return [team for (team,) in self._parts[0][1:]]

    def solution(self, *, corrected: bool = False) -> dict[str, list[str]]:
        """Return the columns of the solution."""
        header, rows = self._parts[0][0], [line[0] for line in self._parts[1:]]
        columns = {name: list(cells) for name, *cells in zip(header, *rows, strict=True)}
        if corrected:
            (target,) = self.target
            columns[target] = [
                self.corrected.get(id, label)
                for id, label in zip(columns["id"], columns[target], strict=True)
            ]
        return self._copied(columns)

    def submission(self, number: int) -> dict[str, list[str]]:
        """Return the columns of a submission."""
        rows = [line[number] for line in self._parts[1:]]
        names = self.sent or self.target
        columns = {"id": [line[0][0] for line in self._parts[1:]]}
        columns |= {name: list(cells) for name, *cells in zip(names, *rows, strict=True)}
        return self._copied(columns)

    def _copied(self, columns: dict[str, list[str]]) -> dict[str, list[str]]:
        copied = {name: cells * self.copies for name, cells in columns.items()}
        if self.copies > 1:
            copied["id"] = [f"{id}-{row}" for row, id in enumerate(copied["id"])]
        return copied

    def file(self, number: int) -> str:
        """Return the name of a submission's file."""
        return f"{self.teams[number - 1]}/{number}.csv"

    def write(self, folder: Path) -> None:
        """Write solution.csv, corrected.csv and the folder sent."""
        for name, corrected in (("solution", False), ("corrected", True)):
            if self.corrected or not corrected:
                _write(folder / f"{name}.csv", self.solution(corrected=corrected))
        for number in range(1, len(self.teams) + 1):
            _write(folder / "sent" / self.file(number), self.submission(number))

    @property
    def solution_file(self) -> str:
        """The name of the file with the labels that count in the end."""
        return "corrected.csv" if self.corrected else "solution.csv"

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings as keywords of :meth:`arena.Settings.of`."""
        analysis = {"resamples": self.resamples} if self.resamples else {"intervals": False}
        return {
            "metric": self.metric,
            "target": tuple(self.target),
            "mechanism": self.mechanism,
            **self.roles,
            **analysis,
            **self.settings,
        }


class Boards(NamedTuple):
    """What a route shows."""

    public: list[Mapping[str, Any]]
    private: list[Mapping[str, Any]]
    best: Mapping[str, Any]
    """The corrected best score, and the winners."""
    text: str | None = None
    """The printed private board; None: the route prints none."""


def _write(path: Path, columns: Mapping[str, list[str]]) -> None:
    write_csv(path, list(columns), list(zip(*columns.values(), strict=True)))


def _typed(columns: Mapping[str, list[str]]) -> dict[str, list[Any]]:
    """Return columns of numbers where all cells are numbers, as a data frame would have them."""

    def numbers(cells: list[str]) -> list[Any]:
        try:
            return [float(cell) for cell in cells]
        except ValueError:
            return cells

    return {name: cells if name == "id" else numbers(cells) for name, cells in columns.items()}


def run(folder: Path, *arguments: object, code: int = 0) -> str:
    """Run ``arena ARGUMENTS…`` in a folder and return what it prints, without line ends."""
    done = run_here(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    output = done.stdout if "--json" in arguments else done.stdout + done.stderr
    return " ".join(output.split())


# -- routes ----------------------------------------------------------------------------------------


def by_score(case: BoardCase, folder: Path) -> Boards:
    """Score all files at once with ``arena score``."""
    case.write(folder)
    options = ["--metric", case.metric, "--target", ",".join(case.target)]
    options += [text for name, value in case.roles.items() for text in (f"--{name}", value)]
    options += ["--resamples", str(case.resamples)] if case.resamples else ["--no-intervals"]
    options += ["--workers", "1"]
    options += [f"--decimals={case.settings[key]}" for key in case.settings if key == "decimals"]
    arguments = ("score", case.solution_file, "sent", *options)
    document = json.loads(run(folder, *arguments, "--json"))
    assert [file["file"] for file in document["rejected"]] == [*map(case.file, case.rejected)]
    text = run(folder, *arguments) if case.said else None
    rows = [{**row, "submission": int(Path(row["file"]).stem)} for row in document["standings"]]
    return Boards([], rows, document["best_score_corrected"], text)


def by_score_of_python(case: BoardCase) -> Boards:
    """Score the last submission of each team with :func:`arena.score`, from memory."""
    last = {
        team: number for number, team in enumerate(case.teams, 1) if number not in case.rejected
    }
    result = arena.score(
        _typed(case.solution(corrected=bool(case.corrected))),
        {team: _typed(case.submission(number)) for team, number in sorted(last.items())},
        metric=case.metric,
        target=case.target,
        **case.roles,
        **({"resamples": case.resamples} if case.resamples else {"intervals": False}),
        workers=1,
    )
    assert result.positive == case.roles.get("positive", result.positive)
    rows = [{**row, "submission": last[row["team"]]} for row in result.standings]
    return Boards([], rows, result.best_score_corrected)


def by_python(case: BoardCase, folder: Path) -> Boards:
    """Create, submit, decide and finalize with :class:`arena.Competition`, from memory."""
    with Competition.create(
        folder / "race", _typed(case.solution()), Settings.of(**case.all_settings), seed=1
    ) as competition:
        for number, team in enumerate(case.teams, 1):
            answer = competition.submit(_typed(case.submission(number)), team)
            assert (answer.submission, answer.status) == (number, _status(case, number))
        for team, numbers in case.selected.items():
            competition.select(team, numbers)
        for choice in case.disqualified:
            if isinstance(choice, str):
                competition.disqualify_team(choice, "a leak")
            else:
                competition.disqualify(choice, "a leak")
        if case.corrected:
            competition.rescore(_typed(case.solution(corrected=True)), apply=True, workers=1)
        result = competition.finalize(workers=1)
        return Boards(
            competition.leaderboard(),
            competition.private_leaderboard(),
            result.best_score_corrected,
        )


def by_commands(case: BoardCase, folder: Path) -> Boards:
    """Create, submit, decide and finalize with the commands."""
    initialize(case, folder)
    race = folder / "race"
    for number, team in enumerate(case.teams, 1):
        file, code = f"../sent/{case.file(number)}", int(number in case.rejected)
        answer = json.loads(run(race, "submit", file, "--team", team, "--json", code=code))
        assert (answer["submission"], answer["status"]) == (number, _status(case, number))
    for team, numbers in case.selected.items():
        run(race, "select", "--team", team, *numbers)
    for choice in case.disqualified:
        what = ("--team", choice) if isinstance(choice, str) else (choice,)
        run(race, "disqualify", *what, "--reason", "a leak")
    return finalize(case, folder)


def initialize(case: BoardCase, folder: Path, *more: object) -> None:
    """Write the files of a case, and its competition as the folder race."""
    case.write(folder)
    values = {"target": ",".join(case.target), "mechanism": case.mechanism, **case.roles}
    options = [text for name, value in values.items() for text in (f"--{name}", value)]
    fixed = ("--metric", case.metric, "--per-day", 0, "--seed", 1)
    run(folder, "init", "race", "--solution", "solution.csv", *fixed, *options, *more)
    path = folder / "race" / "competition.toml"
    text = path.read_text()
    for key, value in case.all_settings.items():
        if key not in {"metric", *values}:
            name, written = key.removeprefix("final_"), json.dumps(value)
            text, count = re.subn(rf"(?m)^(# )?{name} =.*$", f"{name} = {written}", text)
            assert count == 1, name
    path.write_text(text)


def finalize(case: BoardCase, folder: Path) -> Boards:
    """Correct the labels if the case says so, finalize with the commands and return the boards."""
    race = folder / "race"
    if case.corrected:
        run(race, "rescore", "--solution", "../corrected.csv", "--apply")
    text = run(race, "finalize", "--workers", 1)
    public, private = (
        json.loads(run(race, "leaderboard", *which, "--json"))["standings"]
        for which in ((), ("--private",))
    )
    with CompetitionView.open(race) as competition:
        best = competition.final_result()["best_score_corrected"]
    return Boards(public, private, best, text)


def _status(case: BoardCase, number: int) -> str:
    return "rejected" if number in case.rejected else "accepted"


def by_view(case: BoardCase, folder: Path) -> Boards:
    """Return the boards of the finalized competition from Python, the private one computed."""
    with CompetitionView.open(folder / "race") as competition:
        result = competition.evaluate(workers=1)
        assert result.to_dict()["standings"] == competition.final_result()["standings"]
        private = competition.private_leaderboard()
        return Boards(competition.leaderboard(), private, result.best_score_corrected)


def verify(case: BoardCase, folder: Path) -> None:
    """Export the finalized competition, and let ``arena verify`` find no difference."""
    run(folder / "race", "export", "../export")
    assert "Every figure of the board agrees" in run(folder, "verify", "export", case.solution_file)


# -- comparison ------------------------------------------------------------------------------------


def differences(
    case: BoardCase, boards: Boards, *, scored: bool = False
) -> dict[str, tuple[Any, Any]]:
    """Return what a route shows and what was worked out by hand, where they differ.

    ``scored``: the route scored a folder of files, and knows no competition.
    """
    private = case.private if case.scored is None or not scored else case.scored
    sentences = case.said if scored else (*case.said, *case.noted)
    pairs: dict[str, tuple[Any, Any]] = {
        "private board": (_shown(PrivateRow, boards.private), list(map(_rounded, private))),
        "best score": (_rounded([boards.best["estimate"]], 1), [case.best]),
        "winners": (
            [(winner["place"], winner["team"]) for winner in boards.best.get("winners", ())],
            [(place, row.team) for place, row in enumerate(private, 1) if case.resamples],
        ),
        "not said": (
            [sentence for sentence in sentences if boards.text and sentence not in boards.text],
            [],
        ),
    }
    for name, values in case.columns.items():
        if not scored or name in boards.private[0]:
            column = {row["team"]: row[name] for row in boards.private}
            pairs[name] = (_rounded(map(column.get, values)), _rounded(values.values()))
    if not scored:
        pairs["public board"] = (_shown(PublicRow, boards.public), list(map(_rounded, case.public)))
        counts = Counter(
            team for position, team in enumerate(case.teams, 1) if position not in case.rejected
        )
        for row in (*boards.public, *boards.private):
            team = row["team"]
            facts = (row["n_submissions"], row["baseline"])
            pairs[f"facts of {team}"] = (
                facts,
                (counts[team], team == case.settings.get("baseline")),
            )
    return {name: (shown, by_hand) for name, (shown, by_hand) in pairs.items() if shown != by_hand}


def _shown(
    kind: type[PublicRow | PrivateRow], rows: Sequence[Mapping[str, Any]]
) -> list[list[Any]]:
    return [_rounded(row[name] for name in kind._fields) for row in rows]


def _rounded(row: Iterable[Any], digits: int = 9) -> list[Any]:
    return [round(value, digits) if isinstance(value, float) else value for value in row]
