"""Bodies of requests and of answers as JSON.

Deviation from the library: botocore walks each attribute value by its shape, on the way out and on
the way in. The bodies that DynamoDB takes and gives have the shape of botocore's dictionaries
already. Only binary values do not, and an answer with one is left to botocore's parser.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Set
from typing import Any
from zlib import crc32

from botocore.awsrequest import AWSResponse

SUCCESS = 200
BAD_REQUEST = 400
CHECKSUM = "x-amz-crc32"
REQUEST_ID = "x-amzn-requestid"
BINARY_KINDS = (b'"B"', b'"BS"')
"""Kinds of attribute values that are base64 in JSON. A string or name of this text is read by
botocore's parser for nothing."""
REFUSALS = {
    "ConditionalCheckFailedException": ("message", "Item"),
    "TransactionCanceledException": ("Message", "CancellationReasons"),
}
"""Errors that are answers to a condition, and never repeated: their members."""
REASON_MEMBERS = ("Item", "Code", "Message")

THROTTLES = ("ThrottlingE", "ProvisionedThroughputExceeded", "RequestLimitExceeded")
"""How the codes of throttled requests, transactions and statements begin."""
MAX_SMALL_ANSWER = 8_000_000
"""A longer answer may leave keys unprocessed because of its size. The limit is 16 MB."""


def encode_request(parameters: Mapping[str, Any]) -> bytes:
    """The body of a request: the parameters of the method of botocore's client."""
    return _encode(parameters).encode()


def read_answer(response: AWSResponse) -> dict[str, Any] | None:
    """The parsed answer to a success, as botocore gives it; None if botocore has to read it."""
    if response.status_code != SUCCESS:
        return None
    answer = _read_body(response)
    if answer is not None:
        answer["ResponseMetadata"] = read_metadata(response)
    return answer


def read_refusal(response: AWSResponse) -> dict[str, Any] | None:
    """The parsed error for a condition that did not hold; None for any other answer.

    botocore's client is not needed for the most frequent error of a conditional write.
    """
    if response.status_code != BAD_REQUEST:
        return None
    body = _read_body(response)
    if body is None:
        return None
    code = str(body.get("__type", "")).rpartition("#")[2]
    if code not in REFUSALS:
        return None
    error: dict[str, Any] = {
        "Error": {"Message": body.get("message", body.get("Message", "")), "Code": code},
        "ResponseMetadata": read_metadata(response),
    }
    for member in REFUSALS[code]:
        if body.get(member) is not None:
            error[member] = body[member]
    if reasons := error.get("CancellationReasons"):
        error["CancellationReasons"] = [_drop_nulls(reason) for reason in reasons]
    return error


def is_throttled(response: AWSResponse, answer: Mapping[str, Any] | None) -> bool:
    """Whether DynamoDB throttled a request, or a part of it; ``answer``: that to a success."""
    if answer is None:
        if not any(name.encode() in response.content for name in THROTTLES):
            return False
        answer = _read_body(response) or {}
    if answer.get("UnprocessedItems") or answer.get("UnprocessedKeys"):
        return len(response.content) < MAX_SMALL_ANSWER
    parts = answer.get("CancellationReasons") or answer.get("Responses") or ()
    if isinstance(parts, dict):  # what a batch of reads has found
        return False
    codes = [str(part.get("Error", part).get("Code")) for part in parts]
    codes.append(str(answer.get("__type")).rpartition("#")[2])
    return any(code.startswith(THROTTLES) for code in codes)


def _read_body(response: AWSResponse) -> dict[str, Any] | None:
    content = response.content
    # DynamoDB's CRC-32 covers the bytes of the whole body as they were sent, which are these: the
    # HTTP session decodes no content. It covers neither the status nor the headers.
    checksum = response.headers.get(CHECKSUM)
    if checksum is not None and checksum != str(crc32(content)):
        return None  # botocore repeats the request
    if any(kind in content for kind in BINARY_KINDS):
        return None
    try:
        body = json.loads(content.decode())
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def read_metadata(response: AWSResponse) -> dict[str, Any]:
    """The metadata of an answer as botocore gives it."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    metadata = {
        "HTTPStatusCode": response.status_code,
        "HTTPHeaders": headers,
        "RetryAttempts": 0,
    }
    if REQUEST_ID in headers:
        metadata["RequestId"] = headers[REQUEST_ID]
    return metadata


def _drop_nulls(reason: Mapping[str, Any]) -> dict[str, Any]:
    return {name: reason[name] for name in REASON_MEMBERS if reason.get(name) is not None}


def _encode_other(value: Any) -> Any:
    """What JSON has no form for, in the form that botocore gives it."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return list(value)
    raise TypeError(f"no JSON form of {type(value).__name__}")


_encode = json.JSONEncoder(separators=(",", ":"), default=_encode_other).encode
