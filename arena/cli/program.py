"""Whether this process runs one command and nothing else."""

from __future__ import annotations

_commands: list[bool] = []


def starts(*, alone: bool) -> None:
    """Remember that a command starts; ``alone``: this process does nothing else."""
    _commands.append(alone)


def has_read_nothing() -> bool:
    """Return whether this process holds no label, for a command that has not opened a competition.

    A program or a test that calls a command may have opened others before.
    """
    return _commands == [True]
