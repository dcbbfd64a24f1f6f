"""Places for uploads of the kaggle client: how long they last, and how many an account has."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arena.server.records.accounts import Accounts
from arena.server.records.slots import Slot, Slots

START = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_place_lasts_for_a_day_and_an_account_has_the_last_five(tmp_path: Path) -> None:
    now, file = START, tmp_path / "intake.sqlite"
    with closing(Accounts(file)) as accounts:
        ada, bo = (accounts.register(name).account for name in ("Ada", "Bo"))
    slots = Slots(file, lambda: now)
    secrets = [
        slots.open_slot(ada, "race", file=f"{number}.csv", size=number)[0] for number in range(5)
    ]
    secret_of_bo, removed = slots.open_slot(bo, "race", file="b.csv", size=9)
    assert removed == []
    for number, secret in enumerate(secrets[:2]):
        assert slots.fill_slot(secret, f"upload{number}", size=3, sha256="ab") is None
    replaced = slots.fill_slot(secrets[1], "again", size=4, sha256="cd")
    assert replaced == "upload1"
    sixth, removed = slots.open_slot(ada, "race", file="5.csv", size=5)
    assert removed == ["upload0"]
    assert slots.slot(secrets[0]) is None
    assert slots.fill_slot(secrets[0], "late", size=1, sha256="") == "late"
    assert slots.slot(secrets[1]) == Slot(ada, "race", file="1.csv", size=4, upload="again",
                                          sha256="cd")  # fmt: skip
    assert (slots.uploads_of(ada, "race"), slots.uploads()) == ({"again": 4}, {"again"})
    assert slots.uploads_of(ada, "other") == {}
    assert slots.close_slot(secret_of_bo) is not None
    assert slots.close_slot(secret_of_bo) is None
    now += timedelta(days=1) - timedelta(seconds=1)
    assert slots.slot(sixth) is not None
    now += timedelta(seconds=1)
    assert slots.slot(sixth) is None
    now += timedelta(seconds=1)
    _, removed = slots.open_slot(bo, "race", file="c.csv", size=1)
    assert (removed, slots.uploads()) == (["again"], set())
    slots.close()
