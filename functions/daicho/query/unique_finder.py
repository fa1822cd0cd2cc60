"""Finds the item that has a unique value: one read of its reservation, and one of the item."""

from __future__ import annotations

from typing import Any

from daicho.declare.queries import UniqueRef
from daicho.errors import Invalid, UnavailableError
from daicho.items.arguments import parse_arguments
from daicho.layout import reservations
from daicho.layout.reservations import ReservedValueError
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.key_resolver import KeyResolver
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import ConditionCheck

ATTEMPTS = 8
"""How often a reservation is read, while its value goes from one item to another."""


def find_by_value(
    resolver: KeyResolver, ref: UniqueRef[Any]
) -> tuple[Image | None, ConditionCheck]:
    """The item that has a unique value, or None; and the check that its reservation is as it was.

    None if no item has it, or it has expired. Both reads are consistent. Items of the open
    transaction are seen as it leaves them.

    Raises:
        Invalid: a field does not accept its value.
        BeingBuilt: not all items have a reservation yet.
        UnavailableError: the value went from one item to another, again and again.
    """
    key, now = _build_key(resolver, ref), int(resolver.clock().timestamp())
    for image in resolver.pending.values():
        if reservations.is_held(resolver.ledger, image, key, now):
            return image, reservations.check_reservation(key, None)
    earlier: Image | None = None
    for _ in range(ATTEMPTS):
        reservation = resolver.table.get(key, consistent=True)
        owner = None if reservation is None else reservations.get_owner(reservation)
        if owner is None or reservation == earlier:
            # It has no owner, or one that did not have the value in between.
            return None, reservations.check_reservation(key, reservation)
        if owner not in resolver.pending:
            image = resolver.table.get(owner, consistent=True)
            if reservations.is_held(resolver.ledger, image, key, now):
                return image, reservations.check_reservation(key, reservation)
        earlier = reservation
    raise UnavailableError(f"the {ref.unique} of an item changes all the time")


def _build_key(resolver: KeyResolver, ref: UniqueRef[Any]) -> ItemKey:
    plan = resolver.ledger.current_generation(ref.entity.__name__).plan
    chooser = InstanceChooser(resolver.table, resolver.ledger, resolver.item_cache)
    unique = chooser.choose_unique(plan, ref.unique)
    image = parse_arguments(ref.entity, ref.names, ref.parts)
    try:
        key = reservations.build_reservation_key(resolver.tenant, plan, unique, image)
    except ReservedValueError as error:
        raise Invalid(str(error), field=error.field) from error
    if key is None:
        missing = next(name for name in ref.names if "NULL" in image.get(name, {"NULL": True}))
        raise Invalid("must have a value, because items without one are not found", field=missing)
    return key
