"""The requests of a runner to the server: for work, to prolong a lease, and with a result."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arena.client import Client, refusal
from arena.errors import InputError, SandboxError
from arena.responses import Lease
from arena.store.signatures import signature_of
from arena.utils.file_digest import file_sha256
from arena.utils.file_errors import reason_of, unreadable

_PART = 2**16


@dataclass(frozen=True, slots=True)
class RunnerKey:
    """The name of a runner and its secrets, which ``arena programs runner`` writes to a file."""

    name: str
    token: str
    """Known to the server, which lets this runner in."""
    key: bytes
    """Known to the scorer only, which checks the signatures of results with it."""

    @classmethod
    def read(cls, path: Path) -> RunnerKey:
        """Return the content of a file.

        Raises
        ------
        InputError
            If it is not such a file; the message quotes nothing of it.
        """
        try:
            document = json.loads(path.read_text("utf-8"))
            return cls(
                str(document["name"]), str(document["token"]), bytes.fromhex(document["key"])
            )
        except OSError as error:
            raise unreadable(path, error) from error
        except (ValueError, KeyError, TypeError):
            message = f"{path} is no file of a runner: make one with arena programs runner NAME."
            raise InputError(message) from None

    def sign(self, result: Mapping[str, Any]) -> str:
        """Return the signature of a result."""
        return signature_of(result, self.key)


class RunnerClient(Client):
    """A served competition, as one of its runners."""

    def lease(self, offer: Mapping[str, Any]) -> Lease | None:
        """Ask for work and wait a few seconds for it; None: there is none."""
        return self._json("POST", "/runs/lease", body=offer) or None

    def beat(self, work: Mapping[str, Any]) -> None:
        """Prolong the lease of a run.

        Raises
        ------
        ServerError
            With status 409 if the run was given to another runner.
        """
        self._json("POST", f"/runs/{quote(work['run'])}/beat", body={"lease": work["lease"]})

    def program(self, work: Mapping[str, Any], path: Path) -> None:
        """Write the program of a run to a file.

        Raises
        ------
        InputError
            If it does not arrive as announced.
        SandboxError
            If this machine cannot write it.
        """
        self._repeated(lambda: self._write(work, path))
        if file_sha256(path) != work["sha256"]:
            raise InputError(
                "The program that was downloaded is not the one that the server announced. Check "
                "the connection and the disk of this machine; another runner can run it."
            )

    def _write(self, work: Mapping[str, Any], path: Path) -> None:
        connection = self._connection()
        try:
            address = self._base + _place(work, "program")
            connection.request("GET", address, headers=self._authorization)
            response = connection.getresponse()
            if response.status != HTTPStatus.OK:
                raise refusal(response, response.read())
            with path.open("wb") as file:
                bytes_left = int(work["bytes"])
                while bytes_left >= 0 and (part := response.read(_PART)):
                    bytes_left -= len(part)
                    try:
                        file.write(part)
                    except OSError as error:
                        raise SandboxError(
                            f"{path} cannot be written: {reason_of(error)}."
                        ) from error
        finally:
            connection.close()

    def send_result(
        self,
        work: Mapping[str, Any],
        result: Mapping[str, Any],
        signature: str,
        output: Path | None,
    ) -> None:
        """Send the result of a run, with its output.

        Raises
        ------
        ServerError
            With status 409 if the run was given to another runner.
        OSError
            If this machine cannot put it together.
        """
        boundary = f"arena-{secrets.token_hex(16)}"
        part = f"--{boundary}\r\nContent-Disposition: form-data; name="
        with tempfile.NamedTemporaryFile() as body:
            for name, value in (("result", json.dumps(result)), ("signature", signature)):
                body.write(f'{part}"{name}"\r\n\r\n{value}\r\n'.encode())
            if output is not None:
                body.write(f'{part}"output"; filename="{output.name}"\r\n\r\n'.encode())
                with output.open("rb") as file:
                    shutil.copyfileobj(file, body)
                body.write(b"\r\n")
            body.write(f"--{boundary}--\r\n".encode())
            body.flush()
            kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
            self._json("POST", _place(work, "result"), file=Path(body.name), headers=kind)


def _place(work: Mapping[str, Any], part: str) -> str:
    return f"/runs/{quote(work['run'])}/{part}?lease={int(work['lease'])}"
