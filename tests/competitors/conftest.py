"""What tests of attackers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks import LADDER_DATA


@pytest.fixture
def ladder_data() -> Path:
    """Provide the folder of the authors' own result files."""
    if not LADDER_DATA.is_dir():
        pytest.skip("the authors' result files are not here")
    return LADDER_DATA
