"""One bit of a server's files is flipped while it is down: it is named, or changes no result."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import ServerSection
from arena.errors import ArenaError
from arena.server.compare import stored_differences
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.scorer.scorer import Scorer
from served import predictions, send


def settle(folder: Path, layout: Layout) -> Competition:
    """Judge what waits; the competition stays open."""
    competition = Competition.open(folder)
    try:
        with Scorer(competition, "race", layout, ServerSection()) as scorer:
            while scorer.step():
                pass
    except BaseException:
        competition.close()
        raise
    return competition


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("flips", [24, pytest.param(2_000, marks=pytest.mark.campaign)])
def test_a_flipped_bit_is_named_or_changes_nothing(
    folder: Path, layout: Layout, tmp_path: Path, flips: int
) -> None:
    intake, accounts = Intake(layout.intake), Accounts(layout.intake)
    member = accounts.register("Ada").account
    accounts.create_team("race", "red", member)
    for number in range(2):
        send(layout, intake, "red", predictions(number), member=member)
    with settle(folder, layout) as competition:
        board = competition.leaderboard()
    send(layout, intake, "red", predictions(9), member=member)
    intake.close()
    accounts.close()
    rng = np.random.default_rng(5)
    files = [path for path in sorted(layout.root.rglob("*")) if path.is_file()]
    outcomes: Counter[str] = Counter()
    for flip in range(flips):
        copy = tmp_path / f"flip{flip}"
        shutil.copytree(folder, copy / "race")
        own = Layout(Path(shutil.copytree(layout.root, copy / "server")))
        path = own.root / files[flip % len(files)].relative_to(layout.root)
        content = bytearray(path.read_bytes())
        if content:
            # The first pages of a database, or any byte.
            most = min(len(content), 8_192) if flip % 3 else len(content)
            content[int(rng.integers(most))] ^= 1 << int(rng.integers(8))
            path.write_bytes(content)
        stored_differences(copy / "race", own, "race")
        try:
            with settle(copy / "race", own) as competition:
                assert competition.audit() == ()
                assert len(competition.submissions()) >= 2
                assert competition.leaderboard()[0]["team"] == board[0]["team"]
            outcomes["judged"] += 1
        except ArenaError:  # a sentence; any other error fails this test
            outcomes["named"] += 1
        shutil.rmtree(copy)
    assert outcomes["judged"] > flips / 3, outcomes
