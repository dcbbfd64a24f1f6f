"""What a plan says about the public board: the figure of an attack, and its measured results."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import ndtr

from arena.errors import InputError, UsageError
from arena.simulation.plan.mechanisms import attack_bias, read_attacks
from arena_competitors.functions import attack


@pytest.mark.slow
def test_a_weighted_vote_reaches_more_by_the_factor_that_is_said():
    campaigns = attack("boosting(vote=signed)", "full", rows=4_000, submissions=400, repeats=20)
    weighted = ndtr(np.sqrt(0.1)) - 0.5
    assert campaigns.verdicts[0].bias == pytest.approx(weighted, rel=0.1)
    assert 1.6 < weighted / attack_bias((0.0, 1.0), 400, 4_000) < 1.8


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "balanced_accuracy", "f1"])
def test_the_formula_is_what_the_attack_measures(metric):
    campaigns = attack(mechanisms="full", metric=metric, rows=1_714, submissions=150, repeats=40)
    assert campaigns.verdicts[0].bias == pytest.approx(
        attack_bias((0.0, 1.0), 150, 1_714), rel=0.15
    )


def test_attacks_are_read_as_they_are_printed(tmp_path):
    path = tmp_path / "attack.json"
    measured = attack(mechanisms="full", rows=200, submissions=5, repeats=1)
    path.write_text(json.dumps(measured.to_dict()))
    (full,) = read_attacks(path, "accuracy")
    assert (full.mechanism, full.submissions, full.public_rows) == ("full", 5, 200)
    with pytest.raises(UsageError, match="attacks on accuracy"):
        read_attacks(path, "roc_auc")
    path.write_text("{}")
    with pytest.raises(InputError, match="is not what arena attack --json prints"):
        read_attacks(path, "accuracy")
