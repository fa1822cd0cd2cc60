"""What can go wrong, in the library's own words.

Only `daicho.storage.table` and `daicho.storage.bucket` turn AWS's errors into these; nothing above
them knows botocore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any


class DaichoError(Exception):
    """Anything that the library raises on purpose."""


class SettingsError(DaichoError):
    """Settings that are missing or wrong, all of them at once."""


class DeclarationError(TypeError):
    """A wrong declaration; the message names it. Raised at import."""


class ProjectError(DaichoError):
    """There is no project, its configuration is wrong, or a file of it belongs to another."""


class StoreError(DaichoError):
    """The table or the bucket did not do what was requested."""


class UnavailableError(StoreError):
    """No answer, or one that a later attempt may better.

    The last attempt may have been executed only if the error is an `UnansweredError`. A client that
    repeats requests (`daicho.storage.table.open_table`) may have made others, which may have been
    executed too.
    """


class UnansweredError(UnavailableError):
    """The request was sent, and no answer came or the server failed: it may have been done."""


class ThrottledError(UnavailableError):
    """Too many requests for a partition, the table or the account.

    ``reasons``: which, in DynamoDB's words (``TableWriteMaxOnDemandThroughputExceeded``); empty
    where it does not say.
    """

    def __init__(self, message: str, reasons: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)

    @property
    def is_of_keys(self) -> bool:
        """Whether writes over more partition keys may help: unless another limit was named.

        Source: ThrottlingReason, Amazon DynamoDB API Reference.
        """
        return not self.reasons or "TableWriteKeyRangeThroughputExceeded" in self.reasons


class ContendedError(UnavailableError):
    """A transaction was at one of the items at that moment: nothing was done."""


class UnprocessedError(ThrottledError):
    """A batch of which a part was left undone until the deadline."""

    def __init__(self, left: Sequence[object]) -> None:
        super().__init__(f"{len(left)} of a batch left unprocessed")
        self.left = tuple(left)


class RefusedError(StoreError):
    """A request that can never succeed: a bug here, not a failure there."""


class UnreadableError(StoreError):
    """A stored item that its entity cannot read: something else wrote it, or the class has changed.

    ``field``: the attribute at fault, if one is; ``fault``: how it is stored, and what is wrong.
    ``detail``: both, in words for a caller. ``tag``: what the ETag of the item names, if it was
    read alone; a PUT or a DELETE may require it.
    """

    tag: int | str | None = None

    def __init__(self, entity: str, fault: str, field: str = "") -> None:
        self.field, self.fault = field, fault
        self.detail = f"{'.'.join(filter(None, (entity, field)))} cannot be read: {fault}"
        super().__init__(self.detail)


class UnmigratableError(UnreadableError):
    """A stored item that a field migration cannot migrate. It stays as it is.

    The message is for the log: it has the item's whole key, and an error of the project's code.
    """

    def __init__(self, message: str) -> None:
        StoreError.__init__(self, message)
        self.field, self.fault = "", "a migration of its fields fails: see the log of the API"
        self.detail = "a migration of the item's fields fails"


class ConditionFailedError(StoreError):
    """A condition did not hold; ``item`` is the stored item, None if there is none.

    After a lost response this may be the answer to the SDK's own repeat of a write that went
    through. A caller that needs to know compares ``item`` with what it wrote.
    """

    def __init__(self, message: str, item: Mapping[str, Any] | None) -> None:
        super().__init__(message)
        self.item = item


class TransactionFailedError(ConditionFailedError):
    """Conditions of a transaction did not hold, so nothing of it was done.

    ``refused``: the stored items, None if there is none, by the place of the write in the
    transaction.
    """

    def __init__(self, message: str, refused: Mapping[int, Mapping[str, Any] | None]) -> None:
        super().__init__(message, next(iter(refused.values()), None))
        self.refused = refused


class Refusal(DaichoError):
    """What a caller asked for cannot be had, in the words of a problem document (RFC 9457).

    ``field`` names what of the request is at fault, where one thing is. ``type`` is the problem's,
    where it is another than that of its status. ``retry_after``: seconds after which a repeat may
    succeed, where that is known.
    """

    status = 400
    type = ""
    retry_after: int | None = None

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.detail, self.field = detail, field

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase


class BadCursor(Refusal):
    """A cursor of another question or tenant, or none that was ever given."""

    type = "bad-cursor"

    def __init__(self) -> None:
        super().__init__(
            "this cursor belongs to no page of this list: begin without one", field="cursor"
        )


class Forbidden(Refusal):
    """The caller may not do this, and may know that what it asked for exists."""

    status = 403


class NotFound(Refusal):
    """No such item, or it has expired."""

    status = 404


class Conflict(Refusal):
    """The stored state does not allow the request."""

    status = 409


class Raced(Conflict):
    """Others changed one of the items at the same time: nothing was done, so it can be repeated."""

    type = "raced"
    retry_after = 1

    def __init__(self, detail: str = "others were faster, again and again; try again") -> None:
        super().__init__(detail)


class NotUnique(Conflict):
    """Another item has the value already. ``field``: the first of the fields that are unique."""

    type = "not-unique"


class Referred(Conflict):
    """Another item refers to the item, which is not deleted as long as it does."""

    type = "referred"


class ForbiddenTransition(Conflict):
    """The state field ``field`` may not change from its state to the new one."""

    type = "forbidden-transition"


class ForbiddenChange(Conflict):
    """A rule does not let the stored item change so, or be deleted."""

    type = "forbidden-change"


class TenantClosed(Refusal):
    """The tenant is closed for good: everything of it is being deleted, or is."""

    status = 410


class PreconditionFailed(Refusal):
    """The item is not of the version that the caller knows."""

    status = 412


class Invalid(Refusal):
    """A value that its declaration, or DynamoDB, has no place for."""

    status = 422


class ExceedsBounds(Invalid):
    """The request would take more than one request may (`daicho.runtime.bounds.RequestBounds`).

    ``limit``: the name of the bound.
    """

    type = "exceeds-bounds"

    def __init__(self, detail: str, limit: str, most: int, field: str | None = None) -> None:
        super().__init__(f"{detail}; the limit {limit} is {most:,}", field=field)


class OverQuota(Refusal):
    """The tenant is over its limit of this name (`daicho.runtime.tenant_limits.Limits`)."""

    status = 429
    type = "over-quota"

    def __init__(self, detail: str, limit: str, seconds: int) -> None:
        super().__init__(detail, field=limit)
        self.retry_after = seconds


class CheckFailed(Invalid):
    """Rules over several fields do not hold; ``failures`` has each field and the message."""

    def __init__(self, detail: str, failures: Sequence[tuple[str, str]]) -> None:
        super().__init__(detail, field=", ".join(dict.fromkeys(name for name, _ in failures)))
        self.failures = tuple(failures)


class KeyReused(Invalid):
    """Another request was made with the same Idempotency-Key."""

    type = "idempotency-key-reused"


class ReferenceNotFound(Invalid):
    """``field`` refers to an item that does not exist."""

    type = "reference-not-found"


class Unfinished(Refusal):
    """A part of what was requested is done, and a repeat of the request does more of it.

    ``item``: the image of the item that is to be deleted.
    """

    status = 409
    type = "unfinished"
    retry_after = 10

    def __init__(self, detail: str, item: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.item = item


class BeingBuilt(Refusal):
    """What would answer does not include all items yet: its declaration is new or changed."""

    status = 503
    type = "being-built"
    retry_after = 60


def refuse(status: int, detail: str, *, field: str | None = None) -> Refusal:
    """Make what a domain's function raises.

    ``raise refuse(422, "no such candidate", field="candidate")``
    """
    refusal = Refusal(detail, field=field)
    refusal.status = status
    return refusal
