"""How long tasks of a second take on two workers of Dask and of Ray.

Each task is sent a block of 8 MB, the most that arena sends with one, and all share another. There
are two runs, whose peer is the time without any overhead. In the first a task waits for a second,
and the elapsed time counts, half a second a task: other programs matter little. In the second a
task multiplies matrices until it has used a second of processor time, as one that scores does, and
the processor time of all processes counts, those of the engine included: elapsed time would tell
what else the machine does. A ratio is the time over the peer's; those of arena's own worker
processes are for comparison. Dask and Ray run on this machine, one after the other, with two
workers of one thread. All have started, and have run a task for each worker, before the time is
taken. Each run is repeated, and the least time counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt
from bench_foreign import processor_seconds
from benchmark_paths import need

from arena.evaluation.predictions import SENT_BYTES
from arena.utils.engines import Engine, local_engine, open_engine
from clusters import dask_cluster, ray_here

WORKERS = 2


def wait(shared: npt.NDArray[np.float64], block: npt.NDArray[np.float64], seconds: float) -> float:
    """Wait, and return a number that depends on what was sent."""
    time.sleep(seconds)
    return float(shared[-1] + block[-1])


def compute(
    shared: npt.NDArray[np.float64], block: npt.NDArray[np.float64], seconds: float
) -> float:
    """Multiply matrices for so many seconds of processor time."""
    until = time.thread_time() + seconds
    square = block[: 200 * 200].reshape(200, 200)
    while time.thread_time() < until:
        square @ square
    return float(shared[-1] + block[-1])


@contextlib.contextmanager
def dask() -> Iterator[Engine]:
    """Start Dask's scheduler and workers here, and connect to them."""
    with dask_cluster() as address, open_engine("dask", address) as engine:
        yield engine


ENGINES: Mapping[str, Callable[[], AbstractContextManager[Engine]]] = {
    "local": lambda: contextlib.nullcontext(local_engine(WORKERS)),
    "dask": dask,
    "ray": lambda: ray_here(WORKERS),
}


def times(
    engine: Engine, function: Callable[..., float], tasks: int, seconds: float
) -> tuple[float, float]:
    """Return elapsed and processor seconds of the tasks; their results must be right."""
    cells = SENT_BYTES // 8
    shared = np.ones(cells)
    blocks = ((np.full(cells, float(number)), seconds) for number in range(tasks))
    started, before = time.perf_counter(), processor_seconds()
    results = list(engine.run(function, (shared,), blocks))
    elapsed, used = time.perf_counter() - started, processor_seconds() - before
    if results != [1.0 + number for number in range(tasks)]:
        raise SystemExit(f"{engine.name} returned other numbers.")
    return elapsed, used


def main() -> None:
    """Run the benchmark and print one JSON object in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=30, help="of each run")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a task")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    need("distributed", "dask")
    need("ray", "ray")
    task_seconds = options.tasks * options.seconds
    ratios: dict[str, dict[str, float]] = {}
    for name, opened in ENGINES.items():
        least = {"waiting": math.inf, "computing": math.inf}
        with opened() as engine:
            if engine.workers != WORKERS:
                raise SystemExit(f"{name} has {engine.workers} workers.")
            times(engine, wait, WORKERS, 0.5)  # so long that no worker is given both
            for _ in range(options.repeats):
                elapsed, _ = times(engine, wait, options.tasks, options.seconds)
                least["waiting"] = min(least["waiting"], elapsed / (task_seconds / WORKERS))
                _, used = times(engine, compute, options.tasks, options.seconds)
                if used < 0.75 * task_seconds:
                    raise SystemExit(f"Not all processes of {name} were seen.")
                least["computing"] = min(least["computing"], used / task_seconds)
        ratios[name] = {run: round(ratio, 3) for run, ratio in least.items()}
        print(f"{name}: {ratios[name]}", flush=True)
    result = {
        "benchmark": "engines",
        "tasks": options.tasks,
        "seconds_of_a_task": options.seconds,
        "workers": WORKERS,
        "ratios": ratios,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
