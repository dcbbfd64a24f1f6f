"""The report of 10,000 teams as a reader meets it, opened in headless Chromium.

Finalizes a competition with one submission a team and 100 rows, writes its report, and prints the
size of the file, its number of DOM nodes, its pages on paper, and the seconds from asking for the
page until something is painted and until all of it is drawn: the least and the median of five
times, each in a new context of a browser that runs.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import benchmark_paths
from bench_commands import cost_of, made
from bench_growth import History

ROWS = 100
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def opened(browser: Any, file: Path) -> tuple[float, float, int]:
    """Return the seconds until the page is drawn and first painted, and its nodes."""
    from browser import new_context

    context = new_context(browser, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    seconds = time.perf_counter() - start
    nodes: int = page.evaluate("() => document.querySelectorAll('*').length")
    first: float = page.evaluate(FIRST_PAINT)
    context.close()
    return seconds, first / 1_000, nodes


def pages_on_paper(browser: Any, file: Path) -> int:
    """Return how many pages of A4 the report takes."""
    from browser import new_context

    context = new_context(browser)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    printed = page.pdf(prefer_css_page_size=True)
    context.close()
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    benchmark_paths.need("playwright", extra="test")
    from browser import chromium, installed_chromium

    if installed_chromium() is None:
        sys.exit("bench_report.py needs Chromium: install it, or name it in the variable CHROMIUM.")
    history = History(options.teams, options.teams, ROWS, samples=options.teams)
    with made(history, None) as folder:
        cost_of(folder, ("finalize",))
        written = cost_of(folder, ("report", "--out", "../report.html"))
        file = folder.parent / "report.html"
        size = file.stat().st_size
        with chromium() as browser:
            measures = [opened(browser, file) for _ in range(options.repeats)]
            pages = pages_on_paper(browser, file)
    seconds, paints, nodes = zip(*measures, strict=True)
    result = {
        "benchmark": "report",
        "teams": options.teams,
        "least_seconds": round(min(seconds), 2),
        "median_seconds": round(statistics.median(seconds), 2),
        "least_seconds_to_first_paint": round(min(paints), 2),
        "median_seconds_to_first_paint": round(statistics.median(paints), 2),
        "nodes": max(nodes),
        "pages": pages,
        "megabytes": round(size / 1e6, 1),
        "written_in_processor_seconds": written.processor_seconds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
