"""The runners of a competition: machines that run its programs, by a token and a key.

The token admits a runner to the server; its digest is published for the web process. With the key
the runner signs results. Only the runner and the owner of the competition have it, so that a web
process that is taken over cannot invent a run.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.competition.record.programs import ProgramRecord, ProgramRun
from arena.competition.state import CompetitionState
from arena.errors import UsageError
from arena.programs.digests import digest_of_folder
from arena.programs.figures import is_figure
from arena.store.signatures import signature_of
from arena.utils.atomic_write import atomic_write
from arena.utils.file_digest import file_sha256
from arena.utils.strict_json import parse_json
from arena.utils.text import shorten

RUNNERS_FOLDER = "programs/runners"
"""In the competition's folder: a file for each runner, which is copied to its machine."""
LOCAL = "local"
"""The runner that a server starts on its own machine."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST_REASON = 1_000
_ABOUT = ("runner", "sandbox", "versions", "inputs", "environment", "limits", "started")


def add_runner(folder: Path, name: str) -> Path:
    """Create the token and the key of a runner, and return its file; an existing one is kept.

    Raises
    ------
    UsageError
        If the name cannot be that of a runner.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"A runner cannot be called {name!r}: use letters, digits and . _ -")
    path = folder / RUNNERS_FOLDER / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        document = {
            "name": name,
            "token": f"runner_{secrets.token_urlsafe(32)}",
            "key": secrets.token_hex(32),
        }
        atomic_write(path, json.dumps(document).encode())
    return path


def token_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the token of each runner, by its name."""
    paths = sorted((folder / RUNNERS_FOLDER).glob("*.json"))
    return {
        path.stem: hashlib.sha256(str(_read(path)["token"]).encode()).hexdigest() for path in paths
    }


def _read(path: Path) -> Mapping[str, Any]:
    document = parse_json(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise UsageError(f"{path} is not the file of a runner: create it again.")
    return document


@functools.cache
def digest_of_inputs(folder: Path) -> str:
    """Return the digest of a folder of inputs, which is read once in the life of a process."""
    return digest_of_folder(folder)


def run_of(
    state: CompetitionState,
    program: ProgramRecord,
    document: Mapping[str, Any],
    signature: str,
    output: Path | None,
    *,
    kind: str = "hidden",
) -> ProgramRun:
    """Return the run that a runner reports of a program.

    A result that no runner would send is a fault of the machine, with the ``reason`` for the
    organiser: the web process, which passes results on, may have been taken over. ``kind`` is that
    of the run: ``hidden``, or ``verify`` for one that is repeated.
    """
    reason = next(
        _faults(state, program, document=document, signature=signature, output=output, kind=kind),
        None,
    )
    if reason is not None:
        return ProgramRun.lost(reason)
    return ProgramRun(
        end=str(document["end"]),
        seconds=float(document["seconds"]),
        cpu_seconds=float(document["cpu_seconds"]),
        peak_mb=float(document["peak_mb"]),
        output=output,
        about={
            "kind": kind,
            **{name: document.get(name) for name in _ABOUT},
            "output_sha256": document.get("output_sha256"),
        },
    )


def _faults(
    state: CompetitionState,
    program: ProgramRecord,
    document: Mapping[str, Any],
    signature: str,
    output: Path | None,
    kind: str,
) -> Iterator[str]:
    """Yield why a result does not count. Checks rely on those before: only the first is valid."""
    if document.get("end") == "lost":
        yield "Two runners were lost with this program."
    name = str(document.get("runner"))
    path = state.folder / RUNNERS_FOLDER / f"{name}.json"
    if not _NAME.fullmatch(name) or not path.is_file():
        yield f"The result names the runner {shorten(name)}, which this competition does not have."
    key = bytes.fromhex(str(_read(path)["key"]))
    if not hmac.compare_digest(signature_of(document, key).encode(), signature.encode()):
        yield f"The result is not signed by the runner {name}."
    expected = {"program": program.program, "sha256": program.sha256, "kind": kind}
    if any(document.get(key) != value for key, value in expected.items()):
        yield "The result is that of another program."
    section = state.in_phase(program.phase).settings.programs
    expected = {
        "inputs": digest_of_inputs(state.folder / section.inputs),
        "environment": section.environment,
    }
    if any(document.get(key) != value for key, value in expected.items()):
        yield "The runner had other inputs, or another environment, than the competition has now."
    if document.get("end") == "machine":
        yield str(document.get("reason") or "The machine of the runner failed.")[:_LONGEST_REASON]
    if not all(is_figure(document.get(key)) for key in ("seconds", "cpu_seconds", "peak_mb")):
        yield "The result lacks its figures."
    if document.get("end") == "ok":
        digest = None if output is None else file_sha256(output)
        if digest is None or digest != document.get("output_sha256"):
            yield "The output was changed or damaged after the runner sent it."
