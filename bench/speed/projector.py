"""Processor time of the projector beside the usual handler, for each record of full batches.

Both sides are handlers that get the event's dictionary, with real clients over stubbed HTTP. The
time is all that an invocation takes: reading the event, computing, folding, and its requests.

The projector sends its requests in one thread here, as its peers do. Where answers come at once,
threads do nothing but wait for each other; the time with as many as are deployed is a figure of its
own. It is of one processor, because the memory of the function gives it one vCPU. Source: AWS
Lambda Developer Guide, "Configure Lambda function memory".
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from unittest import mock

import boto3

from bench.speed.figures import PAIRS, Comparison, Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON, Context, run_on_one_processor
from bench.speed.stream_events import (
    Change,
    build_event,
    build_image,
    draw_sales,
    load_ledger,
)
from bench.speed.stubbed_http import Answer, StubbedHttp, answer_as_new_table
from bench.speed.usual_handler import Handler, build_usual_handler
from daicho.handlers import project
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.storage.attributes import Image
from daicho.stream.journal import JournalFlag

RECORDS = 1_000
TASKS = 200
"""The records of a batch in which each of them causes writes of its own."""
INSERT_THRESHOLDS = {10: 16, 100: 12, 1_000: 4}
"""How many times less than the usual handler an INSERT takes, by the groups of a batch."""
MODIFY_THRESHOLD = 10
DERIVED_ITEM_THRESHOLD = 5
MICROSECONDS = 1e6
MOST_JOURNAL = {4: 1.03, 1: 1.09}
"""How many times as long a batch takes while it is written to the journal, if one of so many of its
records is counted and the others have a row."""


def measure_figures() -> list[Figure]:
    """All figures of this part."""
    with mock.patch.dict(os.environ, ENVIRON), StubbedHttp() as http:
        return _Trial(http).measure()


class _Trial:
    """Both sides, built once as a function builds them at its start."""

    def __init__(self, http: StubbedHttp) -> None:
        self._http = http
        self._draw = random.Random(23)  # noqa: S311  # no secret depends on it
        in_order = replace(AWS_DEPENDENCIES, parallelism=1)
        self._project = project.build(ENVIRON, load_ledger(), in_order)
        self._usual = build_usual_handler()

    def measure(self) -> list[Figure]:
        return [
            *(self._compare_inserts(groups) for groups in INSERT_THRESHOLDS),
            self._compare_modifies(),
            self._compare_threads(),
            self._compare_derived_items(),
            *(self._compare_journal(counted) for counted in MOST_JOURNAL),
        ]

    def _compare_inserts(self, groups: int) -> Figure:
        comparison = self._compare(self._project, lambda: self._draw_inserts(groups))
        return _make_figure(f"INSERT, {groups} groups", comparison, INSERT_THRESHOLDS[groups])

    def _compare_modifies(self) -> Figure:
        def draw() -> list[Change]:
            old = draw_sales(self._draw, RECORDS, 10, "old group")
            return [
                (image, {**image, "group": {"S": f"new group {number % 10}"}})
                for number, image in enumerate(old)
            ]

        name = "MODIFY, each from one of 10 groups to one of 10 others"
        return _make_figure(name, self._compare(self._project, draw), MODIFY_THRESHOLD)

    def _compare_threads(self) -> Figure:
        name = f"INSERT, 1,000 groups, with the {AWS_DEPENDENCIES.parallelism} threads as deployed"
        with run_on_one_processor():
            in_threads = project.build(ENVIRON, load_ledger(), AWS_DEPENDENCIES)
            comparison = self._compare(in_threads, lambda: self._draw_inserts(1_000))
        return _make_figure(name, comparison, INSERT_THRESHOLDS[1_000])

    def _compare_derived_items(self) -> Figure:
        client = boto3.client("dynamodb")

        def project_tasks() -> float:
            return self._measure_batch(self._project, self._draw_tasks())

        def put_each() -> float:
            items = [_build_derived_item(image) for _, image in self._draw_tasks()]
            began = time.process_time()
            for item in items:
                client.put_item(
                    TableName="daicho",
                    Item=item,
                    ConditionExpression="attribute_not_exists(seq) OR seq < :seq",
                    ExpressionAttributeValues={":seq": item["seq"]},
                )
            return time.process_time() - began

        comparison = compare_in_pairs(project_tasks, put_each)
        name = "a derived item, peer: conditional put_item"
        return _make_figure(name, comparison, DERIVED_ITEM_THRESHOLD, TASKS)

    def _compare_journal(self, one_of: int) -> Figure:
        flag = JournalFlag("run", "9999-12-31T00:00:00Z").render()

        def measure(answer: Answer) -> float:
            self._http.answer = answer
            sales = draw_sales(self._draw, RECORDS // one_of, 100)
            counted: list[Change] = [(None, image) for image in sales]
            rows = self._draw_tasks(RECORDS - len(counted))
            return self._measure_batch(self._project, [*counted, *rows])

        flagged = partial(answer_as_new_table, flag=flag)
        comparison = compare_in_pairs(
            lambda: measure(flagged), lambda: measure(answer_as_new_table), pairs=2 * PAIRS
        )
        others = f", {one_of - 1} with a row" if one_of > 1 else ""
        name = f"INSERT, 1 of {one_of} counted{others}, while sums are verified, peer: while not"
        detail = comparison.describe(MICROSECONDS / RECORDS, "µs a record")
        return Figure(name, comparison.ratio, "at most", MOST_JOURNAL[one_of], "times", detail)

    def _draw_inserts(self, groups: int) -> list[Change]:
        return [(None, image) for image in draw_sales(self._draw, RECORDS, groups)]

    def _draw_tasks(self, count: int = TASKS) -> list[tuple[None, Image]]:
        drawn = ({"group": f"group {number % 10}", "note": "call back"} for number in range(count))
        ids = (f"{self._draw.getrandbits(80):020x}" for _ in range(count))
        return [
            (None, build_image("Task", {"id": id, **fields}))
            for id, fields in zip(ids, drawn, strict=True)
        ]

    def _compare(self, ours: Handler, draw: Callable[[], list[Change]]) -> Comparison:
        """Compare the projector with the peer; each gets new events, and no record twice."""
        return compare_in_pairs(
            lambda: self._measure_batch(ours, draw()),
            lambda: self._measure_batch(self._usual, draw()),
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
    name: str, comparison: Comparison, threshold: float, records: int = RECORDS
) -> Figure:
    """How many times less than its peer the projector takes."""
    detail = comparison.describe(MICROSECONDS / records, "µs a record")
    return Figure(name, comparison.speedup, "at least", threshold, "times", detail)
