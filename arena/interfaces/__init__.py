"""The Protocols that plugins implement, and the study that an analysis receives.

A metric must be a :class:`Metric`. Whatever else it can do is found by Protocol, never by name:
what it lacks is made up for by a slower path, and nothing is refused for lacking it.
"""

from __future__ import annotations

from arena.interfaces.analyses import Analysis, PredictionBlocks, Study, SuitsStudies
from arena.interfaces.competitors import (
    Answer,
    Competitor,
    Computation,
    ComputesAhead,
    Conduct,
    DeclaresConduct,
    HasVariants,
    KnowsLabels,
    Move,
    Participation,
    Player,
    PlaysThroughTeams,
)
from arena.interfaces.mechanisms import (
    ClipsScores,
    Evaluation,
    Mechanism,
    PublicBoard,
    ReviewsBoard,
)
from arena.interfaces.metrics import (
    ChecksPredictions,
    ChecksTruth,
    HasExample,
    HasInfluenceValues,
    HasNotes,
    HasResample,
    HasRowValues,
    HasSource,
    HasTraits,
    Metric,
    MetricFamily,
    MetricFamilyOfFiles,
    NeedsRowContext,
    PreparesSubmissions,
    SuitsKinds,
    kinds_of,
    notes_of,
    traits_of,
)

__all__ = [
    "Analysis",
    "Answer",
    "ChecksPredictions",
    "ChecksTruth",
    "ClipsScores",
    "Competitor",
    "Computation",
    "ComputesAhead",
    "Conduct",
    "DeclaresConduct",
    "Evaluation",
    "HasExample",
    "HasInfluenceValues",
    "HasNotes",
    "HasResample",
    "HasRowValues",
    "HasSource",
    "HasTraits",
    "HasVariants",
    "KnowsLabels",
    "Mechanism",
    "Metric",
    "MetricFamily",
    "MetricFamilyOfFiles",
    "Move",
    "NeedsRowContext",
    "Participation",
    "Player",
    "PlaysThroughTeams",
    "PredictionBlocks",
    "PreparesSubmissions",
    "PublicBoard",
    "ReviewsBoard",
    "Study",
    "SuitsKinds",
    "SuitsStudies",
    "kinds_of",
    "notes_of",
    "traits_of",
]
