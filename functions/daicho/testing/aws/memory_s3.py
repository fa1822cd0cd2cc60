"""S3 in memory, behind the names of botocore's client."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from daicho.testing.aws.client_errors import build_error

Answer = dict[str, Any]


@dataclass(frozen=True)
class ObjectVersion:
    """One version of an object, as it was put."""

    body: bytes
    metadata: Mapping[str, str]
    at: dt.datetime
    version: str

    @property
    def etag(self) -> str:
        """A hash of the content, as in S3."""
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


class MemoryS3:
    """One bucket, with versioning and strong consistency.

    ``stored``: the current object of each name. ``older``: the versions that were overwritten or
    deleted, by name. ``now``: the time, in UTC.
    """

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self.stored: dict[str, ObjectVersion] = {}
        self.older: dict[str, list[ObjectVersion]] = {}
        self._versions = 0

    def put_object(self, **request: Any) -> Answer:
        """Create or overwrite; with ``IfNoneMatch`` only create."""
        key, body = request["Key"], request["Body"]
        content = body if isinstance(body, bytes) else body.read()
        current, wanted = self.stored.get(key), request.get("IfMatch")
        if wanted is not None and current is None:
            raise build_error("NoSuchKey", "PutObject", "no such key", status=404)
        must_be_absent = request.get("IfNoneMatch") == "*"
        if current is not None and (must_be_absent or wanted not in (None, current.etag)):
            message = "At least one of the pre-conditions you specified did not hold"
            raise build_error("PreconditionFailed", "PutObject", message, status=412)
        self._put(key, content, dict(request.get("Metadata", {})))
        return {"ETag": self.stored[key].etag}

    def head_object(self, **request: Any) -> Answer:
        """An object's metadata."""
        current = self.stored.get(request["Key"])
        if current is None:
            raise build_error("404", "HeadObject", "Not Found", status=404)
        return _describe(current)

    def get_object(self, **request: Any) -> Answer:
        """An object."""
        chosen = self.stored.get(request["Key"])
        if "VersionId" in request:
            versions = [*self.older.get(request["Key"], ()), *([chosen] if chosen else ())]
            id = request["VersionId"]
            chosen = next((version for version in versions if version.version == id), None)
        if chosen is None:
            raise build_error("NoSuchKey", "GetObject", "no such key", status=404)
        return {**_describe(chosen), "Body": io.BytesIO(chosen.body)}

    def list_objects_v2(self, **request: Any) -> Answer:
        """A page of names, in order."""
        begin = request.get("StartAfter", "")
        limit = request.get("MaxKeys", 1000)
        names = sorted(
            key for key in self.stored if key.startswith(request.get("Prefix", "")) and key > begin
        )
        page = [{"Key": key, **_describe_in_list(self.stored[key])} for key in names[:limit]]
        answer: Answer = {"KeyCount": len(page), "IsTruncated": len(names) > limit}
        return answer | ({"Contents": page} if page else {})

    def copy_object(self, **request: Any) -> Answer:
        """Copy, with the metadata."""
        source = self.stored.get(request["CopySource"]["Key"])
        if source is None:
            raise build_error("NoSuchKey", "CopyObject", "no such key", status=404)
        self._put(request["Key"], source.body, source.metadata)
        return {"CopyObjectResult": {}}

    def delete_object(self, **request: Any) -> Answer:
        """Remove an object, which may not exist. A version is removed permanently."""
        key, version = request["Key"], request.get("VersionId")
        older = self.older.get(key, [])
        if version is not None:
            older[:] = [kept for kept in older if kept.version != version]
        if version is None or (key in self.stored and self.stored[key].version == version):
            gone = self.stored.pop(key, None)
            if gone is not None and version is None:
                self.older.setdefault(key, []).append(gone)
        return {}

    def delete_objects(self, **request: Any) -> Answer:
        """Remove several objects, which may not exist."""
        for entry in request["Delete"]["Objects"]:
            self.delete_object(**entry)
        return {}

    def list_object_versions(self, **request: Any) -> Answer:
        """All versions, in order of name, the newest first."""
        listed = []
        for key in sorted({*self.stored, *self.older}):
            newest = self.stored.get(key)
            versions = [*([newest] if newest else ()), *reversed(self.older.get(key, ()))]
            listed += [
                {"Key": key, "VersionId": version.version, "IsLatest": version is newest}
                | {"LastModified": version.at}
                for version in versions
                if key.startswith(request.get("Prefix", ""))
                if key > request.get("KeyMarker", "")
            ]
        return {"Versions": listed, "IsTruncated": False}

    def _put(self, key: str, body: bytes, metadata: Mapping[str, str]) -> None:
        if key in self.stored:
            self.older.setdefault(key, []).append(self.stored[key])
        self._versions += 1
        self.stored[key] = ObjectVersion(body, metadata, self._now(), str(self._versions))


def _describe(version: ObjectVersion) -> Answer:
    return {
        "Metadata": dict(version.metadata),
        "ContentLength": len(version.body),
        "LastModified": version.at,
        "ETag": version.etag,
        "VersionId": version.version,
    }


def _describe_in_list(version: ObjectVersion) -> Answer:
    return {"Size": len(version.body), "LastModified": version.at, "ETag": version.etag}
