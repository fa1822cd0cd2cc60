"""The switch of the demonstration at stage local: while it is on, the projector refuses records.

::

    PK #demo   SK poison   entity, at

The projector reads it at stage local alone (`daicho.handlers.wiring.demo_poison`).
"""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems
from daicho.storage.requests import to_key_image

SWITCH_KEY = ItemKey(keys.render("", "demo"), "poison")


class SwitchTable(Protocol):
    """The operations of the table that the switch needs."""

    def put(self, item: Image) -> Image | None:
        """Write a whole item."""


class PoisonOnPurposeError(Exception):
    """A record that the demonstration lets fail."""


def find_poisoned_entity(store: GetsItems) -> str | None:
    """The entity whose records fail on purpose; None if the switch is off."""
    image = store.get(SWITCH_KEY, consistent=True)
    return None if image is None else attributes.get_text(image, "entity")


def turn_on(store: SwitchTable, entity: str, now: dt.datetime) -> None:
    """Let the records of an entity fail."""
    values = {"entity": entity, "at": keys.render_instant(now)}
    store.put({**to_key_image(SWITCH_KEY), **attributes.to_image(values)})


def turn_off(store: SwitchTable, now: dt.datetime) -> None:
    """Let no records fail. The item stays: the function may not delete items."""
    store.put({**to_key_image(SWITCH_KEY), **attributes.to_image({"at": keys.render_instant(now)})})
