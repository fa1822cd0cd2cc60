"""Invoices whose items move to receipts, which have another key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daicho import Aggregate, CopiedTo, Domain, Entity, Key, Listing, Search, Sum, field, month
from daicho.declare.registry import Daicho
from daicho.handlers import project
from daicho.layout.item_copies import COPY_OF, build_copy
from daicho.plan import Decisions
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from tests.support.changed_invoices import ANNOTATIONS, Stage, declare_invoice
from tests.support.derived_state import items_of
from tests.support.rebuilt_invoices import House
from tests.support.stream_pump import Consumer, environment


def declare_receipt(
    change: Callable[[dict[str, Any]], object] = lambda body: None,
) -> type[Any]:
    """A receipt: an invoice whose key is its customer."""
    fields = {name: field() for name in ANNOTATIONS}
    body: dict[str, Any] = {"__annotations__": dict(ANNOTATIONS), "__module__": __name__, **fields}
    body["key"] = Key(fields["customer"])
    body["by_status"] = Listing(fields["status"])
    body["search"] = Search(fields["country"])
    body["revenue"] = Aggregate(
        Sum(fields["amount"]), fields["country"], within=month(fields["at"])
    )
    change(body)
    return type("Receipt", (Entity,), body)


@dataclass
class CopiedStage(Stage):
    """A stage whose invoices are copied to receipts."""

    receipt: type[Any] = Entity

    def copy(self, *, switched: bool = False) -> None:
        """Deploy the declaration of the copy, or of the switch."""
        self._declare(switched=switched)
        daicho = Daicho(Domain("test", self.entity, self.receipt))
        self.ledger = daicho.check_locked(daicho.append_generations(self.ledger, Decisions()))
        oldest = 1 if not switched else self.ledger.copies["Invoice"].since
        self.set_state(oldest, self.ledger.newest_generation("Invoice").number)

    def return_to_copy(self) -> None:
        """Deploy the same code again after a rollback, with the newest ledger."""
        self._declare(switched=False)
        daicho = Daicho(Domain("test", self.entity, self.receipt))
        self.ledger = daicho.check_locked(self.ledger)

    def _declare(self, *, switched: bool) -> None:
        declared = CopiedTo("Receipt", switched=switched)
        self.entity = declare_invoice(lambda body: body.update(copied_to=declared))
        self.receipt = declare_receipt()


def deploy_projector(house: House) -> None:
    handler = project.build(environment(house.stage.name), house.stage.ledger)
    house.pump.consumers = [Consumer(handler, ("Invoice", "Receipt", HEARTBEAT_TYPE))]


def find_differences(stage: CopiedStage) -> list[str]:
    """How the copies differ from the invoices: missing, wrong, left over."""
    target = stage.ledger.newest_generation("Receipt")
    copies: dict[ItemKey, Image] = {}
    expected: dict[ItemKey, Image] = {}
    for item in items_of(stage.dynamodb, stage.name):
        match item.get("type", {}).get("S"):
            case "Invoice":
                copy = build_copy(item, target)
                expected[get_key(copy)] = copy
            case "Receipt" if COPY_OF in item:
                copies[get_key(item)] = item
            case _:
                pass
    return [str(key) for key in copies.keys() | expected if copies.get(key) != expected.get(key)]
