"""The archive on the deployed local stack: 60 messages expire, are asked, and brought back."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from typer.testing import CliRunner

from daicho.storage.table import MAX_BATCH_WRITES
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.ttl_process import run_process
from daicho_cli.main import app
from tests.e2e.api import client, eventually, everything

TENANTS = ("acme", "globex")
EACH = 30
AGES = (1, 2, 3)
"""How many days ago a message was written. They live for seven: so they expire in four to six."""
SUBJECTS = 5
"""Every so many messages have one: a posting is a write of its own."""


@dataclass
class Run:
    """One run of a command."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> Any:
        return json.loads(self.out)


@dataclass
class Site:
    """The stack, the commands over it, and what was loaded."""

    stack: dict[str, Any]
    file: Path
    began: dt.datetime

    def __call__(self, *arguments: str) -> Run:
        result = CliRunner().invoke(app, [*arguments, "--stack", str(self.file)])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Run(result.exit_code, result.stdout, result.stderr)

    def archive(self, command: str, *arguments: str) -> Run:
        return self("archive", command, *arguments, *self.period)

    @property
    def days(self) -> list[str]:
        """The days on which they are deleted, the first to the last."""
        return [
            (self.began + dt.timedelta(days=7 - age)).date().isoformat() for age in reversed(AGES)
        ]

    @property
    def period(self) -> tuple[str, ...]:
        return ("--entity", "Message", "--since", self.days[0], "--until", self.days[-1])

    def client(self, service: Any) -> Any:
        session = boto3.Session("test", "test", region_name=REGION)
        return session.client(service, endpoint_url=self.stack["endpoint"])


RUN = f"run{int(time.time())}"
"""In every text: somebody's own stack may hold those of an earlier run."""


def texts(tenant: str, age: int | None = None) -> set[str]:
    """The messages of a tenant, of those that were written so many days ago."""
    chosen = (n for n in range(EACH) if age in (None, AGES[n % len(AGES)]))
    return {f"{RUN} {tenant} {number}" for number in chosen}


@pytest.fixture(scope="module")
def site(
    place: LocalInstance | None, stack: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """60 messages, written over three days, that have expired on three days."""
    file = place.stack_file if place else Path(os.environ["DAICHO_STACK"])
    folder = tmp_path_factory.mktemp("archive")
    # All that follows goes by this moment, the deletions too: loading may take us past midnight.
    # Theirs are whole seconds.
    began = dt.datetime.now(dt.UTC).replace(microsecond=0)
    made = Site(stack, file, began)
    for tenant in TENANTS:
        rows = folder / f"{tenant}.ndjson"
        with rows.open("w") as lines:
            for number in range(EACH):
                created = began - dt.timedelta(days=AGES[number % len(AGES)], seconds=60)
                row = {"text": f"{RUN} {tenant} {number}", "created_at": created.isoformat()}
                if number % SUBJECTS == 0:
                    row["subject"] = f"{RUN} {number}"
                lines.write(json.dumps(row) + "\n")
        assert made("load", "Message", str(rows), "--tenant", tenant).code == 0
    session = boto3.Session("test", "test", region_name=REGION)
    dynamodb = session.client("dynamodb", endpoint_url=stack["endpoint"])
    third = [len(texts(tenant, age)) for age in AGES for tenant in TENANTS]
    per_day = [sum(third[2 * n : 2 * n + 2]) for n in range(len(AGES))]
    played = run_process(dynamodb, stack["table"], 6, ["Message"], began.timestamp())
    assert list(played) == [0, 0, 0, *reversed(per_day)]
    yield made
    # Index queries of the local AWS take time in proportion to the table: other tests go on in it.
    remove_tombstones(dynamodb, stack["table"])


def remove_tombstones(dynamodb: Any, table: str) -> None:
    """Remove what the messages' postings left, now that nothing of them can come any more."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        ProjectionExpression="PK, SK",
        FilterExpression="contains(PK, :derived) AND attribute_not_exists(GSI2PK)",
        ExpressionAttributeValues={":derived": {"S": "#~Message#"}},
    )
    gone = [item for page in pages for item in page["Items"]]
    for begin in range(0, len(gone), MAX_BATCH_WRITES):
        some = [{"DeleteRequest": {"Key": key}} for key in gone[begin : begin + MAX_BATCH_WRITES]]
        dynamodb.batch_write_item(RequestItems={table: some})


def settled(read: Callable[[], int]) -> int:
    """A number once it stays."""
    seen = [-1, read()]
    eventually(lambda: seen.append(read()), lambda _: len(seen) > 4 and len(set(seen[-4:])) == 1)
    return seen[-1]


def check_audit(site: Site) -> None:
    """Call the audit, as its schedule does: nothing is lost."""
    name = site.stack["functions"]["audit"]
    answer = site.client("lambda").invoke(FunctionName=name, Payload=b'{"again": true}')
    report = json.load(answer["Payload"])
    assert (report["left"], report["given_up"]) == (0, [])
    assert "lost" not in report["report"]["kinds"]


def count(api: httpx.Client) -> int:
    answer = api.get("/messages/count?live=true")
    assert answer.status_code == 200, answer.text
    return int(answer.json()["count"])


def test_what_expired_is_asked_verified_and_brought_back(site: Site, tmp_path: Path) -> None:
    wanted = {text for tenant in TENANTS for text in texts(tenant)}

    def rows() -> list[dict[str, Any]]:
        found = site.archive("query", "-o", "json").told
        return [row for row in found if row["item"]["text"].startswith(RUN)]

    found = eventually(rows, lambda rows: len(rows) >= len(wanted))
    assert len(found) == len(wanted) == 60
    assert {row["item"]["text"] for row in found} == wanted
    asked = site.archive("query", "-o", "json")
    assert " of 3 partitions, " in asked.err
    verified = site.archive("verify")
    assert (verified.code, verified.out.splitlines()[-1]) == (0, "sound"), verified.out
    counts = site.archive("verify", "--json").told["counts"]
    assert counts["deletions"] == counts["rows"] >= len(wanted)

    check_audit(site)

    gone = site("archive", "forget", "--tenant", "globex", "--json")
    assert gone.code == 1
    assert gone.told["younger_rows"] >= EACH and gone.told["objects"] == 0

    # One tenant's one day.
    tenant, day, age = "globex", site.days[1], AGES[1]
    back = texts(tenant, age)
    # From when the test began, so that a stack of somebody's own may hold others of that day.
    since = site.began + dt.timedelta(days=7 - age)
    assert since.date().isoformat() == day
    of_day = ("--tenant", tenant, "--since", since.isoformat(), "--until", day)
    one = next(row for row in found if row["item"]["text"] == f"{RUN} {tenant} {AGES.index(age)}")
    state = ("--state", str(tmp_path / "state.json"))
    with client(site.stack, tenant) as api:
        hits = {text for text in back if int(text.split()[-1]) % SUBJECTS == 0}
        assert everything(api, "/messages", subject=RUN) == []
        assert api.get(f"/messages/{one['item']['id']}").status_code == 404
        before = settled(lambda: count(api))
        dry = site("archive", "restore", *of_day)
        assert dry.code == 0, dry.out + dry.err
        assert f"{len(back):,} would be restored" in dry.out
        done = site("archive", "restore", *of_day, "--apply", "--json", *state)
        assert done.code == 0, done.err
        assert (done.told["restored"], done.told["complete"]) == (len(back), True)

        assert api.get(f"/messages/{one['item']['id']}").json()["text"] == one["item"]["text"]
        after = eventually(lambda: count(api), lambda n: n == before + len(back))
        assert after == before + len(back)
        listed = eventually(
            lambda: {item["text"] for item in everything(api, "/messages")}, back.issubset
        )
        assert back <= listed
        assert not (texts(tenant) - back) & listed
        shown = {item["text"] for item in everything(api, "/messages", subject=RUN)}
        assert shown == hits
        again = site("archive", "restore", *of_day, "--apply", "--json", *state).told
        assert again["restored"] == 0 and again["already"] >= len(back)
        assert count(api) == after
    with client(site.stack, "acme") as api:
        assert not texts("globex") & {item["text"] for item in everything(api, "/messages")}
