"""The functions that run by themselves: what each may, how often, and for how long.

A run that fails or is late is not repeated: the next one is near, and goes on. Two runs at once are
harmless, so no concurrency is reserved for any of them out of the account's quota.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aws_cdk import Duration
from constructs import Construct

from infra import grants
from infra.functions import Foundation, PythonFunction
from infra.schedule import schedule


@dataclass(frozen=True, kw_only=True)
class Recurring:
    """One of them. ``environment``: what it is told beside its table."""

    name: str
    rate: Duration
    timeout: Duration
    granted: grants.Grants
    environment: Callable[[Foundation], dict[str, str]]


def _archive(foundation: Foundation) -> dict[str, str]:
    return {"ARCHIVE_BUCKET": foundation.archive.bucket_name}


RECURRING = (
    # What is dirty becomes totals.
    Recurring(
        name="rollup",
        rate=Duration.minutes(1),
        timeout=Duration.seconds(60),
        granted=grants.ROLLUP,
        environment=lambda foundation: {"DIRTY_SHARDS": str(foundation.settings.dirty_shards)},
    ),
    # The archive of the last days is verified once a day, by as many runs as that takes. The
    # others find it done, and say what it has found: nothing waits a day for a run that was lost.
    # Somebody may call it for the day's round anew: ``{"again": true}``.
    Recurring(
        name="audit",
        rate=Duration.hours(1),
        timeout=Duration.minutes(15),
        granted=grants.AUDIT,
        environment=_archive,
    ),
    # What is due of tenants that are forgotten; mostly there is nothing, and that takes a read.
    Recurring(
        name="forget",
        rate=Duration.hours(1),
        timeout=Duration.minutes(15),
        granted=grants.FORGET,
        environment=_archive,
    ),
    # What requests that ended half-way have left behind goes; mostly there is nothing either.
    Recurring(
        name="sweep",
        rate=Duration.minutes(5),
        timeout=Duration.seconds(120),
        granted=grants.SWEEP,
        environment=lambda foundation: {"OBJECT_BUCKET": foundation.objects.bucket_name},
    ),
)


class Scheduled(Construct):
    """A function, and the schedule that starts it."""

    def __init__(
        self, scope: Construct, id: str, *, recurring: Recurring, foundation: Foundation
    ) -> None:
        """Create both."""
        super().__init__(scope, id)
        name = recurring.name
        self.python = PythonFunction(
            self,
            id,
            name=name,
            foundation=foundation,
            granted=recurring.granted,
            timeout=recurring.timeout,
            environment=recurring.environment(foundation),
        )
        schedule(self, python=self.python, name=name, rate=recurring.rate)
