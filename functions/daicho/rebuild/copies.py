"""Copies items into another entity, and removes copies whose item has gone (ADR 0123).

The touch of an item of before the copy began also writes its copy, in one transaction. Code of
before may delete or move an item, and leaves its copy. So passes that may be proofs also read the
copies, and compare each of them with its item.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from daicho.errors import ContendedError, Invalid, TransactionFailedError
from daicho.layout.base_item import is_expired
from daicho.layout.item_copies import (
    COPY_OF,
    build_copy,
    parse_origin,
    put_copy,
    remove_copy,
)
from daicho.plan import Generation, ItemCopy, Ledger
from daicho.rebuild.item_touch import Companion, ObstacleError
from daicho.rebuild.touches import find_obstacle
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, measure_image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.protocols import TransactsWrites
from daicho.storage.requests import ConditionCheck, Scan, Write
from daicho.storage.table import BatchGetResult


class CopyTable(TransactsWrites, Protocol):
    """The operations of the table that this needs."""

    def batch_get(self, keys: Iterable[ItemKey], *, consistent: bool = False) -> BatchGetResult:
        """Read many items."""


@dataclass(frozen=True)
class ItemCopier:
    """Copies items of the entities of a rebuild. ``targets``: see `RebuildJob`."""

    store: CopyTable
    ledger: Ledger
    targets: Mapping[str, int]

    @property
    def copies(self) -> tuple[ItemCopy, ...]:
        """The copies that are made: of entities that are rebuilt and were not switched."""
        copies = (self.ledger.copies.get(entity) for entity in sorted(self.targets))
        return tuple(copy for copy in copies if copy is not None and not copy.is_switched)

    def list_entities(self) -> tuple[str, ...]:
        """The entities that a rebuild writes: its own, and those of the copies."""
        return (*self.targets, *(copy.target for copy in self.copies))

    def add_copies(self, scan: Scan) -> Scan:
        """A scan that also returns the copies themselves."""
        if not self.copies:
            return scan
        terms, values = [], dict[str, AttributeValue]()
        for place, copy in enumerate(self.copies):
            terms.append(f"(#type = :c{place} AND attribute_exists(#copy_of))")
            values[f":c{place}"] = {"S": copy.target}
        return replace(
            scan,
            filter=" OR ".join((scan.filter or "", *terms)),
            names={**scan.names, "#copy_of": COPY_OF},
            values={**scan.values, **values},
        )

    def list_removals(self, images: Iterable[Image], now: dt.datetime) -> list[list[Write]]:
        """The removals of copies whose item has gone or has another key, a transaction for each.

        An expired copy is left to DynamoDB, whose removal is archived.

        Raises:
            UnprocessedError: DynamoDB did not read all items in time.
        """
        origins = {}
        targets = {copy.target: copy for copy in self.copies}
        for image in images:
            origin = parse_origin(image) if image["type"]["S"] in targets else None
            if origin is not None and not is_expired(image, int(now.timestamp())):
                origins[get_key(image)] = (image, origin)
        if not origins:
            return []
        found = self.store.batch_get(
            {origin for _, origin in origins.values()}, consistent=True
        ).require_all()
        removals: list[list[Write]] = []
        for key, (image, origin) in origins.items():
            source = found.get(origin)
            if source is None:
                check = ConditionCheck(origin, "attribute_not_exists(PK)")
            elif self._find_key(source, image["type"]["S"]) == key:
                continue
            else:
                check = _check_unchanged(source)
            removals.append([check, remove_copy(image)])
        return removals

    def apply(self, writes: Sequence[Write]) -> bool:
        """Do a transaction; False if an item was changed meanwhile: a later pass finds it.

        Raises:
            StoreError: the table does not answer.
        """
        try:
            self.store.transact(writes)
        except (TransactionFailedError, ContendedError):
            return False
        return True

    def select_touched(self, images: Iterable[Image]) -> list[Image]:
        """The items of older generations, without copies that were read to be compared."""
        return [
            image
            for image in images
            if _get_generation(image) < self.targets.get(image["type"]["S"], 0)
        ]

    def list_companions(self, image: Image, new: Image) -> Sequence[Companion]:
        """The copy that the touch of an item writes with it, if it needs one.

        ``new``: the item after the touch.

        Raises:
            ObstacleError: the item cannot have a copy.
        """
        target = self._find_target(image)
        if target is None:
            return ()
        try:
            copy = build_copy(new, target)
        except Invalid as error:
            raise ObstacleError(f"its copy cannot be stored: {error}") from error
        if measure_image(copy) > attributes.MAX_ITEM_BYTES:
            raise ObstacleError(f"its copy is larger than {attributes.MAX_ITEM_BYTES} bytes")
        if (obstacle := find_obstacle(target.plan, copy)) is not None:
            raise ObstacleError(f"its copy cannot be derived: {obstacle}")
        return (Companion(put_copy(copy), COPY_OF),)

    def _find_target(self, image: Image) -> Generation | None:
        """The generation of the copy that the touch of an item writes; None if it writes none."""
        copy = self.ledger.copies.get(image["type"]["S"])
        if copy is None or copy.is_switched or _get_generation(image) >= copy.since:
            return None
        return self.ledger.newest_generation(copy.target)

    def _find_key(self, source: Image, entity: str) -> ItemKey | None:
        try:
            return get_key(build_copy(source, self.ledger.newest_generation(entity)))
        except Invalid:
            return None


def _get_generation(image: Image) -> int:
    return attributes.get_integer(image, "gen") or 0


def _check_unchanged(image: Image) -> ConditionCheck:
    """The condition that an item has the version, the generation and the creation as read."""
    names = ("version", "gen", "created_at")
    return ConditionCheck(
        get_key(image),
        " AND ".join(f"#{name} = :{name}" for name in names),
        {f"#{name}": name for name in names},
        {f":{name}": image[name] for name in names},
    )
