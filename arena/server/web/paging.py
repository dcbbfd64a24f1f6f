"""Long lists, of which a page is shown at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.server.web.body import whole_number
from arena.server.web.call import Call
from arena.server.web.problems import Problem

ROWS = 100
"""Rows of a list on a page."""
SEARCHED_ABOVE = 20
"""Teams of a list that a reader finds without a search."""
MOST_ROWS = 500
"""Rows of a page of the API."""
PAGE_QUERY = {
    "before": "Continue after the last seq of the previous page.",
    "limit": "Rows a page.",
}
"""Parameters of the query of the pages of the API, and their meanings."""


def number_in_query(call: Call, name: str, default: int | None, most: int = 2**53) -> int | None:
    """Return a whole number of the query; 422 if it is none, or larger than ``most``."""
    text = call.request.query_params.get(name)
    if text is None:
        return default
    # Submissions that did not come by the queue have negative numbers in the order of answers.
    digits = text.removeprefix("-") if name == "before" else text
    if whole_number(digits, digits=20) is None or int(digits) > most:
        raise Problem(422, f"{name} is {text[:40]!r}, but must be a whole number up to {most}.")
    return int(text)


def page_number(call: Call) -> int:
    """Return the number of the page that a request asks for, from 1."""
    return whole_number(call.request.query_params.get("page", "1"), digits=8) or 1


def number_of_pages(n_rows: int) -> int:
    """Return how many pages a list has: one if it is empty."""
    return max(-(-n_rows // ROWS), 1)


def page_of(call: Call, rows: Sequence[Any]) -> dict[str, Any]:
    """Return the ``rows`` of the page that a request asks for, its ``page`` and ``n_pages``."""
    n_pages = number_of_pages(len(rows))
    page = min(page_number(call), n_pages)
    return {"rows": rows[(page - 1) * ROWS : page * ROWS], "page": page, "n_pages": n_pages}


def search_of(call: Call) -> str:
    """Return the text that a request searches for."""
    return call.request.query_params.get("search", "")[:100].strip()


def matches(search: str, *texts: str) -> bool:
    """Return whether one of these texts contains the searched text; case is ignored."""
    return any(search.casefold() in text.casefold() for text in texts)
