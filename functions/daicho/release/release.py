"""The two steps of a release, between which the stream consumers are updated (rules 27 and 28)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from daicho.errors import ConditionFailedError, DaichoError, UnavailableError
from daicho.layout.backfill_state import (
    COMPLETE_KEY,
    BackfillState,
)
from daicho.plan import Ledger
from daicho.release.older_writers import READERS_KNOW_S
from daicho.release.refusals import list_refusals
from daicho.release.states import StageStates, StateStore, read_stage_states
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.protocols import UpdatesItems, apply_update
from daicho.storage.requests import Update
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher

FILTER_SPREAD_S = 90.0
"""How long Lambda may apply an event filter to some invocations only, in seconds. Source: AWS's
developer guide, on updates of event source mappings."""
_log = logging.getLogger(__name__)


class ReleaseRefusedError(DaichoError):
    """The ledger must not be deployed to this stage; nothing was changed."""


class ReleaseStore(StateStore, UpdatesItems, Protocol):
    """What a release needs of the table."""


class Release:
    """Prepares a table for the code that has ``ledger``.

    `check` is called before any function is updated, `open_to_writers` after the stream consumers
    and before the API. Both may be repeated.

    ``filter_spread_s``: how long an event filter may apply to some invocations only.
    """

    def __init__(
        self,
        store: ReleaseStore,
        watcher: HeartbeatWatcher,
        ledger: Ledger,
        filter_spread_s: float = FILTER_SPREAD_S,
    ) -> None:
        self._store = store
        self._watcher = watcher
        self._ledger = ledger
        self._filter_spread_s = filter_spread_s

    def run_step(self, step: str, run: str, retry_budget: RetryBudget) -> None:
        """Run the step ``check`` or ``open``, as CloudFormation names them.

        Raises:
            ValueError: there is no such step.
            StoreError, ReleaseRefusedError: see the methods.
        """
        if step == "check":
            self.check(retry_budget)
        elif step == "open":
            self.open_to_writers(run, retry_budget)
        else:
            raise ValueError(f"a release has no step {step!r}")

    def check(self, retry_budget: RetryBudget) -> StageStates:
        """Check that the stage has nothing that the ledger lacks.

        Raises:
            ReleaseRefusedError: with all reasons.
            UnavailableError: the table does not answer.
        """
        stage = retry(lambda: read_stage_states(self._store), retry_budget)
        refusals = list_refusals(self._ledger, stage.states)
        if refusals:
            raise ReleaseRefusedError("; ".join(refusals))
        return stage

    def open_to_writers(self, run: str, retry_budget: RetryBudget) -> Mapping[str, BackfillState]:
        """Record what code may write from now on; returns the new states.

        Before this, each shard's event filter has to know each entity that derives something.

        ``run``: the name of a run of heartbeats, which no other one has.

        Raises:
            ReleaseRefusedError: see `check`.
            UnavailableError: the heartbeats have not passed every shard in time, or the table does
                not answer.
        """
        stage = self.check(retry_budget)
        if entities := stage.list_unfiltered(self._ledger):
            self._send_heartbeats(HeartbeatRun(run, entities), retry_budget)
        states = stage.plan_release(self._ledger)
        is_lowered = False
        for entity, state in states.items():
            read = stage.states.get(entity)
            if state != read:
                self._write(state, read)
                is_lowered |= read is not None and state.oldest < read.oldest
        if not stage.is_recorded:
            self._mark_recorded()
        if is_lowered:
            retry_budget.sleep(READERS_KNOW_S)
        return states

    def _send_heartbeats(self, run: HeartbeatRun, retry_budget: RetryBudget) -> None:
        """Wait until the event filter of every shard knows the entities of a run (rule 28)."""
        _log.info("heartbeats of %s", ", ".join(run.entities))
        retry_budget.sleep(min(self._filter_spread_s, max(0.0, retry_budget.remaining())))
        progress = self._watcher.watch(run, retry_budget)
        if not progress.has_passed:
            raise UnavailableError(
                f"the event filter of the projector does not pass all records yet: {progress}. "
                "Nothing writes the new generation. Deploy again when the projector has caught up"
            )
        self._watcher.forget(run)

    def _write(self, state: BackfillState, read: BackfillState | None) -> None:
        try:
            apply_update(self._store, state.to_update(read))
        except ConditionFailedError:
            raise UnavailableError(
                f"the backfill item of {state.entity} was changed meanwhile: deploy again"
            ) from None

    def _mark_recorded(self) -> None:
        apply_update(
            self._store,
            Update(
                COMPLETE_KEY,
                "SET #recorded = :yes",
                condition=None,
                names={"#recorded": "recorded"},
                values={":yes": {"BOOL": True}},
            ),
        )
