"""The stack that is tested: where its API is, and what its resources are called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from daicho_cli.aws.stacks import (
    StackError,
    list_local_outputs,
    name_stack,
    read_local_stack,
    read_outputs,
)
from daicho_cli.local.instance import REGION
from daicho_cli.options import OptionError


@dataclass(frozen=True)
class TargetOptions:
    """The options that name a stack; without any, the local stack.

    ``stack``: the file that describes the local stack. ``outputs``: the file that ``cdk deploy
    --outputs-file`` wrote.
    """

    stack: Path
    stage: str | None = None
    region: str | None = None
    outputs: Path | None = None
    url: str | None = None
    token: str | None = None


@dataclass(frozen=True)
class Target:
    """A deployed stack, or only an API.

    ``stack`` is empty if only the URL of the API is known: then the archive is not checked.
    ``endpoint`` is the address of the local AWS, and None for AWS.
    """

    url: str
    stack: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    region: str | None = None
    endpoint: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        """Whether the stack runs on the local AWS."""
        return self.endpoint is not None

    @property
    def title(self) -> str:
        """The stack's name, or the address of the API."""
        return self.stack or self.url

    def open_client(self, service: str) -> Any:
        """A client of an AWS service; the same one each time."""
        if service not in self._clients:
            key = "test" if self.is_local else None  # the local AWS accepts any
            session: Any = boto3.Session(key, key, region_name=self.region)
            config = Config(retries={"mode": "standard"}, connect_timeout=5, read_timeout=60)
            self._clients[service] = session.client(
                service, endpoint_url=self.endpoint, config=config
            )
        return self._clients[service]


def find_target(options: TargetOptions) -> Target:
    """Find the stack that the options name.

    Raises:
        OptionError: the options contradict each other.
        StackError: the stack does not exist, or does not name its API.
        ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
    """
    outputs: Mapping[str, str]
    named = [options.stage, options.outputs, options.url]
    if sum(each is not None for each in named) > 1:
        raise OptionError("--stage, --outputs and --url each name a stack: use one of them")
    if options.url is not None:
        if options.token is None:
            raise OptionError("--url needs --token: without a stack no user can be created")
        return Target(options.url.rstrip("/"), region=options.region)
    if options.stage is not None:
        stack, outputs = name_stack(options.stage), read_outputs(options.stage, options.region)
        return Target(_get_url(stack, outputs), stack, outputs, options.region)
    if options.outputs is not None:
        stack, outputs = _read_outputs_file(options.outputs)
        return Target(_get_url(stack, outputs), stack, outputs, options.region)
    content = read_local_stack(options.stack)
    outputs = list_local_outputs(content)
    local = name_stack("local")
    region = content.get("region", REGION)
    return Target(_get_url(local, outputs), local, outputs, region, content.get("endpoint"))


def _get_url(stack: str, outputs: Mapping[str, str]) -> str:
    if "ApiUrl" not in outputs:
        raise StackError(f"{stack} has no output ApiUrl: deploy it again")
    return outputs["ApiUrl"].rstrip("/")


def _read_outputs_file(file: Path) -> tuple[str, Mapping[str, str]]:
    """The stack with an API in the file of a deployment's outputs, and its outputs."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        stacks = [(name, each) for name, each in content.items() if "ApiUrl" in each]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StackError(f"{file} cannot be read as a file of outputs: {error}") from error
    if len(stacks) != 1:
        names = ", ".join(name for name, _ in stacks) or "none"
        raise StackError(f"{file} must have one stack with the output ApiUrl; it has {names}")
    return stacks[0]
