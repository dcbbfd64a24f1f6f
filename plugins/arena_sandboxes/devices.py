"""The device nodes of the GPUs that a run may use."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path

from arena.errors import SandboxError


def gpu_nodes(pattern: str, count: int) -> Sequence[Path]:
    """Return the nodes of so many GPUs, and those that all of them share.

    Raises
    ------
    SandboxError
        If there are fewer GPUs.

    Examples
    --------
    >>> gpu_nodes("/dev/nvidia*", 0)
    ()
    """
    if not count:
        return ()
    nodes = sorted(Path(name) for name in glob.glob(pattern))  # noqa: PTH207 - an absolute pattern
    nodes = [node for node in nodes if node.is_char_device()]
    of_one = [node for node in nodes if re.search(r"\d$", node.name)]
    if len(of_one) < count:
        raise SandboxError(
            f"A run needs {count} GPUs, and {pattern} are {len(of_one)} on this machine."
        )
    return (*of_one[:count], *(node for node in nodes if node not in of_one))
