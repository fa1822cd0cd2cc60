"""Records that the projector refuses on purpose: a demonstration of quarantine.

An operator turns the switch on (`daicho.local.poison_routes`). The records of one entity are then
poison, as if the code could not compute them, until it is turned off. The redrive applies them at
any time: only the projector refuses them. The switch is an item of the table::

    PK #demo   SK poison   entity, at
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from typing import Any

from daicho.handlers.wiring.invocation import Context, Handler
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import GetsItems, UpdatesItems, apply_update
from daicho.storage.requests import Update

SWITCH_KEY = ItemKey(keys.render("", "demo"), "poison")
_NAMES = {"#entity": "entity", "#at": "at"}
_log = logging.getLogger(__name__)


class PoisonOnPurposeError(Exception):
    """A record that the demonstration lets fail."""


class PoisonedLedger:
    """A ledger that has no plan for the images of one entity; ``entity`` None: it has all."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.entity: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def find_enabled_plan(self, entity: str, generation: int) -> Any:
        """See `Ledger.find_enabled_plan`.

        Raises:
            PoisonOnPurposeError: the entity is poisoned.
        """
        if entity == self.entity:
            raise PoisonOnPurposeError(
                f"{entity}: refused on purpose; turn the demonstration off, then redrive"
            )
        return self._ledger.find_enabled_plan(entity, generation)


def read_switch_first(handler: Handler, poisoned: PoisonedLedger, store: GetsItems) -> Handler:
    """The same handler; before each event it reads which entity is poisoned."""

    def wrapped(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        poisoned.entity = find_poisoned_entity(store)
        if poisoned.entity:
            _log.warning("records of %s are refused on purpose", poisoned.entity)
        return handler(event, context)

    return wrapped


def find_poisoned_entity(store: GetsItems) -> str | None:
    """The entity whose records fail on purpose; None if the switch is off."""
    image = store.get(SWITCH_KEY, consistent=True)
    return None if image is None else attributes.get_text(image, "entity")


def turn_on(store: UpdatesItems, entity: str, now: dt.datetime) -> None:
    """Let the records of an entity fail."""
    values = attributes.to_image({":entity": entity, ":now": now})
    change = "SET #entity = :entity, #at = :now"
    apply_update(store, Update(SWITCH_KEY, change, None, _NAMES, values))


def turn_off(store: UpdatesItems, now: dt.datetime) -> None:
    """Let no records fail. The item stays, so that the function needs no right to delete items."""
    values = attributes.to_image({":now": now})
    apply_update(store, Update(SWITCH_KEY, "REMOVE #entity SET #at = :now", None, _NAMES, values))
