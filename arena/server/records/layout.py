"""Where the files of a server are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OIDC_SECRET = "ARENA_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of an environment variable
"""The variable with this server's secret at the provider of OpenID Connect, for the web process
only."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below the root folder of a server.

    Examples
    --------
    >>> Layout(Path("/srv/arena")).public("churn").as_posix()
    '/srv/arena/public/churn.sqlite'
    """

    root: Path
    """Not inside a folder that the web process may not enter."""

    @property
    def intake(self) -> Path:
        """The database of requests and accounts; the web process writes it."""
        return self.root / "intake" / "intake.sqlite"

    @property
    def runs(self) -> Path:
        """The database of programs that wait or run; the web process writes it."""
        return self.root / "intake" / "runs.sqlite"

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files; the web process writes it."""
        return self.root / "intake" / "uploads"

    def public(self, competition: str) -> Path:
        """Return the database that the scorer of a competition publishes."""
        return self.root / "public" / f"{competition}.sqlite"

    def shared(self, competition: str) -> Path:
        """Return the folder of copies that the scorer of a competition lets people download."""
        return self.root / "public" / f"{competition}.files"

    def attempts(self, competition: str) -> Path:
        """Return the file in which a scorer notes the requests that it judges."""
        return self.root / "scorer" / f"{competition}.json"

    def checker(self, competition: str) -> Path:
        """Return the socket of the process that reads files as another user, if there is one."""
        return self.root / "checker" / f"{competition}.sock"

    def create(self) -> None:
        """Create the folders; existing ones keep their permissions.

        Raises
        ------
        OSError
            If a folder cannot be created.
        """
        self.root.mkdir(mode=0o711, parents=True, exist_ok=True)
        for folder in (self.intake.parent, self.uploads, self.root / "public"):
            folder.mkdir(mode=0o770, exist_ok=True)
        (self.root / "scorer").mkdir(mode=0o700, exist_ok=True)


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The settings of the web process: ``arena.server.web.main.run(socket, settings)``.

    Limits and all other keys of ``[server]`` are in
    :attr:`~arena.server.records.published.CompetitionFacts.server`, which the scorer publishes:
    the web process cannot read ``competition.toml``.
    """

    layout: Layout
    competitions: tuple[str, ...]
    """The names of the served competitions; the first is shown at ``/``."""
    url: str
    """The address that participants use, without a slash at its end."""
    workers: int = 1
