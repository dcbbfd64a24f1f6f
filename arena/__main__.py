"""Entry point of ``arena`` and of ``python -m arena``."""

import sys

__all__ = ["run"]

_INTERRUPTED = 130


def run() -> None:
    """Run the program; Ctrl-C while it is imported ends it without a traceback."""
    try:
        # Most of the time before a command begins: an interrupt falls into it easily.
        from arena.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
