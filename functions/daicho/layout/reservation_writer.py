"""Reserves the unique values of items in the transactions that write the items (ADR 0148).

The conditions of the writes assume that nobody else has a value. If one is refused, the answer has
the reservation that exists. Its owner is read then. A live owner that has the value is a conflict.
Otherwise the reservation is taken over, on condition that it and its owner are as they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from daicho.errors import NotUnique, Raced, TransactionFailedError
from daicho.layout import reservations
from daicho.layout.base_item import is_expired
from daicho.layout.reservations import OWNER, Reservations
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.protocols import GetsItems
from daicho.storage.requests import ConditionCheck, Delete, Write, get_write_key

ItemChange = tuple[Image | None, Image | None]
"""An item as it was read, and as it will be; None if there is none."""
ATTEMPTS = 8
"""How often a transaction is sent, each time with what the last refusals returned."""


@dataclass
class ReservationWriter:
    """Sends a transaction with the reservations of the items that it changes.

    ``now``: in epoch seconds. ``claims``: the reservations to write. ``owners``: the items of the
    transaction that have each of the values before or after it. ``releases``: the reservations to
    remove. ``plans``: those of the claims' items.
    """

    ledger: Ledger
    store: GetsItems
    now: int
    claims: Reservations = field(default_factory=dict)
    owners: dict[ItemKey, list[AttributeValue]] = field(default_factory=dict)
    releases: set[ItemKey] = field(default_factory=set)
    plans: dict[ItemKey, EntityPlan] = field(default_factory=dict)
    _kept: dict[ItemKey, AttributeValue] = field(default_factory=dict)
    _takeovers: dict[ItemKey, tuple[AttributeValue, ConditionCheck | None]] = field(
        default_factory=dict
    )

    @classmethod
    def build(
        cls, ledger: Ledger, store: GetsItems, changes: Iterable[ItemChange], now: int
    ) -> ReservationWriter:
        """The writer for items that a transaction changes.

        Raises:
            NotUnique: two items of the transaction would have one value.
        """
        writer = cls(ledger, store, now)
        for stored, image in changes:
            entity = attributes.get_text(image or stored or {}, "type") or ""
            generations = ledger.entities.get(entity)
            plan = ledger.current_generation(entity).plan if generations else None
            if plan is not None and plan.derived_uniques:
                writer._add_change(plan, stored, image)
        # A value may go from one item to another.
        writer.releases -= writer.claims.keys() | writer._kept.keys()
        return writer

    def list_keys(self) -> set[ItemKey]:
        """The keys of the reservations that are written or removed."""
        return {*self.claims, *self.releases}

    def send(self, writes: Sequence[Write], send_all: Callable[[Sequence[Write]], None]) -> None:
        """Send these writes of items together with those of their reservations.

        Raises:
            NotUnique: another item has one of the values.
            TransactionFailedError: one of ``writes`` was refused.
            Raced: others reserved the values again and again.
        """
        keys = {get_write_key(write) for write in writes}
        for _ in range(ATTEMPTS):
            own = self._build_writes(keys)
            try:
                send_all([*writes, *own])
                return
            except TransactionFailedError as error:
                refused = {p: item for p, item in error.refused.items() if p < len(writes)}
                if refused or not error.refused:
                    raise TransactionFailedError(str(error), refused) from error
                for place, existing in error.refused.items():
                    self._solve_refusal(own[place - len(writes)], existing)
        raise Raced

    def _add_change(self, plan: EntityPlan, stored: Image | None, image: Image | None) -> None:
        before, is_exact = reservations.list_stored(self.ledger, stored)
        is_owned = is_exact and stored is not None and not is_expired(stored, self.now)
        after: Reservations = {}
        kept: Iterable[ItemKey] = ()
        if image is not None:
            after = reservations.build_reservations(plan, image)
            # Code that was rolled back does not know all that the newest generation reserves.
            kept = reservations.list_stored(self.ledger, image)[0]
        for key, reservation in after.items():
            taken = self.claims.get(key, {}).get(OWNER) or self._kept.get(key)
            if taken is not None and taken != reservation[OWNER]:
                raise build_conflict(plan, key)
            if is_owned and before.get(key) == reservation:
                self._kept[key] = reservation[OWNER]
            else:
                self.claims[key], self.plans[key] = reservation, plan
                self._add_owner(key, reservation[OWNER])
        for key, reservation in before.items():
            self._add_owner(key, reservation[OWNER])
            if key not in kept:
                self.releases.add(key)

    def _add_owner(self, key: ItemKey, owner: AttributeValue) -> None:
        owners = self.owners.setdefault(key, [])
        if owner not in owners:
            owners.append(owner)

    def _build_writes(self, keys: set[ItemKey]) -> list[Write]:
        writes: list[Write] = []
        checks: dict[ItemKey, ConditionCheck] = {}
        for key, claim in self.claims.items():
            if key not in self._takeovers:
                writes.append(reservations.put_reservation(claim, self.owners[key]))
                continue
            owner, check = self._takeovers[key]
            writes.append(reservations.take_over(claim, owner))
            if check is not None and check.key not in keys:
                checks[check.key] = check
        for key in self.releases:
            writes.append(reservations.remove_reservation(key, self.owners[key]))
        return [*writes, *checks.values()]

    def _solve_refusal(self, write: Write, existing: Image | None) -> None:
        """Change what is sent next, so that it fits the item that a refusal returned."""
        key = get_write_key(write)
        if isinstance(write, ConditionCheck):  # the owner was written meanwhile: look again
            self._takeovers = {
                reserved: takeover
                for reserved, takeover in self._takeovers.items()
                if takeover[1] is None or takeover[1].key != key
            }
        elif isinstance(write, Delete):  # another item has the value by now
            self.releases.discard(key)
        elif existing is None:
            self._takeovers.pop(key, None)
        else:
            self._take_over(key, existing)

    def _take_over(self, key: ItemKey, existing: Image) -> None:
        """Take over a reservation whose owner does not have the value.

        Raises:
            NotUnique: it has the value.
        """
        owner_key, owner = _read_former_owner(
            self.ledger, self.store, self.plans[key], existing, self.now
        )
        check = reservations.check_not_held(owner_key, owner)
        self._takeovers[key] = (existing[OWNER], check)


def build_conflict(plan: EntityPlan, key: ItemKey) -> NotUnique:
    """The refusal of an item because another one has its unique value. It does not name that."""
    unique = reservations.find_unique(plan, key)
    if unique is None:
        raise AssertionError(f"{plan.name} has no reservation {key}")
    return NotUnique(reservations.describe_conflict(plan, unique), field=unique.fields[0])


def check_free(ledger: Ledger, store: GetsItems, plan: EntityPlan, image: Image, now: int) -> None:
    """Check that no other item has a unique value of an item that is not written.

    Raises:
        NotUnique: another item has one.
    """
    for key, reservation in reservations.build_reservations(plan, image).items():
        existing = store.get(key, consistent=True)
        if existing is not None and existing.get(OWNER) != reservation[OWNER]:
            _read_former_owner(ledger, store, plan, existing, now)


def _read_former_owner(
    ledger: Ledger, store: GetsItems, plan: EntityPlan, existing: Image, now: int
) -> tuple[ItemKey, Image | None]:
    """The key and the item, if any, of an owner that does not have its reserved value any more.

    Raises:
        NotUnique: it has the value.
    """
    key, owner_key = get_key(existing), reservations.get_owner(existing)
    owner = None if owner_key is None else store.get(owner_key, consistent=True)
    if owner_key is None or reservations.is_held(ledger, owner, key, now):
        raise build_conflict(plan, key)
    return owner_key, owner
