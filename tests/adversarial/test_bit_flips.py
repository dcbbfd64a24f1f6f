"""Damage of one byte in any of the three files: repair, then submit, and nothing is lost silently.

The full campaigns: ``pytest -m campaign tests/adversarial/test_bit_flips.py``, and
``python tests/support/flipped_bits.py`` for every byte of the log and the journal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from arena.errors import StoreError
from arena.store.repair import repair
from arena.utils.processes import call_limited
from flipped_bits import (
    DATABASE,
    JOURNAL,
    LOG,
    changes_of,
    leave_killed,
    outcomes_apart,
    repair_then_submit,
)

FILES = (DATABASE, LOG, JOURNAL)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a kill leaves it: three submissions in the file, three in its log."""
    return leave_killed(tmp_path_factory.mktemp("open"), tmp_path_factory.mktemp("killed") / "x")


@pytest.mark.slow
@pytest.mark.parametrize("name", [LOG, JOURNAL])
def test_no_byte_is_lost_without_a_word(killed: Path, name: str) -> None:
    """Some of all places, flipped and cut off; fixed ones, so that this never fails by chance."""
    content = (killed / name).read_bytes()
    changes = changes_of(content, max(1, len(content) // 20), seed=1)
    came = {came for _, came in outcomes_apart(killed, name, changes, mend_every=30)}
    assert came == ({"whole"} if name == JOURNAL else {"not opened", "repaired"})


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, pytest.param(200, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("name", FILES)
def test_repair_then_submit(killed: Path, tmp_path: Path, name: str, trials: int) -> None:
    """Each in another process: if DuckDB crashes on a damaged file, that is a failure."""
    rng = np.random.default_rng([FILES.index(name), trials])
    written = np.flatnonzero(np.frombuffer((killed / name).read_bytes(), dtype=np.uint8))
    for trial in range(trials):
        place, bit = int(rng.choice(written)), int(rng.integers(8))
        folder = tmp_path / f"{trial}"
        came = call_limited(
            repair_then_submit,
            killed,
            folder,
            name,
            place,
            1 << bit,
            seconds=1800.0,
            purpose="flips",
        )
        assert came in ("refused", "whole", "repaired"), (place, bit)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_a_damaged_index_does_not_cost_the_good_log(killed: Path, tmp_path: Path) -> None:
    """Blocks of the database that only the replay of the log reads: the log must not be cut."""
    whole = (killed / FILES[0]).read_bytes()
    written = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8))
    refused = 0
    for place in written[np.linspace(0, len(written) - 1, 8).astype(int)]:
        folder = Path(shutil.copytree(killed, tmp_path / f"{place}"))
        content = bytearray(whole)
        content[place] ^= 1
        (folder / FILES[0]).write_bytes(content)
        log = (folder / FILES[1]).read_bytes()
        try:
            assert repair(folder / FILES[0]).lost == ()
        except StoreError:
            refused += 1
            assert (folder / FILES[1]).read_bytes() == log
    assert refused
