"""Serve competitions: pages, uploads, live leaderboard."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shutil
import signal
import socket
import sys
import threading
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.console import console, say_note
from arena.cli.folder import borrow_served, find_folder, served_name
from arena.config import CONFIG_NAME, DATABASE_NAME, Settings, read_settings
from arena.errors import InputError, StoreError, UsageError
from arena.utils.distribution import how_to_install

if TYPE_CHECKING:
    from arena.server.records.layout import Layout
    from arena.server.supervisor import Served

app = typer.Typer(add_completion=False)

_SAME_USER = (
    "All processes run as the same user: if the web process is taken over, the labels can be read. "
    "Use --web-user, or the units of --print-units, for a competition that matters."
)


_SECONDS_TO_OPEN = 30.0
_FIRST_PASSED = 3
"""The first descriptor that systemd passes to a process (``sd_listen_fds``)."""


class Part(StrEnum):
    """The processes that this command runs."""

    ALL = "all"
    WEB = "web"
    SCORER = "scorer"
    CHECKER = "checker"
    LINK = "link"


@app.command()
def serve(
    directories: Annotated[
        list[Path] | None,
        typer.Option(
            "-C",
            metavar="DIR",
            help="A competition's folder; repeat it to serve several.  [default: here or above]",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0: any.")] = 8000,
    url: Annotated[
        str, typer.Option(help="The address that participants use.  [default: [server] url]")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            readable=False,  # the users of the parts enter it, and read only what is theirs
            help="Folder of the queue and uploads.  [default: that of the last time, else server/ "
            "in the first DIR]",
        ),
    ] = None,
    web_user: Annotated[
        str, typer.Option(metavar="USER", help="As root: the user of the web process.")
    ] = "",
    checker_user: Annotated[
        str,
        typer.Option(
            metavar="USER", help="With --web-user: the user who reads uploaded files, a third one."
        ),
    ] = "",
    same_user: Annotated[
        bool,
        typer.Option("--same-user", help="Serve a network although all processes share one user."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Report missing preparations for a launch, and changes of what is stored; exit.",
        ),
    ] = False,
    print_units: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write units of systemd and a proxy to a folder; exit."),
    ] = None,
    part: Annotated[
        Part, typer.Option(help="For units: run one process, or print the organiser's link.")
    ] = Part.ALL,
    name: Annotated[
        str,
        typer.Option(
            help="The name in addresses; with --part web several, with commas.  [default: the "
            "folder's]"
        ),
    ] = "",
) -> None:
    """Serve competitions to participants: web pages, uploads and the live leaderboard.

    Prints the address and a link that signs the organiser in. The web process cannot read labels
    if it runs as another user (--web-user, --print-units); without one, only this machine can
    connect, unless --same-user is given. Ctrl-C or SIGTERM ends everything; nothing that was
    acknowledged is lost, also when the machine is switched off.
    """
    from arena.server.marker import records_folder
    from arena.server.records.layout import Layout

    if importlib.util.find_spec("uvicorn") is None:
        raise UsageError(f"arena serve needs the extra serve: {how_to_install('serve')}.")
    logging.getLogger("arena.server").setLevel(logging.INFO)
    if part in {Part.WEB, Part.LINK, Part.CHECKER}:
        _without_folder(part, name, data=data, host=host, port=port, url=url)
        return
    served, settings = _served_with_settings(directories or [], name)
    first = served[0]
    public_url = (url or settings[0].server.url).rstrip("/")
    if print_units is not None:
        max_bytes = max(map(_largest_upload, settings))
        _write_units(print_units, served, data=data, url=public_url, port=port, max_bytes=max_bytes)
        return
    layout = Layout(
        data.absolute() if data else records_folder([competition.folder for competition in served])
    )
    if check:
        from arena.server.check import problems
        from arena.server.compare import stored_differences

        missing = []
        for competition, own_settings in zip(served, settings, strict=True):
            folder = competition.folder
            before = f"{competition.name}: " if len(served) > 1 else ""
            missing += [before + problem for problem in problems(folder, own_settings, public_url)]
            with borrow_served(folder, _SECONDS_TO_OPEN):
                compared = stored_differences(folder, layout, competition.name, _SECONDS_TO_OPEN)
                if not compared.not_compared:
                    missing += _revealing(folder)
            missing += [*compared.differences, *compared.not_compared]
        for problem in missing:
            console().print(f"- {problem}", soft_wrap=True, markup=False)
        if missing:
            raise typer.Exit(1)
        console().print("Nothing is missing.")
        return
    if part is Part.SCORER:
        _run_scorer(first, layout, public_url, checker=bool(checker_user))
        return
    _run_all(
        served,
        layout,
        host=host,
        port=port,
        public_url=public_url,
        users=(web_user, checker_user),
        same_user=same_user,
    )


def _largest_upload(settings: Settings) -> int:
    from arena.programs.unpack import PackedLimits

    sandbox, most = settings.programs.sandbox, settings.limits.max_bytes
    return max(most, PackedLimits().packed_bytes) if sandbox else most


def _revealing(folder: Path) -> list[str]:
    """Return a sentence if one submission reveals more labels than the organiser accepted."""
    from arena.competition.view import CompetitionView
    from arena.public_board.advice import too_much_revealed

    with CompetitionView.open(folder) as view:
        problem = too_much_revealed(view.settings, view.solution, view.manager)
    return [] if problem is None else [problem]


def _served_with_settings(
    directories: list[Path], name: str
) -> tuple[list[Served], list[Settings]]:
    """Return the competitions and their settings."""
    from arena.server.supervisor import Served
    from arena.server.web.site import RESERVED

    folders = [find_folder(directory) for directory in directories or [Path()]]
    if name and len(folders) > 1:
        raise UsageError("--name is for one competition: rename the folders of several.")
    served = [Served(name or served_name(folder), folder) for folder in folders]
    for competition in served:
        if name and competition.name != served_name(Path(name)):
            raise UsageError(f"{name!r} cannot be a name: use lower-case letters, digits, hyphens.")
        if competition.name in RESERVED:
            raise UsageError(
                f"{competition.name} is the address of a page: choose another with --name."
            )
    if len({competition.name for competition in served}) < len(served):
        raise UsageError("Two folders have the same name: rename one of them.")
    settings = [read_settings(competition.folder / CONFIG_NAME) for competition in served]
    served = [
        replace(competition, sandbox=competition_settings.programs.sandbox)
        for competition, competition_settings in zip(served, settings, strict=True)
    ]
    keys = ("issuer", "client_id", "name", "domains", "verified_email", "only")
    providers = {
        tuple(getattr(competition_settings.server, f"oidc_{key}") for key in keys)
        for competition_settings in settings
    }
    if len(providers) > 1:
        raise UsageError(
            "A server has one provider of OpenID Connect: give all competitions the same keys "
            "oidc_ in [server]."
        )
    return served, settings


def _of_programs(served: list[Served], host: str) -> list[Served]:
    """Return the competitions, of which this machine runs the programs if it may and can."""
    from arena.server.supervisor import is_loopback

    if is_loopback(host) or host in {"0.0.0.0", "::"}:  # noqa: S104 - compared
        return served
    if any(competition.sandbox for competition in served):
        say_note(
            f"No runner is started: it would send its token to {host} without encryption. Start "
            f"arena runner, with the address of the proxy."
        )
    return [replace(competition, sandbox="") for competition in served]


def _run_all(
    served: list[Served],
    layout: Layout,
    host: str,
    port: int,
    public_url: str,
    users: tuple[str, str],
    *,
    same_user: bool,
) -> None:
    from arena.server.marker import locked, marked, note_records, served_folder
    from arena.server.permissions import prepare
    from arena.server.records.sqlite import damage
    from arena.server.supervisor import Supervisor, User, address_of, bind, is_loopback
    from arena.server.web.main import in_use
    from arena.store import Store

    user, checker = (User.named(user_name) if user_name else None for user_name in users)
    if checker is not None and user is None:
        raise UsageError("--checker-user needs --web-user: give each of them a user of its own.")
    if user is not None and os.geteuid() != 0:
        raise UsageError("--web-user needs root, which starts each process as its own user.")
    if user is None and not is_loopback(host) and not same_user:
        raise UsageError(
            f"On {host} others can connect, and without a second user a web process that is taken "
            f"over could read the labels. Run as root with --web-user USER, use the units of "
            f"--print-units, or accept it with --same-user."
        )
    if same_user and user is None:
        say_note(_SAME_USER)
    for competition in served:
        if (running := served_folder(competition.folder)) is not None:
            raise InputError(f"{competition.folder} is served already, at {running.url}.")
        # Else its scorer would end at once, again and again, while the pages say that it starts.
        Store.open(
            competition.folder / DATABASE_NAME, create=False, wait=_SECONDS_TO_OPEN, read_only=True
        ).close()
    if damage_text := damage(layout.intake):
        raise StoreError(
            f"The queue of the server at {layout.intake} is damaged: {damage_text}. Restore "
            f"it from a backup. Do not remove it: requests that wait are in no other file."
        )
    prepare(layout, [competition.folder for competition in served], user, checker)
    with locked(layout.intake.parent) as alone:
        if not alone:
            raise InputError(in_use(layout))
    served = _of_programs(served, host)
    bound = bind(host, port)
    address = public_url or address_of(host, bound.getsockname()[1])
    stop = _stop_event()
    with bound, contextlib.ExitStack() as stack:
        for competition in served:
            stack.enter_context(marked(competition.folder, address, layout.root))
            note_records(competition.folder, layout.root)
        link = _organiser_link(layout, address)
        prepare(layout, [competition.folder for competition in served], user, checker)
        out = console()
        out.print(
            f"Serving {', '.join(competition.name for competition in served)} at {address}",
            soft_wrap=True,
        )
        out.print(f"Organiser's sign-in, once, within a day: {link}", soft_wrap=True, markup=False)
        Supervisor(layout, served, address, bound, web_user=user, checker_user=checker).run(stop)
    console().print("The server has ended. Everything that was acknowledged is stored.")


def _without_folder(
    part: Part, name: str, data: Path | None, host: str, port: int, url: str
) -> None:
    """Run a process that must not read the competition's folder."""
    from arena.server.processes import WebStart, run_web
    from arena.server.records.layout import Layout
    from arena.server.supervisor import bind

    if not name or data is None:
        raise UsageError(f"--part {part} needs --name and --data.")
    os.umask(0o007)  # the scorer, of another user in the same group, reads the queue and uploads
    if part is Part.LINK:
        console().print(_organiser_link(Layout(data), url.rstrip("/")), soft_wrap=True)
        return
    if part is Part.CHECKER:
        _run_checker(Layout(data.absolute()).checker(name))
        return
    with bind(host, port) as bound:
        names = tuple(name.split(","))
        run_web(WebStart(bound.fileno(), str(data), names, url.rstrip("/")))


def _run_checker(path: Path) -> None:
    """Read files at a socket: the one that systemd passes, or a new one."""
    from arena.server.checker import listen, serve_files

    os.chdir("/")  # the processes that it starts must be able to enter it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        serve_files(socket.socket(fileno=_FIRST_PASSED))
    else:
        with listen(path) as listening:
            serve_files(listening)


def _run_scorer(served: Served, layout: Layout, url: str, *, checker: bool) -> None:
    from arena.intake.reader import read_by
    from arena.server.checker import RemoteReader
    from arena.server.marker import marked
    from arena.server.scorer.main import run

    if checker:
        read_by(RemoteReader(layout.checker(served.name)))

    with marked(served.folder, url or "the address of its web process", layout.root):
        run(served.folder, served.name, layout, _stop_event())


def _organiser_link(layout: Layout, url: str) -> str:
    from arena.server.records.accounts import Accounts

    accounts = Accounts(layout.intake)
    try:
        return accounts.organiser_link(url)
    finally:
        accounts.close()


def _stop_event() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _write_units(
    out: Path, served: list[Served], data: Path | None, url: str, port: int, *, max_bytes: int
) -> None:
    from arena.server.units import UnitCompetition, unit_files

    owners = {competition.folder.owner() for competition in served}
    if len(owners) > 1:
        raise UsageError(
            f"The folders belong to {' and '.join(sorted(owners))}, but the scorers of a server "
            f"publish as one user: give all folders to one of them."
        )
    host = url.partition("://")[2] or "arena.example.org"
    root = (data or Path("/var/lib/arena")).absolute()
    for folder in (*(competition.folder for competition in served), root):
        # systemd, the shell and Docker Compose have different rules for quoting.
        if not re.fullmatch(r"[\w/.+@-]+", str(folder)):
            raise UsageError(
                f"{folder} cannot stand in these files: use a path of letters, digits and any of "
                "/ . _ + @ -"
            )
    files = unit_files(
        [
            UnitCompetition(competition.folder, competition.name, competition.sandbox)
            for competition in served
        ],
        root,
        host,
        port,
        max_bytes=max_bytes,
        owner=owners.pop(),
        program=shutil.which("arena") or f"{sys.executable} -m arena",
    )
    out.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (out / file).write_text(text)
        console().print(str(out / file), soft_wrap=True)
