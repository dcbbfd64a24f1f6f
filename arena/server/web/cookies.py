"""Cookies of a request, read in linear time.

:mod:`http.cookies`, which frameworks use, takes quadratic time for a quoted value in some versions
of Python: a header of 60 kB stops the server for 20 seconds.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection

MAX_BYTES = 8_192
"""Of all cookies of a request. Those of this server take less than a tenth of it."""
_KEPT = "arena.cookies"


def are_too_long(request: HTTPConnection) -> bool:
    """Return whether the cookies are longer than they may be."""
    return sum(map(len, request.headers.getlist("cookie"))) > MAX_BYTES


def cookies_of(request: HTTPConnection) -> dict[str, str]:
    """Return the cookies of a request; none if they are too long.

    This server sends values without characters that would have to be quoted.
    """
    cookies: dict[str, str] | None = request.scope.get(_KEPT)
    if cookies is None:
        cookies = {}
        if not are_too_long(request):
            for pair in ";".join(request.headers.getlist("cookie")).split(";"):
                name, has_value, value = pair.partition("=")
                if has_value:
                    cookies[name.strip()] = value.strip().removeprefix('"').removesuffix('"')
        request.scope[_KEPT] = cookies
    return cookies
