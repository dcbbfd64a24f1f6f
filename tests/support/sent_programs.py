"""Programs that teams send, and the inputs on which they run."""

from __future__ import annotations

from pathlib import Path

from competition_folder import IDS

PREDICTS = """
with open("/input/x.csv") as file, open("/output/predictions.csv", "w") as output:
    print("id,y", file=output)
    for line in file:
        print(f"{line.strip()},0.{len(line)}", file=output)
"""
LEAKS = """
text = open("/input/x.csv").read()
print(text)
open("/output/predictions.csv", "w").write(f"id,y\\n{text}")
"""
SLEEPS = f"import time\ntime.sleep(4)\n{PREDICTS}"


def write_inputs(folder: Path) -> None:
    """Write hidden inputs and sample inputs: a file of ids."""
    for name, ids in (("hidden", IDS), ("sample", ["a", "b"])):
        (folder / name).mkdir()
        (folder / name / "x.csv").write_text("".join(f"{row_id}\n" for row_id in ids))
