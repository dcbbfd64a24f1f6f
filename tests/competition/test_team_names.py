"""Teams whose names look alike are told apart for the organiser when the second one comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.intake.folder import named_file, team_fault, team_name
from arena.utils.look_alikes import look_alike, prototypes, skeleton
from scenario import Scenario

ALIKE = [
    ("paul", "p\u0430ul"),  # Cyrillic
    ("Pho", "\u03a1ho"),  # Greek
    ("owls", "Owls"),
    ("owls", "o\u200bw\u2060ls"),  # hidden
    ("owls", "ow\u034fls"),
    ("\u2764", "\u2764\ufe0f"),  # with and without its colours
    ("owls", "\uff4f\uff57\uff4c\uff53"),  # wide
    ("owls", "\U0001d428wls"),  # mathematical
    ("a b", "a\u00a0 b"),
    ("Illi", "l1Ii"),
    ("O2", "02"),
]
DIFFERENT = [("owls", "owl"), ("ab", "a b"), ("m\u00fcller", "muller"), ("a", "\u0431"), ("1", "2")]

ACCENTS = "The team name has letters with too many accents: use at most eight on one."
CONTROL = "The team name 'a{}b' contains control characters: remove them."


@pytest.mark.few(5)
@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_names_that_look_alike(name: str, other: str) -> None:
    assert name != other
    assert skeleton(name) == skeleton(other)


@pytest.mark.parametrize(("name", "other"), DIFFERENT)
def test_names_that_do_not(name: str, other: str) -> None:
    assert skeleton(name) != skeleton(other)


OF_OTHER_ALPHABETS = [
    ("BEARS", "\ua4d0EARS"),  # Lisu
    ("DEAL", "\u13a0EAL"),  # Cherokee
    ("COPE", "\u2ca4OPE"),  # Coptic
    ("owls", "\u0585wls"),  # Armenian
    ("IRIS", "\u0456ris"),  # Cyrillic, in another case
    ("moon", "rnoon"),
]


@pytest.mark.parametrize(("name", "other"), OF_OTHER_ALPHABETS)
def test_names_look_alike_by_letters_of_any_alphabet(name: str, other: str) -> None:
    pytest.importorskip("confusable_homoglyphs")
    assert look_alike(name, other)
    assert not look_alike(name, f"{other}s")


def test_the_table_is_unicode_s_and_has_one_letter_for_each_shape() -> None:
    confusables = pytest.importorskip("confusable_homoglyphs.confusables").confusables_data
    pairs = [(text, lookalike["c"]) for text, alike in confusables.items() for lookalike in alike]
    single = [(text, other) for text, other in pairs if len(text) == len(other) == 1]
    assert len(single) > 5_000
    unequal = [
        (text, other)
        for text, other in single
        if prototypes()[ord(text)] != prototypes()[ord(other)]
    ]
    assert unequal == []


@pytest.mark.slow
def test_the_organiser_hears_of_the_second_once(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    with scenario.create() as competition:
        for number, team in enumerate(["owls", "owls", "\u043ewls", "\u043ewls", "OWLS", "bears"]):
            assert competition.submit(scenario.file(number, 0.7), team).status == "accepted"
        assert len(competition.leaderboard()) == 4  # no teams are merged
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith(
        "The new team '\u043ewls', written '\\u043ewls', looks like 'owls'. They are two teams here"
    )
    assert "'OWLS' looks like 'owls' and '\u043ewls', written" in second


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", None),
        ("\N{TIBETAN LETTER KA}" + "\N{TIBETAN VOWEL SIGN I}" * 8, None),
        ("Z" + "\N{COMBINING TILDE}" * 9, ACCENTS),
        ("Z\N{COMBINING ENCLOSING CIRCLE}" + "\N{COMBINING TILDE}" * 90, ACCENTS),
        ("x" * 100, None),
        (
            "x" * 101,
            "The team name has 101 characters, but at most 100 are allowed: shorten it.",
        ),
        (" \n", "The team name is empty: name the file after the team."),
        *((f"a{mark}b", CONTROL.format(ascii(mark)[1:-1])) for mark in "\0\n\x85\u2028\u2029"),
        ("a\u00a0b\u200d", None),
    ],
)
def test_a_team_name_is_refused_in_a_sentence(name: str, sentence: str | None) -> None:
    fault = team_fault(team_name(name))
    assert (None if fault is None else fault.message) == sentence


def test_the_name_of_a_team_is_shortened_and_escaped_for_display() -> None:
    for name, displayed, n_faults in (
        (" Zoe ", "Zoe", 0),
        ("x" * 101, "x" * 99 + "…", 1),
        ("a\nb", "a\\nb", 1),
        (" ", "(no name)", 1),
    ):
        file = named_file(Path("folder/1.csv"), name)
        assert (file.team, file.name, len(file.faults)) == (displayed, "1.csv", n_faults)
    assert file.faults[0].message == "The team name is empty. Give a name with --team."
    assert named_file(Path("f" * 1_001), "a").name == "f" * 999 + "…"
    assert named_file(Path("f" * 1_000), "a").name == "f" * 1_000
