"""The item that a restore writes: made from an archived row by the current declarations. Pure."""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any

from daicho.archive.row_format import ArchivedRow
from daicho.derive import contributions, derived_items
from daicho.errors import DaichoError
from daicho.layout import item_keys, reservations
from daicho.layout.backfill_state import render_instance
from daicho.layout.base_item import is_expired
from daicho.layout.expiry import EXPIRY, build_expiry
from daicho.layout.marks import DISMISSED_MARK, REPAIR_MARK, RESTORED_MARK, RestoredMark
from daicho.layout.migrations import read_migrated
from daicho.plan import EntityPlan, Ledger, NewerGenerationError, UnknownEntityError
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue

_MARKS = (RESTORED_MARK, DISMISSED_MARK, REPAIR_MARK)
_SET_ANEW = frozenset({*EXPIRY, "version", "gen", "GSI1PK", "GSI1SK", *_MARKS})


class UnrestorableError(DaichoError):
    """A row that cannot become an item under the current declarations."""


def build_restored_image(
    row: ArchivedRow, ledger: Ledger, now: dt.datetime
) -> tuple[dict[str, AttributeValue], RestoredMark]:
    """The image of the restored item of a row, and its mark.

    Raises:
        UnrestorableError: no image can be made. The message gives the reason.
    """
    try:
        current = ledger.current_generation(row.entity)
        plan, archived = current.plan, {n: to_storable(v) for n, v in row.item.items()}
        old = read_migrated(ledger, row.entity, archived)
        image: dict[str, AttributeValue] = {
            **{name: value for name, value in old.items() if name not in _SET_ANEW},
            "version": {"N": str((attributes.get_integer(old, "version") or 0) + 1)},
            "gen": {"N": str(current.number)},
        }
        mark = RestoredMark(
            row.seq, keys.render_instant(now), row.gen or 0, int(image["version"]["N"])
        )
        image |= build_expiry(plan, {**image, RESTORED_MARK: mark.to_value()}, now)
        if is_expired(image, int(now.timestamp())):
            raise UnrestorableError(f"{row.entity}.expires would end it at once")
        if plan.key.edge:
            inverted = item_keys.build_inverted_key(row.tenant, plan, image)
            image |= {"GSI1PK": {"S": inverted.pk}, "GSI1SK": {"S": inverted.sk}}
        if item_keys.build_base_key(row.tenant, plan, image) != attributes.get_key(image):
            raise UnrestorableError("its declarations give it another key today")
        derived_items.compute_index_rows(plan, image)
        reservations.build_reservations(plan, image)
        contributions.compute_contributions(plan, image)
        # The projector also reads it by the plan under which it was archived, if that is newer.
        archived_plan = ledger.find_plan(row.entity, row.gen or 0)
        contributions.compute_contributions(archived_plan, image)
        _check_kept_aggregates(ledger.newest_generation(row.entity).plan, plan, archived_plan)
    except UnrestorableError:
        raise
    except (UnknownEntityError, NewerGenerationError) as error:
        raise UnrestorableError(str(error)) from error
    except Exception as error:  # whatever it is: one row must not end the restore of the others
        raise UnrestorableError(f"it cannot be read: {error!r}") from error
    set_mark(image, mark.as_repeated())  # it adds bytes
    set_mark(image, mark)
    return image, mark


def set_mark(image: dict[str, AttributeValue], mark: RestoredMark) -> None:
    """Give the image the mark, and the version that the mark names.

    Raises:
        UnrestorableError: the image becomes too large.
    """
    image["version"] = {"N": str(mark.version)}
    image[RESTORED_MARK] = mark.to_value()
    if attributes.measure_image(image) > attributes.MAX_ITEM_BYTES:
        raise UnrestorableError(f"it takes over {attributes.MAX_ITEM_BYTES} bytes")


def _check_kept_aggregates(newest: EntityPlan, *plans: EntityPlan) -> None:
    """Check that the stream can subtract a row from all that a rebuild may have added it to.

    Raises:
        UnrestorableError: neither of ``plans`` has an aggregate of the newest one.
    """
    known = {instance for plan in plans for instance in plan.derived_instances}
    unknown = [
        render_instance((each.name, each.since))
        for each in newest.derived_aggregates
        if each.on_expiry == "keep" and (each.name, each.since) not in known
    ]
    if unknown:
        raise UnrestorableError(
            f"this code was rolled back, and does not count {', '.join(unknown)}, which may "
            "include the expired item: restore it with the newest code"
        )


def to_storable(value: AttributeValue) -> dict[str, Any]:
    """An attribute value in botocore's form. The archive holds binary values as base64."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": _decode_value(content)}
        case "BS":
            return {"BS": [_decode_value(element) for element in content]}
        case "M":
            return {"M": {name: to_storable(member) for name, member in content.items()}}
        case "L":
            return {"L": [to_storable(element) for element in content]}
        case _:
            return {kind: content}


def _decode_value(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
