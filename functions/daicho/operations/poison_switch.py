"""The switch of the demonstration at stage local: while it is on, the projector refuses records.

::

    PK #demo   SK poison   entity, at

The projector reads it at stage local alone (`daicho.handlers.wiring.demo_poison`).
"""

from __future__ import annotations

import datetime as dt

from daicho.storage import attributes, keys
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems, UpdatesItems, apply_update
from daicho.storage.requests import Update

SWITCH_KEY = ItemKey(keys.render("", "demo"), "poison")
_NAMES = {"#entity": "entity", "#at": "at"}


class PoisonOnPurposeError(Exception):
    """A record that the demonstration lets fail."""


def find_poisoned_entity(store: GetsItems) -> str | None:
    """The entity whose records fail on purpose; None if the switch is off."""
    image = store.get(SWITCH_KEY, consistent=True)
    return None if image is None else attributes.get_text(image, "entity")


def turn_on(store: UpdatesItems, entity: str, now: dt.datetime) -> None:
    """Let the records of an entity fail."""
    values = attributes.to_image({":entity": entity, ":now": now})
    change = Update(SWITCH_KEY, "SET #entity = :entity, #at = :now", None, _NAMES, values)
    apply_update(store, change)


def turn_off(store: UpdatesItems, now: dt.datetime) -> None:
    """Let no records fail. The item stays, so that the function needs no right to delete items."""
    values = attributes.to_image({":now": now})
    apply_update(store, Update(SWITCH_KEY, "REMOVE #entity SET #at = :now", None, _NAMES, values))
