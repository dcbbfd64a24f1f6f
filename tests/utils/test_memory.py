import ctypes
from types import SimpleNamespace

import pytest

from arena.utils import memory


@pytest.fixture(autouse=True)
def _looked_up_again():
    memory.malloc_trim.cache_clear()
    yield
    memory.malloc_trim.cache_clear()


def test_the_c_library_is_told_to_keep_nothing(monkeypatch):
    asked = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=asked.append))
    memory.return_freed_memory()
    assert asked == [0]


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_nothing_is_done_without_glibc(monkeypatch, error):
    def library(_: object) -> object:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", library)
    assert memory.malloc_trim() is None
    memory.return_freed_memory()
