"""The changes of items that a traffic file describes, each with its images: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from daicho.plan import Generation
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image
from daicho_cli.cost import examples
from daicho_cli.cost.traffic import ChangeTraffic, EntityTraffic, Traffic, TransactionTraffic

EventKind = Literal["create", "change", "delete", "expire"]


@dataclass(frozen=True)
class EntityShape:
    """What a write of an entity reads and checks besides the item, which its plan does not say.

    Args:
        checked: the fields that refer to items that must exist.
        copied: for each field that is copied from another item, whether it is frozen there and may
            come from the cache of a function instance.
        keyed: whether the key depends on another item, such as the poll of a ballot.
        object_fields: the fields that are objects in S3.
    """

    checked: tuple[str, ...] = ()
    copied: Mapping[str, bool] | None = None
    keyed: bool = False
    object_fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemEvent:
    """Some equal changes of items.

    ``before`` and ``after`` are whole images; None where no item exists. ``values`` are those of
    the example with the change. ``transactional``: a part of a transaction that the caller opens,
    ``keyed``: one under an Idempotency-Key, whose record is counted too.
    """

    kind: EventKind
    count: float
    before: Image | None
    after: Image | None
    values: Mapping[str, Any]
    change: ChangeTraffic | None = None
    transactional: bool = False
    keyed: bool = False


def list_events(generation: Generation, traffic: Traffic) -> list[ItemEvent]:
    """All changes of an entity's items, those of transactions included.

    Raises:
        ExampleError: an example cannot be stored.
    """
    name = generation.plan.name
    entity = traffic.entities.get(name, EntityTraffic())
    samples = entity.examples or ({},)
    events = []
    for values in samples:
        share = 1 / len(samples)
        own = list(_list_own(generation, entity, values, share))
        for transaction in traffic.transactions:
            own += _list_transaction(generation, entity, transaction, values, share)
        events += own
    return [event for event in events if event.count > 0]


def _list_own(
    generation: Generation, traffic: EntityTraffic, values: Mapping[str, Any], share: float
) -> Iterator[ItemEvent]:
    image = examples.build_image(generation, values)
    plain = [
        ItemEvent("create", traffic.creates, None, image, values),
        *(_build_change(generation, values, image, change) for change in traffic.changes),
        ItemEvent("delete", traffic.deletes, image, None, values),
    ]
    for event in plain:
        keyed = event.count * traffic.idempotent
        yield replace(event, count=(event.count - keyed) * share)
        yield replace(event, count=keyed * share, transactional=True, keyed=True)
    yield ItemEvent("expire", traffic.expiries * share, image, None, values)


def _list_transaction(
    generation: Generation,
    traffic: EntityTraffic,
    transaction: TransactionTraffic,
    values: Mapping[str, Any],
    share: float,
) -> Iterator[ItemEvent]:
    name = generation.plan.name
    image = examples.build_image(generation, values)
    created, deleted = transaction.creates.get(name, 0), transaction.deletes.get(name, 0)
    count = transaction.count * share
    yield ItemEvent("create", created * count, None, image, values, transactional=True)
    yield ItemEvent("delete", deleted * count, image, None, values, transactional=True)
    if traffic.changes and name in transaction.changes:
        change = _build_change(generation, values, image, traffic.changes[0])
        yield replace(change, count=transaction.changes[name] * count, transactional=True)


def _build_change(
    generation: Generation, values: Mapping[str, Any], image: Image, change: ChangeTraffic
) -> ItemEvent:
    changed = {**values, **change.fields}
    after = examples.build_image(generation, changed)
    # The item keeps what was filled in for its key.
    kept = {name: image[name] for name in image if name not in after}
    removed = {name for name, value in change.fields.items() if value is None}
    after = {**after, **{n: v for n, v in kept.items() if n not in removed}}
    after["version"] = {"N": "2"}
    return ItemEvent("change", change.count, image, after, changed, change)


def is_moved(event: ItemEvent) -> bool:
    """Whether a change gives the item another key."""
    if event.before is None or event.after is None:
        return False
    return any(event.before[part] != event.after[part] for part in ("PK", "SK"))
