"""The bucket: the only module of the library that talks to S3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from daicho.errors import UnavailableError
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error, translate_errors
from daicho.storage.direct.objects import DirectObjectClient
from daicho.storage.protocols import FetchedObject, ListedObject, ObjectVersion
from daicho.storage.sessions import build_config, get_session, open_on_first_use

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


GZIP = "application/gzip"
EXISTS, ABSENT = 412, 404
MAX_REMOVALS_PER_REQUEST = 1_000


class Bucket:
    """One bucket. Objects are created and moved, but one never overwrites another."""

    def __init__(self, client: S3Client, name: str) -> None:
        self._client = client
        self.name = name

    def create(self, key: str, body: bytes, metadata: Mapping[str, str], kind: str = GZIP) -> bool:
        """Create an object; False if one of that name exists.

        False may also be the answer to the SDK's repeat of our own request that succeeded. A
        caller that must distinguish the two compares the metadata.

        Raises:
            UnavailableError: also if another creation of that name was in progress (409), whose
                result is not known yet.
        """
        return self._put("create", key, body, metadata, kind, (EXISTS,), IfNoneMatch="*")

    def get_metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""
        with translate_errors(f"look at {key}"):
            return self._client.head_object(Bucket=self.name, Key=key)["Metadata"]

    def read(self, key: str) -> bytes | None:
        """An object; None if there is none of that name."""
        fetched_object = self.fetch(key)
        return None if fetched_object is None else fetched_object.body

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """An object, or one version of it, with its metadata; None if there is none."""
        more: Any = {} if version is None else {"VersionId": version}
        try:
            answer = self._client.get_object(Bucket=self.name, Key=key, **more)
            return FetchedObject(answer["Body"].read(), answer["Metadata"], answer["ETag"])
        except AWS_ERRORS as error:
            if _status_of(error) == ABSENT:
                return None
            raise translate_error(error, f"read {key}") from error

    def replace(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        etag: str,
        kind: str = GZIP,
    ) -> bool:
        """Replace the object that has this ``etag``; False if no object of that name has it.

        Raises:
            UnavailableError: as `create`.
        """
        return self._put("replace", key, body, metadata, kind, (EXISTS, ABSENT), IfMatch=etag)

    def list_names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""
        return (entry.name for entry in self.list_objects(prefix, behind=behind))

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """Like `list_names`, with sizes and times; ``most``: the page size of one request."""
        while True:
            with translate_errors(f"list {prefix}"):
                page = self._client.list_objects_v2(
                    Bucket=self.name, Prefix=prefix, StartAfter=behind, MaxKeys=most
                )
            for entry in page.get("Contents", ()):
                behind = entry["Key"]
                yield ListedObject(behind, entry["Size"], entry["LastModified"])
            if not page["IsTruncated"]:
                return

    def list_versions(self, prefix: str, *, behind: str = "") -> Iterator[ObjectVersion]:
        """Every version of every object whose name begins with ``prefix``, behind a name.

        In order of name, the newest first, page by page; marks of deletion come last in a page.
        """
        after: dict[str, Any] | None = {"KeyMarker": behind} if behind else {}
        while after is not None:
            versions, after = self._list_version_page(prefix, after)
            yield from versions

    def remove(self, key: str) -> None:
        """Remove an object with all its versions permanently; nothing happens if there is none.

        Raises:
            UnavailableError: not all versions are known to be removed.
        """
        more = True
        while more:
            # Always the first page: the key sorts before all others that begin with it, and a page
            # behind a version that was removed need not exist.
            page, after = self._list_version_page(key, {})
            own = [version for version in page if version.name == key]
            # The newest goes last: otherwise the version before it could be read meanwhile.
            self.remove_versions(sorted(own, key=lambda version: version.newest))
            more = after is not None and bool(own) and len(own) == len(page)

    def _list_version_page(
        self, prefix: str, after: Mapping[str, Any]
    ) -> tuple[list[ObjectVersion], dict[str, Any] | None]:
        """A page of versions, and the parameters of the next one; None if there is none."""
        with translate_errors(f"list versions of {prefix}"):
            page = self._client.list_object_versions(Bucket=self.name, Prefix=prefix, **after)
        versions = []
        for kind in ("Versions", "DeleteMarkers"):
            entries: Any = page.get(kind, ())
            versions += [
                ObjectVersion(
                    entry["Key"],
                    entry["VersionId"],
                    entry["IsLatest"],
                    entry["LastModified"],
                    removal=kind == "DeleteMarkers",
                )
                for entry in entries
            ]
        if not page.get("IsTruncated"):
            return versions, None
        next_page = {"KeyMarker": page["NextKeyMarker"]}
        if page.get("NextVersionIdMarker"):
            next_page["VersionIdMarker"] = page["NextVersionIdMarker"]
        return versions, next_page

    def sign_upload_url(self, key: str, kind: str, size: int, seconds: int) -> str:
        """A URL by which anybody may upload an object of this kind and size, for ``seconds``.

        It works once: if the object exists, S3 answers 412.
        """
        parameters = {"ContentType": kind, "ContentLength": size, "IfNoneMatch": "*"}
        return self._sign_url("put_object", key, seconds, parameters)

    def sign_download_url(self, key: str, seconds: int) -> str:
        """A URL by which anybody may download an object, for ``seconds``."""
        return self._sign_url("get_object", key, seconds, {})

    def _sign_url(self, doing: str, key: str, seconds: int, parameters: Mapping[str, Any]) -> str:
        with translate_errors(f"sign for {key}"):
            return self._client.generate_presigned_url(
                doing, Params={"Bucket": self.name, "Key": key, **parameters}, ExpiresIn=seconds
            )

    def remove_versions(self, versions: Sequence[ObjectVersion]) -> None:
        """Remove versions permanently, in their order, 1,000 a request; missing ones are ignored.

        Raises:
            UnavailableError: not all of them are known to be removed.
        """
        for begin in range(0, len(versions), MAX_REMOVALS_PER_REQUEST):
            some = versions[begin : begin + MAX_REMOVALS_PER_REQUEST]
            objects: Any = [{"Key": version.name, "VersionId": version.id} for version in some]
            with translate_errors(f"remove {len(some)} versions"):
                answer = self._client.delete_objects(
                    Bucket=self.name, Delete={"Objects": objects, "Quiet": True}
                )
            if errors := answer.get("Errors"):
                first = errors[0]
                raise UnavailableError(f"{len(errors)} not removed: {first.get('Message')}")

    def move(self, key: str, to: str) -> None:
        """Give an object another name; nothing happens if there is none any more."""
        with translate_errors(f"move {key}"):
            if self._copy(key, to):
                self._client.delete_object(Bucket=self.name, Key=key)

    def _copy(self, key: str, to: str) -> bool:
        """Copy an object; False if there is none of that name."""
        source = {"Bucket": self.name, "Key": key}
        try:
            self._client.copy_object(Bucket=self.name, Key=to, CopySource=source)  # type: ignore[arg-type]
        except ClientError as error:
            if _status_of(error) == ABSENT:
                return False
            raise
        return True

    def _put(
        self,
        action: str,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        kind: str,
        refusals: tuple[int, ...],
        **condition: Any,
    ) -> bool:
        """Put an object; False if the answer's status is one of ``refusals``."""
        more: Any = {**condition, "Metadata": dict(metadata)} if metadata else condition
        try:
            self._client.put_object(Bucket=self.name, Key=key, Body=body, ContentType=kind, **more)
        except AWS_ERRORS as error:
            if _status_of(error) in refusals:
                return False
            raise translate_error(error, f"{action} {key}") from error
        return True


def open_bucket(
    name: str,
    *,
    attempts: int = 3,
    timeout: float = 10.0,
    endpoint: str | None = None,
    region: str | None = None,
) -> Bucket:
    """A bucket with a client whose attempts and timeouts are bounded; it is created on first use.

    ``endpoint`` and ``region`` are for programs outside Lambda; the environment is the default.
    """
    config = build_config(
        attempts,
        timeout,
        # A signed URL names the host of the bucket's Region. S3 redirects requests to its global
        # host, and the signature covers the host (Amazon S3 User Guide, "Virtual hosting of
        # buckets"). An endpoint that is an address, as the local one, keeps the path style.
        signature_version="s3v4",
        s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
    )

    def wrap(client: Any) -> DirectObjectClient:
        return DirectObjectClient(client, get_session().get_credentials())

    client = open_on_first_use("s3", config, endpoint=endpoint, region=region, wrap=wrap)
    return Bucket(client, name)


def _status_of(error: ClientError | BotoCoreError) -> int | None:
    """The status of the answer; None if there is none."""
    if not isinstance(error, ClientError):
        return None
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
