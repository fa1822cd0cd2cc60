"""The switch of the demonstration."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.local.poison import (
    PoisonedLedger,
    PoisonOnPurposeError,
    find_poisoned_entity,
    read_switch_first,
    turn_off,
    turn_on,
)
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context

NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)


def open_table() -> Table:
    dynamo: Any = MemoryDynamoDB(lambda: NOW)
    return Table(dynamo, "daicho")


def test_records_of_the_entity_fail_while_the_switch_is_on() -> None:
    table, ledger = open_table(), PoisonedLedger(LEDGER)
    handler = read_switch_first(
        lambda _event, _context: ledger.find_enabled_plan("Song", 2).fields, ledger, table
    )
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
