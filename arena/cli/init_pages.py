"""The first pages of a new competition, with what is known of it."""

from __future__ import annotations

from arena.competition.competition import Competition
from arena.competition.create import SAMPLE_NOTE_NAME
from arena.config import SAMPLE_NAME
from arena.types import Usage
from arena.utils.text import printable

PAGES_NAME = "pages"

_OVERVIEW = """\
Predict {targets} for each of {n_rows} ids.

1. Read about the [data](data.md) and download it.
2. Send one file with your predictions on the page *Submit*. *Check only* says what is wrong with a
   file, and counts nothing.
3. {boards}
"""
_BOTH = "The public board ranks the teams by a part of the ids, and the final board by the others."
_PRIVATE = "There is no public board. The final board appears after the end."


def write_pages(competition: Competition) -> list[str]:
    """Write ``pages/overview.md`` and ``pages/data.md``; return the names of those written.

    Pages that exist are left as they are.
    """
    solution = competition.solution
    targets = ", ".join(f"**{printable(target.name)}**" for target in solution.targets)
    overview = _OVERVIEW.format(
        targets=targets,
        n_rows=f"{solution.n_rows:,}",
        boards=_BOTH if (solution.usage == Usage.PUBLIC).any() else _PRIVATE,
    )
    sentences = (competition.folder / SAMPLE_NOTE_NAME).read_text(encoding="utf-8").splitlines()
    columns = [line.replace(SAMPLE_NAME, f"`{SAMPLE_NAME}`") for line in sentences]
    texts = {
        "overview.md": overview,
        "data.md": "# Data\n\n## The file to send\n\n" + "\n\n".join(columns) + "\n",
    }
    folder = competition.folder / PAGES_NAME
    folder.mkdir(exist_ok=True)
    missing = [name for name in texts if not (folder / name).exists()]
    for name in missing:
        (folder / name).write_text(texts[name], encoding="utf-8")
    return missing
