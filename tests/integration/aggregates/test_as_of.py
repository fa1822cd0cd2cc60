"""The time up to which figures include everything, read through the book and the API."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.attributes import ItemKey
from daicho.storage.table import Table
from daicho.tally.watermark import WATERMARK_KEY
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from daicho.web.openapi.document import describe_api
from tests.support.api_client import Client

MINUTE_S = 60.0


class Visit(Entity):
    id: str = uid()
    page: str = field()

    key = Key(id)
    by_page = Aggregate(Count(), page)
    busiest = Aggregate(Count(), page, ranked=True)


LEDGER = Daicho(Domain("visits", Visit)).append_generations(Ledger())


class Site:
    """A deployment with visits, of which some minutes pass."""

    def __init__(self, heartbeat_seconds: int = 45) -> None:
        self.deployment = MemoryDeployment(LEDGER, heartbeat_seconds=heartbeat_seconds)
        self.book = self.deployment.open_book()

    def visit(self) -> dt.datetime:
        """A visit of the home page; the time of it."""
        self.book.create(Visit(page="home"))
        return self.deployment.clock.now()

    def pass_minutes(self, count: int) -> None:
        for _ in range(count):
            self.deployment.clock.advance(MINUTE_S)
            self.deployment.catch_up()

    def read(self, *, live: bool) -> Any:
        return self.deployment.open_book().read(Visit.by_page("home"), live=live)


@pytest.fixture
def site() -> Site:
    return Site()


def test_the_time_stays_while_records_wait(site: Site) -> None:
    site.visit()
    site.pass_minutes(5)
    waiting = site.visit()
    for _ in range(5):  # the rollup runs, and nothing is delivered
        site.deployment.clock.advance(MINUTE_S)
        site.deployment.roll_up()
    for live in (True, False):
        assert site.read(live=live).as_of <= waiting
    site.pass_minutes(6)
    for live in (True, False):
        assert site.read(live=live).as_of > waiting


def test_the_time_is_read_before_the_figure(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.visit()
    site.pass_minutes(5)
    read: list[ItemKey] = []
    get = Table.get

    def get_and_record(table: Table, key: ItemKey, **arguments: Any) -> Any:
        read.append(key)
        return get(table, key, **arguments)

    monkeypatch.setattr(Table, "get", get_and_record)
    for live in (True, False):
        read.clear()
        site.read(live=live)
        assert read[0] == WATERMARK_KEY
        assert len(read) > 1


def test_scores_and_rankings_of_the_api_have_both_fields(site: Site) -> None:
    domain = Domain("visits", Visit)
    domain.mount("/pages/{page}/visits", Visit.by_page)
    domain.mount("/pages", Visit.busiest.top)
    daicho = Daicho(domain)
    client = Client(Api(daicho, lambda _access: site.deployment.open_book()), "tenant")
    written = site.visit()
    site.pass_minutes(6)
    for url, rolled_up in (
        ("/pages/home/visits", True),
        ("/pages/home/visits?live=true", False),
        ("/pages", True),
        ("/pages?live=true", False),
    ):
        answer = client.good("GET", url)
        assert answer["rolled_up"] is rolled_up, url
        assert answer["as_of"].endswith("Z")
        assert dt.datetime.fromisoformat(answer["as_of"]) > written
    assert client.good("GET", "/pages")["items"] == [{"page": "home", "count": 1, "rank": 1}]
    schemas = describe_api(daicho, LEDGER)["components"]["schemas"]
    for name in ("VisitByPage", "VisitBusiestPage"):
        assert {"as_of", "rolled_up"} <= set(schemas[name]["required"])
    assert "as_of" not in schemas["VisitBusiestMember"]["properties"]
