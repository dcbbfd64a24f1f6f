"""Entry point of ``arena`` and of ``python -m arena``."""

import atexit
import gc
import os
import signal
import sys

_INTERRUPTED = 130
_NEW_OBJECTS = 500_000
"""After which Python looks for unreachable cycles. By default it is 700: while modules are imported
it then looks hundreds of times, in vain, which takes a seventh of the time of a short command."""


def run() -> None:
    """Run the program; Ctrl-C while it is imported ends it without a traceback."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    # pydantic looks for its plugins in the metadata of every installed distribution: 10 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Threads of OpenBLAS wait 2^26 cycles in a loop for work before they sleep, also for the first
    # time: a tenth of a second for a command that multiplies nothing. 2^20 are half a millisecond.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    codes: list[int] = []
    is_alone = not atexit._ncallbacks()  # _end would skip functions that are registered before it
    if is_alone:
        atexit.register(_end, codes)
    try:
        # Most of the time before a command begins: an interrupt falls into it easily.
        from arena.cli.main import main

        main()
    except KeyboardInterrupt:
        codes.append(_INTERRUPTED)
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            codes.append(end.code or 0)
        raise
    finally:
        if is_alone:
            atexit.register(_ignore_interrupts)  # as the last one it is called first


def _ignore_interrupts() -> None:
    """Keep the exit code of a command that has ended: an interrupt would only be a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _end(codes: list[int]) -> None:
    """End the process at once, after all other functions that are called at the end.

    Otherwise Python looks for cycles among all objects three times and takes apart all modules: a
    sixth of the time of a short command, for memory that the system takes back anyway. What was
    stored is closed by then; an error that is no exit ends as usual.
    """
    if not codes:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # Python reports it
    os._exit(codes[-1])


if __name__ == "__main__":
    run()
