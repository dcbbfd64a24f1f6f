"""The section ``[server]`` of a competition as the web process uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Any


def known_keys(kind: Any, section: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a section that are fields of a dataclass; lists become tuples.

    >>> known_keys(Limits, {"trusted_proxies": ["::1"], "metric": "auc"})
    {'trusted_proxies': ('::1',)}
    """
    known = {one.name for one in fields(kind)}
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in section.items()
        if key in known
    }


_LONGEST = 64
"""Characters of an address: a proxy may give on what a client wrote."""


def network(address: str) -> str:
    """Return the key of a sender: an IPv4 address, or the /64 that an IPv6 one is in.

    Every customer of a provider has at least 2**64 IPv6 addresses.

    >>> network("192.0.2.7"), network("2001:db8::1:2:3:4"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    return _network(address[:_LONGEST])


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


STORED_FILES = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits and ways to take part, with the defaults of ``competition.toml``.

    Examples
    --------
    >>> Limits.of({"team_size": 3, "checkers": 2}).team_size
    3
    """

    board: str = "anyone"
    """``anyone`` sees the board, or ``members`` only."""
    files: str = "accepted"
    """Who downloads the files: ``anyone``, ``members`` of a team, or those who ``accepted`` the
    rules."""
    colour: str = ""
    """Of buttons and links, such as ``#0a5c9c``."""
    organisers: tuple[str, ...] = ()
    join: str = "code"
    """How people register: ``invite``, ``code`` or ``open``."""
    approve: bool = False
    """Whether the organiser approves each account before it can submit."""
    team_size: int = 5
    max_waiting: int = 2_000
    max_waiting_per_team: int = 3
    max_stored_bytes: int = 0
    """Per account; 0: those of :data:`STORED_FILES` of the largest files."""
    keep_uploads_days: float = 0.0
    uploads_per_minute: int = 6
    """Per account."""
    reads_per_minute: int = 6_000
    """Per address; IPv6 addresses of one /64 count as one."""
    header_seconds: float = 10.0
    body_seconds: float = 12.0
    bytes_per_second: int = 16_384
    connections_per_address: int = 200
    listeners: int = 5_000
    trusted_proxies: tuple[str, ...] = ()
    contact: str = ""
    """How to reach the organiser; shown at the foot of each page."""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Limits:
        """Return the limits in a published section; missing ones have their defaults."""
        return cls(**known_keys(cls, section))
