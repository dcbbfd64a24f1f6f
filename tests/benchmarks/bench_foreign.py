"""What a call costs of metrics that can only be called as a whole, over a bare loop's cost a call.

30 submissions x 10,000 rows x 1,000 resamples are scored by arena, in worker processes with their
limits, and the processor time of all processes is divided by the calls. It includes the start of
the workers. The peer is a loop, as one would write it by hand: it draws the rows of each resample
(for metrics of tables those of two data frames, which get a prepared column of new ids, and are
written as CSV if the metric reads files) and calls the same function directly. Its scores must be
arena's. It makes some of the calls before and after arena, in as many processes, and the lesser
time counts. Each metric has a process of its own, twice.

Last, the calls of a Kaggle metric that writes each of them into a file are counted while
``arena score`` and ``arena finalize`` run without intervals.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import io
import json
import multiprocessing
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights
from arena.plugin.manager import PluginManager
from arena.types import RowContext
from arena.utils.parallel import available_workers
from arena.utils.processes import descendants

FOLDER = Path(__file__).parents[1] / "support" / "foreign_metrics"
ROWS, SUBMISSIONS, RESAMPLES = 10_000, 30, 1_000
BY_HAND = 3
"""The loop scores so many of the submissions."""
COUNTED = """
def score(solution, submission, row_id_column_name, calls):
    with open(calls, "ab") as file:
        file.write(b".")
    return float((solution["y"] == submission["y"]).mean())
"""
BUNDLE = """
tasks:
  - {index: 0, name: One, reference_data: truth, scoring_program: program}
leaderboards:
  - columns:
      - {key: mae, index: 0, sorting: asc}
"""
PROGRAM = """
import json, sys
from pathlib import Path

import pandas as pd

given, output = map(Path, sys.argv[1:])
truth, sent = (pd.read_csv(given / part / "labels.csv") for part in ("ref", "res"))
(output / "scores.json").write_text(json.dumps({"mae": (truth["y"] - sent["y"]).abs().mean()}))
"""

Row = tuple[Any, Any, Any, Callable[[int, Any], float]]
"""Metric, truth, predictions, and the bare call: of a submission and a resample's counts."""


Function = Callable[..., Any]


def tables_case(
    metric_name: str,
    call_by_hand: Callable[[Function, Any, Any], float],
    ids: str,
    rng: np.random.Generator,
) -> Row:
    """Return a metric that gets tables, and how one calls it on a solution and a submission."""
    import pandas as pd

    from arena_metrics.foreign.loading import function_of

    labels = rng.integers(0, 2, ROWS)
    predictions = np.round(0.3 * labels + 0.7 * rng.random((SUBMISSIONS, ROWS)), 6)
    names = [ids.format(row) for row in range(ROWS)]
    unbound: Any = PluginManager().metrics.resolve(metric_name)
    metric = unbound.for_rows(RowContext("id", pa.array(names), ("y",), ("y",)))

    def frame(values: Any) -> pd.DataFrame:
        text = pd.DataFrame({"id": names, "y": values}).to_csv(index=False)
        return pd.read_csv(io.StringIO(text))

    solution, submissions = frame(labels), [frame(values) for values in predictions[:BY_HAND]]
    fresh = pd.Series([ids.format(row) for row in range(2 * ROWS)]).astype(solution["id"].dtype)
    function = function_of(metric.request.kind, metric.request.source)

    def call(index: int, counts: Any) -> float:
        rows = np.repeat(np.arange(ROWS), counts)
        left = solution.take(rows).reset_index(drop=True)
        right = submissions[index].take(rows).reset_index(drop=True)
        left["id"] = right["id"] = fresh.iloc[: len(rows)]
        return call_by_hand(function, left, right)

    texts = labels.astype(str).astype(object), predictions.astype(str).astype(object)
    return metric, *texts, call


def kaggle_case(ids: str, rng: np.random.Generator) -> Row:
    """Return a metric of Kaggle, which gets data frames."""
    metric = f"kaggle:{FOLDER / 'kaggle_fbeta.py'}(beta=2)"
    return tables_case(metric, lambda score, *both: score(*both, "id", beta=2), ids, rng)


def mlebench_case(rng: np.random.Generator) -> Row:
    """Return a grader of MLE-bench, which gets data frames."""
    metric = f"mlebench:{FOLDER / 'mle_grade.py'}:grade"
    return tables_case(metric, lambda grade, left, right: grade(right, left), "{}", rng)


def evalai_case(rng: np.random.Generator) -> Row:
    """Return a metric of EvalAI, which reads two files."""

    def by_hand(evaluate: Function, left: Any, right: Any) -> float:
        left.to_csv("truth.csv", index=False)
        right.to_csv("sent.csv", index=False)
        result = evaluate("truth.csv", "sent.csv", "test", submission_metadata={})["result"]
        return result[1]["test_split"]["mae"]

    metric = f"evalai:{FOLDER / 'evalai_metric.py'}(split=test_split,value=mae)"
    return tables_case(metric, by_hand, "{}", rng)


def competition_case(rng: np.random.Generator) -> Row:
    """Return a metric of a Hugging Face competition, which reads two files.

    By hand only one more row is private, so that this part is not empty.
    """
    params = SimpleNamespace(
        competition_id="c", token="", team_id="t", submission_id="s", submission_id_col="id"
    )

    def by_hand(compute: Function, left: Any, right: Any) -> float:
        import pandas as pd

        left["split"] = "public"
        row = pd.DataFrame({"id": [-1], "y": [0]})
        left, right = (pd.concat([frame, row]) for frame in (left, right))
        left["split"] = left["split"].fillna("private")
        left.to_csv("solution.csv", index=False)
        Path("submissions").mkdir(exist_ok=True)
        right.to_csv("submissions/t-s.csv", index=False)
        sys.modules["huggingface_hub"].folder = Path.cwd()
        return compute(params)["public_score"]["mae"]

    return tables_case(f"hf:{FOLDER / 'hf_metric.py'}(value=mae)", by_hand, "{}", rng)


def codabench_case(rng: np.random.Generator) -> Row:
    """Return the scoring program of a bundle of Codabench, which reads two files."""
    bundle = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, bundle)
    for name in ("program", "truth"):
        (bundle / name).mkdir()
    (bundle / "competition.yaml").write_text(BUNDLE)
    (bundle / "truth" / "labels.csv").write_text("id,y\n0,1\n")
    command = "command: python3 score.py /app/input /app/output"
    (bundle / "program" / "metadata.yaml").write_text(command)
    (bundle / "program" / "score.py").write_text(PROGRAM)

    def by_hand(_: Function, left: Any, right: Any) -> float:
        for part, frame in (("ref", left), ("res", right)):
            Path(part).mkdir(exist_ok=True)
            frame.to_csv(f"{part}/labels.csv", index=False)
        sys.argv = ["score.py", ".", "."]
        runpy.run_path(str(bundle / "program" / "score.py"), run_name="__main__")
        return json.loads(Path("scores.json").read_text())["mae"]

    return tables_case(f"codabench:{bundle}", by_hand, "{}", rng)


def lists_case(rng: np.random.Generator) -> Row:
    """Return a metric of Hugging Face's library evaluate, which gets lists."""
    from arena_metrics.foreign.loading import function_of

    truth = rng.integers(0, 3, ROWS)
    guesses = rng.integers(0, 3, (SUBMISSIONS, ROWS))
    predictions = np.where(rng.random(guesses.shape) < 0.7, truth, guesses)
    unbound: Any = PluginManager().metrics.resolve(f"hf:{FOLDER / 'hf_evaluate.py'}")
    names = pa.array([str(row) for row in range(ROWS)])
    metric = unbound.for_rows(RowContext("id", names, ("y",), ("y",)))
    accuracy = function_of(metric.request.kind, metric.request.source)()

    def call(index: int, counts: Any) -> float:
        rows = np.repeat(np.arange(ROWS), counts)
        arguments = {
            "references": truth[rows].tolist(),
            "predictions": predictions[index][rows].tolist(),
        }
        return accuracy._compute(**arguments)["accuracy"]

    return metric, truth.astype(str).astype(object), predictions.astype(str).astype(object), call


def arrays_case(rng: np.random.Generator) -> Row:
    """Return a cheap function of two arrays."""
    sys.path.append(str(FOLDER))
    from plain import mae

    truth, predictions = rng.normal(size=ROWS), rng.normal(size=(SUBMISSIONS, ROWS))

    def call(index: int, counts: Any) -> float:
        rows = np.repeat(np.arange(ROWS), counts)
        return mae(truth[rows], predictions[index][rows])

    return PluginManager().metrics.resolve(f"{FOLDER / 'plain.py'}:mae"), truth, predictions, call


def sklearn_case(rng: np.random.Generator) -> Row:
    """Return a function of scikit-learn on labels."""
    from sklearn.metrics import jaccard_score

    truth = rng.integers(0, 3, ROWS)
    guesses = rng.integers(0, 3, (SUBMISSIONS, ROWS))
    predictions = np.where(rng.random(guesses.shape) < 0.7, truth, guesses)

    def call(index: int, counts: Any) -> float:
        rows = np.repeat(np.arange(ROWS), counts)
        return jaccard_score(truth[rows], predictions[index][rows], average="macro")

    metric = PluginManager().metrics.resolve("sklearn:jaccard_score(average=macro)")
    return metric, truth, predictions, call


CASES: Mapping[str, Callable[[np.random.Generator], Row]] = {
    "Kaggle, ids are numbers": partial(kaggle_case, "{}"),
    "Kaggle, ids are texts": partial(kaggle_case, "row {}"),
    "Hugging Face's evaluate": lists_case,
    "function of arrays": arrays_case,
    "scikit-learn": sklearn_case,
    "MLE-bench": mlebench_case,
    "EvalAI": evalai_case,
    "Hugging Face's competitions": competition_case,
    "Codabench": codabench_case,
}


def processor_seconds() -> float:
    """Return the processor time of this process and its descendants, dead ones included."""
    ticks, seconds = os.sysconf("SC_CLK_TCK"), 0.0
    for pid in (os.getpid(), *descendants(os.getpid())):
        with contextlib.suppress(OSError):  # it has ended
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            seconds += sum(map(int, fields[11:15])) / ticks
    return seconds


def loop_seconds(
    call: Callable[[int, Any], float], weights: Any, *, submissions: int, workers: int
) -> tuple[float, Any]:
    """Return the processor seconds of a bare call, and ``(m, n)`` scores.

    As many processes as arena has run the loop at once: calls that use much memory take longer
    beside others.
    """
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()

    def loop() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            call(0, weights[:, 0])
            started = time.process_time()
            scores = [
                [call(number, weight) for weight in weights.T] for number in range(submissions)
            ]
            results.put((time.process_time() - started, scores))

    processes = [fork.Process(target=loop) for _ in range(workers)]
    for process in processes:
        process.start()
    outcomes = [results.get() for _ in processes]
    for process in processes:
        process.join()
    scores = np.array(outcomes[0][1])
    return fmean(seconds for seconds, _ in outcomes) / scores.size, scores


def measure(name: str, *, submissions: int, resamples: int, workers: int) -> dict[str, Any]:
    """Return the cost of a call of one metric in milliseconds."""
    rng = np.random.default_rng(0)
    metric, truth, predictions, call = CASES[name](rng)
    weights = np.asfortranarray(draw_resamples(ROWS, resamples, seed=0).weights)
    by_hand = partial(
        loop_seconds, call, weights[:, :200], submissions=min(BY_HAND, submissions), workers=workers
    )
    with Path(os.devnull).open("w") as null, contextlib.redirect_stdout(null):
        first, expected = by_hand()
        before, started = processor_seconds(), time.perf_counter()
        scores = score_under_weights(
            metric,
            truth,
            ArrayPredictions(predictions[:submissions]),
            np.ascontiguousarray(weights),
            workers=workers,
        )
        elapsed, used = time.perf_counter() - started, processor_seconds() - before
        last, _ = by_hand()
    if not np.allclose(scores[: len(expected), :200], expected, rtol=1e-11, atol=0):
        raise SystemExit("The scores differ from those of the loop.")
    return {
        "calls": scores.size,
        "arena_milliseconds": round(1e3 * used / scores.size, 4),
        "loop_milliseconds": round(1e3 * min(first, last), 4),
        "elapsed_milliseconds": round(1e3 * elapsed / scores.size, 4),
    }


def least_costs(
    names: Sequence[str], repeats: int, options: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Measure metrics again and again, each time in a new process."""
    command = [sys.executable, __file__, *options]
    for name in names:
        command += ["--case", name]
    runs = []
    for _ in range(repeats):
        called = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(called.stdout.splitlines()[-1]))
    costs: dict[str, dict[str, Any]] = {}
    for name in names:
        least = {key: min(run[name][key] for run in runs) for key in runs[0][name]}
        ratio = least["arena_milliseconds"] / least["loop_milliseconds"]
        costs[name] = {**least, "ratio": round(ratio, 3)}
    return costs


def calls_without_intervals(n_submissions: int) -> dict[str, float]:
    """Return the calls a submission while commands run with ``--no-intervals``."""
    rng = np.random.default_rng(0)
    rows, counted = 1_000, {}
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        for name in ("metric", "calls", "sent"):
            (folder / name).mkdir()
        (folder / "metric" / "counted.py").write_text(COUNTED)
        calls = folder / "calls" / "calls"
        calls.touch()
        labels = rng.integers(0, 2, rows)

        def write(path: Path, values: Any) -> None:
            lines = [f"{row},{value}\n" for row, value in enumerate(values)]
            path.write_text("id,y\n" + "".join(lines))

        def run(*arguments: str) -> float:
            """Run a command; return the calls that it made, per submission."""
            before = calls.stat().st_size
            program = [sys.executable, "-m", "arena", *arguments]
            subprocess.run(program, cwd=folder, check=True, capture_output=True)
            return (calls.stat().st_size - before) / n_submissions

        write(folder / "solution.csv", labels)
        for number in range(n_submissions):
            write(folder / "sent" / f"team-{number}.csv", labels ^ (rng.random(rows) < 0.3))
        metric = f"kaggle:metric/counted.py(calls='{calls}')"
        options = ("--metric", metric, "--no-intervals")
        counted["score"] = run("score", "solution.csv", "sent", *options)
        run(
            "init", "c", "--solution", "solution.csv", "--metric", metric, "--mechanism", "full",
            "--per-day", "0",
        )  # fmt: skip
        run("import", "sent", "-C", "c")
        counted["finalize"] = run("finalize", "-C", "c", "--no-intervals")
    if min(counted.values()) < 1:
        raise SystemExit(f"The metric was not called for every submission: {counted}.")
    return counted


def main() -> None:
    """Run the benchmark and print one JSON object in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of resamples")
    parser.add_argument(
        "--submissions", type=int, default=SUBMISSIONS, help=f"at most {SUBMISSIONS}"
    )
    parser.add_argument("--repeats", type=int, default=2, help="the least time counts")
    parser.add_argument("--workers", type=int, default=available_workers())
    parser.add_argument(
        "--together", action="store_true", help="all metrics in one process, as a trial"
    )
    parser.add_argument("--case", choices=CASES, action="append", help="measure only these, once")
    options = parser.parse_args()
    resamples = max(2, round(RESAMPLES * options.scale))
    if options.case:
        size = {"submissions": options.submissions, "resamples": resamples}
        costs = {name: measure(name, **size, workers=options.workers) for name in options.case}
        print(json.dumps(costs))
        return
    cases: dict[str, dict[str, Any]] = {}
    for names in [tuple(CASES)] if options.together else [(name,) for name in CASES]:
        costs = least_costs(names, options.repeats, sys.argv[1:])
        print(costs)
        cases |= costs
    result = {
        "benchmark": "foreign",
        "submissions": options.submissions,
        "rows": ROWS,
        "resamples": resamples,
        "workers": options.workers,
        "cases": cases,
        "calls_a_submission": calls_without_intervals(min(20, options.submissions)),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
