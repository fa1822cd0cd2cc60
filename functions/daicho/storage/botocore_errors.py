"""Translates AWS's errors to ours: the one place that reads botocore's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ParamValidationError,
)
from botocore.exceptions import ConnectionError as AnyConnectionError

from daicho.errors import (
    ConditionFailedError,
    ContendedError,
    RefusedError,
    StoreError,
    ThrottledError,
    TransactionFailedError,
    UnansweredError,
    UnavailableError,
)

THROTTLES = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
AWS_ERRORS = (ClientError, BotoCoreError)
"""All errors that a client raises. Code that catches them raises the error of `translate_error`."""
SERVER_FAILED = 500
UNCONNECTED = (EndpointConnectionError, ConnectTimeoutError)
"""No connection was established, so nothing was sent."""
SILENCES = (HTTPClientError, AnyConnectionError, IncompleteReadError, ChecksumError)
"""All other connection errors may occur after the request was sent. An ``SSLError`` may belong to
the handshake or the answer, a ``ProxyConnectionError`` to the proxy or the server behind it."""
REFUSALS = frozenset(
    {
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "ValidationException",
    }
)
"""Bugs of the request. All other errors are temporary, also denied access: somebody may repair a
grant within minutes, and a quick failure would use up the retries of the event source mapping."""


@contextmanager
def translate_errors(action: str) -> Iterator[None]:
    """Raise our errors instead of botocore's; ``action`` is what the requests are to do."""
    try:
        yield
    except AWS_ERRORS as error:
        raise translate_error(error, action) from error


def translate_error(error: ClientError | BotoCoreError, action: str) -> StoreError:
    """Our error for an error of botocore; ``action`` is what the request was to do.

    If a client repeats a request, botocore raises the error of the last attempt.
    """
    message = f"{action}: {error}"
    if isinstance(error, ClientError):
        return _translate_answer(error, message)
    if isinstance(error, ParamValidationError):
        return RefusedError(message)
    if isinstance(error, SILENCES) and not isinstance(error, UNCONNECTED):
        return UnansweredError(message)
    return UnavailableError(message)  # nothing was sent, also without credentials or a region


def _translate_answer(error: ClientError, message: str) -> StoreError:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailedError(message, error.response.get("Item"))  # type: ignore[arg-type]
    if code == "TransactionCanceledException":
        return _translate_transaction(error, message)
    if code in THROTTLES:
        return ThrottledError(message, _read_reasons(error.response))
    if code == "TransactionConflictException":
        return ContendedError(message)
    if code == "TransactionInProgressException":  # the SDK's own repeat met the first attempt
        return UnansweredError(message)
    if code in REFUSALS:
        return RefusedError(message)
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= SERVER_FAILED:
        return UnansweredError(message)
    # All other errors may be temporary: for example a grant or key that is being repaired. Giving
    # up at once would use up the mapping's retries.
    return UnavailableError(message)


def _read_reasons(response: Any) -> tuple[str, ...]:
    """The reasons for which DynamoDB throttled, if given: one name, in two spellings."""
    given = response.get("ThrottlingReasons") or response.get("throttlingReasons") or ()
    return tuple(reason["reason"] for reason in given if "reason" in reason)


def _translate_transaction(error: ClientError, message: str) -> StoreError:
    """The error of a cancelled transaction: permanent causes first, temporary causes last."""
    reasons: Any = error.response.get("CancellationReasons", [])
    codes = {reason.get("Code") for reason in reasons}
    if codes & {"ValidationError", "ItemCollectionSizeLimitExceeded"}:
        return RefusedError(message)
    refused = {
        place: reason.get("Item") or None
        for place, reason in enumerate(reasons)
        if reason.get("Code") == "ConditionalCheckFailed"
    }
    if refused:
        return TransactionFailedError(message, refused)
    if codes & {"ThrottlingError", "ProvisionedThroughputExceeded"}:
        return ThrottledError(message)
    return ContendedError(message)  # another write used one of its items
