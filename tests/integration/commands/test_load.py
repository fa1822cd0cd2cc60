"""The command `daicho load`: rows put aside, copied and unique values, and going on after a cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from typer.testing import CliRunner

from daicho.errors import TenantClosed, UnprocessedError
from daicho.layout.backfill_state import BackfillState
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan.lockfile import write_lock_file
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from daicho_cli.load.checkpoint import open_checkpoint, render_checkpoint_path
from daicho_cli.load.loader import Loader, read_rejected
from daicho_cli.load.rows import RowPreparer
from daicho_cli.load.writers import BatchWriter, interleave_by_partition
from daicho_cli.main import app
from tests.support.account_domains.accounts import Account
from tests.support.derived_state import items_of
from tests.support.repository import ROOT
from tests.support.sample_domains.music import Artist, Download, Song
from tests.support.sample_project import LEDGER
from tests.support.unique_accounts import DOMAIN_PACKAGE, Accounts
from tests.support.unique_accounts import LEDGER as ACCOUNT_LEDGER

NOON = "2026-11-21T12:00:00.000000Z"
Run = Callable[..., Any]


@pytest.fixture
def daicho(dynamo: str, table_name: str, project: Path) -> Run:
    """Call the command on this test's table."""

    def run(entity: str, file: Path, *more: str) -> Any:
        where = ["--tenant", "acme", "--table", table_name, "--endpoint", dynamo]
        return CliRunner().invoke(app, ["load", entity, str(file), *where, *more])

    return run


def stored(dynamodb: DynamoDBClient, table_name: str) -> dict[str, Image]:
    return {item["id"]["S"]: item for item in items_of(dynamodb, table_name)}


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


GOOD = {"id": "1", "title": "Aja", "artist": "3", "released": 1977}


def change(**values: Any) -> bytes:
    """A row that differs from one that can be loaded."""
    return json.dumps({**GOOD, **values}).encode()


def extend(text: bytes) -> bytes:
    return change(id="2")[:-1] + b", " + text + b"}"


# A row that cannot be loaded, and the field that is named.
BAD_ROWS: list[tuple[bytes, str | None]] = [
    (b"not json", None),
    (change(released="soon"), "released"),
    (b'["a", "row"]', None),
    (change(colour="red"), "colour"),
    (extend(b'"note": NaN'), None),
    (b'{"id": "5", "title": "\xff"}', None),
    (change(id="x" * 2048), "id"),
    (change(title="\ud800"), "title"),
    (change(created_at="yesterday"), "created_at"),
    (change(id=".."), "id"),
    (change(id="%2E"), "id"),
    (change(id="50%"), "id"),
    (change(id="who?"), "id"),
    (extend(b'"released": 1e400').replace(b'"released": 1977, ', b""), "released"),
    (change(released="1_977"), "released"),
    (change().replace(b"1977", b"1977.00000000000000001"), "released"),
    (extend(b'"id": "10"'), None),
]


def test_bad_rows_are_put_aside_as_they_are_with_their_line(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "songs.ndjson"
    good = [change(), b"", change(id="8", created_at="2020-02-29T09:00:00+09:00")]
    file.write_bytes(b"\n".join([*good, *(line for line, _ in BAD_ROWS)]))
    result = daicho("Song", file)
    assert result.exit_code == 3
    assert f"2 items loaded, {len(BAD_ROWS)} rejected" in result.output
    assert "line 5: released" in result.output
    text = Path(f"{file}.rejected.ndjson").read_text()
    aside = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    assert [(each["line"], each["error"]["field"]) for each in aside] == [
        (number, field) for number, (_, field) in enumerate(BAD_ROWS, len(good) + 1)
    ]
    assert "1e400" in text
    assert "'id' is given twice" in aside[-1]["error"]["detail"]
    found = stored(dynamodb, table_name)
    assert set(found) == {"1", "8"}
    assert found["8"]["created_at"] == {"S": "2020-02-29T00:00:00.000000Z"}


def test_rows_of_one_partition_are_spread() -> None:
    items: list[Image] = [
        {"PK": {"S": pk}, "SK": {"S": f"{number}"}} for pk in "abc" for number in range(3)
    ]
    items.append({"PK": {"S": "a"}, "SK": {"S": "1"}, "last": {"BOOL": True}})
    order = interleave_by_partition(items)
    assert "".join(item["PK"]["S"] for item in order) == "abcabcabc"
    assert order[3] == items[-1]


class Cut(Exception):
    """The process was ended."""


class Cutting(Table):
    """A table that ends the process after some batches."""

    left = 0

    def batch_write(self, puts: Any = (), deletes: Any = (), *, retry_budget: Any = None) -> None:
        self.left -= 1
        if self.left < 0:
            raise Cut
        super().batch_write(puts, deletes)


def loader(table: Table, file: Path, entity: Any, *, block: int = 100) -> Loader:
    path = render_checkpoint_path(file, "test", table.name, "acme", entity.__name__)
    checkpoint = open_checkpoint(path, file, NOON)
    preparer = RowPreparer(table, LEDGER, "acme", entity, checkpoint.progress)
    return Loader(file, checkpoint, preparer, BatchWriter(table, 1, RateLimiter(None)), block)


@pytest.mark.parametrize("cut_after", range(9))
def test_a_load_that_was_cut_off_goes_on(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path, cut_after: int
) -> None:
    # Every third row is bad; rows lack ids, which must be made alike when a block comes again.
    rows: list[Any] = [{"name": f"n{n}"} if n % 3 else {"nome": n} for n in range(300)]
    file = written(tmp_path / "artists.ndjson", rows)
    table = Cutting(dynamodb, table_name)
    table.left = cut_after
    with pytest.raises(Cut):
        loader(table, file, Artist).run()
    cut_at = len(list(items_of(dynamodb, table_name)))
    table.left = 1000
    state = loader(table, file, Artist).run()
    assert (state.loaded, state.rejected, state.finished) == (200, 100, True)
    found = stored(dynamodb, table_name)
    assert sorted(item["name"]["S"] for item in found.values()) == sorted(
        row["name"] for row in rows if "name" in row
    )
    assert cut_at <= len(found) == 200
    assert {item["created_at"]["S"] for item in found.values()} == {NOON}
    aside = Path(f"{file}.rejected.ndjson").read_text().splitlines()
    assert [json.loads(line)["line"] for line in aside] == list(range(1, 301, 3))


def test_twice_is_once_and_a_changed_file_is_noticed(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "artists.ndjson", [{"id": "1", "name": "One"}])
    assert "1 items loaded" in daicho("Artist", file).output
    before = stored(dynamodb, table_name)
    assert "was loaded before" in daicho("Artist", file).output
    assert stored(dynamodb, table_name) == before
    written(file, [{"id": "1", "name": "Two"}])
    result = daicho("Artist", file)
    assert result.exit_code == 1
    assert "has changed since its load began" in result.output
    assert stored(dynamodb, table_name) == before
    assert daicho("Artist", file, "--again").exit_code == 0
    assert stored(dynamodb, table_name)["1"]["name"] == {"S": "Two"}


def test_what_dynamodb_leaves_undone_stops_the_load(
    daicho: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(self: Table, puts: Any, **_: Any) -> None:
        raise UnprocessedError(list(puts))

    monkeypatch.setattr(Table, "batch_write", leave)
    monkeypatch.setattr("daicho_cli.load.writers.RETRY_S", 0.0)
    result = daicho("Artist", written(tmp_path / "a.ndjson", [{"name": "n"}]))
    assert result.exit_code == 1
    assert "continues from there" in result.output


@pytest.mark.parametrize(
    ("entity", "reason"), [("Manual", "versioned by pointer"), ("Document", "split")]
)
def test_what_is_stored_as_several_items_cannot_be_loaded(
    entity: str, reason: str, daicho: Run, tmp_path: Path
) -> None:
    result = daicho(entity, written(tmp_path / "a.ndjson", [{"title": "t", "text": "x"}]))
    assert result.exit_code == 1
    assert f"{entity} is {reason}: its items are written through the API alone" in result.output


def test_nothing_is_loaded_for_a_tenant_that_is_closed(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "artists.ndjson", [{"id": "1", "name": "One"}])
    Table(dynamodb, table_name).put(to_key_image(build_closed_mark_key("acme")))
    for again in ((), ("--again",)):
        result = daicho("Artist", file, *again)
        assert result.exit_code == 1
        assert "the tenant acme is closed for good" in result.output
    (mark,) = items_of(dynamodb, table_name)
    assert mark == to_key_image(build_closed_mark_key("acme"))
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_load_ends_when_its_tenant_is_closed(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    class Closed(Table):
        def batch_write(
            self, puts: Any = (), deletes: Any = (), *, retry_budget: Any = None
        ) -> None:
            super().batch_write(puts, deletes)
            self.put(to_key_image(build_closed_mark_key("acme")))

    rows = [{"id": str(n), "name": "n"} for n in range(30)]
    file = written(tmp_path / "artists.ndjson", rows)
    with pytest.raises(TenantClosed, match="the tenant acme is closed for good"):
        loader(Closed(dynamodb, table_name), file, Artist, block=10).run()
    assert len(list(items_of(dynamodb, table_name))) == 10 + 1


def test_rows_are_not_loaded_with_an_older_lock_file_than_the_stage_has(
    daicho: Run, dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    item = BackfillState("Artist", 1, LEDGER.newest_generation("Artist").number + 1).to_item()
    Table(dynamodb, table_name).batch_write([item])
    file = written(tmp_path / "artists.ndjson", [{"id": "1", "name": "Steely Dan"}])
    done = daicho("Artist", file)
    assert done.exit_code == 1
    assert "take the lock file that was deployed" in done.output.replace("\n", " ")
    assert [each for each in items_of(dynamodb, table_name) if "type" in each] == []


def test_what_is_copied_is_read_once(
    dynamodb: DynamoDBClient, table_name: str, tmp_path: Path
) -> None:
    reads: list[Any] = []

    class Counting(Table):
        def get(self, key: Any, *, consistent: bool = False, **_: Any) -> Image | None:
            reads.append(key)
            return super().get(key, consistent=consistent)

    table = Counting(dynamodb, table_name)
    songs = [{"id": f"s{n}", "title": "t", "artist": f"a{n}", "released": 1} for n in range(3)]
    loader(table, written(tmp_path / "songs.ndjson", songs), Song).run()
    at = "2026-01-01T00:00:00Z"
    rows: list[Any] = [{"song": f"s{n % 4}", "id": str(n), "at": at} for n in range(40)]
    rows.append({"song": "s1", "id": "copied", "at": at, "artist": "mine"})
    rows.append({"song": "s1", "id": "now"})
    state = loader(table, written(tmp_path / "d.ndjson", rows), Download).run()
    assert (state.loaded, state.rejected) == (32, 10)
    assert len([key for key in reads if key != build_closed_mark_key("acme")]) == 4
    found = stored(dynamodb, table_name)
    assert found["1"]["artist"] == {"S": "a1"}
    assert found["copied"]["artist"] == {"S": "mine"}  # as an export of another time has it
    assert found["now"]["at"] == {"S": NOON}
    aside = (tmp_path / "d.ndjson.rejected.ndjson").read_text().splitlines()
    assert {json.loads(line)["error"]["field"] for line in aside} == {"song"}


@pytest.fixture
def accounts(dynamodb: DynamoDBClient, table_name: str) -> Accounts:
    return Accounts(dynamodb, table_name)


@pytest.fixture
def load(dynamo: str, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Load rows into this test's table, by a project whose domains have unique values."""
    configuration = f'[tool.daicho]\nname = "A"\nsource = "{ROOT}"\ndomains = "{DOMAIN_PACKAGE}"\n'
    (tmp_path / "pyproject.toml").write_text(configuration, "utf-8")
    write_lock_file(ACCOUNT_LEDGER, tmp_path / "generations.json")
    monkeypatch.chdir(tmp_path)

    def run(rows: list[dict[str, Any]], *more: str) -> Any:
        file = written(tmp_path / "rows.ndjson", rows)
        where = ["--tenant", "one", "--table", table_name, "--endpoint", dynamo]
        return CliRunner().invoke(app, ["load", "Account", str(file), *where, *more])

    return run


def test_rows_with_a_value_that_is_taken_are_refused(
    load: Run, accounts: Accounts, tmp_path: Path
) -> None:
    accounts.book().create(Account(id="there", email="there@x"))
    rows = [{"id": str(number), "email": f"{number}@x"} for number in range(60)]
    rows += [{"id": "twin", "email": "7@X"}, {"id": "late", "email": "THERE@x"}]
    rows += [{"id": "long", "handle": "x" * 3000}]
    result = load(rows)
    assert result.exit_code == 3, result.output
    assert "60 items loaded, 3 rejected" in result.output
    assert "line 61: email: another Account has this value of email" in result.output
    rejected = {
        each["line"]: each["error"]["field"]
        for each in read_rejected(tmp_path / "rows.ndjson.rejected.ndjson")
    }
    assert rejected == {61: "email", 62: "email", 63: "handle"}
    assert accounts.check().items == 61
