"""Runs metric files of several platforms directly and through arena, and prints what differs.

    python tests/compatibility/scripts.py FOLDER… [--markdown FILE]

Each FOLDER is a checkout of a repository, or a single file. Every file with a function
``score(solution, submission, row_id_column_name, …)`` is called as its own doctests call it. Every
``evaluation_script/main.py`` is called with each phase on the annotations and ``submission.json``
beside it. A folder ``metrics`` of Hugging Face's evaluate is loaded by that package, which must be
installed.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import json
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from compatibility_outcome import Outcome
from evaluate_data import Case, as_cells, case_for
from kaggle_data import Sample, samples_for

from arena import BoardSettings, ScoreSettings, SolutionColumns, score
from arena.errors import ArenaError
from arena_metrics.foreign.notebook import code_of_notebook

_BOARD = BoardSettings(workers=1, intervals=False)
_PHASES = {"dev": "test_annotations_devsplit.json", "test": "test_annotations_testsplit.json"}
_EVALUATE = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
evaluate = importlib.import_module("evaluation_script.main").evaluate
result = evaluate(*sys.argv[2:5], submission_metadata={})
print("\\n" + json.dumps(result["result"], default=float))
"""


def kaggle(path: Path) -> Iterator[Outcome]:
    """Compare each call of ``score`` in the doctests of a Kaggle metric, or on invented data."""
    name = "/".join(path.parts[-2:])
    text = path.read_text(encoding="utf-8", errors="replace")
    if "def score(" not in text or "submission" not in text:
        return
    code = code_of_notebook(text) if path.suffix == ".ipynb" else text
    module = types.ModuleType(f"metric_{abs(hash(path))}")
    module.__file__ = str(path)
    sys.path.insert(0, str(path.parent))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, str(path), "exec"), vars(module))  # noqa: S102 - the file under test
    except BaseException as error:  # noqa: BLE001 - a file may raise anything
        yield Outcome(name, "not run", _line(error))
        return
    finally:
        sys.path.remove(str(path.parent))
    outcomes: list[Outcome] = []
    function = module.score

    def compared(
        solution: Any, submission: Any, row_id_column_name: str, *rest: Any, **given: Any
    ) -> Any:
        row = row_id_column_name
        try:
            direct: Any = function(solution.copy(), submission.copy(), row, *rest, **given)
        except Exception as error:  # noqa: BLE001 - a metric may raise anything
            direct = error
        if not rest:  # arena passes parameters by name
            sample = Sample(row, solution, submission, given)
            outcomes.append(_through_arena(name, path, sample, direct))
        if isinstance(direct, Exception):
            raise direct
        return direct

    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(module, "metric", globs=vars(module)):
        test.globs["score"] = compared
        with contextlib.redirect_stdout(io.StringIO()):
            runner.run(test, out=lambda _: None)
    why = "no doctest, and it refuses invented data"
    for sample in (
        samples_for(code) if not any(outcome.status != "not run" for outcome in outcomes) else ()
    ):
        frames = sample.solution.copy(), sample.submission.copy()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                value = function(*frames, sample.row_id or sample.row, **sample.given)
            direct = float(value)
        except Exception as error:  # noqa: BLE001 - a metric may raise anything
            why = f"{why} ({_line(error)})"[:300]
            continue
        outcomes.append(_through_arena(name, path, sample, direct))
        break
    yield from outcomes or [Outcome(name, "not run", why)]


def _through_arena(name: str, path: Path, sample: Sample, direct: Any) -> Outcome:
    solution, submission, row = sample.solution, sample.submission, sample.row
    if row not in solution or row not in submission:
        return Outcome(name, "not run", "the doctest's frames have no ids")
    several = solution[row].duplicated().any() or submission[row].duplicated().any()
    arguments = {**sample.given, **({"row_id": sample.row_id} if sample.row_id else {})}
    extra = [f"{key}={value!r}" for key, value in arguments.items()] + ["rows=any"] * bool(several)
    metric = f"kaggle:{path}" + (f"({', '.join(extra)})" if extra else "")
    columns = SolutionColumns(
        id=row,
        targets=tuple(column for column in solution if column not in (row, "Usage")),
        submission=tuple(column for column in submission if column != row),
    )
    with tempfile.TemporaryDirectory() as folder:
        truth, team_file = Path(folder, "truth.csv"), Path(folder, "team.csv")
        solution.drop(columns="Usage", errors="ignore").to_csv(truth, index=False)
        submission.to_csv(team_file, index=False)
        return _outcome(name, metric, truth, team_file, columns, direct)


def _outcome(
    name: str, metric: str, truth: Path, team_file: Path, columns: SolutionColumns, direct: Any
) -> Outcome:
    try:
        result = score(truth, [team_file], ScoreSettings(metric, columns, board=_BOARD))
    except ArenaError as error:
        result, message = None, str(error)
    else:
        message = result.rejected[0].faults[0].message if result.rejected else ""
    refused = result is None or not result.standings
    if isinstance(direct, Exception):
        status = "equal" if refused else "different"
        return Outcome(name, status, f"refused: {message[:80]}")
    if refused:
        return Outcome(name, "failed", f"{direct:.6g} and {message[:200]}")
    board_score = result.standings[0]["score"]
    same = abs(board_score - direct) <= 1e-9 * max(1.0, abs(direct))
    return Outcome(name, "equal" if same else "different", f"{direct:.6g} and {board_score:.6g}")


def evalai(folder: Path) -> Iterator[Outcome]:
    """Compare each phase, split and value of an EvalAI repository."""
    main, submission_file = folder / "evaluation_script" / "main.py", folder / "submission.json"
    for phase, annotated in _PHASES.items():
        name, truth = f"{folder.name}: {phase}", folder / "annotations" / annotated
        if not main.exists():
            return
        if not truth.exists() or not submission_file.exists():
            yield Outcome(name, "not run", "no annotations or submission beside it")
            continue
        runs = [
            subprocess.run(
                [sys.executable, "-c", _EVALUATE, folder, truth, submission_file, phase],
                capture_output=True, text=True, check=False, cwd=folder,
            )
            for _ in range(2)
        ]  # fmt: skip
        if any(run.returncode for run in runs):
            why = next(run.stderr.strip() for run in runs if run.returncode)
            yield Outcome(name, "not run", why.splitlines()[-1][:160] if why else "it failed")
            continue
        first, second = (json.loads(run.stdout.splitlines()[-1]) for run in runs)
        for before, after in zip(first, second, strict=True):
            for split, values in before.items():
                for key, direct in values.items():
                    metric = (
                        f"evalai:{main}(format=raw, phase={phase}, split={split!r}, value={key!r})"
                    )
                    outcome = _outcome(
                        f"{name} {split} {key}",
                        metric,
                        truth,
                        submission_file,
                        SolutionColumns(),
                        direct,
                    )
                    if direct != after[split][key] and outcome.status != "failed":
                        outcome = outcome._replace(status="equal", why="a random number")
                    yield outcome


def _metric_files(place: Path) -> list[Path]:
    """Return a file itself; of a folder the Python files and the notebooks named after a metric."""
    if place.is_file():
        return [place]
    return sorted([*place.rglob("*.py"), *place.rglob("*metric*.ipynb")])


def hugging_face(folder: Path) -> Iterator[Outcome]:
    """Compare each value of the metrics of a checkout of huggingface/evaluate."""
    for path in sorted((folder / "metrics").glob("*/*.py")):
        if path.stem != path.parent.name or "evaluate.Metric" not in path.read_text():
            continue
        case = case_for(path.stem)
        if case is None:
            yield Outcome(path.stem, "not run", "no small data are known for it")
            continue
        try:
            load = importlib.import_module("evaluate").load
            metric = load(str(path), case.config or None)
            direct = metric.compute(**case.truth, **case.sent, **case.given)
        except Exception as error:  # noqa: BLE001 - a metric may raise anything
            yield Outcome(path.stem, "not run", _line(error))
            continue
        for key, value in (direct if isinstance(direct, dict) else {"": direct}).items():
            if np.ndim(value) == 0 and isinstance(value, (int, float, np.number)):
                yield _evaluate_metric(path, case, key, value)


def _evaluate_metric(path: Path, case: Case, key: str, direct: Any) -> Outcome:
    arguments = {
        **case.given,
        **({"value": key} if key else {}),
        **({"config": case.config} if case.config else {}),
    }
    metric = f"hf:{path}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    ids = [f"r{row}" for row in range(len(case.truth["references"]))]
    columns = SolutionColumns(id="id", targets=tuple(case.truth), submission=tuple(case.sent))
    with tempfile.TemporaryDirectory() as folder:
        places = Path(folder, "truth.csv"), Path(folder, "team.csv")
        for place, frame in zip(places, (case.truth, case.sent), strict=True):
            cells = {name: as_cells(values) for name, values in frame.items()}
            pd.DataFrame({"id": ids, **cells}).to_csv(place, index=False)
        return _outcome(f"{path.stem} {key}", metric, *places, columns, direct)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]


def main() -> None:
    """Print a line for each comparison, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--markdown", type=Path, help="also write the outcomes as a table")
    options = parser.parse_args()
    outcomes = []
    for folder in (folder.resolve() for folder in options.folders):
        for outcome in (
            *(path_case for path in _metric_files(folder) for path_case in kaggle(path)),
            *evalai(folder),
            *hugging_face(folder),
        ):
            print(f"{outcome.status:10} {folder.name} {outcome.name}: {outcome.why}", flush=True)
            outcomes.append((folder.name, outcome))
    statuses = [outcome.status for _, outcome in outcomes]
    print({status: statuses.count(status) for status in sorted(set(statuses))})
    if options.markdown:
        rows = [
            f"| {folder} | {outcome.name} | {outcome.status} | {outcome.why} |"
            for folder, outcome in outcomes
        ]
        head = ["| repository | metric | outcome | |", "|---|---|---|---|"]
        options.markdown.write_text("\n".join([*head, *rows]) + "\n")


if __name__ == "__main__":
    main()
