"""Clients of DynamoDB over a stub wire: botocore's, and the direct one; their answers compared."""

from __future__ import annotations

from typing import Any

import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho.storage.direct.client import DirectClient
from tests.support.stub_wire import Answer, StubWire

URL = "http://localhost:8000"
KEY = {"PK": {"S": "tenant#é"}, "SK": {"S": "order"}}
LOADER = botocore.loaders.create_loader()
"""Shared by all clients: it parses the service's description once."""
FAILED = Answer({"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError"}, 500)


def open_client(attempts: int = 3, url: str | None = URL) -> Any:
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts}, parameter_validation=False
    )
    session = botocore.session.get_session()
    session.register_component("data_loader", LOADER)
    return session.create_client(
        "dynamodb", config=config, endpoint_url=url, region_name="eu-west-1"
    )


def open_direct(wire: StubWire, attempts: int = 3, url: str | None = URL) -> DirectClient:
    """A direct client that has seen its first request."""
    client = open_client(attempts, url)
    direct = DirectClient(client, client._get_credentials())
    direct.scan(TableName="t")
    wire.expect()
    return direct


def call(client: Any, method: str, parameters: dict[str, Any]) -> Any:
    """The answer, or the error that was raised, in a form that can be compared."""
    try:
        return getattr(client, method)(**parameters)
    except ClientError as error:
        response: Any = error.response
        response["ResponseMetadata"].pop("MaxAttemptsReached", None)
        return type(error).__name__, error.operation_name, response
    except BotoCoreError as error:
        return type(error), str(error)
