"""The garbage collector is paused only as long as it is asked for."""

from __future__ import annotations

import gc

import pytest

from arena.utils.collection import collection_paused


def test_it_runs_again_after_an_error() -> None:
    nothing: dict[str, int] = {}
    with pytest.raises(KeyError), collection_paused():
        nothing["x"]
    assert gc.isenabled()


def test_an_outer_pause_lasts() -> None:
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_decorated_function_can_be_called_again() -> None:
    @collection_paused()
    def running() -> bool:
        return gc.isenabled()

    assert (running(), running(), gc.isenabled()) == (False, False, True)
