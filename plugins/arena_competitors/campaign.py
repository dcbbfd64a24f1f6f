"""Attacks repeated, on average: each attacker against each mechanism, with standard errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.execution import Progress, Silence
from arena.interfaces import Competitor, HasVariants, Mechanism
from arena.scopes import Scope
from arena.types import FloatArray
from arena_competitors.naming import written
from arena_competitors.play import Point, checkpoints, play
from arena_competitors.public_board import BoardSettings
from arena_competitors.rows import Rows

__all__ = ["MEASURES", "Campaign", "Curve", "MakeRows"]

MakeRows = Callable[[np.random.Generator], Rows]
"""Makes the rows of one repetition: the same ones for every attack and mechanism."""

MEASURES = tuple(field.name for field in dataclasses.fields(Point) if field.name != "submissions")
"""What is averaged over the repetitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """How an attack fares against a mechanism as it sends more, on average over repetitions."""

    attack: str
    setting: str
    """The attack with the setting that was strongest, where it has several."""
    mechanism: str
    submissions: tuple[int, ...]
    mean: Mapping[str, FloatArray]
    """``(n_points,)`` of each of ``MEASURES``."""
    standard_error: Mapping[str, FloatArray]
    """The same; NaN after a single repetition."""

    @property
    def last_bias(self) -> float:
        """The bias after all submissions."""
        return float(self.mean["bias"][-1])

    @property
    def largest_bias(self) -> float:
        """The largest bias on the way."""
        return float(self.mean["bias"].max())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return it as JSON: one object per point."""
        rows = []
        for at, submissions in enumerate(self.submissions):
            row: dict[str, Any] = {
                "attack": self.attack,
                "setting": self.setting,
                "mechanism": self.mechanism,
                "submissions": submissions,
            }
            for name in MEASURES:
                error = float(self.standard_error[name][at])
                row[name] = float(self.mean[name][at])
                row[f"{name}_se"] = error if np.isfinite(error) else None
            rows.append(row)
        return rows


@dataclass(frozen=True, slots=True)
class Campaign:
    """How attacks are repeated.

    Every repetition has rows, an attacker and a mechanism of its own chance, and the same for
    every attack and mechanism, so that two of them differ by less than their standard errors.
    """

    make_rows: MakeRows
    submissions: int
    repeats: int
    scope: Scope = "team"
    seed: int = 0

    @property
    def settings(self) -> BoardSettings:
        """What is decided of the board."""
        return BoardSettings(self.submissions, self.scope)

    def rows(self, repetition: int) -> Rows:
        """Return the rows of a repetition, counted from 0."""
        return self.make_rows(np.random.default_rng(self._streams(repetition)[0]))

    def run(
        self,
        attacks: Mapping[str, Competitor],
        mechanisms: Mapping[str, Mechanism],
        progress: Progress | None = None,
    ) -> list[Curve]:
        """Return a curve for every attack and mechanism, in their order, by name.

        Of an attack with several settings, the one that ends with the largest bias counts.

        Raises
        ------
        UsageError
            If an attack does not suit the metric.
        """
        progress = progress or Silence()
        settings = {name: _settings_of(name, attack) for name, attack in attacks.items()}
        plays = sum(map(len, settings.values())) * len(mechanisms) * self.repeats
        progress.start("Attacking", plays)
        return [
            max(
                (
                    self._curve(name, setting, competitor, label, mechanism, progress)
                    for setting, competitor in settings[name]
                ),
                key=lambda curve: curve.last_bias,
            )
            for name in attacks
            for label, mechanism in mechanisms.items()
        ]

    def _curve(
        self,
        attack: str,
        setting: str,
        competitor: Competitor,
        label: str,
        mechanism: Mechanism,
        progress: Progress,
    ) -> Curve:
        at = checkpoints(self.submissions)
        values = np.empty((self.repeats, len(at), len(MEASURES)))
        for repetition in range(self.repeats):
            points = self._play(repetition, competitor, mechanism, at)
            values[repetition] = [[getattr(point, name) for name in MEASURES] for point in points]
            progress.advance()
        mean, error = values.mean(axis=0), np.full(values.shape[1:], np.nan)
        if self.repeats > 1:
            error = values.std(axis=0, ddof=1) / np.sqrt(self.repeats)
        return Curve(
            attack=attack,
            setting=setting,
            mechanism=label,
            submissions=at,
            mean=dict(zip(MEASURES, mean.T, strict=True)),
            standard_error=dict(zip(MEASURES, error.T, strict=True)),
        )

    def _play(
        self, repetition: int, competitor: Competitor, mechanism: Mechanism, at: Sequence[int]
    ) -> list[Point]:
        _, player, noise = self._streams(repetition)
        rng, seed = np.random.default_rng(player), int(noise.generate_state(1)[0])
        return play(competitor, mechanism, self.rows(repetition), self.settings, at, rng, seed)

    def _streams(self, repetition: int) -> list[np.random.SeedSequence]:
        return np.random.SeedSequence(self.seed, spawn_key=(repetition,)).spawn(3)


def _settings_of(name: str, attack: Competitor) -> list[tuple[str, Competitor]]:
    """Return the settings of an attack by the name that asks for each of them."""
    if not isinstance(attack, HasVariants):
        return [(name, attack)]
    variants = attack.variants()
    if len(variants) == 1:
        return [(name, variants[0])]
    return [(written(variant), variant) for variant in variants]
