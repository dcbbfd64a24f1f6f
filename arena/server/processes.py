"""The processes of a server: how one is started, and how it ends with its supervisor.

::

    python -m arena.server.processes web JSON
    python -m arena.server.processes scorer JSON
    python -m arena.server.processes checker JSON
    python -m arena.server.processes runner JSON
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

_SECONDS_TO_ADMIT = 60.0


@dataclass(frozen=True, slots=True)
class WebStart:
    """The settings with which the web process starts."""

    socket: int
    """The descriptor of the bound socket."""
    root: str
    competitions: tuple[str, ...]
    url: str


def end_with_supervisor(descriptor: int) -> None:
    """Send this process SIGTERM when the supervisor ends: when its end of the pipe is closed."""

    def wait() -> None:
        os.read(descriptor, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def run_web(start: WebStart) -> None:
    """Serve the pages and the HTTP API until SIGTERM."""
    from arena.server.failures import failures_logged
    from arena.server.records.layout import Layout, WebSettings
    from arena.server.web.main import run

    layout = Layout(Path(start.root))
    with failures_logged(layout, logging.getLogger("arena.server.web")):
        run(
            socket.socket(fileno=start.socket),
            WebSettings(layout, tuple(start.competitions), start.url),
        )


def run_runner(folder: Path, url: str, sandbox: str) -> None:
    """Run the programs of a competition on this machine until SIGTERM."""
    from arena.client import ServerError
    from arena.competition.programs.runners import LOCAL, add_runner
    from arena.config import CONFIG_NAME, read_settings
    from arena.plugin.manager import PluginManager
    from arena.runner import Runner, RunnerKey

    settings = read_settings(folder / CONFIG_NAME)
    of_phases = settings.programs_of_phases.values()
    runner = Runner(
        source=url,
        key=RunnerKey.read(add_runner(folder, LOCAL)),
        sandbox=PluginManager().sandboxes.resolve(sandbox),
        sandbox_name=sandbox,
        inputs=Runner.digests([*{folder / programs.inputs for programs in of_phases}]),
        sample=Runner.digests([*{folder / programs.sample for programs in of_phases}]),
    )
    signal.signal(signal.SIGTERM, lambda *_: runner.stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    until = time.monotonic() + _SECONDS_TO_ADMIT
    while not runner.stop.is_set():
        try:
            runner.run()
        except ServerError as error:
            # The scorer publishes a new runner some seconds after its file was made.
            if error.status != HTTPStatus.UNAUTHORIZED or time.monotonic() > until:
                raise
            runner.stop.wait(1.0)


def run_role(role: str, arguments: str) -> None:
    """Run the process of a role, which the supervisor started."""
    document: dict[str, Any] = json.loads(arguments)
    os.umask(0o007)  # the processes may have different users of one group
    end_with_supervisor(document.pop("pipe"))
    if role == "web":
        logging.basicConfig(format="%(levelname)s web: %(message)s", level=logging.INFO)
        run_web(WebStart(**document))
    elif role == "runner":
        logging.basicConfig(format="%(levelname)s runner: %(message)s", level=logging.INFO)
        run_runner(Path(document["folder"]), document["url"], document["sandbox"])
    elif role == "checker":
        from arena.server.checker import serve_files

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends after the scorer
        serve_files(socket.socket(fileno=document["socket"]))
    else:
        from arena.server.scorer.main import main

        main(**document)


if __name__ == "__main__":
    run_role(*sys.argv[1:])
