"""Reservations: the items that keep values unique (ADR 0148). Pure.

Each value of a `Unique` that an item has is reserved by an item of its own, which names its owner::

    PK     <tenant>#=<entity>.<declaration>#<since>#<scope values>#<values>   SK -
    owner  the key of the item, rendered as one text
    ttl    that of the item, if it has one

A reservation has no ``type``, so no event filter passes it and nothing is derived from it. It is
written in the transaction that writes its owner. DynamoDB may delete either of the two first when
they expire. So a reservation counts only while its owner exists, has not expired, and has the
value: see `is_held`.

A reference that keeps its item from being deleted is reserved the same way. All reservations of one
item that is referred to are in one partition, and the ``SK`` of each is a digest of its owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from daicho.layout.base_item import is_expired
from daicho.layout.item_keys import render_field
from daicho.plan import EntityPlan, Ledger, UniquePlan
from daicho.search.normalise import fold, fold_case
from daicho.storage import attributes, keys
from daicho.storage.attributes import EMPTY_SORT_KEY, AttributeValue, Image, ItemKey, get_key
from daicho.storage.requests import ConditionCheck, Delete, Put, require_same, to_key_image

OWNER = "owner"
"""The attribute of a reservation that names its item."""
SIGN = "="
"""The first character of the second part of the partition key of a reservation."""
_IDENTITY = ("version", "created_at", "ttl", "gen")
"""The attributes that identify an image of an item."""

Reservations = dict[ItemKey, dict[str, AttributeValue]]
"""Reservation items by their keys."""


class ReservedValueError(ValueError):
    """A value that cannot be reserved. ``field``: that has the value."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def render_instance_partition(entity: str, name: str, since: int | str) -> tuple[str, str]:
    """The parts of the partition key, behind the tenant, that an instance's reservations share."""
    return f"{SIGN}{entity}.{name}", str(since)


def build_reservation_key(
    tenant: str, plan: EntityPlan, unique: UniquePlan, image: Image
) -> ItemKey | None:
    """The key of the reservation of an image's value; None if a field of it has no value.

    Raises:
        ReservedValueError: as in `render_partition`.
    """
    pk = render_partition(tenant, plan, unique, image)
    if pk is None:
        return None
    if unique.refers_to:
        owner = keys.render(*get_key(image)).encode()
        return ItemKey(pk, hashlib.blake2b(owner, digest_size=16).hexdigest())
    return ItemKey(pk, EMPTY_SORT_KEY)


def render_partition(tenant: str, plan: EntityPlan, unique: UniquePlan, image: Image) -> str | None:
    """The partition key of the reservations of a value; None if a field of it has no value.

    Raises:
        ReservedValueError: the value is too long for a key, or is not of the declared type.
    """
    values: list[str] = []
    for name in (*unique.within, *unique.fields):
        try:
            text = render_field(plan, image, name)
        except ValueError as error:
            raise ReservedValueError(str(error), name) from error
        if text is None:
            return None
        is_folded = name in unique.fields and plan.fields.get(name, "str") == "str"
        values.append(_fold(unique, text) if is_folded else text)
    head = render_instance_partition(plan.name, unique.name, unique.since)
    try:
        return keys.check_partition(keys.render(tenant, *head, *values))
    except keys.KeyTooLongError as error:
        longest = max((*unique.within, *unique.fields), key=lambda name: len(str(image[name])))
        raise ReservedValueError(f"{error}, because its value is unique", longest) from error


def build_reservations(plan: EntityPlan, image: Image) -> Reservations:
    """The reservations of an image by a plan.

    Raises:
        ReservedValueError: as in `build_reservation_key`.
    """
    if not plan.derived_uniques:
        return {}
    tenant = keys.parse(image["PK"]["S"])[0]
    reserved: Reservations = {}
    for unique in plan.derived_uniques:
        key = build_reservation_key(tenant, plan, unique, image)
        if key is not None:
            reserved[key] = build_reservation(key, image)
    return reserved


def build_reservation(key: ItemKey, image: Image) -> dict[str, AttributeValue]:
    """The reservation at a key that an image owns."""
    ttl = {"ttl": image["ttl"]} if "ttl" in image else {}
    return {**to_key_image(key), OWNER: render_owner(get_key(image)), **ttl}


def list_stored(ledger: Ledger, image: Image | None) -> tuple[Reservations, bool]:
    """The reservations that a stored item may own, and whether it owns exactly these.

    It does if its generation reserves all that the newest one does. An item of an earlier
    generation, or of code that was rolled back, may own some of them or none. ``image``: None for
    no item.
    """
    if image is None:
        return {}, True
    entity = attributes.get_text(image, "type") or ""
    newest = ledger.newest_generation(entity).plan
    plans = {each.number: each.plan for each in ledger.list_generations(entity)}
    # The item may be of a generation that this code does not know yet.
    plan = plans.get(attributes.get_integer(image, "gen") or 0)
    is_exact = plan is not None and set(newest.derived_uniques) <= set(plan.derived_uniques)
    reserved: Reservations = {}
    for each in (newest,) if plan is None else (plan,) if is_exact else (plan, newest):
        try:
            reserved |= build_reservations(each, image)
        except ReservedValueError:  # it was written by other declarations, and owns none of them
            is_exact = False
    return reserved, is_exact


def is_unchanged(ledger: Ledger, stored: Image, image: Image, plan: EntityPlan, now: int) -> bool:
    """Whether an item keeps exactly its reservations when ``stored`` becomes ``image``.

    ``plan``: of the new image. ``now``: in epoch seconds; an expired item may have lost them.

    Raises:
        ReservedValueError: as in `build_reservation_key`.
    """
    before, is_exact = list_stored(ledger, stored)
    return is_exact and not is_expired(stored, now) and before == build_reservations(plan, image)


def render_owner(key: ItemKey) -> AttributeValue:
    """The key of an item as the value of the attribute `OWNER` of its reservations."""
    return {"S": keys.render(key.pk, key.sk)}


def get_owner(reservation: Image) -> ItemKey | None:
    """The key of the item that owns a reservation; None if the item at its key is none."""
    text = attributes.get_text(reservation, OWNER)
    return None if text is None else ItemKey(*keys.parse(text))


def describe_key(key: ItemKey) -> str:
    """The entity and the key of an item, for a message: ``User 7``."""
    _, entity, *partition = keys.parse(key.pk)
    sort = [] if key.sk == EMPTY_SORT_KEY else keys.parse(key.sk)
    return f"{entity} {'/'.join((*partition, *sort))}"


def is_held(ledger: Ledger, owner: Image | None, key: ItemKey, now: int) -> bool:
    """Whether an owner, as it is stored, exists, has not expired, and has the reserved value.

    ``key``: of the reservation. ``now``: in epoch seconds.
    """
    if owner is None or "type" not in owner or is_expired(owner, now):
        return False
    return key in list_stored(ledger, owner)[0]


def put_reservation(reservation: Image, owners: Iterable[AttributeValue]) -> Put:
    """Put a reservation where none is, or one of these owners."""
    condition, names, values = _is_of(owners)
    return Put(reservation, f"attribute_not_exists(PK) OR {condition}", names, values)


def take_over(reservation: Image, owner: AttributeValue) -> Put:
    """Put a reservation in the place of one that still has this owner."""
    condition, names, values = _is_of((owner,))
    return Put(reservation, condition, names, values)


def remove_reservation(key: ItemKey, owners: Iterable[AttributeValue]) -> Delete:
    """Remove a reservation, if it has one of these owners or does not exist."""
    condition, names, values = _is_of(owners)
    return Delete(key, f"attribute_not_exists(PK) OR {condition}", names, values)


def check_reservation(key: ItemKey, reservation: Image | None) -> ConditionCheck:
    """Require that a reservation has the owner that was read; None for no reservation."""
    if reservation is None:
        return ConditionCheck(key, "attribute_not_exists(PK)")
    return ConditionCheck(key, *_is_of((reservation[OWNER],)))


def check_not_held(key: ItemKey, owner: Image | None) -> ConditionCheck:
    """Require that the owner of a reservation is as it was read, when it did not hold it.

    ``key``: of the owner. ``owner``: None if it did not exist.
    """
    if owner is None:
        return ConditionCheck(key, "attribute_not_exists(PK)")
    return ConditionCheck(key, *require_same(owner, _IDENTITY))


def find_unique(plan: EntityPlan, key: ItemKey) -> UniquePlan | None:
    """The unique value of a plan that the key of a reservation names."""
    _, head, since, *_ = keys.parse(key.pk)
    return next(
        (
            unique
            for unique in plan.derived_uniques
            if render_instance_partition(plan.name, unique.name, unique.since) == (head, since)
        ),
        None,
    )


def describe_conflict(plan: EntityPlan, unique: UniquePlan) -> str:
    """The message that another item has a unique value. It does not name the other item."""
    values = "these values" if len(unique.fields) > 1 else "this value"
    within = f", within the same {_join(unique.within)}" if unique.within else ""
    return f"another {plan.name} has {values} of {_join(unique.fields)}{within}: choose another"


def _fold(unique: UniquePlan, text: str) -> str:
    match unique.fold:
        case "full":
            return fold(text, unique.fold_version)
        case "case":
            return fold_case(text)
        case _:
            return text


def _is_of(
    owners: Iterable[AttributeValue],
) -> tuple[str, dict[str, str], dict[str, AttributeValue]]:
    values = {f":o{place}": owner for place, owner in enumerate(owners)}
    return " OR ".join(f"#owner = {name}" for name in values), {"#owner": OWNER}, values


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
