"""The removal of a stack: rounds of emptying and deleting, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from daicho.testing.aws.memory_s3 import MemoryS3
from daicho_cli import destroy as command
from daicho_cli.destroy import ROUNDS, RemovalError, RetainedDataError, StackRemoval
from daicho_cli.main import app

ID = "arn:aws:cloudformation:eu-central-1:123456789012:stack/Shop-dev/0a1b"
TEMPLATE = {
    "Table": {"Type": "AWS::DynamoDB::GlobalTable", "DeletionPolicy": "Delete"},
    "Photos": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Delete"},
    "Logs": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Delete"},
    "Layer": {"Type": "AWS::Lambda::LayerVersion", "DeletionPolicy": "Retain"},
}


@dataclass
class Account:
    """CloudFormation and S3 with one stack and its buckets.

    ``late``: after how many deletions an access log is still delivered.
    """

    template: dict[str, Any] = field(default_factory=lambda: TEMPLATE)
    protected: bool = False
    late: int = 0
    status: str = "CREATE_COMPLETE"
    deletions: int = 0
    polls: int = 0
    buckets: dict[str, MemoryS3] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("photos", "logs"):
            self.buckets[name] = s3 = MemoryS3(lambda: dt.datetime(2026, 11, 23, tzinfo=dt.UTC))
            s3.put_object(Key="a", Body=b"1")
            s3.put_object(Key="a", Body=b"2")

    # --- CloudFormation -----------------------------------------------------------------------

    def describe_stacks(self, StackName: str) -> Any:
        if StackName not in (ID, "Shop-dev"):
            text = f"Stack with id {StackName} does not exist"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": text}}, "Describe")
        if self.status == "DELETE_IN_PROGRESS":
            self.polls += 1
            if self.polls % 3 == 0:
                self._end_deletion()
        described = {"StackId": ID, "StackStatus": self.status, "StackStatusReason": "not empty"}
        return {"Stacks": [{**described, "EnableTerminationProtection": self.protected}]}

    def _end_deletion(self) -> None:
        if self.deletions <= self.late:
            self.buckets["logs"].put_object(Key=f"log{self.deletions}", Body=b"")
        empty = [name for name, s3 in self.buckets.items() if not (s3.stored or any_older(s3))]
        for name in empty:
            del self.buckets[name]
        self.status = "DELETE_FAILED" if self.buckets else "DELETE_COMPLETE"

    def get_template(self, StackName: str, TemplateStage: str) -> Any:
        assert (StackName, TemplateStage) == ("Shop-dev", "Processed")
        return {"TemplateBody": json.dumps({"Resources": self.template})}

    def get_paginator(self, operation: str) -> Account:
        assert operation == "list_stack_resources"
        return self

    def paginate(self, StackName: str) -> Any:
        assert StackName == ID
        kinds = {"photos": "AWS::S3::Bucket", "logs": "AWS::S3::Bucket", "t": "AWS::SNS::Topic"}
        for name, kind in kinds.items():
            gone = name not in self.buckets and kind == "AWS::S3::Bucket"
            yield {
                "StackResourceSummaries": [
                    {
                        "PhysicalResourceId": name,
                        "ResourceType": kind,
                        "ResourceStatus": "DELETE_COMPLETE" if gone else "CREATE_COMPLETE",
                    }
                ]
            }

    def delete_stack(self, StackName: str) -> None:
        assert StackName == ID
        self.status = "DELETE_IN_PROGRESS"
        self.deletions += 1

    # --- S3 -----------------------------------------------------------------------------------

    def list_object_versions(self, Bucket: str, **request: Any) -> Any:
        return self.buckets[Bucket].list_object_versions(**request)

    def delete_objects(self, Bucket: str, **request: Any) -> Any:
        return self.buckets[Bucket].delete_objects(**request)


def any_older(s3: MemoryS3) -> bool:
    return any(s3.older.values())


def build_removal(account: Account) -> StackRemoval:
    return StackRemoval(account, account, "Shop-dev", print, sleep=lambda _seconds: None)


def test_a_bucket_that_is_never_empty_ends_the_removal() -> None:
    account = Account(late=99)
    with pytest.raises(RemovalError, match=r"Shop-dev still exists \(not empty\); run the command"):
        build_removal(account).run()
    assert account.deletions == ROUNDS


@pytest.mark.parametrize("policy", ["Retain", "RetainExceptOnCreate", "Snapshot"])
@pytest.mark.parametrize("holder", ["Table", "Photos"])
def test_a_stack_that_retains_data_is_left_as_it_is(holder: str, policy: str) -> None:
    template = {**TEMPLATE, holder: {**TEMPLATE[holder], "DeletionPolicy": policy}}
    account = Account(template=template)
    with pytest.raises(RetainedDataError, match=f"Shop-dev retains data: {holder}"):
        build_removal(account).run()
    assert account.deletions == 0
    assert all(s3.stored for s3 in account.buckets.values())


def test_a_bucket_that_somebody_has_deleted_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    list_versions = account.list_object_versions

    def refuse(Bucket: str, **request: Any) -> Any:
        if Bucket == "logs":
            raise ClientError({"Error": {"Code": "NoSuchBucket", "Message": ""}}, "List")
        return list_versions(Bucket, **request)

    monkeypatch.setattr(account, "list_object_versions", refuse)
    account.buckets["logs"] = MemoryS3(lambda: dt.datetime(2026, 11, 23, tzinfo=dt.UTC))
    build_removal(account).run()
    assert account.status == "DELETE_COMPLETE"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    account = Account()
    monkeypatch.setattr("boto3.client", lambda *_given, **_named: account)
    monkeypatch.setattr(command, "name_stack", lambda stage: f"Shop-{stage}")
    monkeypatch.setattr("daicho_cli.destroy.POLL_INTERVAL_S", 0.001)
    return account


def test_the_command_asks_before_it_removes_anything(account: Account) -> None:
    refused = CliRunner().invoke(app, ["destroy", "--stage", "dev"], input="n\n")
    assert refused.exit_code == 1
    assert "Shop-dev in account 123456789012, eu-central-1" in refused.output
    assert "  photos\n  logs\n" in refused.output
    assert account.deletions == 0


def test_the_command_removes_the_stack(account: Account) -> None:
    done = CliRunner().invoke(app, ["destroy", "--stage", "dev", "--yes"])
    assert done.exit_code == 0, done.output
    assert "photos: 2 versions of objects removed\n" in done.output
    assert done.output.endswith("Shop-dev: deleted\n")
    assert (account.status, account.deletions) == ("DELETE_COMPLETE", 1)
    assert account.buckets == {}
