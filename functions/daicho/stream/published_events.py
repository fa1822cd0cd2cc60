"""From stream records to the events that they publish, and their sending in order.

The events of one item reach the queue in the order of its changes: one is sent only after the one
before it is known to be sent. What is sent may be sent again, with the same id.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any
from urllib.parse import quote

from daicho.derive.events import (
    describe_cause,
    find_predecessor,
    is_too_large,
    list_events,
    render_fields,
)
from daicho.derive.events import render_json as render
from daicho.errors import UnavailableError
from daicho.plan import Ledger
from daicho.plan.events import EventPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, retry_rounds
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.event_queue import EventMessage, EventQueue, split_into_requests
from daicho.stream.records import StreamRecord

_log = logging.getLogger(__name__)
Send = Callable[[Sequence[EventMessage]], Sequence[EventMessage]]


@dataclass(frozen=True)
class EventSender:
    """Sends the events of stream records to the queues of those that get them.

    ``queues``: of each subscriber, by its name; "": of the bus. ``stage``: part of their source.
    ``set_aside``: keeps records that cannot be computed.
    """

    queues: Mapping[str, EventQueue]
    ledger: Ledger
    stage: str
    set_aside: Callable[[Sequence[StreamRecord], str], None]
    map_all: Mapper = map

    def send(self, records: Iterable[StreamRecord], retry_budget: RetryBudget) -> str | None:
        """Send what records publish; ``seq`` of the first one that is not known to be done.

        Raises:
            UnavailableError: a record that cannot be computed is not known to be set aside.
        """
        origins: dict[str, str] = {}
        messages: list[EventMessage] = []
        for record in records:
            try:
                computed = build_messages(record, self.ledger, self.stage)
            except Exception:  # whatever it is, it would occur again
                _log.exception("an event of %s cannot be computed", record.seq)
                self.set_aside([record], "EventNotComputed")
                continue
            origins |= {message.id: record.seq for message in computed}
            messages += computed
        left = send_in_order(messages, self._send_request, retry_budget, self.map_all)
        return min((origins[message.id] for message in left), default=None)

    def _send_request(self, messages: Sequence[EventMessage]) -> Sequence[EventMessage]:
        """Send messages of one receiver. A newer lock file may have one without a queue yet."""
        name = messages[0].receiver
        if name not in self.queues:
            raise UnavailableError(f"the subscriber {name!r} has no queue")
        return self.queues[name].send(messages)


def send_in_order(
    messages: Sequence[EventMessage], send: Send, retry_budget: RetryBudget, map_all: Mapper = map
) -> tuple[EventMessage, ...]:
    """Send messages, those of each group one after the other; returns those that are left.

    After a message that is not known to be sent, those of its group wait: a request never has two
    of one group, because each message of a request may fail alone.
    """

    def send_request(request: tuple[EventMessage, ...]) -> Sequence[EventMessage]:
        if not retry_budget.has_time_left:
            return request
        try:
            return send(request)
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            return request

    def attempt_round(remaining: Sequence[EventMessage]) -> tuple[EventMessage, ...]:
        groups: dict[str, deque[EventMessage]] = {}
        for message in remaining:
            groups.setdefault(message.group, deque()).append(message)
        left: list[EventMessage] = []
        while groups:
            requests = [*split_into_requests([group.popleft() for group in groups.values()])]
            for failed in chain.from_iterable(map_all(send_request, requests)):
                left += [failed, *groups.pop(failed.group)]
            groups = {name: group for name, group in groups.items() if group}
        return tuple(left)

    return retry_rounds(messages, attempt_round, retry_budget) if messages else ()


def build_messages(record: StreamRecord, ledger: Ledger, stage: str) -> list[EventMessage]:
    """The events of a record; none of an item that DynamoDB's TTL process removes."""
    entity = record.entity
    if entity is None or entity not in ledger.events or record.expired:
        return []
    old = find_predecessor(record.old, record.new)
    return [
        _build_message(record, old, ledger, event, stage)
        for event in list_events(ledger.events[entity], record.old, record.new)
    ]


def _build_message(
    record: StreamRecord, old: Image | None, ledger: Ledger, event: EventPlan, stage: str
) -> EventMessage:
    entity, image = record.entity or "", record.new or record.old or {}
    place = f"{record.key.pk}\0{record.key.sk}"
    data = {"old": render_fields(event, old), "new": render_fields(event, record.new)}
    omitted = [name for name, fields in data.items() if is_too_large(fields)]
    receiver = (event.subscriber,) if event.subscriber else ()
    id = f"{record.seq}-{_digest(place, entity, event.name, str(event.version), *receiver)}"
    body = {
        "specversion": "1.0",
        "id": id,
        "source": f"/{ledger.project}/{stage}",
        "type": render_type(ledger.project, entity, event),
        "subject": _render_subject(ledger, entity, image),
        "time": keys.render_instant(record.made_at),
        "datacontenttype": "application/json",
        "sequence": record.seq,
        "tenant": keys.parse_first(record.key.pk),
        **_read_version(image),
        **describe_cause(old, record.new),
        **({"omitted": " ".join(omitted)} if omitted else {}),
        "data": {**data, **dict.fromkeys(omitted)},
    }
    return EventMessage(id, _digest(place, *receiver), render(body), receiver=event.subscriber)


def render_type(project: str, entity: str, event: EventPlan) -> str:
    """The type of an event: ``billing.invoice.paid.v1``."""
    return f"{project}.{entity}".lower() + f".{event.name}.v{event.version}"


def _render_subject(ledger: Ledger, entity: str, image: Image) -> str:
    """The values of the key's fields, as in a path."""
    fields = ledger.newest_generation(entity).plan.key.fields
    values = (next(iter(image[name].values())) for name in fields if name in image)
    return "/".join(quote(str(value), safe="") for value in values)


def _read_version(image: Image) -> dict[str, Any]:
    number = image.get("version", {}).get("N", "")
    return {"version": int(number)} if number.isdecimal() else {}


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()
