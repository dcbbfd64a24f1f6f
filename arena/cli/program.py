"""What a process can do that runs one command and nothing else."""

from __future__ import annotations

from arena.utils.lazy import leave_unused_out
from arena.utils.parallel import available_workers

_commands: list[bool] = []


def starts(*, alone: bool) -> None:
    """Remember that a command starts; ``alone``: this process does nothing else."""
    _commands.append(alone)
    if _runs_one_command():
        leave_unused_out()


def prepare_readers(workers: int = 1, *, reads_too: bool = True) -> None:
    """Start the processes for the first files, before this command reads a label.

    0 workers: one per processor. Only in a process that runs one command: another may hold labels.
    ``reads_too``: this process reads files as well, and imports what each of them would import.
    """
    if _runs_one_command():
        if reads_too:
            import pyarrow.compute  # noqa: F401 - 20 ms
        from arena.intake import prepare_reader

        prepare_reader(workers or available_workers())


def _runs_one_command() -> bool:
    """Return whether this process runs its first command, and nothing else.

    A program or a test that calls a command may have opened a competition before.
    """
    return _commands == [True]
