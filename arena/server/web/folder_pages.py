"""The pages and files of a competition's folder."""

from __future__ import annotations

import base64

from markupsafe import Markup
from starlette.responses import FileResponse, Response

from arena import responses
from arena.server.records.shared_files import SharedFile, SharedFolder
from arena.server.web.call import Call, may_download
from arena.server.web.colours import style_sheet
from arena.server.web.language import _
from arena.server.web.problems import Problem
from arena.server.web.rendering import Pages, served_markdown, show_page

_IMAGE_TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "svg": "image/svg+xml", "avif": "image/avif",
}  # fmt: skip


def share_of_rows(public: int, rows: int) -> str:
    """Return the share of the public rows as a percentage.

    >>> share_of_rows(30, 100), share_of_rows(1, 4_000)
    ('30%', '0.025%')
    """
    return f"{100 * public / rows:.2g}%" if rows else ""


def _prose(call: Call, name: str) -> Markup | None:
    return served_markdown(call, call.competition.folder().page(name))


async def _overview(call: Call) -> Response:
    facts, rows = call.competition.facts, call.competition.board()[0]
    may_read = call.competition.limits.board == "anyone" or call.person.organiser or call.own_team
    return show_page(
        call,
        "overview.html",
        prose=_prose(call, "overview"),
        share=share_of_rows(facts.public_rows, facts.rows),
        baselines=[row for row in rows if row.get("baseline")] if may_read else [],
        url=(call.site.settings.url or str(call.request.base_url).rstrip("/"))
        + f"/{call.competition.name}/",
    )


async def _page(call: Call) -> Response:
    name = call.request.path_params["page"]
    prose = None if name.startswith("_") else _prose(call, name)
    if prose is None:
        return _image(call, name)
    return show_page(call, "page.html",
        prose=prose, title=dict(call.competition.folder().tabs())[name],
    )  # fmt: skip


def _image(call: Call, name: str) -> Response:
    image = next((image for image in call.competition.folder().images if image.name == name), None)
    if image is None:
        raise Problem(404, _("There is no such page."))
    kind = _IMAGE_TYPES[name.rpartition(".")[2].lower()]
    return _file_response(call, image, kind)


def _file_response(call: Call, file: SharedFile, media: str, *, name: str = "") -> Response:
    path = file.path(call.site.settings.layout.shared(call.competition.name))
    if not path.is_file():  # the scorer replaced it just now
        raise Problem(503, _("This file is being replaced. Try again in a minute."),
                      {"Retry-After": "10"})  # fmt: skip
    digest = base64.b64encode(bytes.fromhex(file.sha256)).decode()
    return FileResponse(
        path,
        media_type=media,
        filename=name or None,
        headers={
            "ETag": f'"{file.sha256}"',
            "Repr-Digest": f"sha-256=:{digest}:",
            "Cache-Control": "no-cache",
        },
    )


def _offered(folder: SharedFolder, name: str) -> SharedFile:
    file = next((file for file in folder.files if file.name == name), None)
    if file is None:
        raise Problem(404, _("There is no such file."))
    return file


async def download(call: Call) -> Response:
    """Return a file of ``files/``; a part of it, if a part is requested."""
    file = _offered(call.competition.folder(), call.request.path_params["file"])
    if f'"{file.sha256}"' in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": f'"{file.sha256}"'})
    name = file.name.rpartition("/")[2]
    return _file_response(call, file, "application/octet-stream", name=name)


async def list_files(call: Call) -> responses.FileList:
    """Return the files that are offered, with their digests."""
    return responses.FileList(
        files=[
            responses.FileState(name=file.name, bytes=file.bytes, sha256=file.sha256)
            for file in call.competition.folder().files
        ]
    )


async def _files(call: Call) -> Response:
    return show_page(
        call,
        "files.html",
        files=call.competition.folder().files,
        may_download=may_download(call),
        has_sample=call.competition.published.etag("sample") is not None,
        prose=_prose(call, "data"),
    )


async def _colours(call: Call) -> Response:
    colour = call.competition.limits.colour
    return Response(
        style_sheet(colour) if colour else "",
        media_type="text/css",
        headers={"Cache-Control": "max-age=86400"},
    )


PAGES: Pages = (
    ("GET", "/overview", "anyone", "read", _overview),
    ("GET", "/colours.css", "anyone", "read", _colours),
    ("GET", "/pages/{page}", "anyone", "read", _page),
    ("GET", "/files", "anyone", "read", _files),
    ("GET", "/files/{file}", "downloader", "read", download),
)
