"""Refuses images that could not be derived, or could not be stored.

No image is written that the stream path could not derive: such an image would stop the stream path
for everyone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daicho.derive import contributions, derived_items
from daicho.errors import Invalid
from daicho.layout import item_keys, reservations
from daicho.layout.base_item import find_longest_field
from daicho.layout.reservations import ReservedValueError
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, SearchPlan
from daicho.plan.figures.series import check_bucket
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image

_EDGE_YEARS = ("0001", "0002", "9998", "9999")
"""The years whose buckets may leave the calendar: a zone is at most a day away from UTC."""
_WIDEST: AttributeValue = {"N": "9" * 19}


def check_image(plan: EntityPlan, image: Image) -> None:
    """Refuse an image that could be stored but not derived, or could not be stored.

    Raises:
        Invalid: over 400 KB, over 400 derived items, an index key too long, a sum that overflows,
            a unique value too long.
    """
    check_size(image)
    _check_time_buckets(plan, image)
    try:
        reservations.build_reservations(plan, image)
    except ReservedValueError as error:
        raise Invalid(str(error), field=error.field) from error
    try:
        derived_items.compute_index_rows(plan, image)
        contributions.compute_contributions(plan, image)
    except (ValueError, ArithmeticError, LookupError) as error:
        field = error.field if isinstance(error, item_keys.UnderivableError) else None
        raise Invalid(str(error), field=field or _find_field_at_fault(plan, image)) from error


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


def check_size(image: Image) -> None:
    """Refuse an image that is too large for DynamoDB: over 400 KB.

    Raises:
        Invalid: names the largest attribute.
    """
    # It must stay writable: its version and generation grow.
    size = attributes.measure_image({**image, "version": _WIDEST, "gen": _WIDEST})
    if size > attributes.MAX_ITEM_BYTES:
        largest = max(image, key=lambda name: attributes.measure_image({name: image[name]}))
        raise Invalid(
            f"the item takes {size} bytes; at most {attributes.MAX_ITEM_BYTES}", field=largest
        )


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
