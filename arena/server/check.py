"""Checks before a competition is opened to participants."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arena.config import SAMPLE_NAME, Settings
from arena.errors import InputError, SandboxError
from arena.plugin.manager import PluginManager
from arena.programs.checked import last_check
from arena.programs.running import environment_of
from arena.server.records.layout import OIDC_SECRET
from arena.server_section import ServerSection, is_draft
from arena.utils.distribution import how_to_install
from arena.utils.text import plural

_STORED_FACTOR = 3
"""Bytes on the disk for each byte of an upload: the file, the log and the database."""
_SAMPLE_FACTOR = 4
"""Real predictions have more digits than those of the sample."""
_BACKUP_DAYS = 2


def problems(folder: Path, settings: Settings, url: str) -> list[str]:
    """Return a sentence on each thing to do before the launch.

    Only the rules are read. The provider of OpenID Connect is asked, if there is one.
    """
    return list(problems_of(folder, settings, url))


def problems_of(folder: Path, settings: Settings, url: str) -> Iterator[str]:
    """Yield a sentence on everything to be mended before a competition is served."""
    yield from problems_of_settings(settings, url)
    yield from _of_provider(settings.server)
    if settings.programs.sandbox:
        yield from problems_of_inputs(folder, settings)
        yield from problems_of_sandbox(settings.programs.sandbox)
        yield from _of_environments(settings)
    server, limits = settings.server, settings.limits
    rules = folder / server.rules
    if not rules.is_file():
        yield f"There are no rules: write {rules}."
    elif is_draft(rules.read_text("utf-8", "replace")):
        yield f"The rules are a draft: complete {rules} and delete its first line."
    if folder.stat().st_mode & 0o077:
        yield f"Other users of this machine can enter {folder}: run chmod 700 {folder}."
    free = shutil.disk_usage(folder).free
    size = _expected_bytes(folder, limits.max_bytes)
    needed = _STORED_FACTOR * size * server.max_waiting
    if free < needed:
        yield (
            f"{free / 1e9:,.1f} GB of the disk are free, but "
            f"{plural(server.max_waiting, 'waiting file')} "
            f"of {size / 1e6:,.1f} MB need {needed / 1e9:,.1f} GB: free some space, or lower "
            "[limits] max_bytes or [server] max_waiting."
        )
    if not has_recent_backup(folder):
        yield f"There is no backup of the last {_BACKUP_DAYS} days: run arena backup by a timer."


def _expected_bytes(folder: Path, most: int) -> int:
    """Return how large a submission may be: the limit leaves room for any form of it."""
    try:
        return min(most, _SAMPLE_FACTOR * (folder / SAMPLE_NAME).stat().st_size)
    except FileNotFoundError:
        return most


def problems_of_settings(settings: Settings, url: str) -> Iterator[str]:
    """Yield what the dates and the section [server] lack."""
    ends = [settings.in_phase(name).competition.deadline for name in settings.phase or [""]]
    key = "[phase] end" if settings.phase else "[competition] deadline"
    if None in ends:
        yield f"{key} is not set."
    elif (last := max(filter(None, ends))) < datetime.now(UTC) + timedelta(hours=1):
        yield f"{key} is {last:%Y-%m-%d %H:%M} UTC: it is over, or nearly."
    if not url:
        yield "[server] url is empty: the address that participants use is not known."
    elif not url.startswith("https://"):
        yield f"{url} is not encrypted: put a proxy with TLS in front (--print-units)."
    if settings.public.mechanism == "full":
        yield "[public] mechanism = full shows exact scores, from which labels can be computed."
    if settings.server.smtp_host and settings.server.smtp_tls == "none":
        yield "[server] smtp_tls is none: e-mails with invitation links are not encrypted."
    empty = {
        "[competition] title": settings.competition.title,
        "[limits] per_day": settings.limits.per_day,
        "[limits] total": settings.limits.total,
        "[server] contact": settings.server.contact,
    }
    yield from (f"{key} is not set." for key, value in empty.items() if not value)


def _of_provider(server: ServerSection) -> Iterator[str]:
    if not server.oidc_issuer:
        return
    if not os.environ.get(OIDC_SECRET):
        yield (
            f"{OIDC_SECRET} is not set: the web process needs the secret of this server at "
            f"{server.oidc_issuer} in this environment variable."
        )
    if server.oidc_issuer.startswith("http:"):
        yield f"{server.oidc_issuer} is not encrypted: such an oidc_issuer is for tests only."
    if importlib.util.find_spec("authlib") is None:
        yield f"Signing in with oidc_issuer needs the extra oidc: {how_to_install('oidc')}."
        return
    from arena.server.web.openid import why_unusable

    reason = asyncio.run(why_unusable(server))
    if reason:
        yield f"The provider {server.oidc_issuer} cannot be used: {reason}. Check oidc_issuer."


def problems_of_inputs(folder: Path, settings: Settings) -> Iterator[str]:
    """Yield the folders of inputs that are missing, of any phase."""
    sections = settings.programs_of_phases.values()
    for name in sorted({name for section in sections for name in (section.inputs, section.sample)}):
        if not (folder / name).is_dir():
            yield f"There is no folder {folder / name} with inputs of programs: create it."


def problems_of_sandbox(specification: str) -> Iterator[str]:
    """Yield what the machine does not hold of a program; another one may be its runner."""
    sandbox = PluginManager().sandboxes.resolve(specification)
    try:
        check = last_check(specification, sandbox.versions())
    except SandboxError as error:
        yield str(error)
        return
    if check is None:
        yield (
            f"The sandbox {specification} was not checked on this machine with its versions: "
            f"run arena programs check --sandbox {specification}."
        )
    elif check["not_held"]:
        yield (
            f"The sandbox {specification} does not hold every program on this machine: "
            f"{', '.join(check['not_held'])}. arena programs check says what to do."
        )


def _of_environments(settings: Settings) -> Iterator[str]:
    """Yield the environments that this machine does not hold; another one may be its runner."""
    for digest in sorted({section.environment for section in settings.programs_of_phases.values()}):
        try:
            environment_of(digest)
        except InputError as error:
            yield str(error)


def has_recent_backup(folder: Path) -> bool:
    """Return whether a backup was made in the last days."""
    note = folder / ".last-backup"
    if not note.exists():
        return False
    age = datetime.now(UTC).timestamp() - note.stat().st_mtime
    return age < 86_400 * _BACKUP_DAYS
