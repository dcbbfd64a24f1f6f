"""Which claims of an identity provider are used, and how."""

from __future__ import annotations

from typing import Any

import pytest

from arena.server.web.provider import Identity


def identity(**claims: Any) -> Identity:
    return Identity.of("https://id", {"sub": "7", **claims})


def test_a_subject_is_a_text_of_at_most_255_printable_characters() -> None:
    assert identity(sub="x" * 255).subject == "https://id " + "x" * 255
    for sub in ("x" * 256, "", None, 7, "a\n", "\ud800"):
        with pytest.raises(ValueError, match="sub"):
            identity(sub=sub)


def test_a_name_is_the_first_one_that_there_is_and_is_cut() -> None:
    assert identity(name=" ", preferred_username="ada", nickname="a").name == "ada"
    assert identity(name=3, nickname=" a  b ").name == "a b"
    assert identity().name == ""
    assert identity(name="x" * 79 + " y").name == "x" * 79
    assert identity(name="x" * 81).name == "x" * 80
    assert identity(name="\u0000" * 999 + "ab").name == "a"  # of 1,000 characters


def test_an_address_is_verified_if_there_is_one() -> None:
    for claims, address, verified in (
        ({"email": "a@b.org", "email_verified": True}, "a@b.org", True),
        ({"email": "a@b.org", "email_verified": "true"}, "a@b.org", True),
        ({"email": "a@b.org", "email_verified": "false"}, "a@b.org", False),
        ({"email": "a@b.org", "email_verified": 1}, "a@b.org", False),
        ({"email": "a@b.org"}, "a@b.org", False),
        ({"email": "x" * 254, "email_verified": True}, "x" * 254, True),
        ({"email": "x" * 255, "email_verified": True}, "", False),
        ({"email": "a\n@b.org", "email_verified": True}, "", False),
        ({"email_verified": True}, "", False),
    ):
        assert (identity(**claims).email, identity(**claims).verified) == (address, verified)
