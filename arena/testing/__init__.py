"""The conformance suite for plugin authors: tests that what a plugin provides must pass.

There is one for metrics, modalities, mechanisms, rankers, analyses, competitors, estimators of the
Bayes error, papers, readers of cases, sandboxes and commands, and one for a plugin as a whole,
which calls each of its hooks.

In a plugin's own tests::

    from arena.testing import check_metric

    def test_my_metric():
        check_metric(WithinTenPercent()).require()

``arena metrics NAME --check`` runs the same checks on an installed metric; so do the commands
``mechanisms``, ``analyses`` and ``competitors``.
"""

from arena.testing.analyses import check_analysis, check_ranker, example_study
from arena.testing.commands import check_command
from arena.testing.competitors import CompetitorProblem, check_competitor, competitor_problem
from arena.testing.conformance import Check, Conformance, Outcome
from arena.testing.mechanisms import check_mechanism
from arena.testing.metrics import check_metric
from arena.testing.modalities import check_modality
from arena.testing.plugins import (
    check_case_reader,
    check_floor_estimator,
    check_paper,
    check_plugin,
)
from arena.testing.problems import MetricProblem, problem_for
from arena.testing.sandboxes import check_sandbox

__all__ = [
    "Check",
    "CompetitorProblem",
    "Conformance",
    "MetricProblem",
    "Outcome",
    "check_analysis",
    "check_case_reader",
    "check_command",
    "check_competitor",
    "check_floor_estimator",
    "check_mechanism",
    "check_metric",
    "check_modality",
    "check_paper",
    "check_plugin",
    "check_ranker",
    "check_sandbox",
    "competitor_problem",
    "example_study",
    "problem_for",
]
