"""Shards that close, through the handlers of projector and rollup, over Dynoxide (rule 48)."""

from __future__ import annotations

import datetime as dt
from typing import Any

from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.tally import reader
from tests.support.sample_ledger import LEDGER, build_tally_key
from tests.support.song_stream import build_song
from tests.support.stream_events import build_event
from tests.support.stream_pump import Context, environment

COUNT = build_tally_key("Song", "count", 1)
SETTLE_S = 1_000


class Deployed(DescribesStream):
    """The two handlers over one table, with a description of the stream that the test sets."""

    def __init__(self, table: Table) -> None:
        self.table, self.now = table, dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
        self.shards: tuple[StreamShard, ...] = (StreamShard("s"),)
        environ = environment(table.name, SETTLE_SECONDS=str(SETTLE_S))
        dependencies = Dependencies(
            table=lambda *_, **__: table,
            bucket=lambda *_, **__: object(),  # type: ignore[arg-type]  # no poison
            stream=lambda _table: self,
            now=lambda: self.now,
        )
        self._project = project.build(environ, LEDGER, dependencies)
        self._rollup = rollup.build(environ, LEDGER, dependencies)
        self._dependencies = dependencies

    def stop_retirement(self) -> None:
        """Configure the rollup without a settle time; Lambda then starts it again."""
        self._rollup = rollup.build(environment(self.table.name), LEDGER, self._dependencies)

    def list_shards(self) -> tuple[StreamShard, ...]:
        return self.shards

    def project(self, shard: str, *names: str, first: int) -> None:
        changes = ((None, build_song(name, str(first))) for name in names)
        event: dict[str, Any] = {**build_event(*changes, first=first), "shardId": shard}
        assert self._project(event, Context()) == {"state": {}, "batchItemFailures": []}

    def roll_up(self) -> Any:
        return self._rollup({}, Context())

    @property
    def slots(self) -> set[str]:
        return {slot["SK"]["S"] for slot in reader.read_slots(self.table, COUNT)}


def test_without_a_settle_time_no_shard_is_retired_and_no_slot_is_folded_early(
    table: Table,
) -> None:
    """So does the way back to code of before rule 48 begin (docs/how-to/roll-code-back.md)."""
    deployed = Deployed(table.with_metering())
    deployed.project("s", "b", first=1)
    deployed.shards = (StreamShard("s", None, is_closed=True), StreamShard("child", "s"))
    deployed.project("child", "c", first=2)
    deployed.roll_up()
    deployed.stop_retirement()
    deployed.shards = (*deployed.shards, StreamShard("grandchild", "child"))
    for first, shard in enumerate(("child", "grandchild", "grandchild"), 3):
        deployed.now += dt.timedelta(hours=5)
        deployed.project(shard, f"d{first}", first=first)
        assert deployed.roll_up()["slots_folded"] == 0
    retired = [
        shard
        for shard in ("s", "child")
        if (image := table.get(claims.build_shard_key(shard)))
        and claims.ShardClaims.from_item(shard, image).retired_at is not None
    ]
    assert retired == ["s"]  # before
    assert deployed.slots == {"slot#s", "slot#child", "slot#grandchild"}
