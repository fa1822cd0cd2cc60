"""A stop of the local AWS is a pause: nothing stored is lost, and nothing undelivered."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from daicho_cli.local import lifecycle, server
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from tests.e2e.api import TIMEOUT, eventually, everything


def test_a_stop_loses_neither_data_nor_a_stream_record(
    place: LocalInstance | None, stack: dict[str, Any]
) -> None:
    if place is None:
        pytest.skip("it stops the local AWS, and this one is somebody's own")
    headers = {"authorization": f"Bearer {stack['tokens']['acme']}"}
    with httpx.Client(base_url=stack["url"], headers=headers, timeout=TIMEOUT) as api:
        made = api.put("/artists/before", json={"name": "Before The Stop"})
        assert made.is_success, made.text
        eventually(lambda: everything(api, "/artists", name="before"), bool)
        before = api.get("/artists/before").json()
        _switch_projector(place, stack, on=False)
        try:
            body = {"name": "Zadie Undelivered"}
            assert api.put("/artists/undelivered", json=body).is_success
            lifecycle.down(place, print)
            server.start(place)
            assert api.get("/artists/before").json() == before
            assert everything(api, "/artists", name="zadie") == []
        finally:
            _switch_projector(place, stack, on=True)
        found = eventually(lambda: everything(api, "/artists", name="zadie"), bool)
        assert [artist["id"] for artist in found] == ["undelivered"]


def _switch_projector(place: LocalInstance, stack: dict[str, Any], *, on: bool) -> None:
    client = place.session().client("lambda", endpoint_url=stack["endpoint"], region_name=REGION)
    mappings = client.list_event_source_mappings(FunctionName=stack["functions"]["project"])
    for mapping in mappings["EventSourceMappings"]:
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)
    client.close()
