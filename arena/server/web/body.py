"""Bodies of requests, read within limits of size and time.

An upload goes to the spool while it arrives. It is on disk before the request is stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from arena.server.records.uploads import Stored, Upload
from arena.server.web.language import _
from arena.server.web.problems import Problem
from arena.server.web.site import CompetitionSite, Site
from arena.server_section import ServerSection
from arena.utils.file_errors import reason_of

SMALL = 65_536
"""The largest body of a request without a file, in bytes."""
_PART = 2**18
_RESULT = 2**19
"""The largest result of a run without its output: the log of a trial is a part of it."""
_STORED_FILES = 20
"""Files of the largest size that an account may have stored by default."""


ANSWER = "answer."
"""A field with this and the key of a question holds the answer to it."""


@dataclass(frozen=True, slots=True)
class Received:
    """An upload that arrived completely."""

    stored: Stored
    file: str
    fields: Mapping[str, str]
    """The other fields of the form."""
    complete: datetime
    """When the last byte arrived."""


async def limited_chunks(
    request: Request, limits: ServerSection, most: int
) -> AsyncGenerator[bytes, None]:
    """Yield the body; 413 if it is too large, 408 if it stops or is too slow."""
    started, size = time.monotonic(), 0
    stream = request.stream()
    while True:
        spent = time.monotonic() - started
        allowed = limits.body_seconds + size / limits.bytes_per_second
        wait = min(limits.body_seconds, allowed - spent)
        try:
            chunk = await asyncio.wait_for(anext(stream, None), max(wait, 0.001))
        except TimeoutError:
            raise Problem(
                408,
                _(
                    "The upload stopped or was too slow, so nothing was counted. Check the "
                    "connection and send the file again."
                ),
                {"Connection": "close"},
            ) from None
        except ClientDisconnect:
            raise Problem(400, "The connection broke before the body was complete.") from None
        if chunk is None:
            return
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        yield chunk  # also the last one, which is empty: starlette's parser of forms waits for it


def _too_large(most: int) -> Problem:
    return Problem(
        413,
        _("The file is too large: the limit is {most} bytes. Send fewer digits, or a .csv.gz.")
        .format(most=f"{most:,}"),
        {"Connection": "close"},
    )  # fmt: skip


def announces_more(request: Request, most: int) -> bool:
    """Return whether the stated length of the body is no number, or more bytes than these."""
    length = request.headers.get("content-length", "0")
    size = whole_number(length)
    return size is None or size > most


def _check_length(request: Request, most: int) -> None:
    if announces_more(request, most):
        raise _too_large(most)


async def read_small(request: Request, limits: ServerSection) -> bytes:
    """Return the body of a request without a file."""
    _check_length(request, SMALL)
    return b"".join([chunk async for chunk in limited_chunks(request, limits, SMALL)])


async def read_json(request: Request, limits: ServerSection, model: type[BaseModel]) -> Any:
    """Return the body as a model.

    Raises
    ------
    Problem
        415 if it is not JSON, 422 if it does not have the form of the model.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "Send the body as JSON, with Content-Type: application/json.")
    body = await read_small(request, limits)
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'body'}: {problem['msg']}"
            for problem in error.errors()
        )
        raise Problem(
            422, f"The body does not have the form of this request. {problems}."
        ) from None


async def _form(
    request: Request, limits: ServerSection, most: int, *, field: int = SMALL
) -> FormData:
    media_type, options = parse_options_header(request.headers.get("content-type", ""))
    kind = media_type.decode("latin-1")
    if options.get(b"charset", b"utf-8").lower() not in {b"utf-8", b"utf8"}:
        raise Problem(415, "Send the form in UTF-8, as browsers do: remove the charset.")
    _check_length(request, most)
    stream = limited_chunks(request, limits, most)
    try:
        if kind == "multipart/form-data":
            parser = MultiPartParser(
                request.headers, stream, max_files=1, max_fields=40, max_part_size=field
            )
            return await parser.parse()
        if kind in {"application/x-www-form-urlencoded", ""}:
            text = b"".join([chunk async for chunk in stream]).decode()
            # Starlette's parser would replace what is not UTF-8 by other letters.
            fields: list[tuple[str, str | UploadFile]] = [
                *parse_qsl(text, keep_blank_values=True, errors="strict")
            ]
            return FormData(fields)
    except UnicodeDecodeError:
        raise Problem(400, "The form cannot be read: it is not UTF-8.") from None
    except (MultiPartException, ValueError, KeyError) as error:
        raise Problem(400, f"The form cannot be read: {reason_of(error)}.") from None
    raise Problem(415, "Send a form: multipart/form-data or application/x-www-form-urlencoded.")


async def read_fields(request: Request, limits: ServerSection) -> dict[str, str]:
    """Return the fields of a form without a file."""
    form = await _form(request, limits, SMALL)
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    await form.close()
    return fields


def check_confirmed(fields: Mapping[str, str]) -> None:
    """Refuse a form whose step was not confirmed by its check box: 422."""
    if not fields.get("sure"):
        raise Problem(422, _("Confirm the step by its check box."))


async def read_many(
    request: Request, limits: ServerSection, name: str
) -> tuple[list[str], FormData]:
    """Return all values of one field of a form, and the form."""
    form = await _form(request, limits, SMALL)
    return [value for value in form.getlist(name) if isinstance(value, str)], form


@asynccontextmanager
async def _begun(site: Site, most: int) -> AsyncIterator[Upload]:
    upload = await run_in_threadpool(site.uploads.begin, most)
    with upload:
        yield upload


async def read_upload(
    request: Request, site: Site, limits: ServerSection, most: int, name: str = "file"
) -> Received:
    """Store the file of a request: its body, or the part ``name`` of a form.

    Parameters
    ----------
    most
        The largest file, in bytes.

    Raises
    ------
    Problem
        400, 408, 413, 415 or 422, if the body cannot be taken.
    """
    parameters = request.query_params
    fields = {key: parameters.get(key, "") for key in ("description", "phase")}
    fields |= {key: value for key, value in parameters.items() if key.startswith(ANSWER)}
    file = request.query_params.get("file", "") or "submission.csv"
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with AsyncExitStack() as stack:
        if kind == "multipart/form-data":
            form = await _form(request, limits, most + SMALL)
            stack.push_async_callback(form.close)
            fields = {key: value for key, value in form.items() if isinstance(value, str)}
            part = form.get(name)
            if not isinstance(part, UploadFile) or not part.filename:
                raise Problem(422, _("No file was sent. Choose a file first."))
            file = part.filename
            received = site.clock()
            upload = await stack.enter_async_context(_begun(site, most))
            while chunk := await part.read(_PART):
                upload.write(chunk)
            size = part.size
        else:
            _check_length(request, most)
            upload = await stack.enter_async_context(_begun(site, most))
            size = 0
            async for chunk in limited_chunks(request, limits, most):
                upload.write(chunk)
                size += len(chunk)
            received = site.clock()
        if not size:
            raise Problem(422, _("The file is empty. Send it with its content."))
        stored = await run_in_threadpool(upload.commit)
    return Received(stored, base_name(file), fields, received)


async def read_result(
    request: Request, site: Site, limits: ServerSection, most: int
) -> tuple[Mapping[str, str], Stored | None]:
    """Return the fields of a runner's form, and its part ``output``, if it has one."""
    async with AsyncExitStack() as stack:
        form = await _form(request, limits, most + _RESULT, field=_RESULT)
        stack.push_async_callback(form.close)
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        part = form.get("output")
        if not isinstance(part, UploadFile):
            return fields, None
        upload = await stack.enter_async_context(_begun(site, most))
        while chunk := await part.read(_PART):
            upload.write(chunk)
        return fields, await run_in_threadpool(upload.commit)


async def receive(
    request: Request, site: Site, competition: CompetitionSite, account: str
) -> Received:
    """Store the file of a request, as :func:`read_upload`, if the account has room for it.

    Raises
    ------
    Problem
        507 if the files of the account in this competition fill the room that it has; otherwise as
        :func:`read_upload`.
    """
    limits, most = competition.limits, competition.facts.largest_upload
    room = limits.max_stored_bytes or _STORED_FILES * most
    stated = whole_number(request.headers.get("content-length", ""))
    size = most if stated is None else min(stated, most)
    who = (competition.name, account)
    needed = site.stored_bytes(competition, account) + size
    if needed > room:
        raise Problem(
            507,
            _(
                "Your files on this server would take more than {room} bytes. Wait until those "
                "that you sent are judged, then send the file again."
            ).format(room=f"{room:,}"),
            {"Connection": "close"},
        )
    site.make_room(competition, account, room - needed)
    site.arriving[who] += size
    try:
        return await read_upload(request, site, limits, most)
    finally:
        site.arriving[who] -= size
        if not site.arriving[who]:
            del site.arriving[who]


def base_name(file: str) -> str:
    """Return the name of a file without its folders, printable and not too long."""
    name = file.replace("\\", "/").rpartition("/")[2]
    return "".join(mark for mark in name if mark.isprintable())[:120] or "submission.csv"


def whole_number(text: str, *, digits: int = 15) -> int | None:
    """Return the number in a field of a form; None unless it is 1 to ``digits`` digits 0 to 9.

    >>> whole_number("12"), whole_number("-1"), whole_number(""), whole_number("123", digits=2)
    (12, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
