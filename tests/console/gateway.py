"""API Gateway for the browser tests: HTTP requests become events of the handlers.

It checks tokens as the JWT authorizer does and answers 401 itself. Switches make it slow, failing
or unreachable. The API is below a path, as at the local AWS: an address of the page that begins
with ``/`` would be wrong, and is found.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from daicho.web.api import is_public
from tests.console.issuer import Issuer
from tests.support.api_client import as_the_gateway_decodes, build_gateway_event
from tests.support.stream_pump import Context

PREFIX = "/api"
Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
_numbers = itertools.count(1)


@dataclass
class Switches:
    """What goes wrong. ``delay_seconds``: of each answer to a path that ``slow`` matches.

    ``failing``: the next requests with a matching path are answered with this status, without
    reaching a handler. ``offline``: connections are closed without an answer.
    """

    delay_seconds: float = 0.0
    slow: str = ""
    failing: str = ""
    failures: int = 0
    status: int = 503
    offline: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, path: str, times: int = 1, status: int = 503) -> None:
        """Answer the next ``times`` requests whose path matches with a status."""
        self.failing, self.failures, self.status = path, times, status

    def reset(self) -> None:
        """Nothing goes wrong any more."""
        self.delay_seconds, self.slow, self.failures, self.offline = 0.0, "", 0, False

    def take_failure(self, path: str) -> int | None:
        """The status with which this request fails."""
        with self._lock:
            if not self.failures or not re.search(self.failing, path):
                return None
            self.failures -= 1
            return self.status


@dataclass
class Gateway:
    """One address for the handlers: requests below ``/ops/`` go to ``ops``."""

    issuer: Issuer
    api: Handler
    ops: Handler
    switches: Switches = field(default_factory=Switches)
    calls: list[str] = field(default_factory=list)
    """Method and path with query of each request, in order."""
    writes: int = 0
    """How many requests may have changed something."""

    def start(self, port: int = 0) -> ThreadingHTTPServer:
        """Serve; close the server afterwards."""

        class Requests(_Requests):
            gateway = self

        server = ThreadingHTTPServer(("127.0.0.1", port), Requests)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}{PREFIX}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, Any]:
        """The answer to a request, as a handler or the gateway itself makes it."""
        path, _, query = target.partition("?")
        claims = self.issuer.read_token(headers.get("authorization", "").removeprefix("Bearer "))
        is_open = method in ("GET", "HEAD") and is_public(path)
        if claims is None and not is_open:
            return _answer_itself(401, "Unauthorized")
        status = self.switches.take_failure(path)
        if status == 503:
            return _answer_itself(503, "Service Unavailable")
        if status is not None:
            problem = {"type": "about:blank", "title": "Planted", "status": status}
            content = {**problem, "detail": f"planted failure; request planted-{next(_numbers)}"}
            headers = {"content-type": "application/problem+json"}
            return {"statusCode": status, "headers": headers, "body": json.dumps(content)}
        if self.switches.delay_seconds and re.search(self.switches.slow, path):
            time.sleep(self.switches.delay_seconds)
        handler = self.ops if path.startswith("/ops/") else self.api
        decoded = as_the_gateway_decodes(path)
        event = build_gateway_event(method, decoded, query, headers, claims)
        if body:
            event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        return handler(event, Context())


class _Requests(BaseHTTPRequestHandler):
    gateway: Gateway
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        target = self.path.removeprefix(PREFIX) or "/"
        self.gateway.calls.append(f"{self.command} {target}")
        self.gateway.writes += self.command not in ("GET", "HEAD")
        if self.gateway.switches.offline:
            self.close_connection = True
            return
        if not self.path.startswith(PREFIX):
            answer: Mapping[str, Any] = _answer_itself(404, "Not Found")
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = self.gateway.answer(self.command, target, headers, body)
        content = (answer.get("body") or "").encode()
        if answer.get("isBase64Encoded"):
            content = base64.b64decode(content)
        self.send_response(answer["statusCode"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        if answer["statusCode"] not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def handle(self) -> None:
        """Serve the requests of a connection, which a browser may close at any time."""
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: a test's output is its own."""


def _answer_itself(status: int, message: str) -> Mapping[str, Any]:
    headers = {"content-type": "application/json"}
    return {"statusCode": status, "headers": headers, "body": json.dumps({"message": message})}
