"""A house in memory with a projector and a redrive, and code that is broken until it is fixed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.plan import Ledger
from daicho.redrive.failure_bucket import RecordRearchiver
from daicho.redrive.redrive import Redrive
from daicho.redrive.report import RedriveReport, RedriveRequest
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.storage.table import Table
from daicho.stream import changes, claims
from daicho.stream.changes import RecordChanges
from daicho.stream.claims import ShardClaims
from daicho.stream.projector import Projector
from daicho.stream.records import Batch, StreamRecord, render_sequence
from daicho.tally.slots import build_slot_key
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_s3 import MemoryS3
from daicho.testing.aws.on_failure import RETRIES_EXHAUSTED, build_failure_object
from tests.support.consistency import differences
from tests.support.mortal_stores import Turned, Turns
from tests.support.sample_ledger import LEDGER, build_image, build_tally_key
from tests.support.stream_events import ARN, LABEL, build_raw_record

BEGAN = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
SHARD = "shardId-1"
DAY = dt.timedelta(hours=25)


@dataclass
class House(DescribesStream):
    """One stream shard, and what works on it. ``broken``: the numbers that cannot be computed."""

    broken: set[int] = field(default_factory=set)
    ledger: Ledger = LEDGER
    code: str = "this"

    def __post_init__(self) -> None:
        self.now = BEGAN
        self.dynamo, self.objects = MemoryDynamoDB(lambda: self.now), MemoryS3(lambda: self.now)
        self.records: list[dict[str, Any]] = []
        self.archive: RecordRearchiver | None = None

    # --- Writers -----------------------------------------------------------------------------

    def put(self, item: Image) -> None:
        """Write a base item; its record follows in the stream."""
        key = get_key(item)
        old = self.dynamo.find(key)
        self.dynamo.commit(key, item)
        self._record(old, item)

    def delete(self, item: Image) -> None:
        old = self.dynamo.find(get_key(item))
        self.dynamo.commit(get_key(item), None)
        self._record(old, None)

    def _record(self, old: Image | None, new: Image | None) -> None:
        number = len(self.records) + 98  # crosses a length on the way
        self.records.append(build_raw_record(number, (old, new), self.now.timestamp()))

    # --- Functions ---------------------------------------------------------------------------

    def stores(self, turns: Turns) -> tuple[Table, Bucket]:
        dynamo: Any = Turned(self.dynamo, turns)
        objects: Any = Turned(self.objects, turns)
        return Table(dynamo, "daicho"), Bucket(objects, "failures")

    def event(self, begin: int, end: int) -> dict[str, Any]:
        return {"shardId": SHARD, "Records": self.records[begin:end]}

    def project(self, begin: int = 0, end: int | None = None, turns: Turns | None = None) -> None:
        """Hand a stretch of the stream to the projector."""
        table, bucket = self.stores(turns or Turns())
        projector = Projector(table, bucket, self.ledger, dirty_shards=1, now=lambda: self.now)
        batch = Batch.parse(self.event(begin, len(self.records) if end is None else end))
        assert projector.project(batch, retry_budget()) is None

    def discard(self, begin: int, end: int, function: str = "project") -> str:
        """Lambda gives a stretch up."""
        settings = MappingSettings(
            function_arn=f"arn:aws:lambda:us-east-1:000000000000:function:{function}",
            uuid="uuid-1" if function == "project" else "uuid-2",
        )
        name, body = build_failure_object(
            *(settings, ARN, SHARD, self.event(begin, end), self.now, RETRIES_EXHAUSTED),
            invocation_count=301,
            has_function_error=True,
        )
        self.objects.put_object(Key=name, Body=body)
        return name

    def redrive(
        self, action: str = "apply", turns: Turns | None = None, **more: Any
    ) -> RedriveReport:
        """One call of the redrive."""
        table, bucket = self.stores(turns or Turns())
        redrive = Redrive(
            table,
            bucket,
            self.ledger,
            projector="project",
            dirty_shards=1,
            now=lambda: self.now,
            archiver="archive",
            archive=self.archive,
            stream=lambda: self,
            code=self.code,
        )
        budget = retry_budget(self.deliver)
        return redrive.run(RedriveRequest.parse({"action": action, **more}), budget)

    def list_shards(self) -> tuple[StreamShard, ...]:
        """The description of the stream."""
        return (StreamShard(SHARD),)

    def deliver(self) -> None:
        """What happens while a function waits."""

    # --- What stands -------------------------------------------------------------------------

    @property
    def items(self) -> Mapping[ItemKey, Image]:
        return dict(self.dynamo.items)

    @property
    def shard(self) -> ShardClaims:
        return ShardClaims.from_item(SHARD, self.dynamo.find(claims.build_shard_key(SHARD)))

    @property
    def states(self) -> list[str]:
        return [claim.state for claim in self.shard.claims.values()]

    def differences(self) -> list[str]:
        return differences(self.items)

    def recounted(self) -> set[str]:
        return {key.sk for key in self.items if key.pk == "#recount"}


def retry_budget(wait: Callable[[], None] = lambda: None) -> RetryBudget:
    """As much as an invocation has, of which waiting takes some; ``wait`` is called then."""
    left = [300.0]

    def sleep(seconds: float) -> None:
        left[0] -= seconds
        wait()

    return RetryBudget(lambda: left[0], reserve=20, sleep=sleep, random=lambda: 1.0)


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    """A house whose code fails on the numbers that its test says are broken."""
    made = House()
    break_code(made, monkeypatch)
    return made


def break_code(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let computing fail for the records of ``house.broken``, by their place in the stream."""
    real = changes.compute_record

    def compute_one(record: StreamRecord, ledger: Ledger) -> RecordChanges:
        if int(record.number) - 98 in house.broken:
            raise ArithmeticError(f"record {record.number} is too much for this code")
        return real(record, ledger)

    monkeypatch.setattr(changes, "compute_record", compute_one)


def build_song_with_artist(identity: int, name: str, artist: str = "x", seconds: int = 1) -> Image:
    values = {"id": str(identity), "name": name, "artist": artist, "seconds": seconds}
    return build_image("Song", values, gen=2)


def render_number(place: int) -> str:
    return render_sequence(LABEL, str(place + 98))


COUNT, LENGTH = build_tally_key("Song", "count", 1), build_tally_key("Song", "length", 2, "x")
COUNT_SLOT = build_slot_key(COUNT, SHARD)


def write_a_day(house: House) -> None:
    """Songs that come, change, move and go; three records of them are poison."""
    house.put(build_song_with_artist(1, "ab"))
    house.put(build_song_with_artist(2, "bc", "y"))
    house.put(build_song_with_artist(1, "ac"))  # 2: poison; the posting of "a" is alike in it
    house.put(build_song_with_artist(3, "cd"))  # 3: poison, and goes again later
    house.put(build_song_with_artist(2, "bd", "x", 7))
    house.delete(build_song_with_artist(3, "cd"))
    house.put(build_song_with_artist(1, "ad", "y", 5))  # 6: poison, moves between groups
    house.put(build_song_with_artist(4, "ab"))
    house.broken = {2, 3, 6}


def drive(house: House, action: str = "apply", limit: int = 200) -> list[RedriveReport]:
    """Call after call, to the end."""
    reports = [house.redrive(action, limit=limit)]
    while not reports[-1].finished:
        reports.append(house.redrive(action, limit=limit, cursor=reports[-1].cursor))
    return reports
