"""Files that look larger than they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


def set_size(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    """Let every path be a file of this size for who asks :meth:`pathlib.Path.stat`."""
    result = os.stat_result((stat.S_IFREG | 0o600, *[0] * 5, n_bytes, *[0] * 3))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: result)
