"""Resources with a search and listings, a copied field, and a ranking of what expires."""

from __future__ import annotations

import datetime as dt

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    copied,
    field,
    folded,
    month,
    now,
    ref,
    uid,
)


class Artist(Entity):
    """It is found by the beginning of its name."""

    id: str = uid()
    name: str = field()
    career_start: int | None = None

    key = Key(id)
    search = Search(name)


class Song(Entity):
    """It is listed by its artist, by artist and year, and by its title."""

    id: str = uid()
    title: str = field(min_length=1)
    artist: str = ref(Artist)
    released: int = field(ge=0, le=9999)

    key = Key(id)
    of_artist = Listing(artist)
    of_year = Listing(artist, released)
    titled = Listing(folded(title))


class Download(Entity):
    """It has a copy of the song's artist, and stays counted when it expires."""

    song: str = ref(Song)
    id: str = uid()
    at: dt.datetime = field(factory=now)
    artist: str = copied(song, Song.artist)

    key = Key(song, id)
    chart = Aggregate(Count(), song, within=month(at), ranked=True, on_expiry="keep")
    artists = Aggregate(Count(), artist, within=month(at), ranked=True, on_expiry="keep")
    expires = Expires(dt.timedelta(days=400), archive=True)


domain = Domain("music", Artist, Song, Download, examples={
    "artist": "david-bowie", "name": "David Bowie", "released": 1977, "song": "heroes",
    "title": "Heroes",
})  # fmt: skip
domain.resource("/artists/{id}", Artist, "POST PUT GET PATCH DELETE")
domain.resource("/songs/{id}", Song, "POST PUT GET PATCH DELETE")
domain.resource("/songs/{song}/downloads/{id}", Download, "POST GET PATCH DELETE LIST")
domain.mount("/charts/{month}", Download.chart.top)
domain.mount("/charts/{month}/{song}", Download.chart)
domain.mount("/artist-charts/{month}", Download.artists.top)
domain.mount("/artist-charts/{month}/{artist}", Download.artists)
