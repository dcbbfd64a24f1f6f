"""Runs the programs of a served competition on this machine, one after the other."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from arena.client import REPEAT, ServerError
from arena.errors import ArenaError, InputError, SandboxError
from arena.interfaces import Box, Outcome, Sandbox
from arena.interfaces.faults import fault_lines
from arena.programs.digests import digest_of_folder
from arena.programs.figures import seconds_until_answer
from arena.programs.running import environment_of, run_program, runner_folder
from arena.runner.server import RunnerClient, RunnerKey
from arena.runner.work_folder import WorkFolder
from arena.types import Fault
from arena.utils.distribution import installed_version
from arena.utils.file_digest import file_sha256

_LOGGER = logging.getLogger("arena.runner")
LOOK_SECONDS = 0.2
"""The pause between two looks at a running program."""
_BEAT_TIMEOUT = 10.0
LEASE_SECONDS = 60.0
"""Without a beat for so long, another runner gets the run."""
PAUSE_SECONDS, _LONGEST_PAUSE = 10.0, 600.0
"""The pause after a fault, which doubles with each further fault, and the longest one."""
FREE_BYTES = 5 * 10**9
"""With less free disk space, no run is taken."""
_FAULTS_IN_A_ROW = 3
_REPEAT = {0, *REPEAT, HTTPStatus.INSUFFICIENT_STORAGE}
"""Answers of a server after which a request is repeated; 0: there was none."""
_Source = RunnerClient | WorkFolder
_Answer = TypeVar("_Answer")
TRIAL = "trial"
NOT_UNPACKED = "not unpacked"
"""The end of a trial whose program cannot be unpacked; the log says why."""
MACHINE = "machine"
"""The end of a run that the machine could not carry out: it does not count."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A machine that runs programs: it asks a server for work until it is stopped."""

    source: str | Path
    """The address of the competition, or a folder of runs (:class:`WorkFolder`)."""
    key: RunnerKey
    sandbox: Sandbox
    sandbox_name: str
    """With its parameters, as in the settings of the competition."""
    inputs: Mapping[str, Path]
    """Folders of hidden inputs on this machine, by digest; without one it takes only trials."""
    sample: Mapping[str, Path]
    """Folders of inputs that teams may see; without one it takes no trials. Trials, whose log is
    sent, run on no others."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Once it is set, a run is given up, and :meth:`run` returns."""
    beat_seconds: float = 15.0
    """How often the lease of a run is prolonged."""

    @staticmethod
    def digests(folders: Sequence[Path]) -> dict[str, Path]:
        """Return folders by their digests, which are computed now."""
        return {digest_of_folder(folder): folder for folder in folders}

    def run(self, *, once: bool = False) -> None:
        """Ask for work and do it; with ``once``, or a folder of runs, until there is none.

        After a program that this machine could not run it waits, longer each time: a run that two
        machines could not do is set aside, so that a broken one must not take all of them.

        Raises
        ------
        SandboxError
            If it ends without work and could not run several programs in a row.
        ServerError
            If the server refuses this runner.
        """
        client, faults, pause = self._client(), 0, PAUSE_SECONDS
        ends_without_work = once or isinstance(client, WorkFolder)
        while not self.stop.is_set():
            if not self._has_room():
                self.stop.wait(PAUSE_SECONDS)
                continue
            try:
                work = repeat_request(partial(client.lease, self._offer()), self.stop)
            except ServerError:
                if self.stop.is_set():
                    return
                raise
            if work is None:
                if ends_without_work:
                    return
                continue
            reason = self._do(client, work)
            if reason is None:
                faults, pause = 0, PAUSE_SECONDS
                continue
            faults += 1
            if not ends_without_work:
                _LOGGER.error(
                    "This machine could not run a program, and takes none for %.0f s: %s",
                    pause,
                    reason,
                )
                self.stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            elif faults == _FAULTS_IN_A_ROW:
                raise SandboxError(f"This machine could not run {faults} programs: {reason}")

    def _client(self, **options: Any) -> _Source:
        if isinstance(self.source, Path):
            return WorkFolder(self.source)
        return RunnerClient(self.source, self.key.token, attempts=1, **options)

    def _offer(self) -> dict[str, Any]:
        return {
            "runner": self.key.name,
            "sandbox": self.sandbox_name,
            "versions": self._versions(),
            "inputs": sorted({*self.inputs, *self.sample}),
            "kinds": [*([TRIAL] if self.sample else []), *(["hidden"] if self.inputs else [])],
        }

    def _versions(self) -> dict[str, str]:
        return {**self.sandbox.versions(), "arena": installed_version()}

    def _has_room(self) -> bool:
        folder = runner_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < FREE_BYTES:
            _LOGGER.warning(
                "%s has %.1f GB of free space: no program is run with less than %.0f GB.",
                folder,
                free / 1e9,
                FREE_BYTES / 1e9,
            )
        return free >= FREE_BYTES

    def _do(self, client: _Source, work: Mapping[str, Any]) -> str | None:
        """Run a program and send its result; return the fault of this machine, or None."""
        folder = runner_folder() / f"output-{self.key.name}"
        shutil.rmtree(folder, ignore_errors=True)  # of a runner that was killed
        try:
            with self._lease_prolonged(work) as stop:
                result, output = self._result(client, work, folder, stop)
                if work["kind"] != TRIAL:
                    stop.wait(seconds_until_answer(result["seconds"]) - result["seconds"])
                if stop.is_set():
                    why = "this runner ends" if self.stop.is_set() else "its lease has ended"
                    _LOGGER.warning("The run %s is given up: %s.", work["run"], why)
                    return None
                signature = self.key.sign(result)
                repeat_request(partial(client.send_result, work, result, signature, output), stop)
        except ServerError as error:  # the run was given to another runner, or will be
            _LOGGER.warning("The run %s is given up: %s", work["run"], error)
            return None
        except OSError as error:  # the result cannot be sent, so that another runner gets the run
            _LOGGER.warning("The run %s is given up: %s", work["run"], error)
            return str(error)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return str(result["reason"]) if "reason" in result else None

    @contextlib.contextmanager
    def _lease_prolonged(self, work: Mapping[str, Any]) -> Iterator[threading.Event]:
        """Prolong the lease of a run; the event is set once the run must be given up."""
        finished, stop = threading.Event(), threading.Event()
        client = self._client(timeout=_BEAT_TIMEOUT)

        def beat() -> None:
            prolonged = last_beat = time.monotonic()
            while not finished.wait(LOOK_SECONDS):
                now = time.monotonic()
                if now >= last_beat + self.beat_seconds:
                    last_beat = now
                    try:
                        client.beat(work)
                        prolonged = now
                    except ServerError as error:
                        _LOGGER.warning("%s", error)
                        if error.status == HTTPStatus.CONFLICT:
                            stop.set()
                if self.stop.is_set() or now > prolonged + LEASE_SECONDS:
                    stop.set()

        beating = threading.Thread(target=beat, daemon=True)
        beating.start()
        try:
            yield stop
        finally:
            finished.set()
            beating.join()

    def _result(
        self,
        client: _Source,
        work: Mapping[str, Any],
        folder: Path,
        stop: threading.Event,
    ) -> tuple[dict[str, Any], Path | None]:
        """Run a program; return its result, as it is sent to the server, and its output."""
        copied_keys = (
            "run",
            "lease",
            "kind",
            "program",
            "sha256",
            "inputs",
            "environment",
            "limits",
        )
        result: dict[str, Any] = {
            **{name: work[name] for name in copied_keys},
            "runner": self.key.name,
            "sandbox": self.sandbox_name,
            "versions": self._versions(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": 0.0,
            "cpu_seconds": 0.0,
            "peak_mb": 0.0,
            "end": MACHINE,
            "output_sha256": None,
        }
        try:
            answer = self._answer(client, work, folder, stop)
            if isinstance(answer, Outcome) and answer.output is not None:
                result["output_sha256"] = file_sha256(answer.output)
        except ServerError:
            raise
        except (ArenaError, OSError) as error:
            return {**result, "reason": str(error)}, None
        if not isinstance(answer, Outcome):
            if work["kind"] != TRIAL:
                return {**result, "reason": "The program could be unpacked for its trial."}, None
            return {**result, "end": NOT_UNPACKED, "log": "\n".join(fault_lines(answer))}, None
        figures = {name: getattr(answer, name) for name in ("seconds", "cpu_seconds", "peak_mb")}
        result |= {**figures, "end": str(answer.end)}
        if work["kind"] == TRIAL:
            result["log"] = answer.log.decode("utf-8", "replace")
        return result, answer.output

    def _answer(
        self,
        client: _Source,
        work: Mapping[str, Any],
        folder: Path,
        stop: threading.Event,
    ) -> Outcome | tuple[Fault, ...]:
        """Return how a program ended, or its faults, if this machine holds what it needs."""
        limits = work["limits"]
        trial = work["kind"] == TRIAL
        inputs = (self.sample if trial else self.inputs).get(str(work["inputs"]))
        if inputs is None:
            kind = "sample" if trial else "hidden"
            raise InputError(
                f"The inputs of this run are not among the {kind} ones of the runner "
                f"{self.key.name}."
            )
        environment = environment_of(str(work["environment"] or ""))
        folder.mkdir(mode=0o700)
        file = folder / ("program.py" if str(work["file"]).endswith(".py") else "program.zip")
        repeat_request(partial(client.program, work, file), stop)
        target = folder / "output"
        target.mkdir()
        return run_program(
            file,
            inputs,
            target,
            command=str(limits["command"]).split(),
            environment=environment,
            box=Box.of(limits, trial=trial, output_bytes=work["max_bytes"]),
            sandbox=self.sandbox,
            stop=stop,
        )


def repeat_request(request: Callable[[], _Answer], stop: threading.Event) -> _Answer:
    """Return the answer to a request, which is sent until the server answers.

    Raises
    ------
    ServerError
        If the server refuses it, or ``stop`` is set: the runner or its lease ends.
    """
    pause = 1.0
    while True:
        try:
            return request()
        except ServerError as error:
            if error.status not in _REPEAT:
                raise
            _LOGGER.warning("%s", error)
            if stop.wait(min(pause, PAUSE_SECONDS)):
                raise
        pause *= 2
