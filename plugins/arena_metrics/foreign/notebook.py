"""The code of a Jupyter notebook: Kaggle publishes its metrics as notebooks."""

from __future__ import annotations

import json
import re
from typing import Any

NOTEBOOK = ".ipynb"
"""The ending of the name of a notebook."""

_COMMAND = re.compile(r"\s*(?:[%!?]|\w+\?+\s*$)")
"""A line that is a command of IPython or of the shell."""
_TIMES = re.compile(r"%%(?:time|timeit|capture|prun|python3?)\b")
"""Commands for a whole cell after which Python follows."""


def code_of_notebook(text: str) -> str:
    r"""Return the Python code of a notebook, cell by cell; commands of IPython become comments.

    Raises
    ------
    ValueError
        If the text is not a notebook in Jupyter's format 4.

    Examples
    --------
    >>> cells = [{"cell_type": "markdown", "source": ["# Text"]},
    ...          {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1"]}]
    >>> print(code_of_notebook(json.dumps({"cells": cells})))
    # %matplotlib inline
    x = 1
    """
    document = json.loads(text)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells: save it in Jupyter's format 4")
    code = (cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code")
    return "\n\n".join(_without_commands(_source(cell)) for cell in code)


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(map(str, source))


def _without_commands(code: str) -> str:
    """Return the code of a cell with IPython's own lines as comments."""
    lines = code.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not _TIMES.match(first):
        return "\n".join(f"# {line}" for line in lines)  # such as %%bash or %%writefile
    try:
        compile(code, "cell", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return "\n".join(f"# {line}" if _COMMAND.match(line) else line for line in lines)
    return code  # a line may begin with % inside an expression or a text
