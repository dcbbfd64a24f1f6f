"""Values as JSON and raw bytes: what a process may send that has read a hostile file.

Such a process may do anything that its user may do, and unpickling what it sends would let it act
in the process that receives it. So an answer has a closed set of types: None, bool, int, float,
str, bytes, slice, tuple, list, dict, numpy arrays of numbers or texts, Arrow tables, exceptions of
Python and arena, and the dataclasses that :func:`sendable` names.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from arena.utils.text import type_and_text

_Class = TypeVar("_Class", bound=type)
_sendable: dict[str, type] = {}


class AnswerError(RuntimeError):
    """A process sent something that is no answer."""


def sendable(kind: _Class) -> _Class:
    """Let a frozen dataclass be sent between processes; the types of its fields are not checked."""
    _sendable[_name(kind)] = kind
    return kind


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def encode(value: Any) -> list[Any]:
    """Return a JSON text, and the bytes of each array.

    Raises
    ------
    TypeError
        If the value has a type that cannot be sent.

    Examples
    --------
    >>> encode((1, [2.5, None]))
    [b'{"tuple": [1, [2.5, null]]}']
    """
    parts: list[Any] = []
    tree = _tree(value, parts.append)
    return [json.dumps(tree).encode("utf-8", "surrogatepass"), *parts]


def decode(parts: Sequence[Any]) -> Any:
    """Return the value of these parts, whoever made them. Arrays share the memory of their parts.

    Raises
    ------
    AnswerError
        If :func:`encode` did not make them.

    Examples
    --------
    >>> decode([b'{"tuple": [1, [2.5, null]]}'])
    (1, [2.5, None])
    """
    rest = iter(parts[1:])
    try:
        tree = json.loads(bytes(parts[0]).decode("utf-8", "surrogatepass"))
        return _value(tree, lambda: next(rest))
    except Exception as error:
        raise AnswerError(f"A process sent no valid answer ({type(error).__name__}).") from error


def _tree(value: Any, apart: Callable[[Any], None]) -> Any:
    """Return the value as JSON has it; an object of one key names the type of its content."""

    def trees(values: Iterable[Any]) -> list[Any]:
        return [_tree(item, apart) for item in values]

    match value:
        case None | bool() | int() | float() | str():
            tree: Any = value
        case list():
            tree = trees(value)
        case tuple():
            tree = {"tuple": trees(value)}
        case dict():
            tree = {"dict": [trees(pair) for pair in value.items()]}
        case slice():
            tree = {"slice": trees((value.start, value.stop, value.step))}
        case BaseException():
            tree = {"error": _error(value)}
        case _ if (name := _name(type(value))) in _sendable:
            tree = {
                name: {
                    field.name: _tree(getattr(value, field.name), apart) for field in fields(value)
                }
            }
        case _:
            tree = _array_tree(value, apart)
    return tree


def _array_tree(value: Any, apart: Callable[[Any], None]) -> Any:
    """Return what is known of bytes, an array or a table, whose content stands apart."""
    numpy, arrow = sys.modules.get("numpy"), sys.modules.get("pyarrow")
    if isinstance(value, bytes | bytearray):
        apart(value)
        return {"bytes": None}
    if numpy is not None and isinstance(value, numpy.generic):
        return _tree(value.item(), apart)
    if numpy is not None and isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
        array = numpy.ascontiguousarray(value)
        apart(array.reshape(-1).view(numpy.uint8).data)
        return {"array": [array.dtype.str, list(value.shape), value.flags.writeable]}
    if numpy is not None and isinstance(value, numpy.ndarray):
        texts = value.reshape(-1).tolist()
        if all(type(text) is str for text in texts):
            return {"texts": [list(value.shape), texts]}
    if arrow is not None and isinstance(value, arrow.Table):
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, value.schema) as stream:
            stream.write_table(value)
        apart(memoryview(sink.getvalue()))
        return {"table": None}
    raise TypeError(f"a {type(value).__name__} cannot be sent to another process")


def _error(error: BaseException) -> list[Any]:
    """Return class, arguments and notes of an exception; of a foreign class, its message."""
    kind, arguments = type(error), list(error.args)
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    plain = all(isinstance(argument, (str, int, float, type(None))) for argument in arguments)
    if plain and _exception(kind.__module__, kind.__qualname__) is kind:
        return [kind.__module__, kind.__qualname__, arguments, notes]
    message = kind.__name__
    with contextlib.suppress(Exception):
        message = type_and_text(error)
    return ["builtins", "RuntimeError", [message], notes]


def _exception(module: str, name: str) -> type[Exception] | None:
    """Return an exception of Python or arena; None for every other name."""
    if module not in {"builtins", "arena.errors"}:
        return None
    import arena.errors

    kind = getattr(builtins if module == "builtins" else arena.errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else None


def _value(tree: Any, part: Callable[[], Any]) -> Any:
    if isinstance(tree, list):
        return [_value(item, part) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind in _sendable:
        return _sendable[kind](**{name: _value(item, part) for name, item in content.items()})
    if kind in _APART:
        return _APART[kind](content, part())
    return _TOGETHER[kind](content if kind in {"error", "texts"} else _value(content, part))


def _made_error(content: Sequence[Any]) -> Exception:
    module, name, arguments, notes = content
    kind = _exception(module, name)
    if kind is None:
        raise ValueError(f"{name} is no exception of Python or arena")
    error = kind(*arguments)
    for note in notes:
        error.add_note(note)  # refuses what is no text
    return error


def _texts(content: Sequence[Any]) -> Any:
    import numpy as np

    shape, texts = content
    if any(type(text) is not str for text in texts):
        raise TypeError("a text of an array is none")
    values = np.empty(len(texts), dtype=object)
    values[:] = texts
    return values.reshape(shape)


def _array(described: Sequence[Any], content: Any) -> Any:
    import numpy as np

    kind, shape, is_writeable = described
    values = np.frombuffer(content, dtype=np.dtype(str(kind))).reshape(shape)  # refuses objects
    if not is_writeable:
        values.flags.writeable = False
    return values


def _table(_described: None, content: Any) -> Any:
    import pyarrow as pa

    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)  # else damaged offsets let a reader leave the buffer
    return table


_APART: dict[str, Callable[[Any, Any], Any]] = {
    "array": _array,
    "bytes": lambda _described, content: bytes(content),
    "table": _table,
}
_TOGETHER: dict[str, Callable[[Any], Any]] = {
    "dict": dict,
    "error": _made_error,
    "slice": lambda content: slice(*content),
    "texts": _texts,
    "tuple": tuple,
}
