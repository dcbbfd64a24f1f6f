"""Reads the files of evaluation tools, as values per algorithm and case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import CaseReader

__all__ = ["provide_case_readers"]


@hookimpl
def provide_case_readers() -> list[CaseReader]:
    """Provide the readers, by the names of the tools."""
    from arena_readers.grand_challenge import GrandChallengeReader
    from arena_readers.helm import HelmReader
    from arena_readers.inspect_log import InspectReader
    from arena_readers.lm_eval import LmEvalReader
    from arena_readers.mteb import MtebReader
    from arena_readers.nnunet import NnUNetReader
    from arena_readers.trec_eval import TrecEvalReader

    return [
        GrandChallengeReader(),
        HelmReader(),
        InspectReader(),
        LmEvalReader(),
        MtebReader(),
        NnUNetReader(),
        TrecEvalReader(),
    ]
