"""An item as one table holds it: its image, the content that it points at, and its sections."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress

from daicho.derive.events import CAUSE_MARK, QUIET_MARK
from daicho.errors import DaichoError
from daicho.layout import item_keys, reservations, sections, versions
from daicho.layout.base_item import get_tag, get_version, is_expired, to_seconds
from daicho.layout.expiry import compute_ttl
from daicho.layout.marks import (
    DISMISSED_MARK,
    REPAIR_MARK,
    RESTORED_MARK,
    RestoredMark,
    is_dismissed,
)
from daicho.layout.migrations import read_migrated
from daicho.layout.sections import MANIFEST, Manifest, Section, TornError
from daicho.plan import Ledger
from daicho.rebuild.item_touch import compute_touched
from daicho.rebuild.touches import find_obstacle
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, get_key
from daicho.storage.requests import Query
from daicho.storage.table import Table

_NOT_COMPARED = frozenset(
    {
        *("version", "versioned_at", versions.KEPT_UP_TO, versions.POINTED),
        *(MANIFEST, REPAIR_MARK, DISMISSED_MARK, RESTORED_MARK, QUIET_MARK),
        CAUSE_MARK,
    }
)
"""Attributes that say nothing about the content of an item."""


class SkippedError(DaichoError):
    """An item that is not restored. The message is the reason, without its key."""


@dataclass(frozen=True)
class ItemState:
    """One item of one table.

    ``image``: as it is stored. ``whole``: with the content of the version that it points at.
    ``sections``: in their order; None if it has none as items of their own.
    """

    image: Image
    whole: Image
    sections: tuple[Section, ...] | None = None


def read_state(store: Table, image: Image) -> ItemState:
    """The state of an item that was read from a table.

    Raises:
        SkippedError: what belongs to it is missing, or of another moment.
        StoreError: the table does not answer.
    """
    manifest = Manifest.from_image(image)
    whole = _read_whole(store, image)
    stored = None if manifest is None else _read_sections(store, image, manifest)
    return ItemState(image, whole, stored)


def _read_whole(store: Table, image: Image) -> Image:
    if versions.POINTED not in image:
        return image
    number = get_version(image)
    key = versions.build_version_key(get_key(image), image["type"]["S"], number)
    content = store.get(key, consistent=True)
    if content is None or versions.is_marker(content):
        raise SkippedError(f"version {number}, its content, is missing")
    own = {name: value for name, value in image.items() if name != versions.POINTED}
    return {**own, **{name: content[name] for name in content if name not in ("PK", "SK")}}


def _read_sections(store: Table, image: Image, manifest: Manifest) -> tuple[Section, ...]:
    partition = sections.render_sections_partition(get_key(image), image["type"]["S"])
    query = Query(partition, prefix=keys.render_prefix(manifest.epoch), consistent=True)
    items = (item for page in store.query_pages(query) for item in page.items)
    try:
        stored = manifest.join_whole(items)
    except TornError as error:
        raise SkippedError(f"its sections changed at that moment: {error}") from error
    changed = {name: at for at, name in manifest.recent}
    for name, section in stored.items():
        at = section.changed or 0
        if at != changed[name] if name in changed else at > manifest.complete:
            raise SkippedError(f"its section {name} changed at that moment: choose another one")
    return tuple(stored.values())


def build_target(ledger: Ledger, copy: ItemState, live: Image | None, now: dt.datetime) -> Image:
    """The whole image that a restore gives an item, of the newest generation of this code.

    It keeps the mark of a restore from the archive that the live item has, with the expiry that
    counts from it. The mark of the copy takes back no amounts again (rule 42).

    Raises:
        SkippedError: the image cannot be derived, or has another key by now.
    """
    try:
        return _build_target(ledger, copy, live, now)
    except SkippedError:
        raise
    except Exception as error:  # whatever it is: one item must not end the restore of the others
        raise SkippedError(f"the image of that moment cannot be derived: {error!r}") from error


def _build_target(ledger: Ledger, copy: ItemState, live: Image | None, now: dt.datetime) -> Image:
    entity = copy.image["type"]["S"]
    current = ledger.current_generation(entity)
    if is_dismissed(copy.image):
        raise SkippedError("the image of that moment was dismissed")
    new = dict(compute_newest(ledger, copy, now))
    mark = RestoredMark.from_image(new)
    live_mark = RestoredMark.from_image(live) if is_same_life(copy.image, live) else None
    for name in (DISMISSED_MARK, REPAIR_MARK, RESTORED_MARK, QUIET_MARK, CAUSE_MARK):
        new.pop(name, None)
    if live_mark is not None:
        new[RESTORED_MARK] = live_mark.to_value()
        if live_mark != mark and "ttl" in new:
            ttl = compute_ttl(current.plan, new, now)
            new |= {} if ttl is None else {"ttl": ttl}
    elif mark is not None:
        new[RESTORED_MARK] = mark.as_repeated().to_value()
    tenant = keys.parse(new["PK"]["S"])[0]
    if item_keys.build_base_key(tenant, current.plan, new) != get_key(new):
        raise SkippedError("its declarations give it another key today")
    reservations.build_reservations(current.plan, new)
    if obstacle := find_obstacle(current.plan, new):
        raise SkippedError(f"the image of that moment cannot be derived: {obstacle}")
    return new


def compute_newest(ledger: Ledger, state: ItemState, now: dt.datetime) -> Image:
    """The whole image of an item in the newest generation, as a touch would leave it.

    Raises:
        SkippedError: it is of a generation that this code does not know.
        Exception: of any kind: it cannot be read.
    """
    entity, whole = state.image["type"]["S"], state.whole
    current = ledger.current_generation(entity)
    if (attributes.get_integer(whole, "gen") or 0) > current.number:
        raise SkippedError("its generation is newer than that of this code")
    if state.image is not whole:  # a touch migrates no content that an item points at
        whole = read_migrated(ledger, entity, whole)
    return compute_touched(ledger, whole, generation=current, now=now)


def has_same_content(ledger: Ledger, copy: ItemState, live: ItemState, now: dt.datetime) -> bool:
    """Whether the live item, in the newest generation, has the content that a restore gives it."""
    if _list_texts(copy) != _list_texts(live):
        return False
    if _omit(copy.whole) == _omit(live.whole):
        return True
    with suppress(Exception):  # one that cannot be read differs, whatever the reason
        mended = compute_newest(ledger, live, now)
        target = build_target(ledger, copy, live.image, now)
        return attributes.equal_images(_omit(target), _omit(mended))
    return False


def _omit(image: Image) -> dict[str, AttributeValue]:
    return {name: value for name, value in image.items() if name not in _NOT_COMPARED}


def _list_texts(state: ItemState) -> list[tuple[str, str]] | None:
    return None if state.sections is None else [(each.name, each.text) for each in state.sections]


def is_same_life(one: Image, other: Image | None) -> bool:
    """Whether two images are of one item, from its creation to its removal."""
    return other is not None and one.get("created_at") == other.get("created_at")


def read_number(image: Image | None) -> int:
    """The version of an item; 0 if there is none, or it cannot be read."""
    tag = 0 if image is None else get_tag(image)
    return tag if isinstance(tag, int) else 0


def has_expired(image: Image, now: dt.datetime, margin_s: float = 0.0) -> bool:
    """Whether an item has expired, or does so within so many seconds."""
    return is_expired(image, to_seconds(now + dt.timedelta(seconds=margin_s)))
