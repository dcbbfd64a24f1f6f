"""Entry point of ``arena`` and of ``python -m arena``."""

import gc
import sys

_INTERRUPTED = 130
_NEW_OBJECTS = 500_000
"""After which Python looks for unreachable cycles. By default it is 700: while modules are imported
it then looks hundreds of times, in vain, which takes a seventh of the time of a short command."""


def run() -> None:
    """Run the program; Ctrl-C while it is imported ends it without a traceback."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        # Most of the time before a command begins: an interrupt falls into it easily.
        from arena.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
