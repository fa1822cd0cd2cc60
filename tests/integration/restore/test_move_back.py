"""Items moved back to a moment: what is written and skipped, and what depends on each other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from daicho.archive.forget_requests import request_update
from daicho.archive.reader import ArchiveReader
from daicho.book.book import Book
from daicho.layout.marks import mark_dismissed
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan import Ledger
from daicho.plan.events import Change, EventPlan
from daicho.restore import item_writer
from daicho.restore.differences import ItemChoice, MoveBackReport
from daicho.restore.move_back import MoveBack, open_difference_file
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.storage.requests import Scan, to_key_image
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.delivery.unique_entities import LEDGER, Member
from tests.simulator.oracle.unique_values import compare_unique_values

CHANGES: tuple[Change, ...] = ("created", "changed")
NO_ARCHIVE: Any = None
"""No member expires, so nothing reads the archive."""


class NoStream(DescribesStream):
    def list_shards(self) -> tuple[StreamShard, ...]:
        raise AssertionError("no heartbeat is needed")


class Moving:
    """A table, and a copy of it at a moment."""

    def __init__(self, ledger: Ledger = LEDGER) -> None:
        self.ledger = ledger
        self.deployment = MemoryDeployment(ledger)
        self.table = self.deployment.table
        self.copied = MemoryDynamoDB(self.deployment.clock.now)
        self.at = self.deployment.clock.now()

    def open_book(self, tenant: str = "t") -> Book:
        return self.deployment.open_book(tenant)

    def write(self, names: Sequence[str | None], tenant: str = "t") -> None:
        book = self.open_book(tenant)
        for number, name in enumerate(names):
            book.put(Member(id=f"{number:02}", org="x", name=name))

    def copy(self) -> None:
        self.at = self.deployment.clock.now()
        for image in self.list_items():
            self.copied.commit(get_key(image), image)
        self.deployment.clock.advance(60)

    def list_items(self) -> tuple[Image, ...]:
        return self.table.scan(Scan(consistent=True)).items

    def list_names(self, tenant: str = "t") -> list[str | None]:
        members = [item for item in self.list_items() if item.get("type") == {"S": "Member"}]
        own = [item for item in members if item["PK"]["S"].startswith(f"{tenant}#")]
        return [item["name"].get("S") for item in sorted(own, key=lambda item: item["PK"]["S"])]

    def run(self, tenant: str = "", entities: Sequence[str] = ("Desk", "Member")) -> MoveBackReport:
        client: Any = self.copied
        mover = MoveBack(
            self.table,
            Table(client, "copy"),
            NoStream(),
            ArchiveReader(NO_ARCHIVE),
            NO_ARCHIVE,
            self.ledger,
            self.at,
            ItemChoice(tuple(entities), tenant),
            "run",
            RateLimiter(None),
            RateLimiter(None),
            RetryBudget.for_seconds(60),
            threads=1,
            now=self.deployment.clock.now,
        )
        with open_difference_file() as file:
            mover.find_differences(file)
            report = mover.apply_changes(file)
        now = int(self.deployment.clock.now().timestamp())
        assert compare_unique_values(self.list_items(), LEDGER, now).differences == []
        return report


@pytest.fixture
def moving() -> Moving:
    return Moving()


def list_reasons(report: MoveBackReport) -> Mapping[str, int]:
    return report.skipped.get("Member", {})


def test_items_are_as_at_the_moment_and_a_repeat_writes_nothing(moving: Moving) -> None:
    moving.write(["a", "b", "c"])
    moving.copy()
    book = moving.open_book()
    book.change(Member.key("00"), {"name": "other"})
    book.delete(Member.key("01"))
    book.create(Member(id="09", org="x", name="new"))
    report = moving.run()
    assert report.changes == {"Member": {"change": 1, "create": 1, "delete": 1}}
    assert moving.list_names() == ["a", "b", "c"]
    assert [book.get(Member.key(id)).version for id in ("00", "01", "02")] == [3, 3, 1]
    assert moving.run().changes == {}


def test_only_what_is_deleted_by_it_is_published() -> None:
    fields = {"name": "str"}
    created, changed = (EventPlan(each, 1, each, fields, ("name",)) for each in CHANGES[:2])
    events = {"Member": (created, changed, EventPlan("deleted", 1, "deleted", fields))}
    moving = Moving(replace(LEDGER, events=events))
    moving.write(["a", "b"])
    moving.copy()
    book = moving.open_book()
    book.change(Member.key("00"), {"name": "other"})
    book.delete(Member.key("01"))
    book.create(Member(id="09", org="x", name="new"))
    moving.deployment.deliver()
    before = len(moving.deployment.published)
    assert moving.run().total == 3
    assert moving.run().total == 0
    moving.deployment.deliver()
    after = moving.deployment.published[before:]
    assert [(event["type"], event["subject"]) for event in after] == [(".member.deleted.v1", "09")]
    book.change(Member.key("00"), {"name": "another"})
    moving.deployment.deliver()
    assert moving.deployment.published[-1]["data"]["old"] == {"name": "a"}


def test_only_the_chosen_tenant_and_entity(moving: Moving) -> None:
    moving.write(["a"], "one")
    moving.write(["b"], "two")
    moving.copy()
    moving.write(["c"], "one")
    moving.write(["d"], "two")
    assert moving.run("one", ["Desk"]).total == 0
    assert moving.run("one").total == 1
    assert (moving.list_names("one"), moving.list_names("two")) == (["a"], ["d"])


@pytest.mark.parametrize("count", [2, 3, item_writer.MAX_GROUP])
def test_values_that_go_round_are_moved_back_in_one_transaction(moving: Moving, count: int) -> None:
    names = [f"n{number:02}" for number in range(count)]
    moving.write(names)
    moving.copy()
    moving.write([None] * count)
    moving.write([*names[1:], names[0]])
    assert moving.run().total == count
    assert moving.list_names() == names


def test_a_long_row_of_values_is_moved_back_from_its_end(moving: Moving) -> None:
    names = [f"n{number:02}" for number in range(item_writer.MAX_GROUP + 4)]
    moving.write(names)
    moving.copy()
    moving.write([None] * len(names))
    moving.write(["free", *names[:-1]])
    report = moving.run()
    assert (report.skips, moving.list_names()) == (0, names)


def test_a_round_of_too_many_values_is_listed_and_stays(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_writer, "MAX_GROUP", 4)
    names = [f"n{number:02}" for number in range(item_writer.MAX_GROUP + 1)]
    moving.write(names)
    moving.copy()
    moving.write([None] * len(names))
    moving.write([*names[1:], names[0]])
    report = moving.run()
    assert (report.total, report.skips) == (0, len(names))
    assert "goes round more than 4 items" in report.named[0]["reason"]
    assert moving.list_names() == [*names[1:], names[0]]


def test_closed_and_forgotten_tenants_are_skipped(moving: Moving) -> None:
    for tenant in ("closed", "forgotten", "earlier"):
        moving.write(["a"], tenant)
    moving.copy()
    for tenant in ("closed", "forgotten", "earlier"):
        moving.write(["b"], tenant)
    moving.table.put(to_key_image(build_closed_mark_key("closed")))
    for tenant, days in (("forgotten", 0), ("earlier", -1)):
        asked = moving.at + dt.timedelta(days=days, seconds=1)
        apply_update(moving.table, request_update(tenant, asked, asked))
    assert list_reasons(moving.run()) == {
        "its tenant is closed": 1,
        "its tenant was forgotten after that moment": 1,
    }
    assert [moving.list_names(t) for t in ("closed", "forgotten", "earlier")] == [
        ["b"],
        ["b"],
        ["a"],
    ]


def test_bad_images_of_the_moment_are_skipped(moving: Moving) -> None:
    moving.write(["a", "b", "c"])
    moving.copy()
    images = {key: image for key, image in moving.copied.items if image.get("type")}
    bad: list[Any] = [{"gen": {"N": "99"}}, {"org": {"M": {}}}, {}]
    for (key, image), change in zip(sorted(images.items()), bad, strict=True):
        changed = {**image, **change}
        moving.copied.commit(key, changed if change else mark_dismissed(changed))
    moving.write(["d", "e", "f"])
    report = moving.run()
    assert (report.total, report.skips) == (0, 3)
    reasons = " ".join(sorted(list_reasons(report)))
    for reason in ("newer than that of this code", "cannot be derived", "was dismissed"):
        assert reason in reasons
    assert moving.list_names() == ["d", "e", "f"]


def test_a_bad_live_item_is_replaced(moving: Moving) -> None:
    moving.write(["a"])
    moving.copy()
    key = ItemKey("t#Member#00", "-")
    image = moving.table.get(key) or {}
    moving.table.put({**image, "version": {"S": "none"}, "org": {"N": "1"}})
    assert moving.run().total == 1
    assert moving.open_book().get(Member.key("00")).version == 2
