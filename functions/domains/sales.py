"""Sales of songs, and the money that they brought in: by day, month, genre and song."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Max,
    Mean,
    Min,
    Percentiles,
    Sum,
    copied,
    day,
    explicit,
    field,
    month,
    now,
    ref,
    uid,
)
from domains.music import Song

EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
LATEST = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


class Product(Entity):
    """A song for sale, with its genre and its current price."""

    song: str = ref(Song)
    genre: str = field(min_length=1, max_length=200)
    price: Decimal = field(ge=0, max_digits=12, decimal_places=2)

    key = Key(song)


class Sale(Entity):
    """One sale. Genre and price are copied, so later changes of the product do not affect it."""

    id: str = uid()
    song: str = ref(Product)
    at: dt.datetime = field(factory=now, ge=EARLIEST, lt=LATEST)
    genre: str = copied(song, Product.genre)
    price: Decimal = copied(song, Product.price)

    key = Key(id)
    of_song = Listing(song)
    revenue = Aggregate(Sum(price), month(at))
    songs = Aggregate(Sum(price), song, within=month(at), ranked=True)
    genres = Aggregate(Sum(price), genre, within=month(at), ranked=True)
    genres_ever = Aggregate(Sum(price), genre, ranked=True)
    prices = Aggregate(
        (
            Count(),
            Mean(price),
            Min(price),
            Max(price),
            Percentiles(price, explicit("0.5", 1, "1.5", 2, 5, 10, 20)),
        ),
        genre,
    )
    by_day = Aggregate((Sum(price), Mean(price)), series=day(at, zone="Asia/Tokyo"))


domain = Domain("sales", Product, Sale, examples={
    "genre": "Rock", "price": "0.99", "song": "heroes", "total": "41.58",
})  # fmt: skip
domain.resource("/products/{song}", Product, "PUT GET PATCH DELETE")
domain.resource("/sales/{id}", Sale, "POST GET PATCH DELETE")
domain.mount("/revenue/{month}", Sale.revenue)
domain.mount("/revenue/{month}/songs", Sale.songs.top)
domain.mount("/revenue/{month}/songs/{song}", Sale.songs)
domain.mount("/revenue/{month}/genres", Sale.genres.top)
domain.mount("/revenue/{month}/genres", Sale.genres)  # ?genre=, for there is R&B/Soul
domain.mount("/genre-revenue", Sale.genres_ever.top)
domain.mount("/genre-revenue", Sale.genres_ever)
domain.mount("/genre-prices", Sale.prices)
domain.mount("/daily-revenue", Sale.by_day)
