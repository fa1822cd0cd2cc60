"""The quotas of tenants, which concurrent processes share by one record of each tenant and day.

A process that has let enough through adds it to the record, in a thread: the request that is being
answered waits for nothing, and never fails by it. A process that has not added anything yet knows
nothing, and lets a tenant pass until then.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from threading import Lock

from daicho.errors import ConditionFailedError, StoreError
from daicho.layout.tenant_items import build_usage_index_key, build_usage_key
from daicho.runtime.metrics import emit
from daicho.runtime.tenant_limits import Limits, TenantLimits
from daicho.storage.attributes import Image
from daicho.storage.table import Table
from daicho.tenants.quota import (
    MICROSECONDS,
    Account,
    Excess,
    Usage,
    build_addition,
    read_until,
)

FAILED_METRIC = "QuotaUpdatesFailed"
ATTEMPTS = 3
"""Of an addition. Another one follows only if the record was not as expected: it is known then."""
MAX_ACCOUNTS = 1_000
"""Tenants that one process remembers."""
USAGE_KEPT = dt.timedelta(days=400)
"""How long the record of a day is kept."""


class Quotas:
    """The quotas of all tenants in one process; safe to share by threads.

    ``table``: its client sends a request once, because an addition that is repeated counts twice.
    ``start`` does the work that no request waits for.
    """

    def __init__(
        self,
        table: Table,
        limits: TenantLimits,
        now: Callable[[], dt.datetime],
        start: Callable[[Callable[[], None]], None],
    ) -> None:
        self._table, self._limits, self._now, self._start = table, limits, now, start
        self._accounts: dict[str, Account] = {}
        self._lock = Lock()

    def check(self, tenant: str) -> Excess | None:
        """Whether a request of a tenant is refused, and why. This reads nothing."""
        moment = self._now()
        with self._lock:
            account = self._find_account(tenant)
            excess = account.find_excess(_to_microseconds(moment))
            if excess is not None:
                account.debt += Usage(refused=1)
            sends = account.is_debt_large and not account.is_sending
            account.is_sending |= sends
        if sends:
            self._start(partial(self._send_debt, tenant, account, moment))
        return excess

    def charge(self, tenant: str, usage: Usage) -> None:
        """Count what a request has consumed that `check` has let pass."""
        with self._lock:
            self._find_account(tenant).debt += usage

    def read(self, tenant: str) -> tuple[Limits, tuple[int, ...], str, Usage]:
        """The limits, what may be consumed at once now, the day, and what was consumed on it.

        What other processes have not added yet is missing.
        """
        moment = self._now()
        day = _render_day(moment)
        record = self._table.get(build_usage_key(tenant, day))
        with self._lock:
            account = self._find_account(tenant)
            if record is not None:
                account.learn(record, day)
            available = account.list_available(_to_microseconds(moment))
            return account.limits, available, day, Usage.from_image(record or {}) + account.debt

    def _find_account(self, tenant: str) -> Account:
        account = self._accounts.get(tenant)
        if account is None:
            if len(self._accounts) >= MAX_ACCOUNTS:
                del self._accounts[next(iter(self._accounts))]
            account = self._accounts[tenant] = Account(self._limits.find(tenant))
        return account

    def _send_debt(self, tenant: str, account: Account, moment: dt.datetime) -> None:
        """Add the debt of an account to its record. A failure is counted, and its debt is lost."""
        day, now = _render_day(moment), _to_microseconds(moment)
        with self._lock:
            debt, known = account.take_debt(now)
            charges = account.charge(debt)
            new = None if account.day == day else _build_new(tenant, moment)
        record = None
        try:
            for _ in range(ATTEMPTS):
                addition = build_addition(known, charges, debt, now, new)
                try:
                    key = build_usage_key(tenant, day)
                    record = self._table.update(key, **addition, returns="ALL_NEW")
                    break
                except ConditionFailedError as refused:
                    new = None if refused.item else _build_new(tenant, moment)
                    known = read_until(refused.item) if refused.item else known
        except StoreError:
            record = None
        finally:
            with self._lock:
                account.is_sending = False
                if record is not None:
                    account.learn(record, day)
        if record is None:
            emit({FAILED_METRIC: 1})


def _build_new(tenant: str, moment: dt.datetime) -> Image:
    """The attributes of a new record besides what it counts."""
    expiry = {"ttl": {"N": str(int((moment + USAGE_KEPT).timestamp()))}}
    return {**build_usage_index_key(tenant, _render_day(moment)), **expiry}


def _render_day(moment: dt.datetime) -> str:
    return moment.date().isoformat()


def _to_microseconds(moment: dt.datetime) -> int:
    return int(moment.timestamp() * MICROSECONDS)
