"""Files without a header: a text in each line, and ids of several columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import arena

pytestmark = pytest.mark.slow

TEXTS = {
    "reference": '"To be", or not\r\n\r\nto be; that\tis\n# 1\n1,5\n',
    "same": '"To be", or not\n\nto be; that\tis\n# 1\n1,5',
    "other": 'To be, or not\n\nto be; that\tis\n#1\n"1,5"\n',
    "short": '"To be", or not\n\nto be; that\tis\n# 1\n',
}


def test_each_line_is_a_text_with_any_characters(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode())
    files = [tmp_path / f"{name}.txt" for name in ("same", "other", "short")]
    board = arena.score(
        tmp_path / "reference.txt",
        files,
        metric="exact_match(normalise=none)",
        no_header=["text"],
        intervals=False,
        workers=1,
    )
    assert {row["team"]: row["score"] for row in board.standings} == {"same": 1.0, "other": 0.4}
    (rejected,) = board.rejected
    assert rejected.file == "short.txt"
    assert [(fault.kind, fault.id) for fault in rejected.faults] == [("missing id", "5")]


@pytest.mark.parametrize("names", ["lp,sid,label", "label,sid,lp"])
def test_ids_of_several_columns_need_no_header(tmp_path: Path, names: str) -> None:
    rows = [{"lp": "de", "sid": "1", "label": "a"}, {"lp": "de", "sid": "2", "label": "b"}]
    for file, lines in {"gold": rows, "team": rows[::-1]}.items():
        cells = ["\t".join(row[name] for name in names.split(",")) for row in lines]
        (tmp_path / f"{file}.tsv").write_text("\n".join(cells) + "\n")
    board = arena.score(
        tmp_path / "gold.tsv",
        [tmp_path / "team.tsv"],
        metric="accuracy",
        id="lp,sid",
        no_header=names.split(","),
        intervals=False,
        workers=1,
    )
    assert [row["score"] for row in board.standings] == [1.0]


GOLD = {
    "a column of labels": ("label\nu\nv\nu\n", ["label"]),
    "ids that are not used": ("id,label\n7,u\n9,v\n3,u\n", ["label"]),
    "no header": ("the\tDT\tu\ncat\tNN\tv\n\nof\tIN\tu\n", ["token", "tag", "label"]),
    "records": (
        '{"n": 7, "label": "u"}\n{"n": 9, "label": "v"}\n{"n": 3, "label": "u"}\n',
        ["label"],
    ),
}


@pytest.mark.parametrize(("gold", "no_header"), GOLD.values(), ids=GOLD)
def test_rows_are_numbered_in_the_order_of_each_file(
    tmp_path: Path, gold: str, no_header: list[str]
) -> None:
    (tmp_path / "gold.txt").write_text(gold)
    files = {"lines": "u\nu\nu\n", "short": "u\nu\n", "table": "line,label\n3,u\n1,u\n2,v\n"}
    for team, labels in files.items():
        (tmp_path / f"{team}.txt").write_text(labels)
    board = arena.score(
        tmp_path / "gold.txt",
        [tmp_path / f"{team}.txt" for team in files],
        metric="accuracy",
        id="line",
        target="label",
        no_header=no_header,
        intervals=False,
        workers=1,
    )
    scores = {row["team"]: row["score"] for row in board.standings}
    assert scores == {"table": 1.0, "lines": pytest.approx(2 / 3)}
    (rejected,) = board.rejected
    assert [(fault.kind, fault.id) for fault in rejected.faults] == [("missing id", "3")]


def test_blocks_of_lines_are_several_references(tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text("a cat\nthe cat\n\nno dog\n\n\none\nan\n")
    (tmp_path / "lines.txt").write_text("the cat\ndog\nan\n")
    (tmp_path / "blocks.txt").write_text("the cat\n\nno dog\n\nan\n")
    (tmp_path / "empty.txt").write_text("the cat\n\nan\n")
    board = arena.score(
        tmp_path / "gold.txt",
        [tmp_path / f"{team}.txt" for team in ("lines", "blocks", "empty")],
        metric="exact_match(normalise=none)",
        id="block",
        no_header=["text"],
        intervals=False,
        workers=1,
    )
    scores = {row["team"]: row["score"] for row in board.standings}
    assert scores == {"blocks": 1.0, "lines": pytest.approx(2 / 3)}
    assert [fault.kind for fault in board.rejected[0].faults] == ["missing id"]
