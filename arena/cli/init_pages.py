"""The first pages of a new competition and a draft of its rules, with what is known of it."""

from __future__ import annotations

from arena.competition.competition import Competition
from arena.competition.create import SAMPLE_NOTE_NAME
from arena.config import SAMPLE_NAME
from arena.server_section import DRAFT_MARK
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
_RULES = f"""\
{DRAFT_MARK}: participants neither see nor accept these rules before you delete this line. -->

# Rules

## Who may take part

Each person has one account, and a team has at most {{team_size}} members.

Write who may take part, and who may not, such as people who know the labels.

## Data

Write what the data may be used for, now and after the end, and whether other data and pretrained
models may be used.

## Results

Write what teams that may win must hand in, such as their code, by when, and who decides in a
dispute.
"""
_PRIVATE = "There is no public board. The final board appears after the end."


def write_pages(competition: Competition) -> list[str]:
    """Write ``pages/overview.md``, ``pages/data.md`` and a draft of the rules.

    Return the names of the files written: those that exist are left.
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
    server = competition.settings.server
    texts = {
        f"{PAGES_NAME}/overview.md": overview,
        f"{PAGES_NAME}/data.md": "# Data\n\n## The file to send\n\n" + "\n\n".join(columns) + "\n",
        server.rules: _RULES.format(team_size=server.team_size),
    }
    missing = [name for name in texts if not (competition.folder / name).exists()]
    for name in missing:
        path = competition.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8")
    return missing
