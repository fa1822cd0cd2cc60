"""Starts a function without waiting for its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.config import Config

from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import open_on_first_use

CONFIG = Config(
    retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=1.0, read_timeout=5.0
)


class FunctionStarter:
    """Starts one function, by its name."""

    def __init__(self, name: str, client: Any = None) -> None:
        """``client``: by default one that is opened on first use."""
        self._name, self._client = name, client or open_on_first_use("lambda", CONFIG)

    def start(self, event: Mapping[str, Any]) -> None:
        """Let Lambda invoke the function once.

        Raises:
            StoreError: it is unknown whether Lambda has accepted the event.
        """
        try:
            self._client.invoke(
                FunctionName=self._name, InvocationType="Event", Payload=json.dumps(event).encode()
            )
        except AWS_ERRORS as error:
            raise translate_error(error, f"start {self._name}") from error
