"""The version that answers requests: published, awaited, made live; whatever fails in between."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import ThrottledError, UnavailableError
from daicho.release.function_versions import LATEST
from daicho.release.live_version import GATEWAY_DELAY_S, LiveVersion, SnapshotFailedError
from daicho.runtime.retry import RetryBudget

ONE, TWO = "arn:ledger:1", "arn:ledger:2"
ALIAS = "arn:function:live"


class Crash(Exception):
    """The function ends in the middle of its work."""


class Function:
    """A function of Lambda with its versions; each snapshot is ready after some descriptions."""

    def __init__(self) -> None:
        self.configuration: dict[str, Any] = {}
        self.versions: dict[str, dict[str, Any]] = {}
        self.live: str | None = None
        self.next = 1
        self.snapshot_takes = 2
        self.fails_with = ""
        self.calls: list[str] = []
        self.faults: dict[int, Exception] = {}
        self.crash_after = False

    def update(self, code: str, source: str, **more: Any) -> None:
        """What CloudFormation does before the step."""
        self.configuration = {
            "CodeSha256": code,
            "Layers": [{"Arn": "arn:packages:1"}, {"Arn": source}],
            "SnapStart": {"ApplyOn": "PublishedVersions", "OptimizationStatus": "Off"},
            "LastUpdateStatus": "Successful",
            "State": "Active",
            **more,
        }

    def _begin(self, name: str) -> None:
        self.calls.append(name)
        fault = self.faults.get(len(self.calls))
        if fault is not None and not self.crash_after:
            raise fault

    def _end(self) -> None:
        fault = self.faults.get(len(self.calls))
        if fault is not None and self.crash_after:
            raise fault

    def describe(self, version: str) -> dict[str, Any] | None:
        self._begin(f"describe {version}")
        if version == LATEST:
            found: dict[str, Any] | None = {**self.configuration, "Version": LATEST}
        else:
            found = self.versions.get(version)
            if found is not None and found["State"] == "Pending":
                found["left"] -= 1
                if found["left"] <= 0:
                    found["State"] = "Failed" if self.fails_with else "Active"
                    found["StateReason"] = self.fails_with
            found = found and {name: found[name] for name in found.keys() - {"left", "of"}}
        self._end()
        return found

    def publish(self) -> str:
        self._begin("publish")
        newest = max(self.versions, key=int, default="")
        if newest and self.versions[newest]["of"] == self.configuration:
            self._end()
            return newest
        version, self.next = str(self.next), self.next + 1
        self.versions[version] = {
            **self.configuration,
            "SnapStart": {"ApplyOn": "PublishedVersions", "OptimizationStatus": "On"},
            "Version": version,
            "State": "Pending",
            "left": self.snapshot_takes,
            "of": self.configuration,
        }
        self._end()
        return version

    def list_published(self) -> tuple[str, ...]:
        self._begin("list")
        self._end()
        return tuple(sorted(self.versions, key=int, reverse=True))

    def remove(self, version: str) -> None:
        self._begin(f"remove {version}")
        assert version != self.live, "Lambda refuses to remove a version with an alias"
        self.versions.pop(version, None)
        self._end()

    def find_live(self) -> str | None:
        self._begin("find live")
        self._end()
        return self.live

    def make_live(self, version: str) -> str:
        self._begin(f"make {version} live")
        assert self.versions[version]["State"] == "Active", "the API would not answer"
        self.live = version
        self._end()
        return ALIAS

    def remove_live(self) -> None:
        self._begin("remove live")
        self.live = None
        self._end()


class Clock:
    """A budget whose time passes by pauses only."""

    def __init__(self, seconds: float = 100.0) -> None:
        self.left = seconds
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.left -= max(seconds, 0.01)

    def make_budget(self) -> RetryBudget:
        return RetryBudget(lambda: self.left, 0, sleep=self.sleep, random=lambda: 1.0)


def publish(function: Function, source: str, clock: Clock | None = None) -> str:
    return LiveVersion(function, (clock or Clock()).make_budget()).publish(source)


@pytest.fixture
def function() -> Function:
    function = Function()
    function.update("code 1", ONE)
    return function


def test_a_version_is_live_when_its_snapshot_is_ready(function: Function) -> None:
    function.snapshot_takes = 5
    assert publish(function, ONE) == ALIAS
    assert function.live == "1"


def test_the_version_before_is_kept_and_older_ones_are_removed(function: Function) -> None:
    for number in range(1, 5):
        function.update(f"code {number}", ONE)
        publish(function, ONE)
    assert (function.live, set(function.versions)) == ("4", {"3", "4"})


def test_a_change_of_the_lock_file_alone_is_a_new_version(function: Function) -> None:
    publish(function, ONE)
    function.update("code 1", TWO)
    publish(function, TWO)
    assert function.live is not None
    assert function.versions[function.live]["Layers"][1] == {"Arn": TWO}


@pytest.mark.parametrize("changed", [{"MemorySize": 2048}, {"Unheard": 1}, {"SnapStart": {}}])
def test_any_change_of_the_configuration_is_a_new_version(
    function: Function, changed: dict[str, Any]
) -> None:
    publish(function, ONE)
    function.update("code 1", ONE, **changed)
    publish(function, ONE)
    assert function.live == "2"


def test_a_repeat_changes_nothing(function: Function) -> None:
    publish(function, ONE)
    before = len(function.calls)
    publish(function, ONE)
    assert (function.live, set(function.versions)) == ("1", {"1"})
    assert "publish" not in function.calls[before:]


def test_a_rollback_names_the_version_before_at_once(function: Function) -> None:
    publish(function, ONE)
    function.update("code 2", ONE)
    publish(function, ONE)
    function.update("code 1", ONE)  # the rollback
    before = len(function.calls)
    publish(function, ONE)
    assert (function.live, set(function.versions)) == ("1", {"1", "2"})
    assert "publish" not in function.calls[before:]


def test_code_that_is_rolled_back_to_the_newer_ledger_is_a_new_version(function: Function) -> None:
    """Rule 27: the older code, the newer lock file."""
    publish(function, ONE)
    function.update("code 2", TWO)
    publish(function, TWO)
    function.update("code 1", TWO)
    publish(function, TWO)
    assert function.live == "3"
    live = function.versions["3"]
    assert (live["CodeSha256"], live["Layers"][1]) == ("code 1", {"Arn": TWO})


def test_an_unused_version_is_as_good_as_an_active_one(function: Function) -> None:
    publish(function, ONE)
    function.versions["1"]["State"] = "Inactive"
    function.make_live = lambda version: ALIAS  # type: ignore[method-assign]
    publish(function, ONE)
    assert set(function.versions) == {"1"}


def test_a_failed_snapshot_fails_the_deployment_and_leaves_the_api_as_it_was(
    function: Function,
) -> None:
    publish(function, ONE)
    function.update("code 2", ONE)
    function.fails_with = "Runtime.ImportModuleError"
    with pytest.raises(SnapshotFailedError, match=r"version 2 of the API: Runtime\.ImportModule"):
        publish(function, ONE)
    assert (function.live, set(function.versions)) == ("1", {"1"})
    function.update("code 1", ONE)
    publish(function, ONE)  # the rollback needs no snapshot
    assert function.live == "1"
    function.update("code 2", ONE)
    function.fails_with = ""
    publish(function, ONE)  # the same code again
    assert function.live == "3"


def test_a_failed_version_that_an_earlier_attempt_left_is_not_used(function: Function) -> None:
    function.publish()
    function.versions["1"]["State"] = "Failed"
    publish(function, ONE)
    assert (function.live, set(function.versions)) == ("2", {"2"})


def test_a_live_version_whose_snapshot_failed_later_is_not_removed(function: Function) -> None:
    publish(function, ONE)
    function.versions["1"]["State"] = "Failed"
    with pytest.raises(SnapshotFailedError, match="no reason is given"):
        publish(function, ONE)
    assert function.live == "1"


def test_a_snapshot_that_takes_too_long_fails_the_deployment(function: Function) -> None:
    function.snapshot_takes = 10_000
    with pytest.raises(UnavailableError, match="version 1 is not ready, its state is Pending"):
        publish(function, ONE)
    assert function.live is None
    function.versions["1"]["left"] = 1
    publish(function, ONE)  # the next deployment waits for the same snapshot
    assert function.live == "1"


@pytest.mark.parametrize("busy", [{"LastUpdateStatus": "InProgress"}, {"State": "Pending"}])
def test_nothing_is_published_during_an_update(function: Function, busy: dict[str, str]) -> None:
    function.update("code 1", ONE, **busy)
    with pytest.raises(UnavailableError, match="being updated"):
        publish(function, ONE)
    assert function.versions == {}


def test_nothing_is_published_without_the_ledger_that_the_release_chose(function: Function) -> None:
    with pytest.raises(UnavailableError, match=f"not the layer {TWO}"):
        publish(function, TWO)
    assert function.versions == {}


def record_calls() -> list[str]:
    """The calls of a deployment over two others."""
    function = deploy_twice()
    publish(function, TWO)
    return function.calls


def deploy_twice() -> Function:
    """A function with two versions, and a third one to be published."""
    function = Function()
    for code in ("code 0", "code 1"):
        function.update(code, ONE)
        publish(function, ONE)
    function.update("code 2", TWO)
    function.calls = []
    return function


CALLS = record_calls()


def test_the_deployment_that_is_disturbed_makes_each_kind_of_call() -> None:
    kinds = {call.split(maxsplit=1)[0] for call in CALLS}
    assert kinds == {"describe", "publish", "list", "find", "make", "remove"}


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("place", range(1, len(CALLS) + 1))
def test_a_repeat_after_a_crash_at_any_call_completes_the_step(place: int, is_after: bool) -> None:
    function = deploy_twice()
    function.faults, function.crash_after = {place: Crash()}, is_after
    with pytest.raises(Crash):
        publish(function, TWO)
    assert function.live in {"2", "3"}
    function.faults = {}
    publish(function, TWO)
    assert (function.live, set(function.versions)) == ("3", {"2", "3"})


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("place", range(1, len(CALLS) + 1))
def test_a_throttled_call_is_repeated(place: int, is_after: bool) -> None:
    function = deploy_twice()
    function.faults, function.crash_after = {place: ThrottledError("slow down")}, is_after
    publish(function, TWO)
    assert function.live == "3"
    assert {"2", "3"} <= set(function.versions)
    function.faults = {}
    publish(function, TWO)
    assert set(function.versions) == {"2", "3"}


def test_a_removal_waits_for_the_gateway_and_leaves_nothing(function: Function) -> None:
    publish(function, ONE)
    function.update("code 2", ONE)
    publish(function, ONE)
    clock = Clock()
    LiveVersion(function, clock.make_budget()).remove()
    assert clock.pauses[0] == GATEWAY_DELAY_S
    assert (function.live, function.versions) == (None, {})
    LiveVersion(function, Clock().make_budget()).remove()


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("place", range(1, 5))
def test_a_removal_is_repeated_until_it_is_done(
    function: Function, place: int, is_after: bool
) -> None:
    publish(function, ONE)
    function.update("code 2", ONE)
    publish(function, ONE)
    function.calls = []
    function.faults, function.crash_after = {place: ThrottledError("slow down")}, is_after
    LiveVersion(function, Clock().make_budget()).remove()
    assert len(function.calls) == 5
    assert (function.live, function.versions) == (None, {})
