"""``make bench-as-of``: no answer has an earlier `as_of` than one that had ended before it began.

Eight instances of the API answer in turn, each with a cache of its own, while one writer adds
items. The deployment is in memory, and so is its time: 10,000 answers take an hour of it, in which
a rollup runs every minute, up to three seconds late. The exit status is 1 if a figure misses its
threshold.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
from collections import Counter, defaultdict

from rich.console import Console
from rich.table import Table

from daicho import Aggregate, Count, Domain, Entity, Key, field, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.item_cache import ItemCache
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client

ANSWERS, READERS, SEED = 10_000, 8, 20_261_129
MAX_PAUSE_S, MAX_LATE_S, MAX_WRITE_INTERVAL_S = 0.72, 3.0, 90.0
MAX_AGES_S = {"live": 150, "total": 240}
"""What docs/reference/declarations/aggregate.md promises while figures change."""
URLS = {
    "/pages/home/visits": "total",
    "/pages": "total",
    "/pages/home/visits?live=true": "live",
    "/pages?live=true": "total",  # its members are those of the last rollup
}


class Visit(Entity):
    """A visit of a page."""

    id: str = uid()
    page: str = field()

    key = Key(id)
    by_page = Aggregate(Count(), page)
    busiest = Aggregate(Count(), page, ranked=True)


DOMAIN = Domain("visits", Visit)
DOMAIN.mount("/pages/{page}/visits", Visit.by_page)
DOMAIN.mount("/pages", Visit.busiest.top)
DAICHO = Daicho(DOMAIN)
LEDGER = DAICHO.append_generations(Ledger())


class Site:
    """A deployment that counts visits, its readers, and what they found.

    ``counts``: answers by what is wrong or noteworthy. ``ages``: the largest age by kind.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._deployment = MemoryDeployment(LEDGER, heartbeat_seconds=45)
        self._deployment.roll_up()
        self._clients = [self._open_client() for _ in range(READERS)]
        self._visits: list[dt.datetime] = []
        self._newest: defaultdict[str, str] = defaultdict(str)
        self._next_write = self._next_rollup = self._deployment.clock.now()
        self.counts: Counter[str] = Counter()
        self.ages: defaultdict[str, float] = defaultdict(float)

    def pass_time(self) -> None:
        """Some tenths of a second pass, in which a write or a rollup may be due."""
        clock = self._deployment.clock
        clock.advance(self._chance.uniform(0, MAX_PAUSE_S))
        if clock.now() >= self._next_write:
            self._deployment.open_book().create(Visit(page="home"))
            self._visits.append(clock.now())
            self._next_write += dt.timedelta(seconds=self._chance.uniform(1, MAX_WRITE_INTERVAL_S))
        if clock.now() >= self._next_rollup:
            clock.advance(self._chance.uniform(0, MAX_LATE_S))
            self._deployment.roll_up()
            self._next_rollup += dt.timedelta(minutes=1)
        else:
            self._deployment.deliver()

    def answer(self) -> None:
        """One of the readers gets an answer, and compares it with the earlier ones."""
        url = self._chance.choice(list(URLS))
        body = self._chance.choice(self._clients).good("GET", url)
        kind, as_of = URLS[url], body["as_of"] or ""
        self.counts["answers"] += 1
        self.counts["unknown"] += not as_of
        self.counts["older"] += as_of < self._newest[kind]
        self._newest[kind] = max(self._newest[kind], as_of)
        if as_of:
            count = body["count"] if "count" in body else body["items"][0]["count"]
            time, now = dt.datetime.fromisoformat(as_of), self._deployment.clock.now()
            self.counts["lacking"] += count < sum(at < time for at in self._visits)
            self.ages[kind] = max(self.ages[kind], (now - time).total_seconds())

    def _open_client(self) -> Client:
        deployment = self._deployment
        cache, now = ItemCache(deployment.clock.now), deployment.clock.now

        def open_book(_access: object) -> Book:
            table = deployment.table
            return Book(table, LEDGER, "tenant", clock=now, item_cache=cache, parallelism=1)

        return Client(Api(DAICHO, open_book), "tenant")


def main() -> int:
    """Play, and print what was found; 1 if a threshold is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    site = Site(random.Random(options.seed))  # noqa: S311  # it chooses what happens
    for _ in range(options.answers):
        site.pass_time()
        site.answer()
    lines: list[tuple[str, float, float]] = [
        ("older than one that had ended before", site.counts["older"], 0),
        ("without a change of before its as_of", site.counts["lacking"], 0),
    ]
    lines += [
        (f"largest age of as_of in seconds, {kind}", site.ages[kind], promised)
        for kind, promised in MAX_AGES_S.items()
    ]
    known = site.counts["answers"] - site.counts["unknown"]
    title = f"{site.counts['answers']:,} answers to {READERS} readers, {known:,} with as_of"
    table = Table(title=title)
    for heading in ("figure", "value", "at most", ""):
        table.add_column(heading)
    for name, value, most in lines:
        table.add_row(name, f"{value:.0f}", f"{most:.0f}", "MISSED" if value > most else "")
    Console(width=100).print(table)
    return int(any(value > most for _, value, most in lines) or known < options.answers / 2)


if __name__ == "__main__":
    sys.exit(main())
