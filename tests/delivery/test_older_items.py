"""Items of an older generation that nobody announced, each case played step by step (rule 32).

A laptop slept between the check of its announcement and the request, for example.
"""

from __future__ import annotations

import pytest

from daicho.handlers import sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.item_cache import ItemCache
from daicho.testing.stack_settings import ENVIRONMENT
from tests.delivery.played_stage import Stage, simulated
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
