"""A client of DynamoDB with the methods of botocore's client that `Table` calls.

Deviation from the library: a call of botocore's client costs 300 to 400 µs, nearly all of it in
the serializer, the event hooks, the signer and the parser (`docs/adr/0156-…`). Here the body is
written and read as JSON, and sent over the connections of botocore's client with its credentials.
Whatever is not a plain success or a refused condition is given to botocore (`handover`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from threading import Lock
from typing import Any
from uuid import uuid4

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ClientError

from daicho.runtime.metrics import emit_throttle
from daicho.storage.capacity import OPERATIONS
from daicho.storage.direct.answers import encode_request, is_throttled, read_answer, read_refusal
from daicho.storage.direct.handover import HandoverSession, Outcome
from daicho.storage.direct.template import RequestTemplate
from daicho.storage.direct.tracing import get_patched, is_botocores, unwrap, wrap_call

RETRY_QUOTA = 500
"""The capacity of botocore's retry quota: so many successes fill it (`botocore.retries.quota`)."""
TRANSACTION = OPERATIONS["transact_write_items"]


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def define_operation(name: str) -> Callable[..., Any]:
    """The method of a client that calls an operation; it takes and returns what botocore's does."""

    def call_operation(self: DirectClient, **parameters: Any) -> Any:
        return self.call(name, parameters)

    return call_operation


class DirectClient:
    """Calls DynamoDB with little processor time; safe to share by threads.

    ``client`` is a client of botocore and ``credentials`` are those that it was made with. All
    other methods and attributes are those of ``client``.
    """

    def __init__(
        self, client: Any, credentials: Any, now: Callable[[], dt.datetime] = _utc_now
    ) -> None:
        self.botocore_client = client
        self._credentials = credentials
        self._now = now
        self._session = HandoverSession.install(client, self._learn)
        self._own_call = unwrap(get_patched())[1]
        self._is_own = is_botocores(self._own_call)
        # The client may have made retries already, also for the request that is learned from.
        self._unreported = RETRY_QUOTA
        self._unreported_lock = Lock()

    def __getattr__(self, name: str) -> Any:
        if name == "botocore_client":  # a copy is made without `__init__`, and asked for its hooks
            raise AttributeError(name)
        return getattr(self.botocore_client, name)

    def call(self, operation: str, parameters: dict[str, Any]) -> Any:
        """Call an operation, within the wrappers of tracers; errors are those of botocore."""
        patched = get_patched()
        if patched is self._own_call and self._is_own:
            return self._send(operation, parameters)
        wrappers, function = unwrap(patched)
        if function is not self._own_call or not self._is_own:  # not a tracer: it answers itself
            return self.botocore_client._make_api_call(operation, parameters)
        return wrap_call(self._send, self.botocore_client, wrappers)(operation, parameters)

    def _learn(self, request: AWSPreparedRequest) -> Any:
        """Make the template of a request that botocore sends; None if it is not one."""
        return RequestTemplate.learn(request)

    def _send(self, operation: str, parameters: dict[str, Any]) -> Any:
        template = self._session.template
        if template is None:
            return self._own_call(self.botocore_client, operation, parameters)
        if operation == TRANSACTION and "ClientRequestToken" not in parameters:
            parameters = {**parameters, "ClientRequestToken": str(uuid4())}
        invocation = str(uuid4())
        credentials = self._credentials.get_frozen_credentials()
        body = encode_request(parameters)
        request = template.build_request(operation, body, credentials, self._now(), invocation)
        try:
            response: AWSResponse = self._session.session.send(request)
        except Exception as error:  # botocore takes all as outcomes too
            return self._hand_over(operation, parameters, error, invocation)
        answer = read_answer(response)
        # Botocore's repeats are not counted: the first attempt of each was.
        if is_throttled(response, answer):
            emit_throttle()
        if answer is None:
            if refusal := read_refusal(response):
                code = refusal["Error"]["Code"]
                raise self.botocore_client.exceptions.from_code(code)(refusal, operation)
            return self._hand_over(operation, parameters, response, invocation)
        if self._unreported:
            self._report_success(operation, response, answer)
        return answer

    def _hand_over(
        self, operation: str, parameters: dict[str, Any], outcome: Outcome, invocation: str
    ) -> Any:
        """Let botocore continue after the first attempt."""
        retries = 1  # of a call that raises no answer it is not known
        try:
            with self._session.give(outcome, invocation):
                answer = self._own_call(self.botocore_client, operation, parameters)
            retries = answer["ResponseMetadata"].get("RetryAttempts", 0)
        except ClientError as error:
            metadata = error.response.get("ResponseMetadata", {})
            # No retry is made either when other calls have used up the quota.
            is_used_up = "RetryQuotaReached" in metadata
            retries = 1 if is_used_up else metadata.get("RetryAttempts", retries)
            raise
        finally:
            if retries:
                with self._unreported_lock:
                    self._unreported = RETRY_QUOTA
        return answer

    def _report_success(self, operation: str, response: AWSResponse, answer: Any) -> None:
        """Return a unit to botocore's retry quota, as a success of botocore's client does.

        Without the lock, a thread could overwrite what another one has just reset after a retry.
        Then successes would be left unreported while the quota lacks units.
        """
        with self._unreported_lock:
            self._unreported = max(0, self._unreported - 1)
        meta = self.botocore_client.meta
        meta.events.emit(
            f"after-call.{meta.service_model.service_id.hyphenize()}.{operation}",
            http_response=response,
            parsed=answer,
            model=meta.service_model.operation_model(operation),
            context={},
        )


for _name, _operation in OPERATIONS.items():
    setattr(DirectClient, _name, define_operation(_operation))
