"""A stop or a kill of the local AWS is a pause: nothing stored or undelivered is lost."""

from __future__ import annotations

import time
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from daicho_cli.local import lifecycle, server
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from tests.demonstration.e2e.delivery import delivered, roll_up
from tests.demonstration.e2e.soak import TENANT, Soak
from tests.e2e.api import TIMEOUT, client, eventually, everything, kill
from tests.e2e.verified import Verified

KILLS, SECONDS_OF_LOAD = 2, 2


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_an_end_loses_neither_data_nor_a_stream_record(
    place: LocalInstance | None, stack: dict[str, Any], end: str
) -> None:
    if place is None:
        pytest.skip("it stops the local AWS, and this one is somebody's own")
    headers = {"authorization": f"Bearer {stack['tokens']['acme']}"}
    with httpx.Client(base_url=stack["url"], headers=headers, timeout=TIMEOUT) as api:
        made = api.put(f"/artists/before-{end}", json={"name": f"Before The {end}"})
        assert made.is_success, made.text
        eventually(lambda: everything(api, "/artists", name=f"before the {end}"), bool)
        before = api.get(f"/artists/before-{end}").json()
        _switch_projector(place, stack, on=False)
        try:
            body = {"name": f"Zadie {end}"}
            assert api.put(f"/artists/undelivered-{end}", json=body).is_success
            if end == "stop":
                lifecycle.down(place, print)
            else:
                kill(place)
            server.start(place)
            assert api.get(f"/artists/before-{end}").json() == before
            assert everything(api, "/artists", name=f"zadie {end}") == []
        finally:
            _switch_projector(place, stack, on=True)
        found = eventually(lambda: everything(api, "/artists", name=f"zadie {end}"), bool)
        assert [artist["id"] for artist in found] == [f"undelivered-{end}"]


def test_kills_under_load_lose_nothing(place: LocalInstance | None, stack: dict[str, Any]) -> None:
    """The short form of ``make soak``."""
    if place is None:
        pytest.skip("it kills the local AWS, and this one is somebody's own")
    fixed: Any = SimpleNamespace(project=place.project)  # no declaration changes
    with closing(Soak(fixed, place, seed=1)) as soak:
        soak.load.start()
        try:
            for _ in range(KILLS):
                eventually(soak.load.has_acknowledged_all, bool)
                time.sleep(SECONDS_OF_LOAD)
                kill(place)
                server.start(place)
        finally:
            soak.load.stop()
        assert soak.load.has_acknowledged_all()
        with client(stack, TENANT) as api:
            delivered(api)
        roll_up(stack)
        lost = eventually(soak.count_lost, lambda lost: not any(lost.values()))
        assert not any(lost.values()), lost
    ledger = place.project.load_ledger()
    verified = eventually(lambda: Verified(stack, ledger), lambda one: not one.wrong())
    assert verified.wrong() == []


def _switch_projector(place: LocalInstance, stack: dict[str, Any], *, on: bool) -> None:
    functions = place.session().client("lambda", endpoint_url=stack["endpoint"], region_name=REGION)
    mappings = functions.list_event_source_mappings(FunctionName=stack["functions"]["project"])
    for mapping in mappings["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)
    functions.close()
