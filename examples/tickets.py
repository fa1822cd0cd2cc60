"""Tickets of a help desk: found by title, queued by team, their effort by team and month."""

# ruff: noqa: I001  # the names of the library, in few lines
from __future__ import annotations

import datetime as dt
from typing import Literal

from daicho import (
    Aggregate, Count, Domain, Entity, Key, Listing, Max, Mean, Percentiles, Search, Sum,
    field, linear, month, one_of, uid,
)  # fmt: skip


class Ticket(Entity):
    """Something that a team is asked to do."""

    id: str = uid()
    title: str = field()
    team: str = field(min_length=1)
    state: Literal["open", "done"] = field(default="open")
    opened: dt.date = field()
    minutes: int = field(default=0, ge=0)
    note: str | None = None

    key = Key(id)
    search = Search(title)
    queue = Listing(team, where=one_of(state, "open"))
    effort = Aggregate(Sum(minutes), team, within=month(opened), ranked=True)
    times = Aggregate(
        (Count(), Mean(minutes), Max(minutes), Percentiles(minutes, linear(0, 480, 30))), team
    )


domain = Domain("tickets", Ticket)
domain.resource("/tickets/{id}", Ticket, "POST PUT GET PATCH DELETE")
domain.mount("/effort/{month}", Ticket.effort.top)
domain.mount("/times/{team}", Ticket.times)
