"""Names of people and teams: which can be used, and which read the same."""

from __future__ import annotations

import unicodedata

from arena.utils.text import has_stacked_marks

MAX_NAME = 80
"""Characters of a name."""
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They change the direction of what follows: another name backwards reads like that name."""
_BLANK = frozenset("\u115f\u1160\u2800")
"""Letters and symbols without ink; NFKC makes these of the other ones."""


def team_key(name: str) -> str:
    """Return what two names that read the same have in common.

    >>> team_key("The  Ants") == team_key("the ants")
    True
    """
    normal_name = unicodedata.normalize("NFKC", name)
    visible = (
        mark
        for mark in normal_name
        if unicodedata.category(mark) not in {"Cf", "Mn"} and mark not in _BLANK
    )
    return "".join("".join(visible).casefold().split())


class RefusedError(Exception):
    """The request of a person is refused; the message is a sentence for that person.

    ``template`` is the sentence with places for ``values``, so that it can be translated.
    """

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


class NameTakenError(RefusedError):
    """Another team has this name, or one that reads the same."""


def clean_name(name: str) -> str:
    """Return a name as it is stored; raise RefusedError if it cannot be one."""
    printed = " ".join(unicodedata.normalize("NFC", name).split())
    if not printed or not team_key(printed):
        raise RefusedError("The name is empty. Enter a name with at least one letter or digit.")
    if len(printed) > MAX_NAME:
        raise RefusedError(
            "The name has {length} characters. Use at most {most} characters.",
            length=len(printed),
            most=MAX_NAME,
        )
    hidden = {"Cc", "Cs", "Co", "Cn"}
    if any(unicodedata.category(mark) in hidden or mark in _TURNING for mark in printed):
        raise RefusedError("The name contains a control character. Remove it.")
    if has_stacked_marks(printed):
        raise RefusedError("The name has letters with too many accents. Use at most eight on one.")
    return printed


def name_taken(name: str) -> NameTakenError:
    """Return the refusal of a name that another team has, or one that reads the same."""
    return NameTakenError(
        "Another team is called {name}, or similarly. Choose another name.", name=name
    )
