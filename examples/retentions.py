"""Items that expire by a rule: by a field, by their last change, under a condition."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from daicho import Domain, Entity, Expires, Key, changed_at, field, one_of, uid


class Invoice(Entity):
    id: str = uid()
    status: Literal["open", "paid", "void"] = field(default="open")
    due: dt.date = field()

    key = Key(id)
    expires = Expires(dt.timedelta(days=30), of=changed_at, where=one_of(status, "void"))


class Reservation(Entity):
    id: str = uid()
    begins: dt.datetime | None = field(default=None)

    key = Key(id)
    expires = Expires(dt.timedelta(hours=-1), of=begins)


domain = Domain("retentions", Invoice, Reservation)
