"""Contacts over the real handlers: what a change of one field rewrites."""

from __future__ import annotations

from typing import Any

from tests.support.api_client import Client
from tests.support.deployment import Served


def test_editing_one_field_rewrites_only_its_postings(served: Served, acme: Client) -> None:
    contact = acme.good("POST", "/contacts", {"name": "Quincy Adams", "phone": "0355550000"})["id"]
    served.catch_up()
    before = derived(served, contact)
    acme.good("PATCH", f"/contacts/{contact}", {"phone": "0399990000"})
    served.catch_up()
    after = derived(served, contact)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert changed
    assert all("#035" in key or "#039" in key for key in changed)
    assert [c["id"] for c in acme.everything("/contacts?q=039999")] == [contact]
    assert acme.everything("/contacts?q=035555") == []
    acme.good("DELETE", f"/contacts/{contact}")
    served.catch_up()


def derived(served: Served, contact: str) -> dict[str, Any]:
    """The derived items of a contact by their sort keys, with the numbers that wrote them."""
    found = served.dynamodb.query(
        TableName=served.table.name,
        KeyConditionExpression="PK = :pk",
        ExpressionAttributeValues={":pk": {"S": f"acme#~Contact#{contact}#-"}},
    )
    return {item["SK"]["S"]: item for item in found["Items"] if "GSI2PK" in item}
