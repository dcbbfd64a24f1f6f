"""The announcements of a competition as an Atom feed (RFC 4287)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from arena.server.records.announcements import Announcement
from arena.server.web.prose import markdown

_MOST_ENTRIES = 50
"""The newest announcements of a feed."""
_LONGEST_TITLE = 100
_UPDATED_IF_EMPTY = datetime(2000, 1, 1, tzinfo=UTC)
"""When a feed without announcements was updated; Atom asks for a time."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 allows in no document, escaped or not."""


def atom(announcements: Sequence[Announcement], *, title: str, author: str, address: str) -> bytes:
    """Return a feed of the announcements of a competition, the newest first.

    ``address`` is the full address of the competition.

    Examples
    --------
    >>> feed = atom([], title="Churn", author="Ada", address="https://arena.example.org/churn")
    >>> ElementTree.fromstring(feed).findtext("{http://www.w3.org/2005/Atom}title")
    'Churn'
    """
    pages = f"{address}/announcements"
    feed = ElementTree.Element("feed", xmlns="http://www.w3.org/2005/Atom")
    _add(feed, "id", pages)
    _add(feed, "title", title)
    _add(
        feed,
        "updated",
        _time(
            max((announcement.posted for announcement in announcements), default=_UPDATED_IF_EMPTY)
        ),
    )
    _add(_add(feed, "author"), "name", author)
    _add(feed, "link", rel="self", type="application/atom+xml", href=f"{pages}.atom")
    _add(feed, "link", rel="alternate", type="text/html", href=pages)
    for announcement in announcements[:_MOST_ENTRIES]:
        entry = _add(feed, "entry")
        page = f"{pages}#announcement-{announcement.announcement}"
        first_line = markdown(announcement.text.strip().partition("\n")[0]).striptags()
        _add(entry, "id", page)
        _add(entry, "title", first_line[:_LONGEST_TITLE] or title)
        _add(entry, "updated", _time(announcement.posted))
        _add(entry, "link", rel="alternate", type="text/html", href=page)
        # Relative links and images of the text start at its page.
        _add(entry, "content", markdown(announcement.text), type="html", **{"xml:base": page})
    text: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return text


def _add(
    parent: ElementTree.Element, name: str, text: str = "", **attributes: str
) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, name, attributes)
    element.text = _NOT_XML.sub("", str(text))  # not as Markup, which would escape twice
    return element


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")
