"""Units are counted by what was asked."""

from __future__ import annotations

from typing import Any

from daicho.storage.capacity import CapacityUnits, MeteredClient


class Client:
    """Answers as DynamoDB does, with the units that it is told."""

    def __init__(self, consumed: Any) -> None:
        self.consumed = consumed
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        def request(**parameters: Any) -> dict[str, Any]:
            self.asked.append(parameters)
            return {"ConsumedCapacity": self.consumed} if self.consumed else {}

        return request


def test_reads_and_writes_are_counted_apart_and_begin_anew() -> None:
    units = CapacityUnits()
    client = Client({"TableName": "t", "CapacityUnits": 1.5})
    metered: Any = MeteredClient(client, units)
    metered.query(TableName="t")
    metered.get_item(TableName="t")
    metered.update_item(TableName="t")
    assert client.asked[0] == {"TableName": "t", "ReturnConsumedCapacity": "TOTAL"}
    assert units.take_total() == (3.0, 1.5)
    assert units.take_total() == (0.0, 0.0)
