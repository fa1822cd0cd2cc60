"""Events that a subscriber refuses become dead letters; ``daicho republish`` delivers them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho_cli.aws import Stack
from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalInstance
from daicho_cli.republish import MIN_AGE_S
from tests.e2e.api import client, eventually
from tests.support.changing_project import ChangingProject
from tests.support.dynoxide import free_port
from tests.support.trials import IS_TRIAL

BILLS, CHANGES, SECONDS = 3, [1, 2, 3], 90.0
DOMAIN = '''"""Bills, whose receipts wait until the office is open."""

from daicho import Domain, Entity, Key, changed, field


class Office(Entity):
    """It is open once it is stored."""

    name: str = field()
    key = Key(name)


class Bill(Entity):
    """A bill."""

    id: str = field()
    amount: int = field()
    key = Key(id)


class Receipt(Entity):
    """The amounts of a bill, in the order of their events."""

    id: str = field()
    amounts: list[int] = field(default_factory=list)
    key = Key(id)


domain = Domain("bills", Office, Bill, Receipt)
domain.resource("/offices/{name}", Office, "PUT")
domain.resource("/bills/{id}", Bill, "PUT")
domain.resource("/receipts/{id}", Receipt, "GET")


@domain.on(Bill, changed(Bill.amount), fields=Bill.amount, timeout_s=2, attempts=2)
def write_receipt(book, event):
    """Note an amount."""
    book.get(Office.key("office"))
    id = event.new["id"]
    with book.transaction() as transaction:
        found = book.find(Receipt.key(id))
        amounts = found.amounts if found else []
        transaction.put(Receipt(id=id, amounts=[*amounts, event.new["amount"]]))
'''

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")


@pytest.fixture
def project(tmp_path: Path) -> ChangingProject:
    return ChangingProject.create(tmp_path / "billing", {"bills.py": DOMAIN})


@pytest.fixture
def instance(project: ChangingProject) -> Iterator[LocalInstance]:
    place = LocalInstance(project.folder / ".local", free_port(), project.project)
    try:
        lifecycle.up(place, print, with_sample=False)
        yield place
    finally:
        lifecycle.reset(place, print)


def count_dead_letters(place: LocalInstance) -> int:
    stack, wanted = Stack.find(None, place.stack_file), "ApproximateNumberOfMessages"
    url = stack["WriteReceiptDeadLetterQueueUrl"]
    answer = stack.open_client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[wanted])
    return int(answer["Attributes"][wanted])


def read_amounts(api: httpx.Client, number: int) -> Any:
    answer = api.get(f"/receipts/b{number}")
    return answer.json()["amounts"] if answer.status_code == 200 else []


def test_dead_letters_are_delivered_once_in_the_order_of_each_item(
    project: ChangingProject, instance: LocalInstance
) -> None:
    events = BILLS * len(CHANGES)
    republish = ("republish", "--stack", str(instance.stack_file))
    with client(instance.stack(), "acme") as api:
        for amount in (0, *CHANGES):  # an item that is created is not changed
            for number in range(BILLS):
                api.put(f"/bills/b{number}", json={"amount": amount}).raise_for_status()
        dead = partial(count_dead_letters, instance)
        assert eventually(dead, lambda count: count == events, SECONDS * 2) == events
        api.put("/offices/office", json={}).raise_for_status()
        assert "0 events moved; run it again later" in project.run(*republish, statuses=(1,))
        assert [read_amounts(api, number) for number in range(BILLS)] == [[]] * BILLS
        time.sleep(MIN_AGE_S + 40)  # so long after the last one was set aside, and seen again
        assert f"{events} events moved; none is left" in project.run(*republish)
        for number in range(BILLS):
            amounts = partial(read_amounts, api, number)
            assert eventually(amounts, lambda found: len(found) >= 3, SECONDS) == CHANGES
        assert count_dead_letters(instance) == 0
