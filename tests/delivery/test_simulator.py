"""The simulator itself: its choices, attempts and faults do what schedules rest on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from daicho.errors import ThrottledError, UnavailableError
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import TableStream
from daicho.testing.choices import Choices, build_scale
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.parallel_work import SimulatedThreadPool
from daicho.testing.faults.processes import ProcessKilled, SimulatedProcess
from daicho.testing.schedules.profile import Profile
from daicho.testing.schedules.running import build_schedule
from daicho.testing.schedules.schedule import Schedule
from tests.delivery.schedules.profiles import BY_NAME, PROFILES, build_all_schedules
from tests.support.trials import IS_TRIAL

ALWAYS = 1e9
KEY = {"PK": {"S": "p"}, "SK": {"S": "s"}}
ADD = {
    "Key": KEY,
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


def deployed() -> tuple[MemoryDynamoDB, TableStream]:
    clock, stream = SimulatedClock(), TableStream()
    return MemoryDynamoDB(clock.now, StreamRecorder(stream, clock.now, 98, lambda: 1)), stream


def adding(store: MemoryDynamoDB, fault: str, times: int = 1) -> SimulatedProcess:
    def work(process: SimulatedProcess) -> object:
        client = FaultyDynamoDB(store, process)
        return [client.update_item(**ADD) for _ in range(times)]

    faults = FaultInjector({fault: ALWAYS} if fault else {})
    choices = Choices("any")
    return SimulatedProcess(
        "adds",
        work,
        code_version=1,
        seconds=100,
        choices=choices,
        faults=faults,
        fault_counts=Counter(),
    )


def finish(process: SimulatedProcess) -> BaseException | None:
    while not process.finished:
        process.step()
    return process.failure


def number(store: MemoryDynamoDB) -> int:
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
    assert isinstance(failure, ProcessKilled) == fault.startswith("crash")
    assert number(store) == done


def write_in_threads(store: MemoryDynamoDB, fault: str, seed: str) -> SimulatedProcess:
    """A process that adds with three threads, and returns the numbers of its five tasks."""

    def work(process: SimulatedProcess) -> object:
        client = FaultyDynamoDB(store, process)

        def add_and_return(number: int) -> int:
            client.update_item(**ADD)
            client.update_item(**ADD)
            ended.append(number)
            return number

        return list(SimulatedThreadPool(3).map(add_and_return, range(5)))

    process = adding(store, fault)
    process.work, process.choices = work, Choices(seed)
    ended = process.ended = []  # type: ignore[attr-defined]
    return process


def test_threads_end_in_any_order_and_results_are_in_the_order_of_the_tasks() -> None:
    orders = set()
    for seed in range(20):
        store, _ = deployed()
        process = write_in_threads(store, "", str(seed))
        assert finish(process) is None
        assert (process.outcome, number(store)) == ([0, 1, 2, 3, 4], 10)
        orders.add(tuple(process.ended))  # type: ignore[attr-defined]
    assert len(orders) > 5


def test_the_same_choices_give_the_same_order_of_threads() -> None:
    processes = [write_in_threads(deployed()[0], "", "seed") for _ in range(2)]
    assert [finish(process) for process in processes] == [None, None]
    assert processes[0].ended == processes[1].ended  # type: ignore[attr-defined]


def test_an_error_of_a_thread_is_raised_where_its_result_is_due() -> None:
    store, _ = deployed()
    assert isinstance(finish(write_in_threads(store, "server error", "seed")), ClientError)


def test_a_crash_in_a_thread_ends_the_whole_process() -> None:
    store, _ = deployed()
    process = write_in_threads(store, "crash after", "seed")
    assert isinstance(finish(process), ProcessKilled)
    assert number(store) == 1


def test_a_process_with_threads_can_be_ended() -> None:
    store, _ = deployed()
    process = write_in_threads(store, "", "seed")
    for _ in range(5):
        process.step()
    before = number(store)
    process.kill()
    assert (process.finished, number(store)) == (True, before)
    assert isinstance(process.failure, ProcessKilled)


@pytest.mark.parametrize("fault", ["throttled table", "server error", "lost response", "conflict"])
def test_the_library_takes_faults_for_what_they_are(fault: str) -> None:
    store, _ = deployed()

    def work(process: SimulatedProcess) -> object:
        table = Table(FaultyDynamoDB(store, process), "t")  # type: ignore[arg-type]
        return table.put(KEY)

    process = adding(store, fault)
    process.work = work
    expected = ThrottledError if fault == "throttled table" else UnavailableError
    assert isinstance(finish(process), expected)


def test_an_attempt_stands_before_each_operation_and_can_be_ended_there() -> None:
    store, _ = deployed()
    process = adding(store, "", times=3)
    seen = []
    for _ in range(3):
        process.step()
        seen.append(number(store))
    process.kill()
    assert (seen, number(store), process.finished) == ([0, 1, 2], 2, True)
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
    recorded = [(each["eventName"], each["dynamodb"]["SequenceNumber"]) for each in shard.records]
    assert recorded == [("INSERT", "99"), ("MODIFY", "100"), ("REMOVE", "101")]


def test_children_of_a_shard_share_its_keys_out() -> None:
    clock, stream = SimulatedClock(), TableStream()
    journal = StreamRecorder(stream, clock.now, 0, lambda: 1)
    store = MemoryDynamoDB(clock.now, journal)
    (parent,) = journal.open_shards
    children = journal.split(parent)
    for number_ in range(40):
        store.put_item(Item={"PK": {"S": f"p{number_}"}, "SK": {"S": "s"}})
    counts = [len(stream.shards[each].records) for each in children]
    assert sum(counts) == 40
    assert all(counts)
    assert stream.shards[parent].closed
    assert [stream.shards[each].parent for each in children] == [parent, parent]


def test_an_index_and_a_read_without_consistency_are_behind() -> None:
    clock = SimulatedClock()
    store = MemoryDynamoDB(clock.now, lag=lambda: 1)
    item = {**KEY, "GSI2PK": {"S": "i"}, "GSI2SK": {"S": "1"}}
    store.put_item(Item=item)
    request = {
        "IndexName": "GSI2",
        "KeyConditionExpression": "GSI2PK = :i",
        "ExpressionAttributeValues": {":i": {"S": "i"}},
    }
    assert store.query(**request)["Items"] == []
    assert store.get_item(Key=KEY) == {}
    assert store.get_item(Key=KEY, ConsistentRead=True) == {"Item": item}
    store.lag = lambda: 0
    assert store.query(**request)["Items"] == [item]


@pytest.mark.parametrize("profile", PROFILES[:: 1 if IS_TRIAL else 3], ids=lambda each: each.name)
def test_the_choices_of_a_schedule_play_it_again(profile: Profile) -> None:
    first = Schedule(profile, Choices("any seed"))
    first.run()
    again = Schedule(profile, Choices(forced=first.choices.taken))
    again.run()
    assert again.log == first.log
    assert again.choices.taken == first.choices.taken
    assert len(first.log) > 3


TELLS = """
import json, sys
from tests.delivery.schedules.profiles import build_all_schedules
recorded = []
for schedule in build_all_schedules(30):
    schedule.run()
    recorded.append([schedule.choices.taken, sorted(schedule.fault_counts.items())])
json.dump(recorded, sys.stdout)
"""


def test_a_seed_is_the_same_schedule_in_every_process() -> None:
    recorded = {
        subprocess.run(
            [sys.executable, "-c", TELLS],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    }
    assert len(recorded) == 1


def test_shares_are_kept_evenly() -> None:
    total = sum(each.share for each in PROFILES)
    names = Counter(each.profile.name for each in build_all_schedules(total))
    assert names == {each.name: each.share for each in PROFILES}
    first = build_all_schedules(len(PROFILES))
    assert len({each.profile.name for each in first}) > len(PROFILES) // 2


def test_a_weight_of_nothing_is_never_chosen() -> None:
    scale = build_scale((1.0, 0.0, 2.0))
    drawn = Choices(1)
    assert {drawn.draw_weighted(scale) for _ in range(100)} == {0, 2}
    forced = Choices(forced=(1, 2, 9))
    assert [forced.draw_weighted(scale) for _ in range(4)] == [0, 2, 2, 0]
    assert forced.exhausted


def test_an_event_without_an_owner_is_refused() -> None:
    with pytest.raises(ValueError, match="'mixed' has the event 'repaet'"):
        Schedule(replace(BY_NAME["mixed"], events={"repaet": (1,)}), Choices())


def test_an_exhausted_schedule_ends() -> None:
    schedule = Schedule(BY_NAME["mixed"], Choices())
    assert schedule.run() == []
    assert build_schedule(BY_NAME["mixed"], 1).run() == []
