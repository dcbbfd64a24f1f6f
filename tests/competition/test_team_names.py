"""Teams whose names look alike are told apart for the organiser when the second one comes."""

from __future__ import annotations

import pytest

from arena.intake.folder import team_fault, team_name
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
    ("name", "refused"),
    [
        ("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", False),
        ("\N{TIBETAN LETTER KA}" + "\N{TIBETAN VOWEL SIGN I}" * 8, False),
        ("Z" + "\N{COMBINING TILDE}" * 9, True),
        ("Z\N{COMBINING ENCLOSING CIRCLE}" + "\N{COMBINING TILDE}" * 90, True),
    ],
)
def test_letters_that_cover_the_lines_around_them_are_refused(name: str, refused: bool) -> None:
    fault = team_fault(team_name(name))
    assert (fault is not None) == refused
    assert fault is None or "too many accents" in fault.message
