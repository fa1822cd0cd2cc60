"""The quotas of tenants, which concurrent processes share by one record of each tenant and day.

A process that has let enough through adds it to the record, in a thread: the request that is being
answered waits for nothing, and never fails by it. A process that has not added anything yet knows
nothing, and lets a tenant pass until then. After an addition it counts the stored items, if the
tenant may have reached its limit.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import ceil
from operator import add
from threading import Lock

from daicho.errors import ConditionFailedError, StoreError
from daicho.layout.tenant_items import build_usage_index_key, build_usage_key
from daicho.runtime.metrics import emit
from daicho.runtime.tenant_limits import TenantLimits
from daicho.storage.attributes import Image
from daicho.storage.table import Table
from daicho.tenants.quota import (
    MICROSECONDS,
    RECOUNT_MIN_S,
    Account,
    Excess,
    Usage,
    build_addition,
    read_until,
)

logger = logging.getLogger(__name__)
FAILED_METRIC = "QuotaUpdatesFailed"
ATTEMPTS = 3
"""Of an addition. Another one follows only if the record was not as expected: it is known then."""
MAX_ACCOUNTS = 1_000
"""Tenants that one process remembers."""
USAGE_KEPT = dt.timedelta(days=400)
"""How long the record of a day is kept."""


_aside = ThreadPoolExecutor(1)
"""Its thread starts with the first work."""


def run_aside(work: Callable[[], None]) -> None:
    """Do ``work`` in another thread. The request that is being answered does not wait for it."""
    _aside.submit(_run_logged, work)


def run_inline(work: Callable[[], None]) -> None:
    """Do ``work`` before the request is answered."""
    work()


class Quotas:
    """The quotas of all tenants in one process; safe to share by threads.

    ``table``: its client sends a request once, because an addition that is repeated counts twice.
    ``now``: the time, in seconds since 1970. ``start`` does the work that no request waits for.
    ``count``: the items that a tenant has stored.
    """

    def __init__(
        self,
        table: Table,
        limits: TenantLimits,
        now: Callable[[], float],
        start: Callable[[Callable[[], None]], None] = run_aside,
        count: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._table, self._limits, self._now, self._start = table, limits, now, start
        self._count = count
        self._accounts: dict[str, Account] = {}
        self._lock = Lock()

    def check(self, tenant: str) -> Excess | None:
        """Whether a request of a tenant is refused, and why. This reads nothing."""
        now = self._now()
        with self._lock:
            account = self._accounts.get(tenant) or self._open_account(tenant)
            excess = account.find_excess(now * MICROSECONDS)
            if excess is not None:
                account.refused += 1
            is_recounted = account.is_full and now * MICROSECONDS >= account.recount_at
            sends = (account.is_due or is_recounted) and not account.is_sending
            if sends:
                account.is_sending = True
        if sends:
            self._start(partial(self._send_debt, tenant, account, now))
        return excess

    def charge(self, tenant: str, requests: int, reads: float, writes: float, size: int) -> None:
        """Count what a request has consumed that `check` has let pass: units, and bytes."""
        with self._lock:
            account = self._accounts.get(tenant) or self._open_account(tenant)
            account.charge(requests, reads, writes, size)

    def find_full(self, tenant: str) -> Excess | None:
        """Why a tenant may not create an item, if it may not. This reads nothing."""
        account = self._accounts.get(tenant)
        if account is None or not account.is_full:
            return None
        return Excess("items", ceil(RECOUNT_MIN_S))

    def read(self, tenant: str) -> tuple[Account, tuple[int, ...], str, Usage]:
        """The account, what may be consumed at once now, the day, and what was consumed on it.

        What other processes have not added yet is missing.
        """
        now = self._now()
        day = _find_day(now).isoformat()
        record, items = self._table.get(build_usage_key(tenant, day)), self._count(tenant)
        with self._lock:
            account = self._accounts.get(tenant) or self._open_account(tenant)
            account.learn_items(items, now * MICROSECONDS)
            if record is not None:
                account.learn(record, day)
            available = account.list_available(now * MICROSECONDS)
            usage = Usage(*map(add, Usage.from_image(record or {}), account.debt))
        return account, available, day, usage

    def _open_account(self, tenant: str) -> Account:
        if len(self._accounts) >= MAX_ACCOUNTS:
            del self._accounts[next(iter(self._accounts))]
        account = self._accounts[tenant] = Account(self._limits.find(tenant))
        return account

    def _send_debt(self, tenant: str, account: Account, seconds: float) -> None:
        """Add the debt of an account to its record. A failure is counted, and its debt is lost."""
        date, now = _find_day(seconds), int(seconds * MICROSECONDS)
        day = date.isoformat()
        with self._lock:
            debt, moves, known = account.take_debt()
            counts = (debt.write_units or account.is_full) and now >= account.recount_at
            new = None if account.day == day else _build_new(tenant, date)
        record, items = None, account.items
        try:
            for _ in range(ATTEMPTS):
                addition = build_addition(known, moves, debt, now, new)
                try:
                    key = build_usage_key(tenant, day)
                    record = self._table.update(key, **addition, returns="ALL_NEW")
                    break
                except ConditionFailedError as refused:
                    new = None if refused.item else _build_new(tenant, date)
                    known = read_until(refused.item) if refused.item else known
            items = self._count(tenant) if counts else items
        except StoreError as error:
            logger.warning("the quota of %s is not up to date: %s", tenant, error)
        finally:
            with self._lock:
                account.is_sending = False
                if record is not None:
                    account.learn(record, day)
                if counts:
                    account.learn_items(items, now)
        if record is None:
            emit({FAILED_METRIC: 1})


def _run_logged(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        logger.exception("a quota is not up to date")
        raise


def _build_new(tenant: str, date: dt.date) -> Image:
    """The attributes of a new record besides what it counts."""
    end = dt.datetime.combine(date + USAGE_KEPT, dt.time(), dt.UTC)
    return {
        **build_usage_index_key(tenant, date.isoformat()),
        "ttl": {"N": str(int(end.timestamp()))},
    }


def _find_day(seconds: float) -> dt.date:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date()
