"""AWS's errors in our words: the one place that reads botocore's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from daicho.errors import (
    ConditionFailedError,
    RefusedError,
    StoreError,
    ThrottledError,
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
    except BotoCoreError as error:  # no connection, no answer, no credentials yet
        raise UnavailableError(f"{doing}: {error}") from error


def _of_answer(error: ClientError, doing: str) -> StoreError:
    code = error.response.get("Error", {}).get("Code", "")
    message = f"{doing}: {error}"
    if code == "ConditionalCheckFailedException":
        return ConditionFailedError(message, error.response.get("Item"))  # type: ignore[arg-type]
    if code in THROTTLES:
        return ThrottledError(message)
    if code in REFUSALS:
        return RefusedError(message)
    # All else may pass: a server's error, a conflict with a transaction, and also a grant or key
    # that somebody is about to repair. Giving up at once would burn the mapping's retries.
    return UnavailableError(message)
