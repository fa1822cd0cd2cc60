"""Pages whose content changes only with a deployment: compressed, and not sent again unchanged."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from urllib.parse import urlsplit

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.web.http.operation import Reply
from daicho.web.http.preconditions import IF_NONE_MATCH, matches_any
from daicho.web.http.request import HttpRequest

REVALIDATED = "no-cache"
"""A browser keeps the page, and asks each time whether it has changed: 304 without a body."""
FOREVER = "public, max-age=31536000, immutable"
"""For an address that changes with the content."""
MIN_COMPRESSED_BYTES = 1_000

_GZIP = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?P<weight>[\d.]+))?\s*(?:,|$)", re.ASCII)


HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class StaticPage:
    """A page: its text, its media type, how long it is kept, and further headers."""

    text: str
    media_type: str
    cache_control: str = REVALIDATED
    headers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """A name of the content."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:20]

    @cached_property
    def _compressed(self) -> str:
        """The compressed text in Base64, as Lambda takes bytes."""
        return base64.b64encode(gzip.compress(self.text.encode(), mtime=0)).decode()

    def answer(self, request_headers: Mapping[str, str]) -> Reply:
        """The page, compressed if the client takes gzip; 304 if it has the page already.

        Raises:
            HttpError: 400, the If-None-Match is no list of ETags.
        """
        headers = {
            # Weak: the compressed page has the same tag.
            "ETag": f'W/"{self.digest}"',
            "Cache-Control": self.cache_control,
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            **self.headers,
        }
        tags = request_headers.get(IF_NONE_MATCH.name.lower())
        if tags is not None and matches_any(tags, f'"{self.digest}"'):
            return Reply(304, None, headers)
        if len(self.text) < MIN_COMPRESSED_BYTES or not _takes_gzip(request_headers):
            return Reply(200, self.text, headers, self.media_type)
        headers["Content-Encoding"] = "gzip"
        return Reply(200, self._compressed, headers, self.media_type, is_base64=True)


def build_page(text: str, policy: str) -> StaticPage:
    """A page of HTML; ``policy``: its content security policy."""
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return StaticPage(text, HTML, headers=headers)


def build_application(
    text: str, addresses: Iterable[str], *, scripts: str = "'self'"
) -> StaticPage:
    """A page whose scripts call its own origin, and the origins of these addresses.

    ``scripts``: the sources of its scripts, as a content security policy names them.
    """
    parts = [urlsplit(address) for address in addresses]
    origins = sorted({f"{part.scheme}://{part.netloc}" for part in parts if part.netloc})
    called = " ".join(("'self'", *origins))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; "
        f"connect-src {called}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return build_page(text, policy)


def serve_page(find: Callable[..., StaticPage]) -> Callable[..., Reply]:
    """A route that answers with the page that ``find`` returns for the variables of its path."""

    def answer(request: HttpRequest, **variables: str) -> Reply:
        return find(**variables).answer(request.headers)

    return answer


def _takes_gzip(request_headers: Mapping[str, str]) -> bool:
    """Whether Accept-Encoding admits gzip (RFC 9110, section 12.5.3)."""
    match = _GZIP.search(request_headers.get("accept-encoding", "").lower())
    return match is not None and (match["weight"] or "1").strip("0.") != ""
