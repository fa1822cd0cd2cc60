"""Tenants are apart, and nobody is let in without a token."""

from __future__ import annotations

from typing import Any

import httpx

from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, everything


def test_tenants_see_nothing_of_each_other(stack: dict[str, Any]) -> None:
    with client(stack, "acme") as acme, client(stack, "globex") as globex:
        acme.put("/artists/only-acmes", json={"name": "Quux Only"}).raise_for_status()
        delivered(acme)
        assert [each["id"] for each in everything(acme, "/artists", name="quux")] == ["only-acmes"]
        assert globex.get("/artists/only-acmes").status_code == 404
        assert everything(globex, "/artists", name="quux") == []
        first = acme.get("/artists", params={"name": "", "limit": 1}).json()
        stolen = globex.get("/artists", params={"name": "", "limit": 1, "cursor": first["cursor"]})
        assert stolen.status_code == 400
        assert stolen.headers["content-type"] == "application/problem+json"
        acme.delete("/artists/only-acmes").raise_for_status()


def test_without_a_token_nobody_gets_in(stack: dict[str, Any]) -> None:
    assert httpx.get(f"{stack['url']}/artists?name=a").status_code == 401
    headers = {"authorization": "Bearer forged"}
    assert httpx.get(f"{stack['url']}/artists?name=a", headers=headers).status_code == 401
