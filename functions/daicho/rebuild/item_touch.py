"""The touch of one item that changes more than its generation: fields, expiry, companion items.

A touch writes values that were computed from the image as it was read. So it is sent on condition
that the item still is that image: its ``version`` and ``gen``, and also ``created_at`` and ``ttl``,
because an item that was deleted and created again may have the same version and generation. A touch
that changes the generation alone needs no more than a lower generation (rule 24).

Companion items belong to the item, such as the reservation of a unique value. They are written in
one transaction with the touch, each where no item is, or one of the same owner.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from daicho.errors import ContendedError, TransactionFailedError
from daicho.layout.base_item import is_expired
from daicho.layout.expiry import EXPIRY, build_touched_expiry, has_older_retention
from daicho.layout.item_copies import describe_key, parse_owner, render_owner
from daicho.layout.migrations import list_pending, migrate_image
from daicho.plan import EntityPlan, Generation, Ledger
from daicho.rebuild.touches import build_touch, estimate_units, find_obstacle
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import get_key
from daicho.storage.protocols import GetsItems, TransactsWrites, UpdatesItems, try_update
from daicho.storage.requests import Put, Update

OWNER = "owner"
"""The attribute of a companion item that names its item."""
READ = ("version", "gen", "created_at", "ttl")
"""The attributes of an item that identify the image that was read."""
MAX_COMPANIONS = 99
"""The limit of one transaction, without the touch itself."""


class TouchTable(GetsItems, TransactsWrites, UpdatesItems, Protocol):
    """The operations of the table that a touch needs."""


class ObstacleError(Exception):
    """An item that cannot get the new generation; the message is the reason."""


@dataclass(frozen=True)
class Companion:
    """An item that is written in one transaction with a touch.

    ``owner``: the attribute that names the touched item. The condition of ``put`` compares it.
    """

    put: Put
    owner: str

    def has_owner_of(self, existing: Image) -> bool:
        """Whether an item that exists at the same key is of the same owner."""
        return existing.get(self.owner) == self.put.item[self.owner]

    def describe_conflict(self, existing: Image) -> str:
        """The message if the item that exists is not of the same owner."""
        owner = attributes.get_text(existing, self.owner)
        name = describe_key(get_key(self.put.item))
        if owner is None:
            return f"{name} exists, and belongs to no other item"
        return f"{name} belongs to {describe_key(parse_owner(owner))}"


ListCompanions = Callable[[Image, Image], Sequence[Companion]]
"""The companion items of an image as it was read, and as the touch makes it.

It raises `ObstacleError` if one of them cannot be stored.
"""


@dataclass(frozen=True)
class Touch:
    """The touch of one item. ``units``: the write units that it consumes, about.

    ``end``: the ``ttl`` of the item if the touch changes it, in epoch seconds. What has expired by
    then stays expired, so a late touch is not sent.
    """

    update: Update
    companions: tuple[Companion, ...] = ()
    units: float = 1.0
    end: int | None = None

    def check(self, store: TouchTable) -> None:
        """Check, before the pass counts the item, that no other item owns a companion item.

        Raises:
            ObstacleError: another item owns one.
            StoreError: the table does not answer.
        """
        for each in self.companions:
            existing = store.get(get_key(each.put.item), consistent=True)
            if existing is not None and not each.has_owner_of(existing):
                raise ObstacleError(each.describe_conflict(existing))

    def is_late(self, now: dt.datetime) -> bool:
        """Whether the item has expired since the touch was planned."""
        return self.end is not None and self.end <= now.timestamp()

    def send(self, store: TouchTable) -> bool:
        """Touch the item; False if it is not as it was read any more.

        Raises:
            ObstacleError: another item owns a companion item.
            StoreError: the table does not answer.
        """
        if not self.companions:
            return try_update(store, self.update)
        try:
            store.transact([self.update, *(each.put for each in self.companions)])
        except ContendedError:
            return False
        except TransactionFailedError as error:
            if 0 in error.refused or not error.refused:
                return False
            place, existing = next(iter(error.refused.items()))
            conflict = self.companions[place - 1].describe_conflict(existing or {})
            raise ObstacleError(conflict) from error
        return True


def plan_touch(
    ledger: Ledger,
    image: Image,
    generation: int,
    now: dt.datetime,
    list_companions: ListCompanions = lambda image, new: (),
) -> Touch:
    """The touch that gives an item a newer generation, with what that generation changes in it.

    Raises:
        ObstacleError: the generation cannot derive the item, a migration fails or is not pure, or
            the item would be too large.
    """
    plan = ledger.find_plan(image["type"]["S"], generation)
    new = compute_touched(ledger, image, generation=Generation(generation, plan), now=now)
    obstacle = find_obstacle(plan, new)
    if obstacle is not None:
        raise ObstacleError(obstacle)
    companions = tuple(list_companions(image, new))
    if len(companions) > MAX_COMPANIONS:
        raise ObstacleError(f"{len(companions)} companion items; at most {MAX_COMPANIONS}")
    units = max(estimate_units(image), estimate_units(new))
    if companions:
        units = 2 * (units + sum(estimate_units(each.put.item) for each in companions))
    is_plain = not companions and not _depends_on_image(ledger, plan, image, generation)
    update = build_touch(image, generation) if is_plain else build_exact_touch(image, new)
    is_dated = image.get("ttl") != new.get("ttl")
    return Touch(
        update, companions, units, attributes.get_integer(image, "ttl") if is_dated else None
    )


def build_exact_touch(image: Image, new: Image) -> Update:
    """The touch that makes an item ``new``, on condition that it still is ``image``."""
    names: dict[str, str] = {}
    values: dict[str, AttributeValue] = {}
    assigned, removed, conditions = [], [], ["attribute_exists(PK)"]
    for name in sorted(image.keys() | new.keys()):
        if image.get(name) == new.get(name):
            continue
        placeholder = f"#n{len(names)}"
        names[placeholder] = name
        if name in new:
            values[f":n{len(names)}"] = new[name]
            assigned.append(f"{placeholder} = :n{len(names)}")
        else:
            removed.append(placeholder)
    for name in READ:
        names[f"#{name}"] = name
        if name in image:
            values[f":{name}"] = image[name]
            conditions.append(f"#{name} = :{name}")
        else:
            conditions.append(f"attribute_not_exists(#{name})")
    update = f"SET {', '.join(assigned)}" + (f" REMOVE {', '.join(removed)}" if removed else "")
    return Update(get_key(image), update, " AND ".join(conditions), names, values)


def compute_touched(
    ledger: Ledger, image: Image, *, generation: Generation, now: dt.datetime
) -> dict[str, AttributeValue]:
    """The image after the touch: migrated fields, the expiry and the number of the generation.

    Raises:
        ObstacleError: a migration fails or is not pure, or the item would be too large.
    """
    entity = image["type"]["S"]
    new = {**image, "gen": attributes.to_value(generation.number)}
    try:
        if _list_pending(generation.plan, image):
            new = dict(migrate_image(ledger, entity, image, generation))
            again = migrate_image(ledger, entity, {**new, "gen": image["gen"]}, generation)
            if not attributes.equal_images(new, again):
                raise ObstacleError("its migration has another result when it is repeated")
        # What has expired stays expired: it is in no list any more.
        expired = is_expired(image, int(now.timestamp()))
        if not expired and _has_other_expiry(ledger, image, generation):
            expiry = build_touched_expiry(ledger, image, new, generation.plan, now)
            new = {name: new[name] for name in new if name not in EXPIRY} | expiry
    except ObstacleError:
        raise
    except Exception as error:  # whatever it is: the item stays as it is
        raise ObstacleError(f"{type(error).__name__}: {error}") from error
    if attributes.measure_image(new) > attributes.MAX_ITEM_BYTES:
        raise ObstacleError(f"it would take over {attributes.MAX_ITEM_BYTES} bytes")
    return new


def _has_other_expiry(ledger: Ledger, image: Image, generation: Generation) -> bool:
    """Whether a touch may change the expiry of an item: by its rule, or by migrated fields."""
    expires = generation.plan.expires
    read = frozenset[str]() if expires is None else expires.fields
    own = attributes.get_integer(image, "gen") or 0
    migrated = {name for each in list_pending(generation.plan, own) for name in each.fields}
    return bool(read & migrated) or has_older_retention(
        ledger, image["type"]["S"], image, generation.number
    )


def _depends_on_image(ledger: Ledger, plan: EntityPlan, image: Image, generation: int) -> bool:
    """Whether another image of the item could need another touch."""
    is_dated = has_older_retention(ledger, plan.name, image, generation)
    return is_dated or bool(_list_pending(plan, image))


def _list_pending(plan: EntityPlan, image: Image) -> list[object]:
    """The migrations of a base item. By pointer it holds no fields: its versions are migrated."""
    if plan.versions == "pointer":
        return []
    return [*list_pending(plan, attributes.get_integer(image, "gen") or 0)]


def build_companion(image: Image, item: Image) -> Companion:
    """A companion item of an image, written where no item is, or one of the same owner."""
    owner = render_owner(get_key(image))
    put = Put(
        {**item, OWNER: owner},
        "attribute_not_exists(PK) OR #owner = :owner",
        {"#owner": OWNER},
        {":owner": owner},
    )
    return Companion(put, OWNER)
