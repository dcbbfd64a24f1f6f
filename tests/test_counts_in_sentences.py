"""A count agrees with its noun in every sentence: "1 row", "2 rows"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import arena
import arena_metrics

_PACKAGES = (Path(arena.__file__).parent, *Path(arena_metrics.__file__).parents[1].glob("arena_*"))
_NOUN = re.compile(
    r" (?:(?!or |whose )[a-z]+ ){0,2}(?:bytes|cases|characters|columns|comparisons|competitors"
    r"|days|files|groups|ids|labels|lines|models|objects|pairs|records|requests|resamples|rows|scores|seeds"
    r"|submissions|tasks|teams|uploads|values)\b"
)
_CONSTANT = re.compile(r"(\w+\.)*_?[A-Z][A-Z_]*")


def _counts(path: Path) -> Iterator[str]:
    """Yield the f-string counts of a module that a fixed plural noun follows."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)) if ":,}" in source else ():
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(text, ast.Constant)
                and (noun := _NOUN.match(str(text.value)))
                and value.format_spec is not None
                and ast.unparse(value.format_spec) == "f','"
                and not _CONSTANT.fullmatch(ast.unparse(value.value))
            ):
                yield f"{path.name}:{node.lineno}: {{{ast.unparse(value.value)}}}{noun[0]}"


@pytest.mark.slow
def test_counts_are_written_by_plural() -> None:
    paths = [path for package in _PACKAGES for path in sorted(package.rglob("*.py"))]
    assert len(paths) > 600
    assert [count for path in paths for count in _counts(path)] == []
