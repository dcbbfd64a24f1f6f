"""Progress that a test can look at."""

from __future__ import annotations


class CountedProgress:
    """Counts the steps of the stages, and keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.total = self.done = 0

    def say(self, message: str) -> None:
        self.messages.append(message)

    def start(self, label: str, total: int) -> None:
        self.total = total

    def advance(self, steps: int = 1) -> None:
        self.done += steps
