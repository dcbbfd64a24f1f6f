"""Fields of public settings and results are documented, and results fit into a notebook."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing

import arena
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.scoring.estimators import MetricScorer
from arena.scoring.result import ScoreResult
from arena.simulation.competition.comparison import MechanismComparison
from arena.simulation.plan.organiser import Advice
from arena.simulation.ranks.study import RankSimulation
from arena.types import Finding
from arena.utils.representation import short_repr

_INTERNAL = {"AttackStudy", "MetricScorer", "Request", "Rows", "Taken"}
"""What is inside an attack, a scorer that is called only, and a row of the server's queue."""


def _reached() -> list[type]:
    """Return the dataclasses of ``arena.__all__``, and those in the results of its functions."""
    found: dict[type, None] = {}
    waiting: list[typing.Any] = [Advice, MechanismComparison, RankSimulation]
    for name in arena.__all__:
        one = getattr(arena, name)
        if inspect.isclass(one):
            waiting.append(one)
        elif inspect.isfunction(one):
            waiting.append(typing.get_type_hints(one)["return"])
    names = {"Study": Study, "Finding": Finding, "PluginManager": PluginManager}
    while waiting:
        one = waiting.pop()
        waiting += typing.get_args(one)
        if not inspect.isclass(one) or one in found or not dataclasses.is_dataclass(one):
            continue
        if one.__name__ not in _INTERNAL and one is not Study:
            found[one] = None
            waiting += typing.get_type_hints(one, localns=names).values()
    return sorted(found, key=lambda one: f"{one.__module__}.{one.__name__}")


def test_every_field_is_documented() -> None:
    bare = []
    for kind in _reached():
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(tree, ast.ClassDef)
        bare += [
            f"{kind.__name__}.{field.target.id}"
            for field, after in zip(tree.body, [*tree.body[1:], None], strict=True)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and "Choice(" not in ast.unparse(field.annotation)
            and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
        ]
    assert not bare, bare


def test_a_result_fits_into_a_notebook() -> None:
    functions = [getattr(arena, name) for name in arena.__all__]
    results = {
        typing.get_type_hints(function)["return"]
        for function in functions
        if inspect.isfunction(function)
    }
    records = {kind for kind in results if dataclasses.is_dataclass(kind)} - {MetricScorer}
    assert {kind.__repr__ for kind in records} == {short_repr, ScoreResult.__repr__}
