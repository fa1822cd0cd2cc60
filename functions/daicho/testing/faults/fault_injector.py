"""The faults of single operations on a store, and how likely each is in a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from botocore.exceptions import ClientError
from greenlet import greenlet

from daicho.testing.choices import Choices, build_scale


class OperationKind(Enum):
    """What an operation is, as far as faults distinguish operations."""

    READ = "read"
    QUERY = "query"
    WRITE = "write"
    BATCH = "batch"
    STATEMENTS = "statements"
    TRANSACTION = "transaction"
    OBJECT_READ = "object read"
    OBJECT_WRITE = "object write"
    MESSAGES = "messages"


ALL_OPERATIONS = tuple(OperationKind)
OBJECT_OPERATIONS = (OperationKind.OBJECT_READ, OperationKind.OBJECT_WRITE)
TABLE_OPERATIONS = tuple(
    kind for kind in ALL_OPERATIONS if kind not in (*OBJECT_OPERATIONS, OperationKind.MESSAGES)
)
WRITES = (
    OperationKind.WRITE,
    OperationKind.BATCH,
    OperationKind.STATEMENTS,
    OperationKind.TRANSACTION,
    OperationKind.OBJECT_WRITE,
    OperationKind.MESSAGES,
)
OPERATION_FAULTS: Mapping[str, tuple[OperationKind, ...]] = {
    "throttled table": TABLE_OPERATIONS,
    "throttled key": TABLE_OPERATIONS,
    "server error": ALL_OPERATIONS,
    "crash before": ALL_OPERATIONS,
    "crash after": WRITES,
    "lost response": WRITES,
    "repeated request": WRITES,
    "conflict": (OperationKind.WRITE, OperationKind.TRANSACTION, OperationKind.OBJECT_WRITE),
    "unprocessed": (OperationKind.BATCH, OperationKind.STATEMENTS, OperationKind.MESSAGES),
    "short page": (OperationKind.QUERY,),
    "slow": ALL_OPERATIONS,
    "late landing": (
        *(OperationKind.WRITE, OperationKind.STATEMENTS),
        *(OperationKind.OBJECT_WRITE, OperationKind.MESSAGES),
    ),
}
"""The faults of one operation, and the kinds of operations that each can occur in."""
_NAMES = ("", *OPERATION_FAULTS)


@dataclass
class FaultInjector:
    """Draws faults, and remembers throttling and delayed requests.

    ``weights``: the weight of each fault, where 1 is the weight of no fault. ``throttled_requests``
    and ``throttled_keys``: the number of further requests that are throttled, of all and by
    partition key. ``late_requests``: requests whose sender no longer waits for them.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    throttled_requests: int = 0
    throttled_keys: dict[str, int] = field(default_factory=dict)
    late_requests: list[Callable[[], Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._scales = {kind: self._build_scale(kind) for kind in OperationKind if self.weights}

    def draw_fault(self, kind: OperationKind, choices: Choices) -> str:
        """The fault of an operation; empty for none."""
        if not self._scales:
            return ""
        # Also where no fault is possible: a simpler schedule has the same choices in their places.
        return _NAMES[choices.draw_weighted(self._scales[kind], _NAMES)]

    def throttle(self, key: str) -> bool:
        """Whether throttling that began earlier rejects this request. ``key``: partition key."""
        if self.throttled_requests:
            self.throttled_requests -= 1
            return True
        return self.throttle_key(key)

    def throttle_key(self, key: str) -> bool:
        """Whether throttling of a partition key rejects a request, or a statement of it."""
        if self.throttled_keys.get(key):
            self.throttled_keys[key] -= 1
            return True
        return False

    def land_late_requests(self, choices: Choices | None = None) -> None:
        """Carry out late requests: some that ``choices`` draws, or all that are left."""
        while self.late_requests:
            if choices is not None and not choices.draw_bool(0.15):
                return
            position = choices.draw_number(len(self.late_requests)) if choices else 0
            late_request = self.late_requests.pop(position)
            with suppress(ClientError):
                greenlet(late_request).switch()  # of no process that runs now

    def _build_scale(self, kind: OperationKind) -> tuple[float, ...]:
        weights = [
            self.weights.get(name, 0.0) * (kind in kinds)
            for name, kinds in OPERATION_FAULTS.items()
        ]
        return build_scale((1.0, *weights))
