"""An item of a wrong type, written beside the API, blocks a new aggregate until it is dismissed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.handlers import project, redrive
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.obstacles import count_set_aside
from daicho.storage.attributes import get_key
from daicho.storage.bucket import Bucket
from daicho.web.api import Api
from daicho_cli.aws import LambdaInvoker
from daicho_cli.main import app
from tests.support.api_client import Client
from tests.support.consistency import differences
from tests.support.derived_state import items_of
from tests.support.how_to_page import HowToPage
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


def read_commands() -> list[list[str]]:
    """The arguments of the commands that list, redrive and dismiss, as the page has them."""
    page = HowToPage.read("redrive-failed-records")
    lines = [command.line for block in page.blocks for command in block.commands]
    split = [shlex.split(line) for line in lines if " redrive" in line]
    names = ["redrive --list", "redrive", "redrive --dismiss"]
    arguments = [each[1:] for each in split if " ".join(each[1:-2]) in names]
    assert [" ".join(each[:-2]) for each in arguments] == [names[0], *names[1:], names[1]]
    return arguments


def test_a_new_aggregate_is_built_once_a_bad_item_is_dismissed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_functions(house, objects := MemoryObjects())
    items = items_of(house.stage.dynamodb, house.stage.name)
    good = next(item for item in items if "type" in item and "amount" in item)
    id = f"{good['id']['S']}0"
    bad = {**good, "PK": {"S": f"{good['PK']['S']}0"}, "id": {"S": id}, "amount": {"S": "a lot"}}
    house.stage.dynamodb.put_item(TableName=house.stage.name, Item=bad)
    house.pump.run()
    domain = Domain("test", house.stage.entity)
    domain.resource("/invoices/{id}", house.stage.entity, "GET DELETE")
    client = Client(Api(Daicho(domain), lambda _access: house.stage.book), "t")
    refused = client("GET", f"/invoices/{id}")
    assert (refused.status, refused.fields) == (409, {"amount"})
    assert client("DELETE", f"/invoices/{id}").status == 204
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
    listing, redriving, dismissing, again = read_commands()
    for arguments, code, printed in (
        (listing, 1, "left: 2 records"),
        (redriving, 1, "left: 2 records"),
        (dismissing, 0, "2 records dismissed"),
        (again, 0, "nothing is left"),
    ):
        result = CliRunner().invoke(app, arguments, input="y\n")
        assert printed in result.output, result.output
        assert result.exit_code == code, result.output
    assert count_set_aside(house.table) == {}
    assert house.finish().state == "succeeded"
    assert client.good("GET", "/count/open?live=true")["count"] == 40
    items = items_of(house.stage.dynamodb, house.stage.name)
    assert differences({get_key(item): item for item in items}, house.stage.ledger) == []
