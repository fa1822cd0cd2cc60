"""Example items of a traffic file as the library stores them, and their changes: pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from daicho.errors import Invalid
from daicho.layout import sections, versions
from daicho.layout.base_item import build_base_item
from daicho.plan import EntityPlan, Generation
from daicho.storage.attributes import AttributeValue, Image, get_key, to_value
from daicho_cli.cost.traffic import (
    ChangeTraffic,
    EntityTraffic,
    Traffic,
    TrafficError,
    TransactionTraffic,
)

EventKind = Literal["create", "change", "delete", "expire"]
TENANT = "tenant-one"
ID = "01kakz0c7sj7w9v0e3m4n5p6q7"
"""As long as the ids that the library makes."""
SALT = "0" * 32
SHARDS = 8
CREATED = dt.datetime(2026, 11, 21, 1, 5, 40, 123456, tzinfo=dt.UTC)


class ExampleError(TrafficError):
    """An example that cannot be stored or derived."""


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

    @property
    def head(self) -> Image:
        """The item as it was, or as it is created."""
        return self.before or self.after or {}

    @property
    def changed(self) -> Mapping[str, Any]:
        """The fields that a change names."""
        return self.change.fields if self.change else {}

    @property
    def is_patch(self) -> bool:
        """Whether it changes some fields of an item."""
        return self.change is not None and self.change.method == "PATCH"

    @property
    def is_moved(self) -> bool:
        """Whether it gives the item another key."""
        if self.before is None or self.after is None:
            return False
        return any(self.before[part] != self.after[part] for part in ("PK", "SK"))


def build_image(generation: Generation, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The whole image of an item. Fields of the key that are not given get typical values.

    Raises:
        ExampleError: a value that its field cannot have.
    """
    plan = generation.plan
    image = convert_fields(plan, {**_fill_key(plan), **values})
    try:
        if plan.split is not None:
            manifest = sections.start_manifest(ID, 1, split_sections(plan, values))
            image[sections.MANIFEST] = manifest.to_value()
        return build_base_item(TENANT, generation, image, CREATED)
    except (Invalid, ValueError, ArithmeticError) as error:
        raise ExampleError(f"an example of {plan.name} cannot be stored: {error}") from error


def convert_fields(plan: EntityPlan, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of fields as a traffic file has them; the split field is left out.

    Raises:
        ExampleError: a value that its field cannot have.
    """
    image: dict[str, AttributeValue] = {}
    for name, value in values.items():
        if value is None or name == plan.split or (plan.fields.get(name) == "set" and not value):
            continue
        try:
            image[name] = to_value(_convert(value, plan.fields.get(name, "")))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ExampleError(f"{plan.name}.{name} cannot be {value!r}: {error}") from error
    return image


def split_sections(plan: EntityPlan, values: Mapping[str, Any]) -> list[sections.Section]:
    """The sections of an example of a split item; none if the example has none."""
    return sections.split_into_sections(values.get(plan.split or "") or {}, plan.split or "")


def build_pieces(
    plan: EntityPlan, image: Image, values: Mapping[str, Any], epoch: str = ID
) -> list[Image]:
    """The items of all sections of an example of a split item."""
    partition = sections.render_sections_partition(get_key(image), plan.name)
    return [
        piece
        for section in split_sections(plan, values)
        for piece in sections.build_piece_items(partition, epoch, section, epoch)
    ]


def build_stored_item(plan: EntityPlan, image: Image, version: int = 1) -> Image:
    """The base item of a whole image: of a versioned entity, the copy or the pointer."""
    if plan.versions is None:
        return image
    return versions.restore_base_item(plan, versions.split_versioned_image(image, version, CREATED))


def build_version_item(plan: EntityPlan, image: Image, version: int = 1) -> Image:
    """The version item of a whole image."""
    return versions.build_version_item(
        versions.split_versioned_image(image, version, CREATED), plan.name
    )


def _convert(value: Any, kind: str) -> Any:
    match kind:
        case "set":
            return set(value)
        case "decimal":
            return Decimal(str(value))
        case "datetime" if isinstance(value, str):
            return dt.datetime.fromisoformat(value)
        case _:
            return value


def _fill_key(plan: EntityPlan) -> dict[str, Any]:
    """Typical values of the fields that place an item."""
    names = [*plan.key.fields, plan.key.shards, plan.key.salt]
    fixed: dict[Any, Any] = {plan.key.salt: SALT, plan.key.shards: SHARDS}
    by_kind = {"int": 1, "bool": False, "date": CREATED.date(), "datetime": CREATED}
    return {
        name: fixed.get(name, by_kind.get(plan.fields.get(name, "str"), ID))
        for name in names
        if isinstance(name, str) and name != "created_at"
    }


def list_events(generation: Generation, traffic: Traffic) -> list[ItemEvent]:
    """All changes of an entity's items, those of transactions included.

    Raises:
        ExampleError: an example cannot be stored.
    """
    entity = traffic.entities.get(generation.plan.name, EntityTraffic())
    samples = entity.examples or ({},)
    return [
        replace(event, count=event.count * (1 / len(samples)))
        for values in samples
        for event in _list_example_events(generation, entity, values, traffic.transactions)
        if event.count > 0
    ]


def _list_example_events(
    generation: Generation,
    entity: EntityTraffic,
    values: Mapping[str, Any],
    transactions: Iterable[TransactionTraffic],
) -> Iterator[ItemEvent]:
    """The changes if all items were like one example."""
    name, image = generation.plan.name, build_image(generation, values)
    changes = [_build_change(generation, values, image, change) for change in entity.changes]
    create = ItemEvent("create", entity.creates, None, image, values)
    delete = ItemEvent("delete", entity.deletes, image, None, values)
    for event in (create, *changes, delete):
        keyed = event.count * entity.idempotent
        yield replace(event, count=event.count - keyed)
        yield replace(event, count=keyed, transactional=True, keyed=True)
    yield ItemEvent("expire", entity.expiries, image, None, values)
    for transaction in transactions:
        events = [(create, transaction.creates), (delete, transaction.deletes)]
        for event, counts in (*events, *((change, transaction.changes) for change in changes[:1])):
            count = counts.get(name, 0) * transaction.count
            yield replace(event, count=count, transactional=True)


def _build_change(
    generation: Generation, values: Mapping[str, Any], image: Image, change: ChangeTraffic
) -> ItemEvent:
    changed = {**values, **change.fields}
    after = build_image(generation, changed)
    # The item keeps what was filled in for its key.
    kept = {name: image[name] for name in image if name not in after}
    removed = {name for name, value in change.fields.items() if value is None}
    after = {**after, **{n: v for n, v in kept.items() if n not in removed}}
    after["version"] = {"N": "2"}
    return ItemEvent("change", change.count, image, after, changed, change)
