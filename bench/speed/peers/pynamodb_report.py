"""The reports of `domains.devices` as a model of PynamoDB, with the attributes that Daicho stores.

Times have PynamoDB's own form. Its partition is another one, so both kinds fit in one table.
"""

from __future__ import annotations

import datetime as dt

from pynamodb.attributes import (
    BooleanAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.models import Model

from bench.speed.invocation import ENVIRON


class PeerReport(Model):
    """A report of a device."""

    class Meta:
        """The table."""

        table_name = ENVIRON["TABLE_NAME"]
        region = "us-east-1"

    pk = UnicodeAttribute(hash_key=True, attr_name="PK")
    sk = UnicodeAttribute(range_key=True, attr_name="SK")
    device = UnicodeAttribute()
    at = UTCDateTimeAttribute()
    id = UnicodeAttribute()
    status = UnicodeAttribute()
    message = UnicodeAttribute()
    escalated_to = UnicodeAttribute(null=True)
    resolved = BooleanAttribute()
    type = UnicodeAttribute()
    version = NumberAttribute()
    gen = NumberAttribute()
    created_at = UTCDateTimeAttribute()


def build_report(tenant: str, device: str, at: dt.datetime, id: str, message: str) -> PeerReport:
    """A new report with its key, as a program would build it before it is saved."""
    return PeerReport(
        f"{tenant}#PeerReport#{device}",
        f"{at.isoformat()}#{id}",
        device=device,
        at=at,
        id=id,
        status="warning",
        message=message,
        resolved=False,
        type="Report",
        version=1,
        gen=1,
        created_at=dt.datetime.now(dt.UTC),
    )
