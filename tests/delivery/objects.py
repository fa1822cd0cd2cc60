"""S3 in memory, behind the names of botocore's client."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from tests.delivery.dynamo import error

Answer = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """An object as it was laid down."""

    body: bytes
    metadata: Mapping[str, str]
    at: dt.datetime


class Objects:
    """One bucket. What is written can be listed and read at once, as in S3."""

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self.stored: dict[str, Stored] = {}

    def put_object(self, **request: Any) -> Answer:
        """Create or overwrite; with ``IfNoneMatch`` only create."""
        key, body = request["Key"], request["Body"]
        if request.get("IfNoneMatch") == "*" and key in self.stored:
            raise precondition_failed("PutObject")
        content = body if isinstance(body, bytes) else body.read()
        self.stored[key] = Stored(content, dict(request.get("Metadata", {})), self._now())
        return {"ETag": f'"{len(content)}"'}

    def head_object(self, **request: Any) -> Answer:
        """An object's metadata."""
        found = self.stored.get(request["Key"])
        if found is None:
            raise error("404", "HeadObject", "Not Found", status=404)
        return _described(found)

    def get_object(self, **request: Any) -> Answer:
        """An object."""
        found = self.stored.get(request["Key"])
        if found is None:
            raise error("NoSuchKey", "GetObject", "no such key", status=404)
        return {**_described(found), "Body": io.BytesIO(found.body)}

    def list_objects_v2(self, **request: Any) -> Answer:
        """A page of names, in order."""
        begin = request.get("ContinuationToken") or request.get("StartAfter") or ""
        most = request.get("MaxKeys", 1000)
        found = sorted(
            key for key in self.stored if key.startswith(request.get("Prefix", "")) and key > begin
        )
        page = [{"Key": key, **_listed(self.stored[key])} for key in found[:most]]
        answer: Answer = {"KeyCount": len(page), "IsTruncated": len(found) > most}
        answer |= {"Contents": page} if page else {}
        return answer | ({"NextContinuationToken": found[most - 1]} if len(found) > most else {})

    def copy_object(self, **request: Any) -> Answer:
        """Copy, with the metadata."""
        source = request["CopySource"]
        name = source["Key"] if isinstance(source, Mapping) else source.split("/", 1)[1]
        if name not in self.stored:
            raise error("NoSuchKey", "CopyObject", "no such key", status=404)
        if request.get("IfNoneMatch") == "*" and request["Key"] in self.stored:
            raise precondition_failed("CopyObject")
        self.stored[request["Key"]] = self.stored[name]
        return {"CopyObjectResult": {}}

    def delete_object(self, **request: Any) -> Answer:
        """Remove; no object of that name is no error."""
        self.stored.pop(request["Key"], None)
        return {}


def precondition_failed(operation: str) -> ClientError:
    """An object of that name exists."""
    message = "At least one of the pre-conditions you specified did not hold"
    return error("PreconditionFailed", operation, message, status=412)


def _described(found: Stored) -> Answer:
    return {
        "Metadata": dict(found.metadata),
        "ContentLength": len(found.body),
        "LastModified": found.at,
    }


def _listed(found: Stored) -> Answer:
    return {"Size": len(found.body), "LastModified": found.at, "ETag": f'"{len(found.body)}"'}
