"""The name under which arena is installed: `arena` itself belongs to another project."""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "arena-leaderboard"


def installed_version() -> str:
    """Return the version of the installed distribution."""
    return metadata.version(DISTRIBUTION)


def how_to_install(extra: str) -> str:
    """Return the command that installs arena with an extra.

    >>> how_to_install("serve")
    'pip install "arena-leaderboard[serve]"'
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"'
