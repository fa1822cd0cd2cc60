"""A function is started without waiting for its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from daicho.errors import StoreError
from daicho.operations.function_starter import FunctionStarter


class Client:
    """Keeps the last request. ``error``: raised by each."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.request = error, dict[str, Any]()

    def invoke(self, **request: Any) -> None:
        self.request = request
        if self.error:
            raise self.error


def test_the_event_is_handed_over() -> None:
    client = Client()
    FunctionStarter("audit", client).start({"again": True})
    assert (client.request["FunctionName"], client.request["InvocationType"]) == ("audit", "Event")
    assert json.loads(client.request["Payload"]) == {"again": True}


def test_a_refusal_is_an_error_of_ours() -> None:
    client = Client(ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "Invoke"))
    with pytest.raises(StoreError, match="start audit"):
        FunctionStarter("audit", client).start({})
