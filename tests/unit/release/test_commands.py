"""What may write items of a stage with the lock file of a checkout."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.release.commands import CommandAdmission
from daicho.release.older_writers import LEASE_S, READERS_KNOW_S
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading, utc_now
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN, WITH_LIST, number

ONE, TWO = number(PLAIN), number(PLAIN, WITH_LIST)


def admit(ledger: Ledger, oldest: int, newest: int) -> tuple[MemoryTable, list[float]]:
    table, pauses = MemoryTable(), list[float]()
    table.batch_write([BackfillState("Member", oldest, newest).to_item()])
    CommandAdmission(table, ledger, ["Member"], pauses.append).check()
    return table, pauses


def test_a_generation_that_is_not_deployed_is_refused() -> None:
    with pytest.raises(ReleaseRefusedError, match="deploy first"):
        admit(TWO, 1, 1)
    # The lock file is ahead, and the declarations are those of the stage.
    admit(replace(TWO, written={"Member": 1}), 1, 1)


def test_older_declarations_write_an_older_generation() -> None:
    table, pauses = admit(replace(TWO, written={"Member": 1}), 2, 2)
    item = table.get(build_backfill_key("Member"))
    assert item is not None
    assert BackfillState.parse("Member", item) == BackfillState("Member", 1, 2, older_seen=1)
    assert pauses == [READERS_KNOW_S]


def test_a_command_that_still_writes_is_checked_and_announced_again() -> None:
    table, clock = MemoryTable(), [0.0]
    frozen = 0.0
    table.batch_write([BackfillState("Member", 2, 2).to_item()])
    ledger = replace(TWO, written={"Member": 1})
    admission = CommandAdmission(
        table,
        ledger,
        ["Member"],
        lambda _: None,
        lambda: ClockReading(monotonic=clock[0] - frozen, wall=clock[0]),
    )

    def read() -> BackfillState:
        return BackfillState.parse("Member", table.get(build_backfill_key("Member")) or {})

    admission.check()
    admission.check()
    assert read().older_seen == 1
    clock[0] = LEASE_S
    admission.check()
    assert read().older_seen == 2
    table.batch_write([replace(read(), newest=3).to_item()])
    clock[0] = 2 * LEASE_S
    frozen = LEASE_S  # the laptop was asleep
    with pytest.raises(ReleaseRefusedError, match="may hold images of generation 3"):
        admission.check()


def test_a_check_takes_one_request() -> None:
    # It is valid for 5 s: one request for each entity may take longer on a busy table.
    client = Mock(wraps=MemoryDynamoDB(utc_now))
    entities = [f"Member{number}" for number in range(40)]
    CommandAdmission(Table(client, "daicho"), ONE, entities, lambda _: None).check()
    assert len(client.mock_calls) == 1
