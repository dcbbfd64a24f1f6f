"""Readers of evaluation tools, on files that the tools wrote (see ``data/README.md``)."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena_readers
from arena.errors import InputError
from arena.intake import CaseColumns
from arena.interfaces import CaseReader, CaseScores
from arena.plugin.manager import PluginManager
from arena.scoring.rank import rank
from arena.scoring.settings import BoardSettings
from arena_readers import grand_challenge, nnunet, provide_case_readers
from arena_readers.grand_challenge import GrandChallengeReader
from arena_readers.helm import HelmReader
from arena_readers.inspect_log import InspectReader
from arena_readers.lm_eval import LmEvalReader
from arena_readers.mteb import MtebReader
from arena_readers.nnunet import NnUNetReader
from arena_readers.trec_eval import TrecEvalReader
from file_sizes import set_size

DATA = Path(__file__).parent / "data"


def only_readers() -> PluginManager:
    """Return a manager with the readers and no analyses."""
    manager = PluginManager(entry_points=False)
    manager.register(arena_readers, "readers")
    return manager


def ranked(path: Any, **settings: Any) -> Any:
    return rank(path, manager=only_readers(), board=BoardSettings(20, workers=1), **settings)


def scores_of(result: Any) -> dict[str, float]:
    return {row["team"]: row["score"] for row in result.standings}


def records(parts: list[CaseScores]) -> list[tuple[Any, ...]]:
    return [
        record
        for part in parts
        for record in zip(part.algorithms, part.tasks, part.cases, part.values, strict=True)
    ]


# -- Inspect ---------------------------------------------------------------------------------------


def test_logs_of_inspect_have_the_scores_that_inspect_reports() -> None:
    result = ranked(DATA / "inspect", greater_is_better=True)
    log = json.loads((DATA / "inspect" / "large.json").read_text())
    reported = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    assert scores_of(result)["mockllm/large"] == pytest.approx(reported)
    assert set(scores_of(result)) == {"mockllm/small", "mockllm/large"}
    assert result.metric == "mean match"
    assert result.n_rows == 3
    assert result.findings[-1].document["answers"] == [2.0, 2.0]


def test_samples_of_an_archive_are_read_without_its_summaries(tmp_path: Path) -> None:
    """An interrupted run has no summaries; the samples themselves hold the same scores."""
    from arena_readers import inspect_log

    source = DATA / "inspect" / "small.eval"
    whole = next(iter(InspectReader().read(source, "includes")))
    with zipfile.ZipFile(source) as archive:
        members = {
            member.filename: inspect_log.read_member(archive, member)
            for member in archive.infolist()
            if member.filename.startswith(("samples/", "header"))
        }
    with zipfile.ZipFile(tmp_path / "part.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, document in members.items():
            archive.writestr(name, json.dumps(document))
    part = next(iter(InspectReader().read(tmp_path / "part.eval", "includes")))
    key = [(case, repeat) for case, repeat in zip(whole.cases, whole.repeats, strict=True)]
    other = [(case, repeat) for case, repeat in zip(part.cases, part.repeats, strict=True)]
    assert dict(zip(key, whole.values, strict=True)) == dict(zip(other, part.values, strict=True))
    assert len(key) == 6


def log_of_inspect(path: Path, values: list[Any], **top: Any) -> Path:
    samples = [
        {"id": position, "epoch": 1, "scores": {"grade": {"value": value}}} if value != "error"
        else {"id": position, "epoch": 1, "error": {"message": "timeout"}}
        for position, value in enumerate(values)
    ]  # fmt: skip
    about = {"model": "m", "task": "t", "created": top.pop("created", "2026-01-01")}
    path.write_text(json.dumps({"status": "success", "eval": about, "samples": samples, **top}))
    return path


def test_values_of_inspect_count_as_inspect_counts_them(tmp_path: Path) -> None:
    values = ["C", "P", "I", "N", "0.25", 3, True, "yes", "error"]
    one = next(iter(InspectReader().read(log_of_inspect(tmp_path / "a.json", values), None)))
    assert one.values[:-1].tolist() == [1.0, 0.5, 0.0, 0.0, 0.25, 3.0, 1.0, 1.0]
    assert str(one.values[-1]) == "nan"
    mapped = log_of_inspect(tmp_path / "a.json", [{"f1": 0.5}])
    assert next(iter(InspectReader().read(mapped, "grade/f1"))).values.tolist() == [0.5]
    with pytest.raises(InputError, match="Choose with --value: grade/f1"):
        list(InspectReader().read(mapped, None))
    with pytest.raises(InputError, match="'good' of grade is no number"):
        list(InspectReader().read(log_of_inspect(tmp_path / "a.json", ["good"]), None))
    log_of_inspect(tmp_path / "a.json", [1], created="2026-02-01", status="cancelled")
    log_of_inspect(tmp_path / "b.json", [0])
    (newest,) = InspectReader().read(tmp_path, None)
    assert newest.values.tolist() == [1.0]
    assert any("'cancelled'" in note for note in newest.notes)


# -- lm-evaluation-harness -------------------------------------------------------------------------


def test_samples_of_lm_eval_have_the_scores_that_it_reports() -> None:
    result = ranked(DATA / "lm-eval")
    for results in (DATA / "lm-eval").rglob("results_*.json"):
        document = json.loads(results.read_text())
        found = scores_of(result)[document["model_name"]]
        assert found == pytest.approx(document["results"]["sums"]["acc,none"])
    assert set(scores_of(result)) == {"ruled/small", "ruled/large"}
    assert result.metric == "mean acc"
    assert result.greater_is_better
    assert not any("assuming larger" in note for note in result.notes)
    other = ranked(DATA / "lm-eval", columns=CaseColumns(value="acc_norm"))
    assert other.metric == "mean acc_norm"


def test_filters_and_newer_runs_of_lm_eval(tmp_path: Path) -> None:
    def write(date: str, right: float, task: str = "gsm8k_cot") -> None:
        lines = [
            {"doc_id": number, "filter": name, "metrics": ["exact_match"], "exact_match": value}
            for number in range(3)
            for name, value in (("strict-match", 0.0), ("flexible-extract", right))
        ]
        file = tmp_path / "org__model" / f"samples_{task}_{date}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    write("2026-01-01T00-00-00.000001", 0.0)
    write("2026-01-02T00-00-00.000001", 1.0)
    (strict,) = LmEvalReader().read(tmp_path, None)
    assert records([strict])[0] == ("org__model", "gsm8k_cot", "0", 0.0)
    assert len(strict.values) == 3
    older, filters = sorted(strict.notes, reverse=True)[1], strict.notes[0]
    assert older.endswith("org__model/samples_gsm8k_cot_2026-01-01T00-00-00.000001.jsonl.")
    assert "of the filters strict-match, flexible-extract of the answers, strict-match" in filters
    (flexible,) = LmEvalReader().read(tmp_path, "exact_match,flexible-extract")
    assert not any("of the filters" in note for note in flexible.notes)
    assert flexible.values.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match="no value 'acc'; it has 'exact_match'"):
        list(LmEvalReader().read(tmp_path, "acc"))
    assert not any("count alike" in note for note in strict.notes)
    write("2026-01-02T00-00-00.000001", 1.0, task="arc")
    notes = [note for table in LmEvalReader().read(tmp_path, None) for note in table.notes]
    assert any("The questions of 2 tasks count alike" in note for note in notes)


# -- HELM and MTEB ---------------------------------------------------------------------------------


def helm_run(folder: Path, model: str, values: list[float]) -> None:
    def stat(name: str, value: float, **more: Any) -> dict[str, Any]:
        named = {"name": name, "split": "test", **more}
        return {"name": named, "count": 1, "sum": value, "sum_squared": value**2, "min": value,
                "max": value, "mean": value, "variance": 0.0, "stddev": 0.0}  # fmt: skip

    instances = [
        {
            "instance_id": f"id{position // 2}",
            "train_trial_index": position % 2,
            "stats": [stat("exact_match", value), stat("num_prompt_tokens", 40.0)],
        }
        for position, value in enumerate(values)
    ]
    robust = {"name": "robustness", "robustness": True, "fairness": False}
    instances.append(
        {
            "instance_id": "id0",
            "perturbation": robust,
            "train_trial_index": 0,
            "stats": [stat("exact_match", 0.0, perturbation=robust), stat("exact_match", 0.0)],
        }
    )
    run = folder / f"mmlu:subject=anatomy,model={model}"
    run.mkdir(parents=True)
    (run / "per_instance_stats.json").write_text(json.dumps(instances))
    spec = {"name": f"mmlu:subject=anatomy,model={model}", "adapter_spec": {"model": model}}
    (run / "run_spec.json").write_text(json.dumps(spec))


def test_runs_of_helm_are_models_on_instances(tmp_path: Path) -> None:
    helm_run(tmp_path, "org_one", [1.0, 0.0, 1.0, 1.0])
    helm_run(tmp_path, "org_two", [0.0, 0.0, 1.0, 0.0])
    with pytest.raises(InputError, match="Choose one with --value: 'exact_match', 'num_prompt"):
        list(HelmReader().read(tmp_path, None))
    columns = CaseColumns(value="exact_match")
    result = ranked(tmp_path, columns=columns, greater_is_better=True)
    assert scores_of(result) == {"org_one": 0.75, "org_two": 0.25}
    assert result.n_rows == 2
    (run, _) = sorted(tmp_path.iterdir())
    (run / "run_spec.json").unlink()
    assert next(iter(HelmReader().read(run, "exact_match"))).algorithms[0] == "org_one"


def result_of_mteb(folder: Path, task: str, splits: dict[str, list[float]]) -> Path:
    scores = {
        split: [
            {"main_score": value, "hf_subset": str(position), "languages": ["eng-Latn"]}
            for position, value in enumerate(values)
        ]
        for split, values in splits.items()
    }
    document = {
        "dataset_revision": "1",
        "task_name": task,
        "mteb_version": "2.26.24",
        "scores": scores,
        "evaluation_time": 1.0,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_meta.json").write_text(json.dumps({"name": f"org/{folder.parent.name}"}))
    (folder / f"{task}.json").write_text(json.dumps(document, indent=2))
    return folder / f"{task}.json"


def test_a_model_has_the_mean_over_tasks_as_in_mteb(tmp_path: Path) -> None:
    """Pooled subsets would say: small 0.7, large 0.6. By task it is 0.5 against 0.6."""
    for model, many, single in (("small", 0.8, 0.2), ("large", 0.6, 0.6)):
        folder = tmp_path / model / "abc123"
        result_of_mteb(folder, "Massive", {"test": [many] * 5, "validation": [0.1] * 5})
        result_of_mteb(folder, "STS12", {"test": [single]})
    (tmp_path / "summary.json").write_text("{}")
    (folder / "Old.json").write_text(json.dumps({"mteb_version": "1.1", "test": {"map": 0.5}}))
    result = ranked(tmp_path)
    assert scores_of(result) == pytest.approx({"org/small": 0.5, "org/large": 0.6})
    assert result.n_rows == 2
    notes = " ".join(result.notes)
    assert "no results of MTEB of version 1.12 or later: abc123/Old.json" in notes
    assert "summary.json" in notes
    assert "Massive: the mean over 5 subsets." in notes
    assert "the split test counts, not validation" in notes
    columns = CaseColumns(value="main_score,validation")
    with pytest.raises(InputError, match="no value 'validation'; it has 'test'"):
        ranked(tmp_path, columns=columns)
    with pytest.raises(InputError, match="no value 'map'; it has 'main_score'"):
        list(MtebReader().read(tmp_path, "map"))


def test_another_aggregate_than_the_mean_is_named(tmp_path: Path) -> None:
    shutil.copytree(DATA / "lm-eval", tmp_path / "runs")
    for results in tmp_path.rglob("results_*small*.json"):
        results.unlink()
    results = next((tmp_path / "runs" / "ruled__small").glob("results_*.json"))
    document = json.loads(results.read_text())
    document["results"]["sums"]["acc,none"] = 0.25
    results.write_text(json.dumps(document))
    (named,) = [note for note in ranked(tmp_path).notes if "reports acc 0.25" in note]
    assert "the board shows the mean" in named


# -- trec_eval -------------------------------------------------------------------------------------


def _printed(run: str, values: dict[str, tuple[float, float]], all_queries: float) -> str:
    """Return what ``trec_eval -q`` prints, whose columns are padded."""
    lines = [
        f"{measure:22}\t{query}\t{value:.4f}"
        for query, both in values.items()
        for measure, value in zip(("P_5", "map"), both, strict=True)
    ]
    lines += [f"{'runid':22}\tall\t{run}", f"{'map':22}\tall\t{all_queries:.4f}"]
    return "\n".join(lines) + "\n"


def test_output_of_trec_eval_is_ranked_by_query(tmp_path: Path) -> None:
    first = _printed("bm25", {"301": (0.2, 0.1), "302": (0.4, 0.3)}, 0.2)
    second = _printed("dense", {"301": (0.6, 0.5), "302": (0.8, 0.4)}, 0.4)
    (tmp_path / "both.txt").write_text(first + second)
    board = ranked(tmp_path)
    assert [(standing["team"], standing["score"]) for standing in board.standings] == [
        ("dense", pytest.approx(0.45)),
        ("bm25", pytest.approx(0.2)),
    ]
    notes = " ".join(board.notes)
    assert "The values are those of map (--value)." in notes
    assert "dense: trec_eval prints 0.4 for map of all queries, which is not the mean 0.45" in notes
    lines = (first + second).splitlines(keepends=True)
    (tmp_path / "both.txt").write_text("".join(reversed(lines)).replace("\t", " x "))
    with pytest.raises(InputError):
        list(TrecEvalReader().read(tmp_path / "both.txt", None))
    assert "bm25: trec_eval prints" not in notes
    (tmp_path / "both.txt").write_text(first + first.replace("bm25", "other"))
    by_precision = rank(tmp_path, columns=CaseColumns(value="P_5"), resamples=20)
    assert [standing["score"] for standing in by_precision.standings] == pytest.approx([0.3, 0.3])
    (tmp_path / "both.txt").write_text("map\tall\t0.5\n")
    with pytest.raises(InputError, match="call trec_eval with -q"):
        ranked(tmp_path)
    (tmp_path / "both.txt").write_text(first.replace("302", "301"))
    with pytest.raises(InputError, match="line 3, cannot be read: P_5 of 301 is printed twice"):
        ranked(tmp_path)


# -- all of them -----------------------------------------------------------------------------------


def test_a_format_is_recognised_only_by_its_own_reader(tmp_path: Path) -> None:
    helm_run(tmp_path / "helm", "m", [1.0])
    for name in ("inspect", "lm-eval"):
        shutil.copytree(DATA / name, tmp_path / name)
    (tmp_path / "table.csv").write_text("case,a\n1,2\n")
    for reader in provide_case_readers():
        assert isinstance(reader, CaseReader)
        for folder in tmp_path.iterdir():
            assert reader.recognises(folder) == (folder.name == reader.name)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="no reader found an evaluation.*helm, inspect, lm-eval"):
        ranked(empty)


@pytest.mark.parametrize("reader", provide_case_readers(), ids=lambda one: str(one.name))
def test_damaged_files_are_refused_in_a_sentence(reader: CaseReader, tmp_path: Path) -> None:
    names = {
        "grand-challenge": "metrics.json",
        "helm": "per_instance_stats.json",
        "inspect": "a.json",
        "lm-eval": "samples_a.jsonl",
        "mteb": "a.json",
        "nnunet": "summary.json",
        "trec-eval": "a.txt",
    }
    starts = {
        "inspect": '{"status": 1, "eval": ',
        "mteb": '{"task_name": 1, "scores": ',
        "nnunet": '{"foreground_mean": ',
        "trec-eval": "map\tq1\t",
    }
    file = tmp_path / names[reader.name]
    for text in (starts.get(reader.name, "") + "[", "[]", '{"status": "", "eval": {}}'):
        file.write_text(text)
        with pytest.raises(InputError):
            list(reader.read(file, None))


FORMS: dict[str, tuple[str, str | None, Any]] = {
    "grand-challenge": ("metrics.json", None, {"results": [{"case_id": "c", "dice": 0.5}]}),
    "helm": (
        "per_instance_stats.json",
        "em",
        [
            {
                "instance_id": "i",
                "train_trial_index": 0,
                "stats": [{"name": {"name": "em", "split": "test"}, "mean": 0.5}],
            }
        ],
    ),
    "inspect": (
        "a.json",
        None,
        {
            "status": "success",
            "eval": {"model": "m", "task": "t", "created": "2026"},
            "samples": [{"id": 1, "epoch": 1, "scores": {"acc": {"value": "C"}}}],
        },
    ),
    "lm-eval": ("samples_a.jsonl", None, {"doc_id": 1, "metrics": ["acc"], "acc": 1.0}),
    "mteb": (
        "a.json",
        None,
        {"task_name": "t", "scores": {"test": [{"main_score": 0.5, "hf_subset": "en"}]}},
    ),
    "nnunet": (
        "summary.json",
        None,
        {
            "foreground_mean": {"Dice": 0.5},
            "metric_per_case": [{"metrics": {"1": {"Dice": 0.5}}, "reference_file": "c.nii"}],
        },
    ),
}
"""A reader -> the name of a file that it reads, the value that is read, and its content."""
ANYTHING: tuple[Any, ...] = (
    None,
    1,
    0.5,
    True,
    "x",
    "",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    10**400,
    math.inf,
)


def changed(document: Any) -> Iterator[Any]:
    """Yield the document with each of its parts replaced by anything, or removed."""
    yield from ANYTHING
    parts = document if isinstance(document, dict) else dict(enumerate(document))
    for key, part in parts.items():
        whole = dict(parts)
        del whole[key]
        yield whole if isinstance(document, dict) else [*whole.values()]
        for other in changed(part) if isinstance(part, dict | list) else ANYTHING:
            whole = {**parts, key: other}
            yield whole if isinstance(document, dict) else [*whole.values()]


@pytest.mark.parametrize(
    "reader",
    [reader for reader in provide_case_readers() if reader.name in FORMS],
    ids=lambda one: str(one.name),
)
def test_a_file_of_another_form_is_read_or_refused(reader: CaseReader, tmp_path: Path) -> None:
    name, value, document = FORMS[reader.name]
    folder = tmp_path / "task:model=m"
    assert list(reader.read(write(folder / name, document).parent, value))
    for other in changed(document):
        write(folder / name, other)
        with contextlib.suppress(InputError):
            reader.recognises(folder)
            list(reader.read(folder, value))
    (folder / name).write_text("[" * 100_000)
    with pytest.raises(InputError):
        list(reader.read(folder / name, value))


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_a_log_of_inspect_without_samples_is_left_out_of_a_folder(tmp_path: Path) -> None:
    shutil.copytree(DATA / "inspect", tmp_path / "logs")
    full = scores_of(ranked(tmp_path / "logs"))
    log = {"version": 2, "status": "error", "eval": {"model": "late", "task": "new"}}
    alone = write(tmp_path / "logs" / "an.json", log)
    write(tmp_path / "logs" / "a.json", {"no": "log"})
    result = ranked(tmp_path / "logs")
    assert scores_of(result) == full
    assert "an.json has no samples and is left out." in result.notes
    with pytest.raises(InputError, match="no samples"):
        ranked(alone)
    write(tmp_path / "none" / "late.json", log)
    with pytest.raises(InputError, match="no log of Inspect has samples"):
        list(InspectReader().read(tmp_path / "none", None))


def summary(folder: str, dice: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return a summary as nnU-Net 2 writes it."""
    return {
        "foreground_mean": {"Dice": 0.5, "FN": 1.0},
        "mean": {"1": {"Dice": 0.5}},
        "metric_per_case": [
            {
                "metrics": {
                    label: {"Dice": found, "FN": 3, "IoU": found / (2 - found), "n_ref": 8}
                    for label, found in labels.items()
                },
                "prediction_file": f"/results/{folder}/{case}.nii.gz",
                "reference_file": f"/raw/labelsTr/{case}.nii.gz",
            }
            for case, labels in dice.items()
        ],
    }


def test_nnunet_evaluations_of_several_models_folds_and_labels(tmp_path: Path) -> None:
    model = "nnUNetTrainer__nnUNetPlans__2d"
    values = {"a": {"1": 0.5, "2": 0.75}, "b": {"1": 1.0, "2": 0.25}}
    for fold, case in enumerate("ab"):
        folder = tmp_path / model / f"fold_{fold}" / "validation"
        write(folder / "summary.json", summary(model, {case: values[case]}))
    lower = {case: dict.fromkeys(labels, 0.1) for case, labels in values.items()}
    write(tmp_path / "other" / "summary.json", summary("other", lower))
    result = ranked(tmp_path)
    assert scores_of(result) == {model: pytest.approx(0.625), "other": pytest.approx(0.1)}
    (first, *_) = NnUNetReader().read(tmp_path / model, None)
    assert (list(first.cases), list(first.tasks)) == (["a", "a"], ["label 1", "label 2"])
    assert list(first.clusters) == ["a", "a"]
    (iou, *_) = NnUNetReader().read(tmp_path / model, "IoU")
    assert iou.values.tolist() == pytest.approx([1 / 3, 0.6])
    with pytest.raises(InputError, match="it has 'Dice', 'IoU'"):
        list(NnUNetReader().read(tmp_path / model, "HD95"))


def test_nnunet_version_1_and_labels_that_are_absent(tmp_path: Path) -> None:
    case = {
        "0": {"Dice": 0.99},
        "1": {"Dice": float("nan")},
        "reference": "C:\\raw\\liver_1.nii.gz",
        "test": "x",
    }
    file = write(tmp_path / "m" / "summary.json", {"results": {"all": [case], "mean": {}}})
    (read,) = NnUNetReader().read(file, None)
    assert (read.algorithms, read.cases, read.tasks) == (["m"], ("liver_1",), None)
    assert np.isnan(read.values).all()
    assert "--missing 1" in read.notes[0]


def test_grand_challenge_pairs_cases_by_name_not_by_order(tmp_path: Path) -> None:
    """Each algorithm has its own order: paired by position the differences would be wrong."""
    values = {"a.mha": 0.5, "b.mha": 0.75, "c.mha": 1.0}
    columns: dict[str, Any] = {
        "dice": dict(enumerate(values.values())),
        "gt_fname": dict(enumerate(f"/gt/{name}" for name in values)),
    }
    write(tmp_path / "unet" / "output" / "metrics.json", {"case": columns, "aggregates": {}})
    rows = [{"dice": found / 2, "id": name} for name, found in reversed(values.items())]
    write(tmp_path / "forest" / "metrics.json", {"results": rows, "aggregates": {"dice": 0.4}})
    result = ranked(tmp_path, greater_is_better=True)
    assert scores_of(result) == {"unet": 0.75, "forest": 0.375}
    parts = list(GrandChallengeReader().read(tmp_path, None))
    pairs = {part.algorithms[0]: dict(zip(part.cases, part.values, strict=True)) for part in parts}
    assert pairs["unet"] == values
    assert pairs["forest"] == {name: found / 2 for name, found in values.items()}


@pytest.mark.parametrize(
    "document",
    [
        {"case": {"Dice": {"0": 0.5, "1": 0.25}, "id": {"0": "a", "1": "b"}}},
        {"results": [{"id": "b", "Dice": 0.25}, {"id": "a", "Dice": 0.5}], "aggregates": {"x": 1}},
        {"results": {"a": {"Dice": 0.5}, "b": {"Dice": 0.25}}},
        {"cases": [{"case": "a", "all": {"Dice": 0.5}}, {"case": "b", "all": {"Dice": 0.25}}]},
        {"per_case": {"a": {"all": {"Dice": 0.5}}, "b": {"all": {"Dice": 0.25}}}},
    ],
)  # fmt: skip
def test_grand_challenge_has_several_forms(tmp_path: Path, document: Any) -> None:
    (tmp_path / "unet").mkdir()
    path = tmp_path / "unet" / "metrics.json"
    path.write_text(json.dumps(document))
    reader = GrandChallengeReader()
    assert reader.recognises(path)
    (found,) = reader.read(path, None)
    assert found.metric in ("Dice", "all.Dice")
    assert dict(zip(found.cases, found.values, strict=True)) == {"a": 0.5, "b": 0.25}


def test_grand_challenge_refuses_what_it_cannot_pair_or_choose(tmp_path: Path) -> None:
    file = write(tmp_path / "metrics.json", {"results": [{"dice": 0.5}, {"dice": 0.5}]})
    with pytest.raises(InputError, match="the cases have no names"):
        list(GrandChallengeReader().read(file, None))
    write(file, {"results": [{"dice": 0.5, "hd": 3, "case": "a"}]})
    with pytest.raises(InputError, match="Choose with --value: dice, hd"):
        list(GrandChallengeReader().read(file, None))
    (read,) = GrandChallengeReader().read(file, "hd")
    assert read.values.tolist() == [3.0]
    write(file, {"dice": 0.5})
    assert not GrandChallengeReader().recognises(file)
    file.write_text("{")
    assert not GrandChallengeReader().recognises(file)
    assert grand_challenge.read_document(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("reader", "n_tried", "other_name"),
    [
        (GrandChallengeReader(), 3, "metrics.json"),
        (InspectReader(), 20, "other.json"),
        (MtebReader(), 20, "other.json"),
        (NnUNetReader(), 20, "other.json"),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_the_first_files_of_a_folder_tell_its_format(
    reader: CaseReader, n_tried: int, other_name: str, tmp_path: Path
) -> None:
    name, _, document = FORMS[reader.name]
    write(tmp_path / "z" / name, document)
    for number in range(n_tried):
        assert reader.recognises(tmp_path)
        write(tmp_path / f"a{number:02}" / other_name, {})
    assert not reader.recognises(tmp_path)


def test_larger_files_are_not_read_to_recognise_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value, document = FORMS["grand-challenge"]
    file = write(tmp_path / "unet" / name, document)
    set_size(monkeypatch, 2**27)  # 128 MiB
    assert GrandChallengeReader().recognises(file)
    set_size(monkeypatch, 2**27 + 1)
    assert not GrandChallengeReader().recognises(file)
    assert list(GrandChallengeReader().read(file, value))


@pytest.mark.parametrize("bytes_above", [0, 1])
def test_an_archive_of_inspect_unpacks_to_at_most_two_gibibytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_above: int
) -> None:
    file, listed = tmp_path / "a.eval", zipfile.ZipFile.infolist
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m", "task": "t"}}))
        archive.writestr("summaries.json", json.dumps([{"id": 1, "scores": {"a": {"value": 1}}}]))

    def with_a_large_one(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        members, large = listed(archive), zipfile.ZipInfo("large")
        large.file_size = 2**31 - sum(member.file_size for member in members) + bytes_above
        return [*members, large]

    monkeypatch.setattr(zipfile.ZipFile, "infolist", with_a_large_one)
    if bytes_above:
        with pytest.raises(InputError, match=r"a\.eval cannot be read: .* more than 2 GiB"):
            list(InspectReader().read(file, None))
    else:
        assert [part.values.tolist() for part in InspectReader().read(file, None)] == [[1.0]]


def test_long_texts_and_lists_of_a_file_are_cut_in_the_sentence_that_refuses_it(
    tmp_path: Path,
) -> None:
    log = log_of_inspect(tmp_path / "a.json", ["x" * 39 + "yz"])
    with pytest.raises(InputError, match="the value 'x{39}y' of grade is no number"):
        list(InspectReader().read(log, None))
    stats = [
        {"name": {"name": f"s{number:02}", "split": "test"}, "mean": 1} for number in range(21)
    ]
    for n_stats, end in ((20, r"'s18', 's19'\."), (21, r"'s18', 's19' and 1 more\.")):
        write(
            tmp_path / "task:model=m" / "per_instance_stats.json",
            [{"instance_id": "i", "stats": stats[:n_stats]}],
        )
        with pytest.raises(InputError, match=f"{end}$"):
            list(HelmReader().read(tmp_path, None))


def test_the_start_of_a_file_is_its_first_four_kibibytes(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for position, is_log in ((4_090, True), (4_091, False)):
        file.write_text('{"status": 1,'.ljust(position) + '"eval": {}}')  # of six characters
        assert InspectReader().recognises(file) is is_log


def test_what_a_reader_finds_nothing_in_is_refused(tmp_path: Path) -> None:
    log = {"status": "success", "eval": {"model": "m", "task": "t"}}
    samples = [{"id": 1, "scores": {"a": {"value": 1}}}, {"id": 2, "scores": {"b": {"value": 1}}}]
    inspect = write(tmp_path / "log.json", {**log, "samples": samples})
    archive, no_archive = tmp_path / "a.eval", tmp_path / "b.eval"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("summaries.json", "[]")
    no_archive.write_bytes(b"PK\x03\x04")
    empty = tmp_path / "empty"
    empty.mkdir()
    sample = write(tmp_path / "samples_a.jsonl", FORMS["lm-eval"][2])
    trec = tmp_path / "trec.txt"
    trec.write_text("map\tq1\t0.5\n\nmap q2\n")
    readers = {reader.name: reader for reader in provide_case_readers()}
    for reader, path, value, sentence in (
        ("lm-eval", empty, None, f"{empty} cannot be read: there is no file samples_*.jsonl"),
        (
            "lm-eval", sample, "acc,strict",
            f"{sample} cannot be read: it holds no sample with the filter 'strict'",
        ),
        ("helm", empty, None, f"{empty} cannot be read: there is no file per_instance_stats.json"),
        ("inspect", archive, None, f"{archive} cannot be read: the archive has no header.json"),
        ("inspect", no_archive, None, f"{no_archive} cannot be read: File is not a zip file"),
        (
            "inspect", inspect, "a",
            f"{inspect}, sample 2, has no value 'a'; it has 'b'. Choose with --value",
        ),
        (
            "trec-eval", trec, None,
            f"{trec}, line 3, cannot be read: it is no measure, query and value",
        ),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            list(readers[reader].read(path, value))
        assert str(refused.value) == f"{sentence}."


def test_a_sample_of_inspect_that_failed_has_no_score(tmp_path: Path) -> None:
    samples = [
        {"id": 1, "scores": {"a": {"value": "Yes"}, "b": {"value": 0.5}}},
        {"id": 2, "scores": {"b": {"value": "true"}}, "error": {"message": "timeout"}},
        {"id": 3, "scores": {"a": {"value": None}}},
        {"id": 4, "scores": {}},
        {"id": 5, "scores": {"a": {"value": "False"}}, "epoch": 2},
        {"id": 6, "scores": {"a": {"value": "true"}}},
        {"id": 7, "scores": {"a": {"value": " NO "}}},
    ]
    log = {"status": "success", "eval": {"model": "m", "task": "t"}, "samples": samples}
    (scores,) = InspectReader().read(write(tmp_path / "a.json", log), None)
    np.testing.assert_equal(scores.values, [1.0, np.nan, np.nan, np.nan, 0.0, 1.0, 0.0])
    assert scores.repeats == ["1", "1", "1", "1", "2", "1", "1"]
    assert scores.metric == "a"


@pytest.mark.parametrize(
    ("value", "reported", "is_noted"),
    [(1.0, 1 + 0.9e-9, False), (1.0, 1 + 1.1e-9, True), (0.0, 1e-10, True), (1.0, None, False)],
)
def test_another_figure_than_the_mean_of_lm_eval_is_told_beyond_its_ninth_digit(
    tmp_path: Path, value: float, reported: float | None, is_noted: bool
) -> None:
    document = {"doc_id": 1, "metrics": ["acc"], "acc": value}
    write(tmp_path / "m" / "samples_t_2026-01-01T00-00-00.0.jsonl", document)
    results = {"results": {"t": {"acc,none": reported}}}
    write(tmp_path / "m" / "results_2026-01-01T00-00-00.0.json", results)
    (scores,) = LmEvalReader().read(tmp_path, None)
    assert any("reports acc" in note for note in scores.notes) is is_noted


def test_without_a_test_split_all_splits_of_mteb_count(tmp_path: Path) -> None:
    folder = tmp_path / "model" / "revision"
    file = result_of_mteb(folder, "T", {"dev": [0.5], "train": [0.25, 0.75]})
    (scores,) = MtebReader().read(file, None)
    assert scores.values.tolist() == [0.5]  # the mean of 0.5, 0.25 and 0.75
    assert scores.notes[0] == "T: the mean over the splits dev, train and their subsets."
    (folder / "model_meta.json").unlink()
    (scores,) = MtebReader().read(file, "main_score,train")
    assert (scores.values.tolist(), scores.algorithms) == ([0.5], ["model"])
    assert scores.greater_is_better


def test_a_model_of_nnunet_is_the_folder_above_those_of_its_folds() -> None:
    for path, model in (
        ("/results/model/fold_0/validation/summary.json", "model"),
        ("/fold_1/summary.json", "summary"),
    ):
        assert nnunet.model_folder_name(Path(path)) == model
