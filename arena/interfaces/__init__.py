"""The protocols that plugins implement, and the study that an analysis receives.

A metric must satisfy :class:`Metric`; inheriting from :class:`BaseMetric` or
:class:`PointwiseMetric` is optional. A metric without an optional capability takes a slower path.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.interfaces.analyses import (
        Analysis,
        Candidates,
        PredictionBlocks,
        Study,
        SuitsStudies,
    )
    from arena.interfaces.case_scores import CaseReader, CaseScores
    from arena.interfaces.competitors import (
        Competitor,
        Computation,
        ComputesAhead,
        Conduct,
        DeclaresConduct,
        Feedback,
        HasVariants,
        KnowsLabels,
        MayStop,
        Move,
        Notebook,
        Participation,
        Player,
        PlaysThroughTeams,
        Standing,
    )
    from arena.interfaces.deferred import Deferred
    from arena.interfaces.floors import (
        FloorEstimate,
        FloorEstimator,
        FloorSettings,
        LabelColumns,
    )
    from arena.interfaces.mechanisms import (
        ClipsScores,
        Evaluation,
        ExplainsScores,
        Mechanism,
        PublicBoard,
        ReviewsBoard,
    )
    from arena.interfaces.metrics import (
        BaseMetric,
        HasCaseValues,
        HasInfluenceValues,
        HasResample,
        HasRowValues,
        Metric,
        MetricFamily,
        MetricFamilyOfFiles,
        NeedsRowContext,
        PointwiseMetric,
        PreparesSubmissions,
        faults_of_predictions,
        faults_of_truth,
        kinds_of,
        notes_of,
        source_of,
        traits_of,
    )
    from arena.interfaces.papers import (
        Paper,
        PaperOptions,
        Reproduced,
        Reproduction,
        rounded,
        within,
    )

__all__ = [
    "Analysis",
    "BaseMetric",
    "Candidates",
    "CaseReader",
    "CaseScores",
    "ClipsScores",
    "Competitor",
    "Computation",
    "ComputesAhead",
    "Conduct",
    "DeclaresConduct",
    "Deferred",
    "Evaluation",
    "ExplainsScores",
    "Feedback",
    "FloorEstimate",
    "FloorEstimator",
    "FloorSettings",
    "HasCaseValues",
    "HasInfluenceValues",
    "HasResample",
    "HasRowValues",
    "HasVariants",
    "KnowsLabels",
    "LabelColumns",
    "MayStop",
    "Mechanism",
    "Metric",
    "MetricFamily",
    "MetricFamilyOfFiles",
    "Move",
    "NeedsRowContext",
    "Notebook",
    "Paper",
    "PaperOptions",
    "Participation",
    "Player",
    "PlaysThroughTeams",
    "PointwiseMetric",
    "PredictionBlocks",
    "PreparesSubmissions",
    "PublicBoard",
    "Reproduced",
    "Reproduction",
    "ReviewsBoard",
    "Standing",
    "Study",
    "SuitsStudies",
    "faults_of_predictions",
    "faults_of_truth",
    "kinds_of",
    "notes_of",
    "rounded",
    "source_of",
    "traits_of",
    "within",
]

_MODULES = {
    "Analysis": "analyses",
    "BaseMetric": "metrics",
    "Candidates": "analyses",
    "CaseReader": "case_scores",
    "CaseScores": "case_scores",
    "ClipsScores": "mechanisms",
    "Competitor": "competitors",
    "Computation": "competitors",
    "ComputesAhead": "competitors",
    "Conduct": "competitors",
    "DeclaresConduct": "competitors",
    "Deferred": "deferred",
    "Evaluation": "mechanisms",
    "ExplainsScores": "mechanisms",
    "Feedback": "competitors",
    "FloorEstimate": "floors",
    "FloorEstimator": "floors",
    "FloorSettings": "floors",
    "HasCaseValues": "metrics",
    "HasInfluenceValues": "metrics",
    "HasResample": "metrics",
    "HasRowValues": "metrics",
    "HasVariants": "competitors",
    "KnowsLabels": "competitors",
    "LabelColumns": "floors",
    "MayStop": "competitors",
    "Mechanism": "mechanisms",
    "Metric": "metrics",
    "MetricFamily": "metrics",
    "MetricFamilyOfFiles": "metrics",
    "Move": "competitors",
    "NeedsRowContext": "metrics",
    "Notebook": "competitors",
    "Paper": "papers",
    "PaperOptions": "papers",
    "Participation": "competitors",
    "Player": "competitors",
    "PlaysThroughTeams": "competitors",
    "PointwiseMetric": "metrics",
    "PredictionBlocks": "analyses",
    "PreparesSubmissions": "metrics",
    "PublicBoard": "mechanisms",
    "Reproduced": "papers",
    "Reproduction": "papers",
    "ReviewsBoard": "mechanisms",
    "Standing": "competitors",
    "Study": "analyses",
    "SuitsStudies": "analyses",
    "faults_of_predictions": "metrics",
    "faults_of_truth": "metrics",
    "kinds_of": "metrics",
    "notes_of": "metrics",
    "rounded": "papers",
    "source_of": "metrics",
    "traits_of": "metrics",
    "within": "papers",
}
"""Name -> its module. They are imported on first use: a command needs a few of the interfaces."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'arena.interfaces' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"arena.interfaces.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
