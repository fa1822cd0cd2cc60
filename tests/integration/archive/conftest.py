"""The archive that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.archive_deployment import BUCKET, Deployed


@pytest.fixture
def deployed(dynamo: str, dynamodb: DynamoDBClient, table_name: str) -> Iterator[Deployed]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield Deployed(dynamo, dynamodb, table_name, client)
