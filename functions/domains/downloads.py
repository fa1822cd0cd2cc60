"""Downloads of songs: the charts of a month (seed 002, aggregation), and series by hour and day."""

from __future__ import annotations

import datetime as dt

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    copied,
    field,
    hour,
    month,
    now,
    ref,
    uid,
)
from domains.music import Song

EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
LATEST = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


class Download(Entity):
    """One download of a song. It has a copy of the song's artist."""

    song: str = ref(Song)
    id: str = uid()
    at: dt.datetime = field(factory=now, ge=EARLIEST, lt=LATEST)
    artist: str = copied(song, Song.artist)

    key = Key(song, id)
    chart = Aggregate(Count(), song, within=month(at), ranked=True, on_expiry="keep")
    artists = Aggregate(Count(), artist, within=month(at), ranked=True, on_expiry="keep")
    by_hour = Aggregate(Count(), song, series=hour(at, zone="Asia/Tokyo"), on_expiry="keep")
    expires = Expires(dt.timedelta(days=400), archive=True)


domain = Domain("downloads", Download, examples={
    "artist": "david-bowie", "song": "heroes", "version": 1,
})  # fmt: skip
domain.resource("/songs/{song}/downloads/{id}", Download, "POST GET PATCH DELETE LIST")
domain.mount("/charts/{month}", Download.chart.top)
domain.mount("/charts/{month}/{song}", Download.chart)
domain.mount("/songs/{song}/download-series", Download.by_hour)
domain.mount("/artist-charts/{month}", Download.artists.top)
domain.mount("/artist-charts/{month}/{artist}", Download.artists)
