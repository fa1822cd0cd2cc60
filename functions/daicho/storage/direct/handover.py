"""Gives the outcome of a lean attempt to botocore as the outcome of its own first attempt.

So botocore parses the error, decides whether to repeat the request, waits, keeps its retry quota
and raises, as if it had sent the first attempt. Nothing is sent twice to learn why it failed.

Deviation from the library: the HTTP session of a client's endpoint is replaced by one that can
return an outcome instead of sending (``_endpoint`` is private; botocore has no public place for
it). A hook of ``before-send`` that answers, as test libraries register, keeps botocore from using
the session: then no template is learned, and the client stays botocore's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from daicho.storage.direct.connections import send_at_once

Outcome = AWSResponse | Exception


class HandoverSession:
    """The HTTP session of a client of botocore; safe to share by threads."""

    def __init__(self, session: Any, learn: Callable[[AWSPreparedRequest], Any]) -> None:
        self.session = session
        self.template: Any = None
        self._learn = learn
        self._given = local()

    @classmethod
    def install(cls, client: Any, learn: Callable[[AWSPreparedRequest], Any]) -> HandoverSession:
        """Put a session in front of that of a client.

        ``learn``: makes the template of a request that botocore sends; None if it is not one.
        """
        session = cls(client._endpoint.http_session, learn)
        send_at_once(session.session)
        client._endpoint.http_session = session
        service = client.meta.service_model.service_id.hyphenize()
        client.meta.events.register(f"before-call.{service}", session.continue_invocation)
        return session

    @contextmanager
    def give(self, outcome: Outcome, invocation: str) -> Iterator[None]:
        """The next attempt of this thread within the context has this outcome."""
        self._given.outcome, self._given.invocation = outcome, invocation
        try:
            yield
        finally:
            self._given.outcome = self._given.invocation = None

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Return or raise the given outcome, or send."""
        outcome: Outcome | None = getattr(self._given, "outcome", None)
        self._given.outcome = None
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is not None:
            return outcome
        if self.template is None:
            self.template = self._learn(request)
        response: AWSResponse = self.session.send(request)
        return response

    def close(self) -> None:
        """Close the connections."""
        self.session.close()

    def continue_invocation(self, context: dict[str, Any], **_: Any) -> None:
        """Later attempts have the invocation id of the first."""
        if invocation := getattr(self._given, "invocation", None):
            context.setdefault("retries", {})["invocation-id"] = invocation
