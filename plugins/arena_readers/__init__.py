"""Reads the files of tools that evaluate language models, as values per model and question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import CaseReader

__all__ = ["provide_case_readers"]


@hookimpl
def provide_case_readers() -> list[CaseReader]:
    """Provide ``lm-eval``, ``inspect``, ``helm`` and ``mteb``."""
    from arena_readers.helm import HelmReader
    from arena_readers.inspect_log import InspectReader
    from arena_readers.lm_eval import LmEvalReader
    from arena_readers.mteb import MtebReader

    return [HelmReader(), InspectReader(), LmEvalReader(), MtebReader()]
