"""The request and the report of a redrive: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, get_args

from daicho.redrive.claim_ids import ClaimId, render_claim
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.stream.claims import Claim
from daicho.stream.quarantine import describe_error
from daicho.stream.records import StreamRecord

Phase = Literal["claims", "discarded", "dismiss"]
Action = Literal["list", "apply", "preview", "dismiss"]
MAX_RECORDS = 200
"""Records of one call, unless its event gives a limit."""


@dataclass(frozen=True)
class RedrivePosition:
    """How far a redrive has come: behind a claim of a shard, or a record of a discarded batch.

    ``place`` is the shard's id or the `failed_batch.parse_group_name` of the batch; of a dismissal,
    what its heartbeats are named by.
    """

    phase: Phase = "claims"
    place: str = ""
    seq: str = ""

    @classmethod
    def parse(cls, cursor: str | None) -> RedrivePosition:
        """Read a cursor; None is the start.

        Raises:
            ValueError: it is no cursor of a redrive.
        """
        if cursor is None:
            return cls()
        phase, place, seq = keys.parse(cursor)
        if phase not in get_args(Phase):
            raise ValueError(f"no cursor of a redrive: {cursor!r}")
        return cls(phase, place, seq)  # type: ignore[arg-type]  # checked just now

    @property
    def cursor(self) -> str:
        """The position as text."""
        return keys.render(self.phase, self.place, self.seq)


START = RedrivePosition()


@dataclass(frozen=True)
class RedriveRequest:
    """The task of one call: list or apply at most ``limit`` records behind ``begin``.

    ``chosen``: only these records, and the older ones that they need; None stands for all. Of a
    dismissal or its preview: only the items of these records, or of those of one ``entity``, or
    this ``item``, which need not have a record.
    """

    action: Action = "list"
    limit: int = MAX_RECORDS
    begin: RedrivePosition = START
    chosen: frozenset[ClaimId] | None = None
    entity: str = ""
    item: ItemKey | None = None

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> RedriveRequest:
        """Read the event of a call.

        Raises:
            ValueError: it asks for something else.
        """
        action, limit = event.get("action", "list"), event.get("limit", MAX_RECORDS)
        if action not in get_args(Action):
            raise ValueError(f"the action is {action!r}, not one of {', '.join(get_args(Action))}")
        if not isinstance(limit, int) or limit < 1:
            raise ValueError(f"the limit is {limit!r}, not a number from 1 on")
        begin = RedrivePosition.parse(event.get("cursor"))
        entity, item = str(event.get("entity") or ""), event.get("item")
        chosen = _parse_chosen(event.get("claims"))
        return cls(action, limit, begin, chosen, entity, ItemKey(*item) if item else None)

    @property
    def target(self) -> str:
        """What is chosen, for the log of actions."""
        chosen = ", ".join(sorted(map(render_claim, self.chosen or ())))
        item = " ".join(self.item or ())
        return chosen or item or self.entity or "everything that cannot be computed"


@dataclass
class RedriveReport:
    """The result of one call.

    ``claims`` and ``discarded``: the ones that are left, each with the error that blocks it; of
    ``list``, all of them. ``uncertain``: how many applied records could not be counted, so that
    their tallies are in ``recount``. ``finished``: there is nothing behind ``cursor``. ``wait``:
    seconds until the next call can do anything. ``dismissed``: the records that were.
    ``dismissals``: the items of a dismissal. ``refused``: why it does nothing.
    """

    claims: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    discarded: dict[str, dict[str, Any]] = field(default_factory=dict)
    recount: list[dict[str, Any]] = field(default_factory=list)
    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    finished: bool = False
    cursor: str | None = None
    wait: float = 0.0
    dismissed: int = 0
    dismissals: list[dict[str, Any]] = field(default_factory=list)
    refused: str = ""

    def add_claim(
        self,
        shard: str,
        claim: Claim,
        record: StreamRecord | None,
        error: Exception | Mapping[str, Any],
    ) -> None:
        """Note a claim that waits, and why."""
        self.claims[shard, claim.seq] = {
            "shard": shard,
            "seq": claim.seq,
            "state": claim.state,
            "entity": claim.entity,
            "item": [record.key.pk, record.key.sk] if record else None,
            "error": describe_error(error) if isinstance(error, Exception) else dict(error),
            "at": keys.render_instant(claim.at),
        }

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            **vars(self),
            "claims": list(self.claims.values()),
            "discarded": list(self.discarded.values()),
            "still_failing": len(self.claims),
        }


def _parse_chosen(chosen: Any) -> frozenset[ClaimId] | None:
    """The chosen records of an event: pairs of a shard and a number."""
    if chosen is None:
        return None
    try:
        pairs = frozenset((shard, seq) for shard, seq in chosen)
    except (TypeError, ValueError):
        pairs = frozenset()
    if not pairs or not all(isinstance(part, str) and part for pair in pairs for part in pair):
        raise ValueError(f"claims are pairs of a shard and a number, not {chosen!r}")
    return pairs
