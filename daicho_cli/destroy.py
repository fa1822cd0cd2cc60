"""``daicho destroy``: remove a stage that retains no data.

The stack is removed together with its buckets, which CloudFormation only deletes if they are empty.
The buckets are emptied and the stack is deleted, again and again: until the functions are deleted,
they may still write, and S3 delivers access logs for some hours. CloudFormation deletes what it
can, so each round has less to do.

The CDK's ``auto_delete_objects`` would add a function with the right to delete every object, and
it empties a bucket once: a log that is delivered after that fails the deletion all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import boto3
import typer
from botocore.exceptions import ClientError

from daicho.errors import StoreError
from daicho.storage.bucket import MAX_REMOVALS_PER_REQUEST, Bucket
from daicho_cli.aws import describe_stack, name_stack, read_template
from daicho_cli.options import Region, Yes
from daicho_cli.terminal import CommandError, end_on_errors, print_message

ROUNDS = 5
POLL_INTERVAL_S = 10.0
DELETION_TIME_LIMIT_S = 3600.0
BUCKET = "AWS::S3::Bucket"
DATA_RESOURCE_TYPES = (
    BUCKET,
    "AWS::DynamoDB::GlobalTable",
    "AWS::Cognito::UserPool",
    "AWS::KMS::Key",
)
"""The types of resources that hold data."""
DELETED, SKIPPED = "DELETE_COMPLETE", "DELETE_SKIPPED"


class RetainedDataError(CommandError):
    """The stack retains data, or is protected."""


class RemovalError(CommandError):
    """The stack could not be removed."""


@dataclass(frozen=True)
class StackRemoval:
    """The removal of one stack.

    ``cloudformation`` and ``s3`` are boto3's clients. ``report`` is called with what happens.
    """

    cloudformation: Any
    s3: Any
    stack: str
    report: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep

    def check(self) -> str:
        """Return the id of the stack, if it may be removed.

        Raises:
            RetainedDataError: the stack is protected, or its template retains data.
            UndeployedError: there is no such stack.
            ClientError: AWS refuses.
        """
        stack = describe_stack(self.cloudformation, self.stack)
        if stack.get("EnableTerminationProtection"):
            raise RetainedDataError(f"{self.stack} has termination protection")
        resources = read_template(self.cloudformation, self.stack)["Resources"]
        retained = sorted(
            id
            for id, resource in resources.items()
            if resource["Type"] in DATA_RESOURCE_TYPES
            and resource.get("DeletionPolicy", "Delete") != "Delete"
        )
        if retained:
            raise RetainedDataError(f"{self.stack} retains data: {', '.join(retained)}")
        return str(stack["StackId"])

    def list_buckets(self, id: str) -> list[str]:
        """The names of the buckets that the stack still has."""
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=id)
        return [
            resource["PhysicalResourceId"]
            for page in pages
            for resource in page["StackResourceSummaries"]
            if resource["ResourceType"] == BUCKET
            and resource["ResourceStatus"] not in (DELETED, SKIPPED)
            and resource.get("PhysicalResourceId")
        ]

    def run(self) -> None:
        """Empty the buckets and delete the stack, until it is deleted. It may be repeated.

        Raises:
            RetainedDataError, UndeployedError: see `check`. Nothing was removed.
            RemovalError: the stack still exists, with the reason.
            StoreError: S3 refuses or does not answer.
            ClientError: AWS refuses.
        """
        id = self.check()
        for round in range(1, ROUNDS + 1):
            for name in self.list_buckets(id):
                if count := self._empty(name):
                    self.report(f"{name}: {count:,} versions of objects removed")
            self.report(f"{self.stack}: deletion requested (round {round} of {ROUNDS} at most)")
            self.cloudformation.delete_stack(StackName=id)
            status, reason = self._wait(id)
            if status == DELETED:
                self.report(f"{self.stack}: deleted")
                return
            self.report(f"{self.stack}: {status}: {reason}")
            if not self.list_buckets(id):
                break
        raise RemovalError(f"{self.stack} still exists ({reason}); run the command again later")

    def _empty(self, name: str) -> int:
        """Remove all versions of all objects of a bucket, and return their number."""
        bucket, count = Bucket(self.s3, name), 0
        try:
            # Always the first page: what was listed behind it is removed by then.
            while versions := list(islice(bucket.list_versions(""), MAX_REMOVALS_PER_REQUEST)):
                bucket.remove_versions(versions)
                count += len(versions)
        except StoreError as error:
            if not _is_missing(error):
                raise
        return count

    def _wait(self, id: str) -> tuple[str, str]:
        """Wait until the deletion has ended, and return the state of the stack with the reason."""
        for _ in range(int(DELETION_TIME_LIMIT_S / POLL_INTERVAL_S)):
            (stack,) = self.cloudformation.describe_stacks(StackName=id)["Stacks"]
            if not stack["StackStatus"].endswith("_IN_PROGRESS"):
                return stack["StackStatus"], stack.get("StackStatusReason", "")
            self.sleep(POLL_INTERVAL_S)
        raise RemovalError(f"{self.stack}: the deletion takes more than an hour")


def _is_missing(error: StoreError) -> bool:
    """Whether somebody has deleted the bucket, which CloudFormation accepts."""
    cause = error.__cause__
    return (
        isinstance(cause, ClientError)
        and cause.response.get("Error", {}).get("Code") == "NoSuchBucket"
    )


def destroy(
    stage: Annotated[str, typer.Option(help="The deployed stage, for example dev.")],
    region: Region = None,
    yes: Yes = False,
) -> None:
    """Remove a deployed stage with all its data, if the stage retains none.

    Empties the buckets, with all versions of objects, and deletes the stack. S3 delivers access
    logs for some hours: the command repeats both, up to five times. It refuses a stack with
    termination protection, and a stack that retains data, such as prod. Exit code 0: the stack is
    deleted. 2: it still exists, and the reason is printed.
    """
    with end_on_errors("destroy"):
        name = name_stack(stage)
        removal = StackRemoval(
            boto3.client("cloudformation", region_name=region),
            boto3.client("s3", region_name=region),
            name,
            print_message,
        )
        id = removal.check()
        buckets = removal.list_buckets(id)
        _, _, _, place, account, *_ = id.split(":")
        print_message(f"{name} in account {account}, {place}: its table, users and all objects of")
        for bucket in buckets:
            print_message(f"  {bucket}")
        if not yes:
            typer.confirm("Delete them?", abort=True, err=True)
        removal.run()
