"""What may be published, and what the lock file has of it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Literal

import pytest

from daicho import (
    Domain,
    Entity,
    Key,
    Split,
    StoredObject,
    Versioned,
    became,
    changed,
    created,
    deleted,
    field,
    stored_object,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger


class Invoice(Entity):
    id: str = uid()
    status: Literal["open", "paid"] = field(default="open")
    total: Decimal = field(default=Decimal("1.50"))
    salt: str = field(default="", hidden=True)
    scan: StoredObject = stored_object(types=("application/pdf",), max_bytes=1_000)

    key = Key(id)


class Manual(Entity):
    id: str = uid()
    title: str = field()

    key = Key(id)
    versions = Versioned("pointer")


class Scroll(Entity):
    id: str = uid()
    parts: dict[str, int] = field()

    key = Key(id)
    split = Split(parts)


def make_domain() -> Domain:
    return Domain("books", Invoice, Manual, Scroll)


PAID: dict[str, Any] = {
    "when": became(Invoice.status, "paid"),
    "name": "paid",
    "fields": (Invoice.total,),
}


def publish(**more: Any) -> Daicho:
    domain = make_domain()
    domain.publish(Invoice, **{**PAID, **more})
    return Daicho(domain)


@pytest.mark.parametrize(
    ("entity", "declared", "message"),
    [
        (Invoice, {"name": "Paid!"}, "a name has lower-case letters"),
        (Invoice, {"version": 0}, "version is 0, and is a number from 1"),
        (Invoice, {"when": True}, "write created, deleted, changed"),
        (Invoice, {"fields": ("total",)}, "total is no field of it: write Invoice.id"),
        (Invoice, {"fields": (Manual.title,)}, "Manual.title is no field of it"),
        (Invoice, {"fields": (Invoice.salt,)}, "is hidden, so it is not published"),
        (Invoice, {"fields": (Invoice.scan,)}, "is not stored in the item"),
        (Scroll, {"when": created, "fields": Scroll.parts}, "is not stored in the item"),
        (Manual, {"when": created, "fields": Manual.title}, 'use Versioned\\("copy"\\)'),
        (Invoice, {"when": became(Invoice.status, "payed")}, "'payed' is not a value of"),
    ],
)
def test_what_cannot_be_published_is_refused_at_import(
    entity: Any, declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        make_domain().publish(entity, **{**PAID, **declared})


def test_an_event_is_declared_once_for_an_entity_of_the_domain() -> None:
    domain = make_domain()
    domain.publish(Invoice, **PAID)
    domain.publish(Invoice, **{**PAID, "version": 2})
    with pytest.raises(DeclarationError, match="declared twice in version 2"):
        domain.publish(Invoice, **{**PAID, "version": 2})
    with pytest.raises(DeclarationError, match="Invoice is not of the domain 'others'"):
        Domain("others").publish(Invoice, **PAID)
    with pytest.raises(DeclarationError, match="names no field"):
        changed()
    with pytest.raises(DeclarationError, match="names no value"):
        became(Invoice.status)


def test_the_lock_file_has_the_events_and_no_generation_of_them() -> None:
    empty = Daicho(make_domain()).append_generations(Ledger())
    assert "events" not in empty.to_json()
    daicho = publish()
    ledger = daicho.append_generations(empty)
    assert ledger.entities == empty.entities
    text = json.dumps(ledger.to_json())
    assert json.loads(text)["events"] == {
        "Invoice": [
            {
                "name": "paid",
                "version": 1,
                "change": "became",
                "fields": {"total": "decimal"},
                "watched": ["status"],
                "values": [{"S": "paid"}],
                "defaults": {"status": {"S": "open"}, "total": {"N": "1.50"}},
            }
        ]
    }
    assert Ledger.from_json(json.loads(text)) == ledger
    assert json.dumps(Ledger.from_json(json.loads(text)).to_json()) == text
    daicho.check_events(ledger)
    with pytest.raises(
        DeclarationError, match=r"what \[.Invoice.\] publish changed; run daicho generation"
    ):
        daicho.check_events(empty)
    # Code that was rolled back runs with a newer lock file.
    assert Daicho(make_domain()).check_locked(ledger).events == ledger.events


def test_what_subscribers_read_stays_in_its_version() -> None:
    ledger = publish(fields=(Invoice.total, Invoice.status)).append_generations(Ledger())
    with pytest.raises(DeclarationError, match=r"published with status.*or write version=2"):
        publish().append_generations(ledger)
    publish(version=2).append_generations(ledger)
    publish(fields=(Invoice.id, Invoice.total, Invoice.status)).append_generations(ledger)
    assert publish(when=deleted, name="gone").append_generations(ledger).events != ledger.events
