"""Other people's metrics, each called as their own platform calls them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn.metrics as skm

from arena.errors import ArenaError, ScoringError, UsageError
from arena.interfaces import (
    Metric,
    MetricFamily,
    NeedsRowContext,
    PlainTable,
    PreparesSubmissions,
)
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind, RowContext
from arena_metrics.forecasts import SeveralNumbers
from arena_metrics.foreign import family as families
from arena_metrics.foreign.frames import Frames, as_frame
from arena_metrics.foreign.lines import Lines
from arena_metrics.foreign.mlebench import MLEBENCH
from arena_metrics.foreign.source import Source
from arena_metrics.modalities import ROW_SETS, WHOLE_FILE
from kept import check_kept
from refusals import refusal_of

FOLDER = Path(__file__).parents[1] / "support" / "foreign_metrics"
N_ROWS = 60
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N_ROWS)
SENT = np.round(RNG.random(N_ROWS), 3)
COUNTS = RNG.poisson(1.0, N_ROWS).astype(np.uint8)
DRAWN = np.repeat(np.arange(N_ROWS), COUNTS)


@pytest.fixture(scope="module")
def metrics() -> Any:
    return PluginManager().metrics


def text(values: Any) -> Any:
    return np.array([str(value) for value in values], dtype=object)


def context(ids: Any = None, **more: Any) -> RowContext:
    names = [f"r{row}" for row in range(N_ROWS)] if ids is None else ids
    return RowContext("id", pa.array(names, pa.string()), ("y",), ("y",), **more)


def mae(rows: Any = slice(None)) -> float:
    return float(np.abs(TRUTH[rows] - SENT[rows]).mean())


def fbeta(rows: Any = slice(None)) -> float:
    return float(skm.fbeta_score(TRUTH[rows], SENT[rows] > 0.5, beta=2.0))


TABLES = {
    "kaggle:kaggle_fbeta.py(beta=2)": fbeta,
    "hf:hf_metric.py(value=mae)": mae,
    "evalai:evalai_metric.py(split=test_split, value=mae)": mae,
    "mlebench:mle_grade:grade": mae,
    "mlebench:mle_grade.py:grade": mae,
}


@pytest.mark.few(3)
@pytest.mark.parametrize("ids", ["text", "numbers", "hostile"])
@pytest.mark.parametrize("asked", TABLES)
def test_a_metric_of_tables_is_called_as_at_home(
    metrics: Any, asked: str, ids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    names = {
        "text": [f"r{row}" for row in range(N_ROWS)],
        "numbers": [str(3 * row) for row in range(N_ROWS)],
        "hostile": ["7", "007", "a#2", "a", "é,\n\"'", *(f"x{r}" for r in range(5, N_ROWS))],
    }[ids]
    if ids == "hostile" and asked.startswith("evalai"):
        names[4] = "é"  # its file is read line by line
    metric = metrics.resolve(asked).for_rows(context(names))
    assert isinstance(metric, Metric)
    assert isinstance(metric, NeedsRowContext)
    assert isinstance(metric, PreparesSubmissions)
    assert metric.prediction is PredictionKind.TEXT
    assert metric.greater_is_better
    scorer = metric.prepare(text(TRUTH), text(SENT))
    again = pickle.loads(pickle.dumps(scorer))  # noqa: S301 - as it goes to a process
    assert again(np.ones(N_ROWS, np.uint8)) == pytest.approx(TABLES[asked](), rel=1e-12)
    assert again(COUNTS) == pytest.approx(TABLES[asked](DRAWN), rel=1e-12)
    assert metric.score(text(TRUTH), text(SENT), COUNTS) == again(COUNTS)


def test_a_draw_is_of_copies_with_ids_of_their_own() -> None:
    for names in ([f"r{row}" for row in range(N_ROWS)], [str(row) for row in range(N_ROWS)]):
        frames = Frames.of(context(names), text(TRUTH), text(SENT))
        solution, submission = frames.draw(COUNTS)
        assert solution["id"].is_unique
        assert solution["id"].equals(submission["id"])
        assert solution["id"].dtype == pd.Series(pd.read_csv(_csv(names))["id"]).dtype
        first = np.r_[True, np.diff(DRAWN) > 0]
        assert solution["id"][first].astype(str).tolist() == [names[row] for row in DRAWN[first]]
        np.testing.assert_array_equal(submission["y"], SENT[DRAWN])
        solution.loc[:, "y"] = 9
        assert (frames.draw(COUNTS)[0]["y"] == TRUTH[DRAWN]).all()
        whole, _ = frames.draw(np.ones(N_ROWS, np.uint8))
        assert whole["id"].astype(str).tolist() == names
        whole["id"] = 0
        assert frames.draw(np.ones(N_ROWS, np.uint8))[0]["id"].nunique() == N_ROWS


@pytest.mark.parametrize("n_more", [0, 20])
@pytest.mark.parametrize("ids", ["r{}", "{}"])
def test_a_draw_has_the_columns_and_dtypes_of_the_frames(n_more: int, ids: str) -> None:
    names = [ids.format(row) for row in range(N_ROWS)]
    kinds = {
        "int": text(TRUTH),
        "float": text(SENT),
        "str": text(["é", "b"] * 30),
        "bool": text(TRUTH == 1),
        "missing": text([*["True"] * (N_ROWS - 1), ""]),  # truths, and a NaN in the last row
        "id": text(SENT),  # left out: the ids have its name
    }
    kinds |= {f"more {number}": text(SENT) for number in range(n_more)}
    of_submission = {key: kinds[key] for key in ("float", "int", "str", *list(kinds)[6:])}
    row_context = RowContext("id", pa.array(names, pa.string()), tuple(kinds), tuple(of_submission))
    frames = Frames.of(
        row_context,
        np.stack([*kinds.values()], axis=1),
        np.stack([*of_submission.values()], axis=1),
    )
    some = COUNTS.copy()
    some[-1] = 0
    for counts in (COUNTS, some):
        rows = np.repeat(np.arange(N_ROWS), counts)
        for drawn_frame, whole in zip(
            frames.draw(counts), (frames.solution, frames.submission), strict=True
        ):
            expected = whole.iloc[rows].reset_index(drop=True)
            pd.testing.assert_frame_equal(drawn_frame.iloc[:, 1:], expected.iloc[:, 1:])
            assert drawn_frame.columns.equals(whole.columns)
            assert drawn_frame.iloc[:, 0].dtype == whole.iloc[:, 0].dtype
            assert drawn_frame.iloc[:, 0].is_unique


@pytest.mark.parametrize("ids", ["r{}", "{}"])
def test_the_frames_of_a_draw_share_nothing(ids: str) -> None:
    frames = Frames.of(context([ids.format(row) for row in range(N_ROWS)]), text(TRUTH), text(SENT))
    solution, submission = frames.draw(COUNTS)
    before = submission.copy(deep=True)
    solution.iloc[:, :] = solution.iloc[::-1].to_numpy()
    solution.loc[0, "id"] = solution.loc[1, "id"]
    pd.testing.assert_frame_equal(submission, before)
    again, _ = frames.draw(COUNTS)
    assert again["id"].is_unique
    assert again["y"].tolist() == TRUTH[DRAWN].tolist()


def _csv(names: list[str]) -> Any:
    import io

    return io.StringIO("id\n" + "\n".join(names))


def test_columns_are_inferred_as_read_csv_infers_them() -> None:
    columns = [["1", "2"], ["1.5", ""], ["a,b", 'say "x"\n'], ["True", "False"], ["NA", "3"]]
    read = as_frame(list("abcde"), columns)
    direct = pd.read_csv(_table(columns))
    pd.testing.assert_frame_equal(read, direct)
    assert as_frame(["a"], [[]]).shape == (0, 1)
    assert as_frame(["a"], [["", "1"]])["a"].isna().tolist() == [True, False]


def _table(columns: list[list[str]]) -> Any:
    import csv
    import io

    out = io.StringIO()
    csv.writer(out).writerows([list("abcde"), *zip(*columns, strict=True)])
    out.seek(0)
    return out


@pytest.mark.parametrize(
    ("asked", "sent", "kind", "shown"),
    [
        ("kaggle:kaggle_fbeta.py", "x", "refused by the metric", "y must be a number [31min every"),
        ("kaggle:kaggle_fbeta.py", "2", "metric failed", "for the organiser to look into"),
        ("mlebench:mle_grade:grade", "-101", "refused by the metric", "below -100 make no sense."),
        ("mlebench:mle_grade:grade", "x", "metric failed", "for the organiser to look into"),
    ],
)
def test_what_is_for_the_team_is_told_from_what_is_not(
    metrics: Any, asked: str, sent: str, kind: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    metric = metrics.resolve(asked).for_rows(context())
    prediction = text(SENT)
    prediction[5] = sent
    with pytest.raises(ScoringError) as refused:
        metric.score(text(TRUTH), prediction)
    error = pickle.loads(pickle.dumps(refused.value))  # noqa: S301
    assert error.kind == kind
    assert shown in error.shown
    assert len(error.shown) <= 280
    assert "secret" not in str(error)
    assert "secret" not in error.shown
    if kind == "metric failed":
        assert f"{Path(asked.split(':')[1]).stem}.py, line " in str(error)
        assert any("Traceback" in note for note in error.__notes__)


def test_a_plain_function_gets_arrays(metrics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    metric = metrics.resolve("plain:mae")
    assert metric.prediction is PredictionKind.VALUE
    assert not metric.greater_is_better
    assert "smaller is better, as its greater_is_better says" in metric.notes[0]
    assert metric.score(TRUTH, SENT) == pytest.approx(mae(), rel=1e-12)
    assert metric.score(TRUTH, SENT, COUNTS) == pytest.approx(mae(DRAWN), rel=1e-12)
    halves = metric.score(TRUTH, SENT, COUNTS / 2)
    assert halves == pytest.approx(mae(DRAWN), rel=1e-12)
    labels = metrics.resolve("plain:share_of_cats").for_rows(context(classes=("cat", "dog")))
    cats = ((TRUTH == 0) & (SENT > 0.5)).mean()
    assert labels.score(TRUTH, (SENT <= 0.5).astype(np.intp)) == pytest.approx(cats)
    with pytest.raises(UsageError, match="takes no weights"):
        labels.score(TRUTH, TRUTH, COUNTS / 2)
    probability = metrics.resolve("plain:mae(prediction=probability, lower_is_better=False)")
    assert probability.prediction is PredictionKind.PROBABILITY
    assert probability.greater_is_better
    with pytest.raises(ScoringError, match="returned a NoneType, not a number"):
        metrics.resolve("plain:nothing").score(TRUTH, SENT)


REFUSED = (
    "kaggle:missing.py",
    "kagle:kaggle_fbeta.py",
    "kaggle_fbeta.py",
    "kaggle:plain.py",
    "plain:maee",
    "nowhere.at.all:f",
    "plain:",
    "mlebench:mle_grade",
    *(
        f"kaggle:kaggle_fbeta.py({option})"
        for option in (
            *("bta=1", "solution=1", "time_limit=0", "time_limit=true", "time_limit=one"),
            *("memory_limit=0", "memory_limit=true", "lower_is_better=2", "network=2", "rows=all"),
        )
    ),
    "plain:mae(sample_weight=1)",
    "plain:mae(prediction=text)",
    "plain:mae(rows=any)",
    "hf:hf_metric.py(f1=1)",
    "mlebench:mle_grade:grade(answers=1)",
    "evalai:evalai_metric.py(format=xml)",
)


def test_what_cannot_be_asked_for_is_said_at_once(
    metrics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    sentences = {name: refusal_of(ArenaError, metrics.resolve, name) for name in REFUSED}
    text = json.dumps(sentences, indent=0).replace(str(FOLDER), "FOLDER")
    check_kept("foreign-metrics-refused.json", f"{text}\n")
    for option in ("time_limit=1e-9", "memory_limit=1e-9", "lower_is_better=false", "rows=any"):
        assert metrics.resolve(f"kaggle:kaggle_fbeta.py({option})").name == "kaggle:kaggle_fbeta.py"


def test_the_form_of_a_submission_follows_from_the_options(
    metrics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    for specification, modality in {
        "kaggle:kaggle_fbeta.py": PlainTable(empty_cells=True),
        "kaggle:kaggle_fbeta.py(rows=any)": ROW_SETS,
        "plain:mae": PlainTable(empty_cells=False),
        "evalai:evalai_metric.py(format=raw)": WHOLE_FILE,
    }.items():
        assert metrics.resolve(specification).modality == modality
    assert (ROW_SETS.most_rows, SeveralNumbers().most_rows) == (10_000, 10_000)


def test_a_metric_has_half_of_the_memory_if_that_is_known(
    metrics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    pages = {"SC_PHYS_PAGES": 3 * 2**20, "SC_PAGE_SIZE": 4_096}  # 12 GB, of which half are 6,144 MB
    for answer, limit in (
        (pages.__getitem__, 6_144),
        (mock.Mock(side_effect=OSError), None),
        (mock.Mock(side_effect=ValueError), None),
        (mock.Mock(side_effect=AttributeError), None),  # as where there is no sysconf
    ):
        monkeypatch.setattr("os.sysconf", answer)
        assert metrics.resolve("kaggle:kaggle_fbeta.py", fresh=True).traits.memory_limit == limit


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def score(:", "line 1, is not valid Python"),
        ("import no_such_thing\ndef score(a, b, c): pass", "No module named 'no_such_thing'"),
        ("raise SystemExit(3)\ndef score(a, b, c): pass", "fails when it is imported: SystemExit"),
    ],
)
def test_a_broken_file_is_named_before_anything_is_stored(
    metrics: Any, tmp_path: Path, code: str, said: str
) -> None:
    path = tmp_path / "my metric (2).py"
    path.write_text(code)
    with pytest.raises(ArenaError, match=said):
        metrics.settled(f"kaggle:{path}(time_limit=9)")


def test_of_several_values_one_is_to_be_chosen(
    metrics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    for metric_name, message in {
        "hf:hf_metric.py": "returns several values: mae, hits",
        "hf:hf_metric.py(value=f1)": "returns no value 'f1'; it returns: mae, hits",
        "evalai:evalai_metric.py": "returns several splits: train_split, test_split",
        "evalai:evalai_metric.py(phase=dev)": "list of splits",
    }.items():
        metric = metrics.resolve(metric_name).for_rows(context())
        with pytest.raises(ScoringError, match=message):
            metric.score(text(TRUTH), text(SENT))


@pytest.mark.slow
def test_a_settled_metric_means_the_same_everywhere(
    metrics: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    settled = {
        metric_name: metrics.settled(metric_name)
        for metric_name in (
            "kaggle:kaggle_fbeta.py(beta=2)",
            "plain:mae",
            "mlebench:mle_grade.py:grade",
        )
    }
    assert metrics.settled("roc_auc") == "roc_auc"
    assert metrics.settled("sklearn.metrics:max_error") == "sklearn.metrics:max_error"
    monkeypatch.chdir(tmp_path)
    for metric_name, everywhere in settled.items():
        assert str(FOLDER) in everywhere
        if ".py" in metric_name:  # a module that was imported before is still found by its name
            with pytest.raises(ArenaError, match="there is no such file"):
                metrics.resolve(metric_name)
        metrics.resolve(everywhere)
    plain = metrics.resolve(settled["plain:mae"])
    assert plain.score(TRUTH, SENT) == pytest.approx(mae(), rel=1e-12)


def test_a_settled_metric_is_named_from_the_home_of_its_competition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "_try_import", lambda metric: None)
    home = tmp_path / "c"
    (home / "code").mkdir(parents=True)
    for folder in (home / "code", tmp_path):
        (folder / "own.py").write_text(
            "def score(a, b, c): pass\ndef agreement(y_true, y_pred): pass\n"
        )
    (home / "competition.yaml").write_text("tasks: [{scoring_program: code}]")
    (home / "code" / "metadata").write_text("command: python3 own.py")
    monkeypatch.chdir(tmp_path)
    for specification, parameters, kept_specification in (
        ("kaggle:c/code/own.py", {"time_limit": 9}, "kaggle:code/own.py(time_limit=9)"),
        ("kaggle:own.py", {}, f"kaggle:{tmp_path}/own.py"),
        (":c/code/own.py:agreement", {}, "code/own.py:agreement"),
        (":c/code/own.py:agreement", {"folder": "c"}, "code/own.py:agreement(folder='.')"),
        (":own:agreement", {"folder": "c/code"}, "own:agreement(folder=code)"),
        (":own:agreement", {}, f"own:agreement(folder='{tmp_path}')"),
        ("codabench:c", {}, "codabench:."),
    ):
        prefix, _, rest = specification.partition(":")
        family = families.family_of(prefix).within(home)
        assert family.settle(rest, parameters) == kept_specification


def test_code_runs_as_it_is_written_and_its_last_line_is_named(tmp_path: Path) -> None:
    """Annotations stay what they are, although arena's own modules keep them as texts."""
    path = tmp_path / "metric.py"
    path.write_text(
        "def score(a: int, b, c):\n"
        "    assert score.__annotations__ == {'a': int}\n"
        "    return divided(1.0, len(a) - 3)\n\n"
        "def divided(one, other):\n"
        "    return one / other\n"
    )
    metric: Any = PluginManager().metrics.resolve(f"kaggle:{path}")
    assert metric.score(text([0] * 5), text([0] * 5)) == 0.5
    with pytest.raises(ScoringError) as refused:
        metric.score(text([0] * 3), text([0] * 3))
    assert str(refused.value) == (
        f"kaggle:metric.py failed with ZeroDivisionError at {path}, line 6; --verbose shows the "
        "traceback."
    )


def test_kept_code_outlives_its_file(tmp_path: Path) -> None:
    metrics: Any = PluginManager().metrics
    path = tmp_path / "metric.py"
    path.write_text("def score(solution, submission, row_id_column_name):\n    return 1.0\n")
    metric_name = f"kaggle:{path}"
    metrics.pin(metric_name, metrics.resolve(metric_name).source_text)
    path.write_text("def score(solution, submission, row_id_column_name):\n    return 2.0\n")
    assert metrics.resolve(metric_name).score(text(TRUTH), text(SENT)) == 1.0
    assert metrics.resolve(metric_name, fresh=True).score(text(TRUTH), text(SENT)) == 2.0
    path.unlink()
    assert metrics.resolve(metric_name).score(text(TRUTH), text(SENT)) == 1.0


def test_the_families_say_in_a_line_what_they_are(metrics: Any) -> None:
    families = [entry.item for entry in metrics.families]
    assert all(isinstance(family, MetricFamily) for family in families)
    forms = {family.form for family in families if hasattr(family, "form")}
    assert forms == {
        *("kaggle:FILE.py", "hf:FILE.py", "evalai:FILE.py", "codabench:BUNDLE"),
        *("mlebench:module:function", "module:function"),
    }


@pytest.mark.few(4)
@pytest.mark.parametrize("ids", ["r{}", "{}", "{}.5", '"{},\n#'])
@pytest.mark.parametrize("form", [(), (" ", False, True), ("\t", True, True), (",", False, False)])
@pytest.mark.parametrize("parts", [(), ("public", "private")])
def test_joined_lines_are_those_of_a_frame(
    ids: str, form: tuple[Any, ...], parts: tuple[str, ...], tmp_path: Path
) -> None:
    cells = ['q"x', "c,d", "l\nm", "", " é\t", "1e5"]
    values = np.stack([text(SENT), text(cells[row % 6] for row in range(N_ROWS))], axis=1)
    values[::7, 0] = ""
    names = pa.array([ids.format(row) for row in range(N_ROWS)], pa.string())
    frames = Frames.of(RowContext("id", names, ("y", "split"), ("y", "x")), values, values[::-1])
    lines = Lines(frames, *form, parts=parts)
    paths = tmp_path / "truth.csv", tmp_path / "sent.csv"
    separator, header, with_ids = form or (",", True, True)
    for weight in (COUNTS, 5 * COUNTS, np.minimum(COUNTS, 1), np.ones(N_ROWS, np.uint8)):
        lines.write(weight, paths)
        solution, submission = frames.draw(weight)
        if parts:
            solution["split"] = np.resize(parts, len(solution))
        for frame, path in zip((solution, submission), paths, strict=True):
            expected_frame = frame if with_ids else frame.iloc[:, 1:]
            expected_frame.to_csv(tmp_path / "expected", index=False, sep=separator, header=header)
            assert path.read_bytes() == (tmp_path / "expected").read_bytes()


def test_mle_bench_tells_the_direction_from_its_leaderboard_if_there_is_one(tmp_path: Path) -> None:
    def told(path: Path | None) -> tuple[bool | None, str]:
        assert MLEBENCH.direction is not None
        return MLEBENCH.direction(Source("grade", tmp_path, path, ""), {})

    code, board = tmp_path / "grade.py", tmp_path / "leaderboard.csv"
    assert told(None) == told(code) == (None, "")
    for scores, greater in (
        ("0.9\n0.5\n0.1", True), ("0.1\n0.9", False), ("0.5", True), ('0.1\n0.9\n""', False),
    ):  # fmt: skip
        board.write_text(f"score\n{scores}\n")
        assert told(code) == (greater, "its leaderboard.csv")
    for content in (
        b"version https://git-lfs.github.com/spec/v1\nx\n",
        b"",
        b"score\n",
        b"score\nx\n",
    ):
        board.write_bytes(content)
        assert told(code) == (
            None, "its leaderboard.csv cannot be read; is it a Git LFS pointer?"
        )  # fmt: skip
