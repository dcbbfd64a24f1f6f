"""Runs the benchmarks that have aims, each in its own process, and writes `docs/scale.md`.

The figures of each part are kept in `scale.json` beside the page, so that `--only csv,store` runs
these parts again and keeps the other figures. The page is written after each part. A part that
fails keeps its last figures, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from smallest_runs import SMALLEST

FOLDER = Path(__file__).parent
PAGE_PATH = FOLDER.parents[1] / "docs" / "scale.md"
PARTS: Mapping[str, str] = {
    "start": "bench_start.py",
    "csv": "bench_csv.py",
    "store": "bench_store.py",
    "bytes": "bench_bytes.py",
    "logloss": "bench_pointwise_ranks.py",
    "metrics": "bench_metrics.py",
    "opaque": "bench_foreign.py",
    "engines": "bench_engines.py",
    "report": "bench_report.py",
    "organiser": "bench_organiser.py",
    "commands": "bench_commands.py --submissions 1000,10000,100000 --teams 5000",
    "teams": "bench_finalize.py --teams 2500,10000 --rows 10000",
    "rows": "bench_finalize.py --teams 20 --rows 1000000,10000000",
    "growth": "bench_growth.py --submissions 1000,1000000 --teams 5000 --mechanism all",
}
"""The command of each part, its full size."""

PAGE = """# Scale

What arena aims at for large competitions, what was measured, and how costs grow. Times are
processor seconds of all processes where they are not said to be elapsed; those of commands are
above the start of the program, where it does not say the whole program.

{verdict}

{aims}

{programs}

Boxes are those of 4 submissions of 500 images. Masks are decoded before the loop with numpy.
Metrics of texts are compared with their own score on 4 submissions of 500 rows.

pyarrow's parse of a CSV file neither hashes it nor checks its ids, as a submission needs: SHA-256
alone takes a quarter of the time of that parse with short ids, and half of it with UUIDs.
arena's reading takes as long as that parse and DuckDB's hash join of the ids together
([](reference/speed.md)).
Predictions with all digits are stored in nearly 8 bytes a value. DuckDB keeps a few MB of blocks
free for what comes next, which count for less the more submissions there are.

## Growth with the history

What the organiser's commands cost as a competition grows: processor seconds of all processes,
without the time that the start of the program takes, and the most memory of one process. The
exponent says how the processor time grows from the smallest size to the largest: 1 is in proportion
to the size.

{commands}

`finalize` grows with the teams rather than with the submissions: it compares all pairs of teams,
and its memory is that of matrices of all pairs. `report` shows what `finalize` stored; it reads the
predictions again, to find similar submissions. `audit` computes every digest again, and compares
the predictions of all teams with each other; here `audit --since` leaves out 99% of the history.

{growth}

## Growth with teams and rows

`finalize` of one submission a team with 1,000 resamples. Memory is the most of one process, and of
all together, where shared pages count in each.

{boards}

## How it was measured

`python tests/benchmarks/summarize_scale.py` runs every part and writes this page; `--only
csv,store` runs some parts again and keeps the other figures. The machine is shared: the load is the
average of a minute, before and after the part.

{parts}

[](reference/speed.md) has the other figures.
"""
NOT_MEASURED = "Not measured."


@dataclass(frozen=True)
class Row:
    """An aim, and the figures that it is compared with."""

    what: str
    limit: float
    unit: str
    measured: Mapping[str, float]
    """By name; the name is empty if there is one figure."""

    @property
    def is_met(self) -> bool:
        """Whether no figure is above the limit."""
        return all(value <= self.limit for value in self.measured.values())


def aims_of_start(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of small commands."""
    for command, limit in (("submit", 0.45), ("leaderboard", 0.35)):
        yield Row(f"`{command}`, the whole program, few submissions", limit, "s", figures[command])


def aims_of_organiser(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of the programs that an organiser waits for."""
    for program in figures["programs"]:
        yield Row(
            f"{program['what']}, the whole program", program["aim"], "s", {"": program["seconds"]}
        )


def aims_of_csv(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of reading a file."""
    names = {"numbers": "numbered ids", "hex": "hexadecimal", "uuid": "UUID"}
    for order, limit in (("shuffled", 3), ("in_order", 1.1)):
        what = f"CSV of {figures['rows']:,} rows, {order.replace('_', ' ')}, over pyarrow's parse"
        for key, time_of in (("ratio", "elapsed"), ("cpu_ratio", "processor time")):
            ratios = {names[kind]: own[order][key] for kind, own in figures["ids"].items()}
            yield Row(f"{what}, {time_of}", limit, "times", ratios)


def aims_of_store(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aim of writing."""
    what = "Writing predictions, over DuckDB's own insert of the values"
    ratios = {
        "the values alone": figures["write_ratio"],
        "with the submission": figures["keyed_write_ratio"],
    }
    yield Row(what, 2, "times", ratios)


def aims_of_bytes(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of the database's size."""
    what = f"A submission of {figures['rows']:,} rows, sent singly"
    kinds = figures["singly"]
    for key, which in (
        ("bytes", f"mean of {figures['submissions']:,}"),
        ("last_quarter", "mean of the last quarter"),
    ):
        measured = {name.replace("_", " "): own[key] for name, own in kinds.items()}
        yield Row(f"{what}, {which}", 9_000, "bytes", measured)


def aims_of_logloss(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aim of the resampling of log loss."""
    size = f"{figures['submissions']:,} x {figures['rows']:,}"
    what = f"Log loss, {size}, {figures['resamples']} resamples, over the matrix product"
    yield Row(what, 1.3, "times", {"": figures["ratio"]})


def aims_of_metrics(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aim of each metric of single rows."""
    size = f"{figures['submissions']:,} x {figures['rows']:,}, {figures['resamples']:,} resamples"
    what = f"A metric, {size}: over a loop of"
    for peer, is_own in (
        ("scikit-learn, scipy, pycocotools or numpy", False),
        ("its own score", True),
    ):
        ratios = {
            f"`{name}`": round(metric_figures["ratio"], 4)
            for name, metric_figures in figures["metrics"].items()
            if metric_figures.get("own", False) == is_own
        }
        if ratios:
            yield Row(f"{what} {peer}", 0.01, "times", ratios)


def aims_of_opaque(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of metrics that can only be called as a whole."""
    size = f"{figures['submissions']:,} x {figures['rows']:,}, {figures['resamples']:,} resamples"
    what = f"A metric called as a whole, {size}: a call over one of a bare loop"
    yield Row(what, 1.2, "times", {name: case["ratio"] for name, case in figures["cases"].items()})
    calls = {f"`{name}`": count for name, count in figures["calls_a_submission"].items()}
    yield Row("Calls of such a metric with `--no-intervals`", 1, "a submission", calls)


def aims_of_engines(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of tasks on a cluster."""
    tasks = f"{figures['tasks']} tasks of {figures['seconds_of_a_task']:g} s"
    names = {"waiting": "elapsed while they wait", "computing": "processor time"}
    for name in ("dask", "ray"):
        what = f"`--engine {name}`, {tasks} on {figures['workers']} workers, over the tasks alone"
        measured = {names[run]: ratio for run, ratio in figures["ratios"][name].items()}
        yield Row(what, 1.1, "times", measured)


def aims_of_report(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of the report's page."""
    what = f"Report of {figures['teams']:,} teams ({figures['megabytes']:g} MB)"
    seconds = {"least": figures["least_seconds"], "median": figures["median_seconds"]}
    yield Row(f"{what}, elapsed until drawn in Chromium", 3, "s", seconds)
    yield Row(f"{what}, DOM nodes", 30_000, "nodes", {"": figures["nodes"]})


def above_start(cost: Mapping[str, float], start: float) -> float:
    """Return processor seconds above the start of the program."""
    return round(max(0.0, cost["processor_seconds"] - start), 2)


def aims_of_commands(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of the organiser's commands on the longest history."""
    last = figures["histories"][-1]
    size = f"{last['submissions']:,} submissions, {last['teams']:,} teams, {last['rows']:,} rows"
    limits = {"finalize": 20, "audit": 15, "export": 15, "report": 20, "replay ladder-free": 30}
    for name, limit in limits.items():
        if name in last["costs"]:
            seconds = above_start(last["costs"][name], last["start"])
            yield Row(f"`{name}`, {size}", limit, "s", {"": seconds})
    if "finalize" in last["costs"]:
        memory = last["costs"]["finalize"]["memory_gb"]
        yield Row(f"`finalize`, {size}, memory", 1, "GB", {"": memory})


def aims_of_boards(figures: Mapping[str, Any], seconds: float, gigabytes: float) -> Iterator[Row]:
    """Yield the aims of ``finalize`` on the largest board under each metric."""
    largest = {board["metric"]: board for board in figures["boards"]}  # the last of each
    board = figures["boards"][-1]
    what = f"`finalize`, {board['teams']:,} teams x {board['rows']:,} rows"
    start = figures["start"]
    used = {f"`{name}`": above_start(own, start) for name, own in largest.items()}
    yield Row(what, seconds, "s", used)
    elapsed = {f"`{name}`": own["seconds"] for name, own in largest.items()}
    yield Row(f"{what}, elapsed", seconds, "s", elapsed)
    memory = {f"`{name}`": own["all_memory_gb"] for name, own in largest.items()}
    yield Row(f"{what}, memory of all processes", gigabytes, "GB", memory)


GROWTH = {
    "submit_ratio": "`submit`",
    "submit_rank_scope_ratio": "`submit` with an instance for each rank",
    "resend_ratio": "`submit` of the same file again",
    "leaderboard_ratio": "`leaderboard`",
}


def aims_of_growth(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the aims of participants' commands on the longest history against the shortest."""
    short, long = figures["submissions"][0], figures["submissions"][-1]
    size = f"{long:,} submissions of {figures['teams']:,} teams"
    for key, name in GROWTH.items():
        yield Row(f"{name}, {size} against {short:,}", 2, "times", {"": figures[key]})
    what = f"Opening and `submit`, {size}"
    yield Row(what, 0.2, "s", {"": figures["submit_seconds"]})


AIMS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    "growth": aims_of_growth,
    "start": aims_of_start,
    "organiser": aims_of_organiser,
    "commands": aims_of_commands,
    "teams": lambda figures: aims_of_boards(figures, 60, 3),
    "rows": lambda figures: aims_of_boards(figures, 300, 6),
    "bytes": aims_of_bytes,
    "report": aims_of_report,
    "logloss": aims_of_logloss,
    "metrics": aims_of_metrics,
    "opaque": aims_of_opaque,
    "engines": aims_of_engines,
    "csv": aims_of_csv,
    "store": aims_of_store,
}
"""The aims of each part, in the order of the page."""


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def table_of_aims(rows: Sequence[Row]) -> str:
    """Return the aims, what was measured, and whether they are met."""
    return table(
        ["what", "aim", "measured", "met"],
        [
            (
                row.what,
                f"{row.limit:,} {row.unit}",
                ", ".join(f"{name} {value:,}".strip() for name, value in row.measured.items())
                + f" {row.unit}",
                "yes" if row.is_met else "**no**",
            )
            for row in rows
        ],
    )


def table_of_programs(figures: Mapping[str, Any]) -> str:
    """Return what an organiser's programs take, and what their bare parts take."""
    parts = ("imports", "parse", "resampling")
    rows = []
    for program in figures["programs"]:
        if bare := program.get("bare"):
            seconds = [program["seconds"], sum(bare.values()), *(bare[part] for part in parts)]
            rows.append([program["what"], *(f"{value:.2f} s" for value in seconds)])
    lead = (
        "What the programs of an organiser cannot do without: the imports of the libraries that\n"
        "they use, pyarrow's parse of the files, and areas under the ROC curve on 1,000\n"
        "resamples, each measured alone."
    )
    heads = ["program", "measured", "bare parts", "imports", "parse", "resampling"]
    return f"{lead}\n\n{table(heads, rows)}"


def table_of_commands(figures: Mapping[str, Any]) -> str:
    """Return the costs of the organiser's commands on each history."""
    histories = figures["histories"]
    heads = [
        f"{history['submissions']:,} submissions of {history['teams']:,} teams"
        for history in histories
    ]
    rows = []
    for name, exponent in figures["exponents"].items():
        costs = [(history["costs"][name], history["start"]) for history in histories]
        cells = [
            f"{above_start(cost, start):.1f} s, {cost['memory_gb']:.2f} GB" for cost, start in costs
        ]
        rows.append([f"`{name}`", *cells, f"{exponent:.2f}"])
    lead = f"Each submission has {histories[-1]['rows']:,} rows, and no two are equal."
    return f"{lead}\n\n{table(['command', *heads, 'exponent'], rows)}"


def table_of_growth(figures: Mapping[str, Any]) -> str:
    """Return the exponents of the commands that must not grow with the history."""
    length = math.log(max(2, figures["submissions"][-1] / figures["submissions"][0]))
    rows = [
        [name, figures[key], f"{math.log(max(0.01, figures[key])) / length:.2f}"]
        for key, name in GROWTH.items()
    ]
    lead = (
        "What a participant's command costs above the start of the program on the longest\n"
        "history, over what it costs on the shortest: of several mechanisms the largest ratio."
    )
    return f"{lead}\n\n{table(['command', 'ratio', 'exponent'], rows)}"


def table_of_boards(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the costs of ``finalize`` on boards of several sizes."""
    rows = []
    for figures in parts:
        for metric, exponent in figures["exponents"].items():
            own = [board for board in figures["boards"] if board["metric"] == metric]
            for board in own:
                size = f"{board['teams']:,} teams x {board['rows']:,} rows"
                seconds = f"{above_start(board, figures['start']):.1f} s"
                memory = f"{board['memory_gb']:.2f} / {board['all_memory_gb']:.2f} GB"
                elapsed = f"{board['seconds']:.1f} s"
                exponent_text = f"{exponent:.2f}" if board is own[-1] else ""
                rows.append([size, f"`{metric}`", seconds, elapsed, memory, exponent_text])
    heads = ["board", "metric", "processor time", "elapsed", "memory of one / all", "exponent"]
    return table(heads, rows) if rows else NOT_MEASURED


def page(measured_parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page with the figures of the parts that were measured."""
    figures = {name: measured["figures"] for name, measured in measured_parts.items()}
    rows = [row for name, aims in AIMS.items() if name in figures for row in aims(figures[name])]
    n_met = sum(row.is_met for row in rows)
    missing = [f"`{name}`" for name in PARTS if name not in figures]
    verdict = f"{n_met} of {len(rows)} aims are met." + (
        f" Not measured yet: {', '.join(missing)}." if missing else ""
    )
    measured = [
        (
            name,
            f"`{measured['command']}`",
            measured["date"],
            measured.get("processor", "not recorded"),
            measured["cores"],
            measured["load"],
        )
        for name, measured in measured_parts.items()
    ]
    return PAGE.format(
        verdict=verdict,
        aims=table_of_aims(rows),
        programs=table_of_programs(figures["organiser"]) if "organiser" in figures else "",
        commands=table_of_commands(figures["commands"]) if "commands" in figures else NOT_MEASURED,
        growth=table_of_growth(figures["growth"]) if "growth" in figures else NOT_MEASURED,
        boards=table_of_boards([figures[name] for name in ("teams", "rows") if name in figures]),
        parts=table(["part", "command", "date", "processor", "cores", "load"], measured),
    )


def processor_name() -> str:
    """Return the model of the processor, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


@cache
def run_part(command: str) -> dict[str, Any]:
    """Run a benchmark in its own process, and return its figures with what they depend on.

    Small runs of two parts may be one command, which then runs once.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    """
    script, *options = command.split()
    before = os.getloadavg()[0]
    environment = {**os.environ, "ARENA_PROGRESS": "0"}
    # With it every start of the program would compile its modules.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    called = subprocess.run(
        [sys.executable, FOLDER / script, *options],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    return {
        "command": command,
        "date": time.strftime("%Y-%m-%d"),
        "processor": processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "load": f"{before:.1f} to {os.getloadavg()[0]:.1f}",
        "figures": json.loads(called.stdout.splitlines()[-1]),
    }


def main() -> None:
    """Run the parts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=PAGE_PATH, help="the page")
    parser.add_argument("--small", action="store_true", help="the smallest run of each")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"There is no part {', '.join(sorted(unknown))}.")
    if options.small and options.out == PAGE_PATH:
        parser.error("Small runs are no figures for the documentation: give --out.")
    kept_path = options.out.with_suffix(".json")
    measured_parts = json.loads(kept_path.read_text("utf-8")) if kept_path.exists() else {}
    failed = []
    for name in chosen:
        script = PARTS[name].split()[0]
        command = f"{script} {SMALLEST[Path(script).stem]}" if options.small else PARTS[name]
        print(f"{name}: {command}", flush=True)
        try:
            measured_parts[name] = run_part(command)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(error, file=sys.stderr)
            continue
        measured_parts = {part: measured_parts[part] for part in PARTS if part in measured_parts}
        kept_path.write_text(json.dumps(measured_parts, indent=1) + "\n", encoding="utf-8")
        options.out.write_text(page(measured_parts), encoding="utf-8")
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
