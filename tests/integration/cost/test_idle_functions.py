"""What the scheduled functions do without traffic: the units they read, the metrics they emit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from unittest.mock import Mock

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import audit, forget, rollup, sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.storage.table import Table
from daicho_cli.cost import footprint
from daicho_cli.cost.units import Units
from tests.support.memory_stores import MemoryBucket
from tests.support.meter import Meter
from tests.support.metric_lines import read_values
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context, environment

pytestmark = pytest.mark.dynoxide("capacity units")

BUILDERS: Mapping[str, Callable[[Mapping[str, str], Dependencies], Handler]] = {
    "rollup": lambda environ, dependencies: rollup.build(environ, LEDGER, dependencies),
    "audit": lambda environ, dependencies: audit.build(environ, LEDGER, dependencies),
    "forget": forget.build,
    "sweep": lambda environ, dependencies: sweep.build(environ, LEDGER, dependencies),
}
DIRTY_SHARDS = 16


def test_all_scheduled_functions_are_among_them() -> None:
    assert BUILDERS.keys() == footprint.SCHEDULED_MINUTES.keys()
    assert footprint.IDLE_METRICS == 0


@pytest.mark.parametrize("name", BUILDERS)
def test_an_idle_run_reads_and_emits_what_is_billed(
    name: str, dynamodb: DynamoDBClient, table_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket, table = MemoryBucket(), Table(dynamodb, table_name)
    limits = {"DIRTY_SHARDS": str(DIRTY_SHARDS), "VERIFY_PERCENT": "1"}
    environ = environment(table_name, ARCHIVE_BUCKET="archive", **limits)
    dependencies = Dependencies(
        table=lambda *_, **__: table, bucket=lambda *_, **__: bucket, machine=lambda _: Mock()
    )
    run = BUILDERS[name](environ, dependencies)
    run({}, Context())  # the audit, and the sample of the day, begin in the first run of a day
    capsys.readouterr()
    with Meter(dynamodb).counting() as consumed:
        run({}, Context())
    assert read_values(capsys.readouterr().out) == {}
    # The rollup reads a page of each partition of dirty marks, and the fast counters' marks.
    expected = footprint.IDLE_UNITS.get(name, Units(read=1 + DIRTY_SHARDS / 2))
    assert Units(consumed.reads, consumed.writes) == expected
