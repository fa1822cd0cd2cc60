"""Signature Version 4 of one kind of request: a POST of JSON to a path without a query.

Deviation from the library: `botocore.auth.SigV4Auth` collects, sorts and renders the headers of
any request, and derives the signing key each time. Here the set of headers is fixed, and the key
is derived once a day for each secret. The signature is the same, which a property test shows.
Source: "Create a signed AWS API request" of the IAM User Guide.
"""

from __future__ import annotations

import datetime as dt
import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

ALGORITHM = "AWS4-HMAC-SHA256"
SIGNED_ALWAYS = "content-type;host;x-amz-date;x-amz-target"
SIGNED_IN_SESSION = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
"""The signed headers, without and with the token of temporary credentials."""


@dataclass
class Signer:
    """Signs requests to one address; safe to share by threads.

    ``host`` is the value of the header. ``path`` is canonical: normalized and percent-encoded.
    """

    host: str
    path: str
    region: str
    service: str
    content_type: str
    _key: tuple[str | None, str, bytes] = field(default=("", "", b""), repr=False)

    def sign(
        self, target: str, body: bytes, credentials: ReadOnlyCredentials, moment: dt.datetime
    ) -> dict[str, str]:
        """The headers that authorize a request sent at ``moment``, which is in UTC."""
        stamp = moment.strftime("%Y%m%dT%H%M%SZ")
        token = credentials.token
        signed, token_line = SIGNED_ALWAYS, ""
        if token:
            signed = SIGNED_IN_SESSION
            token_line = f"x-amz-security-token:{' '.join(token.split())}\n"
        canonical = (
            f"POST\n{self.path}\n\ncontent-type:{self.content_type}\nhost:{self.host}\n"
            f"x-amz-date:{stamp}\n{token_line}x-amz-target:{target}\n\n"
            f"{signed}\n{sha256(body).hexdigest()}"
        )
        scope = f"{stamp[:8]}/{self.region}/{self.service}/aws4_request"
        text = f"{ALGORITHM}\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        key = self._get_key(credentials.secret_key, stamp[:8])
        headers = {"X-Amz-Date": stamp}
        if token:
            headers["X-Amz-Security-Token"] = token
        headers["Authorization"] = (
            f"{ALGORITHM} Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={signed}, Signature={_sign(key, text).hex()}"
        )
        return headers

    def _get_key(self, secret: str | None, day: str) -> bytes:
        known_secret, known_day, key = self._key  # one read: another thread may replace it
        if known_secret == secret and known_day == day:
            return key
        key = f"AWS4{secret}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = _sign(key, part)
        self._key = (secret, day, key)
        return key


def _sign(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
