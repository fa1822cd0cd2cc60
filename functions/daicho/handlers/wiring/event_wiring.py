"""The events of the function `archive`: it archives first, then sends what the batch publishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from daicho.archive.archiver import Archiver
from daicho.errors import DaichoError, UnavailableError
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.redrive.failure_bucket import RearchiveResult, RecordRearchiver
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, make_mapper
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.stream.failed_batch import JSON_CONTENT_TYPE, build_own_batch
from daicho.stream.published_events import EventSender
from daicho.stream.records import Batch, StreamRecord

SetAside = Callable[[Sequence[StreamRecord], str], None]
REQUESTS_AT_ONCE = 8
"""Requests of different items that are under way to the queue."""


def build_sender(
    settings: Settings, ledger: Ledger, dependencies: Dependencies, keep: SetAside
) -> EventSender:
    """The sender of a deployed stack. ``keep`` sets records aside."""
    queues = {name: dependencies.event_queue(url) for name, url in settings.event_queues.items()}
    threads = min(REQUESTS_AT_ONCE, dependencies.parallelism)
    return EventSender(queues, ledger, settings.stage, keep, make_mapper(threads))


def set_aside(
    failures: Bucket, function: str, records: Sequence[StreamRecord], condition: str
) -> None:
    """Keep records of a function in the failure bucket, for a redrive.

    Raises:
        UnavailableError: that is not known to be done.
    """
    name, body = build_own_batch(function, records, condition)
    failures.create(name, body, {}, JSON_CONTENT_TYPE)


def publish_after(
    archiver: Archiver, sender: EventSender, batch: Batch, retry_budget: RetryBudget
) -> str | None:
    """Archive a batch, then send its events; the lowest number that is not known to be done.

    The archive uses at most half of the time, so that an outage of S3 does not hold up the events
    of its batch.
    """
    share = replace(retry_budget, reserve=(retry_budget.remaining() + retry_budget.reserve) / 2)
    lowest = archiver.archive(batch, share)
    numbers = [record.number for record in batch.records]
    try:
        unsent = sender.send(batch.records, retry_budget)
    except UnavailableError:  # a record that cannot be computed could not be set aside
        return numbers[0]
    places = [numbers.index(lowest)] if lowest is not None else []
    places += [place for place, each in enumerate(batch.records) if each.seq == unsent]
    return numbers[min(places)] if places else None


@dataclass(frozen=True)
class RepublishingArchive:
    """The archive of a redrive, which also sends the events of a batch that was given up."""

    archive: RecordRearchiver
    sender: EventSender

    def rearchive(self, batch: Batch, retry_budget: RetryBudget) -> RearchiveResult:
        """Archive a batch, each row once, and send its events again.

        Raises:
            UnavailableError: an event is not known to be sent, or as the archive raises.
            DaichoError: an event still cannot be computed, or as the archive raises. What can be
                sent is sent.
        """
        wrong: list[StreamRecord] = []
        sender = replace(self.sender, set_aside=lambda records, _: wrong.extend(records))
        unsent = sender.send(batch.records, retry_budget)
        result = self.archive.rearchive(batch, retry_budget)
        if unsent is not None:
            raise UnavailableError(f"events from {unsent} on are not sent")
        if wrong:
            raise DaichoError(f"an event of {wrong[0].seq} cannot be computed: see the log")
        return result


def with_events(
    archive: RecordRearchiver, settings: Settings, ledger: Ledger, dependencies: Dependencies
) -> RecordRearchiver:
    """The archive of a redrive, which sends events too where any are published."""
    if not settings.event_queues:
        return archive
    sender = build_sender(settings, ledger, dependencies, keep=lambda _records, _why: None)
    return RepublishingArchive(archive, sender)
