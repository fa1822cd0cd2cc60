"""An OpenID Connect issuer for the browser tests: a form, codes with PKCE, tokens, logout.

It plays what the console uses of Cognito: the same paths and parameters, one-time codes, a session
in a cookie, so that logout matters, and CORS for every origin on the endpoint for tokens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT = "console-of-the-tests"
PASSWORD = "Only-in-tests-1"
CODE_SECONDS = 300
_COOKIE = "session"


@dataclass(frozen=True)
class User:
    """Somebody who may sign in."""

    name: str
    tenant: str
    groups: Sequence[str] = ()

    @property
    def claims(self) -> dict[str, Any]:
        """The claims of the user's ID token, as the user pool makes them."""
        groups = {"cognito:groups": [*self.groups]} if self.groups else {}
        email = f"{self.name}@{self.tenant}.example"
        return {"sub": f"sub-{self.name}", "custom:tenant": self.tenant, "email": email, **groups}


@dataclass
class Issuer:
    """The issuer. ``token_seconds``: how long a token is valid; `expire_tokens` ends all of them.

    ``redirects``: the addresses to which it sends codes, exactly; ``refuses_refresh``: refresh
    tokens are answered as if they were revoked.
    """

    users: Sequence[User]
    token_seconds: int = 3_600
    refuses_refresh: bool = False
    redirects: set[str] = field(default_factory=set)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _generation: int = 0

    def start(self) -> ThreadingHTTPServer:
        """Serve on a free port; close the server afterwards."""
        issuer = self

        class Handler(_Handler):
            pass

        Handler.issuer = issuer
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://localhost:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def make_token(self, name: str) -> str:
        """A signed ID token of a user."""
        now = int(time.time())
        claims = {
            **self.find_user(name).claims,
            "cognito:username": name,
            "iss": self.url,
            "aud": CLIENT,
            "token_use": "id",
            "iat": now,
            "exp": now + self.token_seconds,
            "generation": self._generation,
        }
        parts = [_encode(json.dumps(each).encode()) for each in ({"alg": "HS256"}, claims)]
        return ".".join((*parts, self._sign(parts)))

    def read_token(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a token; None if it is not valid."""
        parts = token.split(".")
        if len(parts) != 3 or not hmac.compare_digest(self._sign(parts[:2]), parts[2]):
            return None
        claims: dict[str, Any] = json.loads(_decode(parts[1]))
        if claims["exp"] <= time.time() or claims["generation"] != self._generation:
            return None
        return claims

    def expire_tokens(self) -> None:
        """No ID token of before is valid any more; refresh tokens are."""
        self._generation += 1

    def find_user(self, name: str) -> User:
        """The user of a name."""
        (user,) = (each for each in self.users if each.name == name)
        return user

    def _sign(self, parts: Sequence[str]) -> str:
        return _encode(hmac.digest(self._secret, ".".join(parts).encode(), "sha256"))


class _Handler(BaseHTTPRequestHandler):
    issuer: Issuer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.issuer.calls.append(f"GET {parts.path}")
        if parts.path == "/oauth2/authorize":
            self._authorize(query)
        elif parts.path == "/logout":
            self.issuer.sessions.pop(self._session, None)
            self._redirect(query["logout_uri"])
        else:
            self._answer(404, "text/plain", "nothing here")

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
        form = {name: values[0] for name, values in parse_qs(text).items()}
        self.issuer.calls.append(f"POST {self.path}")
        if self.path == "/login":
            self._login(form)
        elif self.path == "/oauth2/token":
            self._give_tokens(form)
        elif self.path == "/oauth2/revoke":
            self.issuer.refresh_tokens.pop(form.get("token", ""), None)
            self._answer(200, "application/json", "{}", cors=True)
        else:
            self._answer(404, "text/plain", "nothing here")

    def _authorize(self, query: Mapping[str, str]) -> None:
        wrong = (
            query.get("response_type") != "code"
            or query.get("client_id") != CLIENT
            or query.get("redirect_uri") not in self.issuer.redirects
            or query.get("code_challenge_method") != "S256"
            or not query.get("code_challenge")
        )
        if wrong:
            self._answer(400, "text/plain", f"invalid_request: {query}")
        elif name := self.issuer.sessions.get(self._session):
            self._redirect_with_code(name, query)
        else:
            self._show_form(query)

    def _show_form(self, query: Mapping[str, str], message: str = "") -> None:
        hidden = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in query.items()
        )
        page = (
            '<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,">'
            f'<form method="post" action="/login">{hidden}<p role="alert">{message}</p>'
            '<label>Username <input name="username"></label>'
            '<label>Password <input name="password" type="password"></label>'
            "<button>Sign in</button></form>"
        )
        self._answer(200, "text/html; charset=utf-8", page)

    def _login(self, form: dict[str, str]) -> None:
        name, password = form.pop("username", ""), form.pop("password", "")
        if password != PASSWORD or name not in {user.name for user in self.issuer.users}:
            self._show_form(form, "Incorrect username or password.")
            return
        session = secrets.token_urlsafe(16)
        self.issuer.sessions[session] = name
        cookie = f"{_COOKIE}={session}; HttpOnly; Path=/; SameSite=Lax"
        self._redirect_with_code(name, form, {"Set-Cookie": cookie})

    def _redirect_with_code(
        self, name: str, query: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> None:
        code = secrets.token_urlsafe(16)
        self.issuer.codes[code] = {**query, "user": name, "until": str(time.time() + CODE_SECONDS)}
        answer = {"code": code, **({"state": query["state"]} if "state" in query else {})}
        self._redirect(f"{query['redirect_uri']}?{urlencode(answer)}", headers or {})

    def _give_tokens(self, form: Mapping[str, str]) -> None:
        name = None
        if form.get("client_id") == CLIENT and form.get("grant_type") == "authorization_code":
            name = self._redeem(form)
        elif form.get("grant_type") == "refresh_token" and not self.issuer.refuses_refresh:
            name = self.issuer.refresh_tokens.get(form.get("refresh_token", ""))
        if name is None:
            self._answer(400, "application/json", '{"error":"invalid_grant"}', cors=True)
            return
        token = self.issuer.make_token(name)
        tokens = {"id_token": token, "access_token": "not for the API", "token_type": "Bearer"}
        if form["grant_type"] == "authorization_code":
            tokens["refresh_token"] = secrets.token_urlsafe(16)
            self.issuer.refresh_tokens[tokens["refresh_token"]] = name
        content = {**tokens, "expires_in": self.issuer.token_seconds}
        self._answer(200, "application/json", json.dumps(content), cors=True)

    def _redeem(self, form: Mapping[str, str]) -> str | None:
        """The user of a code, which is valid once, for its verifier and its address."""
        code = self.issuer.codes.pop(form.get("code", ""), None)
        if code is None or float(code["until"]) < time.time():
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_right = code["code_challenge"] == _encode(digest)
        same = code["redirect_uri"] == form.get("redirect_uri")
        return code["user"] if is_right and same else None

    @property
    def _session(self) -> str:
        cookie = SimpleCookie(self.headers.get("cookie", "")).get(_COOKIE)
        return cookie.value if cookie else ""

    def _redirect(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._answer(302, "text/plain", "", headers={"Location": url, **(headers or {})})

    def _answer(
        self,
        status: int,
        media_type: str,
        text: str,
        *,
        cors: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        body = text.encode()
        self.send_response(status)
        more = {"Access-Control-Allow-Origin": "*"} if cors else {}
        for name, value in {**more, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: a test's output is its own."""


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
