"""Change arena in small ways, and list the changes that no test notices.

python tests/mutation/run.py --count 6 --out outcomes.json

Changes come from Cosmic Ray (extra ``mutation``). They are drawn for each package, a module as
often as it has lines, and made in copies of the repository, two at a time, so the working tree is
never touched. Each runs the tests that run the changed statement (``coverage_map.py``), those of
its package first and then the fastest, in a fork of a process that has loaded the libraries. Left
out are changes of annotations and decorators, replacements that fail on any input, such as ``+`` by
``>>``, and what ``equivalents.toml`` lists.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import difflib
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest
from coverage_map import CoverageMap, modules_of

ROOT = Path(__file__).parents[2]

REPLACEMENTS = {
    "ReplaceBinaryOperator": {
        ("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"), ("FloorDiv", "Div"),
        ("Mod", "Div"), ("Pow", "Mul"), ("BitAnd", "BitOr"), ("BitOr", "BitAnd"),
    },
    "ReplaceComparisonOperator": {
        ("Lt", "LtE"), ("LtE", "Lt"), ("Gt", "GtE"), ("GtE", "Gt"), ("Lt", "Gt"), ("Gt", "Lt"),
        ("Eq", "NotEq"), ("NotEq", "Eq"), ("Is", "IsNot"), ("IsNot", "Is"),
    },
    "RemoveDecorator": set(),
}  # fmt: skip
"""Which operator replaces which; of other kinds of changes all are made."""

LIBRARIES = (
    "hypothesis",
    "pytest",
    "pandas",
    "pyarrow",
    "duckdb",
    "scipy.stats",
    "sklearn.metrics",
    "statsmodels.stats.multitest",
    "numba",
    "altair",
    "pydantic",
    "typer",
    "starlette.testclient",
    "xdist.plugin",
)
"""Loaded before the forks."""

OPTIONS = (
    *("-x", "-q", "-n", "0", "--assert=plain", "--tb=no"),
    *("-p", "no:cacheprovider", "-m", "not campaign"),
)

_FIRST_SECONDS = 5.0

EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
"""Changes that no test can notice, and why: a line before and after, or a kind of lines."""


@dataclass(frozen=True)
class Mutant:
    """A change: the operator of Cosmic Ray, and the how-manieth place in a module it is made."""

    module: str
    operator: str
    occurrence: int
    line: int


@dataclass
class Outcome:
    """What became of a change: "equivalent", "lives", or the run that noticed it."""

    mutant: Mutant
    outcome: str
    diff: str
    test: str = ""
    """The test that failed."""


def main() -> None:
    """Draw changes, run them, print those that live and a table of the packages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=6, help="changes per package; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which changes are drawn")
    parser.add_argument(
        "--module", action="append", help="only modules whose path holds this text (repeatable)"
    )
    parser.add_argument("--slow", action="store_true", help="also run the slow tests on what lives")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="the most seconds of tests for a change"
    )
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2)
    parser.add_argument("--out", type=Path, help="write every change and its outcome as JSON")
    parser.add_argument(
        "--again", type=Path, help="run what lives in this JSON instead of what is drawn"
    )
    given = parser.parse_args()
    for library in ("OPENBLAS", "MKL", "OMP"):  # as the tests set it, which are loaded too late
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        trees = [copied_tree(Path(folder) / f"arena-{i}") for i in range(given.workers)]
        maps = {run: CoverageMap(trees[0], run) for run in ("default", "slow")[: 1 + given.slow]}
        for part in maps.values():
            part.observe()
        mutants = (
            read_lives(given.again)
            if given.again
            else drawn_mutants(trees[0], given.module or [""], given.count, given.seed)
        )
        tasks = [
            (
                mutant,
                {
                    run: one_map.chosen(mutant.module, mutant.line, given.seconds)
                    for run, one_map in maps.items()
                },
            )
            for mutant in mutants
        ]
        for library in LIBRARIES:
            importlib.import_module(library)
        context = multiprocessing.get_context("fork")
        free = context.SimpleQueue()
        for tree in trees:
            free.put(tree)
        outcomes: list[Outcome] = []
        with ProcessPoolExecutor(given.workers, context, enter_tree, (free,)) as pool:
            for outcome in pool.map(run_mutant, *zip(*tasks, strict=True)) if tasks else ():
                outcomes.append(outcome)
                if outcome.outcome == "lives":
                    print(outcome.diff, flush=True)
                if given.out:
                    content = json.dumps([asdict(outcome) for outcome in outcomes], indent=1)
                    given.out.write_text(content, encoding="utf-8")
            unreliable = pool.submit(failing_tests, {outcome.test for outcome in outcomes}).result()
    for test in unreliable:
        print(f"{test} also fails without a change, so what it noticed may live.")
    print(table(outcomes, slow=given.slow))


def copied_tree(folder: Path) -> Path:
    """Copy the repository; a module is compiled again whenever its contents change."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
    shutil.copytree(ROOT, folder, ignore=ignored)
    for part in ("arena", "plugins", "tests"):
        compileall.compile_dir(
            folder / part, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
    return folder


def enter_tree(free: Any) -> None:
    """Let a worker run the tests of a copy of its own, which test that copy."""
    tree = free.get()
    os.chdir(tree)
    os.environ["NUMBA_CACHE_DIR"] = f"{tree}-numba"


# -- drawing -------------------------------------------------------------------------------------


def package_of(module: str) -> str:
    """Return ``arena/server`` for one of its modules, and ``arena`` for ``arena/config.py``."""
    parts = module.split("/")
    return "/".join(parts[: 2 if len(parts) > 2 else 1])


def drawn_mutants(tree: Path, texts: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw changes of each package, a module as often as it has lines."""
    packages: dict[str, list[str]] = defaultdict(list)
    for path in modules_of(tree):
        module = str(path.relative_to(tree))
        if any(text in module for text in texts) and path.stat().st_size:
            packages[package_of(module)].append(module)
    mutants: list[Mutant] = []
    for package, modules in packages.items():
        if not count:
            every = [mutant for module in modules for mutant in mutants_of(tree, module)]
            mutants += [mutant for mutant in every if can_be_made(tree, mutant)]
            continue
        rng = random.Random(f"{seed} {package}")  # noqa: S311
        weights = [len((tree / module).read_bytes().splitlines()) for module in modules]
        drawn: dict[Mutant, None] = {}
        for _ in range(20 * count):  # a small package may have fewer
            (module,) = rng.choices(modules, weights)
            every = mutants_of(tree, module)
            if every and can_be_made(tree, one := rng.choice(every)):
                drawn.setdefault(one)
            if len(drawn) == count:
                break
        mutants += drawn
    return mutants


def read_lives(path: Path) -> list[Mutant]:
    """Read what lived in an earlier run; its modules must be as they were."""
    outcomes = json.loads(path.read_text(encoding="utf-8"))
    return [Mutant(**outcome["mutant"]) for outcome in outcomes if outcome["outcome"] == "lives"]


@cache
def mutants_of(tree: Path, module: str) -> list[Mutant]:
    """Return every change of a module that is neither of an annotation nor nonsense."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    text = (tree / module).read_text(encoding="utf-8")
    ignored, lines = _ignored_spans(ast.parse(text)), text.splitlines()
    nodes = list(ast_nodes(get_ast_from_path(tree / module)))
    mutants = []
    for name in operator_names():
        kind, _, pair = name.removeprefix("core/").partition("_")
        if kind in REPLACEMENTS and tuple(pair.split("_")) not in REPLACEMENTS[kind]:
            continue
        if get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, (line, column) in enumerate(starts):
            is_signature = lines[line - 1][column:].startswith("*,")
            if not is_signature and not any(
                first <= (line, column) < last for first, last in ignored
            ):
                mutants.append(Mutant(module, name, occurrence, line))
    return mutants


@cache
def can_be_made(tree: Path, mutant: Mutant) -> bool:
    """Return whether Cosmic Ray can make a change, and Python can compile it.

    It cannot replace exceptions with a dot in their names, and takes the asterisks of an unpacking
    for operators.
    """
    from cosmic_ray.mutating import MutationVisitor
    from cosmic_ray.plugins import get_operator

    text = (tree / mutant.module).read_text(encoding="utf-8")
    try:
        changed = MutationVisitor.mutate_code(
            text, get_operator(mutant.operator)(), mutant.occurrence
        )
        compile(changed, mutant.module, "exec", dont_inherit=True)
    except (AttributeError, SyntaxError):
        return False
    return True


def _ignored_spans(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where annotations and decorators stand, as (line, column) pairs."""
    nodes: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            nodes.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes += [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            nodes += node.decorator_list
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in nodes
        if node is not None
    ]


# -- running -------------------------------------------------------------------------------------


def run_mutant(mutant: Mutant, chosen: dict[str, dict[str, float]]) -> Outcome:
    """Make a change in the copy of this worker and run the tests that were chosen for it."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    path = Path(mutant.module)
    times = path.stat()
    is_compiled = "numba" in path.read_text(encoding="utf-8")
    try:
        operator = get_operator(mutant.operator)()
        with use_mutation(path, operator, mutant.occurrence) as (before, after):
            changed = list(
                difflib.unified_diff(
                    before.splitlines(), after.splitlines(), mutant.module, lineterm="", n=2
                )
            )
            if is_equivalent(mutant.module, changed):
                return Outcome(mutant, "equivalent", "\n".join(changed))
            for run, tests in chosen.items():
                for part in parts_of(tests):
                    failed = first_failure(part, is_compiled=is_compiled)
                    if failed is not None:
                        return Outcome(mutant, run, "\n".join(changed), failed)
            return Outcome(mutant, "lives", "\n".join(changed))
    finally:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # numba keeps its work by it


def is_equivalent(module: str, diff: list[str]) -> bool:
    """Return whether the list of equivalent changes has a change."""
    before, after = (
        "\n".join(line[1:].strip() for line in diff[2:] if line.startswith(side)) for side in "-+"
    )
    listed = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8"))
    return any(
        (module, before, after)
        == (listed_change["module"], listed_change["before"], listed_change["after"])
        for listed_change in listed["equivalent"]
    ) or any(
        re.search(listed_change["before"], before) and re.search(listed_change["after"], after)
        for listed_change in listed["kind"]
    )


class Chosen:
    """A plugin of pytest that runs some tests only, and writes the first that fails."""

    def __init__(self, tests: dict[str, float], failed: Path) -> None:
        self.tests, self.failed = tests, failed

    def pytest_collection(self) -> None:
        """Let hypothesis end at the first failure, without a search for the smallest one."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", settings.get_profile("arena"), phases=phases)
        settings.load_profile("mutation")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what was chosen, in its order."""
        place_of = {test: place for place, test in enumerate(self.tests)}
        items[:] = [item for item in items if item.nodeid in place_of]
        items.sort(key=lambda item: place_of[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write what failed."""
        if report.failed:
            self.failed.write_text(report.nodeid, encoding="utf-8")


def parts_of(tests: dict[str, float]) -> list[dict[str, float]]:
    """Split tests: most changes fail in the first seconds, so later files need no import."""
    parts: list[dict[str, float]] = [{}, {}]
    total = 0.0
    for test, seconds in tests.items():
        parts[total > _FIRST_SECONDS][test] = seconds
        total += seconds
    return [part for part in parts if part]


def first_failure(tests: dict[str, float], *, is_compiled: bool) -> str | None:
    """Run tests in a fork and return which failed, "" if none could run; None if all passed."""
    seconds = 30 + 3 * sum(tests.values()) + 120 * is_compiled
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder) / "failed"
        child = os.fork()
        if not child:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            os.environ["TMPDIR"] = tempfile.tempdir = folder  # also of children that are killed
            if is_compiled:  # what calls a changed function is compiled, too
                os.environ["NUMBA_CACHE_DIR"] = f"{folder}/numba"
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            os._exit(pytest.main([*OPTIONS, *files], plugins=[Chosen(tests, failed)]))
        until = time.monotonic() + 5 * seconds  # of one that waits, on a busy machine
        status = None
        while status is None and time.monotonic() < until:
            done, ended = os.waitpid(child, os.WNOHANG)
            status = ended if done else None
            time.sleep(0.05)
        if status is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        if status == 0:
            return None
        return failed.read_text(encoding="utf-8") if failed.exists() else ""


def failing_tests(tests: set[str]) -> list[str]:
    """Return which of some tests fail without a change."""
    remaining, failing = dict.fromkeys(sorted(tests - {""}), 60.0), []
    while remaining and (failed := first_failure(remaining, is_compiled=False)) is not None:
        failing.append(failed)
        if remaining.pop(failed, None) is None:
            break
    return failing


# -- reporting -----------------------------------------------------------------------------------


def table(outcomes: list[Outcome], *, slow: bool) -> str:
    """Return how many changes of each package were noticed, as a table in Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        for package in (package_of(outcome.mutant.module), "all"):
            counts[package][outcome.outcome] += 1
    names = ["package", "sampled", "equivalent", "noticed by default tests"]
    rows = [names + ["noticed with slow tests"] * slow]
    rows.append(["---"] + ["---:"] * (len(rows[0]) - 1))
    for package in [*sorted(counts.keys() - {"all"}), *(["all"] if outcomes else [])]:
        of = counts[package]
        total = of.total() - of["equivalent"]
        noticed = [of["default"], of["default"] + of["slow"]][: 1 + slow]
        shares = [f"{one} of {total}, {one / max(total, 1):.0%}" for one in noticed]
        rows.append([package, str(of.total()), str(of["equivalent"]), *shares])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
