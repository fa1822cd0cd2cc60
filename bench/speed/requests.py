"""Processor time of a request to DynamoDB: the lean path beside botocore's client.

Both have the same settings, and a stub in the place of a socket.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

import boto3
from botocore.config import Config

from bench.speed.figures import Figure, compare_in_pairs
from bench.speed.invocation import CREDENTIALS
from bench.speed.stubbed_http import StubbedHttp
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import Query
from daicho.storage.table import Table, open_table

REGION = CREDENTIALS["AWS_REGION"]
CALLS = 150
PAGE_ITEMS = 100
LEAST_SPEEDUP = 5.0
"""How many times less than boto3's client the lean path takes."""


def build_item(number: int) -> dict[str, Any]:
    """An item of ten attributes, as a list of an entity has."""
    values = {f"field{field}": {"S": f"value {number} of {field}"} for field in range(7)}
    return {
        "PK": {"S": "tenant#one"},
        "SK": {"S": f"order#{number:06}"},
        "total": {"N": str(number)},
        **values,
    }


ITEMS = [build_item(number) for number in range(PAGE_ITEMS)]
PAGE = {"Items": ITEMS, "Count": PAGE_ITEMS, "ScannedCount": PAGE_ITEMS}
ANSWERS: Mapping[str, bytes] = {
    "PutItem": b"{}",
    "UpdateItem": b"{}",
    "GetItem": json.dumps({"Item": ITEMS[0]}).encode(),
    "Query": json.dumps(PAGE).encode(),
}
WORK: Mapping[str, Callable[[Table], object]] = {
    "put": lambda table: table.put(ITEMS[0], condition="attribute_not_exists(PK)"),
    "update": lambda table: table.update(
        ItemKey("tenant#one", "total"),
        "ADD #total :amount",
        names={"#total": "total"},
        values={":amount": {"N": "1"}},
    ),
    "get": lambda table: table.get(ItemKey("tenant#one", "order#000001")),
    "query of 100": lambda table: table.query(Query("tenant#one")),
}


def open_boto3_table() -> Table:
    """The same table by a boto3 client, with the settings of `open_table`."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=1.0,
        read_timeout=5.0,
        max_pool_connections=16,
        parameter_validation=False,
    )
    return Table(boto3.client("dynamodb", config=config, region_name=REGION), "bench")


def measure_calls(work: Callable[[Table], object], table: Table) -> float:
    """Seconds of processor time of one call."""
    began = time.process_time()
    for _ in range(CALLS):
        work(table)
    return (time.process_time() - began) / CALLS


def measure_figures() -> list[Figure]:
    """Each operation by the lean path and by a boto3 client, without a socket."""
    figures = []
    stub = StubbedHttp(lambda operation, _: ANSWERS[operation])
    with patch.dict(os.environ, CREDENTIALS), stub:
        ours, peer = open_table("bench", region=REGION), open_boto3_table()
        for name, work in WORK.items():
            compared = compare_in_pairs(
                lambda work=work: measure_calls(work, ours),  # type: ignore[misc]
                lambda work=work: measure_calls(work, peer),  # type: ignore[misc]
            )
            detail = compared.describe(1e6, "µs")
            speedup = compared.speedup
            figures.append(Figure(name, speedup, "at least", LEAST_SPEEDUP, "times", detail))
    return figures
