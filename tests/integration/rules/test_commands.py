"""Load and export: rows keep the rules, and decimals their scale."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho.book.book import Book
from daicho.plan.lockfile import write_lock_file
from daicho.storage.table import Table
from daicho_cli.main import app
from tests.support.repository import ROOT
from tests.support.ruled_domains.bills import Bill
from tests.support.ruled_domains.invoices import Customer, Invoice, Parcel
from tests.support.ruled_project import DOMAIN_PACKAGE, LEDGER

Run = Callable[..., Any]
DATES: dict[str, Any] = {"issued": "2026-11-01", "due": "2026-11-30"}


@pytest.fixture
def run(dynamo: str, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call a command of the project on this test's table."""
    settings = f'name = "Ruled"\nsource = "{ROOT}"\ndomains = "{DOMAIN_PACKAGE}"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.daicho]\n{settings}", "utf-8")
    write_lock_file(LEDGER, tmp_path / "generations.json")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Any:
        where = ["--tenant", "acme", "--table", table.name, "--endpoint", dynamo]
        return CliRunner().invoke(app, [*arguments, *where])

    return call


@pytest.fixture
def book(table: Table) -> Book:
    return Book(table, LEDGER, "acme")


def load(run: Run, entity: str, *rows: Any, options: tuple[str, ...] = ()) -> list[Any]:
    """Load rows; what was rejected: line, field, and the message."""
    file = Path("rows.ndjson")
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    result = run("load", entity, str(file), "--again", *options)
    assert result.exit_code in (0, 3), result.output
    rejected = Path(f"{file}.rejected.ndjson")
    if not rejected.exists():
        return []
    lines = [json.loads(line) for line in rejected.read_text().splitlines()]
    return [(each["line"], each["error"]["field"], each["error"]["detail"]) for each in lines]


def test_rows_are_computed_and_checked(run: Run, book: Book) -> None:
    book.create(Customer(id="c"))
    row = {"id": "1", "customer": "c", **DATES, "lines": [{"price": "7.10"}]}
    rejected = load(
        run,
        "Invoice",
        row,
        {**row, "id": "2", "total": "7.1", "gross": "7.810"},
        {**row, "id": "3", "total": "8"},
        {**row, "id": "4", "due": "2026-10-31"},
        {**row, "id": "5", "lines": [{"price": "1"}] * 4},
        {**row, "id": "6", "status": "paid"},
    )
    assert [(line, field) for line, field, _ in rejected] == [
        (3, "total"),
        (4, "issued, due"),
        (5, "total"),
        (6, "status"),
    ]
    assert "is 8, but the other fields give 7.1" in rejected[0][2]
    shown = book.get(Invoice.key("1"))
    assert (str(shown.total), str(shown.gross)) == ("7.10", "7.8100")
    assert book.get(Invoice.key("2")).total == shown.total


def test_a_row_replaces_only_what_was_checked(
    run: Run, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.put(Parcel(id="p"))
    real = Table.put

    def put(self: Table, item: Any, **named: Any) -> Any:
        monkeypatch.setattr(Table, "put", real)
        book.change(Parcel.key("p"), {"state": "sent"})
        return real(self, item, **named)

    monkeypatch.setattr(Table, "put", put)
    file = Path("rows.ndjson")
    file.write_text(json.dumps({"id": "p", "state": "packed"}) + "\n", "utf-8")
    result = run("load", "Parcel", str(file))
    assert (result.exit_code, "cannot become" in result.output) == (3, True)
    assert book.get(Parcel.key("p")).state == "sent"


def test_rows_keep_the_rules_over_stored_items(run: Run, book: Book) -> None:
    row = {"id": "b", "owner": "clerk", "state": "open", "amount": "1.00"}
    assert load(run, "Bill", row, {**row, "state": "void"}, {**row, "rate": 3}) == [
        (3, "state", "'void' cannot become 'open': it is final")
    ]
    changed = {**row, "state": "void", "amount": "2.00"}
    detail = "does not change while state is 'paid' or 'void'"
    assert load(run, "Bill", changed) == [(1, "amount", detail)]
    assert str(book.get(Bill.key("b")).amount) == "1.00"
