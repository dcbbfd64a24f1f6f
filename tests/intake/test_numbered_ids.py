import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.intake import packed_texts
from arena.intake.numbered_ids import locate_numbered


@pytest.fixture(autouse=True)
def _few_ids_too(monkeypatch):
    monkeypatch.setattr(packed_texts, "_FEWEST", 1)


def by_a_hash_table(ids: pa.Array, expected: pa.Array) -> list[int]:
    return pc.fill_null(pc.index_in(ids, value_set=expected), -1).to_pylist()


prefixes = st.sampled_from(["", "id_", "0", "a1b", "é", "-"])
forms = st.sampled_from(["{}", "{:04}", "{:08}"])


@pytest.mark.slow
@given(prefixes, forms, st.integers(1, 60), st.integers(0, 2000), st.randoms(), st.data())
def test_positions_are_those_of_a_hash_table(prefix, form, n, start, random, data):
    numbers = random.sample(range(start, start + 3 * n), n)
    expected = pa.array([prefix + form.format(number) for number in numbers])
    same = st.sampled_from(expected.to_pylist())
    other = st.one_of(
        st.integers(0, 10_000).map(lambda i: prefix + form.format(i)),
        st.integers(0, 99).map(lambda i: f"{prefix}0{i}"),
        st.sampled_from(["", prefix, "x", f"{prefix}1.0", f"{prefix}+1", f"{prefix}0x1", "\uff19"]),
    )
    few = data.draw(st.lists(same, max_size=30)), data.draw(st.lists(other, max_size=3))
    ids = pa.array([*few[0], *few[1]], pa.string())
    for one in (ids, pa.concat_arrays([pa.array(["zz", "1"]), ids])[2:]):
        found = locate_numbered(one, expected)
        assert found is None or found.tolist() == by_a_hash_table(one, expected)


@pytest.mark.parametrize("form", ["{}", "id{:05}", "{:06}", "a1b{}"])
def test_shuffled_numbers_are_found_in_a_table(form):
    expected = pa.array([form.format(i) for i in range(3_000)])
    order = np.random.default_rng(0).permutation(3_000)
    assert locate_numbered(expected.take(pa.array(order)), expected).tolist() == order.tolist()


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["01", "2", "100"], ["1", "2", "100"]),  # a leading zero
        (["1"], ["1", "10"]),  # one length only
        (["a1", "a2"], ["b1", "b2"]),
        (["1", "x"], ["1", "2"]),
        (["1", "1000000"], ["1", "1000000"]),  # too many gaps
        (["", "1"], ["1", "2"]),
        (["1" * 19] * 2, ["1" * 19, "2" * 19]),
    ],
)
def test_other_ids_are_left_to_a_hash_table(ids, expected):
    assert locate_numbered(pa.array(ids), pa.array(expected)) is None


def test_nulls_and_other_types_are_left_to_a_hash_table():
    expected = pa.array(["1", "2"])
    assert locate_numbered(pa.array(["1", None]), expected) is None
    assert locate_numbered(pa.array(["1", "2"], pa.large_string()), expected) is None
    assert locate_numbered(pa.array([], pa.string()), expected) is None
