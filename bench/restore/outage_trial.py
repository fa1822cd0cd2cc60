"""The stream is off for 30 hours: what is told, what the recovery writes, and what it archives."""

from __future__ import annotations

from collections.abc import Iterator

from bench.speed.figures import Figure
from tests.support.outage import HOUR_S, Outage
from tests.support.verified_shop import Sale, Trip, Visit

HOURS = 30
CHANGED = 100
"""Items that are changed meanwhile, and as many that expire."""
MOST_MINUTES, MOST_WRITES = 5, 1.05


def measure_outage() -> Iterator[Figure]:
    """Play it in memory."""
    outage = Outage()
    shop, deployment = outage.shop, outage.deployment
    for number in range(CHANGED):
        shop.book.create(Trip(id=f"t{number}"))
    deployment.deliver()
    copy, at = outage.copy_table(), deployment.clock.now()
    outage.disable()
    for number in range(CHANGED):
        shop.book.put(Sale(id=f"x{number}", customer="c0", amount=number))
    minutes = 0
    while not outage.gap.is_open and minutes < 2 * MOST_MINUTES:
        outage.pass_minutes(1, delivers=False)
        minutes += 1
    yield Figure("outage: minutes until it is told", minutes, "at most", MOST_MINUTES)
    deployment.clock.advance(HOURS * HOUR_S)
    expired = deployment.expire_items()
    outage.enable()
    outage.pass_minutes(2)
    archived = outage.archive_meanwhile(outage.find_lost(copy, at))
    yield from _recover(outage)
    kept = [*deployment.list_archived_items(Visit), *deployment.list_archived_items(Trip)]
    detail = f"{archived} from the copy"
    yield Figure("outage: expired items in the archive", len(kept), "at least", expired, "", detail)
    yield Figure("outage: items that are archived twice", len(kept) - expired, "at most", 0)
    trips = shop.book.read(Trip.ever("sea")).items
    yield Figure("outage: expired items that figures lack", CHANGED - trips, "at most", 0)


def _recover(outage: Outage) -> Iterator[Figure]:
    before = outage.count_base_writes()
    job = outage.shop.recover()
    written = (outage.count_base_writes() - before) / CHANGED
    yield Figure("outage: writes of a changed item", written, "at most", MOST_WRITES)
    outage.pass_minutes(4)
    left = float(outage.gap.is_open or job.state != "succeeded")
    yield Figure("outage: gaps that are left", left, "at most", 0)
    score = outage.read_count()
    yield Figure("outage: figures that lack a sale", 6 + CHANGED - score.items, "at most", 0)
    counts = outage.shop.verify().counts
    wrong = counts.get("damage", 0) + counts.get("undecided", 0) + score.uncertain
    detail = f"{counts['items']:,.0f} items, {counts['rows']:,.0f} rows"
    yield Figure("outage: rows and figures that differ", wrong, "at most", 0, "", detail)
