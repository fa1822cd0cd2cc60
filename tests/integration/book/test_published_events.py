"""Events of a deployment in memory: writes through the Book, and what is on the bus."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import Domain, Entity, Expires, Key, Listing, became, created, deleted, field, uid
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.plan import Ledger
from daicho.storage import keys
from daicho.testing import MemoryDeployment
from daicho.testing.aws.memory_events import DEDUPLICATION, MemoryQueue
from daicho_cli.load.checkpoint import LoadProgress
from daicho_cli.load.rows import NumberedRow, RowPreparer
from daicho_cli.republish import move_back


class Invoice(Entity):
    id: str = uid()
    number: str = field()
    status: Literal["open", "paid"] = field(default="open")
    note: str = field(default="")

    key = Key(id)
    of_status = Listing(status)
    expires = Expires(dt.timedelta(days=1), archive=True)


domain = Domain("billing", Invoice)
domain.publish(Invoice, when=created, name="created", fields=Invoice.number)
domain.publish(
    Invoice, when=became(Invoice.status, "paid"), name="paid", fields=(Invoice.number, Invoice.note)
)
domain.publish(Invoice, when=deleted, name="deleted", fields=Invoice.number)
LEDGER = Daicho(domain).append_generations(Ledger(project="Shop"))


def list_types(deployment: MemoryDeployment) -> list[tuple[str, str]]:
    deployment.deliver()
    return [(event["type"], event["subject"]) for event in deployment.published]


def test_committed_changes_are_published_in_their_order() -> None:
    deployment = MemoryDeployment(LEDGER)
    book = deployment.open_book("acme")
    book.create(Invoice(id="1", number="A-1"))
    book.create(Invoice(id="2", number="A-2"))
    book.change(Invoice.key("1"), {"note": "x"})
    book.change(Invoice.key("1"), {"status": "paid"})
    book.delete(Invoice.key("1"))
    assert [each for each in list_types(deployment) if each[1] == "1"] == [
        ("shop.invoice.created.v1", "1"),
        ("shop.invoice.paid.v1", "1"),
        ("shop.invoice.deleted.v1", "1"),
    ]
    paid = next(each for each in deployment.published if each["type"] == "shop.invoice.paid.v1")
    assert (paid["tenant"], paid["version"]) == ("acme", 3)
    assert paid["data"] == {
        "old": {"number": "A-1", "note": "x"},
        "new": {"number": "A-1", "note": "x"},
    }


def test_nothing_of_a_request_that_failed_and_nothing_of_an_expiry_is_published() -> None:
    deployment = MemoryDeployment(LEDGER)
    book = deployment.open_book()
    with pytest.raises(ZeroDivisionError), book.transaction() as transaction:
        transaction.create(Invoice(id="1", number="A-1"))
        _ = 1 / 0
    book.create(Invoice(id="2", number="A-2"))
    deployment.deliver()
    deployment.clock.advance(2 * 86_400)
    assert deployment.expire_items() == 1
    assert list_types(deployment) == [("shop.invoice.created.v1", "2")]
    assert [item.id for item in deployment.list_archived_items(Invoice)] == ["2"]


def test_what_is_too_large_to_be_published_is_refused() -> None:
    book = MemoryDeployment(LEDGER).open_book()
    with pytest.raises(Invalid, match="event 'paid' take more than"):
        book.create(Invoice(id="1", number="A-1", note="x" * 130_000))
    book.create(Invoice(id="1", number="A-1", note="x" * 100_000))


@pytest.mark.parametrize("publishes", [False, True])
def test_a_load_is_published_on_request_and_what_follows_always(publishes: bool) -> None:
    deployment = MemoryDeployment(LEDGER)
    progress = LoadProgress("x", keys.render_instant(deployment.clock.now()))
    preparer = RowPreparer(deployment.table, LEDGER, "acme", Invoice, progress, publishes=publishes)
    image = preparer.build_image(NumberedRow(1, 0, {"id": "1", "number": "A-1"}))
    deployment.table.put(image)
    loaded = [("shop.invoice.created.v1", "1")] if publishes else []
    assert list_types(deployment) == loaded
    book = deployment.open_book("acme")
    book.put(Invoice(id="1", number="A-1", status="paid"))
    assert list_types(deployment) == [*loaded, ("shop.invoice.paid.v1", "1")]
    assert book.get(Invoice.key("1")).status == "paid"


class DeadLetters(MemoryQueue):
    """The client of both queues, of which one holds dead letters."""

    sent_at = 0.0

    def receive_message(self, **_request: Any) -> dict[str, Any]:
        event = self.receive() or {"Records": ()}
        return {
            "Messages": [
                {
                    "Body": record["body"],
                    "ReceiptHandle": record["messageId"],
                    "Attributes": {**record["attributes"], "SentTimestamp": str(self.sent_at)},
                }
                for record in event["Records"]
            ]
        }

    def delete_message(self, **request: Any) -> None:
        gone = request["ReceiptHandle"]
        self.messages = [message for message in self.messages if message.id != gone]


def test_dead_letters_go_back_with_their_ids_and_not_while_the_queue_would_drop_them() -> None:
    deployment = MemoryDeployment(LEDGER)
    dead, queue = (DeadLetters(deployment.clock.now) for _ in range(2))
    for place in range(12):
        entry = {"Id": "0", "MessageBody": "{}", "MessageGroupId": str(place % 2)}
        dead.send_message_batch(Entries=[{**entry, "MessageDeduplicationId": f"e{place}"}])
    dead.send_message_batch = queue.send_message_batch  # type: ignore[method-assign]
    too_early = DEDUPLICATION.total_seconds()
    assert move_back(dead, "dead", "queue", lambda: too_early) == (0, 10)  # those that it got
    deployment.clock.advance(3600)
    assert move_back(dead, "dead", "queue", lambda: too_early + 60) == (12, 0)
    assert dead.messages == []
    for group in "01":
        ids = [each.deduplication_id for each in queue.messages if each.group == group]
        assert ids == [f"e{place}" for place in range(12) if str(place % 2) == group]
