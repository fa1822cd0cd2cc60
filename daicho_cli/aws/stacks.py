"""Deployed stacks: the file of the local stack, and the outputs of an account's stacks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from daicho_cli.project import find_project, find_root
from daicho_cli.terminal import CommandError

STACK_FILE = find_root() / ".local" / "stack.json"


class StackError(CommandError):
    """The stack does not exist, or lacks something."""


class UndeployedError(StackError):
    """The stage was never deployed."""


def name_stack(stage: str) -> str:
    """The name of the project's stack at a stage."""
    return f"{find_project().name}-{stage}"


def read_outputs(stage: str, region: str | None = None) -> dict[str, str]:
    """The outputs of a stage's stack, by name. ``region``: by default that of the environment.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    client = boto3.client("cloudformation", region_name=region)
    stack = describe_stack(client, name_stack(stage))
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}


def describe_stack(cloudformation: Any, name: str) -> Mapping[str, Any]:
    """The description of a stack, as CloudFormation's ``DescribeStacks`` returns it.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    try:
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in error.response.get("Error", {}).get("Message", ""):
            raise UndeployedError(f"there is no stack {name}: nothing is deployed") from error
        raise
    description: Mapping[str, Any] = stack
    return description


def read_template(cloudformation: Any, name: str) -> Mapping[str, Any]:
    """The template that a stack was deployed from.

    Raises:
        UndeployedError: the stack does not exist.
        ClientError, BotoCoreError: AWS refuses.
    """
    describe_stack(cloudformation, name)
    body = cloudformation.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
    template: Mapping[str, Any] = json.loads(body) if isinstance(body, str) else body
    return template


def read_local_stack(file: Path, *, instead: str = "--stage") -> dict[str, Any]:
    """Read the file that `make up` wrote; ``instead``: the option to use without it.

    Raises:
        StackError: the file does not exist, or cannot be read.
    """
    if not file.exists():
        raise StackError(f"there is no {file} (make up writes it): name a {instead}")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StackError(f"{file} cannot be read ({error}): make up once more") from error
    if not isinstance(content, dict):
        raise StackError(f"{file} is no stack file: make up once more")
    return content


def list_local_outputs(content: Mapping[str, Any]) -> dict[str, str]:
    """The outputs of the local stack by name. ``content``: see `read_local_stack`."""
    return {output: content[name] for output, name in _LOCAL.items() if name in content}


@dataclass(frozen=True)
class Stack:
    """One deployed stack. ``endpoint`` and ``region`` are None if the environment sets them."""

    name: str
    resources: Mapping[str, str]
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(cls, stage: str | None, file: Path) -> Stack:
        """The stack of a stage; without a stage, the local stack that ``file`` describes.

        Raises:
            StackError: the stack does not exist.
            ClientError, BotoCoreError: AWS does not answer the request.
        """
        if stage is not None:
            return cls(name_stack(stage), read_outputs(stage))
        content = read_local_stack(file)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            os.environ.setdefault(name, "test")  # the local AWS accepts any
        try:
            resources = list_local_outputs(content)
            return cls("the local stack", resources, content["endpoint"], content["region"])
        except KeyError as error:
            raise StackError(f"{file} knows no {error}: make up once more") from error

    def __getitem__(self, output: str) -> str:
        """The value of an output.

        Raises:
            StackError: the output does not exist.
        """
        try:
            return self.resources[output]
        except KeyError:
            raise StackError(f"{self.name} says no {output}: deploy it once more") from None

    @property
    def is_local(self) -> bool:
        """Whether the stack runs on the local AWS."""
        return self.endpoint is not None


_LOCAL = {
    "ApiUrl": "url",
    "TableName": "table",
    "ArchiveBucketName": "bucket",
    "FailureBucketName": "failures",
    "JobMachineArn": "job_machine",
    "ArchiveWorkgroupName": "archive_workgroup",
    "ArchiveDatabaseName": "archive_database",
    "ArchiveTableName": "archive_table",
    "UserPoolId": "user_pool",
    "UserPoolClientId": "client_id",
}
"""Outputs of the stack, by their names in the local stack's file."""
