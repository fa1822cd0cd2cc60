"""The errors that botocore raises for what DynamoDB and S3 answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError


def build_error(
    code: str, operation: str, message: str, *, status: int = 400, **more: Any
) -> ClientError:
    """The exception of botocore for an answer that is an error."""
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **more,
    }
    return ClientError(answer, operation)


def build_cancelled_error(reasons: Sequence[Mapping[str, Any]]) -> ClientError:
    """A transaction that wrote nothing, with the reason of each of its actions."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = (
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    )
    code = "TransactionCanceledException"
    return build_error(code, "TransactWriteItems", message, CancellationReasons=list(reasons))
