"""The blocks of a page of the documentation: what is run, and what it prints.

An ``output`` block holds what the last command of the block above it prints for the files of
``arena demo``. ``python tests/support/page_blocks.py docs/tutorials/*.md`` writes them.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH = "88"
"""So many characters fit into a block of the documentation."""
_FIRST, _LAST = 11, 5


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block that is run, or that shows an output."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(bash|python|output)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def shortened(output: str) -> str:
    """Return the first and the last lines of an output, without spaces at their ends."""
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    if len(lines) > _FIRST + _LAST + 1:
        lines = [*lines[:_FIRST], "…", *lines[-_LAST:]]
    return "\n".join(lines) + "\n"


def without_numbers(text: str) -> str:
    """Return a text without what differs from run to run: numbers, hashes, bars and spaces."""
    text = re.sub(r"[0-9a-f]{64}|[0-9][0-9.,]*", "0", text)
    return re.sub(r"[━·\s]+", " ", text)


def write_outputs(page: Path, demo: Path) -> None:
    """Write what the commands of a page print into its output blocks."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["cp", "-r", demo, f"{name}/arena-demo"], check=True)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "COLUMNS": WIDTH, "PATH": path}
        text, printed = page.read_text(encoding="utf-8"), ""
        names: dict[str, object] = {}
        block = r"(^```(?:bash|output|python)\n.*?^```)"
        parts = re.split(block, text, flags=re.DOTALL | re.MULTILINE)
        for number, part in enumerate(parts):
            if part.startswith("```output"):
                parts[number] = f"```output\n{shortened(printed)}```"
            elif part.startswith("```python"):
                with contextlib.chdir(name):
                    exec("\n".join(part.splitlines()[1:-1]), names)  # noqa: S102
            elif part.startswith("```bash"):
                for command in part.splitlines()[1:-1]:
                    done = subprocess.run(
                        ["bash", "-c", command], cwd=name, env=environment, check=True,
                        stdout=subprocess.PIPE, text=True,
                    )  # fmt: skip
                    printed = done.stdout or printed
        page.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(sys.executable).parent / "arena"
        subprocess.run([program, "demo", "--out", f"{scratch}/arena-demo"], check=True)
        for page in sys.argv[1:]:
            write_outputs(Path(page), Path(scratch) / "arena-demo")
