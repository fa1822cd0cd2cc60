"""Quotas that many processes share: how much more than the limits they let through, and less."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.errors import StoreError, ThrottledError, UnansweredError
from daicho.layout.tenant_items import build_usage_key
from daicho.runtime.tenant_limits import Limits, TenantLimits
from daicho.storage.attributes import from_image
from daicho.tenants.quota import (
    MAX_DEBT,
    MIN_DEBT,
    RECOUNT_MIN_S,
    Account,
    Excess,
    Usage,
)
from daicho.tenants.quotas import ATTEMPTS, FAILED_METRIC, Quotas, run_inline
from tests.support.memory_stores import MemoryTable
from tests.support.metric_lines import read_values

START = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
REQUEST = Usage(1, 0.5, 2.5, 100)
SKEW_S = 0.5
"""How far the clocks of processes are before or after the true time, at most."""


class CountingTable(MemoryTable):
    """Counts its updates, and fails if it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.updates = 0
        self.error: StoreError | None = None

    def update(self, *args: Any, **options: Any) -> Any:
        self.updates += 1
        if self.error is not None:
            raise self.error
        return super().update(*args, **options)


class Fleet:
    """Processes with one table, each with a clock of its own. ``now``: the true time, in s."""

    def __init__(self, limits: Limits, processes: int, seed: int = 0, skew: float = SKEW_S) -> None:
        self.limits, self.now, self.skew = limits, 0.0, skew
        self.chance = random.Random(seed)
        self.table = CountingTable()
        self.processes = [self.start_process() for _ in range(processes)]
        self.admitted: list[float] = []

    def start_process(self) -> Quotas:
        skew = self.chance.uniform(-self.skew, self.skew)

        def get_time() -> float:
            return START.timestamp() + self.now + skew

        return Quotas(self.table, TenantLimits(self.limits), get_time, run_inline)

    def send(self, usage: Usage = REQUEST) -> Excess | None:
        """Send a request to one of the processes."""
        process = self.chance.choice(self.processes)
        excess = process.check("acme")
        if excess is None:
            process.charge("acme", *usage[:4])
            self.admitted.append(self.now)
        return excess

    @property
    def max_debt(self) -> int:
        """The requests that all processes may let through without each other's knowledge.

        Each lets one request pass while its debt is added.
        """
        return len(self.processes) * (int(Account(self.limits).max_debt[0]) + 1)

    def count_most(self, since: float, until: float) -> float:
        """The highest number of requests that may be let through in a time."""
        seconds = until - since + self.limits.burst_seconds + 2 * SKEW_S
        return self.limits.requests * seconds + self.max_debt


@given(
    seed=st.integers(0, 2**32),
    processes=st.integers(1, 12),
    rate=st.integers(20, 300),
    burst=st.integers(1, 10),
    load=st.sampled_from([0.3, 0.9, 1.1, 3.0, 30.0]),
)
def test_no_interval_lets_more_through_than_the_quota_and_one_debt_a_process(
    seed: int, processes: int, rate: int, burst: int, load: float
) -> None:
    fleet = Fleet(Limits(rate, burst_seconds=burst), processes, seed)
    for _ in range(600):
        fleet.now += fleet.chance.expovariate(rate * load)
        if fleet.chance.random() < 0.01:
            fleet.now += fleet.chance.uniform(0, 2 * burst)
        fleet.send()
    times = fleet.admitted
    for first in range(0, len(times), 25):
        for last in range(first, len(times), 25):
            let_through = last - first + 1
            assert let_through <= fleet.count_most(times[first], times[last]) + 1


@given(
    seed=st.integers(0, 2**32),
    processes=st.integers(1, 12),
    rate=st.integers(40, 300),
)
def test_a_tenant_below_the_quota_by_one_debt_a_process_is_never_refused(
    seed: int, processes: int, rate: int
) -> None:
    fleet = Fleet(Limits(rate, burst_seconds=10), processes, seed)
    room = rate * (fleet.limits.burst_seconds - 2 * SKEW_S) - fleet.max_debt - 1
    until = 0.0  # an exact quota with this burst decides what is sent
    for _ in range(600):
        fleet.now += fleet.chance.expovariate(rate * 1.5)
        if (moved := max(until, fleet.now) + 1 / rate) - fleet.now <= room / rate:
            until = moved
            assert fleet.send() is None


def test_fifty_processes_at_ten_times_the_quota() -> None:
    fleet = Fleet(Limits(50, burst_seconds=2), processes=50)
    for _ in range(10_000):
        fleet.now += 1 / 500
        fleet.send()
    quota = 50 * (20 + 2)
    assert quota - fleet.max_debt <= len(fleet.admitted) <= quota + fleet.max_debt
    assert fleet.table.updates <= 0.1 * len(fleet.admitted)
    usage = fleet.processes[0].read("acme")[3]
    missing = len(fleet.admitted) - usage.requests
    assert 0 <= missing < fleet.max_debt
    assert 0 < usage.refused <= 10_000 - len(fleet.admitted)


@pytest.mark.parametrize("load", [0.02, 0.2, 0.5, 0.8, 1.0, 4.0])
def test_an_addition_costs_a_tenth_of_a_unit_for_each_request(load: float) -> None:
    fleet = Fleet(Limits(1_000, burst_seconds=10), processes=20)
    for _ in range(20_000):
        fleet.now += fleet.chance.expovariate(1_000 * load)
        fleet.send()
    assert 0 < fleet.table.updates <= 0.1 * len(fleet.admitted)


@pytest.mark.parametrize(
    ("usage", "limit"),
    [
        (Usage(1, read_units=300.0), "read_units"),
        (Usage(1, write_units=300.0), "write_units"),
        (Usage(40, 10.0, 10.0), "requests"),
    ],
)
def test_each_limit_refuses_by_its_name_and_for_as_long_as_it_takes(
    usage: Usage, limit: str
) -> None:
    fleet = Fleet(Limits(40, 300, 300, burst_seconds=1), processes=1)
    assert fleet.send(usage) is None
    assert fleet.send(usage) is None  # a burst of a second; what is over is known afterwards
    excess = fleet.send(usage)
    assert excess is not None
    assert excess == Excess(limit, 1)
    fleet.now += excess.seconds
    assert fleet.send(usage) is None


def test_another_tenant_is_not_refused_and_may_have_limits_of_its_own() -> None:
    fleet = Fleet(Limits(1, burst_seconds=1), processes=1)
    limits = TenantLimits(fleet.limits, {"other": Limits(1_000)})
    quotas = Quotas(fleet.table, limits, START.timestamp, run_inline)
    for _ in range(100):
        for tenant in ("acme", "other"):
            if quotas.check(tenant) is None:
                quotas.charge(tenant, *REQUEST[:4])
    assert quotas.check("acme") is not None
    assert quotas.check("other") is None


def test_a_new_process_learns_what_others_know_by_its_first_addition() -> None:
    fleet = Fleet(Limits(100, burst_seconds=1), processes=1, skew=0)
    while fleet.send() is None:
        pass
    fleet.processes = [fleet.start_process()]
    admitted = len(fleet.admitted)
    while fleet.send() is None:
        pass
    assert len(fleet.admitted) - admitted == MIN_DEBT + 1


def test_items_are_counted_when_the_tenant_may_have_reached_its_limit() -> None:
    fleet, stored, counts = Fleet(Limits(1_000, items=2_000), processes=0), 0, 0

    def count(_: str) -> int:
        nonlocal counts
        counts += 1
        return stored

    def get_time() -> float:
        return START.timestamp() + fleet.now

    limits = TenantLimits(fleet.limits)
    quotas = Quotas(fleet.table, limits, get_time, run_inline, count)
    fleet.processes = [quotas]
    created = []
    while fleet.now < 120:
        fleet.now += 0.02
        assert fleet.send() is None
        if quotas.find_full("acme") is None:
            stored += 1
            created.append(fleet.now)
    # It is full from the first count after its limit was reached.
    assert 2_000 < stored <= 2_000 + (RECOUNT_MIN_S + MAX_DEBT / 50) * 50
    assert 2 <= counts <= 120 / RECOUNT_MIN_S
    excess = quotas.find_full("acme")
    assert excess == Excess("items", int(RECOUNT_MIN_S))
    stored = 1_999
    fleet.now += excess.seconds
    quotas.check("acme")
    assert quotas.find_full("acme") is None


def test_a_tenant_that_only_reads_is_not_counted() -> None:
    fleet, counts = Fleet(Limits(1_000), processes=0), list[str]()
    count: Any = counts.append
    quotas = Quotas(fleet.table, TenantLimits(fleet.limits), START.timestamp, run_inline, count)
    fleet.processes = [quotas]
    for _ in range(3 * MAX_DEBT):
        fleet.send(Usage(1, 0.5))
    assert fleet.table.updates > 1
    assert not counts


@pytest.mark.parametrize("error", [ThrottledError("slow"), UnansweredError("lost")])
def test_an_addition_that_fails_refuses_nothing_and_is_counted(
    error: StoreError, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(Limits(20, burst_seconds=10), processes=1)
    fleet.table.error = error
    for _ in range(3 * MIN_DEBT + 1):
        fleet.now += 0.01
        assert fleet.send() is None
    assert read_values(capsys.readouterr().out) == {FAILED_METRIC: 1.0}
    assert fleet.table.updates == 3
    assert build_usage_key("acme", "2026-11-30") not in fleet.table.items
    # The process remembers: alone, it keeps the tenant at its limit.
    while fleet.send() is None:
        pass
    fleet.now += 60
    assert fleet.send() is None


def test_a_record_that_is_never_as_expected_is_given_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = Fleet(Limits(100), processes=2)
    key = build_usage_key("acme", "2026-11-30")
    for _ in range(200):
        fleet.send()
    before, update = fleet.table.updates, fleet.table.update

    def move_first(*args: Any, **options: Any) -> Any:
        record = dict(fleet.table.items[key])
        is_ahead = "#until_requests > :now" in options["condition"]
        record["until_requests"] = {"N": "0" if is_ahead else str(10**17)}
        fleet.table.items[key] = record
        return update(*args, **options)

    fleet.table.update = move_first  # type: ignore[method-assign]
    for _ in range(MIN_DEBT + 1):
        fleet.processes[0].charge("acme", *REQUEST[:4])
    fleet.processes[0].check("acme")
    assert fleet.table.updates - before == ATTEMPTS
    assert FAILED_METRIC in read_values(capsys.readouterr().out)


def test_each_day_has_a_record_which_expires_and_the_quota_goes_on() -> None:
    fleet = Fleet(Limits(40, burst_seconds=5), processes=1)
    fleet.now = 12 * 3600 - 1.0  # a second before midnight
    while fleet.send() is None:
        pass
    fleet.now += 1.5
    for _ in range(MIN_DEBT + 1):
        fleet.send()
    first, second = (
        from_image(fleet.table.items[build_usage_key("acme", day)])
        for day in ("2026-11-30", "2026-12-01")
    )
    assert first["requests"] >= 200
    assert first["bytes"] == 100 * first["requests"]
    assert first["write_units"] * 2 == 5 * first["requests"]
    assert second["requests"] == MIN_DEBT
    assert second["until_requests"] > first["until_requests"]
    assert first["ttl"] == (START + dt.timedelta(days=399.5)).timestamp()
    assert first["GSI2PK"] == "#usages#2026-11-30"
    assert first["GSI2SK"] == "acme"
    assert "type" not in first  # a consumer of the stream would be invoked by it
