"""Cells that are made once give the rows that the writer of CSV writes."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.utils.tabular import csv_cells, write_csv


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
