"""The two steps of a release, between which the stream consumers are updated (rules 27 and 28)."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from functools import partial

from daicho.errors import TransactionFailedError, UnavailableError
from daicho.layout.backfill_state import BackfillState, disable_update
from daicho.plan import Ledger
from daicho.release.older_writers import READERS_KNOW_S
from daicho.release.refusals import (
    ReleaseRefusedError,
    list_early_disables,
    list_refusals,
    list_returns,
)
from daicho.release.states import (
    BegunCheck,
    StageStates,
    build_record_update,
    list_filtered_types,
    list_rendered_disabled,
    list_unrecorded_disabled,
    narrow_filter_update,
    read_stage_states,
    record_disabled,
)
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.protocols import apply_update, try_update
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Write
from daicho.storage.table import Table
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher

_log = logging.getLogger(__name__)
OVERTAKEN = "another release was checked since this one was: it opens nothing. Deploy again"


class Release:
    """Prepares a table for the code that has ``ledger``.

    `check` is called before any function is updated, `open_to_writers` after the stream consumers
    and before the API. Both may be repeated.

    ``filter_spread_s``: how long an event filter may apply to some invocations only.
    ``is_going_back``: whether CloudFormation rolls back a failed update. ``retirement_s``: how long
    an instance is kept after its successor became complete.
    """

    def __init__(
        self,
        store: Table,
        watcher: HeartbeatWatcher,
        ledger: Ledger,
        filter_spread_s: float,
        is_going_back: Callable[[], bool] = lambda: False,
        retirement_s: float = 0.0,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store = store
        self._watcher = watcher
        self._ledger = ledger
        self._filter_spread_s = filter_spread_s
        self._is_going_back = is_going_back
        self._retirement = dt.timedelta(seconds=retirement_s)
        self._now = now

    def run_step(self, step: str, run: str, source: str, retry_budget: RetryBudget) -> str:
        """Run the step ``check`` or ``open``, as CloudFormation names them.

        ``run``: the name of this request, which no other one has. ``source``: where this ledger is
        deployed. Returns where the functions find their ledger.

        Raises:
            ValueError: there is no such step.
            StoreError, ReleaseRefusedError: see the methods.
        """
        if step == "check":
            return self.check(run, source, retry_budget)
        if step == "open":
            self.open_to_writers(run, source, retry_budget)
            return source
        raise ValueError(f"a release has no step {step!r}")

    def check(self, run: str, source: str, retry_budget: RetryBudget) -> str:
        """Check that the stage has nothing that the ledger lacks.

        First it records that it has begun. From then on no earlier release can open the stage to
        its writers any more, even if CloudFormation has given it up and it still runs (rule 27).
        Further it writes only which instances the ledger disables (rule 34), and, before the first
        release is complete, what the event filters that were deployed so far have in common.

        Returns where the functions find their ledger: ``source``. But while CloudFormation goes
        back to older code after the stage was opened to newer code, this is the newer ledger, with
        which the stream continues.

        Raises:
            ReleaseRefusedError: with all reasons.
            UnavailableError: the table does not answer.
        """
        begun = BegunCheck(run, self._identify(source))
        retry(partial(apply_update, self._store, begun.to_update()), retry_budget)
        stage = self._read_stage(retry_budget)
        chosen = self._check_stage(stage, source)
        if chosen == source:
            self._disable_instances(stage, retry_budget)
        return chosen

    def _identify(self, source: str) -> str:
        """This release, as its check and its opening both know it."""
        ledger = self._ledger
        newest = {each: ledger.newest_generation(each).number for each in ledger.list_types()}
        identity = json.dumps([source, dict(ledger.written), newest], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()

    def _disable_instances(self, stage: StageStates, retry_budget: RetryBudget) -> None:
        """Record what the projector of this ledger does not derive, before it is deployed.

        Otherwise older code that is rolled back during the deployment could make the instance
        answer again.
        """
        unpurged = {
            entity: list_rendered_disabled(self._ledger, entity) - state.purged
            for entity, state in stage.states.items()
        }
        for entity, instances in unpurged.items():
            state = stage.states[entity]
            if ended := instances - state.disabled:
                update = disable_update(state, ended)
                if not retry(partial(try_update, self._store, update), retry_budget):
                    raise UnavailableError("another release came meanwhile: deploy again")
        if any(unpurged.values()):
            # Also if all was recorded before: the check that did it may have been killed just then.
            retry_budget.sleep(READERS_KNOW_S)
        if unrecorded := list_unrecorded_disabled(stage, self._ledger):
            update = record_disabled(unrecorded)
            retry(partial(apply_update, self._store, update), retry_budget)

    def _read_stage(self, retry_budget: RetryBudget) -> StageStates:
        return retry(lambda: read_stage_states(self._store), retry_budget)

    def _check_stage(self, stage: StageStates, source: str) -> str:
        """See `check`."""
        refusals = self._list_refusals(stage)
        if not refusals:
            if stage.is_empty:
                self._narrow_filter(stage)
            return source
        if not self._is_going_back():
            raise ReleaseRefusedError("; ".join(refusals))
        if not stage.source or not stage.types <= list_filtered_types(self._ledger):
            raise ReleaseRefusedError(
                f"{'; '.join(refusals)}. The functions stay as they are, which is exact. Deploy "
                "the newer version again, without what failed"
            )
        _log.warning("going back to older code with the newer ledger %s", stage.source)
        return stage.source

    def open_to_writers(
        self, run: str, source: str, retry_budget: RetryBudget
    ) -> Mapping[str, BackfillState]:
        """Record what code may write from now on; returns the new states.

        Before this, each shard's event filter has to know each entity that derives something.

        ``run``: the name of a run of heartbeats, which no other one has. ``source``: where this
        ledger is deployed.

        Raises:
            ReleaseRefusedError: see `check`.
            UnavailableError: the heartbeats have not passed every shard in time, or the table does
                not answer.
        """
        stage = self._read_stage(retry_budget)
        if stage.check is not None and stage.check.release != self._identify(source):
            raise ReleaseRefusedError(OVERTAKEN)
        if self._check_stage(stage, source) != source:
            return {}  # older code records at its start what it writes
        if entities := stage.list_unfiltered(self._ledger):
            self._send_heartbeats(HeartbeatRun(run, entities), retry_budget)
        states = retry(lambda: self._record(source, stage.check), retry_budget)
        if self._ledger.written.keys() & stage.states.keys():
            # Also if nothing was lowered now: an attempt whose answer was lost may just have done.
            retry_budget.sleep(READERS_KNOW_S)
        return states

    def _list_refusals(self, stage: StageStates) -> list[str]:
        states = stage.list_known_states(self._ledger)
        early = list_early_disables(self._ledger, states, self._now(), self._retirement)
        returns = (
            refusal
            for entity, disabled in stage.disabled.items()
            if entity not in stage.states and entity in self._ledger.entities
            for refusal in list_returns(self._ledger, entity, disabled)
        )
        return [*list_refusals(self._ledger, states), *early, *returns]

    def _narrow_filter(self, stage: StageStates) -> None:
        update = narrow_filter_update(stage, self._ledger)
        if update is not None and not try_update(self._store, update):
            raise UnavailableError("another release began meanwhile: deploy again")

    def _send_heartbeats(self, run: HeartbeatRun, retry_budget: RetryBudget) -> None:
        """Wait until the event filter of every shard knows the entities of a run (rule 28)."""
        if retry_budget.remaining() - retry_budget.reserve <= self._filter_spread_s:
            raise UnavailableError("too little time is left for heartbeats: deploy again")
        _log.info("heartbeats of %s, after %s s", ", ".join(run.entities), self._filter_spread_s)
        retry_budget.sleep(self._filter_spread_s)
        progress = self._watcher.watch(run, retry_budget)
        if not progress.has_passed:
            raise UnavailableError(
                f"the event filter of the projector does not pass all records yet: {progress}. "
                "Nothing writes the new generation. Deploy again when the projector has caught up"
            )
        try:
            self._watcher.forget(run)
        except UnavailableError as error:
            _log.warning("a run of heartbeats stays in the shard items: %s", error)

    def _record(self, source: str, check: BegunCheck | None) -> dict[str, BackfillState]:
        """Write all new states, by as few transactions as possible: by one for 98 entities.

        ``check``: of this release.

        Raises:
            ReleaseRefusedError: another release came meanwhile.
            UnavailableError: a state changed meanwhile, or the table does not answer; call again.
        """
        stage = read_stage_states(self._store)
        if stage.check != check:
            raise ReleaseRefusedError(OVERTAKEN)
        if refusals := self._list_refusals(stage):
            raise ReleaseRefusedError("; ".join(refusals))
        states = stage.plan_release(self._ledger)
        writes: list[Write] = [
            state.to_update(stage.states.get(entity))
            for entity, state in states.items()
            if state != stage.states.get(entity)
        ]
        # The record is first: while a generation is recorded, so is the ledger that has it. But the
        # first record says that every entity has its state.
        place = 0 if stage.is_recorded else len(writes)
        writes.insert(place, build_record_update(source, list_filtered_types(self._ledger)))
        fence: list[Write] = [] if check is None else [check.require()]
        size = MAX_TRANSACTION_WRITES - len(fence)
        for begin in range(0, len(writes), size):
            try:
                self._store.transact([*writes[begin : begin + size], *fence])
            except TransactionFailedError as error:
                raise UnavailableError(f"the stage was changed meanwhile: {error}") from error
        return states
