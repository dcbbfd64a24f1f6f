"""What a check of a plugin's item comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

__all__ = ["Check", "Conformance", "Outcome", "Verdict", "run_checks"]


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    LACKING = "lacking"
    """Nothing is wrong, but something is missing that costs time or certainty."""
    FAILED = "failed"
    NOT_TRIED = "not tried"


Verdict: TypeAlias = tuple[Outcome, str]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    outcome: Outcome
    message: str
    """A sentence; empty where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """Every check of one item."""

    item: str
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAILED)

    def require(self) -> None:
        """Raise if a check failed.

        Raises
        ------
        AssertionError
            With a line for each failed check.
        """
        if self.failed:
            lines = [f"{check.name}: {check.message}" for check in self.failed]
            raise AssertionError("\n".join([f"{self.item} does not conform.", *lines]))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"item": self.item, "checks": [asdict(check) for check in self.checks]}


_Subject = TypeVar("_Subject")


def run_checks(
    item: str, checks: Iterable[tuple[str, Callable[[_Subject], Verdict]]], subject: _Subject
) -> Conformance:
    """Run every check; whatever one of them raises is its failure."""
    done = []
    for name, check in checks:
        try:
            outcome, message = check(subject)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            outcome, message = Outcome.FAILED, f"It raised {type(error).__name__}: {error}"
        done.append(Check(name, outcome, message))
    return Conformance(item, tuple(done))
