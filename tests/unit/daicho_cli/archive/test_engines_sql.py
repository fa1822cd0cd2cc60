"""The SQL of a query for Athena, and its parameters as literals."""

from __future__ import annotations

import duckdb

from daicho.archive.reader import Selection
from daicho_cli.archive.engines import render_literal, select_rows, select_statement
from tests.support.archive_commands import TEXTS


def test_a_parameter_is_a_literal_whatever_it_holds() -> None:
    for each in TEXTS:
        found = duckdb.connect(":memory:").execute(f"SELECT {render_literal(each)}").fetchall()
        assert found == [(each,)]


def test_the_partitions_stand_in_the_statement() -> None:
    asked = select_statement(
        select_rows(5), ("d'b", 'ta"ble'), Selection(tenant="t"), ["A", "B"], ["s3://x"]
    )
    assert asked.sql == (
        "WITH archive AS (SELECT tenant, entity, gen, deleted_at, seq, raw, item, dt "
        'FROM "d\'b"."ta""ble" WHERE entity IN (?, ?) AND tenant = ? AND "$path" NOT IN (?)) '
        "SELECT tenant, entity, gen, deleted_at, seq, raw, item FROM archive "
        "ORDER BY deleted_at, seq LIMIT 5"
    )
    assert asked.parameters == ("A", "B", "t", "s3://x")
