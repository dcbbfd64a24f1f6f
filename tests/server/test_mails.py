"""The queue of mails: when one is sent again, given up and forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.server.records.mails import Mail, Mails

MAIL = Mail("key", "race", recipient="ada@example.org", subject="Subject", body="Text")
START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Queue:
    """Mails with a clock that the test moves."""

    def __init__(self, path: Path) -> None:
        self.now = START
        self.mails = Mails(path, lambda: self.now)
        self.mails.add([MAIL])

    def try_once(self, reason: str = "later") -> None:
        claimed = self.mails.claim()
        assert claimed is not None
        self.mails.postpone(claimed, reason)

    def is_due(self) -> bool:
        mail = self.mails.claim()
        if mail is not None:
            self.mails.resume()
        return mail is not None


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    mail_queue = Queue(tmp_path / "intake.sqlite")
    yield mail_queue
    mail_queue.mails.close()


def test_a_mail_waits_twice_as_long_each_time_and_at_most_an_hour(queue: Queue) -> None:
    second = timedelta(seconds=1)
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        queue.try_once()
        queue.now += minutes * MINUTE - second
        assert not queue.is_due()
        queue.now += second
        assert queue.is_due()


def test_a_mail_is_given_up_after_three_days(queue: Queue) -> None:
    queue.now += timedelta(days=3)
    queue.try_once()
    assert queue.mails.counts("race") == {"waiting": 1}
    queue.now += MINUTE
    queue.try_once("no such host")
    assert queue.mails.counts("race") == {"failed": 1}
    (failed,) = queue.mails.failures("race")
    assert (failed.recipient, failed.reason, failed.created) == (
        "ada@example.org", "no such host", START,
    )  # fmt: skip
    assert queue.mails.send_again("race", "key")
    assert not queue.mails.send_again("race", "key")
    assert queue.is_due()


def test_a_mail_that_failed_is_forgotten_after_a_month(queue: Queue) -> None:
    queue.mails.failed(MAIL, "ada@example.org is unknown")
    queue.now += timedelta(days=30)
    assert queue.mails.claim() is None
    assert len(queue.mails.failures("race")) == 1
    queue.now += MINUTE
    assert queue.mails.claim() is None
    assert queue.mails.failures("race") == []
    assert queue.mails.counts("race") == {"failed": 1}
    assert queue.mails.add([MAIL]) == 0  # it is not sent twice


def test_a_mail_does_not_wait_for_a_time_from_before_the_clock_was_set_back(queue: Queue) -> None:
    for hours, is_due in ((-2, False), (-2.01, True)):
        queue.now = START + timedelta(hours=hours)
        assert queue.is_due() is is_due
