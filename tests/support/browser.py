"""A Chromium that is installed, and axe-core in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


PATIENCE = 600
"""Seconds in which a browser starts, or finds what a test waits for."""


def missing(what: str) -> None:
    """Skip where a person has no browser; a run that decides on a change must have one."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and this run needs it.")
    pytest.skip(f"{what} is not installed.")


def installed_chromium() -> str | None:
    """Return the Chromium that is installed, or named in the variable CHROMIUM."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the Chromium that is installed."""
    path = installed_chromium()
    if path is None:
        missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("The package playwright")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=ARGUMENTS, timeout=1_000 * PATIENCE
        )
        yield started
        started.close()


def new_context(browser: Any, **options: Any) -> Any:
    """Return a context of the browser in which a page may be slow."""
    context = browser.new_context(**options)
    context.set_default_timeout(1_000 * PATIENCE)
    return context


def overflow(page: Any) -> int:
    """Return by how many pixels a page is wider than its window."""
    root = "document.documentElement"
    return int(page.evaluate(f"() => Math.max({root}.scrollWidth - innerWidth, 0)"))


def run_axe(context: Any, page: Any) -> dict[str, Any]:
    """Return what axe-core finds on a page that is open: ``passes`` and ``violations``."""
    try:
        from axe_playwright_python.base import AXE_SCRIPT
    except ImportError:
        missing("The package axe-playwright-python")
    # The page lets no other script run: axe-core enters as the browser's own tools do.
    session = context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE_SCRIPT})
    call = {
        "expression": "axe.run(document, {resultTypes: ['violations']})",
        "awaitPromise": True,
        "returnByValue": True,
    }
    results: dict[str, Any] = session.send("Runtime.evaluate", call)["result"]["value"]
    return results


def axe_faults(context: Any, page: Any) -> list[tuple[str, list[str]]]:
    """Return each rule that a page violates by :func:`run_axe`, with the first places."""
    return [(rule["id"], nodes(rule)) for rule in run_axe(context, page)["violations"]]


def nodes(violation: dict[str, Any]) -> list[str]:
    """Return the first places where a rule is violated."""
    return [node["html"][:200] for node in violation["nodes"][:3]]
