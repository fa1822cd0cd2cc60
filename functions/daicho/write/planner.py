"""Plans the write of an item: the image to store, its condition, and what is refused.

Nothing is sent here. `daicho.write.item_writer` sends a planned write as one conditional request:
in most cases without a read before it, so it passes the item that the condition's failure
returned. `daicho.write.transaction` passes the item that it has read, and sends all planned writes
at once. Both therefore refuse the same writes, with the same texts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from daicho.declare.entity import Entity, get_values, list_made_now
from daicho.declare.queries import ItemRef
from daicho.declare.rules.rule_set import NO_RULES
from daicho.declare.stored_objects import check_object_keys
from daicho.derive.events import check_published_size, mark_cause
from daicho.errors import Conflict, PreconditionFailed, UnreadableError
from daicho.items import change_rules, mapper, rules
from daicho.items.mapper import E, ItemFields
from daicho.layout import base_item
from daicho.layout.base_item import to_seconds
from daicho.layout.expiry import ORIGIN, compute_ttl, find_retention_start, has_older_retention
from daicho.layout.marks import RESTORED_MARK
from daicho.plan import EntityPlan, Ledger
from daicho.plan.expiry import CREATED_AT
from daicho.query.access import SYSTEM, Access
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, get_key
from daicho.storage.requests import Put, Update
from daicho.write import conditions, field_changes
from daicho.write.field_changes import (
    PlannedWrite,
    apply_changes,
    build_ref,
    list_absent_fields,
    mend_image,
    merge_immutable_fields,
    read_fields,
)
from daicho.write.refusals import (
    build_reference_not_found,
    check_version,
    explain_taken,
    select_live,
)


@dataclass(frozen=True)
class ItemPlanner:
    """Plans the writes of a tenant's items, by the newest declarations.

    A plan of an entity is its compiled declaration (`EntityPlan`). A planned write is the result
    of the methods ``plan_…``; the methods ``build_…`` make a request of it.
    """

    key_resolver: KeyResolver
    access: Access = SYSTEM

    @property
    def ledger(self) -> Ledger:
        """The ledger with the newest declarations."""
        return self.key_resolver.ledger

    def plan_creation(self, item: E, now: dt.datetime) -> PlannedWrite[E]:
        """The write of a new item, with its owner and the values that are copied into it.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
            Invalid: the item cannot be stored or derived, or breaks a rule.
            ForbiddenTransition: no new item may have its state.
            Forbidden: the caller may not write it.
        """
        self.access.assign_owner(item)
        fields = self._apply_rules(self._build_fields(item, now), {})
        return self._plan_write(fields, now, now)

    def plan_candidate(
        self,
        item: E,
        created: dt.datetime,
        now: dt.datetime | None = None,
        *,
        given: Collection[str] = (),
    ) -> PlannedWrite[E]:
        """As `plan_creation`, before the rules: they depend on the item that it may replace.

        ``now``: the time of the write, if the item was created earlier, in another system.
        ``given``: copied fields whose values it has already then.
        """
        self.access.assign_owner(item)
        fields = self._build_fields(item, now or created, given)
        return self._plan_write(fields, created, now or created)

    def plan_replacement(self, new: PlannedWrite[E], now: dt.datetime) -> PlannedWrite[E]:
        """The write of a candidate over whatever it may replace, which is not known.

        The states of the replaced item are left to the condition of `build_put`.

        Raises:
            Invalid: the item breaks a rule, or cannot be stored or derived.
        """
        if new.entity.rules_ is NO_RULES:
            return new
        return self._plan_write(rules.apply_rules(new.fields), mapper.read_created(new.image), now)

    def plan_put(
        self,
        new: PlannedWrite[E],
        existing: Image | None,
        now: dt.datetime,
        *,
        if_match: int | str | None,
        if_none_match: bool = False,
    ) -> PlannedWrite[E]:
        """The write of the item ``new`` at a key whose image is ``existing``.

        Raises:
            PreconditionFailed: the item is not of version ``if_match``; or, with
                ``if_none_match``, it exists.
            Conflict: an expired item waits for the archive.
            Invalid: the item cannot be stored or derived with the values that are set once, or
                breaks a rule.
            ForbiddenTransition: its state may not follow the stored one.
            NotFound, Forbidden: see `Access.check_write`.
        """
        current = self.check_replaceable(new, existing, now)
        if current is None:
            check_version(None, if_match)
        if current is None or if_none_match:
            error = PreconditionFailed if if_none_match else Conflict
            self.check_vacant(new.entity, existing, now, error)
            if new.entity.rules_ is NO_RULES:
                return new
            return self._plan_write(self._apply_rules(new.fields, {}), now, now)
        try:
            mapper.check_kept(new.entity, current, mapper.list_frozen_fields(new.entity, new.plan))
        except UnreadableError:
            return self._plan_repair(new, current, now, if_match)
        check_version(base_item.get_tag(current), if_match)
        fields = merge_immutable_fields(new.plan, new.fields, current)
        return self._plan_write(
            self._apply_rules(fields, current, new.entity.fields_), now, now, current
        )

    def _plan_repair(
        self, new: PlannedWrite[E], current: Image, now: dt.datetime, if_match: int | str | None
    ) -> PlannedWrite[E]:
        """The write of an item over one whose version, creation or frozen fields are unreadable.

        It is checked as a new item, and keeps of the stored one what can be read.
        """
        kept = mapper.read_kept(current, now)
        check_version(base_item.get_tag(current), if_match)
        fields = self._apply_rules(new.fields, {})
        planned = self._plan_write(fields, mapper.read_created(kept), now)
        return replace(planned, predecessor=kept, is_repair=True)

    def plan_change(
        self,
        ref: ItemRef[E],
        existing: Image | None,
        changes: Mapping[str, Any],
        now: dt.datetime,
        *,
        if_match: int | str | None,
    ) -> PlannedWrite[E]:
        """The write of an item with some fields changed. If a key field changes, the item moves.

        Raises:
            NotFound, Forbidden, PreconditionFailed: as in `check_existing`.
            UnreadableError: what is not changed cannot be read.
            Invalid: names the field.
            ForbiddenTransition: the state may not change so.
        """
        stored = self.check_existing(ref, existing, now, if_match)
        current = mend_image(ref.entity, self.ledger, stored, changes, now)
        fields = apply_changes(ref.entity, self.ledger, current, changes)
        fields = self._apply_rules(fields, current, changes)
        planned = self._plan_write(fields, mapper.read_created(current), now, current)
        return planned if current is stored else replace(planned, is_repair=True)

    def plan_restoration(
        self,
        ref: ItemRef[E],
        old_version: Image,
        existing: Image | None,
        now: dt.datetime,
        *,
        if_match: int | str | None,
        follows: Image | None = None,
    ) -> PlannedWrite[E]:
        """The write that makes the image of an old version the newest version.

        ``follows``: the item whose states it follows if none exists; None for a new item.

        Raises:
            UnreadableError: the item cannot be read: replace it by a PUT.
            ForbiddenTransition: a state may not change back.
            PreconditionFailed: the item is not of version ``if_match``.
            Invalid: the declaration no longer accepts a value of the old version.
            NotFound, Forbidden: see `Access.check_write`.
        """
        current = select_live(existing, now)
        if current is not None:
            mapper.check_kept(ref.entity, current, ())
        if not self.access.may_read(ref.entity, old_version):
            raise build_not_found(ref)
        self.access.check_write(ref, old_version if current is None else current)
        check_version(None if current is None else base_item.get_tag(current), if_match)
        fields = read_fields(ref.entity, old_version, self.ledger)
        if current is not None:
            plan = self.get_entity_plan(ref.entity)
            fields = merge_immutable_fields(plan, fields, current)
        fields = self._apply_rules(fields, current or follows or {})
        return self._plan_write(fields, mapper.read_created(current or old_version), now)

    def check_replaceable(
        self, new: PlannedWrite[E], existing: Image | None, now: dt.datetime
    ) -> Image | None:
        """The item that a new one replaces; None if there is none, or it has expired.

        Raises:
            NotFound, Forbidden: see `Access.check_write`.
        """
        current = select_live(existing, now)
        if current is not None:
            self.access.check_write(build_ref(new), current)
        return current

    def check_existing(
        self,
        ref: ItemRef[Any],
        existing: Image | None,
        now: dt.datetime,
        if_match: int | str | None,
    ) -> Image:
        """The item that is changed or removed.

        Raises:
            NotFound: there is none, or it has expired, or the caller may not read it.
            Forbidden: the caller may not write it.
            PreconditionFailed: it is not of version ``if_match``.
        """
        current = select_live(existing, now)
        if current is None:
            raise build_not_found(ref)
        self.access.check_write(ref, current)
        check_version(base_item.get_tag(current), if_match)
        return current

    def check_removal(
        self,
        ref: ItemRef[Any],
        existing: Image | None,
        now: dt.datetime,
        if_match: int | str | None,
    ) -> Image:
        """The item that is deleted, if it may be.

        Raises:
            NotFound, Forbidden, PreconditionFailed: as in `check_existing`.
            ForbiddenChange: a rule does not let it be deleted.
        """
        current = self.check_existing(ref, existing, now, if_match)
        if ref.entity.rules_.guards_deletion:
            change_rules.check_deletion(ref.entity, self.ledger, current)
        return current

    def check_vacant(
        self,
        entity: type[Entity],
        existing: Image | None,
        now: dt.datetime,
        error: type[Conflict | PreconditionFailed] = Conflict,
    ) -> None:
        """Raise ``error`` if an item exists, or an expired one that waits for the archive."""
        if existing is None:
            return
        if select_live(existing, now) is not None or self._is_archived(entity):
            raise error(explain_taken(entity, existing, now))

    def build_creation(self, new: PlannedWrite[E], now: dt.datetime) -> Put:
        """The request that puts a new item where none exists, or only an expired one.

        An expired item that waits for the archive is not replaced.
        """
        replaces_expired = self._may_expire(new.entity) and not self._is_archived(new.entity)
        return conditions.build_creation(new.image, now, replaces_expired=replaces_expired)

    def build_put(self, planned: PlannedWrite[E], now: dt.datetime, if_match: int | None) -> Update:
        """The request that creates the item, or replaces the stored one, without a read before it.

        DynamoDB refuses it if the stored item has expired, has an expiry that only its image shows,
        or has other frozen fields than the ones that were checked. With a predecessor it also
        refuses it if the stored item is not the predecessor, but was created or restored later;
        without one, if the stored states may not be followed by those of the item.
        """
        checked, entity = planned.predecessor or planned.image, planned.entity
        frozen = mapper.list_frozen_fields(entity, planned.plan)
        unchanged: dict[str, Any] = {name: checked.get(name) for name in frozen}
        is_new = True
        if planned.predecessor:
            unchanged["created_at"] = checked["created_at"]
        rule = self._choose_expiry_rule(planned, now)
        if rule.is_renewed and "ttl" in planned.image and self._is_archived(entity):
            unchanged[RESTORED_MARK] = planned.predecessor.get(RESTORED_MARK)
        if entity.rules_.transitions and planned.predecessor:
            if_match = base_item.get_version(planned.predecessor)  # its states were checked
        elif entity.rules_.transitions:
            unchanged |= rules.list_preceding_states(entity, planned.image)
            is_new = rules.may_be_created(entity, planned.image)
            since = max(rule.since, rules.find_migrated_states(entity, planned.plan))
            rule = replace(rule, since=since)
        return conditions.build_replacement(
            planned.key,
            planned.image,
            absent=list_absent_fields(planned),
            unchanged=unchanged,
            expiry=rule,
            if_match=if_match,
            must_exist=(bool(planned.predecessor) or not is_new) and if_match is None,
        )

    def build_change(self, planned: PlannedWrite[E]) -> Update:
        """The request that stores the item if the predecessor is still the same."""
        return conditions.build_replacement(
            planned.key,
            planned.image,
            absent=list_absent_fields(planned),
            unchanged={"created_at": planned.predecessor["created_at"]},
            expiry=conditions.ExpiryRule(is_renewed=planned.renews_expiry),
            if_match=base_item.get_version(planned.predecessor),
        )

    def get_entity_plan(self, entity: type[Entity]) -> EntityPlan:
        """The newest plan of an entity: its compiled declaration."""
        return self.ledger.current[entity.__name__].plan

    def _apply_rules(
        self, fields: ItemFields[E], replaced: Image, given: Collection[str] = ()
    ) -> ItemFields[E]:
        """The fields of an item by the entity's rules; ``replaced`` is empty for a new item.

        ``given``: the fields that the request sets.
        """
        if fields.entity.rules_ is NO_RULES:
            return fields
        rules.check_transitions(fields.entity, self.ledger, fields.stored, replaced)
        fields = rules.apply_rules(fields)
        if fields.entity.rules_.reads_stored:
            change_rules.check_change(fields, self.ledger, self.access, replaced, given)
        return fields

    def _plan_write(
        self,
        fields: ItemFields[E],
        created: dt.datetime,
        now: dt.datetime,
        predecessor: Image | None = None,
    ) -> PlannedWrite[E]:
        """The write of an item with these fields at ``now``, after the checks of its image."""
        entity = fields.entity
        generation = self.ledger.current[entity.__name__]
        plan = generation.plan
        image = base_item.build_base_item(
            self.key_resolver.tenant, generation, fields.stored, created, now
        )
        renews_expiry = predecessor is not None and (
            (plan.expires is not None and not plan.expires.is_fixed)
            or has_older_retention(self.ledger, plan.name, predecessor, generation.number)
        )
        if predecessor is not None and renews_expiry:
            kept = {name: predecessor[name] for name in ORIGIN if name in predecessor}
            ttl = compute_ttl(plan, {**image, **kept}, now)
            image = {name: value for name, value in image.items() if name != "ttl"}
            image |= {} if ttl is None else {"ttl": ttl}
        budget = self.key_resolver.table.budget
        if predecessor is None and budget.creation_refusal is not None:
            raise budget.creation_refusal
        if events := self.key_resolver.ledger.events.get(plan.name):
            image = mark_cause(image, self.access.actor, self.access.hops)
            check_published_size(events, image)
        derived_units = field_changes.check_image(plan, image, budget.bounds, predecessor)
        key = get_key(image)
        if entity.object_fields_:
            check_object_keys(entity, key, plan.key.fields[-1])
        return PlannedWrite(
            *(entity, plan, key, fields, image, predecessor or {}, renews_expiry),
            derived_units=derived_units,
        )

    def _build_fields(
        self, item: E, now: dt.datetime, given: Collection[str] = ()
    ) -> ItemFields[E]:
        """The attribute values of a new item, including the values copied into it.

        A moment that nobody gave is that of the write: the clock of the Book may be simulated.
        """
        entity = type(item)
        copied = [s for s in entity.fields_.values() if s.role == "copied" and s.name not in given]
        values = get_values(item) | dict.fromkeys(list_made_now(item), now)
        for spec in copied:
            values[spec.name] = None
        fields = mapper.to_field_image(entity, values)
        if not copied and entity.split_field_ is None:
            return ItemFields(entity, fields, values)
        # An item is read once for all fields that are copied from it, so they are of one version
        # of it: for a field that may change first, as frozen ones may come from the cache.
        sources: dict[str, Image | None] = {}
        for spec in sorted(copied, key=lambda spec: spec.source is not None and spec.source.frozen):
            through: str = spec.target.name
            value = fields.get(through, mapper.NULL)
            if spec.source is None or value == mapper.NULL:
                continue
            if through not in sources:
                sources[through] = self.key_resolver.find_referenced(spec, value)
            source = sources[through]
            if source is None:
                raise build_reference_not_found(spec.target.target, values[through], through)
            fields[spec.name] = source.get(spec.source.name, mapper.NULL)
            fields = mapper.copy_scales(entity, spec, source, fields)
        manifest = {} if entity.split_field_ is None else mapper.to_manifest_image(item)
        return ItemFields(entity, {**fields, **manifest})

    def _choose_expiry_rule(
        self, planned: PlannedWrite[E], now: dt.datetime
    ) -> conditions.ExpiryRule:
        """The expiry of the stored item, which a write without a read before it knows in part.

        What counts from a field or from the change is in the new image, and so is that the item
        does not expire. What counts from the creation is the expiry that the stored item has.
        """
        entity, expires = planned.entity, planned.plan.expires
        alive_at = to_seconds(now) if self._may_expire(entity) else None
        if planned.predecessor:
            return conditions.ExpiryRule(alive_at, is_renewed=planned.renews_expiry)
        if expires is None or expires.is_fixed:
            return conditions.ExpiryRule(alive_at, self._find_retention_start(entity))
        if expires.of != CREATED_AT or "ttl" not in planned.image:
            return conditions.ExpiryRule(alive_at, is_renewed=True)
        return conditions.ExpiryRule(alive_at, self._find_retention_start(entity), is_required=True)

    def _find_retention_start(self, entity: type[Entity]) -> int:
        """The first generation with this retention; 0 if all generations have it."""
        generations = self.ledger.list_generations(entity.__name__)
        number = self.ledger.current_generation(entity.__name__).number
        start = find_retention_start(self.ledger, entity.__name__, number)
        return start if start > generations[0].number else 0

    def _may_expire(self, entity: type[Entity]) -> bool:
        """Whether stored items of an entity, of any generation, may have an expiry."""
        generations = self.ledger.entities[entity.__name__]
        return any(generation.plan.expires is not None for generation in generations)

    def _is_archived(self, entity: type[Entity]) -> bool:
        """Whether an entity's expired items wait for the archive."""
        return entity.__name__ in self.ledger.archived_types
