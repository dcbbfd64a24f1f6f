"""Metrics that read files: forms of EvalAI's, Hugging Face's stand-in, and Codabench bundles."""

from __future__ import annotations

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena import BoardSettings, ScoreSettings, score
from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import ArenaError, InputError, ScoringError
from arena.intake.whole_file import cell_of_file
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.types import RowContext, SolutionColumns
from arena_metrics.foreign import codabench

IDS = pa.array(["a", "b", "c", "d"], pa.string())
TRUTH = np.array(["1", "2", "3", "4"], dtype=object)
SENT = np.array(["1", "2", "3", "8"], dtype=object)
CONTEXT = RowContext("id", IDS, ("y",), ("y",))

EVALUATE = """
import json
from pathlib import Path
from .shapes import read

def evaluate({parameters}, **kwargs):
    truth, sent = read(test_annotation_file), read(user_submission_file)
    return {{"result": [{{"test": {{"same": sum(truth[at] == sent[at] for at in truth)}}}}]}}
"""
READ = {
    "json": "{row['id']: row['y'] for row in json.loads(Path(path).read_text())}",
    "tsv": "dict(line.split('\\t') for line in Path(path).read_text().splitlines()[1:])",
    "raw": "json.loads(Path(path).read_text())",
}
COMPUTE = """
import pandas as pd
from huggingface_hub import HfApi, hf_hub_download, login
from huggingface_hub.utils import EntryNotFoundError, disable_progress_bars

def compute(params):
    disable_progress_bars()
    login(token=params.token)
    try:
        HfApi().dataset_info("x")
    except OSError as error:
        assert "needs the network" in str(error)
    truth = pd.read_csv(HfApi().hf_hub_download(params.competition_id, "solution.csv"))
    sent = pd.read_csv(hf_hub_download(params.competition_id, "submissions/team-submission.csv"))
    value = float((truth["y"] == sent["y"]).mean())
    return {"public_score": {"hits": value}, "private_score": {"hits": value}}
"""
SCORING = """
import json, os, sys
from pathlib import Path
from helper import lines

truth = lines(os.path.join("/app/input", "ref", "labels"))
sent = lines(Path(sys.argv[1]) / "res" / "prediction.txt")
hits = [float(one == other) for one, other in zip(truth, sent)]
scores = {"wrong": len(hits) - sum(hits), "hits": sum(hits)}
Path("/app/output/scores.json").write_text(json.dumps(scores))
"""
COMPETITION = """
tasks:
  - {index: 0, name: First, reference_data: other, scoring_program: program}
  - {index: 1, name: Second, reference_data: truth, scoring_program: program}
solutions:
  - {index: 0, tasks: [1], path: sample}
leaderboards:
  - columns:
      - {key: all, index: 0, sorting: desc, computation: sum, computation_indexes: [1, 2]}
      - {key: wrong, index: 1, sorting: asc}
      - {key: hits, index: 2, sorting: desc}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - set(before):
        if name.startswith(("arena_metric_", "huggingface_hub", "helper", "evaluate", "datasets")):
            del sys.modules[name]
    sys.modules.update(
        {key: module for key, module in before.items() if key.startswith("huggingface_hub")}
    )


def bound(specification: str) -> Metric:
    metric: Any = PluginManager().metrics.resolve(specification)
    bound_metric: Metric = metric.for_rows(CONTEXT)
    return bound_metric


@pytest.mark.parametrize("form", ["json", "tsv"])
@pytest.mark.parametrize(
    "parameters",
    [
        "test_annotation_file, user_submission_file, phase_codename",
        "user_submission_file, phase_codename, test_annotation_file=None",
    ],
)
def test_evalai_reads_the_form_that_is_asked_for(home: Path, form: str, parameters: str) -> None:
    package = home / "evaluation_script"
    package.mkdir()
    (package / "__init__.py").write_text("from .main import evaluate\n")
    (package / "main.py").write_text(EVALUATE.format(parameters=parameters))
    reading = f"import json\nfrom pathlib import Path\n\ndef read(path):\n    return {READ[form]}\n"
    (package / "shapes.py").write_text(reading)
    metric = bound(f"evalai:evaluation_script/main.py(format={form})")
    assert metric.score(TRUTH, SENT) == 3.0
    with pytest.raises(ArenaError, match="has no format=xml; it is one of csv, tsv, json, raw"):
        bound("evalai:evaluation_script/main.py(format=xml)")


@pytest.mark.parametrize("returned", ["[{'test': {'same': same}}]", "{'test': {'same': same}}"])
def test_evalai_takes_a_script_of_three_arguments_and_splits_in_one_dict(
    home: Path, returned: str
) -> None:
    (home / "main.py").write_text(
        "from pathlib import Path\n"
        "def evaluate(annotations, submission, phase):\n"
        "    same = Path(annotations).read_text() == Path(submission).read_text()\n"
        f"    return {{'result': {returned}}}\n"
    )
    assert bound("evalai:main.py").score(TRUTH, TRUTH) == 1.0
    assert bound("evalai:main.py").score(TRUTH, SENT) == 0.0


def test_evalai_takes_a_list_of_splits_and_passes_metadata_where_they_are_wanted(
    home: Path,
) -> None:
    three, no_splits = "annotations, submission, phase", " must return a dict with a list of splits"
    metrics: Any = PluginManager().metrics
    for number, (parameters, returned, expected) in enumerate(
        (
            (three, "{'result': [{'test': {'same': 2}}]}", 2.0),
            (three, "[{'test': {'same': 2}}]", 2.0),
            (three, "{'result': {'test': {'same': 2}}}", 2.0),
            (three, "{'result': [{'test': {'same': len(phase)}}]}", 4.0),  # test
            ("user_file, phase, annotations", "[{'test': {'same': len(phase)}}]", 4.0),
            (
                f"{three}, submission_metadata",
                "[{'test': {'same': len(submission_metadata)}}]",
                0.0,
            ),
            (f"{three}, **more", "[{'test': {'same': len(more)}}]", 1.0),
            (three, "{'result': 3}", no_splits),
            (three, "{'result': [3]}", no_splits),
            (three, "{}", no_splits),
            (three, "3", no_splits),
        )
    ):
        name = f"evalai_{number}.py"
        (home / name).write_text(f"def evaluate({parameters}):\n    return {returned}\n")
        metric = metrics.resolve(f"evalai:{name}").for_rows(CONTEXT)
        if isinstance(expected, float):
            assert metric.score(TRUTH, SENT) == expected, (parameters, returned)
        else:
            with pytest.raises(ScoringError, match=f"evalai:{name}{expected} under 'result'"):
                metric.score(TRUTH, SENT)


def test_a_function_may_replace_the_folder_of_its_whole_files(home: Path) -> None:
    (home / "metric.py").write_text(
        "import shutil\n"
        "from pathlib import Path\n"
        "def same(gold, submission, *, points=1):\n"
        "    texts = [Path(path).read_text() for path in (gold, submission)]\n"
        "    folder = Path(gold).parents[1]\n"
        "    shutil.rmtree(folder)\n"
        "    folder.write_text('in its place')\n"
        "    return points * (texts[0] == texts[1])\n"
    )
    metric = bound("metric.py:same(format=raw, points=3)")
    for sent, score_of_sent in ((b"a text", 3.0), (b"another", 0.0)):
        cells = cell_of_file("gold.txt", b"a text"), cell_of_file("sent.txt", sent)
        assert metric.score(*(np.array([cell], dtype=object) for cell in cells)) == score_of_sent


@pytest.mark.slow
def test_whole_files_are_passed_as_they_are(home: Path) -> None:
    (home / "main.py").write_text(
        EVALUATE.format(parameters="test_annotation_file, user_submission_file, phase").replace(
            "from .shapes", "from shapes"
        )
    )
    reading = (
        f"import json\nfrom pathlib import Path\n\ndef read(path):\n    return {READ['raw']}\n"
    )
    (home / "shapes.py").write_text(reading)
    (home / "truth.json").write_text('{"a": [1], "b": "two"}')
    (home / "sent").mkdir()
    (home / "sent" / "x.json").write_text('{"a": [1], "b": "two"}')
    (home / "sent" / "y.json").write_text('{"a": [0], "b": "two"}')
    (home / "sent" / "z.json").write_text("[")
    settings = ScoreSettings("evalai:main.py(format=raw)", board=BoardSettings(workers=1))
    result = score(home / "truth.json", [home / "sent"], settings)
    assert [(row["team"], row["score"]) for row in result.standings] == [("x", 2.0), ("y", 1.0)]
    assert [rejected.file for rejected in result.rejected] == ["z.json"]
    assert any("no rows can be resampled" in note for note in result.notes)


def test_hugging_face_has_its_stand_in_although_the_package_is_installed(home: Path) -> None:
    (home / "huggingface_hub").mkdir()
    (home / "huggingface_hub" / "__init__.py").write_text("raise RuntimeError('not this one')\n")
    (home / "metric.py").write_text(COMPUTE)
    sys.path.insert(0, str(home))
    assert bound("hf:metric.py").score(TRUTH, SENT) == 0.75


MATCHES = """
import datasets
import evaluate
import {package}

@evaluate.utils.file_utils.add_start_docstrings("What it is", "How it is called")
class Matches(evaluate.Metric):
    def _info(self):
        kinds = [
            datasets.Features({{"predictions": datasets.Sequence(datasets.Value("int32")),
                               "references": datasets.Sequence(datasets.Value("int32"))}}),
            datasets.Features({{"predictions": datasets.Value("{dtype}"),
                               "references": datasets.Value("{dtype}")}}),
            datasets.Features({{"predictions": [datasets.Value("{dtype}")],
                               "references": [datasets.Value("{dtype}")]}}),
        ]
        return evaluate.MetricInfo(description="", features=kinds, format="{form}")

    def _compute(self, predictions, references, scale=1.0):
        assert {package}.__name__ == "{package}"
        assert self.config_name == "{config}"
        total = sum(sum(a == b for a, b in zip(x, y)) if isinstance(x, list) else x == y
                    for x, y in zip(predictions, references))
        return {{"matches": float(total * scale), "each": [1, 2], "n": len(references)}}
"""
LISTS = {"1": "[1, 2]", "2": "[3]", "3": "[]", "4": "[4, 5]", "8": "[4, 6]"}
FLOATS = {"1": "[1.5]", "2": "[2]", "3": "[3]", "4": "[0.1]", "8": "[0.10000000001]"}


@pytest.mark.parametrize(
    ("dtype", "cells", "form", "expected"),
    [
        ("int64", {}, "numpy", 3.0),
        ("int64", {"8": "4.0"}, "", 4.0),
        ("string", {"8": "4.0"}, "", 3.0),
        ("float32", {"4": "0.1", "8": "0.10000000001"}, "", 4.0),
        ("int64", LISTS, "", 4.0),
        ("float32", FLOATS, "", 4.0),
        ("bool", {"1": "True", "2": "0", "3": "1", "4": "TRUE", "8": "1"}, "", 4.0),
        ("bool", {"1": "True", "2": "0", "3": "1", "4": "false", "8": "0"}, "", 4.0),
        ("bool", {"1": "True", "2": "0", "3": "1", "4": "true", "8": "False"}, "", 3.0),
    ],
)
def test_a_class_of_evaluate_gets_columns_of_the_declared_types(
    home: Path, dtype: str, cells: dict[str, str], form: str, expected: float
) -> None:
    code = MATCHES.format(package="colorsys", dtype=dtype, form=form, config="default")
    (home / "colorsys.py").write_text(code)  # named after the package that it imports
    truth, predictions = (
        np.array([cells.get(cell, cell) for cell in column], dtype=object)
        for column in (TRUTH, SENT)
    )
    metric = bound("hf:colorsys.py(value=matches)")
    assert metric.score(truth, predictions) == expected
    assert metric.score(truth, predictions, np.array([2, 0, 0, 0])) == (
        4.0 if cells is LISTS else 2.0
    )
    scaled = bound("hf:colorsys.py(value=matches, scale=0.5)")
    assert scaled.score(truth, predictions) == expected / 2


TYPED = """
import evaluate
from datasets import Array2D, Features, Sequence, Value

class Typed(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            features=Features({{"predictions": Value("string"), "references": {kind}}})
        )

    def _compute(self, predictions, references):
        return float(repr(references) == {expected!r})
"""
CONVERTED = (
    ("Value('int32')", "4.0", "[4]"),
    ("Value('uint8')", "7", "[7]"),
    ("Value('float32')", "0.1", "[0.10000000149011612]"),
    ("Value('float')", "0.1", "[0.10000000149011612]"),
    ("Value('float64')", "0.1", "[0.1]"),
    ("Value('double')", "0.1", "[0.1]"),
    ("Value('bool')", "True", "[True]"),
    ("Value('bool')", "0", "[False]"),
    ("Value()", "4.0", "['4.0']"),
    ("Sequence(Value('string'))", '[1, "a"]', "[['1', 'a']]"),
    ("[Value('int64')]", "[1, 2]", "[[1, 2]]"),
    ("Sequence({'x': Value('int64')})", '{"x": [1, 2]}', "[{'x': [1, 2]}]"),
    ("Sequence({'x': Value('int64')})", '[{"x": 1}]', "[[{'x': 1}]]"),
    ("{'x': Value('int64')}", '{"x": 1, "y": 2}', "[{'x': 1}]"),
    ("Array2D(shape=(1, 2), dtype='int64')", "[[1, 2]]", "[array([[1, 2]])]"),
    ("Array2D((1, 2), 'float32')", "[[1, 2]]", "[array([[1., 2.]], dtype=float32)]"),
    ("Array2D((1, 2))", "[[1, 2]]", "[array([[1, 2]])]"),
    ("Value('int64')", "4.5", None),
    ("Value('int64')", "[1]", None),
    ("Value('bool')", "yes", None),
    ("Sequence(Value('int64'))", "1", None),
    ("Sequence(Value('int64'))", "[[1]]", None),
    ("Array2D(shape=(1, 2), dtype='int64')", "1", None),
)
"""A declared type, a cell, and what the class gets; None: the cell does not have the type."""


def test_cells_are_converted_to_every_declared_type_or_refused(home: Path) -> None:
    metrics: Any = PluginManager().metrics
    context = RowContext("id", IDS[:1], ("y",), ("y",))
    for number, (kind, cell, expected) in enumerate(CONVERTED):
        (home / f"typed_{number}.py").write_text(TYPED.format(kind=kind, expected=expected))
        metric = metrics.resolve(f"hf:typed_{number}.py").for_rows(context)
        cells = np.array([cell], dtype=object), np.array(["x"], dtype=object)
        if expected is None:
            with pytest.raises(ScoringError, match="a cell does not have the declared type"):
                metric.score(*cells)
        else:
            assert metric.score(*cells) == 1.0, (kind, cell)


SEVERAL = """
import datasets
import evaluate

class Several(evaluate.Metric):
    def _info(self):
        names = ("predictions", "bonus", "references", "points")
        kinds = {name: datasets.Value("int64") for name in names}
        return evaluate.MetricInfo(features=datasets.Features(kinds))

    def _compute(self, predictions, bonus, references, points):
        rows = zip(predictions, bonus, references, points)
        return float(sum(a * (x == y) + b for x, b, y, a in rows))
"""


def test_several_columns_are_passed_by_their_names_to_a_class_of_evaluate(home: Path) -> None:
    """Two rows: a match of 3 points with a bonus of 10, and no match with a bonus of 20."""
    (home / "several.py").write_text(SEVERAL)
    context = RowContext("id", IDS[:2], ("references", "points"), ("bonus", "predictions"))
    metric: Any = PluginManager().metrics.resolve("hf:several.py")
    truth, sent = (
        np.array(rows, dtype=object)
        for rows in ([["1", "3"], ["2", "5"]], [["10", "1"], ["20", "9"]])
    )
    assert metric.for_rows(context).score(truth, sent) == 33.0


SPOILS = """
import datasets
import evaluate

class Matches(evaluate.Metric):
    def _info(self):
        kinds = dict.fromkeys(("predictions", "references"), {kind})
        return evaluate.MetricInfo(features=datasets.Features(kinds))

    def _compute(self, predictions, references):
        matches = float(sum(a == b for a, b in zip(predictions, references)))
        for column in (predictions, references):
            for cell in column:
                if isinstance(cell, list):
                    cell.append(id(column))
            column.clear()
        return matches
"""


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ('datasets.Value("int64")', {}),
        ('datasets.Sequence(datasets.Value("int64"))', LISTS),
    ],
)
def test_a_class_of_evaluate_cannot_change_what_the_next_call_gets(
    home: Path, kind: str, cells: dict[str, str]
) -> None:
    (home / "matches.py").write_text(SPOILS.format(kind=kind))
    truth, predictions = (
        np.array([cells.get(cell, cell) for cell in column], dtype=object)
        for column in (TRUTH, SENT)
    )
    scorer = bound("hf:matches.py").prepare(truth, predictions)
    weights = np.ones(4, np.uint8), np.array([2, 0, 0, 0], np.uint8)
    assert [scorer(weight) for _ in range(2) for weight in weights] == [3.0, 2.0, 3.0, 2.0]


def test_a_class_of_evaluate_that_cannot_be_used_says_why(home: Path) -> None:
    code = MATCHES.format(package="json", dtype="int64", form="", config="other")
    (home / "matches.py").write_text(code)
    with pytest.raises(ArenaError, match="has no parameter 'scales'. Did you mean scale"):
        bound("hf:matches.py(scales=2)")
    with pytest.raises(ScoringError, match="returns several values: matches, n"):
        bound("hf:matches.py(config=other)").score(TRUTH, SENT)
    assert bound("hf:matches.py(config=other, value=n)").score(TRUTH, SENT) == 4.0
    words = np.array(["1", "2", "3", "four"], dtype=object)
    with pytest.raises(ScoringError, match="a cell does not have the declared type"):
        bound("hf:matches.py(config=other, value=n)").score(TRUTH, words)
    (home / "none.py").write_text("class Metric:\n    pass\n")
    with pytest.raises(ArenaError, match="has no function 'compute'"):
        bound("hf:none.py")


@pytest.fixture
def bundle(home: Path) -> Path:
    for folder in ("program", "truth", "other", "sample"):
        (home / "bundle" / folder).mkdir(parents=True)
    made = home / "bundle"
    (made / "competition.yaml").write_text(COMPETITION)
    (made / "program" / "metadata").write_text("command: python3 $program/score.py $input $output")
    (made / "program" / "score.py").write_text(SCORING)
    (made / "program" / "helper.py").write_text(
        "from pathlib import Path\n\ndef lines(path):\n    return Path(path).read_text().split()\n"
    )
    (made / "truth" / "labels").write_text("1\n2\n3\n4\n")
    (made / "sample" / "prediction.txt").write_text("1\n1\n1\n1\n")
    return made


@pytest.mark.parametrize(
    ("options", "score", "greater"),
    [("", 4.0, True), (", value=wrong", 1.0, False), (", value=hits", 3.0, True)],
)
def test_a_codabench_bundle_scores_rows_in_the_form_of_its_reference_data(
    bundle: Path, options: str, score: float, greater: bool
) -> None:
    metric = bound(f"codabench:{bundle.name}(task=Second{options})")
    assert metric.score(TRUTH, SENT) == score
    assert metric.greater_is_better == greater
    counts = np.array([2, 0, 0, 1])
    assert metric.score(TRUTH, SENT, counts) == {4.0: 3.0, 1.0: 1.0, 3.0: 2.0}[score]


def test_reference_data_without_a_header_may_hold_ids_of_other_rows(bundle: Path) -> None:
    (bundle / "truth" / "labels").write_text("z,3\na,1\nb,2\n")
    (bundle / "program" / "helper.py").write_text(
        "from pathlib import Path\n\n"
        "def lines(path):\n"
        "    rows = Path(path).read_text().splitlines()\n"
        "    return [row.split(',')[1] for row in rows]\n"
    )
    metric = bound("codabench:bundle(task=Second, value=hits)")
    assert metric.score(TRUTH, SENT) == 3.0
    assert metric.score(TRUTH, SENT, np.array([2, 0, 0, 1])) == 2.0


def test_a_program_reads_all_reference_data_and_one_file_holds_the_rows(bundle: Path) -> None:
    (bundle / "truth" / "more").mkdir()
    (bundle / "truth" / "more" / "factor").write_text("10")
    script = bundle / "program" / "score.py"
    scoring = script.read_text().replace(
        '"hits": sum(hits)',
        '"hits": sum(hits) * int(Path("/app/input/ref/more/factor").read_text())',
    )
    script.write_text(scoring)
    (bundle / "other").rmdir()
    metric = bound("codabench:bundle(task=Second, value=hits, reference=labels)")
    assert metric.score(TRUTH, SENT) == 30.0
    for task, why in {
        "Second": "Name the file of the reference data that holds the rows (reference=…): labels, "
        "factor.",
        "First": f"The reference_data of the bundle bundle is not at {bundle / 'other'}.",
    }.items():
        with pytest.raises(ScoringError) as refused:
            bound(f"codabench:bundle(task={task}, value=hits)").score(TRUTH, SENT)
        assert str(refused.value) == f"codabench:bundle: {why}"


def test_a_codabench_bundle_unpacks_archives_up_to_a_size(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w") as archive:
        archive.writestr("prediction.txt", "1 2 3 8")  # 7 bytes
    metric = bound(f"codabench:{bundle.name}(task=1, value=hits, format=raw)")
    cells = [
        np.array([cell_of_file(name, data)], dtype=object)
        for name, data in {
            "labels": b"1 2 3 4", "sent.zip": archive_bytes.getvalue(), "prediction.txt": b"1 2",
        }.items()
    ]  # fmt: skip
    truth, zipped, plain = cells
    monkeypatch.setattr(codabench, "_MOST_BYTES", 7)
    assert metric.score(truth, zipped) == 3.0
    assert metric.score(truth, plain) == 2.0
    monkeypatch.setattr(codabench, "_MOST_BYTES", 6)
    with pytest.raises(ScoringError, match="unpacks to more than 2 GiB: send less"):
        metric.score(truth, zipped)


def test_a_program_of_python_runs_in_this_process_and_any_other_in_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = SimpleNamespace(returncode=0, stderr="")
    started: list[list[str]] = []

    def start(words: list[str], **_: Any) -> Any:
        started.append(words)
        return ended

    monkeypatch.setattr(codabench.subprocess, "run", start)
    monkeypatch.setattr(
        codabench.runpy, "run_path", lambda script, run_name: started.append(["here", *sys.argv])
    )
    run, (app, program) = codabench.CODABENCH.load(None), (home / "app", home / "program")  # type: ignore[misc, arg-type]
    program.mkdir()
    for command, words in {
        "python3 score.py $input /app/output": [
            "here", str(program / "score.py"), f"{app}/input", f"{app}/output",
        ],
        "python3.11 -m score $tmp": [sys.executable, "-m", "score", f"{app}/output"],
        "python score": [sys.executable, "score"],
        "python": [sys.executable],
        "bash score.py": ["bash", "score.py"],
        "./run.sh $hidden $predictions": ["./run.sh", f"{app}/input/ref", f"{app}/input/res"],
    }.items():  # fmt: skip
        run(app, program, command)
        assert started.pop() == words
    ended.returncode, ended.stderr = 3, "a" + "b" * 2000
    with pytest.raises(RuntimeError) as failed:
        run(app, program, "./run.sh")
    assert str(failed.value) == f"./run.sh ended with 3: {'b' * 2000}"


PHASES = """
phases:
  1: {phasenumber: 1, reference_data: truth.zip, scoring_program: program.zip}
  2: {phasenumber: 2, start_date: 2026-01-01}
leaderboard:
  leaderboards: {RESULTS: &RESULTS {label: Results, rank: 1}}
  columns:
    hits: {leaderboard: *RESULTS, rank: 2}
    wrong: {leaderboard: *RESULTS, rank: 1, sort: asc}
    both: {leaderboard: *RESULTS, rank: 3, computed: {operation: avg, fields: "hits, wrong"}}
"""


def test_the_phases_of_codalab_are_tasks_and_a_part_may_be_a_folder(bundle: Path) -> None:
    (bundle / "competition.yaml").write_text(PHASES)
    metric = bound("codabench:bundle(submission='prediction.txt')")
    assert metric.score(TRUTH, SENT) == 1.0
    assert not metric.greater_is_better
    hits = bound("codabench:bundle(submission='prediction.txt', value=hits)")
    assert hits.score(TRUTH, SENT) == 3.0
    assert hits.greater_is_better
    assert bound("codabench:bundle(submission='prediction.txt', value=both)").score(
        TRUTH, SENT
    ) == pytest.approx(2.0)
    with pytest.raises(ArenaError, match="has no task '2'"):
        bound("codabench:bundle(task=2)")


@pytest.mark.parametrize("inside", ["", "program/"])
def test_a_codabench_bundle_and_its_parts_may_be_archives(
    bundle: Path, home: Path, inside: str
) -> None:
    for part, prefix in {"program": inside, "truth": "", "sample": ""}.items():
        with zipfile.ZipFile(bundle / f"{part}.zip", "w") as archive:
            for path in (bundle / part).iterdir():
                archive.write(path, prefix + path.name)
        shutil.rmtree(bundle / part)
    written = (bundle / "competition.yaml").read_text()
    for part in ("program", "truth", "sample"):
        written = written.replace(f": {part}}}", f": {part}.zip}}").replace(
            f": {part},", f": {part}.zip,"
        )
    (bundle / "competition.yaml").write_text(written)
    assert bound("codabench:bundle(task=Second)").score(TRUTH, SENT) == 4.0
    shutil.make_archive(str(home / "whole"), "zip", bundle.parent, bundle.name)
    assert bound("codabench:whole.zip(task=Second, value=hits)").score(TRUTH, SENT) == 3.0
    (home / "broken.zip").write_bytes(b"PK not an archive")
    with pytest.raises(ArenaError, match="cannot be unpacked"):
        bound("codabench:broken.zip")


NOTEBOOK = [
    {"cell_type": "markdown", "source": ["# A metric\n", "%% of the rows"]},
    {"cell_type": "code", "source": "%matplotlib inline\n!pip install nothing\nimport json"},
    {"cell_type": "code", "source": ["%%bash\n", "exit 1\n"]},
    {
        "cell_type": "code",
        "source": [
            "class ParticipantVisibleError(Exception):\n",
            "    pass\n\n",
            "def score(solution, submission, row_id_column_name):\n",
            "    if (submission['y'] > 90).any():\n",
            "        raise ParticipantVisibleError('too large')\n",
            "    ratio = 7 \\\n",
            "        % 4\n",
            "    return float((solution['y'] == submission['y']).sum() / ratio)\n",
        ],
    },
]


def test_a_metric_may_be_a_notebook(home: Path) -> None:
    (home / "metric.ipynb").write_text(json.dumps({"cells": NOTEBOOK, "nbformat": 4}))
    metric = bound("kaggle:metric.ipynb")
    assert metric.score(TRUTH, SENT) == 1.0
    assert metric.name == "kaggle:metric.ipynb"
    with pytest.raises(ScoringError, match="refuses a submission: too large"):
        metric.score(TRUTH, np.array(["1", "2", "3", "91"], dtype=object))
    with pytest.raises(
        ScoringError, match=r"failed with \w+Error at .*metric.ipynb, line \d+"
    ) as e:
        metric.score(TRUTH, np.array(["1", "2", "3", "x"], dtype=object))
    assert "submission['y'] > 90" in e.value.__notes__[0]
    (home / "metric.ipynb").write_text("[]")
    with pytest.raises(ArenaError, match=r"cannot be read: it has no cells"):
        bound("kaggle:metric.ipynb")


def test_a_codabench_bundle_that_cannot_be_used_says_why(bundle: Path) -> None:
    for specification, why in {
        "codabench:nowhere": "There is no competition.yaml in",
        "codabench:bundle(task=Third)": r"has no task 'Third'. It has: 0 \(First\), 1 \(Second\)",
        "codabench:bundle(other=1)": "has no parameter 'other'",
    }.items():
        with pytest.raises(ArenaError, match=why):
            bound(specification)
    (bundle / "program" / "metadata").unlink()
    with pytest.raises(ArenaError, match="has no metadata with a command"):
        bound("codabench:bundle(task=1)")
    shutil.rmtree(bundle / "program")
    for text, why in {
        COMPETITION: r"The scoring_program of the bundle bundle is not at .*/bundle/program\.",
        "tasks: [{name: One}]": r"The task 'One' of bundle has no scoring_program\.",
        "phases: {1: {label: One}}": "has neither tasks nor phases with a scoring program",
        "[]": "has neither tasks nor phases with a scoring program",
    }.items():
        (bundle / "competition.yaml").write_text(text)
        with pytest.raises(ArenaError, match=why):
            bound("codabench:bundle")


def test_a_codabench_submission_without_scores_does_not_stop_the_others(bundle: Path) -> None:
    (bundle / "program" / "score.py").write_text("print('refused')\n")
    with pytest.raises(ScoringError, match=r"neither scores.json nor scores.txt"):
        bound("codabench:bundle(task=1)").score(TRUTH, SENT)


@pytest.mark.slow
def test_a_codabench_bundle_takes_archives_as_they_are(bundle: Path, home: Path) -> None:
    (home / "sent").mkdir()
    for team, text in {"x": "1\n2\n3\n4\n", "y": "1\n1\n1\n1\n"}.items():
        with zipfile.ZipFile(home / "sent" / f"{team}.zip", "w") as archive:
            archive.writestr("prediction.txt", text)
    settings = ScoreSettings(
        "codabench:bundle(task=1, value=hits, format=raw)", board=BoardSettings(workers=1)
    )
    result = score(bundle / "truth", [home / "sent"], settings)
    assert [(row["team"], row["score"]) for row in result.standings] == [("x", 4.0), ("y", 1.0)]


@pytest.mark.slow
def test_a_competition_of_whole_files_gets_no_sample_of_columns(home: Path) -> None:
    (home / "main.py").write_text(
        "def evaluate(truth, sent, phase, **_):\n"
        "    same = open(truth).read() == open(sent).read()\n"
        "    return {'result': [{'test': {} if 'none' in open(sent).read() else {'same': same}}]}\n"
    )
    for name in ("truth", "good", "none"):
        (home / f"{name}.txt").write_text("right" if name == "truth" else name)
    settings = Settings.of(metric="evalai:main.py(format=raw)")
    with Competition.create(home / "c", home / "truth.txt", settings) as competition:
        assert not (home / "c" / "sample_submission.csv").exists()
        assert "one file" in (home / "c" / "sample_submission.txt").read_text()
        assert competition.submit(home / "none.txt", "none").status == "accepted"
        assert competition.submit(home / "good.txt", "good").status == "accepted"
        result = competition.finalize()
    assert [row["team"] for row in result.standings] == ["good"]
    assert [rejected.faults[0].kind for rejected in result.rejected] == ["metric failed"]


@pytest.mark.slow
def test_a_solution_of_ids_alone(home: Path) -> None:
    """As for a problem of optimisation: the metric needs the submission only."""
    (home / "metric.py").write_text(
        "def score(solution, submission, row_id_column_name):\n"
        "    assert list(solution.columns) == [row_id_column_name]\n"
        "    assert list(submission.columns) == [row_id_column_name, 'x', 'y']\n"
        "    return float((submission['x'] ** 2 + submission['y']).sum())\n"
    )
    (home / "solution.csv").write_text("id,Usage\n1,Public\n2,Private\n3,Private\n")
    (home / "one.csv").write_text("id,x,y\n3,3,0\n1,100,0\n2,2,0.5\n")
    (home / "two.csv").write_text("id,x,y\n1,0,0\n2,1,0\n3,1,1\n")
    files = (home / "one.csv", home / "two.csv")
    settings = ScoreSettings(
        "kaggle:metric.py(lower_is_better=True)", board=BoardSettings(intervals=False)
    )
    with pytest.raises(InputError, match="ids are all .*columns="):
        score(home / "solution.csv", files, settings)
    columns = SolutionColumns(submission=("x", "y"))
    result = score(home / "solution.csv", files, replace(settings, columns=columns))
    assert {row["team"]: row["score"] for row in result.standings} == {"one": 13.5, "two": 3.0}
