"""Objects of the failure bucket, parted into a tenant's records and the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.stream.failed_batch import split_by_tenant


def build_record(tenant: str) -> dict[str, Any]:
    return {"dynamodb": {"Keys": {"PK": {"S": f"{tenant}#Song#1"}, "SK": {"S": "-"}}}}


def render_batch(*tenants: str, as_text: bool) -> bytes:
    event: Any = {"Records": [build_record(each) for each in tenants], "shardId": "s"}
    whole = {
        "requestContext": {"condition": "c"},
        "DDBStreamBatchInfo": {"shardId": "s"},
        "payload": json.dumps(event) if as_text else event,
    }
    return json.dumps(whole).encode()


@pytest.mark.parametrize("as_text", [True, False])
def test_of_a_batch_the_tenants_records_are_cut_out(as_text: bool) -> None:
    found = split_by_tenant(render_batch("t", "u", "t2", "t", as_text=as_text), "t")
    assert (found.shard, len(found.records)) == ("s", 2)
    assert found.rest == render_batch("u", "t2", as_text=as_text)
    assert split_by_tenant(render_batch("t", "t", as_text=as_text), "t").rest is None
    others = render_batch("u", "t2", as_text=as_text)
    assert split_by_tenant(others, "t") == split_by_tenant(others, "v")
    assert split_by_tenant(others, "t").rest == others


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{}", b'{"payload": "x"}', b'"t#Song"'])
def test_what_is_something_else_is_left_alone(body: bytes) -> None:
    assert split_by_tenant(body, "t").records == ()
    assert split_by_tenant(body, "t").rest == body
