"""The results of conformance checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from arena.utils.text import type_and_text


class Outcome(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    LACKING = "lacking"
    """Correct, but without an optional part, which costs time or accuracy."""
    FAILED = "failed"
    NOT_TRIED = "not tried"


Verdict: TypeAlias = tuple[Outcome, str]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    outcome: Outcome
    message: str
    """A sentence, or an empty text."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """The results of all checks of one item."""

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
            The message has a line for each failed check.
        """
        if self.failed:
            lines = [f"{check.name}: {check.message}" for check in self.failed]
            raise AssertionError("\n".join([f"{self.item} does not conform.", *lines]))

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON."""
        return {"item": self.item, "checks": [asdict(check) for check in self.checks]}


_Subject = TypeVar("_Subject")


def run_checks(
    item: str, checks: Iterable[tuple[str, Callable[[_Subject], Verdict]]], subject: _Subject
) -> Conformance:
    """Run all checks; a check that raises an exception fails."""
    results = []
    for name, check in checks:
        try:
            outcome, message = check(subject)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise any error
            outcome, message = Outcome.FAILED, f"It raised {type_and_text(error)}"
        results.append(Check(name, outcome, message))
    return Conformance(item, tuple(results))
