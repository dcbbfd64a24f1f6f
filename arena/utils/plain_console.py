"""A console for text that participants wrote. Importing rich takes a tenth of a second."""

from __future__ import annotations

import os
import sys

from rich.console import Console

_WIDTH_OF_A_FILE = 200


class PlainConsole(Console):
    """Interprets no markup, and reports a closed pipe as every other error of writing.

    Parameters
    ----------
    wide
        Do not wrap or cut columns at the width of the terminal. A file or a pipe has no width.
    """

    def __init__(self, *, stderr: bool = False, wide: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        terminal = not wide and (stream.isatty() or "COLUMNS" in os.environ)
        width = None if terminal else _WIDTH_OF_A_FILE
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)

    def on_broken_pipe(self) -> None:
        """Raise the error again, where rich would end the program."""
        raise  # noqa: PLE0704 - rich calls this where it handles the error
