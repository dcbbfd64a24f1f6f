"""The code of a foreign metric: located and read without running it, imported only by workers."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import linecache
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from arena.errors import InputError, MetricError, UnknownNameError
from arena.utils.file_errors import unreadable
from arena.utils.text import type_and_text
from arena_metrics.foreign.notebook import NOTEBOOK, code_of_notebook


@dataclass(frozen=True, slots=True)
class Source:
    """A function and the code of its module as it was read."""

    function: str
    folder: Path
    """Put first on ``sys.path``: the code may import modules from there."""
    path: Path | None
    """None: a module without source code, such as one in C."""
    text: str
    module: str = ""
    """The name under which it is imported; empty for a file."""
    package: Path | None = None
    """The folder of the outermost package of a file with relative imports; None for other code."""
    roots: tuple[Path, ...] = ()
    """Put last on ``sys.path``: they hold packages that a file imports by the names of its folders.
    """

    @property
    def sha256(self) -> str:
        """The sha256 of the code."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def shown(self) -> str:
        """The name used in messages."""
        return self.path.name if self.path else self.module


@dataclass(frozen=True, slots=True)
class StaticInfo:
    """What static analysis finds out about a module without running it."""

    defines: bool
    """Whether the module may define or import the function; True if that cannot be decided."""
    parameters: tuple[str, ...] | None
    """The names of its parameters; None if unknown, or if it takes ``**kwargs``."""
    greater_is_better: bool | None
    """The value of the module's attribute of this name; None without one."""


def find_file(
    path: Path, function: str, code: str | None = None, root: Path | None = None
) -> Source:
    """Return the source of a file.

    A file with relative imports is imported as a part of its package: the folders up to the
    outermost one with an ``__init__.py``, and at least those that the imports reach. A file may
    also import a package that it lies in by name.

    Parameters
    ----------
    code
        Used instead of the content of the file, which then need not exist.
    root
        The folder of the outermost package that the file may import; None: it is inferred.

    Raises
    ------
    InputError
        If the file does not exist or cannot be decoded.
    """
    path = path.absolute()
    if code is None:
        code = _read(path)
    package, roots = _packages(path, code)
    if root is not None:
        roots = (root, *roots)
    return Source(function, path.parent, path, code, package=package, roots=roots)


def _packages(path: Path, code: str) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the outermost package that relative imports need, and parents of named packages."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError):
        return None, ()  # inspect_source says what is wrong
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    level = max((node.level for node in froms), default=0)
    names = {(node.module or "").split(".")[0] for node in froms if not node.level}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
    names -= sys.stdlib_module_names
    roots = tuple(folder.parent for folder in path.parents if folder.name in names)
    package = path.parents[min(level, len(path.parents)) - 1] if level else None
    while package is not None and (package / "__init__.py").exists():
        if not (package.parent / "__init__.py").exists():
            break
        package = package.parent
    return package, roots


def find_module(module: str, function: str, folder: Path, code: str | None = None) -> Source:
    """Return the source of a module in a folder, or of an installed module.

    Raises
    ------
    UnknownNameError
        If the module does not exist.
    InputError
        If its file cannot be read.
    """
    spec = _find_spec(module, folder)
    if spec is None and code is None:
        raise UnknownNameError(
            f"There is no module {module!r} in {folder}, and it is not installed for this Python."
        )
    path = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    if path is not None and path.suffix != ".py":
        path = None
    if code is None:
        code = _read(path) if path else ""
    return Source(function, folder, path=path, text=code, module=module)


def _find_spec(module: str, folder: Path) -> importlib.machinery.ModuleSpec | None:
    """Find a module part by part, so that its parent packages are not imported.

    A folder without ``__init__.py`` is a package too, as for Python itself.
    """
    places: Sequence[str] = [str(folder), *sys.path]
    name, spec = "", None
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        spec, portions = None, []
        for place in places:
            finder = pkgutil.get_importer(place or ".")
            part_spec = None if finder is None else finder.find_spec(name, None)
            if part_spec is not None and part_spec.loader is not None:
                spec = part_spec
                break
            portions += (
                [] if part_spec is None else list(part_spec.submodule_search_locations or ())
            )
        if spec is None and not portions:
            break
        places = portions if spec is None else list(spec.submodule_search_locations or ())
    if spec is not None:
        return spec
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def _read(path: Path) -> str:
    try:
        if path.suffix == NOTEBOOK:
            return code_of_notebook(path.read_text(encoding="utf-8"))
        return importlib.util.decode_source(path.read_bytes())
    except (OSError, ValueError, SyntaxError) as error:
        raise unreadable(path, error) from error


def inspect_source(source: Source) -> StaticInfo:
    """Analyse the code without running it.

    Raises
    ------
    InputError
        If the code is not valid Python.
    """
    if source.path is None:
        return StaticInfo(defines=True, parameters=None, greater_is_better=None)
    try:
        body = ast.parse(source.text).body
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}," if isinstance(error, SyntaxError) else ""
        raise InputError(
            f"The metric {source.path}{line} is not valid Python: {getattr(error, 'msg', error)}."
        ) from error
    bound: dict[str, ast.AST] = {}
    for statement in _statements(body):
        bound |= dict.fromkeys(_names(statement), statement)
    defines = source.function in bound or not {"*", "__getattr__"}.isdisjoint(bound)
    return StaticInfo(defines, _parameters(bound.get(source.function)), _direction(body))


def _statements(body: list[ast.stmt]) -> Iterable[ast.stmt]:
    """Yield the statements that may run on import, including those inside if, try and with."""
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
    arguments = statement.args
    return tuple(
        argument.arg
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )


def _direction(body: list[ast.stmt]) -> bool | None:
    direction = None
    for statement in body:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if "greater_is_better" in _names(statement) and isinstance(value, ast.Constant):
            direction = bool(value.value)
    return direction


# -- in the process that calls the metric ----------------------------------------------------------


_loaded: dict[Source, Callable[..., Any]] = {}


def load(
    source: Source,
    stand_ins: Mapping[str, Callable[[], ModuleType]],
    *,
    replaces: bool = False,
) -> Callable[..., Any]:
    """Import the code, once per process, and return its function.

    Parameters
    ----------
    stand_ins
        Modules that the code may import; each is built if it cannot be imported.
    replaces
        Whether the stand-ins also replace modules that are installed.

    Raises
    ------
    MetricError
        If the import fails, or the module does not define the function.
    """
    if source not in _loaded:
        if _imports_its_own_name(source):
            # Such as sacrebleu.py, which imports the package sacrebleu: that comes first.
            sys.path.append(str(source.folder))
        elif str(source.folder) not in sys.path[:1]:
            sys.path.insert(0, str(source.folder))
        sys.path.extend(str(root) for root in source.roots if str(root) not in sys.path)
        for name, make in stand_ins.items():
            if replaces or not _can_be_imported(name):
                _provide(name, make())
        module = _imported(source)
        function = getattr(module, source.function, None)
        if not callable(function):
            raise MetricError(f"{source.shown} has no function {source.function!r}.")
        _loaded[source] = function
    return _loaded[source]


def _imports_its_own_name(source: Source) -> bool:
    """Return whether a file imports a package of its own name, which must be another one."""
    if source.path is None or source.module:
        return False
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
    return source.path.stem in names


def _can_be_imported(name: str) -> bool:
    """Import a module; one that is installed without its own dependencies counts as missing."""
    try:
        importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 - a module may raise anything
        return False
    return True


def _provide(name: str, module: ModuleType) -> None:
    """Register a module; a parent package that cannot be imported becomes an empty one."""
    parent, _, module_name = name.rpartition(".")
    sys.modules[name] = module
    if parent:
        if not _can_be_imported(parent):
            _provide(parent, ModuleType(parent))
        package = sys.modules[parent]
        package.__path__ = getattr(package, "__path__", [])
        setattr(package, module_name, module)


class _KeptText(importlib.machinery.SourceFileLoader):
    """Runs the code as it was read, even if its file has changed since."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - required by the loader
        # Tracebacks show these lines: the file may have changed, and that of a notebook is JSON.
        lines = [f"{line}\n" for line in self._text.splitlines()]
        linecache.cache[self.path] = (len(self._text), None, lines, self.path)
        return compile(self._text, self.path, "exec", dont_inherit=True)


def _imported(source: Source) -> ModuleType:
    try:
        if source.path is None:
            return importlib.import_module(source.module)
        name = source.module or f"arena_metric_{source.sha256[:12]}"
        if source.package is not None:
            _provide_package(name, source.package)
            inner = source.path.relative_to(source.package).with_suffix("").parts
            name = ".".join((name, *inner))
        parent = name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        loader = _KeptText(name, str(source.path), source.text)
        spec = importlib.util.spec_from_file_location(name, source.path, loader=loader)
        if spec is None:
            raise ImportError(f"{source.path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        # The message is safe to show: the code has seen no row yet.
        raise MetricError(
            f"{source.shown} fails when it is imported: {type_and_text(error)}. "
            f"It runs under {sys.executable}: install what it imports there."
        ) from error
    return module


def _provide_package(name: str, folder: Path) -> None:
    """Import a folder as a package under another name, which no installed package has."""
    start = folder / "__init__.py"
    if not start.exists():
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
        return
    spec = importlib.util.spec_from_file_location(
        name, start, submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{start} cannot be imported")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
