"""The code of a foreign metric: found and read here, imported only in the process that calls it."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from arena.errors import InputError, MetricError, UnknownNameError

__all__ = ["Facts", "Source", "facts_of", "find_file", "find_module", "load"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a function stands, and the code around it as it was read."""

    function: str
    folder: Path
    """Put at the head of ``sys.path``: what the code imports may stand there."""
    path: Path | None
    """None: a module without source, such as one in C."""
    text: str
    module: str = ""
    """The name that it is imported under; empty for a file, which has none."""

    @property
    def sha256(self) -> str:
        """The sha256 of the code."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def shown(self) -> str:
        """How messages name it."""
        return self.path.name if self.path else self.module


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be read off a module without running it."""

    defines: bool
    """Whether the function may be there: defined, imported, or out of sight."""
    parameters: tuple[str, ...] | None
    """The names of its parameters; None if they are out of sight, or any is taken."""
    greater_is_better: bool | None
    """What the module's attribute of this name says; None without one."""


def find_file(path: Path, function: str, code: str | None = None) -> Source:
    """Return the source of a file.

    Parameters
    ----------
    code
        Stands for what the file holds, which need not exist then.

    Raises
    ------
    InputError
        If there is no such file, or it is not Python.
    """
    path = path.absolute()
    if code is None:
        code = _read(path)
    return Source(function, path.parent, path, code)


def find_module(module: str, function: str, folder: Path, code: str | None = None) -> Source:
    """Return the source of a module of a folder, or of one that is installed.

    Raises
    ------
    UnknownNameError
        If there is no such module.
    InputError
        If it cannot be read.
    """
    spec = _find_spec(module, folder)
    if spec is None and code is None:
        raise UnknownNameError(
            f"There is no module {module!r} in {folder}, nor is it installed for this Python."
        )
    path = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    if path is not None and path.suffix != ".py":
        path = None
    if code is None:
        code = _read(path) if path else ""
    return Source(function, folder, path, code, module)


def _find_spec(module: str, folder: Path) -> importlib.machinery.ModuleSpec | None:
    """Find a module part by part, so that no parent is imported for it."""
    places: Sequence[str] = [str(folder), *sys.path]
    name, spec = "", None
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        spec = importlib.machinery.PathFinder.find_spec(name, places)
        if spec is None:
            break
        places = list(spec.submodule_search_locations or ())
    if spec is not None:
        return spec
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def _read(path: Path) -> str:
    try:
        return importlib.util.decode_source(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}, which the metric should stand in.") from error
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise InputError(f"The metric {path} cannot be read: {error}.") from error


def facts_of(source: Source) -> Facts:
    """Read off the code what it says of itself; nothing of it is run.

    Raises
    ------
    InputError
        If it is not Python.
    """
    if source.path is None:
        return Facts(defines=True, parameters=None, greater_is_better=None)
    try:
        body = ast.parse(source.text).body
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}," if isinstance(error, SyntaxError) else ""
        raise InputError(
            f"The metric {source.path}{line} is not Python: {getattr(error, 'msg', error)}."
        ) from error
    bound: dict[str, ast.AST] = {}
    for statement in _statements(body):
        bound |= dict.fromkeys(_names(statement), statement)
    there = source.function in bound or not {"*", "__getattr__"}.isdisjoint(bound)
    return Facts(there, _parameters(bound.get(source.function)), _direction(body))


def _statements(body: list[ast.stmt]) -> Iterable[ast.stmt]:
    """Yield the statements that run when the module is imported, whatever they stand under."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                yield from _statements(getattr(statement, field, []))


def _names(statement: ast.AST) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [
            node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
        ]
    return []


def _parameters(statement: ast.AST | None) -> tuple[str, ...] | None:
    if not isinstance(statement, ast.FunctionDef) or statement.args.kwarg is not None:
        return None
    if statement.decorator_list:
        return None
    given = statement.args
    return tuple(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _direction(body: list[ast.stmt]) -> bool | None:
    found = None
    for statement in body:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if "greater_is_better" in _names(statement) and isinstance(value, ast.Constant):
            found = bool(value.value)
    return found


# -- in the process that calls it ------------------------------------------------------------------


_loaded: dict[Source, Callable[..., Any]] = {}


def load(source: Source, stand_ins: Mapping[str, Callable[[], ModuleType]]) -> Callable[..., Any]:
    """Import the code, once in a process, and return its function.

    Parameters
    ----------
    stand_ins
        Modules that it may import, and what makes each of them, if there is no such module.

    Raises
    ------
    MetricError
        If the import fails, or the function is not there.
    """
    if source not in _loaded:
        if str(source.folder) not in sys.path[:1]:
            sys.path.insert(0, str(source.folder))
        for name, make in stand_ins.items():
            _provide(name, make)
        module = _imported(source)
        function = getattr(module, source.function, None)
        if not callable(function):
            raise MetricError(f"{source.shown} has no function {source.function!r}.")
        _loaded[source] = function
    return _loaded[source]


def _provide(name: str, make: Callable[[], ModuleType]) -> None:
    try:
        found = name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        found = False
    if found:
        return
    made = make()
    parent, _, own = name.rpartition(".")
    sys.modules[name] = made
    if parent:
        package = sys.modules.setdefault(parent, ModuleType(parent))
        package.__path__ = getattr(package, "__path__", [])
        setattr(package, own, made)


class _KeptText(importlib.machinery.SourceFileLoader):
    """Runs the code as it was read, whatever its file holds by now."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader's interface
        return compile(self._text, self.path, "exec", dont_inherit=True)


def _imported(source: Source) -> ModuleType:
    try:
        if source.path is None:
            return importlib.import_module(source.module)
        parent = source.module.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        name = source.module or f"arena_metric_{source.sha256[:12]}"
        loader = _KeptText(name, str(source.path), source.text)
        spec = importlib.util.spec_from_file_location(name, source.path, loader=loader)
        if spec is None:
            raise ImportError(f"{source.path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        # What is missing may be told: the code has seen no row yet.
        raise MetricError(
            f"{source.shown} fails when it is imported: {type(error).__name__}: {error}. "
            f"It runs under {sys.executable}, where everything that it imports must be installed."
        ) from error
    return module
