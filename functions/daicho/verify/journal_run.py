"""A run of the journal: its flags in all shards, and what makes its verdicts void (rule 36).

What the run has read of the shards is in objects of the failure bucket, since a stream may have
thousands of them::

    journal/<run>/shards.json  the shards in which the run sets its flag
    journal/<run>/start.json   by shard: the announced number, and the numbers of its claims;
                               and when the code was deployed
    journal/<run>/cut.json     by shard: the number before which the journal is complete
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from daicho.errors import ConditionFailedError
from daicho.jobs.lease import OvertakenError
from daicho.layout.backfill_state import RECORDED_KEY
from daicho.release.states import read_deployed
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream, apply_update, try_update
from daicho.storage.requests import ConditionCheck, Update
from daicho.storage.table import Table
from daicho.stream.claims import SHARD_ITEM_RETENTION, ShardClaims, build_shard_key
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.stream.journal import (
    JOURNAL_PREFIX,
    MAX_RUN,
    NO_RUN,
    RUN_KEY,
    JournalEntry,
    JournalFlag,
    set_flag_update,
)
from daicho.stream.shard_items import has_discarded_batches, list_quarantined, read_shards
from daicho.stream.shard_progress import StreamProgress

END_MARGIN = dt.timedelta(minutes=10)
"""A run ends so long before its flags: the clocks of functions differ."""
JSON = "application/json"
UNDER_DEPLOYMENT = "code was deployed meanwhile: verify again"


class OtherRunError(OvertakenError):
    """A newer run has begun, so this one must end."""


@dataclass(frozen=True)
class JournalRun:
    """One run.

    ``number``: later runs have a higher one. ``begun``: the time of its request.
    ``objects``: the failure bucket. ``entity``: the only one whose tallies are judged, or "".
    """

    store: Table
    stream: DescribesStream
    objects: Bucket
    id: str
    number: int
    begun: dt.datetime
    now: Callable[[], dt.datetime]
    entity: str = ""

    @property
    def flag(self) -> JournalFlag:
        """The flag of the run."""
        return JournalFlag(self.id, keys.render_instant(self.begun + MAX_RUN))

    def render_name(self, what: str) -> str:
        """The name of an object of the run, or how the names of some begin."""
        return f"{JOURNAL_PREFIX}{self.id}/{what}"

    def begin(self) -> str:
        """Set the flags in all shards; returns why no tally can be judged now, or "".

        A new shard gets the flag from the item of the newest run. So that is written first, and a
        shard that has an item before that is described here.

        Raises:
            OtherRunError: a newer run has begun.
            StoreError: a store does not answer; call again.
        """
        self._take_over()
        if (deployed := self._read_deployed()) is None:
            return UNDER_DEPLOYMENT
        start: dict[str, Any] = {}
        # A step that is repeated must not set the flag in a shard of which another step has not
        # noted what was announced: the stream's description may lack shards for a while.
        self._create("shards.json", list(self._list_shards()))
        for shard in self._read("shards.json"):
            change = set_flag_update(shard, self.flag.render(), self.now(), self.number)
            try:
                item = ShardClaims.from_item(shard, apply_update(self.store, change, "ALL_NEW"))
            except ConditionFailedError:
                raise OtherRunError(self.id) from None
            start[shard] = [item.announced, sorted(item.claims)]
            if open_count := self._count_open(item):
                return _explain_claims(open_count)
        if reason := self.find_discarded():
            return reason
        # An object that exists is of a step that was killed: its numbers are good as well.
        self._create("start.json", {"deployed": deployed, "shards": start})
        return ""

    def read_start(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """By shard, what was announced when the flag was set, and the claims that it had then."""
        shards = self._read("start.json")["shards"]
        return {shard: (announced, tuple(seqs)) for shard, (announced, seqs) in shards.items()}

    def has_passed(self, name: str, retry_budget: RetryBudget, entity: str) -> bool:
        """Whether all records are handled that were made before this was first called.

        ``name``: of the heartbeats; no other heartbeats of the run have it.
        """
        return self._watcher.watch(self._name_heartbeats(name, entity), retry_budget).has_passed

    def cut(self, name: str, entity: str) -> str | None:
        """Fix the end of the journal; returns why no tally can be judged, or "".

        ``name``: of heartbeats that have passed. The objects of all records before them exist. Of a
        finished shard all objects exist. No record of an item that the journal lacks is older than
        one that it has: a child shard begins when its parent is finished. Returns None if they have
        not passed the shards that the stream describes now: a description may be an earlier one.
        """
        shards = self.stream.list_shards()
        items = read_shards(self.store, [shard.id for shard in shards])
        progress = StreamProgress(shards, items)
        (heartbeat,) = self._name_heartbeats(name, entity).names
        if progress.list_waiting(heartbeat):
            return None
        cut = {shard: item.heartbeats.get(heartbeat, "") for shard, item in items.items()}
        cut |= dict.fromkeys(progress.list_finished(), ALL)
        self._create("cut.json", cut)
        return self._find_obstacle(items)

    def read_cut(self) -> Mapping[str, str]:
        """By shard, the number before which its part of the journal is complete."""
        cut: Mapping[str, str] = self._read("cut.json")
        return cut

    def require_newest(self) -> ConditionCheck:
        """Require that no newer run has begun, as a part of a transaction."""
        values = {":run": {"S": self.flag.render()}}
        return ConditionCheck(RUN_KEY, "journal = :run", values=values)

    def end(self) -> None:
        """Take the flags away, unless a newer run has set its own."""
        keys_of_flags = [RUN_KEY, *map(build_shard_key, self._list_shards())]
        values = {":run": {"S": self.flag.render()}, ":none": {"S": NO_RUN}}
        for key in keys_of_flags:
            taken = Update(key, "SET journal = :none", "journal = :run", values=values)
            try_update(self.store, taken)

    def _take_over(self) -> None:
        ttl = int((self.now() + SHARD_ITEM_RETENTION).timestamp())
        change = Update(
            RUN_KEY,
            "SET journal = :run, #number = :number, #ttl = :ttl",
            "attribute_not_exists(#number) OR #number <= :number",
            {"#ttl": "ttl", "#number": "number"},
            {
                ":run": {"S": self.flag.render()},
                ":number": attributes.to_value(self.number),
                ":ttl": attributes.to_value(ttl),
            },
        )
        try:
            apply_update(self.store, change)
        except ConditionFailedError:
            raise OtherRunError(self.id) from None

    def _find_obstacle(self, described: Mapping[str, ShardClaims]) -> str:
        """Why the run has no verdicts: something was set aside, or a shard had no flag."""
        if self.now() + END_MARGIN > self.begun + MAX_RUN:
            return "the run took longer than its journal is valid"
        if self._read_deployed() != self._read("start.json")["deployed"]:
            return UNDER_DEPLOYMENT
        start = self.read_start()
        others = set(list_quarantined(self.store)) | start.keys()
        items = read_shards(self.store, sorted(others - described.keys())) | dict(described)
        for shard, item in items.items():
            # Of a shard without the attribute, no batch had anything to count.
            if item.journal not in ("", self.flag.render()):
                return f"shard {shard} has no flag of this run: verify again"
            new = item.claims.keys() - set(start.get(shard, ("", ()))[1])
            if (open_count := self._count_open(item)) or new:
                return _explain_claims(open_count or len(new))
        return self.find_discarded()

    def _count_open(self, item: ShardClaims) -> int:
        """The open claims that may change what is judged; that of a done one is not known."""
        judged = ("", self.entity)
        return sum(not self.entity or each.entity in judged for each in item.open_claims)

    def _read_deployed(self) -> str | None:
        """When the code was deployed; None during a deployment, "" if no release was recorded.

        Code of before this rule writes no journal.
        """
        if self.store.get(RECORDED_KEY, consistent=True) is None:
            return ""
        deployed = read_deployed(self.store)
        return None if deployed is None else keys.render_instant(deployed)

    def find_discarded(self) -> str:
        """Why no sum is judged: batches that Lambda gave up are not redriven yet; or ""."""
        if has_discarded_batches(self.objects):
            return "Lambda has discarded records: run `daicho redrive` first"
        return ""

    def _list_shards(self) -> Iterable[str]:
        """The shards of the stream, and those that it has forgotten but that have open claims."""
        described = {shard.id for shard in self.stream.list_shards()}
        return sorted(described | set(list_quarantined(self.store)))

    @property
    def _watcher(self) -> HeartbeatWatcher:
        return HeartbeatWatcher(self.store, self.stream, now=self.now)

    def _name_heartbeats(self, name: str, entity: str) -> HeartbeatRun:
        return HeartbeatRun(f"verify-{self.id}-{name}", (entity,))

    def forget_heartbeats(self, names: Iterable[str], entity: str) -> None:
        """Remove what the shards noted of heartbeats of the run."""
        for name in names:
            self._watcher.forget(self._name_heartbeats(name, entity))

    def _create(self, what: str, content: Any) -> None:
        self.objects.create(self.render_name(what), json.dumps(content).encode(), {}, JSON)

    def _read(self, what: str) -> Any:
        return json.loads(self.objects.read(self.render_name(what)) or b"{}")


ALL = "~"
"""Sorts behind every number: the whole journal of a shard."""


@dataclass(frozen=True)
class JournalRange:
    """The entries that count: those after the flag was set, and before the cut.

    A record that was announced before the flag was set is in the readings. A repeat of it would put
    an old image in the place of a reading.
    """

    start: Mapping[str, tuple[str, tuple[str, ...]]]
    cut: Mapping[str, str]

    def __contains__(self, entry: JournalEntry) -> bool:
        announced, _ = self.start.get(entry.shard, ("", ()))
        return announced < entry.seq < self.cut.get(entry.shard, "")


def is_runaway(slot: Image, shard: ShardClaims) -> bool:
    """Whether the number of a slot is above all that its shard has announced or set aside.

    ``shard``: as read after the slot. An announcement precedes the count (rule 14).
    """
    seq = attributes.get_text(slot, "seq") or ""
    return bool(shard.announced) and seq > shard.highest


def _explain_claims(count: int) -> str:
    return f"{count} claims are open or new. Run `daicho redrive` first, then verify again"
