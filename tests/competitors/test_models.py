"""What families of models are drawn from."""

from __future__ import annotations

from arena_competitors.scikit_learn.models import _MOST_CATEGORIES, _ROUNDS, _TREES, FAMILIES
from kept import check_kept_document


def test_settings_of_families_are_kept() -> None:
    sizes = {"trees": _TREES, "rounds": _ROUNDS, "categories": _MOST_CATEGORIES}
    check_kept_document("training-families", {"families": FAMILIES, "sizes": sizes})
