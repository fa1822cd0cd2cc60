"""What a batch with poison in it leaves behind, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.plan import Ledger
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import apply_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Claim, ShardClaims
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_s3 import MemoryS3
from tests.support.invocation_time import Time
from tests.support.sample_ledger import LEDGER, OLD_LEDGER, build_image
from tests.support.song_stream import COUNT, NOW, build_seq_value, build_song
from tests.support.stream_events import Change, build_batch

POISON: Image = {**build_song("c", "2"), "name": {"N": "1"}}
GOOD, OTHER = build_song("b"), build_song("d", "3")
SHARD_ITEM = claims.build_shard_key("s")


class House:
    """A projector over stores in memory; ``fails`` says which calls are throttled."""

    def __init__(self, ledger: Ledger = LEDGER) -> None:
        self.dynamo, self.objects = MemoryDynamoDB(lambda: NOW), MemoryS3(lambda: NOW)
        self.table = Table(self.dynamo, "daicho")  # type: ignore[arg-type]
        self.told: list[dict[str, int]] = []
        self.time = Time()
        self._ledger = ledger
        self._fails: Callable[[str, str], bool] = lambda _method, _about: False

    def project(self, given: Batch) -> str | None:
        bucket: Any = _Failing(Bucket(self.objects, "failures"), self)  # type: ignore[arg-type]
        table: Any = _Failing(self.table, self)
        projector = Projector(
            table,
            bucket,
            self._ledger,
            dirty_shards=1,
            now=lambda: NOW,
            emit_metrics=lambda counts: self.told.append(dict(counts)),
        )
        return projector.project(given, self.time.retry_budget)

    @contextmanager
    def failing(self, fails: Callable[[str, str], bool]) -> Iterator[None]:
        before, self._fails = self._fails, fails
        yield
        self._fails = before

    def call(self, method: str, about: str) -> None:
        if self._fails(method, about):
            raise ThrottledError(f"{method} {about}")

    @property
    def shard(self) -> ShardClaims:
        return ShardClaims.from_item("s", self.dynamo.find(SHARD_ITEM))

    @property
    def written(self) -> set[ItemKey]:
        """Everything but the shard item."""
        return {key for key, _ in self.dynamo.items} - {SHARD_ITEM}

    def states(self) -> dict[str, str]:
        return {each.seq[-1]: each.state for each in self.shard.claims.values()}


class _Failing:
    def __init__(self, real: Any, house: House) -> None:
        self._real, self._house = real, house

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def called(first: Any, *rest: Any, **named: Any) -> Any:
            about = first.pk if isinstance(first, ItemKey) else first
            about = first["PK"]["S"] if isinstance(first, dict) else about
            self._house.call(name, about)
            return getattr(self._real, name)(first, *rest, **named)

        return called


def changes(*images: Image, first: int = 1) -> Batch:
    inserted: list[Change] = [(None, each) for each in images]
    return build_batch(*inserted, first=first)


def test_a_repeat_changes_nothing() -> None:
    house = House()
    for _ in range(2):
        assert house.project(changes(GOOD, POISON, OTHER)) is None
        before = dict(house.dynamo.items)
    assert house.project(changes(POISON, OTHER, first=2)) is None
    assert dict(house.dynamo.items) == before
    assert house.shard.open == 1


def test_what_somebody_announced_is_claimed_as_uncertain() -> None:
    house = House()
    house.project(changes(GOOD, build_song("x", "2"), OTHER))
    house.project(changes(POISON, first=2))
    assert house.states() == {"2": "uncertain"}


@pytest.mark.parametrize("state", ["open", "uncertain", "discarded", "done"])
def test_a_record_with_a_claim_of_any_state_is_left_out(state: Any) -> None:
    house = House()
    change = claims.put_claim_update("s", Claim(build_seq_value(2)["S"], state, "Song", 1, NOW))
    apply_update(house.table, change)
    claimed = build_song("x", "2")
    assert house.project(changes(GOOD, claimed, OTHER)) is None
    slot = house.dynamo.find(COUNT)
    assert slot is not None
    assert slot["items"] == {"N": "2"}
    assert not any("#2#" in key.pk and "~" in key.pk for key in house.written)
    assert house.project(changes(claimed, first=2)) is None  # it was announced already


@pytest.mark.parametrize("throttled", [("create", "quarantine"), ("update", "#shard")])
def test_nothing_is_written_unless_all_is_known_to_be_set_aside_and_announced(
    throttled: tuple[str, str],
) -> None:
    house = House()
    with house.failing(
        lambda method, about: method == throttled[0] and about.startswith(throttled[1])
    ):
        assert house.project(changes(GOOD, POISON, OTHER)) == "1"
    assert not house.written
    assert house.time.left <= 20
    house.time.left = 300
    assert house.project(changes(GOOD, POISON, OTHER)) is None


def test_no_more_is_announced_than_lies_before_a_newer_generation() -> None:
    house = House(OLD_LEDGER)
    newer = build_image("Song", {"id": "2", "name": "b", "artist": "x"}, gen=2)
    assert house.project(changes(GOOD, newer, OTHER, POISON)) == "2"
    assert house.shard.announced == build_seq_value(1)["S"]
    assert not house.shard.claims


def test_a_full_shard_waits_for_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 18: what lies before is finished, and the record is reported when time is up."""
    monkeypatch.setattr(claims, "MAX_OPEN_CLAIMS", 1)
    house = House()
    another: Image = {**POISON, "PK": {"S": "t#Song#9"}}
    assert house.project(changes(POISON, GOOD, another, OTHER)) == "3"
    assert house.time.left == 20
    assert house.shard.announced == build_seq_value(2)["S"]
    assert house.states() == {"1": "open"}
    slot = house.dynamo.find(COUNT)
    assert slot is not None
    assert slot["items"] == {"N": "1"}


def test_a_shard_full_of_poison_alone_raises_the_metric_of_its_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of such batches is announced."""
    monkeypatch.setattr(claims, "MAX_OPEN_CLAIMS", 2)
    house = House()
    others: list[Image] = [{**POISON, "PK": {"S": f"t#Song#{n}"}} for n in (7, 8)]
    assert house.project(changes(POISON)) is None
    assert house.told == [{"RecordsQuarantined": 1}, {"ClaimsOpen": 1}]
    assert house.project(changes(POISON, *others)) == "3"
    assert house.told[2:] == [{"RecordsQuarantined": 2}, {"ClaimsOpen": 2}]


def test_claims_wait_out_throttles() -> None:
    house = House()
    failures = iter([True] * 4)
    with house.failing(lambda _method, about: about.startswith("#sh") and next(failures, False)):
        assert house.project(changes(POISON)) is None
    assert house.states() == {"1": "open"}


def build_heartbeat_image(entity: str = "Song", run: str = "r") -> Image:
    return build_heartbeat(HeartbeatName(run, entity), 0, NOW)


def test_a_heartbeat_behind_a_newer_generation_is_not_announced() -> None:
    house = House(OLD_LEDGER)
    newer = build_image("Song", {"id": "2", "name": "b", "artist": "x"}, gen=2)
    assert house.project(changes(GOOD, newer, build_heartbeat_image())) == "2"
    assert not house.shard.heartbeats
    assert house.shard.announced == build_seq_value(1)["S"]


def test_a_heartbeat_behind_poison_without_room_is_not_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "MAX_OPEN_CLAIMS", 1)
    house = House()
    another: Image = {**POISON, "PK": {"S": "t#Song#9"}}
    assert house.project(changes(POISON, GOOD, another, build_heartbeat_image())) == "3"
    assert not house.shard.heartbeats
    assert house.shard.announced == build_seq_value(2)["S"]
