"""The instances of every entity in a stage: pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.release.instance_states import InstanceState, InstanceStatus, list_instance_states
from daicho.release.states import StageStates


@dataclass(frozen=True)
class EntityStatus:
    """An entity in a stage and in the checkout.

    Args:
        entity: its name.
        deployed: the newest generation that the stage has; 0 if it does not have the entity, None
            if the table has no backfill item of it.
        oldest: the oldest generation that its items may have; None as ``deployed``.
        checkout: the generation that the checkout writes; 0 if it does not declare the entity.
        instances: those that the stage has.
        progress: the percentage of a rebuild; None if none is under way.
    """

    entity: str
    deployed: int | None
    oldest: int | None
    checkout: int
    instances: tuple[InstanceStatus, ...] = ()
    progress: int | None = None

    def find_percent(self, instance: InstanceStatus) -> int | None:
        """How much of the items an instance includes; None if it is not known, or disabled."""
        if instance.state in (InstanceState.DISABLED, InstanceState.PURGED):
            return None
        states = (InstanceState.BUILDING, InstanceState.UNPROVEN, InstanceState.APPLIED)
        if instance.state in states:
            return self.progress
        return 100

    @property
    def difference(self) -> str:
        """How the stage differs from the checkout, in a sentence; empty if it does not."""
        name = self.entity
        if self.deployed is None:
            return f"{name}: the table has no backfill item, so its generation is unknown"
        if not self.deployed:
            return f"{name}: this checkout declares it, and the stage does not have it"
        if not self.checkout:
            return (
                f"{name}: the stage has generation {self.deployed}, this checkout does not know it"
            )
        if self.deployed != self.checkout:
            return (
                f"{name}: the stage has generation {self.deployed}, this checkout generation "
                f"{self.checkout}"
            )
        return ""


def list_entity_statuses(ledger: Ledger, stage: StageStates) -> list[EntityStatus]:
    """Every entity of the checkout or of the stage, in order of name.

    ``ledger``: of the checkout. The instances of a generation that it lacks cannot be listed.
    """
    return list(_describe_entities(ledger, stage))


def _describe_entities(ledger: Ledger, stage: StageStates) -> Iterator[EntityStatus]:
    for entity in sorted({*ledger.entities, *stage.states}):
        state = stage.states.get(entity)
        checkout = ledger.current_generation(entity).number if entity in ledger.entities else 0
        if state is None and (stage.is_recorded or stage.is_empty):
            yield EntityStatus(entity, 0, 0, checkout)
        elif state is None:
            instances = _list_instances(entity, None, checkout, ledger)
            yield EntityStatus(entity, None, None, checkout, instances)
        else:
            instances = _list_instances(entity, state, state.newest, ledger)
            yield EntityStatus(
                entity, state.newest, state.oldest, checkout, instances, state.progress
            )


def _list_instances(
    entity: str, state: BackfillState | None, generation: int, ledger: Ledger
) -> tuple[InstanceStatus, ...]:
    """The instances of a generation; none if the ledger lacks it."""
    if entity not in ledger.entities:
        return ()
    plans = {each.number: each.plan for each in ledger.list_generations(entity)}
    if generation not in plans:
        return ()
    return tuple(list_instance_states(plans[generation], state, ledger))
