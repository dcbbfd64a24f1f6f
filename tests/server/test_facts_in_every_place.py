"""After each kind of fact, each place that shows a consequence shows the same one.

``FACTS`` has every kind of event that changes what boards or results follow from, ``PLACES`` every
command, page and address that shows them: one without an entry fails the first two tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from arena.competition.added_rows import ROWS_ADDED
from arena.competition.boards import results
from arena.competition.boards.outdated_board import FINAL_CAUSES
from arena.competition.competition import Competition
from arena.competition.record.admission import EXEMPTED
from arena.competition.record.answers import ANSWERED
from arena.competition.record.rebuild import CAUSES, LABELS_ADDED
from arena.competition.record.roster import BRACKET
from arena.config import ServerSection
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer.scorer import Scorer
from arena.server.web.api import ENDPOINTS
from arena.server.web.app import create_app
from arena.server.web.call import Call
from arena.server.web.events import stream
from arena.server.web.pages import PAGES
from arena.server.web.people import identify
from arena.server.web.site import Site
from program import run_here, write_csv
from scenario import IDS, N_ROWS, PUBLIC, SOLUTION, START, TRUTH, Clock, Scenario

SETTINGS: dict[str, Any] = {
    "mechanism": "ladder-free",
    "resamples": 20,
    "intervals": True,
    "title": "Race",
    "baseline": "base",
    "final_rule": "chosen",
    "bracket": {"students": {}},
    "question": {"place": {"of": "team", "text": "Place"}},
}
PHASE = {"main": {"end": "2027-01-01T00:00:00Z", "admit": "listed", "final": {"rule": "chosen"}}}
SENT = [("base", 50), ("Ants", 90), ("Ants", 61), ("Bees", 81), ("Cats", 70)]
"""Team, and on how many of the 100 public rows its file is right; submissions 1 to 5."""


@dataclass(frozen=True)
class Fact:
    """A change, and what follows from it."""

    kind: str
    """Of its event."""
    change: Callable[[Competition, Path], None]
    board: Mapping[str, float]
    """The public score of each team, best first."""
    public_mark: str | None = None
    """The cause on the public board."""
    result_mark: str | None = None
    """The cause on the published result."""
    retracted: bool = False
    verified: bool = False
    bracket: bool = False
    """Whether the team Cats is in the bracket students on the public board."""
    answer: bool = False
    """Whether the answer Basel of the team Cats is shown."""


BEFORE = {"Ants": 0.9, "Bees": 0.81, "Cats": 0.7, "base": 0.5}
WITHOUT_THE_FIRST = {"Bees": 0.81, "Cats": 0.7, "Ants": 0.61, "base": 0.5}
WITHOUT_ANTS = {"Bees": 0.81, "Cats": 0.7, "base": 0.5}


def configured(**changes: Any) -> Callable[[Competition, Path], None]:
    def change(competition: Competition, folder: Path) -> None:
        competition.close()
        keys = {**SETTINGS, **changes}
        phases = competition.settings.to_document()["phase"]
        if phases:
            keys["phase"] = {"main": {**phases["main"], **changes.get("phase", {})}}
        scenario = Scenario(folder)
        scenario.configure(**keys)
        scenario.reopen().close()

    return change


def undone(change: Callable[[Competition], None], **whom: Any) -> Callable[..., None]:
    def both(competition: Competition, _: Path) -> None:
        change(competition)
        competition.reinstate(reason="a mistake", **whom)

    return both


def with_other_labels(competition: Competition, folder: Path) -> None:
    """Turn the labels of 20 public and 20 private rows, of which every file had the public ones."""
    usage = np.where(PUBLIC, "Public", "Private")
    truth = np.where(np.arange(N_ROWS) < 40, 1 - TRUTH, TRUTH)
    write_csv(folder / "new.csv", ["id", "y", "Usage"], zip(IDS, truth, usage, strict=True))
    competition.rescore(folder / "new.csv", apply=True)


def with_another_metric(competition: Competition, folder: Path) -> None:
    configured(metric="f1(average=micro)")(competition, folder)
    with Scenario(folder).reopen() as again:
        again.rescore(apply=True)


def with_further_rows(competition: Competition, _: Path) -> None:
    """Add a row that counts in no score; every file that was sent lacks it."""
    rows = [(IDS[0], str(TRUTH[0]), "Public" if PUBLIC[0] else "Private"), ("new", "1", "Ignored")]
    competition.add_rows(dict(zip(["id", "y", "Usage"], zip(*rows, strict=True), strict=True)))


def answering(place: str) -> Callable[[Competition, Path], None]:
    """Return the submission of a file that changes no board, with an answer."""

    def change(competition: Competition, folder: Path) -> None:
        answers = {"place": place}
        submission = competition.submit(Scenario(folder).file_right_on(60), "Cats", answers=answers)
        assert submission.status == "accepted"

    return change


FACTS: dict[str, Fact] = {
    "a submission is disqualified": Fact(
        "disqualification", lambda c, _: c.disqualify(2, "a leak") and None,
        WITHOUT_THE_FIRST, CAUSES["disqualification"], CAUSES["disqualification"],
    ),
    "that is undone": Fact(
        "reinstatement", undone(lambda c: c.disqualify(2, "a leak") and None, submission=2),
        BEFORE, CAUSES["reinstatement"],
    ),
    "a team is disqualified": Fact(
        "disqualification", lambda c, _: c.disqualify_team("Ants", "two accounts"),
        WITHOUT_ANTS, CAUSES["disqualification"], CAUSES["disqualification"],
    ),
    "the team counts again": Fact(
        "reinstatement", undone(lambda c: c.disqualify_team("Ants", "x"), team="Ants"),
        BEFORE, CAUSES["reinstatement"],
    ),
    "teams are merged": Fact(
        "team merged", lambda c, _: c.merge_teams("Cats", "Bees"),
        {"Ants": 0.9, "Bees": 0.81, "base": 0.5}, CAUSES["team merged"], CAUSES["team merged"],
    ),
    "a team is renamed": Fact(
        "team renamed", lambda c, _: c.rename_team("Cats", "Dogs"),
        {"Ants": 0.9, "Bees": 0.81, "Dogs": 0.7, "base": 0.5},
    ),
    "labels are corrected": Fact(
        "rescored", with_other_labels, {"Ants": 0.7, "Bees": 0.61, "Cats": 0.5, "base": 0.3},
        CAUSES["rescored"], CAUSES["rescored"],
    ),
    "the metric is another, with the same values": Fact(
        "rescored", with_another_metric, BEFORE, None, CAUSES["rescored"]
    ),
    "the deadline moves": Fact(
        "configuration", configured(deadline="2027-01-01T00:00:00Z"), BEFORE
    ),
    "the limits change": Fact("configuration", configured(total=9), BEFORE),
    "the mechanism changes": Fact(
        "configuration", configured(mechanism="full"), BEFORE, CAUSES["configuration"]
    ),
    "the baseline is another": Fact(
        "configuration", configured(baseline="Cats"), BEFORE,
        None, FINAL_CAUSES["configuration"],
    ),
    "a team is in a bracket": Fact(
        BRACKET, lambda c, _: c.assign_bracket("Cats", "students"), BEFORE,
        None, FINAL_CAUSES[BRACKET], bracket=True,
    ),
    "a team answers a question": Fact(
        ANSWERED, answering("Basel"), BEFORE, answer=True,
    ),
    "a bracket is added": Fact(
        "configuration", configured(bracket={"students": {}, "staff": {"ranked": False}}), BEFORE,
        None, FINAL_CAUSES["configuration"],
    ),
    "a combined board is added": Fact(
        "configuration", configured(board={"both": {"columns": ["accuracy", "f1"]}}), BEFORE,
        None, FINAL_CAUSES["configuration"],
    ),
    "a second baseline is named": Fact(
        "configuration", configured(baseline=["base", "Cats"]), BEFORE,
        None, FINAL_CAUSES["configuration"],
    ),
    "a team chooses another file": Fact(
        "selection", lambda c, _: c.select("Ants", [3]), BEFORE, None, FINAL_CAUSES["selection"]
    ),
    "a file is withdrawn": Fact(
        "withdrawal", lambda c, _: c.withdraw("Ants", 2), WITHOUT_ANTS,
        None, FINAL_CAUSES["withdrawal"],
    ),
    "rows are added": Fact(ROWS_ADDED, with_further_rows, BEFORE),
    "a team is exempted": Fact(
        EXEMPTED, lambda c, _: c.exempt("Cats", extra=2, reason="ill"), BEFORE
    ),
    "the result is retracted": Fact(
        "result retracted", lambda c, _: c.retract("Wrong labels.") and None, BEFORE,
        retracted=True,
    ),
    "a winner is verified": Fact(
        "verification", lambda c, _: c.verify_winner(2, "verified", note="Trained again."), BEFORE,
        verified=True,
    ),
}  # fmt: skip
OF_A_PHASE: dict[str, Fact] = {
    "the end of a phase moves": Fact(
        "configuration", configured(phase={"end": "2027-02-01T00:00:00Z"}), BEFORE
    ),
    "a phase selects the final files otherwise": Fact(
        "configuration", configured(phase={"final": {"rule": "last"}}), BEFORE,
        None, FINAL_CAUSES["configuration"],
    ),
    "other teams are named for a phase": Fact(
        "qualified", lambda c, _: c.qualify("main", ["Bees"], apply=True) and None, BEFORE
    ),
}  # fmt: skip
"""Facts of a competition with a phase; there the others have the same consequences."""
PENDING = {"pending_labels": True, "classes": ("0", "1")}
OF_PENDING_LABELS: dict[str, Fact] = {
    "labels arrive": Fact(
        LABELS_ADDED, lambda c, _: c.add_labels({"id": IDS, "y": TRUTH.astype(str)}) and None,
        BEFORE, CAUSES[LABELS_ADDED], CAUSES[LABELS_ADDED],
    ),
}  # fmt: skip
"""Facts of a competition in which the last ten public and private rows have no labels."""

NO_FACT = {
    "created", "submission", "submission failed", "submission interrupted", "finalized", "repair",
    "upgrade", "board rebuilt", "private board published", "request answered",
    "request set aside", "program set aside", "program rerun", "server settings", "plugins",
    "objects", "paused", "resumed",
}  # fmt: skip
"""Kinds of events that add to what boards follow from, or follow from it, and change no board."""


@dataclass
class Seen:
    """A competition in its folder and as it is served, after a fact."""

    folder: Path
    public: TestClient
    member: TestClient
    """Of the team Ants, by its token."""
    member_pages: TestClient
    organiser: TestClient
    organiser_pages: TestClient
    first_events: Callable[[], str]
    """What an organiser's open page is sent first."""

    def command(self, *arguments: object) -> str:
        done = run_here(*arguments, "-C", self.folder / "c", cwd=self.folder)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout + done.stderr

    def get(
        self, path: str, *, own: bool = False, organiser: bool = False, status: int = 200
    ) -> str:
        by_token = self.organiser if organiser else self.member
        by_session = self.organiser_pages if organiser else self.member_pages
        pages = by_token if path.startswith("/api") else by_session
        answer = (pages if own or organiser else self.public).get(path)
        assert answer.status_code == status, (path, answer.text)
        return answer.text


def written(seen: Seen, *arguments: object) -> str:
    out = seen.folder / "page.html"
    out.unlink(missing_ok=True)
    seen.command(*arguments, out)
    return out.read_text(encoding="utf-8")


API = "/api/v1/c"
BOARD: dict[str, Callable[[Seen], str]] = {
    "leaderboard": lambda seen: seen.command("leaderboard"),
    "leaderboard --json": lambda seen: seen.command("leaderboard", "--json"),
    "leaderboard --csv": lambda seen: seen.command("leaderboard", "--csv"),
    "leaderboard --html": lambda seen: written(seen, "leaderboard", "--html"),
    "report --public": lambda seen: written(seen, "report", "--public", "--out"),
    "GET ": lambda seen: seen.get(API) + seen.get(f"{API}/board"),
    "GET /board": lambda seen: seen.get(f"{API}/board") + seen.get(API),
    "GET /board.csv": lambda seen: seen.get(f"{API}/board.csv"),
    "GET page /": lambda seen: seen.get("/c/"),
    "GET page /board.csv": lambda seen: seen.get("/c/board.csv"),
    "GET /admin/export/{what}": lambda seen: seen.get(f"{API}/admin/export/board", organiser=True),
    "GET page /admin/export/{what}.csv": lambda seen: seen.get(
        "/c/admin/export/board.csv", organiser=True
    ),
}
"""A place that shows the public board and its mark -> its text."""
RESULT: dict[str, Callable[[Seen], str]] = {
    "GET /results": lambda seen: seen.get(f"{API}/results"),
    "GET /results/{version}": lambda seen: seen.get(f"{API}/results/1"),
    "GET page /private": lambda seen: seen.get("/c/private"),
    "GET page /private/{version}": lambda seen: seen.get("/c/private/1"),
}
"""A place that shows the published result and its mark -> its text."""
OWN: dict[str, Callable[[Seen], str]] = {
    "submissions": lambda seen: seen.command("submissions", "--team", "Ants"),
    "submissions --json": lambda seen: seen.command("submissions", "--json"),
    "GET /submissions": lambda seen: seen.get(f"{API}/submissions", own=True),
    "GET /submissions.csv": lambda seen: seen.get(f"{API}/submissions.csv", own=True),
    "GET page /submissions": lambda seen: seen.get("/c/submissions", own=True),
    "GET page /submissions.csv": lambda seen: seen.get("/c/submissions.csv", own=True),
    "GET /admin/submissions": lambda seen: seen.get(f"{API}/admin/submissions", organiser=True),
    "GET page /admin/submissions": lambda seen: table_of(
        seen.get("/c/admin/submissions", organiser=True)
    ),
}
"""A place that shows the status of the submissions of a team -> its text."""
ELSEWHERE = {
    "GET page /embed": "the rows of GET page /, if other sites may show them",
    "GET /events": "test_the_live_events_name_what_is_served",
    "GET /private": "the last version of GET /results/{version}, if it is not retracted",
    "GET /requests/{request}": "one of the submissions of GET /submissions",
    "GET page /submissions/{request}": "one of the submissions of GET page /submissions",
    "GET /admin/events": "the decisions themselves",
    "GET /admin/requests": "the answers of GET /submissions, for the organiser",
    "GET page /admin": "the decisions themselves",
    "GET /admin/result": "the finalized board and outdated(), for the organiser",
    "GET page /admin/result": "the finalized board and outdated(), for the organiser",
    "GET page /admin/submissions/{request}": "the answers of GET /submissions, for the organiser",
    "GET /admin/teams": "the disqualified teams",
    "GET page /admin/teams": "the disqualified teams",
    "GET page /admin/teams/{team}": "the answers of GET /submissions, for the organiser",
    "GET page /overview": "the settings",
}
"""A place that shows a consequence -> where it is tested, or of what it is a part."""
SHOWS_NEITHER = {
    *(f"GET {path}" for path in ("/team", "/tokens", "/files", "/files/{file}", "/announcements",
                                 "/phases", "/messages", "/answers", "/admin/messages",
                                 "/admin/mails",
                                 "/admin/settings", "/admin/activity", "/admin/merges",
                                 "/team/requests",
                                 "/admin/queue", "/admin/health", "/admin/invitations",
                                 "/requests/{request}/file", "/runs/{run}/program")),
    *(f"GET page {path}" for path in ("/announcements", "/announcements.atom", "/messages",
                                      "/admin/messages",
                                      "/admin/settings", "/submit", "/sample_submission.csv",
                                      "/team", "/rules", "/join", "/colours.css", "/files",
                                      "/pages/{page}", "/files/{file}",
                                      "/submissions/{request}/file")),
}  # fmt: skip
READS = {"leaderboard", "submissions", "report", "export"}
"""The commands that show boards, results or submissions of a stored competition."""
OTHER_COMMANDS = {
    "bracket", "exempt", "pause", "phases", "qualify",
    "resume", "attack", "analyses", "audit", "backup", "bayes-error",
    "competitors", "demo", "disqualify", "labels",
    "publish", "retract", "withdraw", "finalize", "import", "init", "masks", "mechanisms",
    "metrics", "plan", "plugins", "programs", "runner", "repair", "rank", "replay", "reproduce",
    "rescore", "rows",
    "score", "select", "serve", "simulate", "sota", "submit", "team", "upgrade", "validate",
    "verify",
    "winners",
}  # fmt: skip
REFUSES = {"report": ("report", "--out", "x.html"), "export": ("export", "x")}
"""A command that makes files of the last result -> its arguments: it refuses one that is marked."""


def test_every_kind_of_event_has_its_fact() -> None:
    source = Path(__file__).parents[2] / "arena/competition"
    text = "\n".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    recorded = r"(?:append_event|\.record|_record_decision)\(\s*(?:state,\s*)?"
    kinds = set(re.findall(recorded + r'"([a-z ]+)"', text))
    for constant in re.findall(recorded + r"([A-Z_]+)\b", text):
        kinds |= set(re.findall(rf'^{constant}\b.* = "([a-z ]+)"', text, re.MULTILINE))
    facts = {fact.kind for fact in (*FACTS.values(), *OF_PENDING_LABELS.values())}
    assert facts >= CAUSES.keys() | FINAL_CAUSES.keys()
    assert kinds - facts - {fact.kind for fact in OF_A_PHASE.values()} <= NO_FACT


def test_every_place_has_its_entry() -> None:
    known_places = BOARD.keys() | RESULT.keys() | OWN.keys() | ELSEWHERE.keys() | SHOWS_NEITHER
    places = {f"GET {endpoint.path}" for endpoint in ENDPOINTS if endpoint.method == "GET"}
    places |= {f"GET page {path}" for method, path, *_ in PAGES if method == "GET"}
    assert places - known_places == set()
    commands = {entry_point.name for entry_point in entry_points(group="arena.commands")}
    assert commands - OTHER_COMMANDS == READS
    assert {place.split()[0] for place in (*BOARD, *OWN) if not place.startswith("GET")} | set(
        REFUSES
    ) == READS


def publish(folder: Path, **keys: Any) -> Path:
    """Make a competition with files and a published result."""
    labels = [str(label) for label in TRUTH]
    if keys.get("pending_labels"):
        labels[-20:] = [""] * 20
    scenario = Scenario(folder, {**SOLUTION, "y": labels})
    with scenario.create(**SETTINGS, **keys) as competition:
        if "phase" in keys:
            competition.qualify("main", ["Ants", "Bees", "Cats"], apply=True)
        scenario.send(competition, *SENT)
        competition.finalize()
        # Also before the end of the phase, as an earlier arena did: the facts are of an open one.
        board = competition.leaderboard(live=True)
        assert results.publish(competition._board, board) == 1
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def published_in_a_phase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(tmp_path_factory.mktemp("in-a-phase"), phase=PHASE)


@contextlib.contextmanager
def seen_after(
    published: Path, folder: Path, fact: Fact | None, clock: Clock | None = None
) -> Iterator[Seen]:
    clock = clock or Clock()
    ignored = shutil.ignore_patterns("server")
    shutil.copytree(published, folder, dirs_exist_ok=True, ignore=ignored)
    if fact is not None:
        with Scenario(folder).reopen() as competition:
            fact.change(competition, folder)
    with Scenario(folder, clock=clock).reopen() as competition:
        assert competition.audit() == ()
        layout = Layout(folder / "server")
        layout.create()
        with (
            Scorer(competition, "c", layout, ServerSection(), clock=clock),
            contextlib.closing(Site(WebSettings(layout, ("c",), ""), clock=clock)) as site,
        ):
            account = site.accounts.register("Ada").account
            site.accounts.create_team("c", "Ants", account)
            token, _ = site.accounts.make_token(account, "test", "submit")
            app = create_app(site)
            headers = {"Authorization": f"Bearer {token}"}
            member = TestClient(app, headers=headers)
            member_pages = TestClient(app, base_url="https://testserver")
            member_pages.cookies.set("__Host-arena", site.accounts.open_session(account))
            host = site.accounts.register("Org", organiser=True).account
            key, _ = site.accounts.make_token(host, "test", "admin")
            authorised = {"Authorization": f"Bearer {key}"}
            organiser_pages = TestClient(app, base_url="https://testserver")
            organiser_pages.cookies.set("__Host-arena", site.accounts.open_session(host))
            yield Seen(
                folder=folder,
                public=TestClient(app),
                member=member,
                member_pages=member_pages,
                organiser=TestClient(app, headers=authorised),
                organiser_pages=organiser_pages,
                first_events=partial(first_events, site, key),
            )


def first_events(site: Site, token: str) -> str:
    """Return what the open page of an organiser is sent before anything else happens."""
    request = Request({
        "type": "http", "method": "GET", "scheme": "http", "query_string": b"",
        "path": f"{API}/events", "headers": [(b"authorization", f"Bearer {token}".encode())],
        "client": ("testclient", 1),
    })  # fmt: skip
    person = identify(request, site.accounts)

    async def read() -> str:
        events = stream(Call(request, site, site.competitions["c"], person))
        return "".join([await anext(events) for _ in range(4)])  # retry, and three kinds

    return asyncio.run(read())


def table_of(page: str) -> str:
    """Return the body of the table of a page, without the forms around it."""
    return page.partition("<tbody")[2].partition("</tbody>")[0]


def rows_of(text: str) -> str:
    """Return the text without markup and addresses, with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def shows(text: str, team: str, score: float) -> bool:
    """Tell whether a score stands soon after the name of a team."""
    return re.search(rf"{team}.{{0,80}}?{score:g}", rows_of(text)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTS)
def test_every_place_shows_what_follows_from_a_fact(
    published: Path, tmp_path: Path, name: str
) -> None:
    every_place_shows(published, tmp_path, FACTS[name])


ONE_OF_EACH_KIND = {fact.kind: name for name, fact in reversed(FACTS.items())}.values()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ONE_OF_EACH_KIND, *OF_A_PHASE])
def test_the_same_follows_in_a_phase(published_in_a_phase: Path, tmp_path: Path, name: str) -> None:
    every_place_shows(published_in_a_phase, tmp_path, {**FACTS, **OF_A_PHASE}[name])


@pytest.mark.slow
def test_the_live_events_name_what_is_served(published: Path, tmp_path: Path) -> None:
    """An open page is sent another ETag exactly if the board or the results are others."""
    live_events, served = {}, {}
    for name in (None, "a submission is disqualified", "the result is retracted"):
        fact = None if name is None else FACTS[name]
        with seen_after(published, tmp_path / str(name), fact) as seen:
            live_events[name] = dict(re.findall(r"event: (\w+)\ndata: (.*)\n", seen.first_events()))
            board = seen.public.get(f"{API}/board")
            assert board.headers["etag"].strip('"') == live_events[name]["board"]
            served[name] = {"board": board.json()["rows"], "results": seen.get(f"{API}/results")}
    for (fact_name, events), (other, of_other) in itertools.combinations(live_events.items(), 2):
        for kind in ("board", "results"):
            same = served[fact_name][kind] == served[other][kind]
            assert (events[kind] == of_other[kind]) == same, (fact_name, other, kind)


@pytest.mark.slow
def test_every_place_says_which_labels_are_to_arrive(tmp_path: Path) -> None:
    published = publish(tmp_path / "published", **PENDING)
    with seen_after(published, tmp_path / "seen", None) as seen:
        served = {**BOARD, **RESULT}
        texts = {place: look(seen) for place, look in served.items() if place.startswith("GET")}
    texts |= {place: look(seen) for place, look in BOARD.items() if place not in texts}
    texts["leaderboard --private"] = seen.command("leaderboard", "--private")
    del texts["GET /results"]  # has no rows
    for place, text in texts.items():
        assert re.search("are to arrive|pending", text), (place, text)
    every_place_shows(published, tmp_path / "after", OF_PENDING_LABELS["labels arrive"])


def every_place_shows(published: Path, tmp_path: Path, fact: Fact) -> None:
    with seen_after(published, tmp_path, fact) as seen:
        for place, look in {**BOARD, **RESULT, **OWN}.items():
            if not place.startswith("GET"):
                continue
            check(place, look(seen), fact)
    for place, look in {**BOARD, **OWN}.items():
        if not place.startswith("GET"):
            check(place, look(seen), fact)
    old = fact.result_mark is not None or fact.kind == "team renamed"
    for arguments in REFUSES.values():
        done = run_here(*arguments, "-C", tmp_path / "c", cwd=tmp_path)
        assert (done.returncode != 0) == old, (fact, arguments, done.stderr)


def check(place: str, text: str, fact: Fact) -> None:
    if place in BOARD:
        gone = BEFORE.keys() - fact.board.keys()
        assert all(shows(text, team, score) for team, score in fact.board.items()), (place, text)
        assert not any(shows(text, team, BEFORE[team]) for team in gone), (place, text)
        marks = {cause: cause in text for cause in CAUSES.values()}
        assert marks == {cause: cause == fact.public_mark for cause in marks}, (place, text)
        in_bracket = re.search("Cats.{0,160}?students", rows_of(text)) is not None
        if place != "GET page /":  # which has every bracket as a link
            assert in_bracket == fact.bracket, (place, text)
        answered = re.search("Cats.{0,220}?Basel", rows_of(text)) is not None
        assert answered == fact.answer, (place, text)
    elif place in RESULT:
        marks = {cause: cause in text for cause in FINAL_CAUSES.values()}
        assert marks == {cause: cause == fact.result_mark for cause in marks}, (place, text)
        assert ("Wrong labels." in text) == fact.retracted, (place, text)
        if place != "GET /results":
            assert ("Trained again." in text) == fact.verified, (place, text)
            assert ("Bees" in text) != fact.retracted, (place, text)
    else:
        for status, kinds in {
            "withdrawn": {"withdrawal"},
            "disqualified": {"disqualification"},
        }.items():
            assert (status in text) == (fact.kind in kinds), (place, text)


@pytest.mark.slow
def test_the_board_of_a_bracket_has_its_teams_only(
    scenario: Scenario, published: Path, tmp_path: Path
) -> None:
    texts = {}
    with seen_after(published, tmp_path, FACTS["a team is in a bracket"]) as seen:
        for place in (f"{API}/board", f"{API}/board.csv", "/c/", "/c/board.csv"):
            texts[place] = seen.get(f"{place}?bracket=students")
            assert "no such bracket" in seen.get(f"{place}?bracket=x", status=404)
    for option in ("--json", "--csv", "--live"):
        texts[option] = seen.command("leaderboard", "--bracket", "students", option)
    texts["--html"] = written(seen, "leaderboard", "--bracket", "students", "--html")
    for place, text in texts.items():
        assert shows(text, "Cats", 0.7), (place, text)
        assert not re.search("Ants|Bees", text), (place, text)
        if place not in ("/c/", "--json", f"{API}/board"):
            assert re.search(r"\b1\b\W+Cats", rows_of(text)), (place, text)
    assert json.loads(texts[f"{API}/board"])["rows"][0]["rank"] == 1
    assert json.loads(texts["--json"])["standings"][0]["rank"] == 1
    with scenario.reopen() as competition:
        competition.finalize()
        competition.publish()
    with seen_after(tmp_path, tmp_path / "x", None) as seen:
        page = seen.get("/c/private?bracket=students")
        assert "Cats" in page
        assert not re.search("Ants|Bees", page)
        assert "no such bracket" in seen.get("/c/private?bracket=x", status=404)
        (row,) = [
            row for row in json.loads(seen.get(f"{API}/results/2"))["leaderboard"]
            if row["brackets"]
        ]  # fmt: skip
        assert row["brackets"]["students"]["rank"] == 1
        assert row["brackets"]["students"]["possible_winner"]


@pytest.mark.slow
def test_a_published_result_has_its_combined_boards(
    scenario: Scenario, published: Path, tmp_path: Path
) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    with scenario.reopen() as competition:
        FACTS["a combined board is added"].change(competition, tmp_path)
    with scenario.reopen() as competition:
        competition.finalize()
        competition.publish()
    with seen_after(tmp_path, tmp_path / "x", None) as seen:
        boards = json.loads(seen.get(f"{API}/results/2"))["boards"]
        assert boards.keys() == {"both"}
        page = seen.get("/c/private?board=both")
        assert "mean of accuracy and f1" in page
        assert "Bees" in page
        assert "mean of accuracy and f1" not in seen.get("/c/private")
        assert "no such board" in seen.get("/c/private?board=x", status=404)


@pytest.mark.slow
def test_a_retracted_result_gives_way_to_a_second_version(
    scenario: Scenario, published: Path, tmp_path: Path
) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    with scenario.reopen() as competition:
        first = competition.published_private_leaderboard()
        assert first is not None
        competition.disqualify(2, "a leak")
        competition.finalize()
        assert competition.publish() == 2
    with seen_after(tmp_path, tmp_path / "x", None) as seen:
        rows = json.loads(seen.get(f"{API}/results"))["rows"]
        assert [row["state"] for row in rows] == ["replaced", "published"]
        assert rows[0]["mark"]["cause"] == CAUSES["disqualification"]
        assert rows[1]["mark"] is None
        document = json.loads(seen.get(f"{API}/results/1"))
        assert document["leaderboard"] == first["leaderboard"]
        assert "replaced by a later one" in seen.get("/c/private/1")
        assert json.loads(seen.get(f"{API}/private"))["version"] == 2
    with Scenario(tmp_path / "x").reopen() as competition:
        assert competition.retract("Wrong labels.") == 2
    with seen_after(tmp_path / "x", tmp_path / "y", None) as seen:
        assert "Wrong labels." in seen.get(f"{API}/private", status=404)
        assert "Wrong labels." in seen.get("/c/private")
        assert "leaderboard" not in json.loads(seen.get(f"{API}/results/2"))
        assert "leaderboard" in json.loads(seen.get(f"{API}/results/1"))


@pytest.mark.slow
def test_what_arrives_after_a_freeze_shows_in_no_public_place(tmp_path: Path) -> None:
    """Two competitions that differ only in later files look the same to everybody."""
    texts: list[dict[str, str]] = []

    freeze = START + timedelta(hours=1)
    for name, scores in (("one", [("Ants", 99), ("Owls", 95)]), ("other", [("Bees", 30)])):
        scenario = Scenario(tmp_path / name)
        with scenario.create(**SETTINGS, freeze=freeze.isoformat()) as competition:
            scenario.send(competition, *SENT)
            scenario.clock.now = START + timedelta(hours=2)
            scenario.send(competition, *scores)
        with seen_after(scenario.root, tmp_path / f"{name} seen", None, scenario.clock) as seen:
            text_of_place = {
                place: look(seen) for place, look in BOARD.items() if place.startswith("GET")
            }
        text_of_place |= {
            place: look(seen) for place, look in BOARD.items() if place not in text_of_place
        }
        texts.append(
            {place: without_hashes_and_clocks(text) for place, text in text_of_place.items()}
        )
    for place in BOARD:
        assert texts[0][place] == texts[1][place], place
        assert "Owls" not in texts[0][place], place


def without_hashes_and_clocks(text: str) -> str:
    """Leave out the last hash of the record, the time of the answer, and the folder's name."""
    text = re.sub(r"[0-9a-f]{64}", "HASH", text)
    text = re.sub(r'"server_time":"[^"]*"', "", text)
    return re.sub(r"as of <time[^>]*>[^<]*</time>", "", text)
