"""Computes the fields and the image of an item that is replaced, changed or restored. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Generic

from pydantic import ValidationError

from daicho.declare.entity import Entity, get_values
from daicho.declare.queries import ItemRef
from daicho.derive import contributions, derived_items
from daicho.errors import ExceedsBounds, Invalid, UnreadableError
from daicho.items import mapper
from daicho.items.mapper import E, ItemFields
from daicho.layout import base_item, item_keys, reservations
from daicho.layout.base_item import find_longest_field
from daicho.layout.marks import MAX_RUN_ID, REPAIR_MARK
from daicho.layout.reservations import ReservedValueError
from daicho.layout.sections import MANIFEST
from daicho.plan import AggregatePlan, EntityPlan, Ledger, ListingPlan, SearchPlan
from daicho.plan.figures.series import check_bucket
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.scales import SCALES, replace_scales, select_scales


@dataclass(frozen=True)
class PlannedWrite(Generic[E]):
    """The write of one item, checked: it can be stored and derived.

    Args:
        plan: the entity's newest compiled declaration, by which ``image`` was made.
        key: the key of ``image``.
        fields: the fields of the item, of which ``image`` was made.
        image: the whole item. Its version is 1, also if it replaces another item.
        predecessor: the stored item that it replaces; empty for a new item. Its creation, its
            expiry and its attributes that are no fields are kept; its version is increased.
        renews_expiry: the predecessor gets the expiry of ``image``, or loses its own if the image
            has none. Otherwise it keeps its own.
        is_repair: the stored item cannot be read, and is replaced as a whole. ``predecessor`` has
            what can be read of it, or only its version and its creation.
        derived_units: an estimate of the write units of what derives from the write.
    """

    entity: type[E]
    plan: EntityPlan
    key: ItemKey
    fields: ItemFields[E]
    image: Image
    predecessor: Image = field(default_factory=dict)
    renews_expiry: bool = False
    is_repair: bool = False
    derived_units: int = 0

    def build_successor(self) -> Image:
        """The image to store by a writer that checks that the predecessor is unchanged.

        Raises:
            Invalid: the result is over 400 KB.
        """
        if not self.predecessor:
            return self.image
        expiry = {"ttl": self.image["ttl"]} if self.renews_expiry and "ttl" in self.image else {}
        return build_successor(self.entity, self.image, {**self.predecessor, **expiry})

    def to_item(self, ledger: Ledger) -> E:
        """The item of ``image``: the one that was given, if it replaces none."""
        item = None if self.predecessor else self.fields.to_item(mapper.read_created(self.image))
        return mapper.to_item(self.entity, self.image, ledger) if item is None else item


def build_ref(new: PlannedWrite[E]) -> ItemRef[E]:
    """The item that a new item replaces."""
    return read_ref(new.entity, new.plan, new.image)


def read_ref(entity: type[E], plan: EntityPlan, image: Image) -> ItemRef[E]:
    """The item that an image is of, by the values of its key fields."""
    names = plan.key.fields
    values = attributes.from_image({name: image[name] for name in names})
    return ItemRef(entity, tuple(values[name] for name in names))


def build_successor(entity: type[Entity], image: Image, existing: Image) -> Image:
    """The image that replaces ``existing``: its creation and expiry, and the next version.

    Attributes that are no fields of the entity are kept too: those of the library, and those of
    older declarations.

    Raises:
        Invalid: the result is over 400 KB.
    """
    replaced = {*entity.fields_, *mapper.list_companions(entity)}
    others = {name: value for name, value in existing.items() if name not in replaced}
    successor: dict[str, AttributeValue] = {**others, **image, "created_at": existing["created_at"]}
    successor["version"] = {"N": str(base_item.get_version(existing) + 1)}
    if "ttl" not in image:
        successor.pop("ttl", None)
    elif "ttl" in existing:
        successor["ttl"] = existing["ttl"]
    check_size(successor)
    return successor


def list_absent_fields(planned: PlannedWrite[Any]) -> list[str]:
    """The attributes that the image has no value of, so that a write must remove them."""
    names = (*planned.entity.fields_, *mapper.list_companions(planned.entity))
    return [name for name in names if name not in planned.image]


def merge_immutable_fields(
    plan: EntityPlan, fields: ItemFields[E], existing: Image
) -> ItemFields[E]:
    """The fields of an item that replaces ``existing``; frozen fields are kept."""
    frozen = mapper.list_frozen_fields(fields.entity, plan)
    kept = {name: existing[name] for name in frozen if name in existing}
    stored = {**fields.stored, **kept}
    if SCALES in stored or SCALES in existing:
        stored = replace_scales(stored, kept.keys(), select_scales(existing, kept.keys()))
    return ItemFields(fields.entity, stored)


def mend_image(
    entity: type[Entity],
    ledger: Ledger,
    stored: Image,
    changes: Mapping[str, Any],
    now: dt.datetime,
) -> Image:
    """A stored image with the new values of fields that cannot be read, or else itself.

    Its version and its creation are replaced too, as in `mapper.read_kept`.

    Raises:
        UnreadableError: something else cannot be read, such as its generation, or its key.
    """
    kept = mapper.read_kept(stored, now)
    image = stored if all(stored.get(name) == kept[name] for name in kept) else {**stored, **kept}
    mapper.check_kept(entity, image, ())
    mendable = changes.keys() - set(ledger.current_generation(entity.__name__).plan.key.fields)
    for _ in range(len(mendable) + 1):
        try:
            mapper.to_item(entity, image, ledger)
        except UnreadableError as error:
            if error.field not in mendable:
                raise
            image = mapper.replace_fields(entity, image, {error.field: changes[error.field]})
            mendable -= {error.field}
        else:
            break
    return image


def apply_changes(
    entity: type[E], ledger: Ledger, existing: Image, changes: Mapping[str, Any]
) -> ItemFields[E]:
    """The fields of an item with some of them changed, and all others, migrated.

    Raises:
        Invalid: names the field.
    """
    plan = ledger.current_generation(entity.__name__).plan
    for name in (name for name in changes if name in entity.fields_):
        if entity.fields_[name].role == "computed":
            raise Invalid("is computed: leave it out", field=name)
    item, split_field = mapper.to_item(entity, existing, ledger), entity.split_field_
    old_values = get_values(item)
    values = old_values | dict(changes)
    if split_field is not None:
        values[split_field.name] = {}  # not changed here: the stored value is copied below
    new_values = _validate_stored(entity, values)
    key_fields = plan.key.fields
    fields = mapper.to_field_image(entity, new_values)
    for name, spec in entity.fields_.items():
        if spec.frozen or (name in key_fields and name != plan.key.moves):
            if name in changes and new_values[name] != old_values[name]:
                raise Invalid("is set once, when the item is created", field=name)
            if name in existing:
                fields[name] = existing[name]
    _drop_missing_owner(entity, fields)
    for name in (MANIFEST, split_field.name) if split_field is not None else ():
        if name in existing:
            fields[name] = existing[name]
    return ItemFields(entity, fields)


def read_fields(entity: type[E], version: Image, ledger: Ledger) -> ItemFields[E]:
    """The fields of an old version, as they may be written now.

    Raises:
        Invalid: a value that was valid then is not valid any more; names the field.
    """
    values = get_values(mapper.to_item(entity, version, ledger))
    fields = mapper.to_field_image(entity, _validate_stored(entity, values))
    _drop_missing_owner(entity, fields)
    return ItemFields(entity, fields)


def _drop_missing_owner(entity: type[Entity], fields: dict[str, AttributeValue]) -> None:
    """Store no owner of an item from before its entity had one."""
    spec = entity.owner_field_
    if spec is not None and fields.get(spec.name) == {"S": ""}:
        del fields[spec.name]


def _validate_stored(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the values of a stored item, but not what no caller may give.

    Computed fields are computed again. An item from before its entity had an owner has none.
    """
    given = dict(values)
    for name, spec in entity.fields_.items():
        if spec.role == "computed" or (spec.role == "owner" and values[name] == ""):
            del given[name]
    try:
        return get_values(entity(**given))
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(first["msg"], field=".".join(map(str, first["loc"]))) from error


_EDGE_YEARS = ("0001", "0002", "9998", "9999")
"""The years whose buckets may leave the calendar: a zone is at most a day away from UTC."""
_WIDEST: AttributeValue = {"N": "9" * 19}
_LONGEST_RUN: AttributeValue = {"S": "x" * MAX_RUN_ID}


ROW_UNITS = 2
"""Write units of a derived item: one in the table, one in an index."""


def check_image(
    plan: EntityPlan,
    image: Image,
    bounds: RequestBounds = UNBOUNDED,
    predecessor: Image | None = None,
) -> int:
    """Refuse an image that could be stored but not derived, or could not be stored.

    Returns an estimate of the write units of what derives from it, when it replaces
    ``predecessor``: derived items of at most 1 KB, and a slot of each group.

    Raises:
        Invalid: over 400 KB, over 400 derived items, an index key too long, a sum that overflows,
            a unique value too long.
        ExceedsBounds: larger than an item may be, or more derived items than one may have.
    """
    check_size(image, bounds)
    _check_time_buckets(plan, image)
    if plan.derived_uniques:
        try:
            reservations.build_reservations(plan, image)
        except ReservedValueError as error:
            raise Invalid(str(error), field=error.field) from error
    try:
        rows = derived_items.compute_index_rows(plan, image)
        groups = contributions.compute_contributions(plan, image)
    except (ValueError, ArithmeticError, LookupError) as error:
        field = error.field if isinstance(error, item_keys.UnderivableError) else None
        raise Invalid(str(error), field=field or _find_field_at_fault(plan, image)) from error
    derived = derived_items.count_units(rows.values()) + len(groups)
    if derived > bounds.derived_units:
        field, detail = _find_field_at_fault(plan, image), f"{plan.name} derives {derived:,} units"
        raise ExceedsBounds(detail, "derived_units", bounds.derived_units, field)
    if predecessor is None:
        return ROW_UNITS * len(rows) + len(groups)
    old_rows, old_groups = _derive_stored(plan, predecessor)
    changed_rows = dict(rows.items() ^ old_rows.items())
    return ROW_UNITS * len(changed_rows) + len(dict(groups.items() ^ old_groups.items()))


def estimate_removal(plan: EntityPlan, image: Image) -> int:
    """An estimate of the write units of what derives from the removal of a stored item."""
    rows, groups = _derive_stored(plan, image)
    return ROW_UNITS * len(rows) + len(groups)


def _derive_stored(plan: EntityPlan, image: Image) -> tuple[Mapping[Any, Any], ...]:
    """The rows and contributions of a stored item; none if they cannot be computed."""
    try:
        rows = derived_items.compute_index_rows(plan, image)
        return rows, contributions.compute_contributions(plan, image)
    except (ValueError, ArithmeticError, LookupError):  # the projector sets it aside
        return {}, {}


def _check_time_buckets(plan: EntityPlan, image: Image) -> None:
    """Refuse a time whose bucket is not wholly in the calendar: it could not be read again.

    Raises:
        Invalid: names the field.
    """
    for part, is_series in plan.time_parts:
        text = attributes.get_text(image, part.field)
        if text is None or not text.startswith(_EDGE_YEARS):
            continue
        try:
            check_bucket(part, text, is_series=is_series)
        except ValueError as error:
            raise Invalid(str(error), field=part.field) from error


def check_size(image: Image, bounds: RequestBounds = UNBOUNDED) -> None:
    """Refuse an image that is too large for DynamoDB, over 400 KB, or for ``bounds``.

    Raises:
        Invalid: names the largest attribute.
        ExceedsBounds: names it too.
    """
    # It must stay writable: its version and generation grow, and a repair marks it.
    grown = {**image, "version": _WIDEST, "gen": _WIDEST, REPAIR_MARK: _LONGEST_RUN}
    size = attributes.measure_image(grown)
    if size <= bounds.item_bytes:
        return
    largest = max(image, key=lambda name: attributes.measure_image({name: image[name]}))
    detail = f"the item takes {size} bytes"
    if size > attributes.MAX_ITEM_BYTES:
        raise Invalid(f"{detail}; at most {attributes.MAX_ITEM_BYTES}", field=largest)
    raise ExceedsBounds(detail, "item_bytes", bounds.item_bytes, largest)


def _find_field_at_fault(plan: EntityPlan, image: Image) -> str | None:
    """The longest field of the declaration that fails alone, or else derives most items."""
    max_derived, field_at_fault = -1, None
    no_declarations = dict[str, Any](searches=(), listings=(), aggregates=())
    for kind in no_declarations:
        for declared in getattr(plan, kind):
            declared_alone = replace(plan, **(no_declarations | {kind: (declared,)}))
            # A derived item's keys hold the key of the item too.
            candidates = {*_list_fields(declared), *plan.key.fields} - {"created_at"}
            field = find_longest_field(image, candidates)
            try:
                derived = len(derived_items.compute_index_rows(declared_alone, image)) + len(
                    contributions.compute_contributions(declared_alone, image)
                )
            except (ValueError, ArithmeticError, LookupError):
                return field
            if derived > max_derived:
                max_derived, field_at_fault = derived, field
    return field_at_fault


def _list_fields(declared: SearchPlan | ListingPlan | AggregatePlan) -> tuple[str, ...]:
    match declared:
        case SearchPlan():
            return declared.fields
        case ListingPlan():
            return (*(part.field for part in declared.partition), *declared.order)
        case AggregatePlan():
            parts = (part.field for part in (*declared.within, *declared.by))
            return (*parts, *filter(None, [declared.field]))
