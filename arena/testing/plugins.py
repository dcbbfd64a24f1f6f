"""Conformance checks of a whole plugin: each of its hooks is called as arena calls it."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from arena.interfaces import (
    CaseReader,
    CaseScores,
    FloorEstimate,
    FloorEstimator,
    FloorSettings,
    Paper,
    PaperOptions,
    Reproduction,
)
from arena.plugin.manager import KINDS, PluginManager
from arena.plugin.returned import checked
from arena.testing.conformance import Check, Conformance, Outcome, Verdict, run_checks
from arena.types import RULE_FAILED, CompetitionInfo, PredictionKind, Release, SubmissionRecord
from arena.utils.parallel import NoProgress

_OK: Verdict = (Outcome.OK, "")
_N_ROWS = 20
_NAME = "plugin"


def check_plugin(plugin: object, result: Any = None) -> Conformance:
    """Check a plugin, a module or an object with hook implementations, as a whole.

    What it provides is listed and checked by type; its rules and readers get synthetic
    submissions, and files that are not theirs; its report sections get a result. The items have
    suites of their own, such as :func:`check_metric`.

    Parameters
    ----------
    plugin
        A module or an object, as a plugin manager registers it.
    result
        Of :func:`arena.score`, for report sections; None: a result of an unknown kind.

    Examples
    --------
    >>> class Nothing: ...
    >>> check_plugin(Nothing()).failed
    ()
    """
    name = str(getattr(plugin, "__name__", type(plugin).__name__))
    manager = PluginManager(entry_points=False)
    try:
        manager.register(plugin, _NAME)
    except Exception as error:  # noqa: BLE001 - the check reports it
        return Conformance(name, (Check("its hooks", Outcome.FAILED, str(error)),))
    calls: dict[str, Callable[[PluginManager], Any]] = {
        **{f"its {kind.replace('_', ' ')}": _listing(kind) for kind in KINDS},
        "its rules": _rules,
        "files of others": _reads_nothing,
        "a stored submission": lambda tested_plugin: tested_plugin.submission_scored(
            _RECORD, _RELEASE, _info()
        ),
        "a result": lambda tested_plugin: tested_plugin.competition_finalized(
            result or SimpleNamespace(), _info()
        ),
        "its report sections": lambda tested_plugin: tested_plugin.provide_report_sections(
            result or SimpleNamespace()
        ),
    }
    checks = [(what, _without_failures(call)) for what, call in calls.items()]
    return run_checks(name, checks, manager)


def check_case_reader(reader: CaseReader, path: Path, value: str | None = None) -> Conformance:
    """Check a reader of evaluations on a file or folder of its format."""
    checks = (
        ("its file", lambda _: _recognises(reader, path)),
        ("other files", lambda _: _recognises_no_other(reader)),
        ("what it reads", lambda _: _reads(reader, path, value)),
    )
    return run_checks(reader.name, checks, None)


def check_floor_estimator(
    estimator: FloorEstimator, parsed: Any, settings: FloorSettings | None = None
) -> Conformance:
    """Check an estimator of the Bayes error on what its ``parse`` returned.

    ``parsed`` is a tuple of arrays, or another object that :func:`copy.deepcopy` copies.
    """
    checks: tuple[tuple[str, Callable[[Any], Verdict]], ...] = (
        ("its options", lambda _: _has_options(estimator)),
        ("its estimate", lambda _: _estimates(estimator, parsed, settings or {})),
    )
    return run_checks(estimator.name, checks, None)


def check_paper(paper: Paper, data: Path | None = None) -> Conformance:
    """Check what a paper reproduces in its quick form, with a folder of published data or not."""
    checks: tuple[tuple[str, Callable[[Any], Verdict]], ...] = (
        ("its figures", lambda _: _reproduces(paper, data)),
    )
    return run_checks(paper.name, checks, None)


_RECORD = SubmissionRecord(
    1,
    "team",
    file="file.csv",
    sha256="0" * 64,
    status="accepted",
    received="2026-03-01T12:00:00+00:00",
)
_RELEASE = Release(0.5, True)


def _info() -> CompetitionInfo:
    ids = pa.array([f"r{position}" for position in range(_N_ROWS)])
    return CompetitionInfo(
        title="Title",
        metric="mae",
        greater_is_better=False,
        kind=PredictionKind.VALUE,
        id_column="id",
        columns=("y",),
        ids=ids,
    )


def _listing(kind: str) -> Callable[[PluginManager], Any]:
    return lambda manager: list(manager.registry(kind))


def _rules(manager: PluginManager) -> str | None:
    """Return what is wrong with the faults of ordinary and of unusual predictions."""
    rng = np.random.default_rng(0)
    unusual = (np.zeros(_N_ROWS), np.full(_N_ROWS, 1e100), -np.ones(_N_ROWS))
    for values in (rng.normal(size=_N_ROWS), *unusual):
        faults = manager.check_submission(values[:, np.newaxis], _info())
        if any(fault.kind == RULE_FAILED for fault in faults):
            return "A rule fails on predictions that a participant may send: it refuses them all."
    return None


def _reads_nothing(manager: PluginManager) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("empty.bin", b""), ("noise.bin", bytes(range(256)))):
            path = Path(folder) / name
            path.write_bytes(content)
            if manager.read_predictions(path, _info()) is not None:
                return f"read_predictions takes {name}, which is no file of predictions."
    return None


def _without_failures(call: Callable[[PluginManager], Any]) -> Callable[[PluginManager], Verdict]:
    def check(manager: PluginManager) -> Verdict:
        before = len(manager.failures)
        problem = call(manager)
        new = manager.failures[before:]
        if new:
            failure = new[0]
            return (
                Outcome.FAILED,
                f"{failure.action}: {type(failure.error).__name__}: {failure.error}",
            )
        return (Outcome.FAILED, problem) if isinstance(problem, str) else _OK

    return check


def _recognises(reader: CaseReader, path: Path) -> Verdict:
    if reader.recognises(path) is True:
        return _OK
    return Outcome.FAILED, f"recognises({path.name!r}) must be True."


def _recognises_no_other(reader: CaseReader) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty.json", "noise.csv"):
            other = Path(folder) / name
            other.write_bytes(b"" if name == "empty.json" else bytes(range(256)))
            if reader.recognises(other):
                return Outcome.FAILED, f"It recognises {name}, which is no file of its format."
        if reader.recognises(Path(folder) / "missing"):
            return Outcome.FAILED, "It recognises a file that does not exist."
    return _OK


def _reads(reader: CaseReader, path: Path, value: str | None) -> Verdict:
    tables = list(reader.read(path, value))
    if not tables:
        return Outcome.FAILED, "read returned nothing."
    for scores in tables:
        checked(scores, CaseScores)
    again = list(reader.read(path, value))
    if [len(table.values) for table in again] != [len(table.values) for table in tables]:
        return Outcome.FAILED, "Reading the same file twice gave different values."
    return _OK


_OPTIONS = {"sign", "label", "positive", "prior", "cluster", "metric", "neighbours"}


def _has_options(estimator: FloorEstimator) -> Verdict:
    unknown = sorted(set(estimator.options) - _OPTIONS)
    return (Outcome.FAILED, f"There are no options {unknown}.") if unknown else _OK


def _estimates(estimator: FloorEstimator, parsed: Any, settings: FloorSettings) -> Verdict:
    parsed_before = copy.deepcopy(parsed)
    estimates = []
    for _ in range(2):
        seeded: FloorSettings = {**settings, "rng": np.random.default_rng(0)}
        estimates.append(checked(estimator.estimate(parsed_before, seeded), FloorEstimate))
    if pickle.dumps(parsed_before) != pickle.dumps(parsed):
        return Outcome.FAILED, "estimate changed what parse returned."
    first, second = estimates
    if (first.estimate, first.interval) != (second.estimate, second.interval):
        return Outcome.FAILED, "The same generator gave other numbers: use no other randomness."
    low, high = first.interval
    if not low <= first.estimate <= high:
        return Outcome.FAILED, f"The estimate {first.estimate:g} is outside its interval."
    return _OK


def _reproduces(paper: Paper, data: Path | None) -> Verdict:
    options = PaperOptions(data=data, quick=True)
    reproduction = checked(paper.reproduce(options, NoProgress()), Reproduction)
    for figure in reproduction.figures:
        compared = figure.published is not None and figure.computed is not None
        if figure.agrees is not None and not compared:
            return Outcome.FAILED, f"{figure.where}: nothing is compared, but agrees is set."
    names = [chart.name for chart in reproduction.charts]
    if len(set(names)) < len(names):
        return Outcome.FAILED, "Two charts have one name: one file would replace the other."
    return _OK
