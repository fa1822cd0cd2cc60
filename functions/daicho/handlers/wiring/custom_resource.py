"""CloudFormation's protocol for custom resources: the result is put to a URL of the event.

Source: AWS CloudFormation User Guide, "Custom resource response objects". A function that does not
answer lets CloudFormation wait for an hour, so every failure is answered too.
"""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from daicho.errors import UnavailableError
from daicho.handlers.wiring.invocation import Context, Handler
from daicho.runtime.retry import RetryBudget, retry

MAX_REASON_BYTES = 3_000
"""CloudFormation takes 4,096 bytes for the whole answer."""
ANSWER_S = 15.0
"""Seconds for the answer, which the work must leave."""
TIMEOUT_S = 5.0
_log = logging.getLogger(__name__)
Put = Callable[[str, bytes], None]


def put_response(url: str, body: bytes) -> None:
    """Put a result to the URL that CloudFormation has signed.

    Raises:
        UnavailableError: it was not taken.
    """
    # The signature of the URL is over an empty content type.
    request = urllib.request.Request(url, body, {"Content-Type": ""}, method="PUT")  # noqa: S310
    try:
        urllib.request.urlopen(request, timeout=TIMEOUT_S).close()  # noqa: S310  # CloudFormation's
    except OSError as error:
        raise UnavailableError(f"CloudFormation did not take the answer: {error}") from error


def custom_resource_handler(
    work: Callable[[Mapping[str, Any], Context], Mapping[str, str]],
    put: Put = put_response,
) -> Handler:
    """A handler of a custom resource that does ``work`` when it is created or updated.

    ``work`` gets the event, and returns the attributes of the resource. Whatever it raises fails
    the deployment, with its message as the reason. The removal of the resource does nothing.
    """

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        status, reason, data = "SUCCESS", "", {}
        try:
            if event["RequestType"] != "Delete":
                data = dict(work(event, context))
        except Exception as error:  # any failure has to be answered
            _log.exception("%s of %s failed", event["RequestType"], event["LogicalResourceId"])
            status, reason = "FAILED", _cut_text(str(error) or type(error).__name__)
        answer = {
            "Status": status,
            "Reason": reason,
            # A constant: another one would let CloudFormation remove the resource of the old one.
            "PhysicalResourceId": event["LogicalResourceId"],
            **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
            "Data": data,
        }
        body = json.dumps(answer, ensure_ascii=False).encode()
        retry(lambda: put(event["ResponseURL"], body), RetryBudget.for_seconds(ANSWER_S))
        return answer

    return handler


def _cut_text(text: str) -> str:
    """As much of a text as an answer has room for."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
