"""The page of access patterns: every route, with its index, key and reads."""

from __future__ import annotations

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.generate.access_patterns import render_access_patterns
from tests.support.sample_rooms import domain


def test_each_kind_of_question_says_index_key_and_reads() -> None:
    daicho = Daicho(domain)
    page = render_access_patterns(daicho, daicho.append_generations(Ledger()))
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    wanted = {
        "GET /rooms/{room}/shelves": "| PK `t#Shelf#{room}#{shard}`, merged over 3 shards",
        "/rooms/{room}/shelves/{id}": "| PK `t#Shelf#{room}#{shard}`, SK `{id}` | ",
        "GET /shelves?name=": "| GSI2PK `t#Shelf.search#1#{gram}`",
        "GET /named/{name}": "| GSI2PK `t#Shelf.named#1#{name}`, by created at descending",
        "GET /charts/{name}": "| GSI3PK `t#Shelf.rooms#1#{name}`, by total descending",
        "GET /shelves/{shelf}/plants": "| PK `t#Stand#{shelf}` |",
    }
    for route, cells in wanted.items():
        assert cells in rows[route], rows[route]
    assert "GET: 1; " in rows["/rooms/{room}/shelves/{id}"]
    assert "Tidy up: `" in rows["GET /tidy?name="]
    assert "Not shown" not in page
