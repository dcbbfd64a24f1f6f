import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.intake import hashed_ids, packed_texts
from arena.intake.hashed_ids import locate_hashed


@pytest.fixture(autouse=True)
def _few_ids_too(monkeypatch):
    monkeypatch.setattr(packed_texts, "_FEWEST", 1)


def by_a_hash_table(ids: pa.Array, expected: pa.Array) -> list[int]:
    return pc.fill_null(pc.index_in(ids, value_set=expected), -1).to_pylist()


def texts_like(n: int) -> list[str]:
    rng = np.random.default_rng(3)
    return [f"{rng.integers(2**60):x}"[: rng.integers(3, 16)] + f"é{i}" for i in range(n)]


@pytest.mark.slow
@given(st.data())
def test_positions_are_those_of_a_hash_table(data):
    text = st.text(st.sampled_from("ab\0é\U0001f600"), max_size=20)
    expected = pa.array(data.draw(st.lists(text, min_size=1, max_size=40, unique=True)))
    ids = pa.array(data.draw(st.lists(st.one_of(text, st.sampled_from(expected.to_pylist())))))
    ids = ids.cast(pa.string())
    for one in (ids, pa.concat_arrays([pa.array(["zz", "1"]), ids])[2:]):
        found = locate_hashed(one, expected)
        assert found is None or found.tolist() == by_a_hash_table(one, expected)


@pytest.mark.parametrize("factors", [hashed_ids._FACTORS, (0, 0), (0, 1)])
def test_shuffled_texts_are_found_also_where_hashes_collide(factors, monkeypatch):
    monkeypatch.setattr(hashed_ids, "_FACTORS", factors)
    expected = pa.array(texts_like(3_000))
    order = np.random.default_rng(0).permutation(3_000)
    ids = expected.take(pa.array(order))
    assert locate_hashed(ids, expected).tolist() == order.tolist()


def test_unknown_repeated_and_missing_ids_are_told_apart():
    expected = pa.array(["", "a", "a\0", "abcdefgh", "abcdefgh\0", "abcdefghi", "é" * 32])
    ids = pa.array(["b", "a\0", "a", "a", "abcdefg", "abcdefgh", "abcdefgh\0\0", "", "é" * 32])
    assert locate_hashed(ids, expected).tolist() == [-1, 2, 1, 1, -1, 3, -1, 0, 6]


@pytest.mark.parametrize("size", [7, 8, 9, 63, 64])
def test_the_last_byte_of_a_text_counts(size):
    expected = pa.array(["x" * (size - 1) + "a", "x" * (size - 1) + "b"])
    ids = pa.array(["x" * (size - 1) + last for last in "cba"])
    assert locate_hashed(ids, expected).tolist() == [-1, 1, 0]


def test_ids_longer_than_all_expected_ones_are_unknown():
    expected = pa.array(["a" * 16, "a" * 8])
    ids = pa.array(["a" * 1_000, "a" * 17, "a" * 24, "a" * 16, "a" * 9, "a" * 8, "a" * 7])
    assert locate_hashed(ids, expected).tolist() == [-1, -1, -1, 0, -1, 1, -1]
    assert locate_hashed(pa.array(["a" * 24] * 3), expected).tolist() == [-1] * 3


@pytest.mark.parametrize("size", [8, 12, 36])
def test_ids_of_one_size_are_found_among_others(size):
    expected = pa.array([f"{i * 7919:0{size}}" for i in range(500)])
    order = np.random.default_rng(1).permutation(500)
    mixed = pa.array(["", *expected.take(pa.array(order)).to_pylist(), "1" * (size + 1)])
    assert locate_hashed(mixed, expected).tolist() == [-1, *order.tolist(), -1]
    assert locate_hashed(mixed[1:-1], expected).tolist() == order.tolist()
    assert locate_hashed(pa.array(["1" * (size + 3)] * 2), expected).tolist() == [-1, -1]


def test_other_ids_are_left_to_the_hash_table():
    expected = pa.array(["a", "b"])
    assert locate_hashed(expected, pa.array(["a" * 65])) is None
    assert locate_hashed(pa.array(["a", None]), expected) is None
    assert locate_hashed(expected.cast(pa.large_string()), expected) is None
