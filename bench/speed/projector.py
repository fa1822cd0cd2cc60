"""Processor time of the projector beside the usual handlers, for each record of full batches.

Both sides are handlers that get the event's dictionary, with real clients over stubbed HTTP. The
time is all that an invocation takes: reading the event, computing, folding, and its requests.

The projector sends its requests in one thread here, as its peers do. Where answers come at once,
threads do nothing but wait for each other; the time with as many as are deployed is a figure of its
own. It is of one processor, because the memory of the function gives it one vCPU: threads on two
processors also pay for passing the interpreter's lock between them, which is a figure without a
threshold. Source: AWS Lambda Developer Guide, "Configure Lambda function memory".
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from unittest import mock

import boto3

from bench.speed.figures import PAIRS, Comparison, Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON, Context, run_on_one_processor
from bench.speed.stream_events import (
    COLUMNS,
    ORDERS,
    Change,
    build_event,
    build_image,
    draw_sales,
    load_ledger,
)
from bench.speed.stubbed_http import StubbedHttp
from bench.speed.usual_handler import (
    Handler,
    build_marking_handler,
    build_moving_handler,
    build_usual_handler,
)
from daicho.handlers import project
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.storage.attributes import Image

RECORDS = 1_000
FEWER_RECORDS = 200
"""The records of a batch in which each of them causes writes of its own."""
INSERT_THRESHOLDS = {10: 16, 100: 12, 1_000: 4}
"""How many times less than the usual handler an INSERT takes, by the groups of a batch."""
MODIFY_THRESHOLD = 10
DERIVED_ITEM_THRESHOLD = 5
MICROSECONDS = 1e6
Measure = Callable[[], float]


def measure_figures(*, full: bool) -> list[Figure]:
    """All figures of this part. ``full``: twice the pairs."""
    pairs = PAIRS * 2 if full else PAIRS
    with mock.patch.dict(os.environ, ENVIRON), StubbedHttp():
        return _Trial(pairs).measure()


class _Trial:
    """Both sides, built once as a function builds them at its start."""

    def __init__(self, pairs: int) -> None:
        self._pairs = pairs
        self._draw = random.Random(23)  # noqa: S311  # no secret depends on it
        in_order = replace(AWS_DEPENDENCIES, parallelism=1)
        self._project = project.build(ENVIRON, load_ledger(), in_order)
        self._usual = build_usual_handler()

    def measure(self) -> list[Figure]:
        figures = [self._compare_inserts(groups) for groups in INSERT_THRESHOLDS]
        return [
            *figures,
            *self._compare_modifies(),
            self._compare_marking_handler(),
            *self._compare_threads(),
            *self._compare_derived_items(),
            self._report("20 aggregates on one entity", self._draw_metrics, RECORDS),
            self._report("10 listings on one entity", self._draw_pages, FEWER_RECORDS),
        ]

    def _compare_inserts(self, groups: int) -> Figure:
        def draw() -> list[Change]:
            return [(None, image) for image in draw_sales(self._draw, RECORDS, groups)]

        comparison = self._compare(draw, self._usual)
        threshold = INSERT_THRESHOLDS[groups]
        return _make_figure(f"INSERT, {groups} groups", comparison, RECORDS, threshold)

    def _compare_modifies(self) -> list[Figure]:
        def draw() -> list[Change]:
            old = draw_sales(self._draw, RECORDS, 10, "old group")
            return [
                (image, {**image, "group": {"S": f"new group {number % 10}"}})
                for number, image in enumerate(old)
            ]

        name = "MODIFY, each from one of 10 groups to one of 10 others"
        return [
            _make_figure(name, self._compare(draw, self._usual), RECORDS, MODIFY_THRESHOLD),
            _make_figure(
                "the same, peer with an update for each image",
                self._compare(draw, build_moving_handler(), 3),
                RECORDS,
            ),
        ]

    def _compare_marking_handler(self) -> Figure:
        def draw() -> list[Change]:
            return [(None, image) for image in draw_sales(self._draw, RECORDS, 10)]

        comparison = self._compare(draw, build_marking_handler(), 3)
        return _make_figure("INSERT, 10 groups, peer with a marker an event", comparison, RECORDS)

    def _compare_threads(self) -> list[Figure]:
        def draw() -> list[Change]:
            return [(None, image) for image in draw_sales(self._draw, RECORDS, 1_000)]

        def compare(pairs: int) -> Comparison:
            project_in_threads = project.build(ENVIRON, load_ledger(), AWS_DEPENDENCIES)
            return compare_in_pairs(
                lambda: self._measure_batch(project_in_threads, draw()),
                lambda: self._measure_batch(self._usual, draw()),
                pairs=pairs,
            )

        name = f"INSERT, 1,000 groups, with the {AWS_DEPENDENCIES.parallelism} threads as deployed"
        with run_on_one_processor():
            figure = _make_figure(name, compare(self._pairs), RECORDS, INSERT_THRESHOLDS[1_000])
        name = "the same, on all processors of this machine"
        return [figure, _make_figure(name, compare(3), RECORDS)]

    def _compare_derived_items(self) -> list[Figure]:
        client = boto3.client("dynamodb")
        table = boto3.resource("dynamodb").Table("daicho")

        def project_tasks() -> float:
            return self._measure_batch(self._project, self._draw_tasks(FEWER_RECORDS))

        def put_each() -> float:
            items = [_build_derived_item(image) for _, image in self._draw_tasks(FEWER_RECORDS)]
            began = time.process_time()
            for item in items:
                client.put_item(
                    TableName="daicho",
                    Item=item,
                    ConditionExpression="attribute_not_exists(seq) OR seq < :seq",
                    ExpressionAttributeValues={":seq": item["seq"]},
                )
            return time.process_time() - began

        def put_batches() -> float:
            items = [_build_derived_item(image) for _, image in self._draw_tasks(FEWER_RECORDS)]
            plain = [{name: value["S"] for name, value in item.items()} for item in items]
            began = time.process_time()
            with table.batch_writer() as batch:
                for item in plain:
                    batch.put_item(Item=item)
            return time.process_time() - began

        conditional = compare_in_pairs(project_tasks, put_each, pairs=self._pairs)
        batched = compare_in_pairs(project_tasks, put_batches, pairs=self._pairs)
        return [
            _make_figure(
                "a derived item, peer: conditional put_item",
                conditional,
                FEWER_RECORDS,
                DERIVED_ITEM_THRESHOLD,
            ),
            _make_figure("a derived item, peer: batch_writer", batched, FEWER_RECORDS),
        ]

    def _draw_tasks(self, count: int) -> list[tuple[None, Image]]:
        drawn = ({"group": f"group {number % 10}", "note": "call back"} for number in range(count))
        return [(None, build_image("Task", {"id": self._draw_id(), **fields})) for fields in drawn]

    def _draw_metrics(self, count: int) -> list[Change]:
        """Metrics with one of 10 values in each column."""
        return [
            (None, build_image("Metric", {"id": self._draw_id(), **self._draw_values(COLUMNS)}))
            for _ in range(count)
        ]

    def _draw_pages(self, count: int) -> list[Change]:
        return [
            (None, build_image("Page", {"id": self._draw_id(), **self._draw_values(ORDERS)}))
            for _ in range(count)
        ]

    def _draw_values(self, names: Sequence[str]) -> Mapping[str, str]:
        return {name: f"value {self._draw.randrange(10)}" for name in names}

    def _draw_id(self) -> str:
        return f"{self._draw.getrandbits(80):020x}"

    def _report(self, name: str, draw: Callable[[int], list[Change]], count: int) -> Figure:
        """The projector's time a record, without a peer."""
        times = [self._measure_batch(self._project, draw(count)) for _ in range(4)][1:]
        value = min(times) / count * MICROSECONDS
        return Figure(name, value, unit="µs a record", detail="least of 3 batches")

    def _compare(
        self, draw: Callable[[], list[Change]], peer: Handler, pairs: int | None = None
    ) -> Comparison:
        """Compare the projector with a peer; each gets new events, and no record twice."""
        return compare_in_pairs(
            lambda: self._measure_batch(self._project, draw()),
            lambda: self._measure_batch(peer, draw()),
            pairs=pairs or self._pairs,
        )

    def _measure_batch(self, handler: Handler, changes: Sequence[Change]) -> float:
        """Processor seconds of one invocation, in all its threads."""
        event = build_event(changes)
        began = time.process_time()
        answer = handler(event, Context())
        seconds = time.process_time() - began
        if answer["batchItemFailures"]:
            raise RuntimeError(f"the batch failed: {answer}")
        return seconds


def _build_derived_item(image: Image) -> dict[str, dict[str, str]]:
    """The item that the projector writes for a task."""
    pk, created = image["PK"]["S"], image["created_at"]["S"]
    return {
        "PK": {"S": pk.replace("#", "#~", 1)},
        "SK": {"S": "by_group#1#group$200"},
        "GSI2PK": {"S": "acme#Task.by_group#1#group$200"},
        "GSI2SK": {"S": f"{created}#{image['id']['S']}"},
        "seq": {"S": "2026-11-21T00:00:00.000#" + "0" * 40},
    }


def _make_figure(
    name: str, comparison: Comparison, records: int, threshold: float | None = None
) -> Figure:
    """How many times less than its peer the projector takes."""
    detail = comparison.describe(MICROSECONDS / records, "µs a record")
    return Figure(name, comparison.speedup, "at least", threshold, "times", detail)
