"""The state machine of jobs: the only module of the library that calls Step Functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import build_config, open_on_first_use

RESTORE_PREFIX = "restore-"
CASCADE_PREFIX = "cascade-"
PURGE_PREFIX = "purge-"
REDRIVE_PREFIX = "redrive-"
VERIFY_PREFIX = "verify-"
REPAIR_PREFIX = "repair-"
"""With the id of a job of this kind: what the state machine gets as the job. Deletions of tenants
and rebuilds have their id alone."""


class StateMachine:
    """One state machine."""

    def __init__(self, arn: str, endpoint: str | None = None, region: str | None = None) -> None:
        """``endpoint`` and ``region`` are by default those of the environment."""
        self._arn = arn
        config = build_config(attempts=3)
        self._client = open_on_first_use("stepfunctions", config, endpoint=endpoint, region=region)

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Start an execution; nothing happens if one of that name was started before.

        Raises:
            UnavailableError: it is unknown whether the execution was started.
        """
        try:
            self._client.start_execution(
                stateMachineArn=self._arn, name=name, input=json.dumps(given)
            )
        except AWS_ERRORS as error:
            if not _has_started_before(error):
                raise translate_error(error, f"start {name}") from error


def _has_started_before(error: ClientError | BotoCoreError) -> bool:
    if not isinstance(error, ClientError):
        return False
    return error.response.get("Error", {}).get("Code") == "ExecutionAlreadyExists"
