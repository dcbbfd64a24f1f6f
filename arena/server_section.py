"""The section ``[server]`` of ``competition.toml``, for commands and the web process.

The web process imports neither the other sections nor anything else that could read a label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from arena.utils.text import EMAIL_ADDRESS

Count = Annotated[int, Field(ge=1)]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_COLOUR = "^(#[0-9a-fA-F]{6})?$"
_DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


class ConfigSection(BaseModel):
    """A section of ``competition.toml``."""

    # Deferred: all sections are validated as a part of the settings, never each by itself.
    model_config = ConfigDict(
        extra="forbid", frozen=True, str_strip_whitespace=True, defer_build=True
    )


def _colour(text: str) -> str:
    if not re.fullmatch(_COLOUR, text):
        raise ValueError('must be # and six hexadecimal digits, as "#0a5c9c"')
    return text


DRAFT_MARK = "<!-- draft"
"""A file of rules that begins with it is not published yet."""


def is_draft(rules: str) -> bool:
    """Return whether a file of rules is a draft, which participants neither see nor accept."""
    return rules.lstrip("\ufeff").lstrip().startswith(DRAFT_MARK)


class ServerSection(ConfigSection):
    """The web server, arena serve, which records these settings."""

    url: str = Field("", description="The address that participants use, if a proxy is in front.")
    board: Literal["anyone", "members"] = Field(
        "anyone", description="Who sees the public board: anyone or members."
    )
    embed: bool = Field(
        False,
        description="Whether pages of other sites may show the public board, if anyone sees it: in "
        "a frame (/NAME/embed), and by reading the API: true or false.",
    )
    private_scores: Literal["board", "own"] = Field(
        "board",
        description="After the result is published, whether a team sees the private score of its "
        "final file only (board), or of each of its files (own).",
    )
    files: Literal["anyone", "members", "accepted"] = Field(
        "accepted",
        description="Who downloads what is in the folder files/: anyone, members of a team, or "
        "members who accepted the rules (accepted).",
    )
    organisers: tuple[str, ...] = Field(
        (), description="Names of the organisers, for the citation of the competition."
    )
    colour: Annotated[
        str, AfterValidator(_colour), Field(json_schema_extra={"pattern": _COLOUR})
    ] = Field("", description="The colour of links and buttons, such as #0a5c9c; empty: blue.")
    join: Literal["code", "invite", "open"] = Field(
        "code",
        description="How people register: code (one code for all, or an invitation link), invite "
        "(an invitation link), or open (neither is needed).",
    )
    approve: bool = Field(
        False, description="Whether the organiser approves each account: true or false."
    )
    oidc_issuer: str = Field(
        "",
        description="The provider of OpenID Connect that people can sign in with, such as "
        "https://id.example.org; empty: none. The secret: ARENA_OIDC_CLIENT_SECRET.",
    )
    oidc_client_id: str = Field("", description="The name of this server at the provider.")
    oidc_name: str = Field(
        "", description="The name of the provider on the button; empty: its address."
    )
    oidc_domains: tuple[str, ...] = Field(
        (), description="Domains of the e-mail addresses that it admits; none: all."
    )
    oidc_verified_email: bool = Field(
        False,
        description="Whether it admits verified e-mail addresses only, as it does with "
        "oidc_domains: true or false.",
    )
    oidc_only: bool = Field(
        False, description="Whether people can register only by signing in there: true or false."
    )
    team_size: Count = Field(5, description="Members of a team.")
    max_waiting: Count = Field(2_000, description="Submissions that can wait to be judged.")
    max_waiting_per_team: Count = Field(3, description="Of these, submissions of one team.")
    max_stored_bytes: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Bytes on the disk of the files of one account: those that wait, are kept or "
        "were uploaded and not submitted. 0: those of 20 files of [limits] max_bytes.",
    )
    uploads_per_minute: Count = Field(6, description="Uploads per account and minute.")
    reads_per_minute: Count = Field(
        6_000, description="Other requests per address and minute. Many may share an address."
    )
    header_seconds: Annotated[float, Field(gt=0)] = Field(
        10.0, description="Seconds in which the header of a request must arrive."
    )
    body_seconds: Annotated[float, Field(gt=0)] = Field(
        12.0, description="Seconds without progress after which an upload is refused."
    )
    bytes_per_second: Count = Field(16_384, description="Minimum average speed of an upload.")
    connections_per_address: Count = Field(200, description="Open connections per address.")
    listeners: Count = Field(5_000, description="Open pages that are updated live.")
    checkers: Count = Field(1, description="Processes that read submissions at the same time.")
    group: Count = Field(16, description="Submissions that are stored together.")
    publish_seconds: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Seconds after which a busy server publishes its leaderboard again."
    )
    keep_uploads_days: Annotated[float, Field(ge=0)] = Field(
        30.0,
        description="Days for which an uploaded file is kept after it was judged, for its team and "
        "the organiser; those of an account that fills max_stored_bytes are removed earlier.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses of proxies whose forwarded addresses are believed."
    )
    rules: str = Field(
        "rules.md", description="The file with the rules, relative to the competition's folder."
    )
    contact: str = Field("", description="How participants reach the organiser.")
    forum: str = Field("", description="The address of the participants' forum; empty: none.")
    webhook_file: str = Field(
        "",
        description="A file with the address of an incoming webhook of the organisers' chat, which "
        "the web process can read: one line is sent there for a question, an account to approve, a "
        "file that was set aside, a scorer that is down and the deadline. Empty: none.",
    )
    smtp_host: str = Field("", description="The mail server; empty: arena sends no e-mail.")
    smtp_port: Annotated[int, Field(ge=1, le=65_535)] = Field(
        587, description="The mail server's port: mostly 587 for starttls, 465 for tls."
    )
    smtp_tls: Literal["starttls", "tls", "none"] = Field(
        "starttls", description="Encryption to the mail server: starttls, tls or none."
    )
    smtp_user: str = Field("", description="The name to sign in with at the mail server.")
    smtp_password_file: str = Field(
        "",
        description="A file with its password, which the web process can read. Without one: the "
        "environment variable ARENA_SMTP_PASSWORD.",
    )
    smtp_from: str = Field("", description="The address that e-mail comes from.")
    reminder_hours: Annotated[float, Field(ge=0)] = Field(
        48.0,
        description="Hours before the deadline at which members are reminded; 0: they are not.",
    )

    @classmethod
    def of(cls, published: Mapping[str, Any]) -> Self:
        """Return the section that a scorer published; keys of another version are left out.

        >>> ServerSection.of({"team_size": 3, "metric": "auc"}).team_size
        3
        """
        keys = cls.model_fields.keys() & published.keys()
        return cls.model_validate({key: published[key] for key in keys})

    @property
    def provider_name(self) -> str:
        """The name of the provider on the pages."""
        return self.oidc_name or urlsplit(self.oidc_issuer).hostname or ""

    @property
    def needs_email(self) -> bool:
        """Whether the provider must have verified a person's e-mail address."""
        return self.oidc_verified_email or bool(self.oidc_domains)

    def admits(self, email: str) -> bool:
        """Return whether an e-mail address is one of those that may take part.

        >>> server = ServerSection(oidc_domains=("example.org",))
        >>> [server.admits(f"ada@{domain}")
        ...  for domain in ("example.org", "EXAMPLE.org", "evil-example.org", "a.example.org")]
        [True, True, False, False]
        """
        domain = email.rpartition("@")[2].casefold()
        return not self.oidc_domains or domain in {
            oidc_domain.casefold() for oidc_domain in self.oidc_domains
        }

    @model_validator(mode="after")
    def _with_a_provider(self) -> Self:
        if self.oidc_issuer and not _is_issuer(self.oidc_issuer):
            raise ValueError('oidc_issuer must be an address such as "https://id.example.org"')
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("oidc_issuer needs oidc_client_id")
        if self.oidc_only and not self.oidc_issuer:
            raise ValueError("oidc_only needs oidc_issuer")
        if not all(_DOMAIN.fullmatch(oidc_domain) for oidc_domain in self.oidc_domains):
            raise ValueError('oidc_domains must be domains such as "example.org"')
        return self

    @model_validator(mode="after")
    def _with_a_forum(self) -> Self:
        if self.forum and not self.forum.startswith(("https://", "http://")):
            raise ValueError('forum must be an address such as "https://forum.example.org"')
        return self

    @model_validator(mode="after")
    def _with_a_sender(self) -> Self:
        if self.smtp_host and not EMAIL_ADDRESS.fullmatch(self.smtp_from):
            raise ValueError('smtp_host needs smtp_from, such as "race@example.org"')
        if self.smtp_user and self.smtp_tls == "none" and self.smtp_host not in _LOOPBACK:
            raise ValueError('smtp_tls = "none" would send the password of smtp_user in the clear')
        return self


def _is_issuer(text: str) -> bool:
    """Return whether a text is an issuer: encrypted, except on this machine, for tests."""
    try:
        url = urlsplit(text)
        url.port  # noqa: B018 - raises if it is no number
    except ValueError:
        return False
    encrypted = url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOOPBACK)
    plain = not (url.query or url.fragment or url.username or url.password)
    return encrypted and plain and bool(url.hostname) and text.isprintable() and " " not in text
