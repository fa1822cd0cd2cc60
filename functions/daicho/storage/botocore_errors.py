"""AWS's errors in our words: the one place that reads botocore's."""

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
SERVER_FAILED = 500
UNCONNECTED = (EndpointConnectionError, ConnectTimeoutError)
"""No connection came about, so nothing was sent on it."""
SILENCES = (HTTPClientError, AnyConnectionError, IncompleteReadError, ChecksumError)
"""All else of a connection may come after the request was sent. An ``SSLError`` may be of the
handshake or of the answer, a ``ProxyConnectionError`` of the proxy or of what is behind it."""
REFUSALS = frozenset(
    {
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "ValidationException",
    }
)


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Turn what botocore raises into our errors: the one place that does.

    Of a client that repeats a request, botocore raises what became of the last attempt.
    """
    try:
        yield
    except ClientError as error:
        raise _translate_answer(error, doing) from error
    except ParamValidationError as error:
        raise RefusedError(f"{doing}: {error}") from error
    except UNCONNECTED as error:
        raise UnavailableError(f"{doing}: {error}") from error
    except SILENCES as error:
        raise UnansweredError(f"{doing}: {error}") from error
    except BotoCoreError as error:  # before anything is sent: no credentials yet, no region
        raise UnavailableError(f"{doing}: {error}") from error


def _translate_answer(error: ClientError, doing: str) -> StoreError:
    code = error.response.get("Error", {}).get("Code", "")
    message = f"{doing}: {error}"
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
    # All else may pass: a grant or key, say, that somebody is about to repair. Giving up at once
    # would burn the mapping's retries.
    return UnavailableError(message)


def _read_reasons(response: Any) -> tuple[str, ...]:
    """Why DynamoDB throttled, where it says so: one name, in two spellings."""
    given = response.get("ThrottlingReasons") or response.get("throttlingReasons") or ()
    return tuple(each["reason"] for each in given if "reason" in each)


def _translate_transaction(error: ClientError, message: str) -> StoreError:
    """Why a transaction was cancelled: for good before all else, for a while last."""
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
    return ContendedError(message)  # another write was at one of its items
