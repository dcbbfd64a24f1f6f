"""Every kind of labels on a few rows: all that is printed, written and drawn."""

from __future__ import annotations

from typing import Any

import arena
from arena.plugin.manager import PluginManager
from arena.utils.tabular import as_json
from arena_bayes_error.charts import specification
from arena_bayes_error.output import document_of, sentences_of
from kept import check_kept_document, with_short_curves

SHARES = [0.9, 0.8, 0.95, 0.2, 0.1, 0.6, 0.3, 0.7]
ROWS = {
    "c": SHARES,
    "u": [min(share, 1 - share) for share in SHARES],
    "sign": ["yes" if share > 0.5 else "no" for share in SHARES],
    "label": ["yes", "yes", "yes", "no", "no", "no", "yes", "yes"],
    "same": ["yes"] * 8,
    "patient": ["p1", "p1", "p2", "p2", "p3", "p3", "p4", "p4"],
    "cat": [3, 0, 2, 1, 4, 0, 1, 2],
    "cow": [1, 4, 2, 3, 0, 2, 3, 2],
    "dog": [0, 1, 1, 0, 1, 3, 1, 1],
    "ann": [1, 0, 1, 1, 0, 0, 1, 1],
    "bob": [1, 1, 1, 0, 0, 0, 0, 1],
}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "soft": ("soft", {"columns": "c"}),
    "soft, groups, metrics": (
        "soft",
        {"columns": "c", "cluster": "patient", "metrics": ["brier", "log_loss", "roc_auc"]},
    ),
    "uncertainty": ("uncertainty", {"columns": "u", "level": 0.9}),
    "noisy": ("noisy", {"columns": "c", "sign": "sign"}),
    "noisy, contradicted": ("noisy", {"columns": "c", "sign": "sign", "positive": "no"}),
    "hard": ("hard", {"columns": "label", "sign": "sign"}),
    "hard, signs of one class": ("hard", {"columns": "label", "sign": "same"}),
    "hard, several": ("hard", {"columns": ["ann", "bob"]}),
    "counts": ("counts", {"columns": ["cat", "cow"], "metrics": ["brier"]}),
    "counts, signs": ("counts", {"columns": ["cat", "cow"], "sign": "sign"}),
    "positive confidence": ("positive-confidence", {"columns": "c", "prior": 0.4}),
    "scores": ("scores", {"columns": "c", "label": "label"}),
    "isotonic": ("isotonic", {"columns": "c", "label": "label"}),
    "features": ("features", {"columns": ["c", "cat"], "label": "sign"}),
    "features, three neighbours": (
        "features",
        {"columns": ["c"], "label": "sign", "neighbours": 3},
    ),
}


def test_every_answer_is_the_kept_whole() -> None:
    manager = PluginManager()
    whole = {}
    for name, (kind, options) in ASKED.items():
        answer = arena.bayes_error(ROWS, kind, **{"resamples": 20, "manager": manager, **options})
        whole[name] = {"document": document_of(answer, 0), "said": [*sentences_of(answer)]}
        if name in {"counts", "features"}:
            whole[name]["chart"] = specification(answer.found)
        if answer.fit is not None:
            whole[name]["fit"] = specification(answer.fit)
    check_kept_document("bayes-error-kinds", with_short_curves(as_json(whole)))
