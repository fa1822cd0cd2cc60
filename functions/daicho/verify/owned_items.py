"""What belongs to items: reservations of unique values, versions and sections.

Requests write these in transactions with their item, so nothing of them is late. They are read one
after the other all the same. So each fault names the items that have to be as they were read, and
a transaction confirms it (`daicho.verify.faults`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from daicho.layout import cleanup_marks, reservations, sections, versions
from daicho.layout.backfill_state import render_instance
from daicho.layout.base_item import get_version, is_expired, to_seconds
from daicho.layout.reservations import OWNER
from daicho.layout.sections import Manifest
from daicho.plan import EntityPlan, Ledger, NewerGenerationError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import ConditionCheck, Delete, Put, Query, require_same
from daicho.stream.released_generations import learn_released
from daicho.verify.base_items import AS_READ, find_plan
from daicho.verify.faults import Fault, parse_owner
from daicho.verify.findings import Kind
from daicho.verify.steps import VerifyDependencies

NONE = "attribute_not_exists(PK)"
RESTORE = "restore it from a backup, or put the item again"
CHANGE_ONE = "change or delete one of the two items"
OWNED = {reservations.SIGN: "reservation", "@": "versions", "/": "sections"}
"""The signs before the entity in the keys of what belongs to items."""


@dataclass(frozen=True)
class OwnedItems:
    """Checks what belongs to the items of one table."""

    on: VerifyDependencies

    def find_faults(self, key: ItemKey) -> list[Fault]:
        """The faults of an item, of a reservation, or of a partition of versions or sections.

        ``key``: of one of these; of any item of a partition.

        Raises:
            UnavailableError: the table does not answer.
        """
        find = _FINDERS.get(parse_owner(key)[1][:1], OwnedItems._find_item_faults)
        try:
            return list(find(self, key))
        except NewerGenerationError:
            return []  # the rows of the item are undecided

    def _get(self, key: ItemKey) -> Image | None:
        return self.on.store.get(key, consistent=True)

    def _list(self, partition: str, prefix: str | None = None) -> list[Image]:
        query = Query(partition, prefix=prefix, consistent=True)
        return [item for page in self.on.store.query_pages(query) for item in page.items]

    def _learn(self, image: Image | None) -> Ledger:
        return learn_released(self.on.store, self.on.ledger, [image])

    # --- Of one item --------------------------------------------------------------------------

    def _find_item_faults(self, key: ItemKey) -> Iterator[Fault]:
        image = self._get(key)
        ledger = self._learn(image)
        plan = None if image is None else find_plan(ledger, image)
        if image is None or plan is None or plan.name != parse_owner(key)[1]:
            return
        if plan.derived_uniques:
            yield from self._find_reservation_faults(ledger, image)
        if plan.versions is not None:
            yield from self._find_newest_faults(plan, image)
        manifest = Manifest.from_image(image) if plan.split else None
        if manifest is not None:
            yield from self._find_section_faults(image, manifest)

    def _find_reservation_faults(self, ledger: Ledger, image: Image) -> Iterator[Fault]:
        """Reservations that an item should have, and has not."""
        now = to_seconds(self.on.now())
        expected, is_exact = reservations.list_stored(ledger, image)
        if is_expired(image, now) or not is_exact:
            return
        for key, reservation in expected.items():
            stored = self._get(key)
            if stored is not None and stored.get(OWNER) == reservation[OWNER]:
                continue
            owner_key = None if stored is None else reservations.get_owner(stored)
            found = "nothing" if owner_key is None else f"of {reservations.describe_key(owner_key)}"
            fault = Fault(Kind.RESERVATION, key, f"of {' '.join(get_key(image))}", found)
            put = Put(reservation, NONE)
            checks = [check_as_read(get_key(image), image)]
            if stored is not None and owner_key is not None:
                owner = self._get(owner_key)
                if reservations.is_held(self._learn(owner), owner, key, now):
                    yield fault.with_decision(CHANGE_ONE, *checks)
                    continue
                put = reservations.take_over(reservation, stored[OWNER])
                checks.append(reservations.check_not_held(owner_key, owner))
            yield fault.with_repair(put, *checks)

    def _find_newest_faults(self, plan: EntityPlan, image: Image) -> Iterator[Fault]:
        """The version item of the newest version, if it is missing."""
        key, number = get_key(image), get_version(image)
        is_copy = plan.versions == "copy"
        if is_copy and not versions.is_kept(image):
            return
        version_key = versions.build_version_key(key, plan.name, number)
        stored = self._get(version_key)
        if stored is not None and not versions.is_marker(stored):
            return
        found = "nothing" if stored is None else "the mark of a deletion"
        fault = Fault(Kind.VERSION, version_key, f"version {number}", found)
        check = check_as_read(key, image)
        if is_copy and stored is None:
            yield fault.with_repair(Put(versions.build_version_item(image, plan.name), NONE), check)
        else:
            yield fault.with_decision(RESTORE, check, check_as_read(version_key, stored))

    def _find_section_faults(self, image: Image, manifest: Manifest) -> Iterator[Fault]:
        """Sections that the manifest counts, and that are not there, or the other way round."""
        key = get_key(image)
        partition = sections.render_sections_partition(key, parse_owner(key)[1])
        items = self._list(partition, keys.render_prefix(manifest.epoch))
        firsts = [item for item in items if len(keys.parse(item["SK"]["S"])) == 3]
        weight = sum(map(sections.measure_weight, firsts))
        found = f"{len(firsts)} sections of {weight} bytes"
        try:
            sections.join_pieces(items)
        except sections.TornError as torn:
            found = f"not all pieces of the section {torn}"
        expected = f"{manifest.count} sections of {manifest.weight} bytes"
        if found != expected:
            yield Fault(Kind.SECTION, key, expected, found).with_decision(
                RESTORE, check_as_read(key, image)
            )

    # --- Of what belongs to an item -----------------------------------------------------------

    def _find_left_reservation(self, key: ItemKey) -> Iterator[Fault]:
        """A reservation whose owner does not have the value."""
        stored, now = self._get(key), to_seconds(self.on.now())
        owner_key = None if stored is None else reservations.get_owner(stored)
        if stored is None or owner_key is None or is_expired(stored, now):
            return
        _, head, since, *_ = keys.parse(key.pk)
        entity, _, name = head.removeprefix(reservations.SIGN).rpartition(".")
        disabled = map(render_instance, self.on.ledger.list_disabled(entity))
        if f"{name}@{since}" in set(disabled):
            return  # a purge removes it
        owner = self._get(owner_key)
        if owner is not None and is_expired(owner, now):
            return  # DynamoDB removes both
        if not reservations.is_held(self._learn(owner), owner, key, now):
            delete = Delete(
                key, "#owner = :owner", {"#owner": "owner"}, {":owner": stored["owner"]}
            )
            fault = Fault(
                Kind.RESERVATION, key, "nothing", f"of {reservations.describe_key(owner_key)}"
            )
            yield fault.with_repair(delete, reservations.check_not_held(owner_key, owner))

    def _find_history_faults(self, key: ItemKey) -> Iterator[Fault]:
        """Gaps between versions, and versions of an item that is neither there nor deleted."""
        stored = self._list(key.pk)
        base_key = parse_derived_partition(key.pk)
        for older, newer in pairwise(stored):
            # A version that was not kept when it was written has no time: numbers may be missing.
            is_kept = not versions.is_forgotten(older) and "versioned_at" in newer
            if is_kept and get_version(newer) > get_version(older) + 1:
                missing = versions.render_version_number(get_version(older) + 1)
                expected = f"versions {get_version(older)} to {get_version(newer)}"
                fault = Fault(Kind.VERSION, ItemKey(key.pk, missing), expected, "not all of them")
                yield fault.with_decision("restore it from a backup")
        if stored and not versions.is_marker(stored[-1]) and self._get(base_key) is None:
            newest = get_key(stored[-1])
            following = versions.render_version_number(get_version(stored[-1]) + 1)
            fault = Fault(Kind.VERSION, newest, "its item, or the mark of a deletion", "neither")
            checks = (check_as_read(base_key, None), ConditionCheck(newest, "attribute_exists(PK)"))
            following_check = check_as_read(ItemKey(key.pk, following), None)
            yield fault.with_decision(RESTORE, *checks, following_check)

    def _find_left_sections(self, key: ItemKey) -> Iterator[Fault]:
        """Sections that no item names, and that no sweep will remove.

        The order of the reads is that of the sweep: sections, marks, the item.
        """
        stored = [item for item in self._list(key.pk) if not _is_mark(item)]
        if any("object" not in mark for mark in self._list(key.pk, keys.render_prefix(""))):
            return
        image = self._get(cleanup_marks.parse_owner_partition(key.pk))
        manifest = None if image is None else Manifest.from_image(image)
        epoch = None if manifest is None else manifest.epoch
        left = [item for item in stored if keys.parse(item["SK"]["S"])[0] != epoch]
        if left:
            fault = Fault(Kind.SECTION, get_key(left[0]), "nothing", f"{len(left)} items left over")
            other = keys.parse(left[0]["SK"]["S"])[0]
            yield fault.with_repair(
                Put(cleanup_marks.build_mark(key.pk, other, self.on.now()), NONE)
            )


_FINDERS: Mapping[str, Callable[[OwnedItems, ItemKey], Iterator[Fault]]] = {
    reservations.SIGN: OwnedItems._find_left_reservation,
    "@": OwnedItems._find_history_faults,
    "/": OwnedItems._find_left_sections,
}


def select_checked(ledger: Ledger, entity: str, images: Sequence[Image]) -> list[ItemKey]:
    """The keys of a page to be checked: of a partition of versions or sections only one.

    ``entity``: only what belongs to it; "" for all.
    """
    chosen: dict[tuple[str, str], ItemKey] = {}
    for key in map(get_key, images):
        _, owner = parse_owner(key)
        sign, name = (owner[0], owner[1:]) if owner[:1] in OWNED else ("", owner)
        own = name.rpartition(".")[0] if sign == reservations.SIGN else name
        if own not in ledger.entities or entity not in ("", own):
            continue
        is_single = sign in ("", reservations.SIGN)
        if sign or _has_owned(ledger, own):
            chosen.setdefault((key.pk, key.sk if is_single else ""), key)
    return list(chosen.values())


def _has_owned(ledger: Ledger, entity: str) -> bool:
    plans = (each.plan for each in ledger.list_generations(entity))
    return any(plan.derived_uniques or plan.versions or plan.split for plan in plans)


def check_as_read(key: ItemKey, image: Image | None) -> ConditionCheck:
    """Require that an item is as it was read."""
    if image is None:
        return ConditionCheck(key, NONE)
    condition, names, values = require_same(image, AS_READ)
    return ConditionCheck(key, f"attribute_exists(PK) AND {condition}", names, values)


def parse_derived_partition(pk: str) -> ItemKey:
    """The key of the item that a partition of versions belongs to."""
    return cleanup_marks.parse_owner_partition(pk.replace("#@", "#/", 1))


def _is_mark(item: Image) -> bool:
    return get_key(item).sk.startswith(keys.render_prefix(""))
