"""An item of a wrong type, written beside the API, blocks a new aggregate until it is dismissed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.handlers import project, redrive
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.obstacles import count_set_aside
from daicho.storage.bucket import Bucket
from daicho.storage.item_key import get_key
from daicho.web.api import Api
from daicho_cli.aws import LambdaInvoker
from daicho_cli.main import app
from tests.support.api_client import Client
from tests.support.consistency import differences
from tests.support.derived_state import items_of
from tests.support.memory_stores import MemoryObjects
from tests.support.rebuilt_invoices import House, deploy_change
from tests.support.stream_pump import Consumer, Context, environment

FUNCTIONS = {"PROJECT_FUNCTION": "project", "ARCHIVE_FUNCTION": "archive", "ARCHIVE_BUCKET": "rows"}


def build_functions(house: House, objects: MemoryObjects) -> Any:
    """The projector and the redrive of the deployed code, with a bucket; returns the redrive."""
    client: Any = objects
    dependencies = Dependencies(
        bucket=lambda name, **_more: Bucket(client, name),
        stream=lambda _table: house,
        now=lambda: house.now,
        sleep=house.pause,
        parallelism=1,
    )
    settings = environment(house.stage.name, **FUNCTIONS)
    handler = project.build(settings, house.stage.ledger, dependencies)
    house.pump.consumers = [Consumer(handler, ("Invoice", HEARTBEAT_TYPE))]
    return redrive.build(settings, house.stage.ledger, dependencies)


def test_a_new_aggregate_is_built_once_a_bad_item_is_dismissed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_functions(house, objects := MemoryObjects())
    items = items_of(house.stage.dynamodb, house.stage.name)
    good = next(item for item in items if "type" in item and "amount" in item)
    bad = {**good, "PK": {"S": f"{good['PK']['S']}0"}, "amount": {"S": "a lot"}}
    house.stage.dynamodb.put_item(TableName=house.stage.name, Item=bad)
    house.pump.run()
    house.table.delete(get_key(bad))
    house.pump.run()
    assert count_set_aside(house.table) == {"Invoice": 2}

    deploy_change(house)
    handler = build_functions(house, objects)
    domain = Domain("test", house.stage.entity)
    domain.mount("/count/{status}", house.stage.entity.count)
    client = Client(Api(Daicho(domain), lambda _access: house.stage.book), "t")
    house.start()
    for _ in range(8):
        house.step()
    assert house.find_job().reason == "2 records are set aside: daicho redrive applies them"
    refused = client("GET", "/count/open")
    assert refused.status == 503

    def call(event: Any) -> Any:
        return json.loads(json.dumps(handler(json.loads(json.dumps(event)), Context())))

    monkeypatch.setattr(LambdaInvoker, "find", lambda *_arguments: call)
    result = CliRunner().invoke(app, ["redrive", "--dismiss", "--yes"])
    assert "2 records dismissed" in result.output, result.output
    assert (result.exit_code, count_set_aside(house.table)) == (0, {})
    assert house.finish().state == "succeeded"
    assert client.good("GET", "/count/open?live=true")["count"] == 40
    items = items_of(house.stage.dynamodb, house.stage.name)
    assert differences({get_key(item): item for item in items}, house.stage.ledger) == []
