"""AWS's errors in our words: the one place that reads botocore's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    ParamValidationError,
)

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
REFUSALS = frozenset(
    {
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "ValidationException",
    }
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what botocore raises into our errors: the one place that does."""
    try:
        yield
    except ClientError as error:
        raise _of_answer(error, doing) from error
    except ParamValidationError as error:
        raise RefusedError(f"{doing}: {error}") from error
    except (HTTPClientError, IncompleteReadError) as error:  # sent, and then silence
        raise UnansweredError(f"{doing}: {error}") from error
    except BotoCoreError as error:  # never sent: no connection, no credentials yet
        raise UnavailableError(f"{doing}: {error}") from error


def _of_answer(error: ClientError, doing: str) -> StoreError:
    code = error.response.get("Error", {}).get("Code", "")
    message = f"{doing}: {error}"
    if code == "ConditionalCheckFailedException":
        return ConditionFailedError(message, error.response.get("Item"))  # type: ignore[arg-type]
    if code == "TransactionCanceledException":
        return _of_transaction(error, message)
    if code in THROTTLES:
        return ThrottledError(message)
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


def _of_transaction(error: ClientError, message: str) -> StoreError:
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
