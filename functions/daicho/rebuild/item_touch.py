"""The touch of one item that changes more than its generation: fields, expiry, reservations.

A touch writes values that were computed from the image as it was read. So it is sent on condition
that the item still is that image: its ``version`` and ``gen``, and also ``created_at`` and ``ttl``,
because an item that was deleted and created again may have the same version and generation. A touch
that changes the generation alone needs no more than a lower generation (rule 24).

The reservations of its unique values are written in one transaction with the touch, each where no
item is, or one of the same owner. A reservation whose owner does not have the value is taken over,
as any writer does it (ADR 0148).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from daicho.errors import ContendedError, TransactionFailedError
from daicho.layout import reservations
from daicho.layout.base_item import is_expired
from daicho.layout.expiry import EXPIRY, build_touched_expiry, has_older_retention
from daicho.layout.marks import DISMISSED_MARK, is_dismissed, mark_dismissed
from daicho.layout.migrations import list_pending, migrate_image
from daicho.layout.reservations import ReservedValueError, render_owner
from daicho.plan import EntityPlan, Generation, Ledger
from daicho.rebuild.touches import build_touch, estimate_units, find_obstacle
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.protocols import GetsItems, try_update
from daicho.storage.requests import ConditionCheck, Delete, Put, Update
from daicho.storage.table import Table

READ = ("version", "gen", "created_at", "ttl")
"""The attributes of an item that identify the image that was read."""
MAX_TOUCH_AGE_S = 240.0
"""How long ago a touch may have been planned that is sent, in seconds. Whether an item has expired,
and who holds a unique value, was decided when it was planned."""
MAX_RESERVATIONS = 99
"""The limit of one transaction, without the touch itself."""


class ObstacleError(Exception):
    """An item that cannot get the new generation; the message is the reason."""


class NotUniqueError(ObstacleError):
    """An item with a unique value that another item has. No list may lack it: it must change."""


@dataclass(frozen=True)
class ReservedValue:
    """The reservation of a unique value, written in one transaction with a touch.

    ``now``: when it is decided which owners have expired.
    """

    put: Put
    ledger: Ledger
    plan: EntityPlan
    now: int

    @property
    def key(self) -> ItemKey:
        """Its key."""
        return get_key(self.put.item)

    def has_owner_of(self, existing: Image) -> bool:
        """Whether a reservation that exists at the same key is of the same item."""
        return existing.get(reservations.OWNER) == self.put.item[reservations.OWNER]

    def describe_conflict(self, existing: Image) -> str:
        """The message if another item has the value."""
        unique = reservations.find_unique(self.plan, self.key)
        owner = reservations.get_owner(existing)
        if unique is None or owner is None:
            return f"{self.key.pk} exists, and belongs to no other item"
        fields = " and ".join((*unique.within, *unique.fields))
        return f"{unique.name}: {reservations.describe_key(owner)} has the same {fields}"

    def displace(self, store: GetsItems, existing: Image) -> tuple[ReservedValue, ConditionCheck]:
        """Take over the reservation of an owner that does not have the value.

        Raises:
            NotUniqueError: it has the value.
        """
        owner_key = reservations.get_owner(existing)
        owner = None if owner_key is None else store.get(owner_key, consistent=True)
        is_held = reservations.is_held(self.ledger, owner, self.key, self.now)
        if owner_key is None or is_held:
            raise NotUniqueError(self.describe_conflict(existing))
        put = reservations.take_over(self.put.item, existing[reservations.OWNER])
        return replace(self, put=put), reservations.check_not_held(owner_key, owner)


@dataclass(frozen=True)
class Touch:
    """The touch of one item, planned at a time. ``units``: the write units that it consumes, about.

    ``removed``: reservations of values that the item has no more. ``checks``: the owners of
    reservations that are taken over. ``end``: the ``ttl`` of the item if the touch changes it, in
    epoch seconds. An item that has expired by then stays expired, so a late touch is not sent.
    """

    update: Update
    planned: dt.datetime
    reserved: tuple[ReservedValue, ...] = ()
    units: float = 1.0
    removed: tuple[Delete, ...] = ()
    checks: tuple[ConditionCheck, ...] = ()
    end: int | None = None

    def check(self, store: Table) -> Touch:
        """Check, before the pass counts the item, that no other item has one of its unique values.

        Returns the touch to send, which takes over reservations whose owner has gone.

        Raises:
            NotUniqueError: another item has one.
            StoreError: the table does not answer.
        """
        reserved: list[ReservedValue] = []
        checks: dict[ItemKey, ConditionCheck] = {}
        for each in self.reserved:
            existing = store.get(each.key, consistent=True)
            if existing is None or each.has_owner_of(existing):
                reserved.append(each)
                continue
            displacing, check = each.displace(store, existing)
            reserved.append(displacing)
            checks[check.key] = check
        return replace(self, reserved=tuple(reserved), checks=tuple(checks.values()))

    def is_outdated(self, now: dt.datetime) -> bool:
        """Whether the touch was planned too long ago to be sent, or the clock was set back."""
        return not 0 <= (now - self.planned).total_seconds() < MAX_TOUCH_AGE_S

    def is_late(self, now: dt.datetime) -> bool:
        """Whether the item has expired since the touch was planned."""
        return self.end is not None and self.end <= now.timestamp()

    def send(self, store: Table) -> bool:
        """Touch the item; False if another writer was faster: the next pass reads the item again.

        Raises:
            StoreError: the table does not answer.
        """
        if not self.reserved and not self.removed:
            return try_update(store, self.update)
        puts = (each.put for each in self.reserved)
        try:
            store.transact([self.update, *puts, *self.removed, *self.checks])
        except (ContendedError, TransactionFailedError):
            return False
        return True


def plan_touch(ledger: Ledger, image: Image, generation: int, now: dt.datetime) -> Touch:
    """The touch that gives an item a newer generation, with what that generation changes in it.

    A dismissed item stays dismissed only if the generation cannot derive it (rule 56).

    Raises:
        ObstacleError: the generation cannot derive the item, a migration fails or is not pure, or
            the item would be too large.
    """
    try:
        return _plan_touch(ledger, image, generation, now)
    except ObstacleError:
        if not is_dismissed(image):
            raise
    new = mark_dismissed({**image, "gen": attributes.to_value(generation)})
    return Touch(build_exact_touch(image, new), now, units=estimate_units(new))


def _plan_touch(ledger: Ledger, image: Image, generation: int, now: dt.datetime) -> Touch:
    plan = ledger.find_plan(image["type"]["S"], generation)
    new = compute_touched(ledger, image, generation=Generation(generation, plan), now=now)
    is_marked = new.pop(DISMISSED_MARK, None) is not None
    obstacle = find_obstacle(plan, new)
    if obstacle is not None:
        raise ObstacleError(obstacle)
    seconds = int(now.timestamp())
    reserved, removed, owns_all = _list_reservations(ledger, plan, image, new, seconds)
    if len(reserved) > MAX_RESERVATIONS:
        raise ObstacleError(f"{len(reserved)} reservations; at most {MAX_RESERVATIONS}")
    units = max(estimate_units(image), estimate_units(new))
    if reserved or removed:
        units += len(removed) + sum(estimate_units(each.put.item) for each in reserved)
        units *= 2
    # Code of an older generation may give the item a value meanwhile, and would not reserve it.
    is_plain = owns_all and not reserved and not removed and not is_marked
    is_plain = is_plain and not _depends_on_image(ledger, plan, image, generation)
    update = build_touch(image, generation) if is_plain else build_exact_touch(image, new)
    end = attributes.get_integer(image, "ttl") if image.get("ttl") != new.get("ttl") else None
    return Touch(update, now, reserved, units, removed, end=end)


def _list_reservations(
    ledger: Ledger, plan: EntityPlan, image: Image, new: Image, now: int
) -> tuple[tuple[ReservedValue, ...], tuple[Delete, ...], bool]:
    """The reservations that an item gets with its new image, and those that it loses.

    Also whether its own generation reserves all values that it has, or gets.

    Raises:
        ObstacleError: a value cannot be reserved.
    """
    if not plan.derived_uniques:
        return (), (), True
    before, owns_all = reservations.list_stored(ledger, image)
    if is_expired(image, now):
        return (), (), owns_all
    try:
        after = reservations.build_reservations(plan, new)
    except ReservedValueError as error:
        raise ObstacleError(f"its value of {error.field} cannot be reserved: {error}") from error
    if not owns_all:
        before = {}
    owner = render_owner(get_key(image))
    reserved = (
        ReservedValue(reservations.put_reservation(item, (owner,)), ledger, plan, now)
        for key, item in after.items()
        if before.get(key) != item
    )
    removed = (reservations.remove_reservation(key, (owner,)) for key in before.keys() - after)
    return tuple(reserved), tuple(removed), owns_all


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
