"""A sandbox that runs nothing: a program is a JSON document that says how its run ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from arena.errors import SandboxError
from arena.hookspecs import hookimpl
from arena.interfaces import Box, End, Job, Outcome, Sandbox
from arena.plugin.manager import PluginManager


class ScriptedSandbox:
    """Ends as the program says for the folder of its inputs; ``runs`` has the folders so far."""

    name = "scripted"

    def __init__(self) -> None:
        self.runs: list[str] = []

    def check(self) -> Sequence[str]:
        return ()

    def versions(self) -> Mapping[str, str]:
        return {"scripted": "1"}

    def run(self, job: Job, box: Box) -> Outcome:
        self.runs.append(job.inputs.name)
        script = json.loads((job.program / "main.py").read_text())[job.inputs.name]
        if script["end"] == "machine":
            raise SandboxError("No memory is left on this machine.")
        if script["end"] == "killed":
            raise KeyboardInterrupt
        output = None
        if script["end"] == "ok":
            output = job.target / job.outputs[0]
            output.write_text(script["output"])
        return Outcome(
            end=End(script["end"]),
            seconds=script.get("seconds", 12.34),
            cpu_seconds=20.5,
            peak_mb=script.get("peak_mb", 345.6),
            log=script.get("log", "").encode(),
            output=output,
        )


def manager_with(sandbox: Sandbox) -> PluginManager:
    """Return plugins that provide a sandbox."""

    class Provider:
        @hookimpl
        def provide_sandboxes(self) -> list[Sandbox]:
            return [sandbox]

    manager = PluginManager()
    manager.register(Provider(), "scripted")
    return manager


def write_program(path: Path, *, end: str = "ok", output: str = "", trial: str = "ok") -> Path:
    """Write a program whose hidden run ends so; the trial too, but without an output."""
    script = {
        "sample_inputs": {"end": trial, "output": "", "log": "a line of the log"},
        "inputs": {"end": end, "output": output},
    }
    path.write_text(json.dumps(script))
    return path
