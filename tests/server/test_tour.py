"""The tour in the documentation has the pictures that its script makes, of pages that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tour import REPORT_WIDTH, SCHEMES, SHOTS, SHOTS_OF_THE_END, take

TOUR = Path(__file__).parents[2] / "docs/how-to/tour"
WIDTHS = {name: width for name, (_, _, width) in (SHOTS | SHOTS_OF_THE_END).items()}
WIDTHS["report"] = REPORT_WIDTH
FILES = {f"{name}{end}": width for name, width in WIDTHS.items() for end in SCHEMES}


def test_the_page_shows_each_picture() -> None:
    pictures = re.findall(
        r"\(tour/(\w+)\.png\)", TOUR.with_suffix(".md").read_text(encoding="utf-8")
    )
    assert sorted(pictures) == sorted(WIDTHS)
    assert sorted(FILES) == sorted(path.stem for path in TOUR.glob("*.png"))


@pytest.mark.slow  # a browser takes long to start
def test_the_pictures_are_made_in_their_sizes(browser: Any, tmp_path: Path) -> None:
    take(browser, tmp_path / "made", tmp_path / "root")
    for name, width in FILES.items():
        sizes = [
            int.from_bytes((folder / f"{name}.png").read_bytes()[16:20], "big")
            for folder in (tmp_path / "made", TOUR)
        ]
        assert sizes == [width] * 2, name
