"""What parts of the library need of a bucket, method by method (of the table: `protocols`).

Each part says in its own ``Objects`` what it needs, put together of these: infrastructure grants
just that, and a test stands in with no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from daicho.storage.bucket import Fetched, Listed, Version


class Creates(Protocol):
    """Creates objects, and looks at what stands under a name that is taken."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """Create an object; False if one of that name exists."""

    def metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""


class Fetches(Protocol):
    """Reads objects."""

    def fetch(self, key: str) -> Fetched | None:
        """An object with its metadata; None if there is none of that name."""


class Names(Protocol):
    """Lists objects by name."""

    def names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""


class Lists(Protocol):
    """Lists objects with sizes and times."""

    def listed(self, prefix: str, *, behind: str = "", most: int = 1000) -> Iterator[Listed]:
        """The objects whose names begin with ``prefix`` and sort behind ``behind``, in order."""


class RewritesVersions(Protocol):
    """Reads every version of what there is, replaces the newest, removes any for good."""

    def versions(self, prefix: str, *, behind: str = "") -> Iterator[Version]:
        """Every version of every object whose name begins with ``prefix``, in order of name."""

    def fetch(self, key: str, version: str | None = None) -> Fetched | None:
        """An object, or one version of it, with its metadata."""

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = ...
    ) -> bool:
        """Put another object in the place of the very one that ``etag`` is of."""

    def remove_versions(self, versions: Sequence[Version]) -> None:
        """Remove versions for good."""
