"""The end of a process of the server after an error."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import sys
from collections.abc import Iterator

from arena.errors import ArenaError
from arena.server.records.layout import Layout


@contextlib.contextmanager
def failures_logged(layout: Layout, logger: logging.Logger) -> Iterator[None]:
    """End a process of the server after an error, with one sentence in the log."""
    try:
        yield
    except ArenaError as error:
        logger.error("%s", error)
        sys.exit(error.exit_code)
    except (sqlite3.Error, OSError) as error:
        logger.error(
            "The files of the server in %s cannot be used: %s. Acknowledged submissions are judged "
            "later: free disk space, or restore damaged files from a backup.",
            layout.root,
            error,
        )
        sys.exit(1)
