"""What all requests of a client have in common, read from the first request that botocore sends.

Deviation from the library: botocore resolves the endpoint, the user agent and the headers for each
request. They are the same for all requests of our clients, whatever environment, configuration
file or arguments decided them. So none of botocore's rules is repeated here: a request of botocore
is the template, and one with anything unexpected in it is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from botocore.auth import _host_from_url  # type: ignore[attr-defined]  # nothing public does it
from botocore.awsrequest import AWSPreparedRequest
from botocore.handlers import add_recursion_detection_header
from botocore.utils import normalize_url_path

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.direct.signature import SIGNED_ALWAYS, SIGNED_IN_SESSION, Signer

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=.+/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<signed>\S+), Signature=[0-9a-f]{64}"
)
HEADERS = frozenset(
    {
        *("x-amz-target", "content-type", "user-agent", "x-amz-date", "x-amz-security-token"),
        *("authorization", "amz-sdk-invocation-id", "amz-sdk-request", "content-length"),
        "x-amzn-trace-id",
    }
)
"""The headers that are known. A request with any other one is no template."""
CONTENT_TYPE = "application/x-amz-json-1.0"
FIRST_ATTEMPT = "attempt=1;"


@dataclass(frozen=True)
class RequestTemplate:
    """Builds requests that are like a request of botocore."""

    url: str
    target: str
    user_agent: str
    attempt: str
    signer: Signer

    @classmethod
    def learn(cls, request: AWSPreparedRequest) -> RequestTemplate | None:
        """Read a request of botocore; None if it has something that is not expected."""
        headers = {name.lower(): _to_text(value) for name, value in request.headers.items()}
        url = urlsplit(request.url)
        authorization = AUTHORIZATION.fullmatch(headers.get("authorization", ""))
        attempt = headers.get("amz-sdk-request", "")
        is_expected = (
            request.method == "POST"
            and not (url.query or url.fragment)
            and headers.keys() <= HEADERS
            and headers.get("content-type") == CONTENT_TYPE
            and attempt.startswith(FIRST_ATTEMPT)
        )
        if not is_expected or not authorization:
            return None
        if authorization["signed"] not in (SIGNED_ALWAYS, SIGNED_IN_SESSION):
            return None
        return cls(
            url=request.url,
            target=headers["x-amz-target"].rpartition(".")[0],
            user_agent=headers["user-agent"],
            attempt=attempt,
            signer=Signer(
                _host_from_url(request.url),
                quote(normalize_url_path(url.path), safe="/~"),
                authorization["region"],
                authorization["service"],
                CONTENT_TYPE,
            ),
        )

    def build_request(
        self,
        operation: str,
        body: bytes,
        credentials: ReadOnlyCredentials,
        moment: dt.datetime,
        invocation: str,
    ) -> AWSPreparedRequest:
        """A signed request; ``invocation`` is the same for all attempts of a call."""
        target = f"{self.target}.{operation}"
        headers: dict[str, Any] = {
            "X-Amz-Target": target,
            "Content-Type": CONTENT_TYPE,
            "User-Agent": self.user_agent,
            **self.signer.sign(target, body, credentials, moment),
            "amz-sdk-invocation-id": invocation,
            "amz-sdk-request": self.attempt,
            "Content-Length": str(len(body)),
        }
        add_recursion_detection_header({"headers": headers})  # Lambda's trace of this invocation
        return AWSPreparedRequest("POST", self.url, headers, body, False, {})  # type: ignore[arg-type]


def _to_text(value: str | bytes) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else value
