"""``hf:FILE.py`` with a class of Hugging Face's library ``evaluate``, such as ``accuracy.py``.

The contract is that of huggingface/evaluate: a class derived from ``evaluate.Metric`` with
``_info``, which declares the types of predictions and references, and ``_compute``, which returns
values by name. The file gets stand-ins for ``evaluate`` and ``datasets``, installed or not, so that
nothing uses the network. The columns of the solution and of a submission are passed to the
parameters of ``_compute`` with their names; a single column with another name is ``references`` or
``predictions``. A cell whose declared type is a list or an object is JSON.
"""

from __future__ import annotations

import ast
import importlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import RowContext
from arena.utils.counts import repeated
from arena_metrics.foreign.failures import failed
from arena_metrics.foreign.kinds import Call, Kind, Request, module_of
from arena_metrics.foreign.scratch import select_value
from arena_metrics.foreign.source import Source, StaticInfo

_BASES = ("Metric", "EvaluationModule", "Measurement", "Comparison")
_SENT = ("predictions", "prediction_scores")
_GIVEN = ("self", "references", *_SENT)
"""Parameters of ``_compute`` that are columns."""


# -- finding the class without running the code ----------------------------------------------------


def variant_of(source: Source) -> tuple[Kind, Source, StaticInfo] | None:
    """Return how a file with a class of ``evaluate`` is called; None: it has none."""
    tree = ast.parse(source.text)
    metric_classes = [
        node for node in tree.body if isinstance(node, ast.ClassDef) and _is_metric(node)
    ]
    if not metric_classes:
        return None
    methods = [
        function for function in metric_classes[-1].body if isinstance(function, ast.FunctionDef)
    ]
    compute = next((method for method in methods if method.name == "_compute"), None)
    names: tuple[str, ...] | None = None
    if compute is not None and compute.args.kwarg is None:
        arguments = (*compute.args.posonlyargs, *compute.args.args, *compute.args.kwonlyargs)
        names = tuple(argument.arg for argument in arguments if argument.arg not in _GIVEN)
    variant = replace(source, function=metric_classes[-1].name)
    return _KIND, variant, StaticInfo(True, names, None)


def _is_metric(statement: ast.ClassDef) -> bool:
    bases = [getattr(base, "attr", getattr(base, "id", "")) for base in statement.bases]
    return any(base in _BASES for base in bases)


# -- the stand-ins for evaluate and datasets -------------------------------------------------------


class _Described:
    """What ``_info`` builds: a description with attributes."""

    def __init__(self, *_: Any, **given: Any) -> None:
        self.__dict__.update(given)


@dataclass(frozen=True)
class _Value:
    """The type of one value."""

    dtype: str = "string"
    id: Any = None

    def of(self, value: Any) -> Any:
        """Convert what was read from a cell.

        Raises
        ------
        ValueError
            If it is not of the type.
        """
        if isinstance(value, (list, dict)):
            raise ValueError(f"a list or an object is no {self.dtype}")
        if self.dtype.startswith(("int", "uint")):
            return int(float(value)) if float(value) == int(float(value)) else _refuse(value)
        if self.dtype in ("float", "float32"):
            return float(np.float32(value))  # as the library stores it
        if self.dtype.startswith(("float", "double")):
            return float(value)
        if self.dtype == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
        return value if isinstance(value, str) else json.dumps(value)


def _refuse(value: Any) -> Any:
    raise ValueError(f"{value!r} is not a whole number")


@dataclass(frozen=True)
class _List:
    """The type of a list of values."""

    feature: Any = None
    length: int = -1
    id: Any = None

    def of(self, value: Any) -> Any:
        """Convert a list; a list of objects with one type per name may also be an object."""
        if isinstance(self.feature, Mapping) and isinstance(value, Mapping):
            return {
                key: [_cast(element, kind) for element in value[key]]
                for key, kind in self.feature.items()
            }
        if not isinstance(value, list):
            raise ValueError("not a list")
        return [_cast(element, self.feature) for element in value]


@dataclass(frozen=True)
class _Array:
    """The type of an image or array."""

    shape: Any = None
    dtype: str = ""
    id: Any = None

    def of(self, value: Any) -> Any:
        """Convert nested lists."""
        if not isinstance(value, list):
            raise ValueError("not a list")
        return np.array(value, dtype=self.dtype or None)


class _Base:
    """Replacement for ``evaluate.Metric``: what its subclasses use of it."""

    def __init__(self, config_name: str | None = None, **_: Any) -> None:
        self.config_name = config_name or "default"
        self.name = type(self).__name__
        self.seed = None

    def _download_and_prepare(self, dl_manager: Any) -> None:
        """Download nothing."""


class _Offline:
    """A download manager that refuses."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(f"{name} needs the network, and a metric runs without it")


def _decorator(*_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda decorated: decorated


def _evaluate() -> ModuleType:
    logging = importlib.import_module("logging")
    module = module_of(
        "evaluate",
        MetricInfo=_Described,
        EvaluationModuleInfo=_Described,
        load=_Offline(),
        logging=module_of("evaluate.logging", get_logger=logging.getLogger),
        logger=logging.getLogger("evaluate"),
        __path__=[],
    )
    module.__dict__.update(dict.fromkeys(_BASES, _Base))
    return module


_FEATURES: Mapping[str, Any] = {
    "Features": dict,
    "Value": _Value,
    "Image": _Array,
    **dict.fromkeys(("Sequence", "List", "LargeList"), _List),
    **dict.fromkeys(("Array2D", "Array3D", "Array4D", "Array5D"), _Array),
}


def _datasets() -> ModuleType:
    return module_of("datasets", **_FEATURES, Metric=_Base, MetricInfo=_Described, __path__=[])


def _configuration() -> ModuleType:
    version = importlib.import_module("packaging.version")
    return module_of("datasets.config", PY_VERSION=version.parse(platform.python_version()))


_HELPERS = {"add_start_docstrings": _decorator, "add_end_docstrings": _decorator}
_STAND_INS: Mapping[str, Callable[[], ModuleType]] = {
    "evaluate": _evaluate,
    "evaluate.utils": partial(module_of, "evaluate.utils", __path__=[]),
    "evaluate.utils.file_utils": partial(module_of, "evaluate.utils.file_utils", **_HELPERS),
    "datasets": _datasets,
    "datasets.features": partial(module_of, "datasets.features", **_FEATURES),
    "datasets.config": _configuration,
}


# -- a call ----------------------------------------------------------------------------------------


def _cast(value: Any, kind: Any) -> Any:
    """Convert what was read from a cell to a declared type."""
    if isinstance(kind, (_Value, _List, _Array)):
        return kind.of(value)
    if isinstance(kind, Mapping):
        return {key: _cast(value[key], inner) for key, inner in kind.items()}
    if isinstance(kind, list) and len(kind) == 1:
        return _List(kind[0]).of(value)
    return value


def _column(cells: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """Return the ``(n,)`` values of a column with a declared type, as objects."""
    values = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        values[row] = kind.of(cell) if isinstance(kind, _Value) else _cast(json.loads(cell), kind)
    return values


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluate:
    request: Request
    columns: Mapping[str, npt.NDArray[Any]]
    """Parameter of ``_compute`` -> ``(n,)`` texts."""
    _known: list[tuple[Any, dict[str, npt.NDArray[Any]]]] = field(default_factory=list)
    """Declared types, and the columns with these, if no call can change their values."""

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        name = self.request.name
        rows = repeated(weight.astype(np.intp))
        metric = function(config_name=self.request.options["config"] or None)
        metric._download_and_prepare(_Offline())
        info = metric._info()
        columns: dict[str, Any] = {
            key: values.take(rows).tolist() for key, values in self._typed(info.features).items()
        }
        if getattr(info, "format", None) == "numpy":
            columns = {key: np.array(values) for key, values in columns.items()}
        result = metric._compute(**columns, **self.request.parameters)
        if isinstance(result, Mapping):
            result = {key: value for key, value in result.items() if _is_number(value)}
            if not result:
                raise failed(f"{name} returns no number.")
        return select_value(name, "value", result, self.request.options["value"])

    def _typed(self, declared: Any) -> dict[str, npt.NDArray[Any]]:
        """Return the columns with the first of the declared sets of types that fits."""
        for known, columns in self._known:
            if known == declared:
                return columns
        kinds: Sequence[Any] = declared if isinstance(declared, list) else [declared]
        problem: Exception | None = None
        for features in kinds:
            named = self._named(features)
            types = {key: features.get(key, _Value()) for key in named}
            try:
                columns = {key: _column(cells, types[key]) for key, cells in named.items()}
            except (ValueError, KeyError, TypeError) as error:
                problem = problem or error
                continue
            if all(isinstance(kind, _Value) for kind in types.values()):
                self._known[:] = [(declared, columns)]
            return columns
        raise failed(f"{self.request.name}: a cell does not have the declared type.") from problem

    def _named(self, features: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
        """Return the columns by the names of the features."""
        feature = next((name for name in _SENT if name in features), _SENT[0])
        return {feature if key == _SENT[0] else key: cells for key, cells in self.columns.items()}


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number)


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    columns: dict[str, npt.NDArray[Any]] = {}
    for names, values, single in (
        (context.targets, truth, "references"),
        (context.columns, prediction, "predictions"),
    ):
        cells = values.reshape(len(values), -1)
        for number, name in enumerate(names):
            columns[single if len(names) == 1 else name] = cells[:, number]
    return _Evaluate(request, columns)


_KIND = Kind(
    prefix="hf",
    form="hf:FILE.py",
    description="a file with a class of Hugging Face's evaluate",
    function="compute",
    n_given=0,
    prepare=_prepare,
    options={"value": "", "config": ""},
    stand_ins=_STAND_INS,
    replaces=True,
)
