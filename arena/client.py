"""A participant's programs: submit to a served competition and read its answers.

Only the standard library is needed, so that any installation of arena can submit. Answers are the
dictionaries of :mod:`arena.responses`; the tests hold that the server sends these keys.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from arena.errors import ArenaError, UsageError
from arena.utils.file_digest import file_sha256
from arena.utils.file_errors import reason_of, unreadable

if TYPE_CHECKING:
    from arena import responses

_LOCAL = {"localhost", "127.0.0.1", "::1"}
REPEAT = {408, 429, 502, 503, 504}
"""Answers of a server that is restarted, or has too much to do: the request is repeated."""
_PROBLEM = "application/problem+json"
_PART = 2**16
_Answer = TypeVar("_Answer")


class ServerError(ArenaError):
    """A server fails, or cannot be reached; the message says what to do.

    Attributes
    ----------
    status
        The HTTP status, or 0 if there was no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class RefusedRequestError(ServerError):
    """A server refuses a request (status 400 to 499): change it before it is sent again."""


class Client:
    """A served competition, as a member of a team.

    Parameters
    ----------
    url
        The address of the competition's page, such as ``https://arena.example.org/churn``.
    token
        A token from the page *Team and tokens*.
    timeout
        Seconds without an answer after which a request is repeated.
    attempts
        How often a request is sent before it fails. Repeating is safe: a submission has a key, by
        which the server counts it once.

    Raises
    ------
    UsageError
        If the address is not one of a competition, or would send the token without encryption.

    Examples
    --------
    >>> client = Client("https://arena.example.org/churn", "arena_...")
    >>> client.submit("submission.csv")  # doctest: +SKIP
    {'request': '5f0c...', 'status': 'waiting', 'place': 1, ...}
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, attempts: int = 6) -> None:
        parts = urlsplit(url.strip())
        path = parts.path.strip("/").split("/")
        if parts.scheme not in {"http", "https"} or not parts.hostname or not path[-1]:
            raise UsageError(
                f"{url} is not the address of a competition. It looks like "
                f"https://arena.example.org/NAME."
            )
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise UsageError(
                f"{url} is not encrypted, so anyone on the way could read the token. Use https."
            )
        if not token.strip() or not token.strip().isprintable() or not token.isascii():
            raise UsageError("The token is empty or contains characters that no token has.")
        self._parts = parts
        prefix = "".join(f"/{folder}" for folder in path[:-1])
        self._base = f"{prefix}/api/v1/{quote(path[-1])}"
        self._authorization = {"Authorization": f"Bearer {token.strip()}"}
        self._timeout, self._attempts = timeout, attempts

    def info(self) -> responses.Info:
        """Return the competition: title, metric, deadline, limits, columns, phase."""
        return self._json("GET", "")

    def phases(self) -> list[responses.Phase]:
        """Return the phases, with their dates, rows, limits and states."""
        return self._json("GET", "/phases")["phases"]

    def board(
        self, *, bracket: str = "", phase: str = "", board: str = ""
    ) -> list[responses.BoardRow]:
        """Return all rows of the public board, best first.

        ``bracket``: its teams only. ``phase``: by default the current one. ``board``: one over
        phases.
        """
        names = {"bracket": bracket, "phase": phase, "board": board}
        query = {"limit": 500} | {kind: name for kind, name in names.items() if name}
        rows: list[responses.BoardRow] = []
        after: int | None = 0
        while after is not None:
            page = self._json("GET", f"/board?{urlencode({**query, 'after': after})}")
            rows += page["rows"]
            after = page["next"]
        return rows

    def join(
        self,
        team: str = "",
        *,
        code: str = "",
        rules: str = "",
        answers: Mapping[str, str] | None = None,
    ) -> responses.TeamState:
        """Enter the competition and return the team.

        ``team``: the name of a new team. ``code``: the invitation of a team, or the registration
        code. ``rules``: the version that you accept, ``rules_version`` of :meth:`info`.
        ``answers``: of a new team, key of a question -> the answer, such as that which decides its
        bracket.

        Raises
        ------
        RefusedRequestError
            If the account is in a team already, the name is taken, the code is wrong, the rules
            are not accepted, or an answer is none of the choices.
        """
        body = {"team": team, "code": code, "rules": rules, "answers": dict(answers or {})}
        return self._once("POST", "/join", body)

    def team(self) -> responses.TeamState:
        """Return the own team: its name and members."""
        return self._json("GET", "/team")

    def rename_team(self, name: str) -> responses.TeamState:
        """Rename the own team and return it; boards follow once the scorer has recorded it."""
        return self._once("PATCH", "/team", {"name": name})

    def submit(
        self,
        file: str | Path,
        *,
        description: str = "",
        key: str | None = None,
        phase: str | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> responses.RequestState:
        """Submit a file and return the request, which may still wait: see :meth:`wait`.

        ``key`` is the idempotency key; by default it is the file's digest, so that the same file
        is counted once however often it is sent. ``phase``: the one for which it counts, where
        several are open; None: the open one, or every open round whose rows the file has, whose
        answers are the request's ``rounds``. ``answers``: key of a question -> the answer, which
        is public.

        Raises
        ------
        RefusedRequestError
            If the server refuses it.
        ServerError
            If the server fails or cannot be reached.
        UsageError
            If the file cannot be read.
        """
        path = Path(file)
        try:
            digest = file_sha256(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        optional = {"description": description, "phase": phase}
        optional |= {f"answer.{question}": answer for question, answer in (answers or {}).items()}
        query = {"file": path.name} | {name: text for name, text in optional.items() if text}
        return self._json(
            "POST",
            f"/submissions?{urlencode(query)}",
            file=path,
            headers={"Idempotency-Key": key or "-".join(filter(None, ["file", digest, phase]))},
        )

    def validate(self, file: str | Path) -> responses.Checked:
        """Check a file on the server without counting it; return ``status`` and ``faults``.

        Raises
        ------
        RefusedRequestError
            If the server refuses to check it.
        UsageError
            If the file cannot be read.
        """
        return self._json("POST", "/validate", file=Path(file))

    def request(self, request: str) -> responses.RequestState:
        """Return a request: its answer, or its place in the queue."""
        return self._json("GET", f"/requests/{quote(request)}")

    def wait(self, request: str, seconds: float = 600.0) -> responses.RequestState:
        """Return a request as soon as it is judged, or as it is after ``seconds``."""
        end, pause = time.monotonic() + seconds, 0.2
        while True:
            state = self.request(request)
            if state["status"] != "waiting" or time.monotonic() >= end:
                return state
            time.sleep(min(pause, max(end - time.monotonic(), 0.0)))
            pause = min(pause * 1.5, 10.0)

    def files(self) -> list[responses.FileState]:
        """Return the files that are offered: ``name``, ``bytes`` and ``sha256``."""
        return self._json("GET", "/files")["files"]

    def download(self, folder: str | Path, names: Sequence[str] | None = None) -> list[Path]:
        """Download files into a folder and return their paths; by default all that are offered.

        A file that is there already is not downloaded again if its digest is right, and an
        interrupted download is resumed.

        Raises
        ------
        ServerError
            If a file cannot be downloaded, or its digest is wrong.
        UsageError
            If a name is not offered, or a file cannot be written.
        """
        offered = {file["name"]: file for file in self.files()}
        unknown = [name for name in names or () if name not in offered]
        if unknown:
            names_offered = ", ".join(offered) or "none"
            raise UsageError(f"There is no file {unknown[0]!r}. There are: {names_offered}.")
        root, paths = Path(folder).resolve(), []
        for name in offered if names is None else names:
            path = (root / name).resolve()
            if not path.is_relative_to(root) or path == root:
                raise ServerError(f"The server names a file outside the folder: {name!r}.")
            paths.append(path)
            if path.is_file() and file_sha256(path) == offered[name]["sha256"]:
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._download(name, path, offered[name])
            except OSError as error:
                raise UsageError(f"{path} cannot be written: {reason_of(error)}.") from None
        return paths

    def _download(self, name: str, path: Path, offered: responses.FileState) -> None:
        partial = path.with_name(f"{path.name}.{offered['sha256'][:8]}.part")
        with partial.open("ab") as file:
            while file.tell() < offered["bytes"]:
                if not self._repeated(lambda: self._copy(name, offered["sha256"], file)):
                    break
        if file_sha256(partial) != offered["sha256"]:
            partial.unlink()
            raise ServerError(f"{name} arrived damaged, or was replaced meanwhile. Try again.")
        partial.replace(path)

    def submissions(self) -> responses.SubmissionsPage:
        """Return the team's requests, newest first, and how many submissions are left."""
        return self._json("GET", "/submissions")

    def withdraw(self, submission: int) -> responses.RequestState:
        """Withdraw a submission by its number: it leaves every board, but counts in the limits.

        This cannot be undone.
        """
        return self._json("POST", "/withdrawals", body={"submission": submission})

    def results(self) -> list[responses.ResultState]:
        """Return all published versions of the private board, with their states and marks."""
        return self._json("GET", "/results")["rows"]

    def result(self, version: int) -> responses.Result:
        """Return a published version of the private board; a retracted one has no rows."""
        return self._json("GET", f"/results/{version}")

    def announcements(self) -> list[responses.AnnouncementState]:
        """Return the announcements of the organisers, newest first."""
        return self._json("GET", "/announcements")["announcements"]

    def ask(self, text: str) -> responses.MessageState:
        """Ask the organisers; answers are in :meth:`messages`."""
        return self._once("POST", "/messages", {"text": text})

    def messages(self) -> list[responses.MessageState]:
        """Return the own messages and those of the organisers, newest first."""
        return self._json("GET", "/messages")["messages"]

    def answers(self) -> list[responses.MessageState]:
        """Return the questions that the organisers answered for everybody, newest first."""
        return self._json("GET", "/answers")["messages"]

    def team_requests(self) -> responses.TeamRequests:
        """Return the own request to a team (``sent``), and those to the own team (``received``)."""
        return self._json("GET", "/team/requests")

    def ask_team(self, team: str) -> responses.TeamRequests:
        """Ask a team to take you in, or, as the captain of a team, to merge yours with it.

        Its captain answers in the browser. An earlier request ends.
        """
        return self._once("POST", "/team/requests", {"team": team})

    def end_team_request(self) -> responses.TeamRequests:
        """End the own request to a team."""
        return self._json("DELETE", "/team/requests")

    def mail_results(self, wanted: bool) -> None:
        """Choose whether an e-mail says that a file that one sent has its result."""
        self._once("PUT", "/result-mail", {"wanted": wanted})

    def select(
        self, submissions: Sequence[int], *, phase: str | None = None
    ) -> responses.RequestState:
        """Choose the team's final submissions of a phase by their numbers.

        ``phase``: in which none is chosen, where several are open and ``submissions`` is empty.
        """
        body = {"submissions": list(submissions), **({} if phase is None else {"phase": phase})}
        return self._json("PUT", "/selection", body=body)

    def _json(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        file: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        kind = "application/octet-stream" if file else "application/json"
        sent_headers = {**self._authorization, "Content-Type": kind, **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        return self._repeated(
            lambda: self._send(method, path, content=content, file=file, headers=sent_headers)
        )

    def _once(self, method: str, path: str, body: Mapping[str, Any] | str) -> Any:
        if isinstance(body, str):
            content, kind = body, "text/plain; charset=utf-8"
        else:
            content, kind = json.dumps(body), "application/json"
        headers = {**self._authorization, "Content-Type": kind}
        try:
            return self._send(method, path, content=content.encode(), file=None, headers=headers)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ServerError(
                f"{self._parts.netloc} did not answer: {reason}. The request may have been "
                f"carried out: look at the site before you repeat it."
            ) from None

    def _repeated(self, send: Callable[[], _Answer]) -> _Answer:
        """Send a request until there is an answer, a few times at most."""
        failure = ServerError("")
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(failure.wait if isinstance(failure, _Busy) else min(2**attempt, 30))
            try:
                return send()
            except _Busy as busy:
                failure = busy
            except (OSError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
                failure = ServerError(
                    f"{self._parts.netloc} cannot be reached: {reason}. Check the address and the "
                    f"connection, and repeat the command: nothing is counted twice."
                )
                if isinstance(error, ssl.SSLCertVerificationError):
                    break
        raise ServerError(str(failure), failure.status)

    def _send(
        self,
        method: str,
        path: str,
        content: bytes | None,
        file: Path | None,
        headers: dict[str, str],
    ) -> Any:
        connection = self._connection()
        try:
            if file is not None:
                with _opened(file) as opened:
                    size = {"Content-Length": str(file.stat().st_size)}
                    connection.request(method, self._base + path, opened, headers | size)
            else:
                connection.request(method, self._base + path, content, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status == HTTPStatus.NO_CONTENT:
            return {}
        if response.status in {200, 201, 202}:
            return json.loads(text)
        # A redirection is not followed: it could send the token to another machine.
        raise refusal(response, text)

    def _copy(self, name: str, sha256: str, file: IO[bytes]) -> int:
        """Append the rest of a file as it arrives; return how many bytes were added."""
        connection, before = self._connection(), file.tell()
        headers = {
            **self._authorization,
            "Range": f"bytes={before}-",
            "If-Range": f'"{sha256}"',
        }
        try:
            connection.request("GET", f"{self._base}/files/{quote(name)}", headers=headers)
            response = connection.getresponse()
            if response.status not in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
                raise refusal(response, response.read())
            if response.status == HTTPStatus.OK and before:  # it is another file now
                file.truncate(0)
            while chunk := response.read(_PART):
                try:
                    file.write(chunk)
                    file.flush()
                except OSError as error:
                    raise UsageError(f"{name} cannot be written: {reason_of(error)}.") from None
            return file.tell() - before
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        kind = (
            http.client.HTTPSConnection
            if self._parts.scheme == "https"
            else http.client.HTTPConnection
        )
        return kind(str(self._parts.hostname), self._parts.port, timeout=self._timeout)


class OrganiserClient(Client):
    """A served competition, as its organiser: the token has the scope ``admin``.

    A request that changes something is sent only once: if the connection breaks before the answer,
    check :meth:`events` before you repeat it.

    Examples
    --------
    >>> host = OrganiserClient("https://arena.example.org/churn", "arena_...")
    >>> host.all_submissions(status="rejected", order="oldest")  # doctest: +SKIP
    [{'request': '5f0c...', 'team': 'Ants', ...}]
    """

    def health(self) -> responses.Health:
        """Return the phase, the queue, the scorer and the disk."""
        return self._json("GET", "/admin/health")

    def queue(self) -> list[responses.QueueRow]:
        """Return the waiting requests, in the order in which they will be judged."""
        return self._json("GET", "/admin/queue")["rows"]

    def teams(self) -> list[responses.TeamRow]:
        """Return the teams and their members."""
        return self._json("GET", "/admin/teams")["rows"]

    def events(self) -> list[responses.AnswerRow]:
        """Return the last actions of organisers and their results, newest first."""
        return self._json("GET", "/admin/events")["rows"]

    def all_submissions(
        self,
        *,
        team: str = "",
        status: str = "",
        day: str = "",
        phase: str = "",
        search: str = "",
        order: str = "newest",
    ) -> list[responses.AnswerRow]:
        """Return the submissions of all teams that match; an empty text is no condition.

        ``day`` is a day in UTC, such as 2026-03-01; ``order`` is ``newest``, ``oldest``,
        ``highest``, ``lowest`` or ``team``.
        """
        query = {
            "team": team, "status": status, "day": day, "phase": phase, "search": search,
            "order": order,
        }  # fmt: skip
        rows: list[responses.AnswerRow] = []
        page = 1
        while True:
            answer = self._json("GET", f"/admin/submissions?{urlencode({**query, 'page': page})}")
            rows += answer["rows"]
            if not answer["rows"] or len(rows) >= answer["total"]:
                return rows
            page += 1

    def judge_again(self, request: str) -> responses.RequestState:
        """Judge again a file that was rejected or set aside; return the new request."""
        return self._once("POST", f"/admin/submissions/{quote(request)}/rerun", {})

    def disqualify(
        self, reason: str, *, submission: int | None = None, team: str | None = None
    ) -> responses.RequestState:
        """Disqualify a submission or a team; the reason is recorded and shown to the team."""
        whom = {"submission": submission, "team": team}
        return self._once("POST", "/admin/disqualify", {"reason": reason, **_given(whom)})

    def undo(
        self, reason: str, *, submission: int | None = None, team: str | None = None
    ) -> responses.RequestState:
        """Undo a disqualification."""
        whom = {"submission": submission, "team": team}
        return self._once("POST", "/admin/undo", {"reason": reason, **_given(whom)})

    def merge(self, team: str, into: str) -> responses.RequestState:
        """Merge a team into another one. This cannot be undone."""
        return self._once("POST", "/admin/merge", {"team": team, "into": into})

    def merges(self) -> list[responses.MergeRow]:
        """Return the merges that organisers or captains asked for, newest first."""
        return self._json("GET", "/admin/merges")["rows"]

    def assign_bracket(
        self, team: str, bracket: str, *, member: bool = True
    ) -> responses.RequestState:
        """Put a team into a bracket, or take it out, which is put on record."""
        body = {"team": team, "bracket": bracket, "member": member}
        return self._once("POST", "/admin/brackets", body)

    def approve(self, account: str) -> None:
        """Approve or unblock an account by its identifier, which :meth:`teams` has."""
        self._once("POST", "/admin/approve", {"account": account})

    def block(self, account: str) -> None:
        """Block an account."""
        self._once("POST", "/admin/block", {"account": account})

    def delete_account(self, account: str) -> None:
        """Delete the account of a member of a team; what it sent no longer names a person.

        This cannot be undone. Members delete their own account in the browser: a token alone, which
        others may have found, deletes none.
        """
        self._once("DELETE", "/admin/accounts", {"account": account})

    def announce(self, text: str, *, mail: bool = False) -> responses.AnnouncementPosted:
        """Post an announcement in Markdown; with ``mail`` also by e-mail to all members."""
        return self._once("POST", "/admin/announcements", {"text": text, "mail": mail})

    def withdraw_announcement(self, announcement: int) -> None:
        """Withdraw an announcement by its number."""
        self._once("DELETE", "/admin/announcements", {"announcement": announcement})

    def all_messages(self) -> list[responses.MessageRow]:
        """Return the messages between participants and organisers, newest first."""
        return self._json("GET", "/admin/messages")["rows"]

    def answer(self, message: int, text: str, *, published: str = "") -> responses.MessageList:
        """Answer a message in Markdown; everybody sees it with ``published`` as the question."""
        body = {"answers": message, "text": text, "published": published}
        return self._once("POST", "/admin/messages", body)

    def write(self, team: str, text: str) -> responses.MessageList:
        """Send a message in Markdown to each member of a team."""
        return self._once("POST", "/admin/messages", {"team": team, "text": text})

    def invite(self, people: str) -> list[responses.InvitationLink]:
        """Invite people by a list with a line for each: team, name, e-mail; return their links.

        Raises
        ------
        RefusedRequestError
            If lines have faults, which the message names; then no invitation is created.
        """
        return self._once("POST", "/admin/teams", people)["rows"]

    def invitations(self) -> list[responses.InvitationRow]:
        """Return the invitations that were not used yet, without the secrets of their links."""
        return self._json("GET", "/admin/invitations")["rows"]

    def invite_again(self, invite: str) -> responses.InvitationLink:
        """Replace an unused invitation by a new one, which is mailed if there is an address."""
        return self._once("PUT", "/admin/invitations", {"invite": invite})["rows"][0]

    def withdraw_invitation(self, invite: str) -> None:
        """Withdraw an unused invitation."""
        self._once("DELETE", "/admin/invitations", {"invite": invite})

    def failed_mails(self) -> list[responses.FailedMailRow]:
        """Return the e-mails of the last month that could not be delivered, and why."""
        return self._json("GET", "/admin/mails")["rows"]

    def send_mail_again(self, mail: str) -> None:
        """Send an e-mail of :meth:`failed_mails` again."""
        self._once("POST", "/admin/mails", {"mail": mail})

    def rescore(self, preview: str = "") -> responses.RequestState:
        """Preview a rescore, or apply one by the code in the answer to its preview."""
        return self._once("POST", "/admin/rescore", {"preview": preview})

    def pause(self, reason: str) -> responses.RequestState:
        """Refuse files until :meth:`resume`; the reason is public."""
        return self._once("POST", "/admin/pause", {"reason": reason})

    def resume(self) -> responses.RequestState:
        """Receive files again."""
        return self._once("POST", "/admin/resume", {})

    def exempt(
        self, team: str, reason: str, *, until: str | None = None, extra: int | None = None
    ) -> responses.RequestState:
        """Let a team submit until a later time (ISO 8601), or more often; this is public."""
        more = _given({"until": until, "extra": extra})
        return self._once("POST", "/admin/exempt", {"team": team, "reason": reason, **more})

    def finalize(self, phase: str = "") -> responses.RequestState:
        """Compute the private board, if neither board nor queue changes meanwhile.

        ``phase`` is empty without phases, or for the current one.
        """
        return self._once("POST", "/admin/finalize", self._final_step(phase))

    def next_result(self) -> responses.NextResult:
        """Return the private board as it would be published; after the deadline only."""
        return self._json("GET", "/admin/result")

    def publish(self, phase: str = "") -> responses.PublishRequest:
        """Publish the private board; ``phase`` as in :meth:`finalize`.

        ``warnings`` of the answer say what to know before, such as winners that are not verified.
        """
        return self._once("POST", "/admin/publish", self._final_step(phase))

    def _final_step(self, phase: str) -> dict[str, Any]:
        return {"seen": self.health()["seen"], "phase": phase}

    def activity(self) -> list[responses.ActivityRow]:
        """Return uploads, accepted ones and teams of the last 14 days with uploads."""
        return self._json("GET", "/admin/activity")["rows"]

    def edit_team(
        self, team: str, *, name: str | None = None, note: str | None = None
    ) -> responses.Message:
        """Rename a team, by its ``id`` of :meth:`teams`, or write a note that organisers see."""
        body = _given({"name": name, "note": note})
        return self._once("PATCH", f"/admin/teams/{quote(team)}", body)

    def settings(self) -> responses.SettingsState:
        """Return the ``settings`` and ``texts`` that can be changed here."""
        return self._json("GET", "/admin/settings")

    def preview_settings(
        self, settings: Mapping[str, Any], texts: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return what :meth:`change_settings` would change, in lines."""
        body = {"settings": settings, "texts": texts or {}}
        return self._once("POST", "/admin/settings/preview", body)["changes"]

    def change_settings(
        self, settings: Mapping[str, Any], texts: Mapping[str, str] | None = None
    ) -> responses.RequestState:
        """Change settings, such as ``{"limits.per_day": 5}``, and texts, such as ``{"rules": …}``.

        ``competition.toml`` is written, and its comments stay.
        """
        body = {"settings": settings, "texts": texts or {}}
        return self._once("PATCH", "/admin/settings", body)

    def verify_winner(
        self, submission: int, state: str, *, note: str = ""
    ) -> responses.RequestState:
        """Record what the verification of a submission found: verified, failed or open."""
        body = {"submission": submission, "state": state, "note": note}
        return self._once("POST", "/admin/verifications", body)

    def retract(self, reason: str, phase: str = "") -> responses.RequestState:
        """Retract the published result; the reason is shown instead of its rows.

        ``phase`` as in :meth:`finalize`.
        """
        return self._once("POST", "/admin/retract", {"reason": reason, "phase": phase})


def _opened(path: Path) -> IO[bytes]:
    """Open a file to send. A wrong path is a UsageError, which is not tried again as a fault is."""
    try:
        return path.open("rb")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(str(unreadable(path, error)))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class _Busy(ServerError):  # noqa: N818 - it asks to wait
    """The server asks to repeat the request later."""

    def __init__(self, message: str, status: int, after: str | None) -> None:
        super().__init__(message, status)
        self.wait = min(int(after), 60) if after is not None and after.isdigit() else 2


def refusal(response: http.client.HTTPResponse, text: bytes) -> ServerError:
    """Return the error that an answer of the server is."""
    message = _message(response.getheader("Content-Type") or "", text, response.status)
    if response.status in REPEAT:
        return _Busy(message, response.status, response.getheader("Retry-After"))
    refused = HTTPStatus.BAD_REQUEST <= response.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return (RefusedRequestError if refused else ServerError)(message, response.status)


def _message(kind: str, text: bytes, status: int) -> str:
    if kind.startswith(_PROBLEM):
        try:
            return str(json.loads(text)["detail"])
        except (ValueError, KeyError, TypeError):
            pass
    return f"The server answered with status {status}: is this the address of a competition?"
