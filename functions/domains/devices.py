"""Devices (seed 003): what they report, and of that the little that a technician must see to."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, field, now, one_of, uid


class Report(Entity):
    """A report of a device. Only escalated reports are in a listing."""

    device: str = field(max_length=200)
    at: dt.datetime = field(factory=now)
    id: str = uid()
    status: Literal["ok", "warning", "failure"] = "ok"
    message: str = field(default="", max_length=2_000)
    escalated_to: str | None = field(default=None, min_length=1, max_length=200)
    resolved: bool = field(default=False)

    key = Key(device, at, id)
    escalated = Listing(escalated_to, order=at, where=one_of(resolved, False))
    per_device = Aggregate(Count(), device, ranked=True)


domain = Domain("devices", Report, examples={
    "device": "pump-7", "escalated_to": "sato", "message": "Pressure is falling", "minutes": 60,
})  # fmt: skip
domain.resource("/devices/{device}/reports/{id}", Report, "POST GET PATCH DELETE")
domain.mount("/devices", Report.per_device.top)
domain.mount("/devices/{device}/reports", Report.key.all, window="minutes")
domain.mount("/escalations/{escalated_to}", Report.escalated, window="minutes")
