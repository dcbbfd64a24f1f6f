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
