"""The record of a deletion of an item with what refers to it, which takes more than a request.

The API reads and writes it without loading what deletes (`daicho.book.cascade_worker`).
"""

from __future__ import annotations

from typing import ClassVar

from daicho.jobs.state_machine import CASCADE_PREFIX
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.tenants.tenant_job import TenantJob


@dataclass(kw_only=True)
class CascadeJob(TenantJob):
    """The deletion of one item with what refers to it.

    ``key``: partition key and sort key of the item, of ``entity``. ``created_at``: when it was
    created. ``deleted``: the items that refer to it, without those of steps that were killed.
    """

    KIND_VALUE: ClassVar = "cascade"
    PREFIX: ClassVar = CASCADE_PREFIX
    entity: str
    key: list[str]
    created_at: str
    deleted: int = 0

    @property
    def more_attributes(self) -> Image:
        """See the base class. Code without this kind takes it for a restore, which has a range."""
        dated = attributes.to_image(dict.fromkeys(("since", "until"), self.asked_at))
        return {**super().more_attributes, **dated}
