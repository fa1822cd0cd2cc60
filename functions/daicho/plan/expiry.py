"""When the items of an entity expire, as plain data."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan.parts import Condition
from daicho.runtime.frozen_dataclasses import dataclass

CREATED_AT = "created_at"
"""The attribute of every item that holds the time of its creation."""
CHANGED_AT = "_changed_at"
"""The attribute of an item that holds the time of its last change, if its expiry counts from it."""


@dataclass(frozen=True)
class ExpiryPlan:
    """Items expire so many ``seconds`` after the instant or day in the attribute ``of``.

    ``archive``: whether what expires is archived. ``where``: only items that meet it expire.
    """

    seconds: int
    archive: bool
    of: str = CREATED_AT
    where: Condition | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether no change of an item changes its expiry."""
        return self.of == CREATED_AT and self.where is None

    @property
    def counts_from_change(self) -> bool:
        """Whether it counts from the last change of an item."""
        return self.of == CHANGED_AT

    @property
    def fields(self) -> frozenset[str]:
        """The fields of the entity that it reads."""
        names = {self.of} - {CREATED_AT, CHANGED_AT}
        return frozenset(names if self.where is None else {*names, self.where.field})


def is_same_retention(one: ExpiryPlan | None, other: ExpiryPlan | None) -> bool:
    """Whether two generations of an entity give every item the same expiry, or none."""
    if one is None or other is None:
        return one is other
    return replace(one, archive=other.archive) == other


def is_kept_as_long(by: ExpiryPlan | None, than: ExpiryPlan | None) -> bool:
    """Whether no item expires earlier ``by`` a plan than by another one; None never expires."""
    if by is None:
        return True
    if than is None or by.of != than.of or by.seconds < than.seconds:
        return False
    if than.where is None or by.where == than.where:
        return True
    if by.where is None or by.where.field != than.where.field:
        return False
    return set(by.where.one_of) <= set(than.where.one_of)
