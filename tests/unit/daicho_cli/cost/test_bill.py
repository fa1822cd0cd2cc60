"""Bills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan.events import EventPlan
from daicho_cli.cost import footprint
from daicho_cli.cost.bill import compute_bill, compute_idle_bill
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


def test_an_event_costs_its_requests_and_an_idle_queue_its_polls() -> None:
    paid = EventPlan("paid", 1, "became", {"title": "str"}, ("title",), ({"S": "paid"},))
    publishing = replace(ledger(SONG), events={"Song": (paid,)})
    change = {"count": 1_000_000, "fields": {"title": "paid"}}
    data = {"entities": {"Song": {"creates": 500, "examples": [VALUES], "changes": [change]}}}
    bill = compute_bill(publishing, parse_traffic(data), PRICES)
    lines = {f"{line.service}: {line.name}": line for line in bill.lines}
    polls = 30 * footprint.IDLE_POLLS_PER_DAY
    assert lines["SQS: events"].quantity == 3e6 + polls
    assert lines["EventBridge: events"].dollars == pytest.approx(1.00)
    assert lines["Lambda: publish"].quantity == 1e6
    before = compute_bill(ledger(SONG), parse_traffic(data), PRICES)
    assert bill.dollars - before.dollars == pytest.approx(4.3, abs=0.3)  # docs: publish.md
    idle = (
        compute_idle_bill(publishing, PRICES).dollars
        - compute_idle_bill(ledger(SONG), PRICES).dollars
    )
    assert idle == pytest.approx(0.42, abs=0.01)


def test_an_event_of_a_subscriber_costs_its_record_too() -> None:
    paid = EventPlan(
        "tell", 1, "became", {"title": "str"}, ("title",), ({"S": "paid"},), subscriber="tell"
    )
    subscribed = replace(ledger(SONG), events={"Song": (paid,)})
    change = {"count": 1_000_000, "fields": {"title": "paid"}}
    data = {"entities": {"Song": {"creates": 500, "examples": [VALUES], "changes": [change]}}}
    bill = compute_bill(subscribed, parse_traffic(data), PRICES)
    lines = {f"{line.service}: {line.name}": line for line in bill.lines}
    assert lines["SQS: tell"].quantity == 3e6 + 30 * footprint.IDLE_POLLS_PER_DAY
    assert lines["Lambda: on_tell"].quantity == 1e6
    assert not {"EventBridge: events", "Lambda: publish"} & {*lines}
    (record,) = (line for line in bill.estimate.lines if line.work == "events")
    assert (record.declaration, record.units.write, record.units.read) == ("tell", 2e6, 1e6)
    before = compute_bill(ledger(SONG), parse_traffic(data), PRICES)
    assert bill.dollars - before.dollars == pytest.approx(5.0, abs=0.3)  # docs: subscribers.md
