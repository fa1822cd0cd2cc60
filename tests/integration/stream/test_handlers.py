"""The handlers of the stream and the schedule, with real events, over Dynoxide."""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daicho.derive.contributions import Amount
from daicho.errors import SettingsError
from daicho.handlers import archive, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.stream_consumer import NotDoneError
from daicho.project import FUNCTIONS
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally import reader
from tests.support.memory_stores import MemoryBucket
from tests.support.sample_ledger import LEDGER, OLD_LEDGER, build_tally_key

TESTS = Path(__file__).parents[2]
BUCKET = "archive"


def event(name: str) -> Any:
    return json.loads((TESTS / "events" / f"{name}.json").read_text(encoding="utf-8"))


class Context:
    """Lambda's context of an invocation that has so much time left."""

    def __init__(self, seconds: float = 60) -> None:
        self._left = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self._left * 1000)


class Ending(Context):
    """One whose time runs out as it is asked for."""

    def get_remaining_time_in_millis(self) -> int:
        self._left /= 2
        return super().get_remaining_time_in_millis()


@pytest.fixture
def environ(
    dynamo: str, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mapping[str, str]]:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynamo)
    yield {
        "TABLE_NAME": table_name,
        "STAGE": "local",
        "DIRTY_SHARDS": "2",
        "ARCHIVE_BUCKET": BUCKET,
        "FAILURE_BUCKET": BUCKET,
    }


def postings(table: Table, gram: str) -> list[str]:
    query = Query(f"acme#Song.search#1#{gram}", index="GSI2")
    return [item["GSI2SK"]["S"] for page in table.query_pages(query) for item in page.items]


def test_the_projector_derives_and_counts(environ: Mapping[str, str], table: Table) -> None:
    handler = project.build(environ, LEDGER)
    for _ in range(2):  # a repeat changes nothing
        answer = handler(event("stream"), Context())
        assert answer == {"state": {}, "batchItemFailures": []}
    created = "2026-11-21T01:05:40.123456Z"
    assert postings(table, "as") == postings(table, "") == [f"{created}#1"]
    assert postings(table, "aj") == []
    live = reader.read_live_amount(table, build_tally_key("Song", "count", 1, tenant="acme"))
    assert live == Amount(0)
    assert reader.read_live_amount(
        table, build_tally_key("Song", "length", 2, "x", tenant="acme")
    ) == Amount(0)


def test_the_rollup_brings_totals_up(
    environ: Mapping[str, str], table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    given = event("stream")
    del given["Records"][2]
    project.build(environ, LEDGER)(given, Context())
    count = build_tally_key("Song", "count", 1, tenant="acme")
    assert reader.read_rolled_up_amount(table, count) == Amount()
    capsys.readouterr()
    report = rollup.build(environ, LEDGER)({}, Context())
    assert (report["rolled"], report["failed"], report["finished"]) == (2, 0, True)
    assert reader.read_rolled_up_amount(table, count, consistent=True) == Amount(1, Decimal(1))
    line = json.loads(capsys.readouterr().out)
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Daicho"
    assert line["TalliesRolledUp"] == 2
    assert rollup.build(environ, LEDGER)({}, Context())["rolled"] == 0


def test_a_newer_image_is_reported_alone(environ: Mapping[str, str]) -> None:
    answer = project.build(environ, OLD_LEDGER)(event("stream"), Ending())
    first = event("stream")["Records"][0]["dynamodb"]["SequenceNumber"]
    assert answer == {"state": {}, "batchItemFailures": [{"itemIdentifier": first}]}


def test_the_end_of_a_window_is_answered(environ: Mapping[str, str]) -> None:
    answer = project.build(environ, LEDGER)(event("window_end"), Context())
    assert answer == {"state": {}, "batchItemFailures": []}


def test_the_emulated_stream_is_told_by_an_exception(environ: Mapping[str, str]) -> None:
    handler = project.build({**environ, "EMULATED_STREAM": "true"}, OLD_LEDGER)
    with pytest.raises(NotDoneError):
        handler(event("stream"), Ending())


@pytest.mark.parametrize(("name", "emulated"), [("expiry", "false"), ("emulated", "true")])
def test_the_archive_holds_what_expired_once(
    environ: Mapping[str, str], name: str, emulated: str
) -> None:
    bucket = MemoryBucket()
    dependencies = Dependencies(bucket=lambda *_, **__: bucket)
    handler = archive.build({**environ, "EMULATED_STREAM": emulated}, LEDGER, dependencies)
    for _ in range(2):
        answer = handler(event(name), Context())
        assert answer == {"state": {}, "batchItemFailures": []}
    ((name, (body, _)),) = bucket.objects.items()
    assert name.startswith("entity=Download/dt=2026-11-21/")
    (line,) = gzip.decompress(body).splitlines()
    row = json.loads(line)
    assert (row["tenant"], row["item"]["id"]) == ("acme", {"S": "1"})
    assert "_ttl_expired" not in row["item"]


# The function `release` reads its settings at an event, so that it can answer what is wrong.
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "release"])
def test_an_import_reads_no_environment_and_asking_for_the_handler_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TABLE_NAME", raising=False)
    module = importlib.import_module(f"handlers.{name}")
    with pytest.raises(SettingsError, match="TABLE_NAME"):
        _ = module.handler
    with pytest.raises(AttributeError):
        _ = module.nothing
