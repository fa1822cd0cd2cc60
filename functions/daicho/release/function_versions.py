"""The versions of a function and its alias: the only module of the library that talks to Lambda."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho.errors import UnavailableError
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import open_client

LIVE = "live"
"""The alias that the API invokes."""
LATEST = "$LATEST"
Configuration = Mapping[str, Any]
"""What Lambda answers to GetFunctionConfiguration."""


class FunctionVersions:
    """The versions of one function. Raises `daicho.errors.StoreError`s only.

    Each change may be repeated: what is as wanted already is left as it is.
    """

    def __init__(self, function: str) -> None:
        """``function``: its ARN."""
        self.function = function

    def describe(self, version: str) -> Configuration | None:
        """The configuration and state of a version; None if there is none."""
        described: Configuration | None = self._call(
            f"describe version {version}",
            lambda: self._client.get_function_configuration(
                FunctionName=self.function, Qualifier=version
            ),
        )
        return described

    def publish(self) -> str:
        """Publish the function as it is; returns the version.

        Lambda returns the newest version if that is the same. Source: Lambda API, PublishVersion.
        """
        answer = self._call(
            "publish a version", lambda: self._client.publish_version(FunctionName=self.function)
        )
        if answer is None:
            raise UnavailableError(f"there is no function {self.function}")
        return str(answer["Version"])

    def list_published(self) -> tuple[str, ...]:
        """The published versions, the newest first; none if there is no such function."""
        versions: list[str] = []
        start: dict[str, str] = {}
        while True:
            page = self._list_page(start)
            versions += (each["Version"] for each in page["Versions"])
            if not page.get("NextMarker"):
                published = (int(version) for version in versions if version != LATEST)
                return tuple(map(str, sorted(published, reverse=True)))
            start = {"Marker": page["NextMarker"]}

    def remove(self, version: str) -> None:
        """Remove a published version with its snapshot.

        Raises:
            ValueError: it is no number. Without one, Lambda would remove the function.
        """
        number = str(int(version))
        self._call(
            f"remove version {version}",
            lambda: self._client.delete_function(FunctionName=self.function, Qualifier=number),
        )

    def find_live(self) -> str | None:
        """The version that the alias names; None without an alias."""
        answer = self._call(
            "read the alias",
            lambda: self._client.get_alias(FunctionName=self.function, Name=LIVE),
        )
        return None if answer is None else str(answer["FunctionVersion"])

    def make_live(self, version: str) -> str:
        """Let the alias name a version; create it if necessary. Returns the ARN of the alias."""
        change = {"FunctionName": self.function, "Name": LIVE, "FunctionVersion": version}
        answer = self._call("move the alias", lambda: self._client.update_alias(**change))
        if answer is None:
            answer = self._call("create the alias", lambda: self._client.create_alias(**change))
        if answer is None:
            raise UnavailableError(f"{self.function} has no version {version}")
        return str(answer["AliasArn"])

    def remove_live(self) -> None:
        """Remove the alias."""
        self._call(
            "remove the alias",
            lambda: self._client.delete_alias(FunctionName=self.function, Name=LIVE),
        )

    def _list_page(self, start: Mapping[str, str]) -> Mapping[str, Any]:
        page = self._call(
            "list versions",
            lambda: self._client.list_versions_by_function(FunctionName=self.function, **start),
        )
        return page or {"Versions": ()}

    def _call(self, action: str, request: Callable[[], Any]) -> Any:
        """The answer to a request; None if what it names does not exist."""
        try:
            return request()
        except AWS_ERRORS as error:
            if _is_missing(error):
                return None
            raise translate_error(error, f"{action} of {self.function}") from error

    @cached_property
    def _client(self) -> Any:
        config = Config(
            retries={"mode": "standard", "total_max_attempts": 3},
            connect_timeout=1.0,
            read_timeout=10.0,
        )
        return open_client("lambda", config)


def _is_missing(error: ClientError | BotoCoreError) -> bool:
    if not isinstance(error, ClientError):
        return False
    return error.response.get("Error", {}).get("Code") == "ResourceNotFoundException"
