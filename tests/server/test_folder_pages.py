"""Pages, images and files of a competition's folder: from the folder to a reader."""

from __future__ import annotations

import hashlib
import itertools
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import Client
from arena.cli.init_pages import write_pages
from arena.client import ServerError
from arena.competition.competition import Competition
from arena.errors import UsageError
from arena.server.check import problems
from arena.server.records.layout import Layout
from arena.server.scorer.facts import rules_of
from arena.server.scorer.shared_folder import FolderReader
from arena.server.web.colours import contrast, style_sheet
from arena.server.web.prose import Addresses, markdown
from arena.server_section import ServerSection
from web_site import NAME, RULES, WebSite, listening

TEXT = """# A race

The loss is $\\frac{1}{n}\\sum_i \\text{<b>loss</b>}_i$, from $5 to $6. <script>alert(1)</script>

![curve](curve.png) [the data](data.md) [train](files/train/a.csv) [x](javascript:alert(1))

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    race_folder = tmp_path / "race"
    files = {
        "pages/overview.md": TEXT, "pages/b-prizes.md": "Much.", "pages/data.md": "# About data",
        "pages/_footer.md": "By *us*.", "pages/curve.png": "png", "pages/a b.md": "odd name",
        "files/train/a.csv": "id,y\n" * 5_000, "files/kit.zip": "kit", "files/.hidden": "h",
        "files/labels.csv": "the solution",
    }  # fmt: skip
    for name, text in files.items():
        (race_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (race_folder / name).write_text(text)
    (race_folder / "solution.csv").write_text("id,y,Usage\n")
    (race_folder / "files/link.csv").symlink_to(race_folder / "solution.csv")
    (race_folder / "files/linked").symlink_to(race_folder)
    return race_folder


@pytest.fixture
def reader(folder: Path, tmp_path: Path) -> FolderReader:
    layout = Layout(tmp_path / "root")
    layout.create()
    secret = hashlib.sha256(b"the solution").hexdigest()
    return FolderReader(folder, layout.shared(NAME), secret)


@pytest.fixture
def filled(web: WebSite, reader: FolderReader) -> WebSite:
    web.scorer.publish(folder=asdict(reader.changed() or pytest.fail("nothing was read")))
    return web


def test_the_folder_is_read_when_it_changes_and_never_beyond_it(
    folder: Path, reader: FolderReader
) -> None:
    site = reader.changed()
    assert site is not None
    assert [name for name, _text in site.pages] == ["overview", "_footer", "b-prizes", "data"]
    assert [title for _name, title in site.tabs()] == ["A race", "B prizes", "About data"]
    assert [image.name for image in site.images] == ["curve.png"]
    # Neither links, nor hidden files, nor the solution under another name.
    assert [file.name for file in site.files] == ["kit.zip", "train/a.csv"]
    assert reader.changed() is None
    assert {path.name for path in reader.target.iterdir()} == {
        file.sha256 for file in (*site.images, *site.files)
    }
    (folder / "files/kit.zip").write_text("another kit")
    (folder / "pages/b-prizes.md").unlink()
    again = reader.changed()
    assert again is not None
    assert again.files[0].sha256 == hashlib.sha256(b"another kit").hexdigest()
    reader.remove_old_copies(again)
    assert len(list(reader.target.iterdir())) == 3


def test_the_solution_is_not_copied_for_a_moment(
    reader: FolderReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[str] = []
    replace_file = Path.replace

    def noted(path: Path, target: Path) -> Path:
        copies.append(target.name)
        return replace_file(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    content = reader.changed()
    assert content is not None
    assert set(copies) == {file.sha256 for file in (*content.images, *content.files)}


def test_pages_of_the_folder_are_tabs(filled: WebSite) -> None:
    guest = filled.browser()
    page = guest.get(f"/{NAME}/overview").text
    tabs = re.findall(r'<li><a href="/churn(/[^"]*)"', page)
    assert tabs == ["/overview", "/", "/pages/b-prizes", "/files", "/submit", "/messages"]
    assert "By <em>us</em>." in page
    assert '<img src="/churn/pages/curve.png" alt="curve">' in page
    assert '<a href="/churn/pages/data">' in page
    assert '<a href="/churn/files/train/a.csv">' in page
    assert "<mfrac>" in page
    assert "from $5 to $6" in page
    assert "<script>alert" not in page
    assert "<b>loss" not in page
    image = guest.get(f"/{NAME}/pages/curve.png")
    assert (image.text, image.headers["content-type"]) == ("png", "image/png")
    for missing in ("/pages/none", "/pages/_footer", "/pages/train.png", "/files/none.csv"):
        assert guest.get(f"/{NAME}{missing}").status_code in {401, 404}, missing


def test_a_heading_of_the_footer_skips_no_level_on_a_page(web: WebSite) -> None:
    folder = {"pages": [("prizes", "None."), ("_footer", "# By us")], "images": [], "files": []}
    web.scorer.publish(folder=folder)
    browser = web.browser(web.person("Ada", "Ants"))
    for path in ("/", "/overview", "/pages/prizes", "/rules", "/submit", "/announcements"):
        page = browser.get(f"/{NAME}{path}").text
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert "By us" in page, path
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), path


def test_a_page_without_a_folder_says_what_is_known(web: WebSite) -> None:
    web.scorer.publish(facts=replace(web.facts, public_rows=18, metric_text="A fraction."))
    page = web.browser().get(f"/{NAME}/overview").text
    assert "calculated on 18 rows, 30% of all" in page
    assert "A fraction." in page
    assert "@misc{churn," in page
    assert "Data" not in re.findall(r"<li><a [^>]*>([^<]*)<", page)


@pytest.mark.parametrize(
    ("access", "statuses"),
    [("anyone", [200] * 5), ("members", [401, 403, 200, 200, 200]),
     ("accepted", [401, 403, 403, 200, 200])],
)  # fmt: skip
def test_who_downloads(
    tmp_path: Path, reader: FolderReader, access: str, statuses: list[int]
) -> None:
    web = WebSite(tmp_path / "root", files=access)
    site = reader.changed()
    assert site is not None
    web.scorer.publish(folder=asdict(site), rules=RULES)
    member, accepted = web.person("Ada", "Ants"), web.person("Bo", "Bees")
    web.site.accounts.accept_rules(NAME, accepted, web.site.competitions[NAME].rules()[1])
    senders = (None, web.person("Eve"), member, accepted, web.person("Org", organiser=True))
    for path in (f"/{NAME}/files/kit.zip", f"/api/v1/{NAME}/files/kit.zip"):
        answers = [web.browser(sender).get(path) for sender in senders]
        assert [answer.status_code for answer in answers] == statuses
        assert answers[-1].text == "kit"
        assert answers[-1].headers["content-disposition"] == 'attachment; filename="kit.zip"'
    image = web.browser().get(f"/{NAME}/pages/curve.png")
    assert (image.text, "content-disposition" in image.headers) == ("png", False)
    assert "kit.zip" in web.browser().get(f"/{NAME}/files").text
    web.close()


@pytest.mark.slow
def test_a_part_of_a_file(filled: WebSite) -> None:
    host = filled.browser(filled.person("Org", organiser=True))
    path = f"/api/v1/{NAME}/files/train/a.csv"
    whole = host.get(path)
    digest = hashlib.sha256(whole.content).hexdigest()
    assert whole.headers["etag"] == f'"{digest}"'
    assert whole.headers["repr-digest"].startswith("sha-256=:")
    part = host.get(path, headers={"Range": "bytes=5-9", "If-Range": f'"{digest}"'})
    assert (part.status_code, part.content) == (206, whole.content[5:10])
    replaced = host.get(path, headers={"Range": "bytes=5-9", "If-Range": '"other"'})
    assert (replaced.status_code, replaced.content) == (200, whole.content)
    assert host.get(path, headers={"If-None-Match": f'"{digest}"'}).status_code == 304
    assert host.get(path, headers={"Range": "bytes=90000-"}).status_code == 416


@pytest.fixture
def client(filled: WebSite) -> Iterator[Client]:
    token = filled.token(filled.person("Ada", "Ants"))
    with listening(filled.app) as port:
        yield Client(f"http://127.0.0.1:{port}/{NAME}", token, attempts=1)


def test_the_official_client_downloads_and_resumes(client: Client, tmp_path: Path) -> None:
    target = tmp_path / "data"
    paths = client.download(target)
    assert [path.relative_to(target).as_posix() for path in paths] == ["kit.zip", "train/a.csv"]
    whole = paths[1].read_bytes()
    assert len(whole) == 25_000
    digest = hashlib.sha256(whole).hexdigest()
    paths[1].unlink()
    partial = paths[1].with_name(f"a.csv.{digest[:8]}.part")
    partial.write_bytes(whole[:100])
    assert client.download(target, ["train/a.csv"]) == [paths[1]]
    assert paths[1].read_bytes() == whole
    assert not partial.exists()
    paths[1].unlink()
    partial.write_bytes(b"x" * 100)
    with pytest.raises(ServerError, match="damaged"):
        client.download(target, ["train/a.csv"])
    with pytest.raises(UsageError, match=r"There is no file 'none'. There are: kit.zip"):
        client.download(target, ["none"])


@pytest.mark.slow
@given(st.from_regex("#[0-9a-f]{6}", fullmatch=True))
def test_every_colour_can_be_read(colour: str) -> None:
    """With 4.5:1 on the page, and on the button that has the colour."""
    colours = re.findall(r"--blue: (#\w+); --on-blue: (#\w+)", style_sheet(colour))
    for (blue, ink), grounds in zip(
        colours, (("#ffffff", "#eaf3fb"), ("#14171c", "#1b2836")), strict=True
    ):
        assert min(contrast(blue, ground) for ground in grounds) >= 4.5
        assert contrast(blue, ink) >= 4.5


ADDRESSES = {
    "![x](curve.png)": "/race/pages/curve.png", "![x](pages/curve.png)": "/race/pages/curve.png",
    "![x](/logo.png)": "/logo.png", "![x](//a.org/logo.png)": "//a.org/logo.png",
    "![x](https://a.org/logo.png)": "https://a.org/logo.png",
    "[x](data.md#columns)": "/race/pages/data#columns", "[x](pages/rules.md)": "/race/rules",
    "[x](files/train/a.csv)": "/race/files/train/a.csv", "[x](more/data.md)": "more/data.md",
    "[x](data.txt)": "data.txt", "[x](/data.md)": "/data.md", "[x](#columns)": "#columns",
}  # fmt: skip
"""Image or link in a page of the folder -> its address on the server."""


def test_relative_addresses_are_those_of_the_folder() -> None:
    addresses_of_text = {
        text: re.findall(
            r'(?:src|href)="([^"]*)"', markdown(text, addresses=Addresses.served("race"))
        )
        for text in ADDRESSES
    }
    assert addresses_of_text == {text: [address] for text, address in ADDRESSES.items()}


@given(st.text(alphabet="$\\{}[]()<>&\"'^_ abx1!#|\n", max_size=200))
def test_no_markdown_becomes_a_script(text: str) -> None:
    """Every tag and attribute is one that Markdown or MathML has."""
    page = str(markdown(text, addresses=Addresses.served("race")))
    for tag, attributes in re.findall(r"<([a-z0-9]+)((?:\s[^>]*)?)>", page):
        assert tag not in {"script", "style", "iframe", "svg", "object", "b", "i"}
        assert not re.search(r"\bon\w+=|style=|javascript:", attributes)


def test_a_draft_of_rules_is_neither_shown_nor_accepted(created: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(created, tmp_path / "race")
    rules, section = folder / "rules.md", ServerSection()
    rules.unlink()
    with Competition.open(folder) as competition:
        write_pages(competition)
        draft = rules.read_text()
        assert rules_of(competition, section) is None
        to_do = problems(folder, competition.settings, "")
        assert any("rules are a draft" in problem for problem in to_do)
        first_line, _, rest = draft.partition("\n")
        assert first_line.endswith("-->")
        rules.write_text(rest)
        assert write_pages(competition) == []
        assert rules_of(competition, section) == rest
        for name in ("", "no-such.md", "pages"):
            assert rules_of(competition, section.model_copy(update={"rules": name})) is None
