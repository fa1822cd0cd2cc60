"""The version of the API function that answers requests: the step ``publish`` of a release.

Lambda SnapStart works for published versions. A version is immutable, and that includes the layer
with the lock file, so the release publishes it after CloudFormation has updated the function.
"""

from __future__ import annotations

import logging
from typing import Protocol

from daicho.errors import DaichoError, UnavailableError
from daicho.release.function_versions import LATEST, Configuration
from daicho.runtime.retry import RetryBudget, retry

GATEWAY_DELAY_S = 60.0
"""Seconds after which the API Gateway no longer invokes the alias that the stack has removed. HTTP
APIs deploy a changed integration a moment after CloudFormation has changed it."""
READY_STATES = frozenset({"Active", "Inactive"})
"""An inactive version was ready and not invoked for 14 days, after which Lambda removes its
snapshot. Source: AWS Lambda Developer Guide, "Lambda SnapStart and function states"."""
OF_ONE_VERSION = frozenset(
    {
        *("Version", "FunctionArn", "MasterArn", "LastModified", "RevisionId", "ResponseMetadata"),
        *("State", "StateReason", "StateReasonCode"),
        *("LastUpdateStatus", "LastUpdateStatusReason", "LastUpdateStatusReasonCode"),
        "SnapStart",
    }
)
"""What two versions of the same code and configuration differ in. Any other difference, also of a
key that Lambda adds later, leads to a new version."""
_log = logging.getLogger(__name__)


class VersionStore(Protocol):
    """What the step needs of Lambda."""

    def describe(self, version: str) -> Configuration | None:
        """The configuration and state of a version; None if there is none."""

    def publish(self) -> str:
        """Publish the function as it is; returns the version."""

    def list_published(self) -> tuple[str, ...]:
        """The published versions, the newest first."""

    def remove(self, version: str) -> None:
        """Remove a published version."""

    def find_live(self) -> str | None:
        """The version that the alias names; None without an alias."""

    def make_live(self, version: str) -> str:
        """Let the alias name a version; returns the ARN of the alias."""

    def remove_live(self) -> None:
        """Remove the alias."""


class SnapshotFailedError(DaichoError):
    """Lambda could not take the snapshot of a version."""


class LiveVersion:
    """Publishes the function, and moves its alias. A repeat completes what was left."""

    def __init__(self, versions: VersionStore, retry_budget: RetryBudget) -> None:
        self._versions, self._budget = versions, retry_budget

    def publish(self, source: str) -> str:
        """Let the alias name a version of the function as it is now; returns the alias's ARN.

        An existing version is used if it is the same: after a rollback the alias names the earlier
        version again at once. Versions older than the one before are removed.

        ``source``: the ARN of the layer with the lock file, which the function has to have.

        Raises:
            SnapshotFailedError: the initialisation of the function failed.
            UnavailableError: the snapshot is not ready in time, or Lambda does not answer.
        """
        latest = retry(lambda: self._read_latest(source), self._budget)
        previous = retry(self._versions.find_live, self._budget)
        version = self._find_same(latest, previous)
        if version is None:
            version = retry(self._versions.publish, self._budget)
        self._wait(version, source, previous)
        alias = self._make_live(version)
        _log.info("version %s is live, after %s", version, previous)
        try:
            self._remove_older(version, previous)
        except UnavailableError as error:
            _log.warning("older versions are left until the next release: %s", error)
        return alias

    def remove(self) -> None:
        """Remove the alias and all published versions, once the API no longer invokes them.

        Raises:
            UnavailableError: Lambda does not answer.
        """
        self._budget.sleep(GATEWAY_DELAY_S)
        retry(self._versions.remove_live, self._budget)
        for version in self._list_published():
            self._remove_version(version)

    def _read_latest(self, source: str) -> Configuration:
        """The configuration of the function, once its update is complete."""
        latest = self._versions.describe(LATEST)
        if latest is None:
            raise UnavailableError("there is no such function")
        if latest.get("State") == "Pending" or latest.get("LastUpdateStatus") == "InProgress":
            raise UnavailableError("the function is being updated")
        _check_source(latest, source)
        return latest

    def _find_same(self, latest: Configuration, live: str | None) -> str | None:
        """A version with the same code and configuration, first the one that is live."""
        for version in sorted(self._list_published(), key=lambda each: each != live):
            described = self._describe(version)
            if described is None or not _is_same(described, latest):
                continue
            if described.get("State") != "Failed":
                return version
            self._remove_failed(version, live)
        return None

    def _wait(self, version: str, source: str, live: str | None) -> None:
        """Return when a version can be invoked."""
        retry(lambda: self._check_ready(version, source, live), self._budget)

    def _check_ready(self, version: str, source: str, live: str | None) -> None:
        described = self._versions.describe(version)
        state = (described or {}).get("State", "absent")
        if described is None or state not in {*READY_STATES, "Failed"}:
            raise UnavailableError(
                f"the snapshot of version {version} is not ready, its state is {state}; the API "
                "is answered by the version before. Deploy again"
            )
        if state == "Failed":
            self._remove_failed(version, live)
            reason = described.get("StateReason") or "no reason is given"
            raise SnapshotFailedError(
                f"Lambda could not take the snapshot of version {version} of the API: {reason}. "
                "Its log group has the error. The API is answered by the version before. Correct "
                "the code, or deploy with -c snap_start=false"
            )
        _check_source(described, source)

    def _remove_failed(self, version: str, live: str | None) -> None:
        """Remove a version without a snapshot: Lambda would return it for the same code."""
        if version != live:  # Lambda keeps a version that an alias names
            self._remove_version(version)

    def _remove_older(self, version: str, previous: str | None) -> None:
        """Keep the live version, and one for a rollback: the version that was live before."""
        others = [each for each in self._versions.list_published() if each != version]
        kept = previous if previous in others else next(iter(others), None)
        for each in others:
            if each != kept:
                self._versions.remove(each)

    def _list_published(self) -> tuple[str, ...]:
        return retry(self._versions.list_published, self._budget)

    def _describe(self, version: str) -> Configuration | None:
        return retry(lambda: self._versions.describe(version), self._budget)

    def _make_live(self, version: str) -> str:
        return retry(lambda: self._versions.make_live(version), self._budget)

    def _remove_version(self, version: str) -> None:
        retry(lambda: self._versions.remove(version), self._budget)


def _is_same(version: Configuration, latest: Configuration) -> bool:
    """Whether a version has the code and configuration of the function."""
    names = (version.keys() | latest.keys()) - OF_ONE_VERSION
    return all(version.get(name) == latest.get(name) for name in names) and (
        _read_snap_start(version) == _read_snap_start(latest)
    )


def _read_snap_start(configuration: Configuration) -> str:
    """When snapshots are taken; the rest of the value is the state of a snapshot."""
    setting: str = (configuration.get("SnapStart") or {}).get("ApplyOn", "None")
    return setting


def _check_source(configuration: Configuration, source: str) -> None:
    layers = {layer["Arn"] for layer in configuration.get("Layers", ())}
    if source not in layers:
        raise UnavailableError(f"the function has not the layer {source} yet")
