"""Bills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan.events import EventPlan
from daicho_cli.cost import footprint
from daicho_cli.cost.bill import Bill, BillLine, compute_bill, compute_idle_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import parse_traffic
from tests.unit.daicho_cli.cost.plans import COUNT, OF_ARTIST, VALUES, WEEK, generation, ledger

PRICES = load_prices("us-east-1")
SONG = generation(listings=(OF_ARTIST,), aggregates=(COUNT,))


def lines_of(data: dict[str, Any]) -> dict[str, Any]:
    """Quantity and dollars by service and name."""
    message = generation("Message", expires=WEEK)
    bill = compute_bill(ledger(SONG, message), parse_traffic(data), PRICES)
    assert bill.dollars == pytest.approx(sum(line.dollars for line in bill.lines))
    return {f"{line.service}: {line.name}": (line.quantity, line.dollars) for line in bill.lines}


def test_an_idle_stack_costs_what_the_benchmarks_say() -> None:
    bill = compute_idle_bill(ledger(SONG), PRICES)
    assert bill.dollars == pytest.approx(2.84, abs=0.01)  # docs/benchmarks/costs.md
    services = bill.sum_by_service()
    assert services["CloudWatch"] == pytest.approx(2.60, abs=0.03)
    # Nine reads a minute for dirty marks; for `as_of` five and a half, and almost two writes.
    reads, writes = 43_200 * (9 + 5.5), 43_200 * 1.9
    dynamodb = reads * 0.125e-6 + writes * 0.625e-6
    assert services["DynamoDB"] == pytest.approx(dynamodb, abs=0.01)
    half = compute_idle_bill(ledger(SONG), PRICES, days=15)
    assert half.dollars == pytest.approx(bill.dollars / 2)


def test_units_are_priced_by_declaration() -> None:
    lines = lines_of({"entities": {"Song": {"creates": 1_000_000, "examples": [VALUES]}}})
    assert lines["DynamoDB: Song.item: create: writes"] == (1e6, pytest.approx(0.625))
    assert lines["DynamoDB: Song.of_artist: writes"] == (2e6, pytest.approx(1.25))
    assert lines["API Gateway: requests"] == (1e6, pytest.approx(1.00))
    count, dollars = lines["Lambda: api"]
    # A million invocations of 30 ms with 1 GB.
    assert (count, dollars) == (1e6, pytest.approx(0.20 + 30_000 * 0.0000133334))
    assert lines["CloudWatch: metrics"][0] == footprint.BUSY_METRICS
    assert lines["DynamoDB Streams: reads by Lambda"][1] == 0


MILLION_PAID = {
    "creates": 500,
    "examples": [VALUES],
    "changes": [{"count": 1_000_000, "fields": {"title": "paid"}}],
}


def bill_events(subscriber: str = "") -> tuple[Bill, dict[str, BillLine], float]:
    """The bill of a million events, its lines by service and name, and what the events add.

    An idle stack polls their queue alone.
    """
    condition = ({"S": "paid"},)
    event = EventPlan(
        "paid", 1, "became", {"title": "str"}, ("title",), condition, subscriber=subscriber
    )
    publishing = replace(ledger(SONG), events={"Song": (event,)})
    traffic = parse_traffic({"entities": {"Song": MILLION_PAID}})
    before, bill = (compute_bill(each, traffic, PRICES) for each in (ledger(SONG), publishing))
    lines = {f"{line.service}: {line.name}": line for line in bill.lines}
    idle = [compute_idle_bill(each, PRICES).dollars for each in (ledger(SONG), publishing)]
    assert idle[1] - idle[0] == pytest.approx(0.42, abs=0.01)
    return bill, lines, bill.dollars - before.dollars


POLLS = 30 * footprint.IDLE_POLLS_PER_DAY


def test_an_event_costs_its_requests_and_an_idle_queue_its_polls() -> None:
    _, lines, added = bill_events()
    assert lines["SQS: events"].quantity == 3e6 + POLLS
    assert lines["EventBridge: events"].dollars == pytest.approx(1.00)
    assert lines["Lambda: publish"].quantity == 1e6
    assert added == pytest.approx(4.3, abs=0.3)  # docs: publish.md


def test_an_event_of_a_subscriber_costs_its_record_too() -> None:
    bill, lines, added = bill_events(subscriber="tell")
    assert lines["SQS: tell"].quantity == 3e6 + POLLS
    assert lines["Lambda: on_tell"].quantity == 1e6
    assert not {"EventBridge: events", "Lambda: publish"} & {*lines}
    (record,) = (line for line in bill.estimate.lines if line.work == "events")
    assert (record.declaration, record.units.write, record.units.read) == ("tell", 2e6, 1e6)
    assert added == pytest.approx(5.0, abs=0.3)  # docs: subscribers.md
