"""A provider of OpenID Connect on this machine, which answers as the test says."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from web_site import URL, listening

__all__ = [
    "CALLBACK",
    "CLIENT",
    "SECRET",
    "FakeProvider",
    "dripping",
    "fake_provider",
    "keys",
    "rsa_signature",
    "token",
]

CLIENT, SECRET = "arena-client", "s3cret/of+arena"
CALLBACK = f"{URL}/sign-in/oidc/callback"


@cache
def keys() -> dict[str, Key]:
    """Return a key for each algorithm."""
    rsa = RSAKey.generate_key(2048, {"kid": "rsa"})
    return {
        "RS256": rsa,
        "PS256": rsa,
        "ES256": ECKey.generate_key("P-256", {"kid": "ec"}),
        "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
    }


class FakeProvider:
    """What it knows and how it answers; the test changes both."""

    def __init__(self) -> None:
        self.issuer = ""
        self.callback = CALLBACK
        self.person: dict[str, Any] = {
            "sub": "ada-1",
            "name": "Ada <b>L</b>",
            "email": "ada@example.org",
            "email_verified": True,
        }
        self.claims: dict[str, Any] = {}
        """Claims of the ID token that are changed; None: left out."""
        self.userinfo: dict[str, Any] | None = None
        self.algorithm = "RS256"
        self.forge: Callable[[dict[str, Any]], str] | None = None
        """Makes the ID token from its claims."""
        self.token_answer: dict[str, Any] = {}
        """What the answer with the token has besides, or instead."""
        self.discovery: dict[str, Any] = {}
        self.answers: dict[str, Response | Callable[[], Response]] = {}
        """Path -> what is answered instead."""
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}

    def sign_in(self, url: str, **changes: str) -> str:
        """Return the address to which a browser is sent back after the person signed in."""
        query = dict(parse_qsl(urlsplit(url).query, strict_parsing=True))
        assert url.startswith(f"{self.issuer}/authorize?")
        assert (query["client_id"], query["response_type"]) == (CLIENT, "code")
        assert query["redirect_uri"] == self.callback
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        assert min(len(query[name]) for name in ("state", "nonce", "code_challenge")) >= 43
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return f"{self.callback}?{urlencode({'code': code, 'state': query['state'], **changes})}"

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        self.asked.append(path)
        if path in self.answers:
            answer = self.answers[path]
            return answer if isinstance(answer, Response) else answer()
        if path == "/.well-known/openid-configuration":
            return JSONResponse(
                {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "userinfo_endpoint": f"{self.issuer}/userinfo",
                    **self.discovery,
                }
            )
        if path == "/keys":
            listed = KeySet(list({id(key): key for key in keys().values()}.values())).as_dict()
            unknown = {"kty": "future", "kid": "x"}
            return JSONResponse({"keys": [unknown, *listed["keys"]]})
        if path == "/userinfo":
            assert request.headers["authorization"] == "Bearer access"
            return JSONResponse(self.userinfo or {})
        if path == "/authorize":  # as for a user who already has a session at the provider
            return RedirectResponse(self.sign_in(str(request.url)), 303)
        return self._token(await request.body(), request.headers.get("authorization", ""))

    def _token(self, body: bytes, authorization: str) -> Response:
        form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        if authorization:
            user, _colon, password = base64.b64decode(authorization[6:]).decode().partition(":")
        else:
            user, password = form.get("client_id", ""), form.get("client_secret", "")
        if (user, password) != (CLIENT, SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        grant = self.codes.pop(form["code"], None)  # a code is used once
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            grant is None
            or form["redirect_uri"] != grant["redirect_uri"]
            or challenge != grant["code_challenge"]
        ):
            return JSONResponse({"error": "invalid_grant", "error_description": "<b>no</b>"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "exp": now + 300, "iat": now,
            "nonce": grant["nonce"], **self.person, **self.claims,
        }  # fmt: skip
        claims = {key: value for key, value in claims.items() if value is not None}
        token = {"access_token": "access", "token_type": "Bearer", "expires_in": 300}
        signed_token = self.forge(claims) if self.forge else self.signed(claims)
        return JSONResponse(
            {**token, **({"id_token": signed_token} if signed_token else {}), **self.token_answer}
        )

    def signed(self, claims: dict[str, Any]) -> str:
        """Return claims with the provider's signature."""
        key = keys()[self.algorithm]
        if isinstance(key, OKPKey):  # joserfc warns of this name of the algorithm
            return token({"alg": "EdDSA", "kid": key.kid}, claims, key.private_key.sign)
        return jwt.encode(
            {"alg": self.algorithm, "kid": key.kid}, claims, key, algorithms=[self.algorithm]
        )


def dripping(piece: int) -> Response:
    """Return an answer that does not end, in pieces of so many bytes."""

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            yield b" " * piece
            await asyncio.sleep(0.05)

    return StreamingResponse(drip(), media_type="application/json")


def token(header: dict[str, Any], claims: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    """Return a token as any program could write it."""
    parts = [_encoded(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, _encoded(sign(".".join(parts).encode()))])


def rsa_signature(text: bytes) -> bytes:
    """Return the signature of the provider's own key."""
    key = keys()["RS256"]
    assert isinstance(key, RSAKey)
    return key.private_key.sign(text, PKCS1v15(), SHA256())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def fake_provider() -> Iterator[FakeProvider]:
    """Run a provider in a thread, on a free port."""
    provider = FakeProvider()
    app = Starlette(
        routes=[Route("/{path:path}", provider._answer, methods=["GET", "POST"])],
    )
    with listening(app) as port:
        provider.issuer = f"http://127.0.0.1:{port}"
        yield provider
