"""Mutate the modules whose errors would be expensive, and list the mutants that no test kills.

python tests/mutation/run.py --count 10 --out mutants.json

Mutants come from Cosmic Ray (extra ``mutation``). Each runs only the tests of its module, in a copy
of the repository, so the working tree is never touched, and in a fork of a process that has loaded
the libraries, so that a mutant takes seconds. Left out are mutants of annotations and decorators,
and replacements that fail on any input, such as ``+`` by ``>>``.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import difflib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

ROOT = Path(__file__).parents[2]

TESTS = {
    "arena/competition/final_selection.py": "competition/test_final_selection.py",
    "arena/competition/quota.py": "competition/test_quotas.py"
    " competition/test_limits_come_first.py",
    "arena/competition/submit.py": "competition/test_competition.py competition/test_quotas.py"
    " competition/test_limits_come_first.py metrics/test_foreign_private_rows.py",
    "arena/evaluation/best_score.py": "evaluation/test_best_score.py",
    "arena/evaluation/bootstrap.py": "evaluation/test_scores.py",
    "arena/evaluation/score_intervals.py": "evaluation/test_score_intervals.py",
    "arena/intake/alignment.py": "intake/test_submission_ids.py intake/test_submission_columns.py",
    "arena/intake/columns.py": "intake/test_submission_columns.py intake/test_parquet_files.py"
    " intake/test_submission_cells.py",
    "arena/public_board/clipping.py": "public_board/test_clipping.py competition/test_epochs.py",
    "arena/simulation/plan/plan.py": "simulation/plan/test_plan.py",
    "arena/simulation/plan/uncertainty.py": "simulation/plan/test_plan.py",
    "arena/store/journal.py": "store/test_repair.py store/test_damage.py store/test_files.py",
    "plugins/arena_bayes_error/estimators.py": "bayes_error/test_estimators.py",
    "plugins/arena_bayes_error/floor_check.py": "bayes_error/test_groups_of_rows.py"
    " bayes_error/test_best_scores.py",
    "plugins/arena_bayes_error/moment_bounds.py": "bayes_error/test_moment_bounds.py",
    "plugins/arena_mechanisms/ladder.py": "mechanisms/test_ladders.py",
    "plugins/arena_mechanisms/steps.py": "mechanisms/test_ladders.py mechanisms/test_rounding.py",
    "plugins/arena_sota/shrink_and_crop.py": "sota/test_shrink_and_crop.py",
    "plugins/arena_sota/verdict.py": "sota/test_sota_commands.py sota/test_estimates.py",
}
"""The module, and the files under tests/ that are to kill its mutants."""

REPLACEMENTS = {
    "ReplaceBinaryOperator": {
        ("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"), ("FloorDiv", "Div"),
        ("Mod", "Div"), ("Pow", "Mul"), ("BitAnd", "BitOr"), ("BitOr", "BitAnd"),
    },
    "ReplaceComparisonOperator": {
        ("Lt", "LtE"), ("LtE", "Lt"), ("Gt", "GtE"), ("GtE", "Gt"), ("Lt", "Gt"), ("Gt", "Lt"),
        ("Eq", "NotEq"), ("NotEq", "Eq"), ("Is", "IsNot"), ("IsNot", "Is"),
    },
}  # fmt: skip
"""Which operator replaces which; of other kinds of mutants all are made."""

LIBRARIES = (
    "hypothesis",
    "pytest",
    "pandas",
    "pyarrow",
    "duckdb",
    "scipy.stats",
    "sklearn.metrics",
)
"""Loaded before the forks."""

OPTIONS = ("-x", "-q", "-n", "0", "--assert=plain", "-p", "no:cacheprovider", "-m", "not campaign")
"""Slow tests count, too."""


def main() -> None:
    """Run a random sample of mutants of each module and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10, help="mutants per module; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument("--module", action="append", help="only modules whose path holds this text")
    parser.add_argument("--out", type=Path, help="write every mutant and its outcome as JSON")
    given = parser.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    outcomes: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "arena"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "docs", "build")
        shutil.copytree(ROOT, copy, ignore=ignored)
        # Compiled once and validated by their contents: a mutant is never taken for its original.
        for part in ("arena", "plugins", "tests"):
            compileall.compile_dir(
                copy / part, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
            )
        paths = [str(copy), str(copy / "plugins")]
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
        os.chdir(copy)
        wanted = given.module or [""]
        for module in (one for one in TESTS if any(text in one for text in wanted)):
            outcomes += run_mutants(Path(module), given.count, given.seed)
            if given.out:
                (ROOT / given.out).write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
        os.chdir(ROOT)
    killed = sum(one["outcome"] == "killed" for one in outcomes)
    print(f"{killed} of {len(outcomes)} mutants killed")


def run_mutants(module: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Run a sample of the mutants of a module, print those that live, and return all outcomes."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    files = [f"tests/{one}" for one in TESTS[str(module)].split()]
    started = time.monotonic()
    if not passes(files, 1800):
        raise SystemExit(f"The tests of {module} fail without a mutation: {' '.join(files)}")
    timeout = 60 + 5 * (time.monotonic() - started)
    every = mutations_of(module)
    drawn = random.Random(seed).sample(every, min(count or len(every), len(every)))  # noqa: S311
    outcomes = []
    for mutation in drawn:
        operator = get_operator(mutation.operator_name)()
        with use_mutation(module, operator, mutation.occurrence) as (before, after):
            outcome = "lives" if passes(files, timeout) else "killed"
        diff = "\n".join(
            difflib.unified_diff(
                before.splitlines(), after.splitlines(), str(module), lineterm="", n=2
            )
        )
        outcomes.append({"module": str(module), "outcome": outcome, "diff": diff})
        if outcome == "lives":
            print(diff, flush=True)
    killed = sum(one["outcome"] == "killed" for one in outcomes)
    seconds = time.monotonic() - started
    print(f"{module}: {killed} of {len(drawn)} killed ({len(every)} possible), {seconds:.0f} s")
    sys.stdout.flush()
    return outcomes


def passes(files: list[str], seconds: float) -> bool:
    """Run tests in a fork and return whether all passed in time."""
    child = os.fork()
    if not child:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        import pytest

        os._exit(pytest.main([*OPTIONS, *files]))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def mutations_of(module: Path) -> list[Any]:
    """Return every mutation of a module that is neither of an annotation nor nonsense."""
    from cosmic_ray.commands.init import _all_work_items

    text = module.read_text(encoding="utf-8")
    ignored, lines = _ignored_spans(ast.parse(text)), text.splitlines()
    found = []
    for item in _all_work_items([module], {}):
        (mutation,) = item.mutations
        kind, _, pair = mutation.operator_name.removeprefix("core/").partition("_")
        if kind in REPLACEMENTS and tuple(pair.split("_")) not in REPLACEMENTS[kind]:
            continue
        if lines[mutation.start_pos[0] - 1].strip() == "*,":  # of a signature
            continue
        if kind == "RemoveDecorator" or any(
            first <= tuple(mutation.start_pos) < last for first, last in ignored
        ):
            continue
        found.append(mutation)
    return found


def _ignored_spans(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where annotations, decorators and ``__all__`` stand, as (line, column) pairs."""
    nodes: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            nodes.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            nodes += [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            nodes += node.decorator_list
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in nodes
        if one is not None
    ]


if __name__ == "__main__":
    main()
