"""Modalities conform, mistakes in them are found, and one from outside works like arena's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena import BoardSettings, ScoreSettings, score
from arena.hookspecs import hookimpl
from arena.interfaces import CellFault, Modality, PlainTable, PointwiseMetric, modality_of
from arena.interfaces.faults import FaultList
from arena.plugin.manager import PluginManager
from arena.testing import check_modality
from arena.types import FloatArray, IntArray, PredictionKind, RawTable

MANAGER = PluginManager()


@pytest.mark.parametrize("entry", list(MANAGER.modalities), ids=lambda entry: entry.name)
def test_every_modality_of_ours_conforms(entry: Any) -> None:
    check_modality(entry.item).require()


def test_every_metric_has_a_modality_that_is_provided() -> None:
    provided = {type(entry.item) for entry in MANAGER.modalities} | {PlainTable}
    assert {type(modality_of(entry.item)) for entry in MANAGER.metrics} <= provided


class _Mutable(Modality):
    name = "not comparable"


class _EqualOnly(Modality):
    name = "equal only"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _EqualOnly)

    __hash__ = object.__hash__


class _HashedOnly(Modality):
    name = "hashed only"

    def __hash__(self) -> int:
        return 7

    __eq__ = object.__eq__


@dataclass(frozen=True)
class _Sorting(Modality):
    name = "sorting"

    def arrange(
        self, table: RawTable, id_column: str, faults: FaultList, single: Collection[str] = ()
    ) -> RawTable:
        return RawTable(
            table.names, tuple(column[::-1] for column in table.columns), table.row_number
        )


@pytest.mark.parametrize(
    ("modality", "check"),
    [
        (_Mutable(), "its copy in another process"),
        (_EqualOnly(), "its copy in another process"),
        (_HashedOnly(), "its copy in another process"),
        (_Sorting(), "the rows of a table"),
    ],
)
def test_mistakes_are_found(modality: Modality, check: str) -> None:
    assert [check.name for check in check_modality(modality).failed] == [check]


@dataclass(frozen=True)
class Quantiles(Modality):
    """A column for each quantile, which must not cross."""

    levels: tuple[float, ...] = (0.1, 0.5, 0.9)

    name = "quantiles"

    def sent_columns(self, targets: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"q{level}" for level in self.levels)

    def faults(self, values: npt.NDArray[Any], sizes: IntArray | None) -> Iterable[CellFault]:
        for row, column in np.argwhere(np.diff(values, axis=1) < 0).tolist():
            message = "The quantile is below the previous one: sort them."
            yield CellFault("crossing quantiles", row, column + 1, message)


@dataclass(frozen=True)
class Pinball(PointwiseMetric):
    """The mean quantile loss."""

    name = "pinball"
    greater_is_better = False
    prediction = PredictionKind.VALUE
    modality = Quantiles()

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        error, level = truth[:, None] - predictions, np.array(self.modality.levels)
        return np.maximum(level * error, (level - 1) * error).mean(axis=2)


class _Plugin:
    @hookimpl
    def provide_metrics(self) -> list[Pinball]:
        return [Pinball()]

    @hookimpl
    def provide_modalities(self) -> list[Quantiles]:
        return [Quantiles()]


@pytest.mark.slow
def test_quantiles_from_a_plugin_are_read_checked_and_scored(tmp_path: Path) -> None:
    check_modality(Quantiles()).require()
    manager = PluginManager()
    manager.register(_Plugin(), "quantiles")
    (tmp_path / "s.csv").write_text("id,y\n" + "".join(f"r{i},{i}\n" for i in range(20)))
    for team, spread in (("wide", 4), ("narrow", 1), ("crossing", -1)):
        rows = (f"{i - spread},{i},{i + spread},r{i}\n" for i in range(20))
        (tmp_path / f"{team}.csv").write_text("q0.1,q0.5,q0.9,id\n" + "".join(rows))
    result = score(
        tmp_path / "s.csv",
        [tmp_path / f"{team}.csv" for team in ("wide", "narrow", "crossing")],
        ScoreSettings(metric="pinball", board=BoardSettings(intervals=False)),
        manager=manager,
    )
    assert [(row["team"], round(row["score"], 9)) for row in result.standings] == [
        ("narrow", round(2 * 0.1 / 3, 9)),
        ("wide", round(2 * 0.1 * 4 / 3, 9)),
    ]
    (rejected,) = result.rejected
    kinds = {(fault.kind, fault.row, fault.column) for fault in rejected.faults if fault.row}
    assert ("crossing quantiles", 2, "q0.5") in kinds
