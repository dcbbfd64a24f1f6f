"""A served competition worked out by hand: every kind of request, and the answer to each.

A file is right on some rows, and its score is the share of them. Teams may send one file a day and
two a week; they and the organiser ask through the queue of the server.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.queue.answers import answers_in
from arena.competition.queue.decisions import CORRECTED_NAME
from arena.config import CONFIG_NAME, Settings
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.public_board.advice import FULL_WARNING
from arena.requests import Answer, Kind, Request
from arena.utils.parallel import NoProgress
from program import write_csv
from scenario import Clock

IDS = ["p1", "p2", "p3", "p4", "s1", "s2", "s3", "s4", "s5"]
USAGE = ["Public"] * 4 + ["Private"] * 5
LABELS = [1, 0, 1, 0, 1, 0, 1, 0, 1]
CORRECTED = [1, 0, 1, 1, 1, 0, 1, 0, 1]  # p4
HOST = ""
PREVIEWED = "the code of the last preview"


def march(day: int, hour: int = 0) -> datetime:
    """Return a time in March 2026, of which the 2nd and the 9th are Mondays."""
    return datetime(2026, 3, day, hour, tzinfo=UTC)


CORRECTED_AT = march(12, 2)
"""When the organiser puts the corrected solution into the folder."""
SETTINGS = Settings.of(
    metric="accuracy", mechanism="full", intervals=False, baseline="base", final_rule="chosen",
    final_count=1, per_day=1, per_week=2, total=3,
    start=march(2), deadline=march(11), late_until=march(12),
    question={
        "method": {"text": "Method"},
        "class": {"of": "team", "choices": ["junior", "senior"], "brackets": True},
    },
    board={"both": {"columns": ["accuracy", "balanced_accuracy"], "weights": {"accuracy": 2}}},
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A request, and what is answered."""

    time: datetime
    team: str
    kind: str
    payload: Mapping[str, Any]
    """Of a submission: ``rows``, on which the file is right."""
    status: str
    said: str | float
    """A part of the message or of the first fault, or the score that is released."""


def submit(time: datetime, team: str, rows: str, answer: str | float, **answers: str) -> Asked:
    status = "accepted" if isinstance(answer, float) else "refused"
    return Asked(time, team, "submit", {"rows": rows, "answers": answers}, status, answer)


def done(time: datetime, sender: str, kind: str, answer: str, **payload: Any) -> Asked:
    return Asked(time, sender, kind, payload, "done", answer)


def refused(time: datetime, sender: str, kind: str, answer: str, **payload: Any) -> Asked:
    return Asked(time, sender, kind, payload, "refused", answer)


AS_OWL, NO_BOARD = {"team": "owl"}, "changed no released score and no published result."
JUNIOR, SENIOR = {"class": "junior"}, {"class": "senior"}
AGAIN = "released the scores of 1 team again."

REQUESTS = [
    submit(march(1, 23), "ant", "++++ +++++", "competition starts at 2026-03-02 00:00 UTC."),
    submit(march(2), "ant", "+--- +----", 1 / 4, method="trees", **JUNIOR),
    submit(march(2), "ant", "++-- ++---", "1 submission a day (a day starts at 00:00 UTC)"),
    replace(submit(march(2), "bee", "++++ ++++", "before this id: it may"), status="rejected"),
    submit(march(2), "bee", "++-- +++--", 1 / 2, **SENIOR),
    refused(march(2), "bee", "answer", "None of the answers fits a question", answers=JUNIOR),
    done(march(2), "cat", "answer", "The answers are recorded.", answers=SENIOR),
    submit(march(3), "ant", "++++ ++---", 1.0),
    submit(march(8, 23), "ant", "+++- ++++-", "2 submissions a week (a week starts on Monday"),
    refused(march(8, 23), HOST, "exempt", "Name until when", team="ant", reason="a crash"),
    done(march(8, 23), HOST, "exempt", "ant is exempted: a crash", team="ant", extra=1,
         reason="a crash"),
    submit(march(8, 23), "ant", "+++- ++++-", 3 / 4),
    refused(march(8, 23), HOST, "pause", "A pause needs a reason", reason=" "),
    refused(march(8, 23), "ant", "pause", "Only organisers can do this.", reason="I am away."),
    done(march(8, 23), HOST, "pause", "competition is paused: A check.", reason="A check."),
    refused(march(8, 23), HOST, "pause", "is paused already", reason="A check."),
    submit(march(8, 23), "bee", "++++ +++++", "competition is paused: A check."),
    done(march(9), HOST, "resume", "Files are received again."),
    refused(march(9), HOST, "resume", "is not paused"),
    submit(march(9), "base", "+++- +++--", 3 / 4),
    submit(march(9), "base", "++-- ++++-", 1 / 2),
    submit(march(9), "cat", "++++ ++++-", 1.0),
    refused(march(9), "ant", "select", "may select 1 submission, not 2", submissions=[2, 6]),
    refused(march(9), "ant", "select", "5 is not an accepted submission of", submissions=[5]),
    done(march(9), "ant", "select", "The selection is recorded.", submissions=[6]),
    refused(march(9), "bee", "rename", "had the name 'cat'", team="bee", to="cat"),
    done(march(9), "bee", "rename", "The team bee is called owl now.", team="bee", to="owl"),
    refused(march(9), "ant", "merge", "different brackets: junior, senior", team="cat", into="ant"),
    done(march(9), "owl", "merge", f"cat joined the team owl. This {AGAIN}", team="cat",
         into="owl"),
    refused(march(9), "ant", "withdraw", "5 is not an accepted submission of", submission=5),
    done(march(9), "ant", "withdraw", "Submission 8 is withdrawn.", submission=8),
    refused(march(9), "ant", "withdraw", "was withdrawn before", submission=8),
    refused(march(9), "ant", "withdraw", "is not an accepted submission of", submission=2**31),
    refused(march(9), HOST, "disqualify", "no submission 99.", submission=99, reason="a leak"),
    done(march(9), HOST, "disqualify", f"owl is disqualified: a leak. This {AGAIN}", **AS_OWL,
         reason="a leak"),
    refused(march(9), HOST, "disqualify", "'owl' is already disqualified", **AS_OWL, reason="x"),
    done(march(9), HOST, "undo", f"team owl is undone: none! This {AGAIN}", **AS_OWL,
         reason="none!"),
    done(march(9), HOST, "disqualify", f"4 is disqualified: a leak. This {NO_BOARD}", submission=4,
         reason="a leak"),
    refused(march(9), HOST, "disqualify", "for this reason", submission=4, reason=" a leak "),
    refused(march(9), HOST, "disqualify", "needs a reason", submission=4, reason=" "),
    refused(march(9), HOST, "undo", "'owl' is not disqualified", **AS_OWL, reason="none!"),
    refused(march(9), HOST, "undo", "6 is not disqualified", submission=6, reason="none!"),
    done(march(9), HOST, "bracket", "brackets of the team owl are recorded.", **AS_OWL,
         bracket="junior", member=True),
    refused(march(9), HOST, "bracket", "no bracket 'young'", **AS_OWL, bracket="young",
            member=True),
    refused(march(9), "ant", "program", "program is missing", program="x", file="x.zip"),
    *(
        refused(march(9), sender, kind, "The request is incomplete.", **payload)
        for sender, kind, payload in (
            ("ant", "select", {}),
            ("ant", "select", {"submissions": 6}),
            (HOST, "pause", {"reason": 1}),
            ("ant", "withdraw", {"submission": "6"}),
        )
    ),
    refused(march(10), HOST, "configure", "A deadline is moved later here", texts={}, changes={
        "competition.deadline": [march(11).isoformat(), march(10).isoformat()]
    }),
    done(march(10), HOST, "configure", "limits.per_day: 1 -> 2.", texts={}, changes={
        "limits.per_day": [1, 2]
    }),
    submit(march(10), "owl", "---- -----", 0.0),
    submit(march(10), "owl", "---- ----+", "3 submissions in all"),  # one as bee, one as cat
    refused(march(11), HOST, "finalize", "ends at 2026-03-11 00:00 UTC: finalize after it"),
    refused(march(11), HOST, "publish", "Files are received until 2026-03-11 00:00 UTC"),
    refused(march(11, 1), "ant", "select", "can no longer be selected", submissions=[]),
    refused(march(11, 1), "ant", "withdraw", "can no longer be withdrawn", submission=6),
    submit(march(11, 1), "ant", "++++ +++++", 1.0),  # late: it is not ranked
    submit(march(12, 1), "ant", "++++ +++++", "The competition ended at 2026-03-11 00:00 UTC."),
    refused(march(12, 1), HOST, "publish", "no private board yet: finalize first"),
    done(march(12, 1), HOST, "finalize", "The private board is computed."),
    refused(march(12, 1), HOST, "verification", "not an accepted submission that counts",
            submission=8, state="verified", note=""),
    done(march(12, 1), HOST, "verification", "Submission 12 is verified.", submission=12,
         state="verified", note=""),
    done(march(12, 1), HOST, "publish", "board is published, as result 1."),
    refused(march(12, 1), HOST, "rescore", "There is nothing to rescore: put the corrected"),
    done(CORRECTED_AT, HOST, "retract", "Result 1 is retracted: p4 is 1", reason="p4 is 1"),
    refused(CORRECTED_AT, HOST, "rescore", "is not that of the current preview", preview="0"),
    # Of the files of owl, 5 and 12 have the same public score then, and the earlier one counts.
    done(CORRECTED_AT, HOST, "rescore", "1 of 9 rows. Of 2 teams, 0 would change their rank on the "
         "private board, and 1 its score. This releases the scores of 3 teams again"),
    done(CORRECTED_AT, HOST, "rescore", "All submissions are rescored.", preview=PREVIEWED),
    done(CORRECTED_AT, HOST, "finalize", "The private board is computed."),
    done(CORRECTED_AT, HOST, "publish", "board is published, as result 2."),
]  # fmt: skip


def solution(labels: Sequence[int]) -> dict[str, Sequence[Any]]:
    return {"id": IDS, "y": labels, "Usage": USAGE}


def write_solution(path: Path, labels: Sequence[int]) -> None:
    columns = solution(labels)
    write_csv(path, list(columns), list(zip(*columns.values(), strict=True)))


def request_of(seq: int, asked_request: Asked, folder: Path) -> Request:
    """Write the file of a request, and return it."""
    payload, path = dict(asked_request.payload), None
    if asked_request.kind == "submit":
        cells = zip(IDS, LABELS, payload.pop("rows").replace(" ", ""), strict=False)
        path, payload["file"] = folder / f"{seq}.csv", "sent.csv"
        rows = [(row, label if cell == "+" else 1 - label) for row, label, cell in cells]
        write_csv(path, ["id", "y"], rows)
    return Request(
        seq=seq,
        request=f"request {seq}",
        kind=asked_request.kind,
        team=asked_request.team,
        member="7",
        received=asked_request.time,
        payload=payload,
        path=path,
    )


def answer_all(competition: Competition, clock: Clock, folder: Path) -> list[Answer]:
    """Process every request at its time; submissions that wait together are a group."""
    requests = [
        request_of(seq, asked_request, folder)
        for seq, asked_request in enumerate(REQUESTS, start=1)
    ]
    answers: list[Answer] = []
    while waiting := requests[len(answers) :]:
        clock.now = waiting[0].received
        if clock.now == CORRECTED_AT:
            write_solution(folder / "c" / CORRECTED_NAME, CORRECTED)
        if waiting[0].payload.get("preview") == PREVIEWED:
            code = answers[-1].message.removesuffix(".").rpartition(" ")[2]
            waiting[0] = replace(waiting[0], payload={"preview": code})
        together = [request for request in waiting if request.received == clock.now]
        answers += competition.process(together, seconds=60)
    return answers


def said_in(answer: Answer) -> str | float:
    """Return the score, the first fault or the message of an answer."""
    if answer.released is not None:
        return answer.released
    return str(answer.faults[0]["message"]) if answer.faults else answer.message


def rows_of(board: Iterable[Mapping[str, Any]], n_rows: int) -> list[Any]:
    """Return rank, team, submission and the number of right rows."""
    cells = ("rank", "team", "submission")
    return [(*(row[cell] for cell in cells), round(n_rows * row["score"], 9)) for row in board]


def test_every_request_has_the_answer_worked_out_by_hand(tmp_path: Path) -> None:
    assert {asked_request.kind for asked_request in REQUESTS} == {*get_args(Kind)}
    clock, manager = Clock(march(1)), PluginManager()
    path = tmp_path / "c" / CORRECTED_NAME
    with Competition.create(
        tmp_path / "c", solution(LABELS), SETTINGS, seed=1, manager=manager, clock=clock
    ) as competition:
        assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700  # it holds the labels
        assert competition.board_notes() == (FULL_WARNING,)
        assert "send a first file" in competition.empty_board_sentence
        answers = answer_all(competition, clock, tmp_path)
        for asked_request, answer in zip(REQUESTS, answers, strict=True):
            expected, answer_text = (
                (asked_request.kind, asked_request.team, asked_request.status),
                said_in(answer),
            )
            assert (answer.kind, answer.team, answer.status) == expected
            is_text = isinstance(asked_request.said, str) and isinstance(answer_text, str)
            assert (
                asked_request.said in answer_text if is_text else asked_request.said == answer_text
            )
        recorded = zip(answers_in(competition.events()).values(), answers, strict=True)
        for (answer_on_record,), answer in recorded:  # the event of a decision names its team
            assert replace(answer_on_record, team=answer.team) == answer
        check_boards(competition)
        with pytest.raises(UsageError, match="Name until when"):
            competition.exempt("ant", reason="a crash")
        assert competition.audit() == ()
        assert competition.has_new_settings()  # the limit of a day, which was changed
        n_events = len(competition.events())
        competition.export(tmp_path / "export")
    with Competition.open(tmp_path / "c", manager=manager, clock=clock) as competition:
        assert [event.kind for event in competition.events()[n_events:]] == ["configuration"]
        assert not competition.has_new_settings()
        with (tmp_path / "c" / CONFIG_NAME).open("a") as file:
            file.write("[limits]\n")
        assert competition.has_new_settings()
        assert "competition.toml" in competition.settings_fault()
    assert verify_bundle(tmp_path / "export", path, manager, NoProgress()) == ()


def check_boards(competition: Competition) -> None:
    """Compare what follows from all requests with what was worked out by hand."""
    public, private = competition.leaderboard(), competition.private_leaderboard()
    assert rows_of(public, 4) == [
        (None, "base", 10, 4), (1, "owl", 5, 3), (1, "ant", 6, 3),
    ]  # fmt: skip
    assert rows_of(private, 5) == [
        (1, "owl", 5, 3), (None, "base", 10, 3), (2, "ant", 6, 2),
    ]  # fmt: skip
    # Balanced accuracy: (2/3 + 1/2) / 2 and (1/3 + 1/2) / 2; accuracy counts twice.
    combined = competition.private_leaderboard(board="both")
    assert {row["team"]: round(3 * row["score"], 9) for row in combined} == {
        "owl": round(6 / 5 + 7 / 12, 9),
        "base": round(6 / 5 + 7 / 12, 9),
        "ant": round(4 / 5 + 5 / 12, 9),
    }
    brackets = {
        row["team"]: {name: columns["rank"] for name, columns in row["brackets"].items()}
        for row in private
        if row["rank"] is not None
    }
    assert brackets == {"owl": {"junior": 1, "senior": 1}, "ant": {"junior": 2}}
    assert {row["team"]: row["answers"] for row in public} == {
        "ant": JUNIOR, "owl": SENIOR, "base": {},
    }  # fmt: skip
    assert [late["submission"] for late in competition.late_files()] == [15]
    results = [(row["version"], row["state"]) for row in competition.results()]
    assert results == [(1, "retracted"), (2, "published")]
    # The corrected label changes the score of each file; those of baselines are counted as well.
    counts = [(row.team, row.by_phase, row.of_rebuilds) for row in competition.released_numbers()]
    assert counts == [("ant", (4,), 4), ("base", (2,), 2), ("owl", (3,), 3)]
