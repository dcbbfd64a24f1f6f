"""Files of a server that cannot be written, and selections at the same time: nothing is lost."""

from __future__ import annotations

import errno
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import ServerSection
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.uploads import Upload
from arena.server.scorer.scorer import Scorer
from served import predictions, send
from web_site import NAME, WebSite

CODES = ("EACCES", "EROFS", "EIO", "ESTALE", "ENOSPC", "EDQUOT", "EXDEV", "ENOENT", "ETIMEDOUT")
STEPS = ("rename", "fsync", "begin", "write")


@pytest.mark.few(4)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", CODES)
def test_an_upload_that_cannot_be_stored_is_not_acknowledged(
    web: WebSite, monkeypatch: pytest.MonkeyPatch, code: str, step: str
) -> None:
    """As on a shared folder whose server went away, or one that became read-only."""
    client = web.program(web.token(web.person("Ada", "Ants")))

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))

    with monkeypatch.context() as patch:
        if step == "rename":
            patch.setattr(Path, "rename", fail)
        elif step == "fsync":
            patch.setattr(os, "fsync", fail)
        elif step == "write":
            patch.setattr(Upload, "write", fail)
        else:
            patch.setattr(web.site.uploads, "begin", fail)
        answer = client.post(f"/api/v1/{NAME}/submissions", content=b"id,y\na,1\n")
    assert answer.status_code == (507 if code in {"ENOSPC", "EDQUOT"} else 503), answer.text
    assert web.site.intake.after(NAME, 0) == []
    assert list(web.site.uploads.folder.iterdir()) == []
    assert web.site.arriving == {}
    again = client.post(f"/api/v1/{NAME}/submissions", content=b"id,y\na,1\n")
    assert again.status_code == 202


def settle(folder: Path, layout: Layout) -> Competition:
    competition = Competition.open(folder)
    with Scorer(competition, "race", layout, ServerSection()) as scorer:
        for _step in range(200):
            if not scorer.step():
                break
    return competition


@pytest.mark.slow
def test_of_selections_at_the_same_time_the_last_one_counts(folder: Path, layout: Layout) -> None:
    intake, accounts = Intake(layout.intake), Accounts(layout.intake)
    members = [accounts.register(f"m{number}").account for number in range(4)]
    team = accounts.create_team("race", "red", members[0])
    for member in members[1:]:
        accounts.join_team(team.team, member, 9)
    for number in range(3):
        send(layout, intake, "red", predictions(number), member=members[0])
    settle(folder, layout).close()

    def choose(turn: int) -> int:
        with closing(Intake(layout.intake)) as own:
            request, _new = own.append(
                competition="race",
                team="red",
                member=members[turn % 4],
                kind="select",
                payload={"submissions": [turn % 3 + 1]},
            )
        return request.seq

    with ThreadPoolExecutor(8) as threads:
        sequence = dict(zip(threads.map(choose, range(40)), range(40), strict=True))
    assert sorted(sequence) == list(range(4, 44))
    with settle(folder, layout) as competition:
        last = sequence[max(sequence)]
        assert competition.selections() == {"red": [last % 3 + 1]}
        chosen = Counter(event.kind for event in competition.events())
        assert chosen["selection"] == 40 if "selection" in chosen else chosen.total() > 40
        assert competition.audit() == ()
    intake.close()
    accounts.close()
