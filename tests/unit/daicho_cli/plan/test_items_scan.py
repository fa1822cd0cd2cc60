"""The price of a scan, and the question before it."""

from __future__ import annotations

import typer
from typer.testing import CliRunner, Result

from daicho_cli.aws import TableSize
from daicho_cli.cost.prices import load_prices
from daicho_cli.plan.items import ScanOptions, confirm_scan

LARGE = TableSize(items=1_000_000, bytes=8 * 1024 * 1_000_000)


def run(size: TableSize, options: ScanOptions, given: str = "") -> Result:
    app = typer.Typer()

    @app.command()
    def ask() -> None:
        confirm_scan(size, load_prices(), options)
        typer.echo("read")

    return CliRunner().invoke(app, [], input=given)


def test_the_price_is_printed_before_the_question() -> None:
    result = run(LARGE, ScanOptions(500), "y\n")
    assert "read" in result.stdout
    price, question = result.stderr.splitlines()[:2]
    assert price == (
        "A scan of the whole table: ~1,000,000 read units, ~$0.12, 33 min at 500 units/s"
    )
    assert question.startswith("Read the whole table?")


def test_the_price_of_a_table_that_was_not_measured_is_unknown() -> None:
    result = run(TableSize(), ScanOptions(500, confirmed=True))
    assert "the price is unknown" in result.stderr
