"""Deployed stacks: what the local one's file says, and what those of an account put out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from daicho_cli.project import ROOT

STACK_FILE = ROOT / ".local" / "stack.json"


class StackError(Exception):
    """There is no such stack, or it lacks something."""


def read_outputs(stage: str) -> dict[str, str]:
    """The outputs of a stage's stack, by name.

    Raises:
        ClientError, BotoCoreError: AWS does not say, or there is no such stack.
    """
    (found,) = boto3.client("cloudformation").describe_stacks(StackName=f"Daicho-{stage}")["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())}


def read_local_stack(file: Path, *, instead: str = "--stage") -> dict[str, Any]:
    """What `make up` wrote; ``instead`` is what a command takes where there is none.

    Raises:
        StackError: there is no such file, or it cannot be read.
    """
    if not file.exists():
        raise StackError(f"there is no {file} (make up writes it): name a {instead}")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StackError(f"{file} cannot be read ({error}): make up once more") from error
    if not isinstance(found, dict):
        raise StackError(f"{file} is no stack file: make up once more")
    return found


@dataclass(frozen=True)
class Stack:
    """One deployed stack. ``endpoint`` and ``region`` are None where the environment says them."""

    name: str
    resources: Mapping[str, str]
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(cls, stage: str | None, file: Path) -> Stack:
        """The stack of a stage; without one the local stack, as ``file`` says.

        Raises:
            StackError: there is none.
            ClientError, BotoCoreError: AWS does not say.
        """
        if stage is not None:
            return cls(f"Daicho-{stage}", read_outputs(stage))
        found = read_local_stack(file)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            os.environ.setdefault(name, "test")  # the local AWS takes any
        try:
            resources = {output: found[name] for output, name in _LOCAL.items() if name in found}
            return cls("the local stack", resources, found["endpoint"], found["region"])
        except KeyError as error:
            raise StackError(f"{file} knows no {error}: make up once more") from error

    def __getitem__(self, output: str) -> str:
        """What an output says.

        Raises:
            StackError: there is no such output.
        """
        try:
            return self.resources[output]
        except KeyError:
            raise StackError(f"{self.name} says no {output}: deploy it once more") from None

    @property
    def is_local(self) -> bool:
        """Whether it stands on the local AWS."""
        return self.endpoint is not None


_LOCAL = {
    "TableName": "table",
    "ArchiveBucketName": "bucket",
    "FailureBucketName": "failures",
    "ArchiveWorkgroupName": "archive_workgroup",
    "ArchiveDatabaseName": "archive_database",
    "ArchiveTableName": "archive_table",
}
"""Outputs of the stack, by their names in the local stack's file."""
