"""The files that a competition shows or offers for download, as its scorer publishes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A copy that the web process can read of a file in the competition's folder.

    Copies are named by their content, so that no address of a request is ever a path.
    """

    name: str
    """Relative to ``files/`` or ``pages/``, with slashes."""
    bytes: int
    sha256: str

    def path(self, folder: Path) -> Path:
        """Return where the copy is: ``folder`` is :meth:`Layout.shared` of the competition."""
        return folder / self.sha256


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """The document ``folder``: pages, their images, and files for download."""

    pages: tuple[tuple[str, str], ...] = ()
    """``(name, Markdown)`` of ``pages/*.md``: ``overview`` first, then by name."""
    images: tuple[SharedFile, ...] = ()
    """Images in ``pages/``."""
    files: tuple[SharedFile, ...] = ()
    """Everything in ``files/``."""

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> SharedFolder:
        """Return the object that a JSON document describes; an empty one for None."""
        if document is None:
            return cls()
        return cls(
            tuple((str(name), str(text)) for name, text in document["pages"]),
            *(tuple(SharedFile(**file) for file in document[part]) for part in ("images", "files")),
        )

    def page(self, name: str) -> str | None:
        """Return the Markdown of a page."""
        return dict(self.pages).get(name)

    def tabs(self) -> list[tuple[str, str]]:
        r"""Return the name and the title of each page that has a tab.

        The title is the first heading. A page whose name starts with ``_`` has no tab.

        >>> SharedFolder((("data", "# The data\n"), ("_footer", "x"), ("2-prizes", ""))).tabs()
        [('data', 'The data'), ('2-prizes', 'Prizes')]
        """
        return [(name, _title(name, text)) for name, text in self.pages if not name.startswith("_")]


def _title(name: str, text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.startswith("# "):
        return first[2:].strip().strip("#").strip()[:60]
    return name.lstrip("0123456789-_ ").replace("-", " ").replace("_", " ").capitalize() or name
