"""Generated files are what the declarations say: `make generation docs openapi` writes them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho import Aggregate, Book, Count, Domain, Edge, Entity, Key, Listing, Search, uid
from daicho import field as declared
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.generate.access_patterns import access_patterns
from daicho_cli.generate.route_queries import asked_by
from daicho_cli.main import app
from daicho_cli.project import DOCS, write_or_check


@pytest.mark.parametrize("command", ["generation", "docs", "openapi"])
def test_a_committed_file_has_not_drifted(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--check"])
    assert result.exit_code == 0, result.output


def test_every_route_of_the_api_is_among_the_access_patterns() -> None:
    described = json.loads((DOCS / "openapi.json").read_text("utf-8"))
    page = (DOCS / "access-patterns.md").read_text("utf-8")
    shown = {each.partition("?")[0] for each in re.findall(r"^\| `([A-Z]+ [^`]+)` \|", page, re.M)}
    served = {
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method in methods
        if method in {"get", "post", "put", "patch", "delete"}
    }
    assert len(served) > 50
    assert served == shown


def test_drift_is_noticed_and_mended(tmp_path: Any) -> None:
    path = tmp_path / "page.md"
    runner = CliRunner()
    assert runner.invoke(app, ["docs", "--path", str(path), "--check"]).exit_code == 1
    assert not path.exists()
    assert runner.invoke(app, ["docs", "--path", str(path)]).exit_code == 0
    assert runner.invoke(app, ["docs", "--path", str(path), "--check"]).exit_code == 0
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    result = runner.invoke(app, ["docs", "--path", str(path), "--check"])
    assert (result.exit_code, "run make docs" in result.output) == (1, True)
    write_or_check(path, "other", check=False, make="make docs")
    assert path.read_text("utf-8") == "other"


class Shelf(Entity):
    room: str = declared()
    id: str = uid()
    name: str = declared()

    key = Key(room, id, shards=3)
    search = Search(name)
    named = Listing(name)
    rooms = Aggregate(Count(), room, within=name, ranked=True)


class Stand(Entity):
    shelf: str = declared()
    plant: str = declared()

    key = Edge(shelf, plant)


domain = Domain("rooms", Shelf, Stand)
domain.resource("/rooms/{room}/shelves/{id}", Shelf, "POST PUT GET LIST")
domain.resource("/shelves/{shelf}/plants/{plant}", Stand, "PUT DELETE LIST")
domain.answer("/shelves", Shelf.search)
domain.answer("/named/{name}", Shelf.named)
domain.answer("/charts/{name}", Shelf.rooms.top)


@domain.route("GET", "/tidy")
def tidy(book: Book, name: str) -> None:
    """Tidy up.

    Not shown.
    """
    for shelf in _named(book, name):
        book.put(Stand(shelf=shelf.id, plant="fern"))


def _named(book: Book, name: str) -> list[Shelf]:
    return book.page(Shelf.named(name)).items


def test_what_a_function_asks_is_read_off_its_code() -> None:
    assert sorted(asked_by(tidy)) == ["Shelf.named", "Stand.write"]


def test_each_kind_of_question_says_index_key_and_reads() -> None:
    daicho = Daicho(domain)
    page = access_patterns(daicho, daicho.appended(Ledger()))
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
