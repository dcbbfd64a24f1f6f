"""Specifications such as ``f1(average=macro)``: a name and its parameters, as users write them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from arena.errors import UsageError

_CALL = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_FAMILY = re.compile(r"[^():]+:(?=[^()])")
_WORDS = {"true": True, "false": False}
_RESERVED = {*_WORDS, "none"}
"""Texts that are quoted in a specification; ``none`` alone is a text, and ``None`` is not."""


@dataclass(frozen=True, slots=True)
class Specification:
    """A name and its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        written = (f"{key}={_written(value)}" for key, value in self.parameters.items())
        return f"{self.name}({', '.join(written)})"


def _written(value: Any) -> str:
    if isinstance(value, str) and value.isidentifier() and value.lower() not in _RESERVED:
        return value
    return repr(value)


def parse_specification(text: str) -> Specification:
    """Parse ``name`` or ``name(key=value, …)``; a bare word as a value is a string.

    Raises
    ------
    UsageError
        If the text is not a valid specification.

    Examples
    --------
    >>> parse_specification("f1(average=macro)").parameters["average"]
    'macro'
    >>> str(parse_specification("kaggle( rounding = 1e-5 )"))
    'kaggle(rounding=1e-05)'
    >>> parse_specification("kaggle:my files (2)/metric.py(beta=2)").name
    'kaggle:my files (2)/metric.py'
    """
    text = text.strip()
    in_family = _FAMILY.match(text)
    if in_family is not None:
        return _of_family(text, in_family.end())
    match = _CALL.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not of the form name or name(key=value, …).")
    return Specification(match["name"], _parameters(text, match["arguments"] or ""))


def _of_family(text: str, start: int) -> Specification:
    """Parse ``prefix:rest`` or ``prefix:rest(key=value, …)``; the rest may contain brackets."""
    if not text.endswith(")"):
        return Specification(text)
    problem: UsageError | None = None
    for position in (position for position in range(start, len(text)) if text[position] == "("):
        try:
            return Specification(
                text[:position].rstrip(), _parameters(text, text[position + 1 : -1])
            )
        except UsageError as error:
            problem = error
    raise problem or UsageError(f"{text!r} ends with a closing bracket that was never opened.")


def _parameters(text: str, arguments: str) -> Mapping[str, Any]:
    problem = UsageError(
        f"{text!r} is not of the form name(key=value, …); a value is a number, a word, True, "
        f"False, None, a quoted text or a list of these."
    )
    try:
        call = ast.parse(f"_({arguments})", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise problem from error
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise problem
    names = [keyword.arg for keyword in call.keywords]
    if None in names or len(set(names)) < len(names):
        raise problem
    try:
        values = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except ValueError as error:
        raise problem from error
    return MappingProxyType(values)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id.lower(), node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(element) for element in node.elts]
    return ast.literal_eval(node)


def with_parameters(text: str, **parameters: Any) -> str:
    """Return a specification with further parameters; None values are omitted.

    >>> with_parameters("f1(average=macro)", beta=2, average=None)
    'f1(average=macro, beta=2)'
    """
    given_parameters = {key: value for key, value in parameters.items() if value is not None}
    if not given_parameters:
        return text
    parsed = parse_specification(text)
    return str(Specification(parsed.name, {**parsed.parameters, **given_parameters}))


def split_specifications(text: str) -> tuple[str, ...]:
    """Split a list of specifications at the commas outside brackets.

    >>> split_specifications("ladder(eta=0.01, start=inf), full")
    ('ladder(eta=0.01, start=inf)', 'full')
    """
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())
