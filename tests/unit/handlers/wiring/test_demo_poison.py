"""The switch of the demonstration: it exists at stage local, and wraps nothing elsewhere."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.handlers.wiring.demo_poison import PoisonedLedger, with_poison_switch
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.operations.poison_switch import (
    PoisonOnPurposeError,
    find_poisoned_entity,
    turn_off,
    turn_on,
)
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context, environment

NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)


def open_table() -> Table:
    dynamo: Any = MemoryDynamoDB(lambda: NOW)
    return Table(dynamo, "daicho")


def build(environ: Any, ledger: Any, dependencies: Any) -> Any:
    """A handler that computes a song by its ledger."""
    return lambda _event, _context: ledger.find_enabled_plan("Song", 2).fields


def test_a_deployed_handler_is_the_one_that_was_built() -> None:
    given: list[Any] = []

    def record(*arguments: Any) -> Any:
        given.append(arguments)
        return record

    dependencies = Dependencies(table=lambda *_, **__: pytest.fail("the table is read"))
    for stage in ("dev", "prod"):
        environ = environment("t", STAGE=stage)
        assert with_poison_switch(record)(environ, LEDGER, dependencies) is record
        assert given.pop() == (environ, LEDGER, dependencies)


def test_records_of_the_entity_fail_while_the_switch_is_on() -> None:
    table = open_table()
    dependencies = Dependencies(table=lambda *_, **__: table)
    handler = with_poison_switch(build)(environment("t", STAGE="local"), LEDGER, dependencies)
    turn_on(table, "Artist", NOW)
    assert "artist" in handler({}, Context())
    turn_on(table, "Song", NOW)
    with pytest.raises(PoisonOnPurposeError, match="Song: refused on purpose"):
        handler({}, Context())
    turn_off(table, NOW)
    assert find_poisoned_entity(table) is None
    assert "artist" in handler({}, Context())


def test_a_poisoned_ledger_is_the_ledger_in_all_else() -> None:
    ledger = PoisonedLedger(LEDGER)
    ledger.entity = "Song"
    assert ledger.entities is LEDGER.entities
    assert ledger.current_generation("Song") is LEDGER.current_generation("Song")
