"""Findings of a verification: their kinds, and how they are stored.

The item of the job has the first `MAX_NAMED` findings. All of them are in the failure bucket, as
JSON, one a line, and expire with it::

    verify/<run>/findings-<a unique name>.ndjson

After a step was killed, some lines may be there twice: `FindingStore.read` leaves repeats out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, Self

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket

PREFIX = "verify/"
"""How the names of the objects of verifications begin in the failure bucket."""
FINDINGS, SUSPECTS = "findings", "suspects"
"""What an object of a verification has."""
NDJSON = "application/x-ndjson"
MAX_NAMED = 100
"""Findings in the item of the job."""
MAX_TEXT = 400
"""Characters of what a finding expected and found."""

Verdict = Literal["damage", "undecided"]


class Kind(StrEnum):
    """A kind of damage; the value is what people see."""

    ROW_MISSING = "row missing"
    ROW_WITHOUT_ITEM = "row without item"
    ROW_NOT_DERIVED = "row that the item does not derive"
    WRONG_LIST = "row in a wrong list"
    WRONG_ORDER = "row in a wrong order"
    WRONG_COPY = "row with a wrong copy"
    ROW_NUMBER = "row with a wrong number"
    ROW_STATE = "row with a wrong expiry"
    UNKNOWN_INSTANCE = "row of an unknown instance"
    TALLY = "tally with a wrong sum"
    SLOT_NUMBER = "slot with a wrong number"
    TOTAL = "total that differs from its slots"
    TALLY_WITHOUT_ITEMS = "tally without items"
    RANKING = "ranking entry wrong"
    WRONG_KEY = "item at a wrong key"
    WRONG_EDGE = "edge with a wrong far end"
    WRONG_ATTRIBUTES = "item without type, version or generation"
    VERSION = "version missing"
    SECTION = "section missing or left over"
    PAYLOAD = "claim without its record"
    RESERVATION = "reservation missing or left over"
    ARCHIVE = "archive damaged"
    UNREADABLE = "item that cannot be read"
    OPEN_CLAIM = "record set aside"
    SUMS = "sums of tallies"


@dataclass(frozen=True)
class Finding:
    """One finding.

    ``key``: the partition key and the sort key of the item; of an archive, the name of the object
    and "". ``expected`` and ``found`` are texts for people. ``repaired``: whether this run has
    repaired it. ``decision``: what somebody has to decide or do, if no command can determine the
    right value.
    """

    kind: Kind
    tenant: str
    key: ItemKey
    expected: str
    found: str
    verdict: Verdict = "damage"
    decision: str = ""
    repaired: bool = False

    @property
    def identity(self) -> tuple[str, ItemKey]:
        """What no two findings of a run have in common."""
        return self.kind, self.key

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        texts = {"expected": self.expected[:MAX_TEXT], "found": self.found[:MAX_TEXT]}
        return {**vars(self), "kind": str(self.kind), "key": list(self.key), **texts}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        return cls(**{**data, "kind": Kind(data["kind"]), "key": ItemKey(*data["key"])})


@dataclass(frozen=True)
class FindingStore:
    """The objects of one run. ``bucket``: the failure bucket."""

    bucket: Bucket
    run: str

    def write(self, what: str, unique: str, lines: Iterable[Mapping[str, Any]]) -> str:
        """Create an object with a line for each; returns its name.

        ``what``: `FINDINGS` or `SUSPECTS`. ``unique``: no other object of the run has it.

        Raises:
            UnavailableError: it is unknown whether the object exists.
        """
        name = f"{PREFIX}{self.run}/{what}-{unique}.ndjson"
        body = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        self.bucket.create(name, body.encode(), {}, NDJSON)
        return name

    def read_lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The lines of an object; none if it has expired."""
        for line in (self.bucket.read(name) or b"").splitlines():
            yield json.loads(line)

    def read(self) -> Iterator[Finding]:
        """All findings of the run, each once.

        Raises:
            UnavailableError: the bucket does not answer.
        """
        seen: set[tuple[str, ItemKey]] = set()
        for name in self.bucket.list_names(f"{PREFIX}{self.run}/{FINDINGS}-"):
            for line in self.read_lines(name):
                finding = Finding.from_json(line)
                if finding.identity not in seen:
                    seen.add(finding.identity)
                    yield finding
