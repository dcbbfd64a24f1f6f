"""A receipt is compared with the record: its hash, and what it claims of the submission."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arena.competition.exports.receipts import check_hash, receipt_problems
from arena.competition.record.teams import RENAMED
from arena.errors import InputError, UsageError
from event_records import event_of

SENT, ADDED, OTHER = "a1" * 32, "b2" * 32, "c3" * 32
ANSWER = {"submission": 1, "team": "ant", "status": "accepted", "released": 0.5}


EVENTS = [
    event_of(1, "submission", ANSWER, digest=SENT),
    event_of(2, RENAMED, {"team": "ant", "to": "owl"}, digest=ADDED),
]
LOST = f"The record does not contain the event {OTHER[:12]}…: an event at or before it was"


def differ(name: str) -> str:
    return f"The receipt of submission 1 and the record differ in {name}."


@pytest.mark.parametrize(
    ("receipt", "beginnings"),
    [
        ({**ANSWER, "receipt": SENT}, []),
        ({"answers": [{**ANSWER, "team": "owl", "receipt": SENT}]}, []),
        ({"answers": [{**ANSWER, "released": 0.6, "receipt": SENT}]}, [differ("released")]),
        (
            {
                "submission": 2,
                "team": "bee",
                "status": "rejected",
                "released": 0.5,
                "receipt": SENT,
            },
            [differ("submission"), differ("team"), differ("status")],
        ),
        ({"answers": [{**ANSWER, "receipt": OTHER}, {**ANSWER, "receipt": SENT}]}, [LOST]),
        ({"answers": [7, {"receipt": [SENT]}, {"note": ADDED}]}, []),
        ({"answers": None, "head": SENT}, []),
        ([SENT, OTHER, OTHER], [LOST]),
    ],
)
def test_every_difference_is_a_sentence(
    tmp_path: Path, receipt: Any, beginnings: list[str]
) -> None:
    (tmp_path / "receipt").write_text(json.dumps(receipt), encoding="utf-8")
    problems = receipt_problems(tmp_path / "receipt", EVENTS)
    assert len(problems) == len(beginnings)
    for problem, beginning in zip(problems, beginnings, strict=True):
        assert problem.startswith(beginning)


def test_a_text_without_a_hash_is_no_receipt(tmp_path: Path) -> None:
    path = tmp_path / "receipt"
    with pytest.raises(InputError, match="cannot be read: name a text file"):
        receipt_problems(path, EVENTS)
    for content, refusal in (
        (b"submission 1: " + SENT[:-1].encode(), "contains no hash: give the output of submit"),
        (b"\xff" + SENT.encode(), "cannot be read: name a text file"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=refusal):
            receipt_problems(path, EVENTS)
    path.write_text(f"submission 1: {SENT}\n")
    assert receipt_problems(path, EVENTS) == ()
    check_hash(SENT)
    for text in (SENT[:-1], f"{SENT}0", SENT.upper(), f"{SENT[:-1]}g"):
        with pytest.raises(UsageError, match="64 hexadecimal digits"):
            check_hash(text)
