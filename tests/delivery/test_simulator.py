"""The simulator itself: its choices, attempts and faults do what schedules rest on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from daicho.errors import ThrottledError, UnavailableError
from daicho.storage.table import Table
from tests.delivery.actors import Actor, Crash, Weather
from tests.delivery.aws.clients import DynamoClient
from tests.delivery.aws.dynamo import Dynamo
from tests.delivery.aws.journal import Journal
from tests.delivery.aws.stream import Stream
from tests.delivery.clock import Clock
from tests.delivery.schedules.choices import Choices, scale_of
from tests.delivery.schedules.profile import Profile
from tests.delivery.schedules.profiles import BY_NAME, PROFILES
from tests.delivery.schedules.schedule import Delivery, play, seeds
from tests.delivery.schedules.shrink import shrunk

ALWAYS = 1e9
KEY = {"PK": {"S": "p"}, "SK": {"S": "s"}}
ADD = {
    "Key": KEY,
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


def deployed() -> tuple[Dynamo, Stream]:
    clock, stream = Clock(), Stream()
    return Dynamo(clock.now, Journal(stream, clock.now, 98, lambda: 1)), stream


def adding(store: Dynamo, fault: str, times: int = 1) -> Actor:
    def work(actor: Actor) -> object:
        client = DynamoClient(store, actor)
        return [client.update_item(**ADD) for _ in range(times)]

    weather = Weather({fault: ALWAYS} if fault else {})
    choices = Choices("any")
    return Actor(
        "adds",
        work,
        version=1,
        seconds=100,
        choices=choices,
        weather=weather,
        used=Counter(),
    )


def finish(actor: Actor) -> BaseException | None:
    while not actor.finished:
        actor.step()
    return actor.failure


def number(store: Dynamo) -> int:
    return int(store.get_item(Key=KEY, ConsistentRead=True).get("Item", {}).get("n", {"N": 0})["N"])


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        ("", 1),
        ("throttled key", 0),
        ("server error", 0),
        ("crash before", 0),
        ("conflict", 0),
        ("crash after", 1),
        ("lost response", 1),
        ("repeated request", 2),
        ("slow", 1),
    ],
)
def test_a_fault_lets_a_write_happen_as_often_as_it_says(fault: str, done: int) -> None:
    store, _ = deployed()
    failure = finish(adding(store, fault))
    assert (failure is None) == (fault in ("", "repeated request", "slow"))
    assert isinstance(failure, Crash) == fault.startswith("crash")
    assert number(store) == done


@pytest.mark.parametrize("fault", ["throttled table", "server error", "lost response", "conflict"])
def test_the_library_takes_faults_for_what_they_are(fault: str) -> None:
    store, _ = deployed()

    def work(actor: Actor) -> object:
        table = Table(DynamoClient(store, actor), "t")  # type: ignore[arg-type]
        return table.put(KEY)

    actor = adding(store, fault)
    actor._work = work
    expected = ThrottledError if fault == "throttled table" else UnavailableError
    assert isinstance(finish(actor), expected)


def test_an_attempt_stands_before_each_operation_and_can_be_ended_there() -> None:
    store, _ = deployed()
    actor = adding(store, "", times=3)
    seen = []
    for _ in range(3):
        actor.step()
        seen.append(number(store))
    actor.kill()
    assert (seen, number(store), actor.finished) == ([0, 1, 2], 2, True)
    never_begun = adding(store, "")
    never_begun.kill()
    assert (never_begun.finished, number(store)) == (True, 2)


def test_every_change_is_a_record_and_what_changes_nothing_is_none() -> None:
    store, stream = deployed()
    for _ in range(2):
        store.put_item(Item={**KEY, "n": {"N": "1"}})
    store.update_item(**ADD)
    store.delete_item(Key=KEY)
    store.delete_item(Key=KEY)
    (shard,) = stream.shards.values()
    told = [(each["eventName"], each["dynamodb"]["SequenceNumber"]) for each in shard.records]
    assert told == [("INSERT", "99"), ("MODIFY", "100"), ("REMOVE", "101")]


def test_children_of_a_shard_share_its_keys_out() -> None:
    clock, stream = Clock(), Stream()
    journal = Journal(stream, clock.now, 0, lambda: 1)
    store = Dynamo(clock.now, journal)
    (parent,) = journal.open_shards
    children = journal.split(parent)
    for number_ in range(40):
        store.put_item(Item={"PK": {"S": f"p{number_}"}, "SK": {"S": "s"}})
    counts = [len(stream.shards[each].records) for each in children]
    assert sum(counts) == 40
    assert all(counts)
    assert stream.shards[parent].closed
    assert [each.parent for each in stream.children(parent)] == [parent, parent]


def test_an_index_and_a_read_without_consistency_are_behind() -> None:
    clock = Clock()
    store = Dynamo(clock.now, lag=lambda: 1)
    item = {**KEY, "GSI2PK": {"S": "i"}, "GSI2SK": {"S": "1"}}
    store.put_item(Item=item)
    asked = {
        "IndexName": "GSI2",
        "KeyConditionExpression": "GSI2PK = :i",
        "ExpressionAttributeValues": {":i": {"S": "i"}},
    }
    assert store.query(**asked)["Items"] == []
    assert store.get_item(Key=KEY) == {}
    assert store.get_item(Key=KEY, ConsistentRead=True) == {"Item": item}
    store.lag = lambda: 0
    assert store.query(**asked)["Items"] == [item]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_choices_of_a_schedule_play_it_again(profile: Profile) -> None:
    first = Delivery(profile, Choices("any seed"), noting=True)
    first.run()
    again = Delivery(profile, Choices(forced=first.choices.taken), noting=True)
    again.run()
    assert again.log == first.log
    assert again.choices.taken == first.choices.taken
    assert len(first.log) > 3


TELLS = """
import json, sys
from tests.delivery.schedules.schedule import seeds
told = []
for delivery in seeds(30):
    delivery.run()
    told.append([delivery.choices.taken, sorted(delivery.used.items())])
json.dump(told, sys.stdout)
"""


def test_a_seed_is_the_same_schedule_in_every_process() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", TELLS],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    }
    assert len(told) == 1


def test_shares_are_kept_evenly() -> None:
    total = sum(each.share for each in PROFILES)
    names = Counter(each.profile.name for each in seeds(total))
    assert names == {each.name: each.share for each in PROFILES}
    assert len({each.profile.name for each in seeds(20)}) > len(PROFILES) // 2


def test_shrinking_leaves_what_is_needed() -> None:
    def fails(some: object) -> Choices | None:
        choices = Choices(forced=some)  # type: ignore[arg-type]
        drawn = []
        for _ in range(choices.below(50)):
            choices.begin_span()
            drawn.append((choices.below(10), choices.below(10)))
        return choices if (3, 7) in drawn else None

    seed = next(n for n in range(1000) if _drawn_with(n, fails))
    whole = _drawn_with(seed, fails)
    assert whole is not None
    assert shrunk(whole, fails, seconds=20) == [1, 3, 7]


def _drawn_with(seed: int, fails: object) -> Choices | None:
    choices = Choices(seed)
    drawn = [choices.below(50)]
    drawn += [choices.below(10) for _ in range(2 * drawn[0])]
    return fails(drawn)  # type: ignore[operator,no-any-return]


def test_a_weight_of_nothing_is_never_chosen() -> None:
    scale = scale_of((1.0, 0.0, 2.0))
    drawn = Choices(1)
    assert {drawn.weighted(scale) for _ in range(100)} == {0, 2}
    forced = Choices(forced=(1, 2, 9))
    assert [forced.weighted(scale) for _ in range(4)] == [0, 2, 2, 0]
    assert forced.exhausted


def test_an_exhausted_schedule_ends() -> None:
    delivery = Delivery(BY_NAME["mixed"], Choices())
    assert delivery.run() == []
    assert play(BY_NAME["mixed"], 1).run() == []
