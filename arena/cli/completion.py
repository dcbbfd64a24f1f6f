"""Names that a shell completes: metrics, mechanisms, teams and submissions of a competition.

A completion never fails and prints nothing: an error gives no names. The competition is the one of
the option ``-C``, or of the current folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any


def complete_metric(incomplete: str) -> list[str]:
    """Return the names of metrics that begin with a text.

    >>> complete_metric("roc_")
    ['roc_auc']
    """
    return _matching(incomplete, lambda: _registered("metrics"))


def complete_mechanism(incomplete: str) -> list[str]:
    """Return the names of mechanisms that begin with a text; of several, the last is completed.

    >>> complete_mechanism("kaggle,ladder-f")
    ['kaggle,ladder-free']
    """
    before = incomplete[: incomplete.rfind(",") + 1]
    return _matching(incomplete, lambda: (before + name for name in _registered("mechanisms")))


def complete_team(ctx: Any, incomplete: str) -> list[str]:
    """Return the teams of the competition that begin with a text."""
    return _matching(incomplete, lambda: {row["team"] for row in _submissions(ctx)})


def complete_submission(ctx: Any, incomplete: str) -> list[str]:
    """Return the accepted submissions, of the team if one is given, that begin with a text."""
    team = ctx.params.get("team")
    return _matching(
        incomplete,
        lambda: (
            str(row["submission"])
            for row in _submissions(ctx)
            if row["status"] == "accepted" and team in {None, row["team"]}
        ),
    )


def _matching(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    # An error would be printed into the line that is being typed.
    with contextlib.suppress(Exception):
        return sorted(name for name in names() if name.startswith(incomplete))
    return []


def _registered(kind: str) -> Iterator[str]:
    from arena.plugin.manager import PluginManager

    return (entry.name for entry in getattr(PluginManager(), kind))


def _submissions(ctx: Any) -> list[dict[str, Any]]:
    from arena.cli.folder import find_folder
    from arena.competition.view import CompetitionView

    directory = ctx.params.get("directory")
    folder = find_folder(None if directory is None else Path(directory))
    with CompetitionView.open(folder) as competition:
        return competition.submissions()
