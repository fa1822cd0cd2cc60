"""The step ``publish`` of a release: the version of the API function that answers requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Context, make_retry_budget
from daicho.release.live_version import LiveVersion

PUBLISH = "publish"
"""The name of the step."""
Work = Callable[[Mapping[str, Any], Context], Mapping[str, str]]


class PublishStep:
    """Publishes a version when the step is created or updated, and removes all with the step."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def before(self, work: Work) -> Work:
        """Run this step if an event is of it; otherwise do ``work``, which is the other steps."""

        def run_or_work(event: Mapping[str, Any], context: Context) -> Mapping[str, str]:
            step = self.run if _is_publish(event) else work
            return step(event, context)

        return run_or_work

    def run(self, event: Mapping[str, Any], context: Context) -> dict[str, str]:
        """Returns the ARN of the alias as the attribute ``Alias``."""
        source = event["ResourceProperties"]["Source"]
        return {"Alias": self._open(event, context).publish(source)}

    def remove(self, event: Mapping[str, Any], context: Context) -> None:
        """Remove the alias and the versions; nothing for other steps."""
        if _is_publish(event):
            self._open(event, context).remove()

    def _open(self, event: Mapping[str, Any], context: Context) -> LiveVersion:
        versions = self._dependencies.versions(event["ResourceProperties"]["Function"])
        return LiveVersion(versions, make_retry_budget(context, self._dependencies))


def _is_publish(event: Mapping[str, Any]) -> bool:
    return bool(event["ResourceProperties"].get("Step") == PUBLISH)
