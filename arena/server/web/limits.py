"""What counts as one sender of requests."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Network, ip_address

from starlette.requests import Request

_LONGEST = 64
"""Characters of an address: a proxy may give on what a client wrote."""


def network(address: str) -> str:
    """Return the key of a sender: an IPv4 address, or the /64 that an IPv6 one is in.

    Every customer of a provider has at least 2**64 IPv6 addresses.

    >>> network("192.0.2.7"), network("2001:db8::1:2:3:4"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    return _network(address[:_LONGEST])


def sender(request: Request) -> str:
    """Return the key of the sender of a request: see :func:`network`."""
    return network(request.client.host if request.client else "")


@lru_cache(maxsize=4_096)
def _network(address: str) -> str:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address) or parsed.is_loopback:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, 64), strict=False))
