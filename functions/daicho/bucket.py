"""The bucket: the only module of the library that talks to S3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from daicho.faults import translated

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class Bucket:
    """One bucket, of which objects are only ever created, never overwritten."""

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
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 412:
                    return False
                raise
        return True

    def metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""
        with translated(f"look at {key}"):
            return self._client.head_object(Bucket=self.name, Key=key)["Metadata"]


def open_bucket(name: str, *, attempts: int = 3, timeout: float = 10.0) -> Bucket:
    """A bucket behind a client whose patience is bounded."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=1.0,
        read_timeout=timeout,
    )
    return Bucket(boto3.client("s3", config=config), name)
