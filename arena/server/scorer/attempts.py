"""Notes the next requests, so that a request that crashes the scorer twice is set aside."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arena.utils.atomic_write import atomic_write
from arena.utils.strict_json import parse_json

_LOGGER = logging.getLogger(__name__)
_MOST = 2


@dataclass(slots=True)
class Attempts:
    """The requests that a scorer was judging when it ended.

    A request that was judged in a group is judged alone after the scorer was killed; if that ends
    the scorer twice, it is not tried again.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "churn.json"
    >>> Attempts.read(path).begin([7, 8])  # ... and the process is killed
    >>> again = Attempts.read(path)
    >>> again.alone(7), again.alone(9), again.hopeless(7)
    (True, False, False)
    >>> for _ in range(2):
    ...     Attempts.read(path).begin([7])
    >>> Attempts.read(path).hopeless(7)
    True
    """

    path: Path
    single_until: int = 0
    """Requests up to this number are judged alone."""
    deaths: dict[int, int] = field(default_factory=dict)
    """How often the scorer ended while it judged a request alone."""

    @classmethod
    def read(cls, path: Path) -> Attempts:
        """Read the notes of the last process; without a file nothing was interrupted.

        A damaged file counts as none: a request that ends the scorer is then tried twice again.
        """
        try:
            noted = parse_json(path.read_text())
            deaths = {int(seq): int(count) for seq, count in noted["deaths"].items()}
            current = [int(seq) for seq in noted["current"]]
            single_until = int(noted["single_until"])
        except FileNotFoundError:
            return cls(path)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            _LOGGER.warning(
                "%s is damaged and is not used: it said which request was interrupted.", path
            )
            return cls(path)
        if len(current) == 1:
            deaths[current[0]] = deaths.get(current[0], 0) + 1
        return cls(path, max([single_until, *current]), deaths)

    def alone(self, seq: int) -> bool:
        """Return whether a request must be judged alone."""
        return seq <= self.single_until

    def hopeless(self, seq: int) -> bool:
        """Return whether judging a request ended the scorer twice."""
        return self.deaths.get(seq, 0) >= _MOST

    def begin(self, current: Sequence[int]) -> None:
        """Note the requests that are judged next."""
        noted = {
            "current": list(current),
            "single_until": self.single_until,
            "deaths": self.deaths,
        }
        atomic_write(self.path, json.dumps(noted).encode())

    def failed(self, current: Sequence[int]) -> None:
        """Judge these requests alone from now on: judging them together failed."""
        self.single_until = max([self.single_until, *current])

    def end(self) -> None:
        """Note that nothing is being judged."""
        self.path.unlink(missing_ok=True)
