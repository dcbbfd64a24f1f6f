"""How many faults of a file are reported, and how they are written."""

from __future__ import annotations

import pytest

from arena.interfaces.faults import (
    FaultGroup,
    FaultList,
    Refused,
    clean,
    describe,
    fault_lines,
    first_of_each_kind,
    group_faults,
    show,
    show_all,
)
from arena.types import Fault
from arena.utils.text import plural


def messages(count: int, most: int = 20) -> list[str]:
    """Return what is reported of so many faults of a kind, added one by one and all at once."""
    one_by_one, at_once = FaultList(), FaultList()
    for row in range(count):
        one_by_one.add("a", f"{row}")
    at_once.add_each("a", range(count), lambda row: Fault("a", f"{row}"))
    assert one_by_one.to_tuple(most) == at_once.to_tuple(most)
    return [fault.message for fault in at_once.to_tuple(most)]


@pytest.mark.parametrize("count", [0, 1, 19, 20])
def test_up_to_twenty_faults_of_a_kind_are_reported(count: int) -> None:
    assert messages(count) == [f"{row}" for row in range(count)]


def test_further_faults_are_counted() -> None:
    first = [f"{row}" for row in range(20)]
    assert messages(21) == [*first, "… and 1 more of this kind (a)."]
    assert messages(1_500) == [*first, "… and 1,480 more of this kind (a)."]
    assert messages(4, most=3) == ["0", "1", "2", "… and 1 more of this kind (a)."]


def test_faults_of_two_files_are_added_up() -> None:
    faults = FaultList()
    rows_of_faults: list[int] = []

    def make(row: int) -> Fault:
        rows_of_faults.append(row)
        return Fault("a", f"{row}")

    for rows in (range(15), range(15)):
        faults.add_each("a", rows, make)
    assert len(rows_of_faults) == 20  # only reported faults are created
    kept = faults.to_tuple()
    assert [fault.message for fault in kept[:20]] == [*map(str, range(15)), *map(str, range(5))]
    assert kept[20] == Fault("a", "… and 10 more of this kind (a).", count=10)


def test_a_kind_has_the_first_cause_that_is_found() -> None:
    faults = FaultList()
    assert not faults
    faults.add("a", "x", row=3, id="i\n", column="c\n")
    faults.explain("a", None)
    faults.explain("a", "first")
    faults.explain("a", "second")
    assert faults
    assert faults.to_tuple() == (Fault("a", "x", row=3, id="i\\n", column="c\\n", cause="first"),)


def test_replaced_bytes_are_those_of_two_kinds() -> None:
    for kind, replaced in (("wrong encoding", True), ("NUL byte", True), ("NaN", False)):
        faults = FaultList()
        assert not faults.replaced_bytes
        with pytest.raises(Refused, match="^x$"):
            faults.refuse(kind, "x")
        assert faults.replaced_bytes is replaced
        assert faults.to_tuple() == (Fault(kind, "x"),)


def test_groups_have_three_examples_that_stand_for_one_fault_each() -> None:
    faults = [Fault("a", f"{row}", row=row) for row in range(4)]
    more = Fault("a", "more", count=7, cause="why")
    assert group_faults([more, Fault("b", "x"), *faults]) == (
        FaultGroup("a", 11, "why", tuple(faults[:3])),
        FaultGroup("b", 1, None, (Fault("b", "x"),)),
    )


LINES: dict[str, tuple[list[Fault], list[str]]] = {
    "one": ([Fault("a", "Write.", row=2)], ["row 2: Write."]),
    "one without a place": ([Fault("a", "Write.")], ["Write."]),
    "one with a cause": (
        [Fault("a", "Write.", row=2, cause="Why.")], ["a (1): Why.", "  row 2: Write."],
    ),
    "equal ones": (
        [Fault("a", "Write.", row=row, column="c") for row in range(4)],
        ["a (4), such as row 0, column 'c'; row 1, column 'c'; row 2, column 'c': Write."],
    ),
    "equal ones without a place": ([Fault("a", "Write.")] * 2, ["a (2)", "  Write.", "  Write."]),
    "equal ones with a cause": (
        [Fault("a", "Write.", row=row, cause="Why.") for row in (1, 2)],
        ["a (2): Why.", "  row 1: Write.", "  row 2: Write."],
    ),
    "one and many more": (
        [Fault("a", "Write.", row=1), Fault("a", "… and more", count=1_000)],
        ["a (1,001)", "  row 1: Write."],
    ),
    "another kind after equal ones": (
        [*(Fault("a", "Write.", row=row) for row in (1, 2)), Fault("b", "Read.", row=3)],
        ["a (2), such as row 1; row 2: Write.", "row 3: Read."],
    ),
    "equal messages of two kinds": (
        [Fault(kind, "Write.", row=row) for kind in "ab" for row in (1, 2)],
        ["a (2), such as row 1; row 2: Write.", "b (2), such as row 1; row 2: Write."],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_faults_are_lines(case: str) -> None:
    faults, lines = LINES[case]
    assert fault_lines(faults) == lines


def test_texts_of_participants_are_cut_and_escaped() -> None:
    assert [clean("a" * n) for n in (200, 201)] == ["a" * 200, "a" * 199 + "…"]
    assert [show("a" * n) for n in (60, 61)] == [f"'{'a' * 60}'", f"'{'a' * 59}…'"]
    assert show_all("abcdefghij") == ", ".join(f"'{letter}'" for letter in "abcdefghij")
    assert show_all("abcdefghijk").endswith(", 'j' and 1 more")
    assert show_all(["a"] * 2_000, limit=1) == "'a' and 1,999 more"
    (fault,) = first_of_each_kind([Fault("a", "m" * 501, row=1, id="i" * 201, column="c")])
    assert fault == Fault("a", "m" * 499 + "…", row=1, id="i" * 199 + "…", column="c")
    assert first_of_each_kind([Fault("a", "m" * 500)])[0].message == "m" * 500
    assert describe(Fault("a", "M.", id="i", column="c")) == "id 'i', column 'c': M."
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
