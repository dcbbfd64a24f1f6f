"""Repeated attacks: each attacker against each mechanism, means with standard errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

from arena.interfaces import Competitor, HasVariants, Mechanism, Scope
from arena.types import FloatArray
from arena.utils.engines import Engine, cluster_in_use, local_engine
from arena.utils.finished_tasks import tasks_in_use
from arena.utils.parallel import NoProgress, Progress
from arena.utils.task_digests import digest_of
from arena_competitors.attack import Point, checkpoints, play
from arena_competitors.naming import written
from arena_competitors.public_board import BoardSettings
from arena_competitors.rows import Rows

_Play: TypeAlias = tuple[int, Competitor, Mechanism, tuple[int, ...]]
"""Repetition, competitor, mechanism, and the numbers of submissions at which it is measured."""
MakeRows = Callable[[np.random.Generator], Rows]
"""Makes the rows of one repetition: the same ones for every attack and mechanism."""

MEASURES = tuple(field.name for field in dataclasses.fields(Point) if field.name != "submissions")
"""The curves that are averaged over the repetitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The mean result of an attack on a mechanism by the number of submissions."""

    attack: str
    """The attack."""
    setting: str
    """The attack with the setting that was strongest, where it has several."""
    mechanism: str
    """The mechanism."""
    submissions: tuple[int, ...]
    """Numbers of submissions at which the results are known."""
    mean: Mapping[str, FloatArray]
    """``(n_points,)`` of each of ``MEASURES``."""
    standard_error: Mapping[str, FloatArray]
    """The same; NaN after a single repetition."""
    repeats: int
    """Number of repetitions."""

    @property
    def last_bias(self) -> float:
        """The bias after all submissions."""
        return float(self.mean["bias"][-1])

    @property
    def largest_bias(self) -> float:
        """The largest bias at any number of submissions."""
        return float(self.mean["bias"].max())

    @property
    def bias_bound(self) -> float | None:
        """The largest one-sided 95% upper bound of the bias by Student's t; None: 1 repetition."""
        error = self.standard_error["bias"]
        if self.repeats < 2:
            return None
        return float((self.mean["bias"] + stdtrit(self.repeats - 1, 0.95) * error).max())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return it as JSON: one object per point."""
        rows = []
        for position, submissions in enumerate(self.submissions):
            row: dict[str, Any] = {
                "attack": self.attack,
                "setting": self.setting,
                "mechanism": self.mechanism,
                "submissions": submissions,
            }
            for name in MEASURES:
                error = float(self.standard_error[name][position])
                row[name] = float(self.mean[name][position])
                row[f"{name}_se"] = error if np.isfinite(error) else None
            rows.append(row)
        return rows


@dataclass(frozen=True, slots=True)
class Campaign:
    """The repetitions of attacks.

    Every repetition draws its own random numbers for rows, attacker and mechanism. They are the
    same for every attack and mechanism, which reduces the variance of differences.
    """

    make_rows: MakeRows
    """Draws the rows of a repetition."""
    submissions: int
    """Submissions before the attacker's last one."""
    repeats: int
    """Number of repetitions."""
    scope: Scope = "team"
    """What has an instance of the mechanism."""
    seed: int = 0
    """The seed of all random numbers."""

    @property
    def settings(self) -> BoardSettings:
        """The organiser's settings of the board."""
        return BoardSettings(self.submissions, self.scope)

    def rows(self, repetition: int) -> Rows:
        """Return the rows of a repetition, counted from 0."""
        return self.make_rows(np.random.default_rng(self._streams(repetition)[0]))

    def run(
        self,
        attacks: Mapping[str, Competitor],
        mechanisms: Mapping[str, Mechanism],
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> list[Curve]:
        """Return a curve for every attack and mechanism, in their order, by name.

        For an attack with several settings, the one with the largest final bias is returned. The
        repetitions run on the engine; None: on a cluster in use, else in this process. If the
        command keeps finished tasks, those that it has are not repeated.

        Raises
        ------
        UsageError
            If an attack does not suit the metric.
        """
        progress = progress or NoProgress()
        submission_counts = checkpoints(self.submissions)
        curves = [
            (name, setting, competitor, label, mechanism)
            for name, attack in attacks.items()
            for label, mechanism in mechanisms.items()
            for setting, competitor in _settings_of(name, attack)
        ]
        plays = [
            (repetition, competitor, mechanism, submission_counts)
            for _, _, competitor, _, mechanism in curves
            for repetition in range(self.repeats)
        ]
        progress.start("Attacking", len(plays))
        engine = engine or cluster_in_use() or local_engine(1)
        played = self._played(plays, engine, progress)
        best_curves: dict[tuple[str, str], Curve] = {}
        for name, setting, _, label, _ in curves:
            values = np.empty((self.repeats, len(submission_counts), len(MEASURES)))
            for repetition in range(self.repeats):
                values[repetition] = next(played)
                progress.advance()
            curve = self._curve(
                name, setting, label=label, submission_counts=submission_counts, values=values
            )
            best = best_curves.setdefault((name, label), curve)
            if curve.last_bias > best.last_bias:
                best_curves[name, label] = curve
        return list(best_curves.values())

    def _played(
        self, plays: Sequence[_Play], engine: Engine, progress: Progress
    ) -> Iterator[FloatArray]:
        """Yield the ``(n_points, n_measures)`` results of repetitions, in order."""
        tasks, keys = tasks_in_use(), [""] * len(plays)
        kept_results: list[FloatArray | None] = [None] * len(plays)
        if tasks is not None:
            campaign = (self.make_rows, self.settings, self.seed)
            digests = [digest_of("attack", *campaign, *play) for play in plays]
            if None in digests:
                progress.say(
                    "Some of the attacks or mechanisms cannot be compared with another time: they "
                    "are not kept."
                )
            keys = [key or "" for key in digests]
            kept_results = [next(iter(tasks.get(key)), None) if key else None for key in keys]
            n_kept = sum(play_kept is not None for play_kept in kept_results)
            tasks.say_found(n_kept, len(plays), "repetitions")
        missing = (
            play for play, play_kept in zip(plays, kept_results, strict=True) if play_kept is None
        )
        results = engine.run(play_attack, (self,), missing)
        shape = (-1, len(MEASURES))
        for key, play_kept in zip(keys, kept_results, strict=True):
            if play_kept is not None:
                yield play_kept.reshape(shape)
                continue
            points = next(results)
            values = np.array([[getattr(point, name) for name in MEASURES] for point in points])
            if tasks is not None and key:
                tasks.put(key, values)
            yield values.astype(np.float64)

    def _curve(
        self,
        attack: str,
        setting: str,
        label: str,
        submission_counts: tuple[int, ...],
        values: FloatArray,
    ) -> Curve:
        mean, error = values.mean(axis=0), np.full(values.shape[1:], np.nan)
        if self.repeats > 1:
            error = values.std(axis=0, ddof=1) / np.sqrt(self.repeats)
        return Curve(
            attack=attack,
            setting=setting,
            mechanism=label,
            submissions=submission_counts,
            mean=dict(zip(MEASURES, mean.T, strict=True)),
            standard_error=dict(zip(MEASURES, error.T, strict=True)),
            repeats=self.repeats,
        )

    def play(
        self,
        repetition: int,
        competitor: Competitor,
        mechanism: Mechanism,
        submission_counts: Sequence[int],
    ) -> list[Point]:
        """Return the points of one repetition of an attack on a mechanism."""
        _, player, noise = self._streams(repetition)
        rng, seed = np.random.default_rng(player), int(noise.generate_state(1)[0])
        return play(
            competitor,
            mechanism,
            rows=self.rows(repetition),
            settings=self.settings,
            checkpoints=submission_counts,
            rng=rng,
            seed=seed,
        )

    def _streams(self, repetition: int) -> list[np.random.SeedSequence]:
        return np.random.SeedSequence(self.seed, spawn_key=(repetition,)).spawn(3)


def play_attack(
    campaign: Campaign,
    repetition: int,
    competitor: Competitor,
    mechanism: Mechanism,
    submission_counts: Sequence[int],
) -> list[Point]:
    """Play an attack once; a function of its own, which a process can be sent."""
    return campaign.play(repetition, competitor, mechanism, submission_counts)


def _settings_of(name: str, attack: Competitor) -> list[tuple[str, Competitor]]:
    """Return the settings of an attack with their specifications."""
    if not isinstance(attack, HasVariants):
        return [(name, attack)]
    variants = attack.variants()
    if len(variants) == 1:
        return [(name, variants[0])]
    return [(written(variant), variant) for variant in variants]
