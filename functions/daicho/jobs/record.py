"""The record of a job: an item of the table with what is to be done, and how far it has come.

Each kind of job has a class for its record, and a key for it. Values that are empty are not stored.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import to_key_image

State = Literal["running", "succeeded", "failed"]
JOB_ID = re.compile("[0-9A-Z]{26}")
"""The id of a job that people ask for is a ULID. Other texts have no job, and some of them cannot
be a key."""
RETENTION = dt.timedelta(days=90)
"""How long the record of a restore or a redrive is kept after the request."""
_EMPTY = ("", None)


@dataclass(kw_only=True)
class JobRecord:
    """The record of a job of any kind.

    ``updated_at``, ``finished_at``: when it was last saved, and when it ended. ``rev``: the number
    of its saves (`daicho.jobs.lease`).
    """

    STORED_NAMES: ClassVar[Mapping[str, str]] = {}
    """Attributes of the item that have another name than the field, by the name of the field."""
    id: str
    state: State = "running"
    updated_at: str = ""
    finished_at: str = ""
    rev: int = 0

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        raise NotImplementedError

    @property
    def more_attributes(self) -> Image:
        """Attributes of the item that are no field of the record."""
        return {}

    def to_image(self) -> Image:
        """The item."""
        values = {
            self.STORED_NAMES.get(name, name): value
            for name, value in vars(self).items()
            if value not in _EMPTY
        }
        key = to_key_image(self.item_key)
        return {**key, **attributes.to_image(values), **self.more_attributes}

    @classmethod
    def from_image(cls, image: Image) -> Self:
        """Read an item, or the part of it that a list has."""
        stored = attributes.from_image(image)
        names = [each.name for each in dataclasses.fields(cls)]
        values = {
            name: _read_numbers(stored[stored_name])
            for name in names
            if (stored_name := cls.STORED_NAMES.get(name, name)) in stored
        }
        # A token need not name its user.
        return cls(**({"asked_by": ""} if "asked_by" in names else {}) | values)


@dataclass(kw_only=True)
class PassRecord(JobRecord):
    """The record of a job that scans the table in passes, until one of them finds nothing.

    ``passes``: the number of the pass; ``finding_pass``: the last one that found anything.
    ``began``: when the pass began. ``waits``: when the next step may begin. ``segments``: the
    position of the scan. ``counts``: of all passes.
    """

    passes: int = 1
    finding_pass: int = 0
    began: str = ""
    waits: str = ""
    segments: dict[str, Any] | None = None
    counts: dict[str, float] = field(default_factory=dict)

    def add_counts(self, **more: float) -> None:
        """Add to the counts."""
        for name, number in more.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def compute_wait(self, now: dt.datetime) -> int:
        """The whole seconds until the job may continue."""
        if not self.waits:
            return 0
        return max(0, math.ceil((dt.datetime.fromisoformat(self.waits) - now).total_seconds()))


def build_expiry(asked_at: str) -> Image:
    """The attribute by which DynamoDB removes the item of a job that was requested then."""
    expires = dt.datetime.fromisoformat(asked_at) + RETENTION
    return attributes.to_image({"ttl": int(expires.timestamp())})


def _read_numbers(value: Any) -> Any:
    """Numbers with a fraction as floats, also in counts by name."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _read_numbers(each) for name, each in value.items()}
    return value
