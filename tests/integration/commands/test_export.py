"""The command `daicho export`: what it writes, and that no cut loses or doubles a line."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from typer.testing import CliRunner

from daicho.book.book import Book
from daicho.errors import ThrottledError, UnavailableError
from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image, to_image
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.export import RETRY_S, Exporter, ExportSelection, LineMaker, open_checkpoint
from daicho_cli.main import app
from tests.support.derived_state import items_of
from tests.support.sample_domains.documents import Article, Document, Manual
from tests.support.sample_project import LEDGER

Run = Callable[..., Any]
NOW = 1_700_000_000


@pytest.fixture
def daicho(dynamo: str, table_name: str, project: Path) -> Run:
    """Call the command on this test's table."""

    def run(file: Path, *more: str) -> Any:
        where = ["--table", table_name, "--endpoint", dynamo]
        return CliRunner().invoke(app, ["export", str(file), *where, *more])

    return run


def base(tenant: str, entity: str, id: str, **fields: Any) -> Image:
    values = {"id": id, "type": entity, "gen": 1, "version": 2, "created_at": "2026", **fields}
    return {"PK": {"S": f"{tenant}#{entity}#{id}"}, "SK": {"S": "-"}, **to_image(values)}


def fill(dynamodb: DynamoDBClient, table_name: str, count: int = 60) -> None:
    """Songs of two tenants, each with a derived item, and a message."""
    items = []
    for tenant in ("acme", "acme2"):
        for n in range(count):
            song = base(tenant, "Song", str(n), title=f"Töne {n} #$", artist="a", released=n)
            row = {"PK": {"S": f"{tenant}#~Song#{n}#-"}, "SK": {"S": "titled#1#x"}}
            items += [song, {**row, "seq": {"S": "s"}, "GSI2PK": {"S": "p"}, "GSI2SK": {"S": "q"}}]
    items.append(base("acme", "Message", "m", text="gone", ttl=NOW))
    Table(dynamodb, table_name).batch_write(items)


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def ids(file: Path) -> list[str]:
    return sorted(f"{each['tenant']} {each['type']} {each['item']['id']}" for each in lines(file))


def in_table(item: Image) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


def songs(tenant: str, count: int = 60) -> list[str]:
    return [f"{tenant} Song {n}" for n in range(count)]


def test_an_entity_of_a_tenant_is_exported_with_its_values(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    fill(dynamodb, table_name)
    file = tmp_path / "deep" / "songs.ndjson"
    result = daicho(file, "--tenant", "acme", "--entity", "Song")
    assert result.exit_code == 0, result.output
    assert "60 items of 241" in result.output
    assert ids(file) == sorted(songs("acme"))
    (one,) = (each for each in lines(file) if each["item"]["id"] == "7")
    item = {"id": "7", "title": "Töne 7 #$", "artist": "a", "released": 7, "created_at": "2026"}
    assert one == {"tenant": "acme", "type": "Song", "version": 2, "item": item}


def test_everything_that_lives_and_raw_everything_that_stands(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    fill(dynamodb, table_name, 5)
    Table(dynamodb, table_name).put(base("acme", "Message", "n", text="here", ttl=4_000_000_000))
    later = dt.datetime.fromtimestamp(4_000_000_000, dt.UTC)
    heartbeat = build_heartbeat(HeartbeatName("run", "Song"), 0, later)
    Table(dynamodb, table_name).put(heartbeat)  # of the stack, and of no entity
    assert daicho(tmp_path / "plain").exit_code == 0
    assert ids(tmp_path / "plain") == sorted(
        [*songs("acme", 5), *songs("acme2", 5), "acme Message n"]
    )
    assert daicho(tmp_path / "raw", "--raw", "--segments", "3", "--consistent").exit_code == 0
    raw = [each["Item"] for each in lines(tmp_path / "raw")]
    assert len(raw) == 23
    assert sorted(raw, key=in_table) == sorted(items_of(dynamodb, table_name), key=in_table)
    assert daicho(tmp_path / "songs", "--raw", "--entity", "Song", "--tenant", "acme2").stdout
    found = [each["Item"] for each in lines(tmp_path / "songs")]
    assert {each["PK"]["S"].split("#")[0] for each in found} == {"acme2"}
    assert len(found) == 5


def test_what_is_stored_as_several_items_is_exported_whole(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    book = Book(Table(dynamodb, table_name), LEDGER, "acme")
    for number in range(3):
        book.put(Manual(id="m", title="M", text=f"text {number}"))
        book.put(Article(id="a", title="A", text=f"text {number}"))
    book.create(Manual(id="gone", title="M", text="x"))
    book.delete(Manual.key("gone"))
    assert daicho(tmp_path / "raw", "--raw").exit_code == 0
    assert len(lines(tmp_path / "raw")) == 10  # every version, and the mark
    sections: dict[str, Any] = {f"part {n}": {"text": "x" * 900, "n": n} for n in range(5)}
    book.create(Document(id="d", title="Whole", sections=sections))
    assert daicho(tmp_path / "out").exit_code == 0
    found = {each["type"]: each for each in lines(tmp_path / "out")}
    for kind in ("Article", "Manual"):
        assert (found[kind]["version"], found[kind]["item"]["text"]) == (3, "text 2")
    document = found["Document"]["item"]
    assert document.pop("created_at")
    assert document == {"id": "d", "title": "Whole", "sections": sections}
    assert len(found) == len(lines(tmp_path / "out")) == 3


def test_values_are_as_the_api_writes_them() -> None:
    item = base(
        "acme",
        "Sale",
        "1",
        amount=100,
        tags={"b", "a"},
        deep={"pi": Decimal("3.25"), "long": Decimal("3.1415926535897932384626"), "on": True},
        _restored={"gen": 1},
    )
    made = LineMaker(ExportSelection(), LEDGER, lambda: NOW)(ItemPage((item,), 1, None, 0.5))
    (found,) = [json.loads(made[1])["item"]]
    assert found["tags"] == ["a", "b"]
    assert found["deep"] == {"pi": 3.25, "long": "3.1415926535897932384626", "on": True}
    assert set(found) == {"id", "created_at", "amount", "tags", "deep"}
    raw = LineMaker(ExportSelection(raw=True), LEDGER, lambda: NOW)
    assert b'{"B": "AAE="}' in raw(ItemPage(({"b": {"B": b"\x00\x01"}},), 1, None, 0.5))[1]


def test_it_does_not_take_another_file_for_its_own(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    fill(dynamodb, table_name, 5)
    file = tmp_path / "out"
    file.write_text("mine")
    result = daicho(file)
    assert result.exit_code == 1
    assert "exists already" in result.output
    assert file.read_text() == "mine"
    assert daicho(file, "--again").exit_code == 0
    before = file.read_bytes()
    assert "was exported before: 10 items" in daicho(file).output
    result = daicho(file, "--tenant", "acme")
    assert result.exit_code == 1
    assert "something else" in result.output
    assert file.read_bytes() == before
    file.write_bytes(before[:-1])
    assert "has become shorter" in daicho(file).output
    assert "no entity is called Sing" in daicho(tmp_path / "x", "--entity", "Sing").output
    assert "at most 63 characters" in daicho(tmp_path / "x", "--tenant", "A B").output


class Cut(BaseException):
    """The process is gone."""


class Faulty:
    """A table whose requests take small pages, and fail as told."""

    def __init__(self, table: Table, fails: Callable[[int], BaseException | None]) -> None:
        self.table, self.fails, self.asked = table, fails, 0

    def scan(self, scan: Scan) -> ItemPage:
        self.asked += 1
        if error := self.fails(self.asked):
            raise error
        return self.table.scan(Scan(**{**vars(scan), "limit": 7}))


def exporter(
    file: Path, store: Faulty, *, most: int = 1, sleep: Callable[[float], None] = lambda _: None
) -> Exporter:
    checkpoint = open_checkpoint(file, {"of": "acme"}, 5)
    lines_of = LineMaker(ExportSelection("acme", ("Song",)), LEDGER, lambda: NOW)
    table: Any = store
    return Exporter(file, checkpoint, lines_of, table, most, RateLimiter(None), sleep=sleep)


@pytest.mark.parametrize("most", [1, 4])
def test_a_cut_anywhere_loses_and_doubles_nothing(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path, most: int
) -> None:
    fill(dynamodb, table_name, 40)
    table, file = Table(dynamodb, table_name), tmp_path / "out"
    cuts = 0
    for lives in (1, 2, 5, 9, 4, 100):
        # Every fifth request is throttled on the way.
        def fails(n: int, lives: int = lives) -> BaseException | None:
            if n == lives:
                return Cut()
            return ThrottledError("slow") if n % 5 == 0 else None

        try:
            exporter(file, Faulty(table, fails), most=most).run()
        except Cut:
            cuts += 1
            with file.open("ab") as half:
                half.write(b'{"half a li')
    assert cuts == 5
    assert ids(file) == sorted(songs("acme", 40))


def test_a_table_that_never_answers_ends_it_and_the_next_run_goes_on(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    fill(dynamodb, table_name, 20)
    table, file, now = Table(dynamodb, table_name), tmp_path / "out", [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    silent = Faulty(table, lambda n: UnavailableError("down") if n > 3 else None)
    stopped = exporter(file, silent, sleep=sleep)
    stopped.clock = lambda: now[0]
    with pytest.raises(UnavailableError):
        stopped.run()
    assert now[0] >= RETRY_S
    assert 0 < stopped.checkpoint.progress.scanned < 80
    state = exporter(file, Faulty(table, lambda _: None)).run()
    assert (state.items, state.finished) == (20, True)
    assert ids(file) == sorted(songs("acme", 20))
