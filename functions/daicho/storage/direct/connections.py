"""Connections that send the headers and the body of a request at once.

Deviation from the library: botocore's connection is made to do this ("it will avoid performance
problems caused by the interaction between delayed ack and the Nagle algorithm"), but urllib3 2
hands it headers and body one after the other. One system call and one TLS record are saved; it is
a tenth of the processor time of a write. The classes are set in the private table of the HTTP
session by which it chooses its pools, also those of proxies.
"""

from __future__ import annotations

from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)


class _SendsOnce:
    """Collects what a request sends, and sends it at its end."""

    _parts: list[bytes] | None = None

    def request(self, *given: Any, headers: Any = None, **named: Any) -> None:
        """Send a request; one that waits for a 100 Continue is sent in two parts."""
        if headers and "Expect" in headers:
            super().request(*given, headers=headers, **named)  # type: ignore[misc]
            return
        self._parts = []
        try:
            super().request(*given, headers=headers, **named)  # type: ignore[misc]
            parts = self._parts
        finally:
            self._parts = None  # connecting, for example through a proxy, sends too
        self.send(b"".join(parts))

    def putheader(self, header: str, *values: Any) -> None:
        """Add a header; one that may be invalid is left to urllib3's checks, which cost 4 µs."""
        if self._parts is None or len(values) != 1 or not isinstance(values[0], str | bytes):
            super().putheader(header, *values)  # type: ignore[misc]
            return
        value = values[0].encode("latin-1") if isinstance(values[0], str) else values[0]
        if b"\r" in value or b"\n" in value or value.startswith(b"@@@") or not header.isascii():
            super().putheader(header, *values)  # type: ignore[misc]
            return
        self._output(b"%b: %b" % (header.encode("ascii"), value))  # type: ignore[attr-defined]

    def send(self, data: Any) -> None:
        """Send bytes, or keep them for the end of the request."""
        if self._parts is None:
            super().send(data)  # type: ignore[misc]
        else:
            self._parts.append(data)


class _Connection(_SendsOnce, AWSHTTPConnection):  # type: ignore[misc]
    pass


class _SecureConnection(_SendsOnce, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(AWSHTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def send_at_once(session: Any) -> None:
    """Let an HTTP session of botocore that has no connections yet use these connections."""
    session._pool_classes_by_scheme.update(http=_Pool, https=_SecurePool)
