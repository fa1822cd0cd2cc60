"""The bucket: the only module of the library that talks to S3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from daicho.faults import translated

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


EXISTS, ABSENT = 412, 404


class Bucket:
    """One bucket, of which objects are created and moved, but never overwritten by others."""

    def __init__(self, client: S3Client, name: str) -> None:
        self._client = client
        self.name = name

    def create(
        self, key: str, body: bytes, metadata: Mapping[str, str], kind: str = "application/gzip"
    ) -> bool:
        """Create an object; False if one of that name exists.

        False may be the answer to the SDK's repeat of a request of ours that went through: who
        needs to know looks at the metadata.

        Raises:
            UnavailableError: also if another creation of that name was under way (409), of which
                nobody knows yet whether it will succeed.
        """
        with translated(f"create {key}"):
            try:
                self._client.put_object(
                    Bucket=self.name,
                    Key=key,
                    Body=body,
                    Metadata=dict(metadata),
                    ContentType=kind,
                    IfNoneMatch="*",
                )
            except ClientError as error:
                if _status(error) == EXISTS:
                    return False
                raise
        return True

    def metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""
        with translated(f"look at {key}"):
            return self._client.head_object(Bucket=self.name, Key=key)["Metadata"]

    def read(self, key: str) -> bytes | None:
        """An object; None if there is none of that name."""
        with translated(f"read {key}"):
            try:
                return self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
            except ClientError as error:
                if _status(error) == ABSENT:
                    return None
                raise

    def names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""
        while True:
            with translated(f"list {prefix}"):
                page = self._client.list_objects_v2(
                    Bucket=self.name, Prefix=prefix, StartAfter=behind
                )
            for each in page.get("Contents", ()):
                behind = each["Key"]
                yield behind
            if not page["IsTruncated"]:
                return

    def move(self, key: str, to: str) -> None:
        """Give an object another name; nothing happens if there is none any more."""
        with translated(f"move {key}"):
            try:
                source = {"Bucket": self.name, "Key": key}
                self._client.copy_object(Bucket=self.name, Key=to, CopySource=source)  # type: ignore[arg-type]
            except ClientError as error:
                if _status(error) == ABSENT:
                    return
                raise
            self._client.delete_object(Bucket=self.name, Key=key)


def open_bucket(name: str, *, attempts: int = 3, timeout: float = 10.0) -> Bucket:
    """A bucket behind a client whose patience is bounded."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=1.0,
        read_timeout=timeout,
    )
    return Bucket(boto3.client("s3", config=config), name)


def _status(error: ClientError) -> int | None:
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
