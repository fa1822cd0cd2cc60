"""The page of access patterns: every route, with its index, key and reads."""

from __future__ import annotations

import json
import re

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.generate.access_patterns import render_access_patterns
from tests.support.repository import ROOT
from tests.support.sample_rooms import domain


def test_every_route_of_the_api_is_among_the_access_patterns() -> None:
    described = json.loads(((ROOT / "docs/reference") / "openapi.json").read_text("utf-8"))
    page = ((ROOT / "docs/reference") / "access-patterns.md").read_text("utf-8")
    shown = {each.partition("?")[0] for each in re.findall(r"^\| `([A-Z]+ [^`]+)` \|", page, re.M)}
    served = {
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method in methods
        if method in {"get", "post", "put", "patch", "delete"}
    }
    assert len(served) > 50
    assert served == shown


def test_each_kind_of_question_says_index_key_and_reads() -> None:
    daicho = Daicho(domain)
    page = render_access_patterns(daicho, daicho.append_generations(Ledger()))
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    wanted = {
        "GET /rooms/{room}/shelves": "| table | PK `t#Shelf#{room}#{shard}`, merged over 3 shards",
        "GET /rooms/{room}/shelves/{id}": "| table | PK `t#Shelf#{room}#{shard}`, SK `{id}` | 1 |",
        "GET /shelves?name=": "| GSI2 | GSI2PK `t#Shelf.search#1#{gram}`",
        "GET /named/{name}": "| GSI2 | GSI2PK `t#Shelf.named#1#{name}`, by created at descending",
        "GET /charts/{name}": "| GSI3 | GSI3PK `t#Shelf.rooms#1#{name}`, by total descending",
        "GET /shelves/{shelf}/plants": "| table | PK `t#Stand#{shelf}` |",
    }
    for route, cells in wanted.items():
        assert cells in rows[route], rows[route]
    assert "Tidy up: `" in rows["GET /tidy?name="]
    assert "Not shown" not in page
