"""Faults: differences that a check has found, with what repairs them.

A fault of what one transaction writes holds only if all of its items are as they were read at one
moment. Reads one after the other do not show that. So a transaction confirms the fault: either it
repairs it, or it only checks the conditions of the repair.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from daicho.errors import TransactionFailedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import ConditionCheck, Write, get_write_key
from daicho.storage.table import Table
from daicho.verify.findings import Finding, Kind, Verdict


@dataclass(frozen=True)
class Fault:
    """One difference.

    ``expected``, ``found``: texts for people. ``decision``: what somebody has to do, if no command
    can determine the right value. ``repair``: the writes that correct it, each with the condition
    that its item is as read. ``checks``: of other items, under which it is a fault.
    """

    kind: Kind
    key: ItemKey
    expected: str
    found: str
    decision: str = ""
    verdict: Verdict = "damage"
    repair: tuple[Write, ...] = ()
    checks: tuple[ConditionCheck, ...] = ()

    def to_finding(self, *, repaired: bool = False) -> Finding:
        """The finding of a fault that was confirmed."""
        tenant, _ = parse_owner(self.key)
        texts = (self.expected, self.found, self.verdict, self.decision)
        return Finding(self.kind, tenant, self.key, *texts, repaired)

    def as_undecided(self, decision: str) -> Fault:
        """The fault without a verdict, until somebody has done something."""
        return replace(self, verdict="undecided", decision=decision, repair=(), checks=())

    def with_repair(self, write: Write, *checks: ConditionCheck) -> Fault:
        """The fault with the write that corrects it, and the conditions of other items."""
        return replace(self, repair=(write,), checks=checks)

    def with_decision(self, decision: str, *checks: ConditionCheck) -> Fault:
        """The fault with what somebody has to do, and the conditions under which it is one."""
        return replace(self, decision=decision, checks=checks)

    def confirm(self, store: Table, retry_budget: RetryBudget, *, repairs: bool) -> bool:
        """Repair it, or only check that it still holds; whether it did.

        Raises:
            UnavailableError: the table does not answer.
        """
        writes = self.repair if repairs else tuple(map(_build_check, self.repair))
        if not writes and not self.checks:
            return True
        try:
            retry(partial(store.transact, [*self.checks, *writes]), retry_budget)
        except TransactionFailedError:
            return False
        return True


def _build_check(write: Write) -> ConditionCheck:
    """The condition of a write, without the write."""
    condition = write.condition or "attribute_exists(PK) OR attribute_not_exists(PK)"
    return ConditionCheck(get_write_key(write), condition, write.names, write.values)


def parse_owner(key: ItemKey) -> tuple[str, str]:
    """The tenant and the second part of a partition key: an entity, or a sign and an entity."""
    tenant, owner, *_ = [*keys.parse(key.pk), ""]
    return tenant, owner
