"""Removal from a versioned bucket, on an S3 with versions and marks of deletion (moto)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from daicho.storage.bucket import Bucket

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NAME = "objects"


@pytest.fixture
def s3() -> Iterator[S3Client]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=NAME)
        client.put_bucket_versioning(Bucket=NAME, VersioningConfiguration={"Status": "Enabled"})
        yield client


def list_kinds(s3: S3Client, key: str) -> list[str]:
    """What the bucket contains of a name: versions and marks of deletion."""
    page = s3.list_object_versions(Bucket=NAME, Prefix=key)
    marks = [entry["Key"] for entry in page.get("DeleteMarkers", ())]
    return [entry["Key"] for entry in page.get("Versions", ())] + [f"mark {key}" for key in marks]


def test_a_removed_object_leaves_neither_a_version_nor_a_mark(s3: S3Client) -> None:
    for body in (b"1", b"2"):
        s3.put_object(Bucket=NAME, Key="acme/Photo.image/1", Body=body)
    s3.delete_object(Bucket=NAME, Key="acme/Photo.image/1")
    s3.put_object(Bucket=NAME, Key="acme/Photo.image/1", Body=b"3")
    assert len(list_kinds(s3, "acme/Photo.image/1")) == 4

    Bucket(s3, NAME).remove("acme/Photo.image/1")

    assert list_kinds(s3, "") == []


def test_an_object_whose_name_begins_alike_stays(s3: S3Client) -> None:
    names = ["p/1", "p/1/a", "p/10", "p/11"]
    for name in names:
        s3.put_object(Bucket=NAME, Key=name, Body=b"")
    s3.delete_object(Bucket=NAME, Key="p/11")

    Bucket(s3, NAME).remove("p/1")

    assert list_kinds(s3, "") == ["p/1/a", "p/10", "p/11", "mark p/11"]


def test_removing_what_is_missing_does_nothing_and_leaves_no_mark(s3: S3Client) -> None:
    Bucket(s3, NAME).remove("p/1")
    assert list_kinds(s3, "") == []


def test_versions_on_several_pages_are_all_removed(
    s3: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for body in range(5):
        s3.put_object(Bucket=NAME, Key="p/1", Body=bytes([body]))
    s3.put_object(Bucket=NAME, Key="p/10", Body=b"")
    list_page = s3.list_object_versions
    monkeypatch.setattr(
        s3, "list_object_versions", lambda **request: list_page(**request, MaxKeys=2)
    )

    Bucket(s3, NAME).remove("p/1")

    monkeypatch.undo()
    assert list_kinds(s3, "") == ["p/10"]
