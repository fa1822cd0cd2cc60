"""Bookings of rooms: what is computed, what is checked, and how the status may change."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Literal

from daicho import (
    Aggregate,
    Check,
    Domain,
    Entity,
    Key,
    Listing,
    Sum,
    computed,
    field,
    month,
    uid,
)

Status = Literal["held", "confirmed", "cancelled"]


def count_nights(arrival: dt.date, departure: dt.date) -> int:
    """The nights between two days."""
    return (departure - arrival).days


def price_of(nights: int, rate: Decimal) -> Decimal:
    """The price of all nights."""
    return nights * rate


def is_after_arrival(arrival: dt.date, departure: dt.date) -> str | None:
    """None, or why these days are no stay."""
    return None if departure > arrival else "the departure is not after the arrival"


class Booking(Entity):
    """A stay in a room."""

    id: str = uid()
    room: str = field()
    status: Status = field(
        default="held",
        transitions={
            None: ("held",),
            "held": ("confirmed", "cancelled"),
            "confirmed": ("cancelled",),
        },
    )
    arrival: dt.date = field()
    departure: dt.date = field()
    rate: Decimal = field(ge=0, decimal_places=2)
    nights: int = computed(count_nights, arrival, departure)
    price: Decimal = computed(price_of, nights, rate, decimal_places=2)

    key = Key(id)
    of_room = Listing(room, order=arrival)
    revenue = Aggregate(Sum(price), within=month(arrival))
    departs_later = Check(is_after_arrival, arrival, departure)


domain = Domain("bookings", Booking)
domain.resource("/bookings/{id}", Booking, "POST PUT GET PATCH DELETE")
domain.mount("/revenue/{month}", Booking.revenue)
