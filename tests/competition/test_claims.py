"""The claims of an export come from its events, also if ``arena upgrade`` added to them."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.added_rows import ROWS_ADDED
from arena.competition.exports import claims, contradictions, verify
from arena.competition.exports.claims import (
    Claims,
    read_claims,
    read_part,
    recorded_solution,
    result_digest,
)
from arena.competition.exports.contradictions import contradictions_in
from arena.competition.exports.verify import differences_of_boards
from arena.competition.record.rebuild import REBUILT
from arena.config import Settings
from arena.errors import InputError
from arena.store.digests import keyed_digest
from arena.store.row_counts import RowCounts
from event_records import event_of
from study_boards import Accuracy, BlackBox


def claims_of(*solutions: Any) -> Claims:
    """Return the claims of an export with an event for each entry of digests of solutions."""
    events = [
        event_of(number, "rescored", {"facts": {"solutions": entry}})
        for number, entry in enumerate(solutions, start=1)
    ]
    settings = Settings.of(metric="f1")
    return Claims(
        Path(),
        settings,
        recorded_settings=b"",
        result={},
        finals={},
        events=tuple(events),
        key=b"",
    )


@pytest.mark.parametrize(
    ("solutions", "expected"),
    [
        ([{"1": "a"}], (1, "a")),
        ([{"1": "a"}, {"2": "b"}], (2, "b")),
        ([{"9": "i", "10": "j", "2": "b"}], (10, "j")),  # of an upgrade, in any order
        ([{"x": "a"}], (0, "a")),
        ([{}], (0, {})),
        (["a"], (0, {})),
    ],
)
def test_the_last_solution_is_the_one_with_the_highest_number(
    solutions: list[Any], expected: tuple[int, Any]
) -> None:
    assert recorded_solution(claims_of(*solutions)) == expected


def test_a_file_of_an_export_may_be_as_large_as_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_MOST_BYTES", 2**20)
    path = tmp_path / "result.json"
    path.write_bytes(b"1" * 2**20)
    assert read_part(path, len) == 2**20
    path.write_bytes(b"1" * (2**20 + 1))
    with pytest.raises(InputError, match="is larger than 1 MB"):
        read_part(path, len)


def board(**other: Any) -> dict[str, Any]:
    """Return a recomputed board of two ranked teams, a baseline and an unranked team."""
    return {
        "n_rows": 4,
        "greater_is_better": True,
        "standings": [
            {"team": "Ants", "submission": 1, "file": "1.csv", "score": 0.75, "rank": 1},
            {"team": "Bees", "submission": 2, "file": "2.csv", "score": 0.5, "rank": 2},
        ],
        "baseline": {"team": "zero", "score": 0.25, "public_score": None},
        "unranked": [{"team": "Host", "score": 1.0, "public_score": 1.0, "baseline": False}],
        "brackets": {"students": ["Bees"]},
        "findings": [
            {"analysis": "brackets", "document": {"students": [{"team": "Bees", "tier": 1}]}}
        ],
        "best_score_corrected": {"estimate": 0.7},
        **other,
    }


def test_each_difference_of_an_exported_board_is_a_sentence() -> None:
    ants, bees = board()["standings"]
    (host,), baseline = board()["unranked"], board()["baseline"]
    other_ranks = {"students": [{"team": "Bees", "tier": 2}]}
    for changed, sentences in (
        ({}, []),
        ({"n_rows": 5}, ["n_rows differs."]),
        ({"n_pending": 0}, []),
        ({"n_pending": 1}, ["n_pending differs."]),
        ({"greater_is_better": False}, ["greater_is_better differs."]),
        ({"standings": [{**ants, "submission": 9, "file": "9.csv"}, bees]}, []),
        ({"standings": [{**ants, "score": 0.75 + 5e-10}, bees]}, []),
        ({"standings": [{**ants, "score": 0.75 + 2e-9}, bees]},
         ["score of the team Ants differs."]),
        ({"standings": [{**ants, "rank": 2}, bees]}, ["rank of the team Ants differs."]),
        ({"standings": [{**ants, "tier": 1}, bees]}, ["tier of the team Ants differs."]),
        ({"standings": [bees]}, ["The team Ants is missing from the exported board."]),
        ({"standings": [ants, bees, {**bees, "team": "Cats"}]},
         ["The team Cats is not on the recomputed board."]),
        ({"baseline": {**baseline, "score": 0.5}}, ["score of the baseline zero differs."]),
        ({"unranked": [{**host, "public_score": None}]},
         ["public_score of the unranked team Host differs."]),
        ({"unranked": [{**host, "baseline": True}]}, ["baseline of the baseline Host differs."]),
        ({"unranked": []},
         ["The team Host, which is not ranked, is missing from the board."]),
        ({"brackets": {}}, ["The teams of the bracket students differ."]),
        ({"brackets": {"students": ["Bees"], "club": []}},
         ["The teams of the bracket club differ."]),
        ({"findings": [{"analysis": "brackets", "document": other_ranks}]},
         ["The ranks in the bracket students differ."]),
        ({"findings": [{"analysis": "brackets"}]}, ["The ranks in the bracket students differ."]),
        ({"findings": [{"analysis": "ranks"}]}, ["The ranks in the bracket students differ."]),
        ({"best_score_corrected": {"estimate": 0.8}}, ["The corrected best score differs."]),
    ):  # fmt: skip
        assert list(differences_of_boards(board(**changed), board())) == sentences, changed
    older = board()
    del older["n_rows"], older["greater_is_better"]  # older exports lack both
    assert list(differences_of_boards(older, board(n_pending=0))) == []
    assert list(differences_of_boards(board(), board(n_pending=2))) == ["n_pending differs."]


def test_codes_are_numbered_by_their_first_occurrence() -> None:
    codes, before = verify.codes_by_occurrence(np.array([2, 0, 2, 1, 0]))
    assert (codes.tolist(), before.tolist()) == ([0, 1, 0, 2, 1], [2, 0, 1])


def test_a_board_had_intervals_if_it_has_resamples_or_public_scores_of_a_black_box() -> None:
    public, no_public = ({"standings": [{"public_score": score}]} for score in (0.5, None))
    for result, metric, had_intervals in (
        (no_public, Accuracy(), True),  # older exports lack the number of resamples
        ({**no_public, "resamples": 2}, Accuracy(), True),
        ({**public, "resamples": 0}, Accuracy(), False),
        ({**public, "resamples": 0}, BlackBox(), True),
        ({**no_public, "resamples": 0}, BlackBox(), False),
        ({"standings": [], "resamples": 0}, BlackBox(), False),
    ):
        assert verify.had_intervals(result, metric) is had_intervals


def test_another_solution_or_metric_than_the_recorded_one_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verify, "solution_digests", lambda *_: {"labels": "ab"})
    other = (
        "This is not the solution of this competition{}: its labels, ids or groups differ from "
        "those in the record. Use the file the competition was created with."
    )
    none: Any = None
    for number, digests, sentences in (
        (1, {}, ["events.jsonl does not record the solution: the beginning of the record is "
                 "missing."]),
        (1, {"labels": "ab"}, []),
        (1, {"labels": "cd"}, [other.format("")]),
        (2, {"labels": "cd"}, [other.format(" after its last correction")]),
    ):  # fmt: skip
        monkeypatch.setattr(
            verify, "recorded_solution", lambda _, recorded=(number, digests): recorded
        )
        assert list(verify.difference_of_solution(SimpleNamespace(key=b""), none)) == sentences  # type: ignore[arg-type]
    events = [SimpleNamespace(payload=payload) for payload in ({"metric_sha256": "1"}, {})]
    metric = SimpleNamespace(specification="metric.py:gain")
    exported: Any = SimpleNamespace(events=events, settings=SimpleNamespace(metric=metric))
    sentence = "The code of the metric file differs from the code that gave the recorded scores."
    recorded = hashlib.sha256(b"code").hexdigest()
    for code, digest, sentences in (
        (None, "2", []), ("code", "2", [sentence]), ("code", recorded, []),
    ):  # fmt: skip
        events[0].payload["metric_sha256"] = digest
        monkeypatch.setattr(verify, "metric_code", lambda *_, code=code: code)
        assert list(verify.difference_of_metric(exported, none)) == sentences


def test_a_board_over_phases_is_missing_where_a_ranked_team_is_in_each_phase_with_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counting: dict[str, set[str]] = {"dev": {"a", "b"}, "final": {"b"}, "late": {"a"}}
    exported: Any = SimpleNamespace(events=(), settings=None, phase="", result={})
    roster: Any = SimpleNamespace(unranked=("host",))
    monkeypatch.setattr(verify, "recorded_submissions", lambda _: ())
    monkeypatch.setattr(verify, "counting_teams", lambda _: counting)
    monkeypatch.setattr(verify, "combined_boards", lambda _: {"shown": {}})
    for phases, labelled, missing in (
        (("dev", "final"), ("dev", "final"), True),
        (("dev", "final", "late"), ("dev", "final"), True),
        (("dev", "final", "late"), ("dev", "final", "late"), False),
        (("dev", "final"), ("dev",), False),
        (("dev", "final"), (), False),
        (("dev", "none"), ("dev", "none"), False),
    ):
        monkeypatch.setattr(
            verify,
            "rows_with_labels",
            lambda _, phase, __, labelled=labelled: np.array([False, phase in labelled]),
        )
        monkeypatch.setattr(
            verify, "phases_by_board", lambda *_, phases=phases: {"shown": phases, "all": phases}
        )
        sentences = list(verify.lacking_boards_over_phases(exported, exported, roster))
        assert sentences == ["result.json lacks the board all."] * missing, (phases, labelled)
    counting["dev"] = counting["final"] = {"host"}
    monkeypatch.setattr(verify, "phases_by_board", lambda *_: {"all": ("dev", "final")})
    monkeypatch.setattr(verify, "rows_with_labels", lambda *_: np.array([True]))
    assert list(verify.lacking_boards_over_phases(exported, exported, roster)) == []


RECORDED: dict[int, dict[str, Any]] = {
    number: {"submission": number, "team": team, "released": released, "phase": "",
             "status": status, "late": late, "source": source}
    for number, team, released, status, late, source in (
        (1, "Ants", 0.75, "accepted", False, 1),
        (2, "Ants", 0.5, "accepted", False, 2),
        (3, "Bees", 0.75, "accepted", False, 3),
        (4, "Cats", 0.25, "accepted", False, 4),
        (5, "zero", 0.5, "accepted", False, 5),
        (6, "Dogs", 0.9, "withdrawn", False, 6),
        (7, "Dogs", 0.9, "accepted", False, 6),  # carried from the withdrawn submission
        (8, "Cats", 0.9, "accepted", True, 8),
        (9, "Eels", None, "accepted", False, 9),
    )
}  # fmt: skip
PUBLIC_BOARD = """rank,team,score,submission,n_submissions,baseline,brackets
1,Ants,0.75,1,2,False,
1,Bees,0.75,3,1,False,
3,Cats,0.25,4,2,False,
,zero,0.5,5,1,True,
"""
N_SUBMISSIONS = Counter(Ants=2, Bees=1, Cats=2, zero=1)
UNRECORDED = "public.csv lists the team {}, which has no released submission."


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        ("", "", []),
        ("1,Bees", "2,Bees", []),  # a tie that other scores decide
        ("1,Bees", "3,Bees", ["public.csv: the rank of Bees does not follow from the scores."]),
        ("3,Cats", "2,Cats", ["public.csv: the rank of Cats does not follow from the scores."]),
        ("3,Cats", ",Cats", ["public.csv: the rank of Cats does not follow from the scores."]),
        (",zero", "2,zero", ["public.csv: the baseline zero has a rank."]),
        (
            "1,Ants,0.75,1", "2,Ants,0.5,2",
            ["public.csv: Ants is not listed with its best released score."],
        ),
        ("0.75,3", "0.7,3", ["public.csv: the score of submission 3 differs from events.jsonl."]),
        (
            "4,2,False", "4,1,False",
            ["public.csv: submission 4: n_submissions is 1, and events.jsonl records 2."],
        ),
        (
            "True,", ",students",
            ["public.csv: submission 5: baseline is empty, and events.jsonl records True.",
             "public.csv: submission 5: brackets is students, and events.jsonl records none."],
        ),
        ("4,2", "3,2", ["public.csv: Cats is listed with a submission of another team."]),
        (
            "3,Cats,0.25,4,2,False,\n", "",
            ["public.csv lacks the team Cats, which events.jsonl records."],
        ),
        (",zero", "4,Dogs,0.9,7,2,False,\n,zero", [UNRECORDED.format("Dogs")]),
        (",zero", f"4,{'x' * 61},,9,1,False,\n,zero", [UNRECORDED.format("x" * 59 + "…")]),
        (
            "brackets", "bracket",
            ["public.csv has the column bracket, which is not of an export."],
        ),
        (
            "True,\n", "True,,x\n",
            ["public.csv has the column without a name, which is not of an export."],
        ),
    ],
)  # fmt: skip
def test_each_contradiction_of_a_public_board_is_a_sentence(
    tmp_path: Path, before: str, after: str, sentences: list[str]
) -> None:
    (tmp_path / "public.csv").write_text(PUBLIC_BOARD.replace(before, after, 1))
    exported = replace(
        claims_of(), folder=tmp_path, settings=Settings.of(metric="f1", baseline="zero"),
        result={"greater_is_better": True, "standings": []},
    )  # fmt: skip
    assert (
        list(contradictions.contradictions_of_public_board(exported, RECORDED, N_SUBMISSIONS))
        == sentences
    )


def test_a_public_board_of_losses_has_the_lowest_score_first(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text(PUBLIC_BOARD)
    exported = replace(
        claims_of(), folder=tmp_path, settings=Settings.of(metric="f1", baseline="zero"),
        result={"greater_is_better": False, "standings": []},
    )  # fmt: skip
    assert list(
        contradictions.contradictions_of_public_board(exported, RECORDED, N_SUBMISSIONS)
    ) == [
        "public.csv: Ants is not listed with its best released score.",
        *(
            f"public.csv: the rank of {team} does not follow from the scores."
            for team in ("Ants", "Bees", "Cats")
        ),
    ]


@pytest.mark.parametrize(
    ("before", "after", "finals", "sentences"),
    [
        ("", "", {}, []),
        ("1,Ants", "1,Bees", {}, [
            "submissions.csv: submission 1: team is Bees, and events.jsonl records Ants.",
        ]),
        ("2,Ants,0.5", "2,Ants,", {}, [
            "submissions.csv: the score of submission 2 differs from events.jsonl.",
        ]),
        ("3,Bees,0.75", "1,Ants,0.75", {}, [
            "submissions.csv lists a submission twice.",
            "submissions.csv lacks submission 3, which events.jsonl records.",
        ]),
        ("3,Bees", "13,Bees", {}, [
            "submissions.csv lacks submission 3, which events.jsonl records.",
            "submissions.csv has submission 13, which events.jsonl does not record.",
        ]),
        ("3,Bees", "12,Bees", {}, [  # a repair recorded that submission 12 was lost
            "submissions.csv lacks submission 3, which events.jsonl records.",
        ]),
        ("3,Bees", f"{'9' * 61},Bees", {}, [
            "submissions.csv lacks submission 3, which events.jsonl records.",
            f"submissions.csv has submission {'9' * 59}…, which events.jsonl does not record.",
        ]),
        ("team,", "name,", {}, [
            "submissions.csv has the column name, which is not of an export.",
            *(f"submissions.csv lacks cells of submission {number}." for number in (1, 2, 3)),
        ]),
        (",late", ",", {}, [
            "submissions.csv has the column without a name, which is not of an export.",
        ]),
        ("", "", {"Ants": [1]}, [
            "finals.json lacks the team Bees, which has a submission that counts.",
        ]),
        ("", "", {"Ants": [1, 3], "Bees": [3, 9]}, [
            "finals.json: submission 3 of the team Ants does not count according to events.jsonl.",
            "finals.json: submission 9 of the team Bees does not count according to events.jsonl.",
        ]),
    ],
)  # fmt: skip
def test_each_contradiction_of_the_submissions_is_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    after: str,
    finals: dict[str, list[int]],
    sentences: list[str],
) -> None:
    text = "submission,team,released,status,late\n" + "".join(
        f"{number},{RECORDED[number]['team']},{RECORDED[number]['released']},accepted,False\n"
        for number in (1, 2, 3)
    )
    (tmp_path / "submissions.csv").write_text(text.replace(before, after, 1))
    monkeypatch.setattr(contradictions, "contradictions_of_public_board", lambda *_: iter(()))
    monkeypatch.setattr(contradictions, "contradictions_of_rounds", lambda *_: iter(()))
    recorded = {number: RECORDED[number] for number in (1, 2, 3)} | {
        20: {**RECORDED[4], "phase": "dev"}
    }
    repair = event_of(1, "repair", {"lost_submissions": [12]})
    exported = replace(
        claims_of(), folder=tmp_path, events=(repair,), result={"standings": []},
        finals=finals or {"Ants": [1, 2], "Bees": [3]},
    )  # fmt: skip
    assert list(contradictions.contradictions_of_submissions(exported, recorded)) == sentences


def test_each_contradiction_of_a_board_over_phases_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = {
        number: {**RECORDED[1], "team": team, "phase": phase, "submission": number}
        for number, team, phase in ((1, "Ants", "dev"), (2, "Bees", "dev"), (3, "Ants", "final"))
    }
    monkeypatch.setattr(contradictions, "phases_by_board", lambda *_: {"all": ("dev", "final")})
    good = {"dev": {"Ants": 1, "Bees": 2}, "final": {"Ants": 3}}
    no_count = (
        "result.json: submission {} of the team {} does not count in the phase {} according to "
        "events.jsonl."
    )
    for files, sentences in (
        (good, []),
        ({}, []),
        ({**good, "dev": {"Ants": 1}}, [
            "result.json: a board lacks the team Bees in the phase dev, in which it has a "
            "submission that counts.",
        ]),
        ({**good, "final": {"Ants": 1}}, [no_count.format(1, "Ants", "final")]),
        ({"dev": {"Ants": 1, "Bees": 1}, "final": {"Ants": 3}}, [
            no_count.format(1, "Bees", "dev"),
        ]),
        ({"dev": good["dev"]}, ["result.json: the board all is not over its phases."]),
        ({**good, "x" * 61: {}}, ["result.json: the board all is not over its phases."]),
        ({**good, "x" * 61: {"Cats": 9}}, [
            "result.json: the board all is not over its phases.",
            no_count.format(9, "Cats", "x" * 59 + "…"),
        ]),
    ):  # fmt: skip
        finding = {"analysis": "board all", "document": {"round_files": files}}
        exported = replace(claims_of(), result={"findings": [finding]})
        assert list(contradictions.contradictions_of_rounds(exported, recorded)) == sentences


def test_the_roster_of_a_board_is_that_when_it_was_finalized() -> None:
    def joins(number: int, team: str) -> Any:
        return event_of(number, "bracket", {"team": team, "bracket": "staff", "member": True})

    events = [
        joins(1, "owls"),
        event_of(2, "finalized", {}),
        joins(3, "bees"),
        event_of(4, "finalized", {"phase": "dev"}),  # of another board
        joins(5, "ants"),
    ]
    exported = replace(
        claims_of(),
        settings=Settings.of(metric="f1", bracket={"staff": {}}),
        events=tuple(events),
    )
    whole, at_the_end = (exported.roster(finalized=finalized) for finalized in (False, True))
    assert whole.brackets == {"staff": ("ants", "bees", "owls")}
    assert at_the_end.brackets == {"staff": ("owls",)}
    never = replace(exported, events=(events[0],))
    assert never.roster(finalized=True).brackets == {"staff": ()}


def test_each_contradiction_of_an_export_and_its_record_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contradictions, "first_broken", lambda events: "")
    monkeypatch.setattr(contradictions, "contradictions_of_submissions", lambda *_: iter(()))
    (tmp_path / "finals").mkdir()
    for name in ("private.csv", "key.txt", "finals/1.csv"):
        (tmp_path / name).write_text("team,rank\nAnts,1\n" if name == "private.csv" else "")
    result: dict[str, Any] = {"standings": [{"rank": 1, "team": "Ants"}], "unranked": []}
    payload: dict[str, Any] = {"sha256": result_digest(result), "finals": {"Ants": [1]}}
    settings = keyed_digest(b"", b"{}")

    def exported(
        finalized: dict[str, Any] | None = payload, recorded: str | None = settings
    ) -> Claims:
        events = [
            event_of(1, "finalized", {**payload, "phase": "dev"}),
            event_of(2, "configuration", {"facts": {"meta": {"settings": recorded}}}),
        ]
        if finalized is not None:
            events.append(event_of(3, "finalized", finalized))
        return replace(
            claims_of(), folder=tmp_path, recorded_settings=b"{}", result=result,
            finals={"Ants": [1]}, events=tuple(events),
        )  # fmt: skip

    assert list(contradictions_in(exported())) == []
    for claimed, sentence in (
        (
            exported(finalized=None),
            "events.jsonl does not record that the competition was finalized: the end is missing.",
        ),
        (
            exported({**payload, "sha256": "ab"}),
            "result.json is not the board that events.jsonl records as the final one.",
        ),
        (
            exported({**payload, "finals": {"Ants": [2]}}),
            "The submissions in finals.json differ from those that events.jsonl records.",
        ),
        (
            exported(recorded="ab"),
            "The settings in settings.json differ from those that events.jsonl records.",
        ),
    ):
        assert list(contradictions_in(claimed)) == [sentence]
    (tmp_path / "private.csv").write_text("team,rank\nAnts,2\n")
    (tmp_path / "finals" / "2.csv").touch()
    (tmp_path / ("x" * 61)).touch()
    assert list(contradictions_in(exported())) == [
        "private.csv differs from result.json.",
        "finals/2.csv does not belong to an export.",
        f"{'x' * 59}… does not belong to an export.",
    ]


def _rows_added(*payloads: dict[str, Any]) -> Claims:
    """Return the claims of an export with these events of submissions and of added rows."""
    events = (
        event_of(number, "submission" if "submission" in payload else ROWS_ADDED, payload)
        for number, payload in enumerate(payloads, start=1)
    )
    return replace(claims_of(), events=tuple(events))


def test_submissions_have_the_rows_that_were_there_before_them() -> None:
    first, second = ({"n_rows": n_rows, "row_sets": row_sets} for n_rows, row_sets in (
        ([3, 5], []), ([5, 6], ["a", "b"]),
    ))  # fmt: skip
    solution: Any = SimpleNamespace(n_rows=9)
    for payloads, row_counts, row_sets in (
        ([], RowCounts((0,), (9,)), ()),
        ([first], RowCounts((0, 1), (3, 5)), ()),
        ([{"submission": 1}, first, {"submission": 2}, {"submission": 3}, second],
         RowCounts((0, 2, 4), (3, 5, 6)), ("a", "b")),
        ([{"submission": 1}, first, second], RowCounts((0, 2), (3, 6)), ("a", "b")),
    ):  # fmt: skip
        exported = _rows_added(*payloads)
        assert claims.recorded_row_counts(exported, solution) == row_counts
        assert claims.recorded_row_sets(exported) == row_sets
    for payload in (
        {"row_sets": []},
        {"n_rows": [3], "row_sets": []},
        {"n_rows": [3, 4, 5], "row_sets": []},
        {"n_rows": [3, 4.0], "row_sets": []},
        {"n_rows": [5, 3], "row_sets": []},
        {"n_rows": [0, 3], "row_sets": []},
        {"n_rows": [3, 4]},
        {"n_rows": [3, 4], "row_sets": ["a", 1]},
    ):
        with pytest.raises(InputError) as refused:
            claims.recorded_row_counts(_rows_added(payload), solution)
        assert str(refused.value) == (
            "events.jsonl does not have the content of an export: use the export as arena wrote it."
        )
    with pytest.raises(InputError):
        claims.recorded_row_counts(_rows_added({"submission": "1"}, first), solution)


def test_a_rebuilt_board_releases_the_scores_that_its_event_lists() -> None:
    submission_events = [
        event_of(number, "submission", {"submission": number, "team": f"t{number}", "file": "f",
                                        "status": "accepted", "released": 0.1 * number, **more})
        for number, more in ((1, {}), (2, {"source": 1}), (3, {"late": True, "phase": "dev"}),
                             (4, {"released": None}))
    ]  # fmt: skip
    epoch = event_of(5, "epoch", {"released": [[1, 0.5], [3, 0.25]]})
    rebuilt = event_of(6, REBUILT, {"released": [[1, None], [4, 0.75]], "sources": [[3, 1]]})
    for events, released, sources in (
        (submission_events, [0.1, 0.2, 0.3, None], [1, 1, 3, None]),
        ([*submission_events, epoch], [0.5, None, 0.25, None], [1, None, 3, None]),
        ([*submission_events, epoch, rebuilt], [None, None, 0.25, 0.75], [None, None, 1, 4]),
    ):
        rows = claims.recorded_submissions(events).values()
        assert [row["released"] for row in rows] == pytest.approx(released)
        assert [row["source"] for row in rows] == sources
        assert [row["late"] for row in rows] == [False, False, True, False]
    counting = claims.counting_teams(claims.recorded_submissions(submission_events))
    assert counting == {"": {"t1", "t2", "t4"}}  # that of the phase dev was late


def test_settings_that_an_export_cannot_contain_are_refused_with_their_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    for text in ("7", "[]", "null", '{"metric": 7}', '{"metric": {"name": 7}}', '{"metric": {}}'):
        file.write_text(text)
        with pytest.raises(InputError) as refused:
            read_claims(tmp_path)
        assert str(file) in str(refused.value), text
