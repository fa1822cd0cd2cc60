"""The music library (seed 004), and what is downloaded from it (seed 002, aggregation)."""

from __future__ import annotations

import datetime as dt
from datetime import timedelta

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    copied,
    field,
    folded,
    month,
    ref,
    uid,
)


class Artist(Entity):
    """Somebody who makes songs and albums."""

    id: str = uid()
    name: str = field()
    career_start: int | None = None

    key = Key(id)
    search = Search(name)
    named = Listing(folded(name))


class Album(Entity):
    """An album of an artist."""

    id: str = uid()
    title: str
    artist: str = ref(Artist)
    genre: str = field()
    studio: str | None = None

    key = Key(id)
    of_artist = Listing(artist)
    of_genre = Listing(genre)


class Song(Entity):
    """A song of an artist; its album and a note are optional."""

    id: str = uid()
    title: str = field()
    artist: str = ref(Artist)
    released: int = field()
    album: str | None = None
    note: str | None = None

    key = Key(id)
    of_artist = Listing(artist)
    of_year = Listing(artist, released)
    titled = Listing(folded(title))


class Playlist(Entity):
    """A playlist; its songs are tracks."""

    id: str = uid()
    name: str

    key = Key(id)


class Track(Entity):
    """A song on a playlist."""

    playlist: str = ref(Playlist)
    song: str = ref(Song)
    note: str = ""

    key = Edge(playlist, song)


class Download(Entity):
    """One download of a song; the song's artist is copied, because an image knows only itself."""

    song: str = ref(Song)
    id: str = uid()
    at: dt.datetime = field()
    artist: str = copied(song, Song.artist)

    key = Key(song, id)
    chart = Aggregate(Count(), song, within=month(at), ranked=True, on_expiry="keep")
    artists = Aggregate(Count(), artist, within=month(at), ranked=True, on_expiry="keep")
    expires = Expires(timedelta(days=400), archive=True)


domain = Domain("music", Artist, Album, Song, Playlist, Track, Download)
domain.resource("/artists/{id}", Artist, "POST PUT GET PATCH DELETE")
domain.resource("/albums/{id}", Album, "POST PUT GET PATCH DELETE")
domain.resource("/songs/{id}", Song, "POST PUT GET PATCH DELETE")
domain.resource("/playlists/{id}", Playlist, "POST PUT GET PATCH DELETE")
domain.resource("/playlists/{playlist}/songs/{song}", Track, "PUT DELETE LIST")
domain.resource("/songs/{song}/downloads/{id}", Download, "POST GET PATCH DELETE LIST")
domain.answer("/charts/{month}", Download.chart.top)
domain.answer("/charts/{month}/{song}", Download.chart)
domain.answer("/artist-charts/{month}", Download.artists.top)
domain.answer("/artist-charts/{month}/{artist}", Download.artists)
