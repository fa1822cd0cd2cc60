"""Repair touches: the record of one makes the projector write all that the item derives (rule 38).

A repair touch gives the attribute ``_repair`` of a base item a new value, the id of a run, and
changes nothing else. Only this change makes a record a repair: later writes may keep the value.
"""

from __future__ import annotations

from daicho.layout.dismissals import DISMISSED_MARK, is_dismissed, mark_dismissed
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import get_key
from daicho.storage.requests import Update

REPAIR_MARK = "_repair"
"""The attribute that holds the id of the last run that touched the item."""
MAX_RUN_ID = 36
"""Characters of the id of a run: an item keeps so much room for it."""


def is_repair(old: Image | None, new: Image | None) -> bool:
    """Whether a change of an item is a repair touch."""
    if old is None or new is None or REPAIR_MARK not in new:
        return False
    return new[REPAIR_MARK] != old.get(REPAIR_MARK)


def build_repair_touch(image: Image, run_id: str) -> Update:
    """The repair touch of a base item, on condition that it exists and the run has not touched it.

    Neither the version nor the ETag changes. A dismissed item stays dismissed: its mark is renewed,
    and must be as it was read (rule 56). An item that cannot be derived is not to be touched.

    ``run_id``: of at most `MAX_RUN_ID` characters, and of one run only.
    """
    run: AttributeValue = {"S": run_id}
    names = {"#repair": REPAIR_MARK, "#mark": DISMISSED_MARK}
    values: dict[str, AttributeValue] = {":run": run}
    update, mark = "SET #repair = :run", "attribute_not_exists(#mark)"
    if DISMISSED_MARK in image:
        values[":mark"], mark = image[DISMISSED_MARK], "#mark = :mark"
    if is_dismissed(image):
        values[":new"] = mark_dismissed({**image, REPAIR_MARK: run})[DISMISSED_MARK]
        update += ", #mark = :new"
    is_new = "(attribute_not_exists(#repair) OR #repair <> :run)"
    condition = f"attribute_exists(PK) AND {is_new} AND {mark}"
    return Update(get_key(image), update, condition, names, values)
