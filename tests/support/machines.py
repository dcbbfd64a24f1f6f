"""Machines with a runner: each has a network of its own, which only leads to the server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from arena.competition.programs.runners import add_runner

_RELAY = """\
import os, socket, sys, threading

def listen(address):
    kind = socket.AF_UNIX if address.startswith("/") else socket.AF_INET
    server = socket.socket(kind)
    server.bind(address if kind == socket.AF_UNIX else ("127.0.0.1", int(address)))
    server.listen(64)
    return server

def connect(address):
    kind = socket.AF_UNIX if address.startswith("/") else socket.AF_INET
    opened = socket.socket(kind)
    opened.connect(address if kind == socket.AF_UNIX else ("127.0.0.1", int(address)))
    return opened

def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

server = listen(sys.argv[1])
print("ready", flush=True)
while True:
    near, _ = server.accept()
    try:
        far = connect(sys.argv[2])
    except OSError:
        near.close()
        continue
    for ends in ((near, far), (far, near)):
        threading.Thread(target=copy, args=ends, daemon=True).start()
"""
"""Copies between two sockets; files, also sockets, are the same in each network namespace."""


@dataclass
class Machine:
    """A machine with a runner, which can be killed, started again, and cut off."""

    name: str
    folder: Path
    """Of its runner."""
    race: Path
    port: int
    """Of the server."""
    network: subprocess.Popen[str]
    """Its process that lives in the namespace, and connects it to the server."""
    sandbox: str
    runner: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the runner."""
        token = add_runner(self.race, self.name)
        command = [
            *("nsenter", f"--net=/proc/{self.network.pid}/ns/net"),
            *(sys.executable, "-m", "arena", "runner", "--token-file", str(token)),
            *("--sandbox", self.sandbox),
            *("--to", f"http://127.0.0.1:{self.port}/{self.race.name}"),
            *("--inputs", str(self.race / "programs" / "inputs")),
            *("--sample", str(self.race / "files" / "sample_inputs")),
        ]
        environment = {**os.environ, "ARENA_RUNNER": str(self.folder)}
        with self.folder.with_suffix(".log").open("ab") as log:
            self.runner = subprocess.Popen(command, env=environment, stderr=log)

    def log(self) -> str:
        """Return what the runner has logged."""
        return self.folder.with_suffix(".log").read_text()

    def kill(self) -> None:
        """Kill the runner."""
        self.runner.kill()
        self.runner.wait()

    @contextlib.contextmanager
    def cut_off(self) -> Iterator[None]:
        """Let nothing through between the machine and the server."""
        self.network.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.network.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def machines(race: Path, port: int, *names: str, sandbox: str = "bwrap") -> Iterator[list[Machine]]:
    """Start machines with runners of a served competition; in the end each ends by SIGTERM.

    Needs root, for namespaces of networks.
    """
    with contextlib.ExitStack() as stack:
        door = race.parent / f"door-{names[0]}"
        stack.enter_context(_relay((), str(door), str(port)))
        started_machines = []
        for name in names:
            network = stack.enter_context(_relay(("unshare", "--net"), str(port), str(door)))
            folder = race.parent / f"machine-{name}"
            machine = Machine(name, folder, race, port, network, sandbox)
            stack.callback(machine.kill)
            started_machines.append(machine)
        yield started_machines
        for machine in started_machines:
            machine.runner.terminate()
        for machine in started_machines:
            assert machine.runner.wait(60) == 0


@contextlib.contextmanager
def _relay(namespace: tuple[str, ...], near: str, far: str) -> Iterator[subprocess.Popen[str]]:
    up = "ip link set lo up && " if namespace else ""
    command = [*namespace, "sh", "-c", f'{up}exec "$@"', "sh", sys.executable, "-c", _RELAY]
    with subprocess.Popen([*command, near, far], stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None
            assert relay.stdout.readline() == "ready\n"
            yield relay
        finally:
            relay.kill()


def processes_with(marker: str) -> list[str]:
    """Return the command lines of sandboxes and their programs that hold a marker."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if marker in line:
                lines.append(line)
    return lines


def gone(marker: str, seconds: float = 10.0) -> bool:
    """Return whether no process holds a marker within some seconds."""
    until = time.monotonic() + seconds
    while processes_with(marker) and time.monotonic() < until:
        time.sleep(0.05)
    return not processes_with(marker)
