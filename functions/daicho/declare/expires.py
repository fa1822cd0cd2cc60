"""``Expires``: the declaration that items live for a while."""

from __future__ import annotations

import datetime as dt
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec, changed_at, created_at
from daicho.declare.parts import get_spec, read_condition
from daicho.errors import DeclarationError
from daicho.plan import Condition, ExpiryPlan
from daicho.plan.expiry import CHANGED_AT

INSTANT_KINDS = ("date", "datetime")
"""The kinds of fields that an expiry may count from."""


class Expires(Declaration):
    """Items expire some time ``after`` an instant; DynamoDB deletes them by TTL.

    Args:
        after: the time from the instant to the expiry. Negative only with a field.
        archive: each expired item is stored in S3 when DynamoDB deletes it.
        of: what it counts from: `created_at`, `changed_at`, or a field that is a day or an instant.
            A day begins at 00:00 UTC. An item without a value does not expire.
        where: only items that meet this condition expire: ``one_of(status, "void")``.

    Source: time to live, and for archival, "Data modeling building blocks in DynamoDB", Amazon
    DynamoDB Developer Guide.
    """

    duplicate_error = "expires twice"

    def __init__(
        self,
        after: dt.timedelta,
        archive: bool = False,
        *,
        of: Any = created_at,
        where: Any = True,
    ) -> None:
        if not isinstance(after, dt.timedelta):
            raise DeclarationError(
                f"Expires takes a timedelta, not {after!r}: Expires(timedelta(days=30))"
            )
        self.after, self.archive = after, archive
        self.of = get_spec(of)
        self.where = read_condition(where)

    @property
    def field(self) -> FieldSpec | None:
        """The field that it counts from; None for the creation or the last change."""
        return None if self.of is created_at or self.of is changed_at else self.of

    def compile_plan(self, field: str | None, where: Condition | None) -> ExpiryPlan:
        """The plan. ``field``: the name of the checked field that it counts from, if it does.

        Raises:
            DeclarationError: items would expire at once.
        """
        seconds = int(self.after.total_seconds())
        if seconds < 1 and field is None:
            raise DeclarationError(
                f"{self} needs a duration of at least one second after {self.of.name}; a negative "
                "one needs a field: of=due"
            )
        of = CHANGED_AT if self.of is changed_at else field
        return ExpiryPlan(seconds, self.archive, where=where, **({} if of is None else {"of": of}))
