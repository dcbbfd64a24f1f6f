"""Charts made ready for a page or a file: themed, with their data in them, with unique names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from arena.charts import themed, titled
from arena.types import TEAMS, Chart, Section, Vocabulary
from arena.utils.tabular import as_json


def prepared(sections: Iterable[Section], words: Vocabulary = TEAMS) -> tuple[Section, ...]:
    """Return the sections with their charts themed, as JSON, and each with a unique name."""
    taken: Counter[str] = Counter()
    return tuple(
        replace(section, charts=tuple(_prepared(chart, taken, words) for chart in section.charts))
        for section in sections
    )


def _prepared(chart: Chart, taken: Counter[str], words: Vocabulary) -> Chart:
    stem = re.sub(r"[^A-Za-z0-9-]+", "-", chart.name).strip("-") or "chart"
    taken[stem] += 1
    name = stem if taken[stem] == 1 else f"{stem}-{taken[stem]}"
    return replace(
        chart, name=name, specification=titled(themed(as_json(chart.specification)), words)
    )


def every_chart(sections: Iterable[Section]) -> Iterator[Chart]:
    """Yield the charts of all sections, in their order."""
    for section in sections:
        yield from section.charts


def fetches(specification: Any) -> bool:
    """Return whether a specification asks for something that is not in it.

    >>> fetches({"layer": [{"data": {"url": "https://example.org/a.csv"}}]})
    True
    >>> fetches({"data": {"values": [{"url": "only a column"}]}})
    False
    """
    if isinstance(specification, Mapping):
        return "url" in specification or any(
            fetches(value)
            for key, value in specification.items()
            if key not in {"values", "datasets"}
        )
    return isinstance(specification, list) and any(map(fetches, specification))


def as_script_data(specification: Mapping[str, Any]) -> str:
    r"""Return JSON that is safe inside a script element, for any text.

    >>> as_script_data({"team": "</script><b>x"})
    '{"team":"\\u003c/script>\\u003cb>x"}'
    """
    text = json.dumps(specification, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c")
