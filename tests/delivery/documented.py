"""What AWS documents of the event source mapping, as stories that the mapping must reproduce.

``documented.toml`` holds the behaviours: what the documentation says, where, and a story. A story
is played line by line; a line either does something or says what must be so::

    write a 1 2:Song 3:Song!    records into shard a: number, type, removed by TTL
    write a 4*900               and size in KB
    wait 30 / wait 25h          time passes
    close a / split a b c       the shard ends / ends and has children
    create                      the mapping is made here, not at the start
    invoke a 1-3 -> report 2    shard a's next batch, and what the function makes of it
    begin a 1-3 / end a -> ok   the same in two steps
    replace a                   the shard's poller is replaced by another
    nothing a / nothing         nothing is to be sent: of the shard, of any
    event PATH JSON             what stands in the last event
    checkpoint a 2              how many records of the shard are settled
    object a 2 3 CONDITION      what lies in the on-failure bucket next, with its whole payload
    body PATH JSON / payload PATH JSON / name REGEX   of that object
    lost 1 2                    what the stream has trimmed
    refuse {…}                  settings that are refused

Outcomes: ok, report N…, error, timeout, exit, throttled, large, or the response as JSON.
``python -m tests.delivery.documented`` prints the behaviours as a table.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from daicho.testing.aws.event_source_mapping import EventSourceMapping
from daicho.testing.aws.invocations import FunctionFailed, FunctionReturned, Invocation
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.table_stream import ARN, TableStream

BEGAN = dt.datetime(2026, 11, 21, 12, 0, tzinfo=dt.UTC)
ERRORS: dict[str, FunctionFailed] = {
    "error": FunctionFailed("exception"),
    "timeout": FunctionFailed("timeout"),
    "exit": FunctionFailed("exit"),
    "throttled": FunctionFailed("throttled"),
    "unavailable": FunctionFailed("unavailable"),
}


@dataclass(frozen=True)
class Behaviour:
    """One documented behaviour."""

    name: str
    says: str
    source: str
    story: str
    settings: dict[str, Any] = field(default_factory=dict)


def behaviours() -> list[Behaviour]:
    """All of them, as ``documented.toml`` has them."""
    with (Path(__file__).parent / "documented.toml").open("rb") as file:
        return [Behaviour(**each) for each in tomllib.load(file)["behaviour"]]


class Story:
    """A story being played."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._stream = TableStream()
        self._stream.open_shard("a")
        self._time = BEGAN
        self._objects: list[tuple[str, dict[str, Any]]] = []
        self._last_object: tuple[str, dict[str, Any]] = ("", {})
        self._under_way: dict[str, Invocation] = {}
        self._last_event: dict[str, Any] = {}
        lines = [line.split("#")[0].strip() for line in behaviour.story.splitlines()]
        self._lines = [line for line in lines if line]
        if "create" not in self._lines:
            self._create("")

    def play(self) -> None:
        """Play it to its end.

        Raises:
            AssertionError: it went otherwise than documented; the message has the line.
        """
        for line in self._lines:
            verb, _, rest = line.partition(" ")
            step: Callable[[str], None] = getattr(self, f"_{verb}")
            try:
                step(rest)
            except AssertionError as error:
                raise AssertionError(f"{line}: {error}") from None
        assert not self._objects, f"objects that the story does not tell of: {self._objects}"

    def _create(self, _: str) -> None:
        self._mapping = EventSourceMapping(
            _settings(self._behaviour.settings),
            self._stream,
            lambda: self._time,
            lambda name, body: self._objects.append((name, json.loads(body))),
        )

    def _write(self, rest: str) -> None:
        shard, *tokens = rest.split()
        records = self._stream.shards[shard].records
        for token in tokens:
            about, _, kilobytes = token.partition("*")
            numbers, _, type_ = about.partition(":")
            for number in _numbers([numbers]):
                record = self._record(number, type_.removesuffix("!"), int(kilobytes or 0))
                records.append(_expired(record) if type_.endswith("!") else record)

    def _record(self, number: str, type_: str, kilobytes: int) -> dict[str, Any]:
        image: dict[str, Any] = {"type": {"S": type_}} if type_ else {}
        image |= {"body": {"S": "x" * 1024 * kilobytes}} if kilobytes else {}
        change = {
            "Keys": {"PK": {"S": number}, "SK": {"S": "#"}},
            "NewImage": image,
            "SequenceNumber": number,
            "ApproximateCreationDateTime": self._time.timestamp(),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
        return {
            "eventID": number,
            "eventName": "INSERT",
            "eventSource": "aws:dynamodb",
            "eventSourceARN": ARN,
            "awsRegion": "us-east-1",
            "dynamodb": change,
        }

    def _wait(self, rest: str) -> None:
        unit = 3600 if rest.endswith("h") else 1
        self._time += dt.timedelta(seconds=float(rest.removesuffix("h")) * unit)

    def _close(self, shard: str) -> None:
        self._stream.shards[shard].closed = True

    def _split(self, rest: str) -> None:
        parent, *children = rest.split()
        self._close(parent)
        for child in children:
            self._stream.open_shard(child, parent)

    def _invoke(self, rest: str) -> None:
        batch, _, outcome = rest.partition("->")
        self._begin(batch)
        self._end(f"{batch.split()[0]} ->{outcome}")

    def _begin(self, rest: str) -> None:
        shard, *expected = rest.split()
        assert shard in self._mapping.list_ready_shards(), (
            f"not ready: {self._mapping.list_ready_shards()}"
        )
        invocation = self._mapping.poll(shard)
        assert invocation is not None, "nothing is sent"
        self._under_way[shard], self._last_event = invocation, invocation.event
        found = [each["dynamodb"]["SequenceNumber"] for each in self._last_event["Records"]]
        assert found == list(_numbers(expected)), f"sent {found}"

    def _end(self, rest: str) -> None:
        shard, _, outcome = (part.strip() for part in rest.partition("->"))
        self._mapping.settle(self._under_way.pop(shard), _outcome(outcome))

    def _replace(self, shard: str) -> None:
        self._mapping.replace_poller(shard)

    def _nothing(self, shard: str) -> None:
        # Polled first: to find that all is too old is also something to do.
        for each in [shard] if shard else list(self._stream.shards):
            assert self._mapping.poll(each) is None, f"{each} is sent"
        ready = [each for each in self._mapping.list_ready_shards() if shard in ("", each)]
        assert not ready, f"ready: {ready}"

    def _event(self, rest: str) -> None:
        _has(self._last_event, rest)

    def _body(self, rest: str) -> None:
        _has(self._last_object[1], rest)

    def _checkpoint(self, rest: str) -> None:
        shard, settled = rest.split()
        found = self._mapping.get_checkpoint(shard)
        assert found == int(settled), f"{found}"

    def _object(self, rest: str) -> None:
        assert self._objects, "there is none"
        shard, *expected, condition = rest.split()
        self._last_object = self._objects.pop(0)
        body, numbers = self._last_object[1], list(_numbers(expected))
        batch, payload = body["DDBStreamBatchInfo"], json.loads(body["payload"])
        assert body["requestContext"]["condition"] == condition
        assert batch["shardId"] == shard
        ends = [batch["startSequenceNumber"], batch["endSequenceNumber"]]
        assert ends == [numbers[0], numbers[-1]], f"{ends}"
        assert batch["batchSize"] == len(numbers)
        written = {each["eventID"]: each for each in self._stream.shards[shard].records}
        assert payload["Records"] == [written[number] for number in numbers]

    def _name(self, pattern: str) -> None:
        assert re.fullmatch(pattern, self._last_object[0]), self._last_object[0]

    def _payload(self, rest: str) -> None:
        _has(json.loads(self._last_object[1]["payload"]), rest)

    def _lost(self, rest: str) -> None:
        found = [each["eventID"] for each in self._mapping.list_trimmed_records()]
        assert found == list(_numbers(rest.split())), f"{found}"

    def _refuse(self, rest: str) -> None:
        try:
            EventSourceMapping(_settings(json.loads(rest)), self._stream, lambda: self._time)
        except ValueError:
            return
        raise AssertionError("accepted")


def _expired(record: dict[str, Any]) -> dict[str, Any]:
    """The same item, removed by DynamoDB's TTL process."""
    change = {**record["dynamodb"]}
    change["OldImage"] = change.pop("NewImage")
    by = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return {**record, "eventName": "REMOVE", "dynamodb": change, "userIdentity": by}


def _has(whole: Any, rest: str) -> None:
    path, _, expected = rest.partition(" ")
    found = reduce(lambda each, key: each.get(key, "absent"), path.split("."), whole)
    assert found == (expected if expected == "absent" else json.loads(expected)), f"{found!r}"


def _settings(named: dict[str, Any]) -> MappingSettings:
    return MappingSettings(**{**named, "filters": tuple(named.get("filters", ()))})


def _numbers(tokens: list[str]) -> Iterator[str]:
    """Sequence numbers; ``3-5`` is three of them."""
    for token in tokens:
        first, _, last = token.partition("-")
        yield from (str(number) for number in range(int(first), int(last or first) + 1))


def _outcome(text: str) -> FunctionReturned | FunctionFailed:
    word, *numbers = text.split()
    if word in ERRORS:
        return ERRORS[word]
    if word == "large":
        return FunctionReturned({"state": {"all": "x" * 1024 * 1024}})
    if word in ("ok", "report"):
        failures = [{"itemIdentifier": number} for number in numbers]
        return FunctionReturned({"state": {}, "batchItemFailures": failures})
    return FunctionReturned(json.loads(text))


def table() -> str:
    """The behaviours as a Markdown table."""
    rows = ["| behaviour | what is documented | where |", "|---|---|---|"]
    for each in behaviours():
        rows.append(f"| {each.name} | {' '.join(each.says.split())} | <{each.source}> |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
