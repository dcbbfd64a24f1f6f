import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.intake import hashed_ids
from arena.intake.hashed_ids import are_different, locate_hashed


@pytest.fixture(autouse=True)
def _few_ids_too(monkeypatch):
    monkeypatch.setattr(hashed_ids, "FEWEST_TEXTS", 1)


def by_a_hash_table(ids: pa.Array, expected: pa.Array) -> list[int]:
    return pc.fill_null(pc.index_in(ids, value_set=expected), -1).to_pylist()


def texts_like(n: int) -> list[str]:
    rng = np.random.default_rng(3)
    return [f"{rng.integers(2**60):x}"[: rng.integers(3, 16)] + f"é{i}" for i in range(n)]


@pytest.mark.slow
@given(st.data())
def test_positions_are_those_of_a_hash_table(data):
    text = st.text(st.sampled_from("ab\0é\U0001f600"), max_size=20)
    names = data.draw(st.lists(text, min_size=1, max_size=40, unique=True))
    chosen = data.draw(st.permutations(names))
    for place in data.draw(st.lists(st.integers(0, len(names) - 1), max_size=2)):
        chosen[place] = data.draw(st.one_of(text, st.sampled_from(names)))
    expected, ids = pa.array(names), pa.array(chosen)
    for named in (ids, pa.concat_arrays([pa.array(["zz", "1"]), ids])[2:]):
        assert locate_hashed(named, expected).tolist() == by_a_hash_table(named, expected)


@pytest.mark.parametrize("hashes", [1, 7, 2_000])
def test_shuffled_texts_are_found_also_where_hashes_collide(hashes, monkeypatch):
    hashes_of = hashed_ids.hashes_of
    monkeypatch.setattr(hashed_ids, "hashes_of", lambda rows: hashes_of(rows) % np.uint64(hashes))
    expected = pa.array(texts_like(3_000))
    order = np.random.default_rng(0).permutation(3_000)
    ids = expected.take(pa.array(order))
    assert locate_hashed(ids, expected).tolist() == order.tolist()


def test_an_unknown_id_with_the_hash_of_a_missing_one_is_unknown(monkeypatch):
    monkeypatch.setattr(hashed_ids, "hashes_of", lambda rows: np.zeros(len(rows), np.uint64))
    expected, ids = pa.array(["a", "b", "c"]), pa.array(["c", "x", "a"])
    assert locate_hashed(ids, expected).tolist() == [2, -1, 0]
    assert locate_hashed(pa.array(["c", "c", "a"]), expected).tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    "ids", [["b", "a", "x"], ["b", "a", "a"], ["b", "a"], ["b", "a", "a\0", "c"], ["", "a", "b"]]
)
def test_unknown_repeated_and_missing_ids_are_found_as_by_a_hash_table(ids):
    ids, expected = pa.array(ids), pa.array(["a", "b", "a\0"])
    assert locate_hashed(ids, expected).tolist() == by_a_hash_table(ids, expected)


@pytest.mark.parametrize("size", [7, 8, 9, 63, 64])
def test_the_last_byte_of_a_text_counts(size):
    expected = pa.array(["x" * (size - 1) + last for last in "ab"])
    assert locate_hashed(expected[::-1], expected).tolist() == [1, 0]
    other = pa.array(["x" * (size - 1) + last for last in "ca"])
    assert locate_hashed(other, expected).tolist() == [-1, 0]


@pytest.mark.parametrize("size", [8, 12, 36])
def test_ids_of_one_size_are_found_among_others(size):
    texts = [f"{i * 7919:0{size}}" for i in range(500)]
    order = np.random.default_rng(1).permutation(502)
    for expected in (pa.array(["", *texts, "1" * (size + 1)]), pa.array(texts)):
        own = order[order < len(expected)]
        assert locate_hashed(expected.take(pa.array(own)), expected).tolist() == own.tolist()


def test_other_ids_are_left_to_the_hash_table():
    expected = pa.array(["a", "b"])
    assert locate_hashed(pa.array(["a" * 65]), pa.array(["a" * 65])) is None
    assert locate_hashed(pa.array(["a", "a" * 1_000]), expected).tolist() == [0, -1]
    assert locate_hashed(pa.array(["a", None]), expected) is None
    assert locate_hashed(expected.cast(pa.large_string()), expected) is None


@pytest.mark.parametrize("hashes", [1, 2**63])
@pytest.mark.parametrize("filler", ["", "x" * 65])
def test_a_text_that_occurs_twice_is_noticed(filler, hashes, monkeypatch):
    all_hashes = hashed_ids.hashes_of
    monkeypatch.setattr(hashed_ids, "hashes_of", lambda rows: all_hashes(rows) % np.uint64(hashes))
    texts = [filler + text for text in ("a", "b", "", "c", "ab")]
    assert are_different(pa.array(texts))
    for text in texts:
        assert not are_different(pa.array([*texts, text]))
