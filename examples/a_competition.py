"""A competition in Python, cell by cell: creation, three weeks of submissions, board, report.

Run it as ``python examples/a_competition.py FOLDER``, or cell by cell in an editor.
"""

# %% The organiser has a solution, which participants must not see.
from __future__ import annotations

import csv
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from arena import Competition, Settings
from arena.report import competition_report, page, public_competition_report, write_file

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "a-competition")
FOLDER.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)
labels = (rng.random(3_000) < 0.4).astype(int)


def write(name: str, column: list[float] | list[int]) -> Path:
    """Write one value per row, for a participant's file or the solution."""
    path = FOLDER / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "ill"])
        writer.writerows([f"patient-{row}", value] for row, value in enumerate(column))
    return path


solution = write("solution.csv", labels.tolist())

# %% A folder with competition.toml and a database. A Ladder protects the public rows.
settings = Settings.model_validate(
    {
        "competition": {"title": "Who is ill?", "baseline": "host"},
        "metric": {"name": "roc_auc"},
        "public": {"mechanism": "ladder-free(minimum_step=0.005)"},
        "limits": {"per_day": 2},
        "final": {"rule": "chosen", "count": 2},
    }
)
now = datetime(
    2026, 3, 2, 9, tzinfo=UTC
)  # a clock for this example; without it, the system clock is used
competition = Competition.create(
    FOLDER / "competition", solution, settings, seed=1, clock=lambda: now
)
competition.submit(FOLDER / "competition" / "sample_submission.csv", "host")

# %% Three weeks: every team improves according to its skill and receives its released scores.
SKILLS = {"owls": 0.9, "larks": 0.85, "wrens": 0.84, "rooks": 0.5}
for week in range(1, 4):
    now += timedelta(days=7)
    for team, skill in SKILLS.items():
        signal = labels * skill * (1 + 0.1 * week)
        guess = np.round(signal + rng.normal(size=len(labels)), 6).tolist()
        answer = competition.submit(write(f"{team}-{week}.csv", guess), team)
        print(f"week {week}: {team} is shown {answer.released}")

# %% The public board shows released scores only.
for row in competition.leaderboard():
    print(row["rank"], row["team"], row["score"], f"{row['n_submissions']} sent")

# %% The teams select final submissions, and the organiser finalizes the competition.
competition.select("owls", [row["submission"] for row in competition.submissions("owls")][-2:])
result = competition.finalize()
print(result.to_frame()[["rank", "team", "score", "rank_low", "rank_high", "tier"]])
print(result.findings[0].verdict)

# %% Two pages: one to publish after the end, and one that is public at any time.
write_file(FOLDER / "report.html", page(competition_report(competition)))
write_file(FOLDER / "public.html", page(public_competition_report(competition)))

# %% The record is a hash chain, and others can verify an export.
print(competition.verify_events() or f"{len(competition.events())} events, unbroken")
competition.export(FOLDER / "export")
competition.close()
