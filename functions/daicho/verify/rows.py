"""The rows of one item as they are stored, compared with what its image derives. Pure (rule 35).

A row is live, or a tombstone: the number of a removal, without index keys, with a ``ttl``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from daicho.derive.derived_items import COPY_ATTRIBUTE, IndexRow
from daicho.layout.backfill_state import render_instance
from daicho.layout.base_item import is_expired
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.verify.faults import Fault
from daicho.verify.findings import Kind

NO_NUMBER = "no number of the stream"
_IS_NUMBER = re.compile(r"[^#]*#[0-9]{40}").fullmatch
_INDEX_KEYS = ("GSI2PK", "GSI2SK")


@dataclass(frozen=True)
class RowRules:
    """What decides about the rows of an entity.

    ``instances``: its instances that rows may be of, as text: ``listed@2``. ``ignored``: those that
    are disabled and not purged yet: nobody reads them. ``highest``: the highest number that was
    announced before the rows were read; "" if it is unknown. ``now``: in epoch seconds.
    """

    instances: frozenset[str]
    ignored: frozenset[str]
    highest: str
    now: int

    @classmethod
    def build(
        cls, ledger: Ledger, entity: str, purged: frozenset[str], highest: str, now: int
    ) -> RowRules:
        """Those of an entity. ``purged``: its disabled instances of which nothing may be left."""
        generations = ledger.entities.get(entity, ())
        known = {
            render_instance(instance)
            for generation in generations
            for instance in generation.plan.derived_instances
        }
        disabled = set(map(render_instance, ledger.list_disabled(entity)))
        return cls(frozenset(known - disabled), frozenset(disabled - purged), highest, now)

    def compare(
        self, expected: Mapping[ItemKey, IndexRow], stored: Iterable[Image]
    ) -> Iterator[Fault]:
        """The differences between what an item derives and the items of its derived partition."""
        missing = dict(expected)
        for item in stored:
            key = get_key(item)
            instance = "@".join(keys.parse(key.sk)[:2])
            if instance in self.ignored:
                continue
            row = missing.pop(key, None)
            if any(name in item for name in _INDEX_KEYS):
                yield from self._compare_live(key, row, item, is_known=instance in self.instances)
            elif not is_expired(item, self.now):
                yield from self._compare_tombstone(key, row, item)
            elif row is not None:
                missing[key] = row
        for key, row in missing.items():
            yield Fault(Kind.ROW_MISSING, key, f"{row.gsi2pk} {row.gsi2sk}", "nothing")

    def _compare_live(
        self, key: ItemKey, row: IndexRow | None, item: Image, *, is_known: bool
    ) -> Iterator[Fault]:
        found = [attributes.get_text(item, name) or "" for name in (*_INDEX_KEYS, COPY_ATTRIBUTE)]
        if row is None:
            kind = Kind.ROW_NOT_DERIVED if is_known else Kind.UNKNOWN_INSTANCE
            yield Fault(kind, key, "nothing", " ".join(found[:2]))
            return
        kinds = (Kind.WRONG_LIST, Kind.WRONG_ORDER, Kind.WRONG_COPY)
        for kind, expected, actual in zip(kinds, row, found, strict=True):
            if (expected or "") != actual:
                yield Fault(kind, key, expected or "nothing", actual or "nothing")
        if "ttl" in item:
            yield Fault(Kind.ROW_STATE, key, "no ttl", f"ttl {item['ttl']}")
        yield from self._check_number(key, item)

    def _compare_tombstone(
        self, key: ItemKey, row: IndexRow | None, item: Image
    ) -> Iterator[Fault]:
        if row is not None:
            yield Fault(
                Kind.ROW_MISSING, key, f"{row.gsi2pk} {row.gsi2sk}", "the mark of a removal"
            )
        if "N" not in item.get("ttl", {}):
            yield Fault(Kind.ROW_STATE, key, "a removal with a ttl", "no ttl")
        yield from self._check_number(key, item)

    def _check_number(self, key: ItemKey, item: Image) -> Iterator[Fault]:
        """Every number comes from the stream, and was announced before it was written (rule 14)."""
        number = item.get("seq", {}).get("S", "")
        if not _IS_NUMBER(number):
            yield Fault(Kind.ROW_NUMBER, key, "a number of the stream", number or NO_NUMBER)
        elif self.highest and number > self.highest:
            yield Fault(Kind.ROW_NUMBER, key, f"at most {self.highest}", number)
