"""The feed of announcements: who reads it, when it is sent again, and that no text breaks it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from arena.server.records.announcements import Announcement, version
from web_site import NAME, URL, WebSite

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = f"/{NAME}/announcements.atom"
TEXTS = ("# The *end*\n\nIt moves, see [rules](rules) & <b>.", "\x0b\ufffe]]>", "```\ncode\n```")


def test_the_feed_has_every_announcement_and_is_sent_once(web: WebSite) -> None:
    reader = web.browser()
    first = reader.get(FEED)
    assert first.headers["content-type"].startswith("application/atom+xml")
    assert reader.get(FEED, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    for text in TEXTS:
        web.site.announcements.post(NAME, text, "organiser")
    answer = reader.get(FEED, headers={"If-None-Match": first.headers["etag"]})
    feed = ElementTree.fromstring(answer.content)  # noqa: S314 - of this server
    entries = feed.findall(f"{ATOM}entry")
    titles = [entry.findtext(f"{ATOM}title") for entry in entries]
    assert titles == ["Customer <b>churn</b>: Announcements", "]]>", "The end"]
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 3
    content = entries[-1].find(f"{ATOM}content")
    assert content is not None
    assert content.text == (
        '<h1>The <em>end</em></h1>\n<p>It moves, see <a href="rules">rules</a> &amp; '
        "&lt;b&gt;.</p>\n"
    )
    page = content.attrib["{http://www.w3.org/XML/1998/namespace}base"]
    assert page == f"{URL}/{NAME}/announcements#announcement-1"
    assert f'id="{page.partition("#")[2]}"' in reader.get(f"/{NAME}/announcements").text
    for path in ("/", "/announcements"):
        assert f'type="application/atom+xml" href="{FEED}"' in reader.get(f"/{NAME}{path}").text
    assert reader.get(FEED, headers={"Accept-Language": "de"}).headers["etag"] not in (
        first.headers["etag"], answer.headers["etag"],
    )  # fmt: skip


def test_the_version_of_announcements_changes_with_each_of_them() -> None:
    posted = [Announcement(number, "text", datetime.now(UTC)) for number in (3, 2, 1)]
    versions = [version(some) for some in ([], posted[2:], posted[1:2], posted[1:], posted[:2])]
    assert len({*versions}) == 5


def test_the_feed_of_members_is_read_with_a_token_as_password(tmp_path: Path) -> None:
    web = WebSite(tmp_path, board="members")
    assert web.browser().get(FEED).status_code == 401
    token = web.token(web.person("Ada", "Ants"), "read")
    assert web.browser().get(FEED, auth=("any", token)).status_code == 200
    web.close()
