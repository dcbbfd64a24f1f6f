"""Cells that are made once give the rows that the writer of CSV writes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.utils.tabular import csv_cells, read_csv, write_csv
from file_sizes import set_size


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1))
def test_they_are_those_of_the_writer(texts: list[str]) -> None:
    cells = csv_cells(texts)
    if cells is None:
        assert any("\r" in text for text in texts)
        return
    out = io.StringIO(newline="")
    write_csv(out, ([text, "0.5", text] for text in texts))
    assert "".join(f"{cell},0.5,{cell}\n" for cell in cells) == out.getvalue()


@pytest.mark.parametrize("text", ['"', "a,b", "a\nb", "", " ", "'", ",0\n"])
def test_what_needs_quotes_has_them(text: str) -> None:
    out = io.StringIO(newline="")
    write_csv(out, [[text, "x"]])
    assert [f"{cell},x\n" for cell in csv_cells([text]) or ()] == [out.getvalue()]


def test_a_carriage_return_changes_the_other_cells() -> None:
    assert csv_cells(["a", "b\r"]) is None


def test_a_file_of_200_mib_is_read_and_a_larger_one_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "past.csv"
    path.write_text(" team ,score\n\nada,1\n")
    limit = 200 * 2**20
    set_size(monkeypatch, limit)
    assert read_csv(path) == (["team", "score"], [(3, ["ada", "1"])])
    set_size(monkeypatch, limit + 1)
    with pytest.raises(InputError, match=r"past\.csv is larger than 200 MiB, the limit for such a"):
        read_csv(path)
