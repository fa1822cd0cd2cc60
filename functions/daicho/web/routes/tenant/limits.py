"""The route that shows a tenant its limits, and what it has consumed."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field

from daicho.errors import NotFound
from daicho.web.http.operation import Call, Operation, QueryVariant, Reply

if TYPE_CHECKING:
    from daicho.web.routes.tenant.session import TenantSession


class LimitView(BaseModel):
    """One limit."""

    per_second: int
    available: int = Field(description="What the tenant may consume at once now.")


class ItemsView(BaseModel):
    """The limit of items."""

    most: int = Field(description="The most items that the tenant may have.")
    stored: int = Field(description="As its figures count them, after the last rollup.")


class ConsumedView(BaseModel):
    """What the tenant has consumed on a day, in UTC."""

    day: dt.date
    requests: int
    read_units: float
    write_units: float = Field(description="With an estimate of what derives from the writes.")
    bytes: int = Field(description="Of the bodies of requests and answers.")
    refused: int = Field(description="Requests over the limits. They are not in `requests`.")


class LimitsView(BaseModel):
    """The limits of a tenant. What was consumed in the last seconds may be missing."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "burst_seconds": 10,
                    "requests": {"per_second": 250, "available": 2_480},
                    "read_units": {"per_second": 10_000, "available": 99_990},
                    "write_units": {"per_second": 10_000, "available": 99_120},
                    "items": {"most": 100_000_000, "stored": 48_210},
                    "today": {
                        "day": "2026-11-30",
                        "requests": 10_412,
                        "read_units": 20_816.5,
                        "write_units": 96_204.0,
                        "bytes": 31_204_118,
                        "refused": 0,
                    },
                }
            ]
        }
    )

    burst_seconds: int = Field(
        description="The tenant may consume at once what it may consume in so many seconds."
    )
    requests: LimitView
    read_units: LimitView
    write_units: LimitView
    items: ItemsView
    today: ConsumedView


def build_limits_operation(tag: str) -> Operation:
    """The route for everybody of the tenant."""
    summary = "Show the limits of the tenant, and what it has consumed today"
    shown = QueryVariant("Limits.GET", summary, _show, LimitsView)
    return Operation("GET", "/limits", tag, [shown])


def _show(call: Call) -> Reply:
    session = cast("TenantSession", call.book)
    quotas = session.tenants.quotas
    if quotas is None:
        raise NotFound("this stack has no limits of tenants")
    account, available, day, usage = quotas.read(session.tenant)
    limits, (requests, reads, writes) = account.limits, available
    view = LimitsView(
        burst_seconds=limits.burst_seconds,
        requests=LimitView(per_second=limits.requests, available=requests),
        read_units=LimitView(per_second=limits.read_units, available=reads),
        write_units=LimitView(per_second=limits.write_units, available=writes),
        items=ItemsView(most=limits.items, stored=account.items),
        today=ConsumedView(
            day=dt.date.fromisoformat(day),
            requests=usage.requests,
            read_units=usage.read_units,
            write_units=usage.write_units,
            bytes=usage.bytes,
            refused=usage.refused,
        ),
    )
    return Reply(200, view.model_dump_json())
