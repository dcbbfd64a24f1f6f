"""Which tests run which statement of arena: observed once for each test file, and kept in a cache.

A statement is known by the function that holds it and by its first line, not by its number, so that
the map stays true when lines are added. A test file is observed again when it changes.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MARKERS = {"default": "not slow and not campaign", "slow": "slow"}
"""The two runs, and which tests they take."""

FOLDERS = ("arena", "plugins")
_EXAMPLES = ">>>"
_FILES_AT_ONCE = 50


def cache_folder() -> Path:
    """Return where observations are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "arena-mutation"


@dataclass
class Statements:
    """The statements of a module: the name of each line's statement, and of its function."""

    name_of: dict[int, str] = field(default_factory=dict)
    scope_of: dict[int, str] = field(default_factory=dict)
    at_import: set[str] = field(default_factory=set)
    """The names of statements outside functions, and of signatures: they run in the test that
    imports the module first."""

    @classmethod
    def of(cls, text: str) -> Statements:
        """Parse a module."""
        statements, lines = cls(), text.splitlines()
        statements._add(ast.parse(text), (), lines)
        return statements

    def _add(
        self, parent: ast.AST, scope: tuple[str, ...], lines: list[str], *, called: bool = False
    ) -> None:
        for node in ast.iter_child_nodes(parent):
            within, is_function = scope, isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                within = (*scope, node.name)
            if isinstance(node, ast.stmt):
                name = ".".join(within)
                statement = f"{name}|{lines[node.lineno - 1].strip()}"
                if not called:
                    self.at_import.add(statement)
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.name_of[line] = statement
                    self.scope_of[line] = name or _assigned(node)
            self._add(node, within, lines, called=called or is_function)


def _assigned(node: ast.stmt) -> str:
    """Return the names that a statement of a module assigns, joined by blanks; empty if none."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [name for target in targets for name in getattr(target, "elts", [target])]
    return " ".join(name.id for name in names if isinstance(name, ast.Name))


class CoverageMap:
    """Which tests of a run, by their names, run a statement."""

    def __init__(self, tree: Path, run: str) -> None:
        """Read what the cache has of the test files of a tree; ``observe`` adds the rest."""
        self.tree, self.run = tree, run
        self.seconds: dict[str, float] = {}
        self.tests: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.sources = {
            str(path.relative_to(tree)): path.read_text(encoding="utf-8")
            for path in modules_of(tree)
        }
        self.statements = {module: Statements.of(text) for module, text in self.sources.items()}
        self.missing = [test_file for test_file in _test_files(tree) if not self._read(test_file)]

    def observe(self) -> None:
        """Run the tests of the files that the cache does not have, two at a time.

        What was observed is kept after every 50 files: an interrupted run loses little.
        """
        missing = self.missing
        for start in range(0, len(missing), _FILES_AT_ONCE):
            self._observe(missing[start : start + _FILES_AT_ONCE])
        self.missing = [test_file for test_file in missing if not self._read(test_file)]

    def _observe(self, test_files: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            included = ",".join(f"{self.tree}/{one}/*" for one in FOLDERS)
            (out / "coverage.ini").write_text(
                f"[run]\ninclude = {included}\ndata_file = {out}/coverage\nparallel = true\n"
                "context = ${PYTEST_CURRENT_TEST-}\n",
                encoding="utf-8",
            )
            paths = (self.tree / "tests/mutation", self.tree, self.tree / "plugins")
            subprocess.run(
                [
                    *(sys.executable, "-m", "pytest", "-p", "observer", "-p", "no:cacheprovider"),
                    *("-q", "-n", "2", "--tb=line", "-m", MARKERS[self.run], *test_files),
                ],
                cwd=self.tree,
                env={
                    **os.environ,
                    "ARENA_OBSERVED": folder,
                    "PYTHONPATH": os.pathsep.join(map(str, paths)),
                },
                check=False,
            )
            self._write(out, test_files)

    def chosen(self, module: str, line: int, most_seconds: float) -> dict[str, float]:
        """Return the tests that run a line, in the order to run them, and how long they take.

        Those of the module's own test file come first, then those of its package, then the files
        of which they take least.
        """
        mirror = f"/test_{Path(module).stem}.py"
        package = "/".join(module.removesuffix(".py").split("/")[1:2]).removeprefix("arena_")
        of_file: dict[str, dict[str, float]] = defaultdict(dict)
        for test in sorted(self.tests_of(module, line), key=self.seconds.__getitem__):
            of_file[test.partition("::")[0]][test] = self.seconds[test]
        chosen: dict[str, float] = {}
        for _, tests in sorted(
            of_file.items(),
            key=lambda one: (
                not one[0].endswith(mirror),
                one[0] != module and not one[0].startswith(f"tests/{package}/"),
                sum(one[1].values()),
            ),
        ):
            for test, seconds in tests.items():
                if not chosen or sum(chosen.values()) + seconds <= most_seconds:
                    chosen[test] = seconds
        return chosen

    def tests_of(self, module: str, line: int) -> set[str]:
        """Return the tests that run a line of a module.

        Of what runs at import, or is compiled and so not seen: the tests of the function or class,
        and if there are none, those of the functions that name it; and those of the module's own
        file, which may compare what no function reads, such as the defaults of settings.
        """
        statements = self.statements[module]
        if line not in statements.name_of:
            return set()
        name = statements.name_of[line]
        tests = self.tests[module].get(name, set())
        if tests and name not in statements.at_import:
            return tests
        mirrors = f"/test_{Path(module).stem}.py", f"/test_{Path(module).stem}_"
        of_mirror = {test for test in self.seconds if any(mirror in test for mirror in mirrors)}
        return tests | of_mirror | self._of_scope(module, statements.scope_of[line], depth=3)

    @cache  # noqa: B019 - one map lives as long as the program
    def _of_scope(self, module: str, scope: str, depth: int) -> set[str]:
        if not scope or not depth:
            return set()
        prefixes, at_import = (f"{scope}|", f"{scope}."), self.statements[module].at_import
        tests = set().union(
            *(
                tests
                for name, tests in self.tests[module].items()
                if name.startswith(prefixes) and name not in at_import
            )
        )
        if tests:
            return tests
        names = scope.rpartition(".")[2].split()
        callers = set().union(*map(self._lines_naming, names))
        for other, line in callers:
            name = self.statements[other].name_of.get(line, "")
            if name not in self.statements[other].at_import:
                tests |= self.tests[other].get(name, set())
        scopes = {(other, self.statements[other].scope_of.get(line, "")) for other, line in callers}
        scopes.discard((module, scope))
        return tests or set().union(*(self._of_scope(*one, depth - 1) for one in sorted(scopes)))

    def _lines_naming(self, word: str) -> set[tuple[str, int]]:
        pattern = re.compile(rf"\b{re.escape(word)}\b")
        return {
            (module, line)
            for module, text in self.sources.items()
            if word in text
            for line, content in enumerate(text.splitlines(), 1)
            if pattern.search(content)
        }

    def _place(self, file: str) -> Path:
        content = (self.tree / file).read_bytes()
        name = hashlib.sha256(file.encode() + b"\0" + content).hexdigest()[:32]
        return cache_folder() / self.run / f"{name}.json.gz"

    def _read(self, file: str) -> bool:
        """Add what the cache has of a test file, and return whether it has it."""
        try:
            document = json.loads(gzip.decompress(self._place(file).read_bytes()))
        except OSError:
            return False
        names = list(document["seconds"])
        self.seconds.update(document["seconds"])
        for module, statements in document["statements"].items():
            for name, positions in statements.items():
                self.tests[module][name].update(names[position] for position in positions)
        return True

    def _write(self, out: Path, test_files: list[str]) -> None:
        from coverage import CoverageData
        from coverage.exceptions import DataError

        seconds: dict[str, dict[str, float]] = {file: {} for file in test_files}
        for path in out.glob("seconds-*.json"):
            for test, value in json.loads(path.read_text(encoding="utf-8")).items():
                seconds[test.partition("::")[0]][test] = value
        position_of = {
            test: place for own in seconds.values() for place, test in enumerate(sorted(own))
        }
        kept: dict[str, dict[str, dict[str, set[int]]]] = {
            file: defaultdict(lambda: defaultdict(set)) for file in test_files
        }
        for path in out.glob("coverage.*"):
            if path.name == "coverage.ini":
                continue
            data = CoverageData(str(path))
            try:
                data.read()
            except DataError:  # a child was killed while it wrote
                continue
            for measured in data.measured_files():
                module = str(Path(measured).relative_to(self.tree))
                if module not in self.statements:  # a template
                    continue
                for line, contexts in data.contexts_by_lineno(measured).items():
                    name = self.statements[module].name_of.get(line)
                    for context in contexts if name else ():
                        test = re.sub(r" \((setup|call|teardown)\)$", "", context)
                        file = test.partition("::")[0]
                        if file not in kept:
                            continue
                        own = [test] if "::" in test else seconds[file]
                        kept[file][module][name].update(
                            position_of[one] for one in own if one in position_of
                        )
        for file, statements in kept.items():
            place = self._place(file)
            place.parent.mkdir(parents=True, exist_ok=True)
            content = {
                "seconds": dict(sorted(seconds[file].items())),
                "statements": {
                    module: {name: sorted(tests) for name, tests in own.items() if tests}
                    for module, own in statements.items()
                },
            }
            fresh = place.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(gzip.compress(json.dumps(content).encode(), 3))
            fresh.replace(place)


def modules_of(tree: Path) -> Iterator[Path]:
    """Yield the modules of arena and its plugins."""
    for folder in FOLDERS:
        yield from sorted((tree / folder).rglob("*.py"))


def _test_files(tree: Path) -> Iterable[str]:
    tests = sorted((tree / "tests").rglob("test_*.py"))
    examples = [path for path in modules_of(tree) if _EXAMPLES in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(tree)) for path in (*tests, *examples)]
