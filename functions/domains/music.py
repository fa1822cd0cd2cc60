"""The music library (seed 004): adjacency lists, read from both ends."""

from __future__ import annotations

from daicho import (
    Book,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Page,
    Search,
    field,
    folded,
    ref,
    refuse,
    uid,
)


class Artist(Entity):
    """A person or band that makes songs and albums."""

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
    genre: str = field(min_length=1)
    studio: str | None = None

    key = Key(id)
    of_artist = Listing(artist)
    of_genre = Listing(genre)


class Song(Entity):
    """A song of an artist; its album and a note are optional."""

    id: str = uid()
    title: str = field(min_length=1)
    artist: str = ref(Artist)
    released: int = field(ge=0, le=9999)
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


domain = Domain("music", Artist, Album, Song, Playlist, Track, examples={
    "album": "heroes-album", "artist": "david-bowie", "career_start": 1962, "genre": "Rock",
    "id": "heroes", "name": "David Bowie", "note": "Remastered", "playlist": "road-trip",
    "released": 1977, "song": "heroes", "studio": "Hansa", "title": "Heroes",
})  # fmt: skip
domain.resource("/artists/{id}", Artist, "POST PUT GET PATCH DELETE")
domain.resource("/albums/{id}", Album, "POST PUT GET PATCH DELETE")
domain.resource("/songs/{id}", Song, "POST PUT GET PATCH DELETE")
domain.resource("/playlists/{id}", Playlist, "POST PUT GET PATCH DELETE")
domain.resource("/playlists/{playlist}/songs/{song}", Track, "PUT GET DELETE LIST")


@domain.route("GET", "/songs?artist=&released=")
def songs_of_year(
    book: Book, artist: str, released: int, limit: int, cursor: str | None
) -> Page[Song]:
    """List the songs of the artists with a name, released in a year."""
    lists = [Song.of_year(id, released) for id in _called(book, artist)]
    return book.page(*lists, limit=limit, cursor=cursor) if lists else Page([], None)


@domain.route("GET", "/songs?artist=")
def songs_of_artist(book: Book, artist: str, limit: int, cursor: str | None) -> Page[Song]:
    """List the songs of the artists with a name."""
    lists = [Song.of_artist(id) for id in _called(book, artist)]
    return book.page(*lists, limit=limit, cursor=cursor) if lists else Page([], None)


def _called(book: Book, name: str) -> list[str]:
    """Ids of the artists of a name: names are not unique, and change."""
    page = book.page(Artist.named(name))
    if page.cursor:
        raise refuse(422, "too many artists are called so; ask by id", field="artist")
    return [artist.id for artist in page.items]
