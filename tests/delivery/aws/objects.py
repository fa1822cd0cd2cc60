"""S3 in memory, behind the names of botocore's client."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from tests.delivery.aws.dynamo import error

Answer = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """An object as it was laid down."""

    body: bytes
    metadata: Mapping[str, str]
    at: dt.datetime
    version: str = ""

    @property
    def etag(self) -> str:
        """Tells contents apart, as S3's does."""
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


class Objects:
    """One bucket. What is written can be listed and read at once, as in S3.

    Versioned: what is overwritten or deleted stays as an older version until that is deleted.
    """

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self.stored: dict[str, Stored] = {}
        self.older: dict[str, list[Stored]] = {}
        self._versions = 0

    def put_object(self, **request: Any) -> Answer:
        """Create or overwrite; with ``IfNoneMatch`` only create."""
        key, body = request["Key"], request["Body"]
        if request.get("IfNoneMatch") == "*" and key in self.stored:
            raise precondition_failed("PutObject")
        content = body if isinstance(body, bytes) else body.read()
        wanted = request.get("IfMatch")
        if wanted is not None and key not in self.stored:
            raise error("NoSuchKey", "PutObject", "no such key", status=404)
        if wanted is not None and self.stored[key].etag != wanted:
            raise precondition_failed("PutObject")
        self._lay(key, Stored(content, dict(request.get("Metadata", {})), self._now()))
        return {"ETag": self.stored[key].etag}

    def head_object(self, **request: Any) -> Answer:
        """An object's metadata."""
        found = self.stored.get(request["Key"])
        if found is None:
            raise error("404", "HeadObject", "Not Found", status=404)
        return _described(found)

    def get_object(self, **request: Any) -> Answer:
        """An object."""
        found = self.stored.get(request["Key"])
        if "VersionId" in request:
            every = [*self.older.get(request["Key"], ()), *([found] if found else ())]
            found = next((each for each in every if each.version == request["VersionId"]), None)
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
        self._lay(request["Key"], self.stored[name])
        return {"CopyObjectResult": {}}

    def delete_object(self, **request: Any) -> Answer:
        """Remove; no object of that name is no error. A version is removed for good."""
        key, version = request["Key"], request.get("VersionId")
        older = self.older.get(key, [])
        if version is not None:
            older[:] = [each for each in older if each.version != version]
        if version is None or (key in self.stored and self.stored[key].version == version):
            gone = self.stored.pop(key, None)
            if gone is not None and version is None:
                self.older.setdefault(key, []).append(gone)
        return {}

    def delete_objects(self, **request: Any) -> Answer:
        """Remove several; what is not there is no error."""
        for each in request["Delete"]["Objects"]:
            self.delete_object(**each)
        return {}

    def list_object_versions(self, **request: Any) -> Answer:
        """All versions, in order of name, the newest first."""
        found = []
        for key in sorted({*self.stored, *self.older}):
            newest = self.stored.get(key)
            every = [*([newest] if newest else ()), *reversed(self.older.get(key, ()))]
            found += [
                {"Key": key, "VersionId": each.version, "IsLatest": each is newest}
                | {"LastModified": each.at}
                for each in every
                if key.startswith(request.get("Prefix", ""))
                if key > request.get("KeyMarker", "")
            ]
        return {"Versions": found, "IsTruncated": False}

    def _lay(self, key: str, stored: Stored) -> None:
        if key in self.stored:
            self.older.setdefault(key, []).append(self.stored[key])
        self._versions += 1
        self.stored[key] = replace(stored, at=self._now(), version=str(self._versions))


def precondition_failed(operation: str) -> ClientError:
    """An object of that name exists."""
    message = "At least one of the pre-conditions you specified did not hold"
    return error("PreconditionFailed", operation, message, status=412)


def _described(found: Stored) -> Answer:
    return {
        "Metadata": dict(found.metadata),
        "ContentLength": len(found.body),
        "LastModified": found.at,
        "ETag": found.etag,
        "VersionId": found.version,
    }


def _listed(found: Stored) -> Answer:
    return {"Size": len(found.body), "LastModified": found.at, "ETag": found.etag}
