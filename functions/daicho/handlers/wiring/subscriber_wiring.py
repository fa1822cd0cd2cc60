"""Runs the function of a subscriber for the events of its queue."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from pydantic import ValidationError

from daicho.book.book import Book
from daicho.declare.entity import Entity
from daicho.declare.subscribers import MAX_HOPS, Event, Subscriber
from daicho.handlers.wiring.books import Books
from daicho.handlers.wiring.event_records import EventRecord
from daicho.handlers.wiring.invocation import Context
from daicho.items.mapper import make_adapter
from daicho.layout.event_records import build_event_key
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.event_queue import EventMessage, EventQueue
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SubscriberRunner:
    """Runs a subscriber. ``dead_letters``: gets events that no attempt can handle."""

    subscriber: Subscriber
    table: Table
    books: Books
    item_cache: ItemCache
    dead_letters: EventQueue
    now: Callable[[], dt.datetime]

    def run(self, messages: Sequence[EventMessage], context: Context) -> tuple[list[str], int]:
        """Handle events, those of each item in their order.

        After one that is not handled, those of its item wait, and none begins in the second half
        of the time.

        Returns:
            The receipts of those that are left, and the number of new dead letters.
        """
        left, blocked, refused = list[str](), set[str](), 0
        for message in messages:
            seconds = context.get_remaining_time_in_millis() / 1000
            if message.group in blocked or seconds < self.subscriber.timeout_s / 2:
                is_done = False
            elif json.loads(message.body).get("hops", 0) > MAX_HOPS:
                is_done = not self.dead_letters.send([message])
                refused += is_done
            else:
                is_done = self._handle(message, seconds)
                refused += not is_done and message.attempt >= self.subscriber.attempts
            if not is_done:
                blocked.add(message.group)
                left.append(message.receipt)
        return left, refused

    def _handle(self, message: EventMessage, seconds: float) -> bool:
        """Run the function for an event, unless it has run; whether that is done."""
        event = read_event(self.subscriber.entity, message)
        name = self.subscriber.name
        try:
            if self._is_closed(event.tenant):
                _log.warning("%s: the tenant of %s is closed", name, event.id)
                return True
            record = EventRecord(
                self.table, build_event_key(event.tenant, name, event.id), self.now, seconds
            )
            remaining: Any = _Remaining(seconds)
            run = idempotent_function(
                lambda id: self._run_function(event),
                data_keyword_argument="id",
                persistence_store=record,
                config=IdempotencyConfig(lambda_context=remaining),
            )
            run(id=event.id)
        except Exception:  # of the project's code: the event is delivered again
            _log.exception("%s: attempt %d at %s failed", name, event.attempt, event.id)
            return False
        return True

    def _run_function(self, event: Event) -> None:
        self.subscriber.function(self._open_book(event), event)

    def _open_book(self, event: Event) -> Book:
        """The book of the system in the event's tenant, which counts the subscribers on the way."""
        actor = f"subscriber:{self.subscriber.name}"
        return self.books.open(Access(tenant=event.tenant, actor=actor, hops=event.hops + 1))

    def _is_closed(self, tenant: str) -> bool:
        key = build_closed_mark_key(tenant)
        mark = self.item_cache.get(
            key, CLOSED_CACHE_S, lambda: self.table.get(key, consistent=True), absence=True
        )
        return mark is not None


@dataclass(frozen=True)
class _Remaining:
    """What Powertools reads of the context of an invocation."""

    seconds: float

    def get_remaining_time_in_millis(self) -> int:
        """The time that was left when the event began."""
        return int(self.seconds * 1000)


def read_event(entity: type[Entity], message: EventMessage) -> Event:
    """The event of a message, with the values of fields as an item has them."""
    body = json.loads(message.body)
    return Event(
        body["id"],
        body["subject"],
        body["tenant"],
        dt.datetime.fromisoformat(body["time"]),
        body.get("version"),
        body.get("actor"),
        body.get("hops", 0),
        message.attempt,
        *(_read_values(entity, body["data"][which]) for which in ("old", "new")),
    )


def _read_values(
    entity: type[Entity], values: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    if values is None:
        return None
    return {name: _read_value(entity, name, value) for name, value in values.items()}


def _read_value(entity: type[Entity], name: str, value: Any) -> Any:
    """A value of the type of its field; one that is not of it any more stays as it is."""
    if name not in entity.fields_:
        return value
    try:
        return make_adapter(entity, name).validate_python(value)
    except ValidationError:
        return value
