"""Starts a function without waiting for its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daicho.storage.botocore_errors import translate_errors
from daicho.storage.sessions import build_config, open_on_first_use


class FunctionStarter:
    """Starts one function, by its name."""

    def __init__(self, name: str, client: Any = None) -> None:
        """``client``: by default one that is opened on first use."""
        self._name, self._client = name, client or open_on_first_use("lambda", build_config(2))

    def start(self, event: Mapping[str, Any]) -> None:
        """Let Lambda invoke the function once.

        Raises:
            StoreError: it is unknown whether Lambda has accepted the event.
        """
        with translate_errors(f"start {self._name}"):
            self._client.invoke(
                FunctionName=self._name, InvocationType="Event", Payload=json.dumps(event).encode()
            )
