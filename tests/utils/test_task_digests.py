"""Digests of what the result of a task depends on: a change of any of it changes them."""

from __future__ import annotations

import os
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.plugin.manager import PluginManager
from arena.utils import task_digests
from arena.utils.task_digests import array_digest, digest_of
from toy_metrics import BlackBoxRmse

SCORE = "def score(solution, submission, row_id_column_name):\n    return {}\n"


def of_metric(file: Path, parameters: str = "") -> str | None:
    return digest_of(PluginManager().metrics.resolve(f"kaggle:{file}{parameters}"))


@pytest.mark.slow
def test_parameters_and_code_of_a_metric_count(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(SCORE.format(1))
    first = of_metric(file)
    assert first is not None
    assert of_metric(file) == first
    assert of_metric(file, "(lower_is_better=true)") != first
    file.write_text(SCORE.format(2))
    assert of_metric(file) != first


@pytest.mark.slow
def test_code_that_a_metric_imports_counts(tmp_path: Path) -> None:
    file, helper = tmp_path / "own.py", tmp_path / "helper.py"
    file.write_text("import helper\n" + SCORE.format("helper.value"))
    helper.write_text("from inner.part import value\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "part.py").write_text("value = 1\n")
    first = of_metric(file)
    (tmp_path / "inner" / "part.py").write_text("value = 2\n")
    assert None is not first != of_metric(file)


@pytest.mark.slow
def test_any_file_of_its_folder_counts(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import numpy as np\n" + SCORE.format("np.load('w.npy')[0]"))
    np.save(tmp_path / "w.npy", np.ones(1))
    os.mkfifo(tmp_path / "pipe")  # reading it would never end
    (tmp_path / "loop").symlink_to(tmp_path / "nothing")
    first = of_metric(file)
    np.save(tmp_path / "w.npy", np.zeros(1))
    assert None is not first != of_metric(file)


def test_a_folder_of_too_many_files_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_digests, "MOST_FILES", 2)
    (tmp_path / "own.py").write_text(SCORE.format(1))
    assert of_metric(tmp_path / "own.py") is not None
    (tmp_path / "other.txt").touch()
    assert of_metric(tmp_path / "own.py") is None


@pytest.mark.slow
def test_versions_and_the_code_of_classes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = BlackBoxRmse()
    first = digest_of(metric)
    assert digest_of(replace(metric)) == first
    assert digest_of(replace(metric, name="other")) != first
    code = task_digests.code_of
    with monkeypatch.context() as patch:
        patch.setattr(task_digests, "versions_of_code", lambda: (("arena", "another"),))
        assert digest_of(metric) != first
    for name in ("arena", "toy_metrics"):
        with monkeypatch.context() as patch:
            patch.setattr(
                task_digests,
                "code_of",
                lambda module, name=name: code(module) + "#" * (module == name),
            )
            assert digest_of(metric) != first


def test_what_cannot_be_pickled_has_no_digest() -> None:
    assert digest_of(lambda: 1) is None


@pytest.mark.parametrize(
    "cells",
    [[1.0, 2.0], [1.0, 3.0], [1, 2], ["1", "2"], ["12", ""], [True, False], [None, "2"], [], [""]],
)
def test_equal_arrays_have_equal_digests_and_others_do_not(cells: list[object]) -> None:
    kind = object if cells and not isinstance(cells[0], int | float) else None
    array = np.array(cells, dtype=kind)
    assert array_digest(array) == array_digest(array.copy())
    assert array_digest(array) != array_digest(array.reshape(1, -1))
    others = [np.array([1.0, 2.5]), np.array(["1", "22"], object), np.array(["", "12"], object)]
    assert array_digest(array) not in map(array_digest, others)


def test_the_order_in_memory_does_not_count() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert array_digest(array) == array_digest(np.asfortranarray(array))


def test_what_arena_imports_late_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that goes on in the same process finds what it kept before."""
    first = digest_of(BlackBoxRmse())
    late, display = types.ModuleType("arena.late"), types.ModuleType("a_display")
    monkeypatch.setattr(late, "a_display", display, raising=False)
    monkeypatch.setitem(sys.modules, "a_display", display)
    monkeypatch.setitem(sys.modules, "arena.late", late)
    assert None is not first == digest_of(BlackBoxRmse())


@pytest.mark.parametrize("stream", [1, 2])
def test_what_a_command_prints_into_a_folder_is_not_compared(tmp_path: Path, stream: int) -> None:
    (tmp_path / "w.txt").write_text("1")
    kept_stream = os.dup(stream)
    with (tmp_path / "printed.txt").open("w") as file:
        os.dup2(file.fileno(), stream)
        before = digest_of(tmp_path)
        file.write("more")
        file.flush()
        after = digest_of(tmp_path)
        os.dup2(kept_stream, stream)
    os.close(kept_stream)
    assert before == after
    assert digest_of(tmp_path) != before


def test_a_large_file_is_compared_by_its_size_and_time(tmp_path: Path) -> None:
    for size, is_read in ((2**16, True), (2**16 + 1, False)):
        file = tmp_path / "w.bin"
        digests = set()
        for byte in (b"a", b"b"):
            file.write_bytes(byte * size)
            os.utime(file, ns=(1, 1))
            digests.add(digest_of(tmp_path))
        assert (len(digests) == 2) is is_read
        os.utime(file, ns=(1, 2))
        assert (digest_of(tmp_path) in digests) is is_read
        # Code is read whole, however large.
        code = tmp_path / "w.py"
        for byte in (b"#", b"!"):
            code.write_bytes(byte * size)
            os.utime(code, ns=(1, 1))
            digests.add(digest_of(tmp_path))
        assert len(digests) == 3 + is_read
        code.unlink()


def test_the_files_of_a_folder_are_those_that_no_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub" / "server").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "__pycache__").mkdir()
    for name in ("b", "d", ".x", "sub/e", "sub/arena.duckdb", "sub/server/f", ".hidden/g"):
        (tmp_path / name).touch()
    (tmp_path / "__pycache__" / "h").touch()
    os.mkfifo(tmp_path / "c")  # it comes between two files, after which the walk continues
    (tmp_path / "a").symlink_to(tmp_path / "nothing")
    walk = os.walk
    monkeypatch.setattr(
        os,
        "walk",
        lambda *path, **options: (
            (folder, folders, sorted(files)) for folder, folders, files in walk(*path, **options)
        ),
    )
    names = [file.relative_to(tmp_path).as_posix() for file in task_digests.walk_files(tmp_path)]
    assert names == ["b", "d", "sub/e"]


def test_a_file_that_cannot_be_read_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w.txt").touch()
    assert digest_of(tmp_path) is not None

    stat = Path.stat

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    def refuse_the_file(path: Path, **how: Any) -> Any:
        return refuse() if path.name == "w.txt" else stat(path, **how)

    for call, refusal in (("read_bytes", refuse), ("stat", refuse_the_file)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, call, refusal)
            assert digest_of(tmp_path) is None


def test_packages_include_those_that_their_modules_import(monkeypatch: pytest.MonkeyPatch) -> None:
    package, part, helper = (types.ModuleType(name) for name in ("p", "p.part", "helper"))
    part.helper = helper  # type: ignore[attr-defined]
    for module in (package, part, helper):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert task_digests.outermost_packages({"p.part.Kind"}) == ["arena", "helper", "p"]
