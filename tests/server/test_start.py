"""What the web process finds when it starts."""

from __future__ import annotations

from pathlib import Path

from arena.server.records.layout import Layout, WebSettings
from arena.server.web.site import Site
from arena.server_section import ServerSection
from web_site import NAME, WebSite


def test_before_the_first_publication(tmp_path: Path) -> None:
    site = Site(WebSettings(Layout(tmp_path), (NAME,), "http://127.0.0.1:8000"))
    assert not site.is_published()
    assert site.limits() == ServerSection()
    assert site.trusted_proxies() == ()
    site.close()


def test_the_proxy_in_front(web: WebSite, tmp_path: Path) -> None:
    """With TLS a proxy on this machine is believed, unless others are named."""
    assert web.site.is_published()
    assert web.site.trusted_proxies() == ("127.0.0.1", "::1")
    other = WebSite(tmp_path / "other", trusted_proxies=["10.0.0.7"])
    assert other.site.trusted_proxies() == ("10.0.0.7",)
    other.close()
