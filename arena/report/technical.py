"""The last part of a report: how the figures were computed, and from what."""

from __future__ import annotations

import functools
import platform
import re
from importlib import metadata
from typing import Any

from arena.evaluation.similar import describe_similar
from arena.plugin.manager import PluginManager
from arena.scoring.result import ScoreResult
from arena.types import Section, Table
from arena.utils.distribution import DISTRIBUTION
from arena.utils.formatting import level_text
from arena.utils.text import plural


def technical_sections(result: ScoreResult, manager: PluginManager) -> list[Section]:
    """Return settings, notes, software and inputs of a result."""
    of_copies = {describe_similar(pair) for pair in result.similar}
    remarks = [note for note in result.notes if note not in of_copies]
    notes = [Section("Notes", "\n\n".join(remarks))] if remarks else []
    inputs = Table("Inputs", ("file", "sha256"), result.inputs)
    return [
        _settings(result),
        *notes,
        software_section(manager),
        *([Section("Inputs", "", (inputs,))] if result.inputs else []),
    ]


def _settings(result: ScoreResult) -> Section:
    words = result.words
    # A metric of whole files counts cases.
    n_units = result.n_rows if result.study is None else len(result.study.truth)
    text = (
        f"The {n_units:,} ranked {words.rows} were drawn again with replacement "
        f"{plural(result.resamples, 'time')} (bootstrap), every {words.submission} was scored on "
        "each of these resamples, and all intervals, shares and spreads come from those scores. "
        f"{words.rows.capitalize()} of one group were drawn together. The same seed and inputs "
        "give the same figures."
    )
    rows: tuple[tuple[str, Any], ...] = (
        ("metric", result.metric),
        ("a larger score is better", result.greater_is_better),
        ("ranked on", result.ranked_on),
        ("positive label", result.positive),
        ("confidence level", level_text(result.level)),
        ("resamples", result.resamples),
        ("resamples drawn again because a class was missing", result.resamples_redrawn),
        ("resamples left out", result.resamples_undefined),
        ("seed", str(result.seed)),
    )
    stated = tuple(row for row in rows if row[1] is not None)
    return Section("Settings", text, (Table("Settings", ("setting", "value"), stated),))


def software_section(manager: PluginManager) -> Section:
    """Return the versions of arena, its libraries and plugins, and the plugins' failures."""
    plugins = Table(
        "Plugins",
        ("plugin", "version", "from", "loaded"),
        tuple(
            (plugin.name, plugin.version, plugin.origin, not plugin.failed_to_load)
            for plugin in manager.plugins
        ),
    )
    failures = "\n\n".join(str(failure) for failure in manager.failures)
    text = f"Some of them failed, and their results are missing:\n\n{failures}"
    versions = Table("Versions", ("package", "version"), _versions())
    return Section("Software", text if failures else "", (versions, plugins))


@functools.cache  # the files of all distributions are read for it
def _versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python, arena and its dependencies."""
    needed = [
        requirement
        for requirement in metadata.requires(DISTRIBUTION) or []
        if "extra ==" not in requirement
    ]
    names = [
        DISTRIBUTION,
        *sorted(re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in needed),
    ]
    return (
        ("Python", platform.python_version()),
        *((name, metadata.version(name)) for name in names),
    )
