"""The conformance suite for plugin authors: what arena asks of a plugin's items, as tests.

In a plugin's own tests::

    from arena.testing import check_metric

    def test_my_metric():
        check_metric(WithinTenPercent()).require()

``arena metrics NAME --check`` runs the same on an installed metric.
"""

from arena.testing.analyses import check_analysis, example_study
from arena.testing.conformance import Check, Conformance, Outcome
from arena.testing.mechanisms import check_mechanism
from arena.testing.metrics import check_metric
from arena.testing.problems import MetricProblem, problem_for

__all__ = [
    "Check",
    "Conformance",
    "MetricProblem",
    "Outcome",
    "check_analysis",
    "check_mechanism",
    "check_metric",
    "example_study",
    "problem_for",
]
