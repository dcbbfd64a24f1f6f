"""Every kind of labels on a few rows: all that is printed, written and drawn."""

from __future__ import annotations

from typing import Any

import arena
from arena.errors import ArenaError
from arena.plugin.manager import PluginManager
from arena.utils.tabular import as_json
from arena_bayes_error.charts import specification
from arena_bayes_error.output import document_of, sentences_of
from kept import check_kept, check_kept_document, with_short_curves

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
    "clinic": ["x", "y", "y", "z", "z", "z", "w", "w"],
    "none": [0.0] * 8,
    "s1": [0.5, 0.2, 0.1, 1.0, 0.3, 0.0, 0.6, 0.25],
    "s2": [0.3, 0.2, 0.1, 0.0, 0.3, 0.5, 0.1, 0.5],
    "s3": [0.2, 0.6, 0.8, 0.0, 0.4, 0.5, 0.3, 0.25],
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
    "hard, several texts": ("hard", {"columns": ["label", "sign"], "positive": "no"}),
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
    "soft, classes": ("soft", {"columns": ["s1", "s2", "s3"], "metrics": ["accuracy", "log_loss"]}),
    "soft, positive classes": (
        "soft",
        {"columns": ["s1", "s2", "s3"], "positive": "s1,s2", "metrics": ["average_precision"]},
    ),
    "soft, many draws": ("soft", {"columns": "c", "resamples": 300, "delta": 0.2}),
    "hard, label": ("hard", {"label": "label", "sign": "sign"}),
    "hard, columns and no label": (
        "hard",
        {"columns": "label", "label": "ann", "sign": "sign", "positive": "no"},
    ),
    "counts, positive classes": (
        "counts",
        {"columns": ["cat", "cow", "dog"], "positive": "cat,dog", "sign": "sign"},
    ),
    **{
        f"{kind}, groups": (kind, {"cluster": "clinic", **options})
        for kind, options in {
            "uncertainty": {"columns": "u"},
            "noisy": {"columns": "c", "sign": "sign"},
            "counts": {"columns": ["cat", "cow"]},
            "positive-confidence": {"columns": "c", "prior": 0.4},
            "scores": {"columns": "c", "label": "label"},
            "isotonic": {"columns": "c", "label": "label"},
        }.items()
    },
}
KINDS = [*dict.fromkeys(kind for kind, _ in ASKED.values())]
OPTIONS: dict[str, Any] = {
    "sign": "sign", "label": "label", "positive": "yes", "prior": 0.4, "cluster": "patient",
    "metrics": "brier", "neighbours": 1,
}  # fmt: skip
REFUSED: list[tuple[Any, str, dict[str, Any]]] = [
    *((ROWS, kind, {"columns": "c", name: value}) for kind in KINDS
      for name, value in OPTIONS.items()),
    *((ROWS, kind, {"columns": column}) for kind in KINDS for column in ("label", "absent", ())),
    *(([0.5, value], "soft", {}) for value in (-0.1, 1.1, float("nan"), float("inf"))),
    *(([[0.5, 0.5], [0.5, value]], "soft", {}) for value in (0.4, 0.6)),
    *(([*[value] * n, 0.5], "soft", {}) for value, n in ((-0.1, 5), (1.5, 6), (101, 7))),
    *(([0.2, value], "soft", {}) for value in (100, 100.5)),
    ([-1, 50], "soft", {}),
    *(([0.2, value], "uncertainty", {}) for value in (0.5, 1, 2)),
    *(([[0.5, 0.5], [value, 0]], "soft", {}) for value in (0.998, 0.9995, 1.002, 2, 1.5)),
    *(([[1, 1], row], "counts", {}) for row in ([1, 0], [1.5, 0])),
    *(([[1, 1], [0, value]], "counts", {}) for value in (1_000_000, 1_000_001)),
    ([[0.5], [0.5]], "soft", {}),
    ([0.5, float("nan"), 2], "soft", {}),
    ([[0.5, 0.5, 0.0]] * 2, "soft", {"metrics": "roc_auc"}),
    ([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], "soft", {"metrics": "roc_auc"}),
    ([0.5, 0.5], "soft", {"metrics": "rmse"}),
    ([0.0, 0.0], "soft", {"metrics": "roc_auc"}),
    ([0.5], "soft", {}),
    ({}, "soft", {}),
    ({"a": [0.5, 0.4], "b": [0.5]}, "soft", {"columns": "a"}),
    ([0.5, 0.4], "soft", {"seed": -1}),
    ([0.5, 0.4], "soft", {"seed": 0.5}),
    *(([0.5, 0.4], "soft", {name: value}) for name in ("level", "delta") for value in (0, 1)),
    ([0.5, 0.4], "soft", {"resamples": 1}),
    *(([0.5, value], "uncertainty", {}) for value in (-0.1, 0.6)),
    *(([[1, 2], [value, 2]], "counts", {}) for value in (-1, 0.5)),
    ([[1, 0], [0, 1]], "counts", {}),
    ([[1, 1], [0, 0]], "counts", {}),
    ([1, 2], "counts", {}),
    ([[1, 2], [2, 1]], "counts", {"metrics": "log_loss"}),
    ([[1, 2], [2, 1]], "counts", {"positive": "0,1"}),
    ([[1, 2], [2, 1]], "counts", {"positive": "2"}),
    ([[1, 0], [1, 0]], "counts", {"metrics": "brier"}),
    *(([0.5, value], "positive-confidence", {"prior": 0.5}) for value in (0, 1.1)),
    *(([0.5, 0.5], "positive-confidence", {"prior": value}) for value in (0, 1)),
    ([[1, 0], [2, 0]], "hard", {}),
    *((ROWS, "hard", {"columns": ["label", other]}) for other in ("patient", "ann")),
    ({"a": ["yes"] * 4, "b": ["yes"] * 4}, "hard", {"columns": ["a", "b"]}),
    (ROWS, "hard", {"columns": ["label", "sign"], "positive": "maybe"}),
    *((ROWS, "features", {"columns": "c", "label": "sign", "neighbours": value})
      for value in (0, 2, 8)),
    (ROWS, "features", {"columns": "c", "label": "same"}),
    (ROWS, "features", {"columns": "c", "label": "patient", "neighbours": 3}),
    (ROWS, "scores", {"columns": "none", "label": "same"}),
    (ROWS, "scores", {"columns": "c", "label": "sign"}),
    (ROWS, "scores", {"columns": "c", "label": "patient"}),
    (ROWS, "noisy", {"columns": "c", "sign": "patient"}),
    (ROWS, "noisy", {"columns": "c", "sign": "sign", "positive": "maybe"}),
]  # fmt: skip


def test_refusals_are_kept() -> None:
    manager, lines = PluginManager(), []
    for labels, kind, options in REFUSED:
        try:
            arena.bayes_error(labels, kind, **{"resamples": 20, "manager": manager, **options})
            message = "taken"
        except ArenaError as error:
            message = str(error)
        lines += [f"# {kind} of {'ROWS' if labels is ROWS else labels}, {options}", message]
    check_kept("bayes-error-refused.txt", "\n".join(lines))


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


def test_observed_shares_are_those_of_twenty_bins_of_equally_many_rows() -> None:
    """Sixty scores from 0 to 59, of which every third is positive: three rows in each bin."""
    labels = {"s": list(range(60)), "y": ["yes" if row % 3 == 0 else "no" for row in range(60)]}
    answer = arena.bayes_error(
        labels, "scores", columns="s", label="y", positive="yes", resamples=2
    )
    layers = specification(answer.fit)["layer"]
    points = next(
        values
        for layer in layers
        if (values := layer.get("data", {}).get("values")) and "rows" in values[0]
    )
    assert [point["score"] for point in points] == [3 * number + 1 for number in range(20)]
    assert {(point["rows"], round(point["share"], 9)) for point in points} == {(3, 0.333333333)}
