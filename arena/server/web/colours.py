"""The organiser's colour as a style sheet in which every text can be read."""

from __future__ import annotations

_CONTRAST = 4.5
"""Least contrast of a text with its background: WCAG 2.2, 1.4.3."""
_LIGHT, _DARK = ("#ffffff", "#eaf3fb"), ("#14171c", "#1b2836")
"""Backgrounds of links in style.css: ``--page`` and ``--band``."""
_STEPS = 100
Rgb = tuple[float, float, float]


def style_sheet(colour: str) -> str:
    """Return rules that replace the blue of the pages by a colour such as ``#0a5c9c``.

    It is made darker on light pages and lighter on dark ones until texts have enough contrast.
    """
    light, dark = (_readable(colour, grounds) for grounds in (_LIGHT, _DARK))
    return (
        f":root {{ --blue: {light}; --on-blue: {_on(light)}; }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n"
        f"  :root {{ --blue: {dark}; --on-blue: {_on(dark)}; }}\n}}\n"
    )


def contrast(colour: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it, from 1 to 21.

    >>> round(contrast("#000000", "#ffffff"), 6)
    21.0
    """
    low, high = sorted((_luminance(colour), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in _parts(colour)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _parts(colour: str) -> Rgb:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red / 255, green / 255, blue / 255


def _readable(colour: str, grounds: tuple[str, str]) -> str:
    """Move a colour towards black or white until it can be read on all backgrounds."""
    end = 0.0 if _luminance(grounds[0]) > 0.5 else 1.0
    parts = _parts(colour)
    for step in range(_STEPS + 1):
        mixed = [part + (end - part) * step / _STEPS for part in parts]
        hexadecimal = "#" + "".join(f"{round(255 * part):02x}" for part in mixed)
        if all(contrast(hexadecimal, ground) >= _CONTRAST for ground in grounds):
            break
    return hexadecimal


def _on(colour: str) -> str:
    return max("#ffffff", "#10202e", key=lambda ink: contrast(ink, colour))
