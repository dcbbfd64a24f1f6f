"""Answers to questions: what is refused, whose they are, and where they are shown."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.exports.verify import verify_bundle
from arena.competition.record.answers import ANSWERED, Answers
from arena.competition.record.roster import Roster
from arena.competition.record.teams import MERGED, RENAMED
from arena.errors import UsageError
from arena.requests import Request
from arena.store import Event
from arena.utils.parallel import NoProgress
from arena.utils.questions import LONGEST, check_answers
from event_records import event_of
from scenario import MANAGER, Scenario, settings_of

QUESTIONS: dict[str, Any] = {
    "method": {"text": "Method", "required": True},
    "year": {
        "of": "team",
        "text": "Year",
        "choices": ["bachelor", "master"],
        "brackets": True,
        "may_change": True,
    },
    "place": {"of": "team", "text": "Place", "required": True},
}
SETTINGS = settings_of(question=QUESTIONS)
DOCUMENTS = {key: question.model_dump() for key, question in SETTINGS.question.items()}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"x": {"brackets": True, "choices": ["a"]}}, 'needs of = "team"'),
        ({"x": {"of": "team", "brackets": True}}, "choices and"),
        (
            {"x": {"of": "team", "brackets": True, "choices": ["a"], "shown": "organisers"}},
            'shown = "board"',
        ),
        ({"x": {"choices": ["a", "a"]}}, "named once"),
        ({"x": {"choices": ["a  b"]}}, "double spaces"),
        ({"x": {"of": "team", "choices": ["a, b"], "brackets": True}}, "no comma"),
        ({"Method!": {}}, "small letters"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(question: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        settings_of(question=question)


def test_programs_come_without_answers() -> None:
    with pytest.raises(UsageError, match="programs come without answers"):
        settings_of(question=QUESTIONS, programs_sandbox="linux")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"place": "x"}, r"method is missing \(Method\): give it .* --answer method="),
        ({"method": " "}, "An answer to method is missing"),
        ({"method": "x"}, "An answer to place is missing"),
        ({"method": "x", "place": "x", "year": "phd"}, "must be one of: bachelor, master"),
        ({"method": "x" * (LONGEST + 1)}, "at most 200"),
        ({"method": "a\x1bb"}, "printable"),
        ({"other": "x"}, "There is no question 'other'. There are: method, year, place."),
    ],
)
def test_answers_that_do_not_fit_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_answers(DOCUMENTS, given)
    assert check_answers(DOCUMENTS, {"method": "x"}, ["place"]) == {"method": "x"}


def event(number: int, kind: str, team: str, **payload: Any) -> Event:
    return event_of(number, kind, {"team": team, **payload})


def test_the_last_answer_of_a_team_counts_by_any_name() -> None:
    events = [
        event(1, ANSWERED, "a", submission=1, answers={"method": "x", "year": "bachelor"}),
        event(2, RENAMED, "a", to="ants"),
        event(3, ANSWERED, "ants", submission=2, answers={"method": "y", "year": "master"}),
        event(4, ANSWERED, "b", submission=3, answers={"place": "Basel", "gone": "z"}),
        event(5, MERGED, "ants", to="b"),
    ]
    answers = Answers.of(SETTINGS, events)
    assert answers.of_submissions == {1: {"method": "x"}, 2: {"method": "y"}}
    assert answers.of_teams == {"b": {"year": "master", "place": "Basel"}}
    assert Roster.of(SETTINGS, events).brackets == {"bachelor": (), "master": ("b",)}


def test_a_merged_team_has_one_answer_and_one_bracket_of_a_question() -> None:
    """The bracket follows from the answer that counts, whichever team joins the other."""
    submissions = [
        event(1, ANSWERED, "a", submission=1, answers={"year": "bachelor"}),
        event(2, ANSWERED, "b", submission=2, answers={"year": "master"}),
        event(3, ANSWERED, "c", submission=3, answers={"method": "x"}),
    ]
    for team, into in itertools.permutations("abc", 2):
        events = [*submissions, event(4, MERGED, team, to=into)]
        answered = Answers.of(SETTINGS, events).of_teams.get(into, {})
        brackets = Roster.of(SETTINGS, events).brackets_of(into)
        assert brackets == tuple(answered[key] for key in answered if key == "year"), (team, into)


@pytest.mark.slow
def test_queued_answers_are_recorded_if_they_fit(scenario: Scenario) -> None:
    """Another program than the web process may have written a request."""
    sent_answers = {
        "method": "two  words",
        "year": "neither",
        "place": "x" * 500,
        "no question": "x",
    }
    with scenario.create(question=QUESTIONS) as competition:
        path = scenario.file(1, 0.9)
        payload = {"file": "a.csv", "answers": sent_answers}
        request = Request(
            seq=1,
            request="r1",
            kind="submit",
            team="a",
            member="web",
            received=scenario.clock(),
            payload=payload,
            path=path,
        )
        (answer,) = competition.process([request])
        assert answer.status == "accepted"
        (recorded,) = competition.events(ANSWERED)
        assert recorded.payload["answers"] == {"method": "two words"}


@pytest.mark.slow
def test_answers_are_on_every_board_and_verified(tmp_path: Path, scenario: Scenario) -> None:
    answers_of_teams = {
        "A": ("<b>trees</b>", "master"),
        "B": ("=1+1", "bachelor"),
        "C": ("nets", ""),
    }
    with scenario.create(question=QUESTIONS, resamples=20, intervals=True) as competition:
        for number, (team, (method, year)) in enumerate(answers_of_teams.items()):
            answers = {"method": method, "year": year, "place": "here"}
            file = scenario.file(number, 0.9 - number / 10)
            assert competition.submit(file, team, answers=answers).status == "accepted"
        with pytest.raises(UsageError, match="method is missing"):
            competition.submit(scenario.file(9, 0.5), "A")
        bad = tmp_path / "bad.csv"
        bad.write_text("id,y\n")
        answers = {"method": "none", "year": "bachelor"}
        assert competition.submit(bad, "A", answers=answers).status == "rejected"
        competition.finalize()
        for rows in (competition.leaderboard(), competition.private_leaderboard()):
            shown_answers = {row["team"]: row["answers"] for row in rows}
            assert shown_answers == {
                team: {"method": method, **({"year": year} if year else {}), "place": "here"}
                for team, (method, year) in answers_of_teams.items()
            }
        assert competition.brackets() == {"bachelor": ("B",), "master": ("A",)}
        competition.assign_bracket("C", "master")
        competition.finalize()
        competition.export(tmp_path / "export")
        assert competition.audit() == ()
    path = tmp_path / "export" / "public.csv"
    text = path.read_text()
    assert "'=1+1" in text
    assert verified(tmp_path) == ()
    path.write_text(text.replace("nets", "mine"))
    assert any("answer_method is mine" in problem for problem in verified(tmp_path))
    path.write_text("\n".join(line.rpartition(",")[0] for line in text.splitlines()) + "\n")
    assert any("answer_place is empty" in problem for problem in verified(tmp_path))


@pytest.mark.slow
def test_stored_boards_keep_the_answers_and_the_number_of_a_renamed_team(
    scenario: Scenario,
) -> None:
    answers = {"method": "trees", "place": "here"}
    with scenario.create(question=QUESTIONS, resamples=20, intervals=True) as competition:
        for number, team in enumerate("AAB"):
            competition.submit(scenario.file(number, 0.9 - number / 10), team, answers=answers)
        competition.finalize()
        competition.publish()
        competition.rename_team("A", "Ants")
        published = competition.published_private_leaderboard()
        assert published is not None
        for rows in (competition.private_leaderboard(), published["leaderboard"]):
            assert [(row["n_submissions"], row["answers"]) for row in rows] == [
                (2, answers),
                (1, answers),
            ]
        competition.merge_teams("B", "Ants")
        assert [row["n_submissions"] for row in competition.private_leaderboard()] == [3, 3]


def verified(folder: Path) -> tuple[str, ...]:
    return verify_bundle(folder / "export", folder / "solution.csv", MANAGER, NoProgress())


def test_an_answer_after_a_freeze_does_not_show_that_a_file_came_in(scenario: Scenario) -> None:
    frozen = datetime(2026, 3, 2, tzinfo=UTC)
    scenario.clock.now = frozen - timedelta(hours=1)
    keys = {"mechanism": "ladder-free", "freeze": frozen.isoformat()}
    with scenario.create(**keys, question=QUESTIONS) as competition:
        answers = {"method": "trees", "year": "bachelor", "place": "Bern"}
        competition.submit(scenario.file(1, 0.6), "A", answers=answers)
        scenario.clock.now = frozen + timedelta(seconds=1)
        before = competition.leaderboard()
        answers = {"method": "nets", "year": "master", "place": "Basel"}
        competition.submit(scenario.file(2, 0.9), "A", answers=answers)
        assert competition.leaderboard() == before
        (row,) = competition.leaderboard(live=True)
        assert row["answers"] == answers


@pytest.mark.slow
def test_the_first_answer_that_is_a_bracket_stays(scenario: Scenario) -> None:
    year = {**QUESTIONS["year"], "may_change": False}
    with scenario.create(question={"year": year}) as competition:
        competition.submit(scenario.file(1, 0.6), "A", answers={"year": "bachelor"})
        with pytest.raises(UsageError, match="to year is bachelor, and it stays"):
            competition.submit(scenario.file(2, 0.9), "A", answers={"year": "master"})
        facts = {"kind": "answer", "member": "1", "received": scenario.clock()}
        payload = {"answers": {"year": "master", "x": "y"}}
        requests = [
            Request(seq=seq, request=team, team=team, payload=payload, **facts)
            for seq, team in ((1, "A"), (2, "B"))
        ]
        answers = [competition.process([request], seconds=60)[0] for request in requests]
        assert [answer.status for answer in answers] == ["refused", "done"]
        assert competition.brackets() == {"bachelor": ("A",), "master": ("B",)}
        # The organiser's correction also stays if the team repeats its answer.
        competition.assign_bracket("A", "bachelor", member=False)
        competition.submit(scenario.file(3, 0.7), "A", answers={"year": "bachelor"})
        assert competition.brackets()["bachelor"] == ()
        assert competition.audit() == ()


@pytest.mark.slow
def test_a_bracket_stays_whatever_waits_in_the_queue_together(scenario: Scenario) -> None:
    year = {**QUESTIONS["year"], "may_change": False}
    with scenario.create(question={"year": year}) as competition:
        requests = [
            Request(
                seq=seq,
                request=str(seq),
                kind="submit",
                team=team,
                member="web",
                received=scenario.clock(),
                path=scenario.file(seq, 0.5 + seq / 10),
                payload={"file": f"{seq}.csv", "answers": {"year": answer}},
            )
            for seq, (team, answer) in enumerate(
                [("A", "bachelor"), ("A", "master"), ("B", "master")], start=1
            )
        ]
        assert len(competition.process(requests, seconds=60)) == 3
        teams = {"team": "A", "into": "B"}
        merges = [
            Request(
                seq=seq,
                request=str(seq),
                kind="merge",
                team=asking,
                member="web",
                received=scenario.clock(),
                payload=teams,
            )
            for seq, asking in ((4, "B"), (5, ""))
        ]
        assert competition.brackets() == {"bachelor": ("A",), "master": ("B",)}
        (refused,) = competition.process(merges[:1], seconds=60)
        assert (refused.status, "different brackets" in refused.message) == ("refused", True)
        (merged,) = competition.process(merges[1:], seconds=60)
        assert merged.status == "done"
        assert competition.audit() == ()
