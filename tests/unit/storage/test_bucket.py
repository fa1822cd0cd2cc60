"""The bucket: create, read, list, move."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlsplit

import pytest

from daicho.storage.bucket import Bucket, open_bucket
from daicho.testing.aws.memory_s3 import MemoryS3


@pytest.fixture
def objects() -> MemoryS3:
    return MemoryS3(lambda: dt.datetime(2026, 11, 21, tzinfo=dt.UTC))


@pytest.fixture
def bucket(objects: MemoryS3) -> Bucket:
    return Bucket(objects, "failures")  # type: ignore[arg-type]


def test_an_object_is_replaced_only_as_it_was_seen(objects: MemoryS3, bucket: Bucket) -> None:
    bucket.create("a", b"1", {"last": "1"})
    seen = bucket.fetch("a")
    assert seen is not None
    assert (seen.body, seen.metadata) == (b"1", {"last": "1"})
    assert bucket.replace("a", b"2", {"last": "2"}, seen.etag)
    assert not bucket.replace("a", b"3", {}, seen.etag)
    assert not bucket.replace("b", b"3", {}, seen.etag)
    assert bucket.read("a") == b"2"
    assert bucket.fetch("b") is None


def test_versions_are_listed_read_and_removed(objects: MemoryS3, bucket: Bucket) -> None:
    bucket.create("a", b"1", {})
    objects.put_object(Key="a", Body=b"2")
    bucket.create("b", b"3", {})
    new, old, other = bucket.list_versions("")
    assert [(each.name, each.newest) for each in (new, old, other)] == [
        ("a", True),
        ("a", False),
        ("b", True),
    ]
    found = bucket.fetch("a", old.id)
    assert found is not None
    assert found.body == b"1"
    bucket.remove_versions([old])
    assert [each.id for each in bucket.list_versions("a")] == [new.id]
    assert bucket.fetch("a", old.id) is None
    assert [each.name for each in bucket.list_versions("", behind="a")] == ["b"]


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "ap-northeast-1", "me-central-1"])
def test_a_signed_url_names_the_host_of_the_region(region: str) -> None:
    """S3 redirects requests to its global host, and the signature covers the host."""
    opened = open_bucket("photos", region=region)
    urls = (
        opened.sign_upload_url("acme/1", "image/png", 10, 900),
        opened.sign_download_url("acme/1", 3600),
    )
    for url in urls:
        assert urlsplit(url).hostname == f"photos.s3.{region}.amazonaws.com"
        assert f"%2F{region}%2Fs3%2Faws4_request" in url


@pytest.mark.usefixtures("credentials")
def test_a_signed_url_of_the_local_aws_names_the_bucket_in_its_path() -> None:
    opened = open_bucket("photos", region="eu-central-1", endpoint="http://127.0.0.1:4720")
    parts = urlsplit(opened.sign_download_url("acme/1", 3600))
    assert (parts.netloc, parts.path) == ("127.0.0.1:4720", "/photos/acme/1")
