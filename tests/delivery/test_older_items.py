"""Items of an older generation that nobody announced, each case played step by step (rule 32).

A laptop slept between the check of its announcement and the request, for example.
"""

from __future__ import annotations

import pytest

from daicho.handlers import sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.item_cache import ItemCache
from daicho.testing.faults.code_versions import MARK, POISON_FOR_BOTH
from daicho.testing.stack_settings import ENVIRONMENT
from tests.delivery.test_hardest_cases import Stage, simulated
from tests.simulator.oracle.instance_reads import ApiInstance
from tests.simulator.releases.rebuilds import RATE
from tests.support.invocation_time import Time
from tests.support.metric_lines import read_values

__all__ = ["simulated"]
OPEN = ("Card", "open")
"""A listing that the second generation added."""


class Laptop(Stage):
    """A stage whose second release is complete, and code that still writes the first generation."""

    def __init__(self) -> None:
        super().__init__()
        self.put(1, id="1")
        self.release(2)
        self.start_rebuild()

    def read(self) -> set[tuple[str, str]]:
        """What an instance of the API that has cached nothing answers."""
        ledger = self.history.get_ledger(2)
        instance = ApiInstance(2, 2, ledger, ItemCache(self.deployment.clock.now))
        self.judge.refresh()
        chosen = self.judge.read(instance, ledger)
        self.running.run_to_end("rollup", {})
        assert self.judge.find_differences(chosen, ledger) == []
        return {*chosen}

    def sweep(self) -> None:
        """One run of the scheduled function."""
        deployment = self.deployment
        dependencies = Dependencies(
            table=lambda *_, **__: self.table,
            machine=lambda _arn: self.machine,
            now=deployment.clock.now,
        )
        environ = {**ENVIRONMENT, "REBUILD_UNITS": str(int(RATE))}
        handler = sweep.build(environ, self.history.get_ledger(2), dependencies)
        handler({}, _Context())


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return int(Time().left * 1_000)


def test_an_older_item_after_the_rebuild_ends_the_answers_that_lack_it_until_another_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stage = Laptop()
    assert stage.finish() == []
    assert OPEN in stage.read()
    key = stage.put(1, id="2")
    stage.running.drain()
    state = stage.read_state()
    assert (state.oldest, state.older_found != "") == (1, True)
    assert OPEN not in stage.read()
    capsys.readouterr()
    stage.sweep()
    stage.sweep()
    assert read_values(capsys.readouterr().out)["OldGenerationWritten"] == 1
    assert len(stage.rebuilds.executions) == 1
    assert stage.finish() == []
    state = stage.read_state()
    assert (stage.find_job().state, state.oldest, state.older_found) == ("succeeded", 2, "")
    assert stage.table.get(key) == {**(stage.table.get(key) or {}), "gen": {"N": "2"}}
    assert OPEN in stage.read()
    stage.sweep()
    assert "OldGenerationWritten" not in read_values(capsys.readouterr().out)
    assert stage.rebuilds.executions == []


@pytest.mark.parametrize("sends_heartbeats", [False, True])
def test_an_older_item_behind_the_proving_pass_makes_another_pass_necessary(
    sends_heartbeats: bool,
) -> None:
    stage = Laptop()
    stage.step_until("prove", 2)
    if sends_heartbeats:
        stage.rebuilds.step()
    stage.put(1, id="2")
    stage.running.drain()
    state = stage.read_state()
    assert (state.oldest, state.older_seen, state.older_found) == (1, 1, "")
    assert stage.finish() == []
    job = stage.find_job()
    assert (job.state, job.passes > 3) == ("succeeded", True)
    assert stage.read_state().oldest == 2
    assert OPEN in stage.read()


def test_an_older_item_whose_record_is_set_aside_is_noted_all_the_same() -> None:
    stage = Laptop()
    assert stage.finish() == []
    fixed, broken = stage.running.code_version, 2
    stage.running.code_version = stage.running.previous_version = broken
    stage.put(1, id="2", **{MARK: f"{POISON_FOR_BOTH}:1"})
    stage.running.drain()
    assert stage.read_state().oldest == 1
    stage.running.code_version = stage.running.previous_version = fixed
    stage.sweep()
    assert stage.finish() == []
    assert stage.running.fault_counts["rebuild blocked"] == 1  # until it was redriven
    assert OPEN in stage.read()


def test_a_late_repeat_of_an_older_image_changes_nothing() -> None:
    stage = Laptop()
    assert stage.finish() == []
    before = stage.read_state()
    (shard,) = stage.deployment.stream.shards
    records = stage.deployment.list_handled_records("project", shard)
    assert any(
        record["dynamodb"].get("NewImage", {}).get("gen") == {"N": "1"} for record in records
    )
    event = stage.deployment.build_event(shard, records)
    stage.running.run_to_end("project", event)
    assert stage.read_state() == before
