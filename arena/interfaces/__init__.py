"""The protocols that plugins implement, and the study that an analysis receives.

A metric must satisfy :class:`Metric`; inheriting from :class:`BaseMetric` or
:class:`PointwiseMetric` is optional. A metric without an optional capability takes a slower path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from arena.interfaces.analyses import (
        Analysis,
        Candidates,
        GroupInfluence,
        PredictionBlocks,
        Ranker,
        RankSets,
        ScoresTogether,
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
        SendsPrograms,
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
        Scope,
    )
    from arena.interfaces.metrics import (
        BaseMetric,
        CountsCases,
        HasCaseValues,
        HasInfluenceValues,
        HasResample,
        HasRowValues,
        Metric,
        MetricFamily,
        MetricFamilyOfFiles,
        MetricOfSums,
        NeedsClasses,
        NeedsRowContext,
        PointwiseMetric,
        PreparesSubmissions,
        faults_of_predictions,
        faults_of_truth,
        kinds_of,
        modality_of,
        notes_of,
        source_of,
        traits_of,
    )
    from arena.interfaces.modalities import TABLE, CellFault, Modality, PlainTable, ReadFile
    from arena.interfaces.papers import (
        Paper,
        PaperOptions,
        Reproduced,
        Reproduction,
        rounded,
        within,
    )
    from arena.interfaces.sandboxes import Box, End, Job, Outcome, Sandbox

__all__ = [
    "TABLE",
    "Analysis",
    "BaseMetric",
    "Box",
    "Candidates",
    "CaseReader",
    "CaseScores",
    "CellFault",
    "ClipsScores",
    "Competitor",
    "Computation",
    "ComputesAhead",
    "Conduct",
    "CountsCases",
    "DeclaresConduct",
    "Deferred",
    "End",
    "Evaluation",
    "ExplainsScores",
    "Feedback",
    "FloorEstimate",
    "FloorEstimator",
    "FloorSettings",
    "GroupInfluence",
    "HasCaseValues",
    "HasInfluenceValues",
    "HasResample",
    "HasRowValues",
    "HasVariants",
    "Job",
    "KnowsLabels",
    "LabelColumns",
    "MayStop",
    "Mechanism",
    "Metric",
    "MetricFamily",
    "MetricFamilyOfFiles",
    "MetricOfSums",
    "Modality",
    "Move",
    "NeedsClasses",
    "NeedsRowContext",
    "Notebook",
    "Outcome",
    "Paper",
    "PaperOptions",
    "Participation",
    "PlainTable",
    "Player",
    "PlaysThroughTeams",
    "PointwiseMetric",
    "PredictionBlocks",
    "PreparesSubmissions",
    "PublicBoard",
    "RankSets",
    "Ranker",
    "ReadFile",
    "Reproduced",
    "Reproduction",
    "ReviewsBoard",
    "Sandbox",
    "Scope",
    "ScoresTogether",
    "SendsPrograms",
    "Standing",
    "Study",
    "SuitsStudies",
    "faults_of_predictions",
    "faults_of_truth",
    "kinds_of",
    "modality_of",
    "notes_of",
    "rounded",
    "source_of",
    "traits_of",
    "within",
]

# A command needs a few of the interfaces.
__getattr__, __dir__ = lazy_exports(__name__, __file__)
