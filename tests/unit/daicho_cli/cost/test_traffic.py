"""Traffic files as data."""

from __future__ import annotations

from typing import Any

import pytest

from daicho_cli.cost.traffic import TrafficError, parse_traffic


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"entites": {}}, "entites is unknown; did you mean 'entities'?"),
        ({"entities": {"Song": {"volume": 1}}}, "entities.Song.volume is unknown"),
        (
            {"entities": {"Song": {"creates": -1}}},
            "Song.creates: Input should be greater",
        ),
        ({"entities": {"Song": {"changes": [{"count": 1}]}}}, "changes.0.fields: Field required"),
        (
            {"entities": {"Song": {"changes": [{"count": 1, "fields": {}, "method": "POST"}]}}},
            "changes.0.method: Input should be 'PATCH' or 'PUT'",
        ),
        ({"entities": []}, "entities: Input should be a valid dictionary"),
        ({"transactions": [{"count": 1}]}, "transactions.0.name: Field required"),
    ],
)
def test_what_is_wrong_is_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(TrafficError) as raised:
        parse_traffic(data)
    assert message in str(raised.value)
