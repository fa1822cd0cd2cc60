"""What one operator does in one request, and the tools for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from daicho.declare.rules.caller import Caller
from daicho.jobs.state_machine import StateMachine
from daicho.operations.action_log import ActionLog
from daicho.operations.function_starter import FunctionStarter
from daicho.operations.stack_state import Health
from daicho.plan import Ledger
from daicho.redrive.redrives import Redrives
from daicho.redrive.set_aside import SetAsideRecords
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, make_mapper
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table

REQUEST_S = 20.0
"""Seconds for the work of one request: the gateway gives up after 30."""
T = TypeVar("T")


@dataclass(frozen=True)
class OperatorTools:
    """The dependencies of all requests.

    ``failures``: the failure bucket. ``auditor`` starts an audit of the archive.
    """

    settings: Settings
    ledger: Ledger
    store: Table
    failures: Bucket
    machine: StateMachine
    auditor: FunctionStarter
    now: Callable[[], dt.datetime]
    threads: int = 8

    @cached_property
    def records(self) -> SetAsideRecords:
        """The records that were set aside."""
        return SetAsideRecords.build(self.settings, self.store, self.failures, threads=self.threads)

    @cached_property
    def redrives(self) -> Redrives:
        """The redrives that operators have started."""
        return Redrives(self.store, self.records, self.ledger, self.machine, self.now)

    @cached_property
    def log(self) -> ActionLog:
        """The log of what operators did."""
        return ActionLog(self.store, self.now)

    @cached_property
    def health(self) -> Health:
        """The health of the stack."""
        return Health(self.store, self.failures, self.ledger, self.settings, self.now)

    @cached_property
    def map_all(self) -> Mapper:
        """A mapper for reads at once."""
        return make_mapper(self.threads)

    def open_session(self, caller: Caller) -> OperatorSession:
        """The session of a request."""
        return OperatorSession(self, caller.subject)


class OperatorSession:
    """One request of an operator. An endpoint passes it to its answerer in place of a book."""

    has_no_writes = False
    """A request is not repeated: its log entry is written."""

    def __init__(self, tools: OperatorTools, user: str) -> None:
        self.tools, self.user = tools, user
        self.retry_budget = RetryBudget.for_seconds(REQUEST_S)

    def act(
        self,
        action: str,
        target: str,
        work: Callable[[], T],
        describe: Callable[[T], str] = lambda _: "done",
    ) -> T:
        """Do ``work``, and record it in the log."""
        return self.tools.log.run(self.user, action, target, work, describe)
