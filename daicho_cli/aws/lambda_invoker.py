"""Calling a function of a deployed stack, of the local AWS or of an account."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from daicho_cli.aws.stacks import read_local_stack, read_outputs
from daicho_cli.terminal import CommandError

SECONDS_PER_CALL = 910
"""Longer than any function timeout. A lost call is not repeated: it may still run."""


class CallError(CommandError):
    """The function was not found, or did not complete."""


@dataclass(frozen=True)
class LambdaInvoker:
    """Calls a function and waits for its answer."""

    client: Any
    name: str

    @classmethod
    def find(cls, function: str, stage: str | None, stack_file: Path) -> LambdaInvoker:
        """The function ``function`` of a stage, by the outputs of its stack.

        Without a stage it is the function of the local stack, from the file that `make up` wrote.

        Raises:
            StackError: the local stack does not exist.
            CallError: the stack has no such function.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        if stage is not None:
            return cls(boto3.client("lambda", config=_make_config()), _get_output(stage, function))
        stack = read_local_stack(stack_file)
        name = stack.get("functions", {}).get(function.lower())
        if name is None:
            raise CallError(f"{stack_file} knows no function {function.lower()}: make up once more")
        session = boto3.Session("test", "test", region_name=stack["region"])
        client = session.client("lambda", endpoint_url=stack["endpoint"], config=_make_config())
        return cls(client, name)

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Call the function; return its answer.

        Raises:
            CallError: the function raised, or ran out of time.
            ClientError, BotoCoreError: it was not called, or the outcome is unknown.
        """
        answer = self.client.invoke(FunctionName=self.name, Payload=json.dumps(event).encode())
        reply: dict[str, Any] = json.loads(answer["Payload"].read())
        if answer.get("FunctionError"):
            kind, message = reply.get("errorType", "error"), reply.get("errorMessage", reply)
            raise CallError(f"{self.name}: {kind}: {message}")
        return reply


def _get_output(stage: str, function: str) -> str:
    outputs = read_outputs(stage)
    try:
        return outputs[f"{function}FunctionName"]
    except KeyError:
        raise CallError(f"the stack Daicho-{stage} has no function {function.lower()}") from None


def _make_config() -> Config:
    return Config(
        read_timeout=SECONDS_PER_CALL, tcp_keepalive=True, retries={"total_max_attempts": 1}
    )
