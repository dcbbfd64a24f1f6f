"""OpenID Connect: the authorization code flow with PKCE, as one client of one provider.

Authlib makes the requests and checks the claims, joserfc the signature. Added here: everything that
the provider sends is bounded in time and size, only asymmetric signatures count, and no redirect
is followed. See OpenID Connect Core 1.0 (3.1) and RFC 9700 (best practice for OAuth).
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuthError
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from arena.server.records.layout import OIDC_SECRET
from arena.server.web.provider import Flow, Identity, ProviderError
from arena.server_section import ServerSection

ALGORITHMS = ("RS256", "PS256", "ES256", "Ed25519", "EdDSA")
"""Signatures by a private key of the provider. Never ``none``, and never HMAC, whose key could be
taken from public data."""
SECONDS = 10.0
"""In which the provider must have answered all that one step of a sign-in asks."""
MAX_BYTES = 256 * 1024
"""Of one answer of the provider."""
_LEEWAY = 60
_KEPT_SECONDS, _FAILED_SECONDS = 3_600.0, 5.0
_FAULTS = (
    httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError,
    TypeError, AttributeError, KeyError, OverflowError,
)  # fmt: skip
"""The errors of reading an answer; the last four arise where a value has an unexpected type."""


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, until they are too many."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_BYTES:
                raise ProviderError("unreachable", f"an answer has more than {MAX_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ProviderError("unreachable", "an answer is compressed, which was not asked for")
    response.stream = _BoundedStream(response.stream)


@cache
def _certificates() -> ssl.SSLContext:
    """Return the system's certificates; to read them for each request would hold up others."""
    return httpx2.create_ssl_context()


class Provider:
    """A provider and its metadata, which are fetched again every hour.

    Parameters
    ----------
    settings
        Its issuer, and the name of this server there.
    redirect_uri
        The address to which it sends people back.
    """

    def __init__(self, settings: ServerSection, redirect_uri: str) -> None:
        self.settings = settings
        self._redirect_uri = redirect_uri
        self._metadata: Mapping[str, Any] = {}
        self._failure: ProviderError | None = None
        self._until = 0.0

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[AsyncOAuth2Client]:
        """Yield a client; what fails or takes too long raises :class:`ProviderError`."""
        try:
            async with (
                asyncio.timeout(SECONDS),
                AsyncOAuth2Client(
                    self.settings.oidc_client_id,
                    os.environ.get(OIDC_SECRET, ""),
                    redirect_uri=self._redirect_uri,
                    scope="openid profile email",
                    code_challenge_method="S256",
                    verify=_certificates(),
                    timeout=SECONDS,
                    follow_redirects=False,
                    headers={"Accept-Encoding": "identity"},
                    event_hooks={"response": [_bound]},
                ) as client,
            ):
                yield client
        except TimeoutError:
            raise ProviderError("unreachable", f"no answer within {SECONDS:g} s") from None
        except AuthlibBaseError:
            raise ProviderError("untrusted", "the access token cannot be used") from None
        except _FAULTS as error:
            raise ProviderError("unreachable", type(error).__name__) from error

    async def metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the provider.

        A failure is remembered for some seconds, so that a provider that is down is not asked by
        everybody who tries.

        Raises
        ------
        ProviderError
            If it does not answer, is another issuer, or has addresses that are not encrypted.
        """
        if time.monotonic() < self._until:
            if self._failure is not None:
                raise ProviderError(self._failure.kind, self._failure.reason)
            return self._metadata
        try:
            self._metadata, self._failure = await self._discover(), None
            self._until = time.monotonic() + _KEPT_SECONDS
        except ProviderError as error:
            self._failure, self._until = error, time.monotonic() + _FAILED_SECONDS
            raise
        return self._metadata

    async def _discover(self) -> Mapping[str, Any]:
        issuer = self.settings.oidc_issuer
        async with self._client() as client:
            configuration = await _json(
                client, f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            )
        if configuration.get("issuer") != issuer:
            raise ProviderError(
                "unreachable", "its discovery document names another issuer than oidc_issuer"
            )
        scheme = urlsplit(issuer).scheme
        for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not _usable(configuration.get(key), scheme):
                raise ProviderError("unreachable", f"its {key} is missing or not encrypted")
        if not _usable(configuration.get("userinfo_endpoint"), scheme):
            configuration.pop("userinfo_endpoint", None)
        return configuration

    async def authorization_url(self, flow: Flow) -> str:
        """Return the address at the provider to which the browser goes.

        Raises
        ------
        ProviderError
            If the provider cannot be used now.
        """
        metadata = await self.metadata()
        async with self._client() as client:
            url, _state = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=flow.state,
                nonce=flow.nonce,
                code_verifier=flow.verifier,
            )
        return str(url)

    async def identity(self, flow: Flow, code: str, now: datetime) -> Identity:
        """Return who signed in, for the code that the provider gave the browser.

        Raises
        ------
        ProviderError
            If the code is not valid, or the answer does not prove who signs in.
        """
        metadata = await self.metadata()
        async with self._client() as client:
            methods = metadata.get("token_endpoint_auth_methods_supported")
            if isinstance(methods, list) and "client_secret_basic" not in methods:
                client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 - its name
            try:
                token = await client.fetch_token(
                    metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=flow.verifier,
                )
            except OAuthError as error:
                reason = str(error.error)
                if reason in {"invalid_client", "unauthorized_client"}:
                    raise ProviderError("setup", reason) from None
                raise ProviderError("untrusted", "the code was refused") from None
            keys = await _json(client, metadata["jwks_uri"])
            claims = self._claims(token, keys, flow, now)
            if "userinfo_endpoint" in metadata and not are_complete(claims):
                more = await _json(client, metadata["userinfo_endpoint"], signed=True)
                if more.get("sub") != claims["sub"]:
                    raise ProviderError("untrusted", "userinfo is about another person")
                claims = merge_claims(claims, more)
        try:
            return Identity.of(self.settings.oidc_issuer, claims)
        except ValueError:
            raise ProviderError(
                "untrusted", "sub is missing, empty, too long or not printable"
            ) from None

    def _claims(
        self, token: Mapping[str, Any], keys: Mapping[str, Any], flow: Flow, now: datetime
    ) -> dict[str, Any]:
        """Return the claims of an ID token whose signature and claims are right."""
        text = token.get("id_token")
        if not isinstance(text, str):
            raise ProviderError("untrusted", "there is no ID token")
        # A header that is not known is ignored, unless it says that it is critical.
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        try:
            with warnings.catch_warnings():
                # OpenID Connect has EdDSA; RFC 9864 has other names for what it stands for.
                warnings.simplefilter("ignore", SecurityWarning)
                read = jwt.decode(text, _key_set(keys), registry=registry)
            checked = CodeIDToken(
                read.claims,
                read.header,
                {
                    "iss": {"essential": True, "value": self.settings.oidc_issuer},
                    "aud": {"essential": True, "value": self.settings.oidc_client_id},
                    "sub": {"essential": True},
                },
                {
                    "nonce": flow.nonce,
                    "client_id": self.settings.oidc_client_id,
                    "access_token": token.get("access_token"),
                },
            )
            checked.validate(now=int(now.timestamp()), leeway=_LEEWAY)
        except JoseError as error:
            raise ProviderError("untrusted", f"ID token: {error.error}{_claim(error)}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ProviderError("untrusted", f"ID token: {type(error).__name__}") from None
        return dict(read.claims)


def _claim(error: JoseError) -> str:
    """Return which claim is wrong, if it is one of those that are checked: never its value."""
    claims = ("iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "azp", "at_hash")
    refused_claim = next((claim for claim in claims if f"'{claim}'" in str(error.description)), "")
    return refused_claim and f" {refused_claim}"


def _usable(url: Any, scheme: str) -> bool:
    """Return whether an address is encrypted, or as little as the issuer, on this machine."""
    return isinstance(url, str) and (
        url.startswith("https://")
        or (scheme == "http" and urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"})
    )


def _key_set(document: Mapping[str, Any]) -> KeySet:
    """Return the keys that can verify; others, such as of kinds unknown here, are left out."""
    listed = document.get("keys")
    usable = [
        key
        for key in (listed if isinstance(listed, list) else [])
        if isinstance(key, dict)
        and key.get("kty") in {"RSA", "EC", "OKP"}
        and key.get("use", "sig") == "sig"
    ]
    return KeySet.import_key_set({"keys": usable})


async def _json(client: AsyncOAuth2Client, url: str, *, signed: bool = False) -> dict[str, Any]:
    """Return the JSON object at an address, read with the access token if ``signed``."""
    answer = await client.request("GET", url, withhold_token=not signed)
    if answer.status_code != httpx2.codes.OK:
        raise ProviderError("unreachable", f"an answer has the status {answer.status_code}")
    document = answer.json()
    if not isinstance(document, dict):
        raise ProviderError("unreachable", "an answer is not a JSON object")
    return document


def are_complete(claims: Mapping[str, Any]) -> bool:
    """Return whether claims name a person and an address."""
    return "email" in claims and ("name" in claims or "preferred_username" in claims)


def merge_claims(claims: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return claims with those that only userinfo has; an address and its check stay together."""
    email = claims if "email" in claims else more
    return {
        **{key: more[key] for key in ("name", "preferred_username", "nickname") if key in more},
        **{key: value for key, value in claims.items() if key not in {"email", "email_verified"}},
        **{key: email[key] for key in ("email", "email_verified") if key in email},
    }


async def why_unusable(settings: ServerSection) -> str:
    """Return why a provider cannot be used; an empty text if it answers as one."""
    try:
        await Provider(settings, "").metadata()
    except ProviderError as error:
        return error.reason
    return ""
