"""Runs the web process on a socket that is bound already."""

from __future__ import annotations

import logging
import socket
import time
from typing import TYPE_CHECKING

from arena.errors import InputError
from arena.server.marker import locked
from arena.server.records.layout import Layout, WebSettings
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.server.web.site import Site
    from arena.server_section import ServerSection

_LOGGER = logging.getLogger("arena.server.web")
_FIRST_START_SECONDS = 20.0


def run(sock: socket.socket, settings: WebSettings) -> None:
    """Serve until SIGTERM or SIGINT; then finish the requests under way, for at most 30 seconds.

    Raises
    ------
    InputError
        If another web process has the same uploads, which this one would remove at its start.
    sqlite3.OperationalError
        If the records cannot be opened.
    """
    settings.layout.create()
    with locked(settings.layout.intake.parent) as alone:
        if not alone:
            raise InputError(in_use(settings.layout))
        _run(sock, settings)


def in_use(layout: Layout) -> str:
    """Return what to say if another server has the files of this one."""
    return f"Another server uses the files in {layout.root}: choose another folder with --data."


def _run(sock: socket.socket, settings: WebSettings) -> None:
    import uvicorn

    from arena.server.web.app import create_app
    from arena.server.web.language import add_catalogues
    from arena.server.web.mail import Postman
    from arena.server.web.operations import log_as_json
    from arena.server.web.protocol import limited_protocol
    from arena.server.web.site import Site

    log_as_json()
    site = Site(settings)
    # Requests that a process had begun before it ended are not waited for.
    site.intake.drop_checks()
    sweep_uploads(site)
    limits = connection_limits(site)
    proxies = site.trusted_proxies()
    config = uvicorn.Config(
        create_app(site),
        http=limited_protocol(
            limits.header_seconds, limits.body_seconds, limits.connections_per_address, proxies
        ),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=15,
        timeout_graceful_shutdown=30,
    )
    add_catalogues(settings.layout.root / "locale")
    with Postman(site).working():
        uvicorn.Server(config).run(sockets=[sock])


def sweep_uploads(site: Site) -> None:
    """Remove uploads that no request names, unless the queue that named them may be lost."""
    named = site.intake.uploads()
    keep = named | site.slots.uploads() | site.runs.uploads()
    unnamed = 0 if named else site.uploads.unnamed(keep)
    if unnamed:
        _LOGGER.warning(
            "The queue is new, and there are %s in %s that it does not have: another queue was "
            "removed or lost. Restore it from a backup, or remove these files.",
            "an upload" if unnamed == 1 else plural(unnamed, "upload"),
            site.uploads.folder,
        )
    is_complete = not (unnamed or site.runs.n_unreadable() or site.runs.files_set_aside())
    site.uploads.sweep(keep, complete=is_complete)


def connection_limits(site: Site) -> ServerSection:
    """Return the limits of connections, which the scorer publishes at its first start."""
    end = time.monotonic() + _FIRST_START_SECONDS
    while not site.is_published() and time.monotonic() < end:
        time.sleep(0.1)
    return site.limits()
