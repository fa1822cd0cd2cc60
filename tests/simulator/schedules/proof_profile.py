"""Profiles of the proof: with releases, rebuilds, requests to the Book, and shards that retire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.schedules.profile import EntityNames, Profile
from daicho.testing.schedules.rare_events import RareEvents
from tests.simulator.faults.lowered_rebuild_limits import LoweredRebuildLimits
from tests.simulator.oracle.low_watermarks import LowWatermarks
from tests.simulator.releases.lifecycle import Lifecycle
from tests.simulator.releases.rebuild_lifecycle import RebuildLifecycle
from tests.simulator.schedules.chosen_redrives import ChosenRedrives
from tests.simulator.schedules.closing_shards import ClosingShards
from tests.simulator.schedules.code_history import CodeHistory
from tests.simulator.schedules.dismissal_events import DismissalEvents
from tests.simulator.schedules.filter_spread import FilterSpread
from tests.simulator.schedules.gap_events import GapEvents
from tests.simulator.schedules.lost_expiry_events import LostExpiryEvents
from tests.simulator.schedules.move_back_events import MoveBackEvents
from tests.simulator.schedules.pause_events import PauseEvents
from tests.simulator.schedules.publishing_events import PublishingEvents
from tests.simulator.schedules.race_events import RaceEvents
from tests.simulator.schedules.repair_races import RepairRaces
from tests.simulator.schedules.request_events import BuildRequestSource, RequestEvents
from tests.simulator.schedules.row_verification_events import RowVerificationEvents
from tests.simulator.schedules.take_over_events import TakeOverEvents
from tests.simulator.schedules.tally_batch_races import TallyBatchRaces
from tests.simulator.schedules.watermark_events import WatermarkEvents

PAUSES_H = (21.0, 20.5, 23.5, 22.0, 73.0, 31 * 24.0)
"""Pauses in hours: shorter than the stream keeps a record, and longer than any item of the stack
that has an expiry."""


@dataclass(frozen=True)
class ProofProfile(Profile):
    """A profile whose events need more than a user's own entities.

    Attributes:
        pauses: the hours of a long pause.
        overtakers: the functions that overtake a process in the event ``overtake``.
        requests: makes requests to the Book, which then writes instead of `BaseItemWriter`.
        heartbeats: the entities whose heartbeats must pass before the second generation is written.
        history: the releases that the events of `Lifecycle` play.
        settle_s: seconds after a deployment in which writers of older code end; with 0, `Lifecycle`
            plays no rebuilds by the library.
        observes_items: whether the projector and redrives look for items of older generations. If
            not, announcements alone must suffice (rule 30).
        retirement: whether rollups retire closed shards: "by all code", or "by new code" while the
            old code does not know rule 48; with "", they do not.
        heartbeat_s: the setting of rollups, which raise the watermark of figures; 0: they do not.
        rollup_seconds: the timeouts of rollups that run every minute; each operation takes one.
    """

    pauses: tuple[float, ...] = PAUSES_H
    overtakers: tuple[str, ...] = ("redrive",)
    requests: BuildRequestSource | None = None
    heartbeats: tuple[EntityNames, ...] = ()
    history: CodeHistory | None = None
    settle_s: int = 0
    observes_items: bool = True
    retirement: str = ""
    heartbeat_s: int = 0
    rollup_seconds: tuple[float, ...] = (300,)

    def build_owners(self, parts: ScheduleParts) -> Sequence[EventOwner]:
        """See `Profile.build_owners`."""
        versions = self.redrive_versions
        owners = [LowWatermarks(parts), LoweredRebuildLimits(self.observes_items)]
        owners += self._build_release_owners(parts)
        owners.append(PauseEvents(parts, self.pauses, versions))
        owners += self._build_request_owners(parts)
        if self.retirement:
            owners.append(ClosingShards(parts, self.retirement, versions))
        if "publish" in self.events:
            owners.append(PublishingEvents(parts))
        if "redrive_chosen" in self.events:
            owners.append(ChosenRedrives(parts, versions))
        if "verify_rows" in self.events:
            owners.append(RowVerificationEvents(parts))
        if "move_back" in self.events:
            owners.append(MoveBackEvents(parts))
        if "dismiss" in self.events:
            owners.append(DismissalEvents(parts, versions))
        if "verify_tallies" in self.events:
            owners.append(TallyBatchRaces(parts))
        if "recover" in self.events:
            kinds = {"lose_table": TakeOverEvents, "copy_items": LostExpiryEvents}
            build = next((kinds[name] for name in kinds if name in self.events), GapEvents)
            owners.append(build(parts))
        if "mend" in self.events:
            owners.append(RepairRaces(parts))
        if self.heartbeats:
            owners.append(FilterSpread(parts, self.heartbeats))
        if self.heartbeat_s:
            owners.append(WatermarkEvents(parts, self.heartbeat_s, self.rollup_seconds))
        return owners

    def _build_release_owners(self, parts: ScheduleParts) -> Sequence[EventOwner]:
        """Releases, and restores, which compare their lock file with the newest release."""
        if self.history is None:
            return (RareEvents(parts),)
        if not self.settle_s:
            return (Lifecycle(parts, self.history), RareEvents(parts))
        lifecycle = RebuildLifecycle(parts, self.history, self.settle_s)
        return (lifecycle, lifecycle.build_restores(parts))

    def _build_request_owners(self, parts: ScheduleParts) -> Sequence[EventOwner]:
        """Races, of requests too if there are any."""
        if self.requests is None:
            return (RaceEvents(parts, self.overtakers, None),)
        writer, deployment = parts.writer, parts.deployment
        sets = (writer.names, writer.max_items, writer.mark_kinds)
        source = self.requests(deployment, deployment.choices, *sets)
        return (RequestEvents(parts, source), RaceEvents(parts, self.overtakers, source))
