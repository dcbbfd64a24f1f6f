"""Where objects can be kept: a folder, or a bucket at a URL."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

SCHEMES = ("s3", "gs")
"""The schemes of the buckets that objects can be kept in."""
_LIKE_A_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""At least two characters before the colon: one is a drive of Windows."""


def check_location(url: str) -> None:
    """Refuse what is neither a folder nor a bucket, and a URL that has a secret in it.

    No message repeats the URL.

    Raises
    ------
    ValueError
        With a sentence on what is wrong.

    Examples
    --------
    >>> check_location("predictions")
    >>> check_location("s3://bucket/race")
    >>> check_location("s3://key:password@bucket")
    Traceback (most recent call last):
        ...
    ValueError: a URL with a name or password in it is refused: give credentials in the environment
    """
    if not url.strip() or not url.isprintable():
        raise ValueError("it must be a folder, or a URL such as s3://bucket/folder")
    if "://" not in url:
        if _LIKE_A_SCHEME.match(url):  # s3:bucket would become a folder, without a warning
            raise ValueError(
                "it looks like a URL without two slashes after the colon: write one such as "
                "s3://bucket/folder, or a folder of this name as ./NAME"
            )
        return
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError("it is not a valid URL: use one such as s3://bucket/folder") from error
    if "@" in parts.netloc:
        raise ValueError(
            "a URL with a name or password in it is refused: give credentials in the environment"
        )
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        raise ValueError("a URL with ? or # is refused: give credentials in the environment")
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/"):
            raise ValueError("a file URL must have three slashes, such as file:///data/predictions")
        return
    if not url.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        schemes = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(f"its scheme is not supported: use a folder, or a URL with {schemes}")
    names = parts.path.strip("/").split("/")
    odd = "::" in url or any(mark in url for mark in "*[\\")
    if not parts.netloc or odd or any(name in {".", ".."} for name in names):
        raise ValueError("it must name a bucket, such as s3://bucket/folder")


def folder_of(url: str, home: Path) -> Path | None:
    """Return the folder that a location names, or None for a bucket.

    A relative one is relative to ``home``.

    >>> folder_of("predictions", Path("/race")).as_posix()
    '/race/predictions'
    >>> folder_of("s3://bucket", Path("/race")) is None
    True
    """
    if "://" not in url:
        return home.absolute() / Path(url).expanduser()
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
