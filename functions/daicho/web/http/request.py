"""A request of API Gateway (HTTP API, payload format 2.0), checked before routing, and its token.

A gateway passes all claims on as text, a list as ``[admin staff]``. This text is the same for the
groups ``x`` and ``operator`` and for the one group ``x operator``. So a list is read from the token
itself, whose signature the gateway has checked, and only if it agrees with the gateway's text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, unquote_plus

from daicho.declare.rules.caller import Caller
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.token_claims import COGNITO_CLAIMS, SUBJECT_CLAIM, TENANT, ClaimNames
from daicho.web.http.preconditions import PRECONDITION_HEADERS, remove_lineage
from daicho.web.http.problems import HttpError
from daicho.web.schema import addresses
from daicho.write.idempotency import IdempotentRequest

if TYPE_CHECKING:
    from daicho.book.book import Book

Claims = Mapping[str, Any]
"""The claims of a token, which the gateway has checked, by their names."""
SCOPE_CLAIMS = ("scope", "scp")
"""Claims whose text is a list: a scope contains no space (RFC 6749, section 3.3)."""
_TOKEN = re.compile(r"(?:Bearer +)?[\w-]+\.([\w-]+)\.[\w-]+", re.ASCII | re.IGNORECASE)


def read_token(authorization: str) -> Claims:
    """The claims of the token in a header ``Authorization``; none if it is of another form."""
    found = _TOKEN.fullmatch(authorization.strip())
    encoded = found[1] if found else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _read_claim(name: str, claim: object, token: Claims | None) -> list[str]:
    """The groups in one claim; none if the token contains another value than the gateway passes."""
    if not isinstance(claim, str):
        return split_groups(claim)
    if name in SCOPE_CLAIMS and not claim.startswith("["):
        return claim.split()
    if token is None:
        return split_groups(claim)
    value = token.get(name)
    if isinstance(value, list):
        groups = [each for each in value if isinstance(each, str)]
        return groups if f"[{' '.join(groups)}]" == claim else []
    return [claim] if claim and value == claim else []


def split_groups(claim: object) -> list[str]:
    """The groups in a claim as a gateway passes it on, without the token.

    Text is one group, in brackets or not. No group is read of text in brackets with a space: it is
    the same for the groups ``not`` and ``admin`` and for the one group ``not admin``.
    """
    if isinstance(claim, list):
        return [group for group in claim if isinstance(group, str)]
    if not isinstance(claim, str) or not claim:
        return []
    if not (claim.startswith("[") and claim.endswith("]")):
        return [claim]
    group = claim[1:-1]
    return [group] if group and " " not in group else []


class Consumption:
    """What one request consumes. ``books`` answer it: one for each attempt.

    ``is_admitted``: the quota of its tenant has let it pass. ``is_repeat``: its answer was stored
    under its Idempotency-Key.
    """

    def __init__(self) -> None:
        self.books: list[Book] = []
        self.is_admitted = self.is_repeat = False

    def sum_up(self, sent: str, answered: str) -> tuple[int, float, float, int]:
        """Requests, read and write units and bytes. A repeat is no further request.

        ``sent``, ``answered``: the bodies.
        """
        reads = writes = 0.0
        for book in self.books:
            read, written = book.consumed
            reads, writes = reads + read, writes + written
        size = _measure_text(sent) + _measure_text(answered)
        return 0 if self.is_repeat else 1, reads, writes, size


def _measure_text(text: str) -> int:
    """Its bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


MAX_BODY_BYTES = 6 * 1024 * 1024
"""The limit of any body: Lambda takes no more. An operation may take less."""

_JSON = re.compile(r"application/([\w.+-]+\+)?json", re.ASCII | re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*\"?([^\";\s]+)", re.ASCII | re.IGNORECASE)
_CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii")
_GZIP = (b"\x1f\x8b", b"\x1f\xef\xbf\xbd")
"""How a compressed body begins, and what a gateway makes of it that decodes it as text."""
_BYTE_ORDER_MARK = "\ufeff"
_WITH_BODY = ("POST", "PUT", "PATCH")


@dataclass(frozen=True)
class HttpRequest:
    """One request. ``consumption`` is filled in while it is answered.

    ``lineage``: of a table that was taken over. Its ETags begin with it, outside of this class.
    """

    event: Mapping[str, Any]
    claim_names: ClaimNames = COGNITO_CLAIMS
    lineage: str = ""
    consumption: Consumption = field(default_factory=Consumption)

    @property
    def method(self) -> str:
        """GET, PUT..."""
        return str(self.event["requestContext"]["http"]["method"]).upper()

    @cached_property
    def path(self) -> str:
        """The path in the API, behind the name of a stage that is in the address."""
        path, stage = str(self.event.get("rawPath", "")), self.event["requestContext"].get("stage")
        return path if stage in (None, "$default") else path[len(f"/{stage}") :]

    def to_get(self) -> Self:
        """The GET request to the same address: a HEAD request has its status and its headers."""
        context = self.event["requestContext"]
        http = {**context["http"], "method": "GET"}
        event = {**self.event, "requestContext": {**context, "http": http}}
        return type(self)(event, self.claim_names, self.lineage)

    @property
    def id(self) -> str:
        """The gateway's id of the request."""
        return str(self.event["requestContext"].get("requestId", ""))

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """By their names in lower case."""
        given = self.event.get("headers") or {}
        headers = {str(name).lower(): str(value) for name, value in given.items()}
        for name in PRECONDITION_HEADERS if self.lineage else ():
            if name.lower() in headers:
                headers[name.lower()] = remove_lineage(headers[name.lower()], self.lineage)
        return headers

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The query parameters, decoded here because the gateway joins repeated ones.

        Raises:
            HttpError: 400, one is given twice, or is no UTF-8.
        """
        parameters: dict[str, str] = {}
        for pair in filter(None, str(self.event.get("rawQueryString") or "").split("&")):
            written, _, value = pair.partition("=")
            name = _decode_query(written)
            if name in parameters:
                raise HttpError(400, f"{name} is given twice", [(name, "given twice")])
            parameters[name] = _decode_query(value)
        return parameters

    @cached_property
    def body(self) -> str:
        """The body as text.

        Raises:
            HttpError: 413, too large; 400, no UTF-8, or with a byte order mark; 415, compressed.
        """
        text = self.event.get("body") or ""
        try:
            raw = base64.b64decode(text) if self.event.get("isBase64Encoded") else text.encode()
        except (binascii.Error, ValueError) as error:
            raise HttpError(400, "the body is not UTF-8: send JSON in UTF-8") from error
        if len(raw) > MAX_BODY_BYTES:
            raise HttpError(413, f"a body has at most {MAX_BODY_BYTES} bytes, not {len(raw)}")
        return _decode_body(raw)

    def check_characters(self) -> None:
        """Refuse a body in which a gateway may have written U+FFFD for bytes that are no UTF-8.

        Raises:
            HttpError: 400.
        """
        if not self.event.get("isBase64Encoded") and addresses.REPLACEMENT in self.body:
            raise HttpError(
                400,
                "the body is not UTF-8, or it contains U+FFFD, which a gateway writes for other "
                "bytes: send JSON in UTF-8, and \\ufffd for the character itself",
            )

    @cached_property
    def claims(self) -> Claims:
        """The claims of the token, which the gateway has checked."""
        authorizer = self.event["requestContext"].get("authorizer") or {}
        claims: Claims = (authorizer.get("jwt") or {}).get("claims") or {}
        return claims

    @cached_property
    def tenant(self) -> str:
        """The tenant that the token claims.

        Raises:
            HttpError: 403, it claims none, or what is no name of a tenant.
        """
        name = self.claim_names.tenant
        claimed = self.claims.get(name)
        if not isinstance(claimed, str) or not TENANT.fullmatch(claimed):
            raise HttpError(403, f"the token contains no tenant: {_describe_claim(name, claimed)}")
        return claimed

    @cached_property
    def caller(self) -> Caller:
        """The token's subject, groups and tenant.

        Raises:
            HttpError: see `tenant`.
        """
        return Caller(self.user, self.roles, self.tenant)

    @property
    def user(self) -> str:
        """The token's subject; empty if it has none.

        Raises:
            HttpError: 403, it is not well-formed Unicode.
        """
        subject = str(self.claims.get(SUBJECT_CLAIM) or "")
        try:
            subject.encode()
        except UnicodeEncodeError as error:
            raise HttpError(403, "the subject of the token is not well-formed Unicode") from error
        return subject

    @property
    def roles(self) -> frozenset[str]:
        """The groups of the caller.

        In an event without a token a list of several groups gives no role: its text is ambiguous.
        """
        header = self.headers.get("authorization")
        token = None if header is None else read_token(header)
        names = self.claim_names.groups
        groups = (_read_claim(name, self.claims.get(name), token) for name in names)
        return frozenset(chain.from_iterable(groups))

    def to_idempotent_request(self, key: str) -> IdempotentRequest:
        """The identity of the request under an Idempotency-Key."""
        path = str(self.event.get("rawPath", ""))
        return IdempotentRequest.from_http(
            key, self.method, path, self.query, self.body, self.caller.subject
        )

    def check(self) -> None:
        """Refuse a request that no operation can read.

        Raises:
            HttpError: 400, 413 or 415.
        """
        check_path(str(self.event.get("rawPath", "")))
        try:
            "".join(self.headers.values()).encode()
        except UnicodeEncodeError as error:
            raise HttpError(400, "the request is not well-formed Unicode") from error
        _ = self.query
        if self.method in _WITH_BODY and self.event.get("body"):
            self._check_content()
            _ = self.body

    def _check_content(self) -> None:
        """Refuse a body that its headers say is no JSON in UTF-8.

        Raises:
            HttpError: 415.
        """
        kind, _, options = self.headers.get("content-type", "application/json").partition(";")
        if not _JSON.fullmatch(kind.strip()):
            raise HttpError(
                415, f"a body is application/json, not {kind.strip()[:100] or 'without a type'}"
            )
        charset = _CHARSET.search(options)
        if charset and charset[1].lower() not in _CHARSETS:
            raise HttpError(415, f"a body is in UTF-8, not in {charset[1][:100]}")
        encoding = self.headers.get("content-encoding", "identity").strip()
        if encoding.lower() not in ("", "identity"):
            raise HttpError(415, f"a body is not compressed: no Content-Encoding {encoding[:100]}")


def _decode_body(raw: bytes) -> str:
    """The text of a body.

    Raises:
        HttpError: 400, it is no UTF-8, or has a byte order mark; 415, it is compressed.
    """
    if raw.startswith(_GZIP):
        raise HttpError(415, "the body is compressed (gzip): send the JSON itself")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise HttpError(400, "the body is not UTF-8: send JSON in UTF-8") from error
    if text.startswith(_BYTE_ORDER_MARK):
        raise HttpError(400, "the body begins with a byte order mark (U+FEFF): send it without one")
    return text


def check_path(path: str) -> None:
    """Refuse a path that is not UTF-8; an HTTP API has decoded it.

    Of bytes that are not UTF-8 it makes U+FFFD, the same for all, so that paths of different items
    would become one.

    Raises:
        HttpError: 400.
    """
    try:
        path.encode()
        is_text = addresses.REPLACEMENT not in unquote(path, errors="strict")
    except UnicodeError:
        is_text = False
    if not is_text:
        raise HttpError(400, "the path is not UTF-8; U+FFFD is not accepted in paths")


def _describe_claim(name: str, claimed: object) -> str:
    """What is wrong with the claim of the tenant. Its value is the caller's own."""
    if claimed is None:
        return f"it has no claim {name}"
    return f"its claim {name} is not 1 to 63 of a-z, 0-9 and hyphens"


def _decode_query(text: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError as error:
        raise HttpError(400, "the query is not UTF-8") from error
