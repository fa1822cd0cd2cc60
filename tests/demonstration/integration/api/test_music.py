"""The music library over the real handlers: each route, and the seed's four questions."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.query.related_search import RelatedSearch
from domains.music import Artist, Song, Track
from tests.support.api_client import Client, segment
from tests.support.deployment import Served

ARTISTS = {"1": "David Bowie", "2": "Bryan Adams", "3": "Steely Dan"}
SONGS = {
    "ziggy": ("Ziggy Stardust", "1", 1972),
    "changes": ("Changes", "1", 1971),
    "sons": ("Sons of the Silent Age", "1", 1977),
    "heroes": ("Heroes", "1", 1977),
    "cloud": ("Cloud Number Nine", "2", 1988),
    "69": ("Summer of '69", "2", 1984),
    "reelin": ("Reelin' in the Years", "3", 1972),
}
ALBUMS = {"a1": ("Hunky Dory", "1", "Rock"), "a2": ("Aja", "3", "Soft Rock")}


@pytest.fixture(scope="module", autouse=True)
def seed(served: Served, acme: Client, globex: Client) -> None:
    for id, name in ARTISTS.items():
        acme.good("PUT", f"/artists/{id}", {"name": name})
    for id, (title, artist, genre) in ALBUMS.items():
        acme.good("PUT", f"/albums/{id}", {"title": title, "artist": artist, "genre": genre})
    for id, (title, artist, year) in SONGS.items():
        acme.good("PUT", f"/songs/{id}", {"title": title, "artist": artist, "released": year})
    for playlist, songs in {"p1": ["ziggy", "heroes"], "p2": ["heroes"]}.items():
        acme.good("PUT", f"/playlists/{playlist}", {"name": playlist})
        for song in songs:
            acme.good("PUT", f"/playlists/{playlist}/songs/{song}", {"note": f"{song}!"})
    globex.good("PUT", "/artists/1", {"name": "David Bowie"})
    globex.good("PUT", "/songs/theirs", {"title": "Heroes", "artist": "1", "released": 1977})
    served.catch_up()


def ids(items: list[dict[str, Any]]) -> set[str]:
    return {item["id"] for item in items}


def test_an_artist_is_shown_as_it_was_put(acme: Client) -> None:
    answer = acme("GET", "/artists/1")
    assert answer.status == 200
    assert answer.headers["ETag"] == '"1"'
    shown = answer.json
    assert shown.pop("created_at").endswith("Z")
    assert shown == {"id": "1", "name": "David Bowie", "career_start": None, "version": 1}


@pytest.mark.parametrize("asked", ["Dav", "bowie", "BOW", "davidbow", "bowie david"])
def test_artists_by_the_beginning_of_a_name(acme: Client, asked: str) -> None:
    assert ids(acme.everything(f"/artists?name={segment(asked)}")) == {"1"}


@pytest.mark.parametrize("artist", ARTISTS)
def test_songs_of_an_artist_by_name(acme: Client, artist: str) -> None:
    wanted = {id for id, song in SONGS.items() if song[1] == artist}
    assert ids(acme.everything(f"/songs?artist={segment(ARTISTS[artist].upper())}")) == wanted
    assert ids(acme.everything(f"/artists/{artist}/songs", limit=1)) == wanted


def test_songs_of_a_year_by_name(acme: Client) -> None:
    assert ids(acme.everything("/songs?artist=David+Bowie&released=1977")) == {"sons", "heroes"}
    assert acme.everything("/songs?released=1977&artist=David%20Bowi") == []


def test_songs_by_title_and_albums_by_genre(acme: Client) -> None:
    assert ids(acme.everything(f"/songs?title={segment('summer of ’69')}")) == {"69"}
    assert ids(acme.everything(f"/songs?title={segment('SUMMER of ' + chr(39) + '69')}")) == {"69"}
    assert ids(acme.everything("/albums?genre=Rock")) == {"a1"}
    assert ids(acme.everything("/artists/3/albums")) == {"a2"}


def test_a_playlist_is_read_from_both_ends(acme: Client) -> None:
    songs = acme.everything("/playlists/p1/songs", limit=1)
    assert [(edge["song"], edge["note"]) for edge in songs] == [
        ("heroes", "heroes!"),
        ("ziggy", "ziggy!"),
    ]
    playlists = acme.everything("/songs/heroes/playlists")
    assert [edge["playlist"] for edge in playlists] == ["p1", "p2"]
    assert acme.everything("/songs/changes/playlists") == []


def test_a_track_comes_and_goes(acme: Client) -> None:
    track = "/playlists/p3/songs/changes"
    assert acme("PUT", track, {}).status == 201
    assert acme("PUT", track, {"note": "again"}).status == 200
    assert acme.good("GET", track)["note"] == "again"
    assert acme("DELETE", track).status == 204
    assert acme("DELETE", track).status == 404
    assert acme.everything("/playlists/p3/songs") == []


def test_two_artists_of_one_name_are_merged(served: Served, acme: Client) -> None:
    for number in range(3):
        acme.good("PUT", f"/artists/twin{number}", {"name": "The Twins"})
        for song in range(4):
            body = {"title": f"Twin {song}", "artist": f"twin{number}", "released": 2000 + song % 2}
            acme.good("PUT", f"/songs/twin{number}-{song}", body)
    served.catch_up()
    found = acme.everything("/songs?artist=the+twins", limit=5)
    assert len(found) == 12
    newest_first = sorted(found, key=lambda song: song["created_at"], reverse=True)
    assert [song["id"] for song in found] == [song["id"] for song in newest_first]
    found = acme.everything("/songs?artist=the+twins&released=2001", limit=1)
    assert ids(found) == {f"twin{n}-{song}" for n in range(3) for song in (1, 3)}


def test_a_new_name_is_found_and_the_old_is_not(served: Served, acme: Client) -> None:
    acme.good("PUT", "/artists/prince", {"name": "Prince"})
    acme.good("PUT", "/songs/kiss", {"title": "Kiss", "artist": "prince", "released": 1986})
    served.catch_up()
    assert ids(acme.everything("/songs?artist=prince&released=1986")) == {"kiss"}
    acme.good("PATCH", "/artists/prince", {"name": "The Artist"})
    served.catch_up()
    assert acme.everything("/artists?name=prince") == []
    assert acme.everything("/songs?artist=prince&released=1986") == []
    assert ids(acme.everything("/songs?artist=the+artist")) == {"kiss"}


def test_created_ids_are_made_and_where_they_are_is_said(acme: Client) -> None:
    answer = acme("POST", "/artists", {"name": "Kate Bush"})
    assert answer.status == 201
    assert answer.headers["Location"] == f"/artists/{answer.json['id']}"
    assert acme.good("GET", answer.headers["Location"]) == answer.json


def test_a_creation_sent_again_is_the_same(acme: Client) -> None:
    body = {"name": "Björk"}
    first = acme("POST", "/artists", body, idempotency_key="one")
    again = acme("POST", "/artists", body, idempotency_key="one")
    assert (again.status, again.json) == (first.status, first.json) == (201, first.json)
    other = acme("POST", "/artists", {"name": "Madonna"}, idempotency_key="one")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})
    assert acme("POST", "/artists", body, idempotency_key="two").json["id"] != first.json["id"]


def test_tenants_see_nothing_of_each_other(acme: Client, globex: Client) -> None:
    assert ids(globex.everything("/songs?artist=David+Bowie")) == {"theirs"}
    assert globex.everything("/songs/heroes/playlists") == []
    unknown, foreign = globex("GET", "/artists/nobody"), globex("GET", "/artists/2")
    assert (foreign.status, unknown.status) == (404, 404)
    assert foreign.json["detail"].replace("2", "nobody") == unknown.json["detail"]


def test_a_cursor_is_good_for_its_tenant_and_question_only(acme: Client, globex: Client) -> None:
    cursor = acme.good("GET", "/artists/1/songs?limit=1")["cursor"]
    assert acme("GET", f"/artists/1/songs?cursor={cursor}").status == 200
    for client, url in (
        (globex, "/artists/1/songs"),
        (acme, "/artists/2/songs"),
        (acme, "/songs?title=Heroes"),
        (acme, "/charts/2026-11"),
    ):
        answer = client("GET", f"{url}{'&' if '?' in url else '?'}cursor={cursor}")
        assert (answer.status, answer.fields) == (400, {"cursor"}), url


@pytest.mark.parametrize(
    "order", ["", "~", "acme#Song#heroes", "acme", "globex#Song", "\U0010ffff", "#"]
)
@pytest.mark.parametrize("list", [0, 1, -1, 10**9])
def test_a_forged_cursor_leads_nowhere_else(
    served: Served, globex: Client, order: str, list: int
) -> None:
    # Who computes the digest of a cursor of their own chooses where to go on in their own list.
    book = Book(served.table, Ledger.load(), "globex")
    for url, question in (
        ("/artists/1/songs", Song.of_artist("1")),
        ("/playlists/p1/songs", Track.key.all("p1")),
        ("/songs/heroes/playlists", Track.key.inverse("heroes")),
        ("/artists?name=dav", Artist.search("dav")),
    ):
        related_search = RelatedSearch(served.table, Ledger.load(), "globex", 0)
        list_plan = book._tools.pages.plan_lists([question], 100, related_search)
        forged = CursorBinding("globex", list_plan.query_identity).write_cursor(
            CursorPosition(order, list)
        )
        sign = "&" if "?" in url else "?"
        answer = globex("GET", f"{url}{sign}cursor={forged}")
        assert answer.status in {200, 400}, answer.text
        if answer.status == 200:
            assert ids(answer.json["items"]) <= {"theirs", "1"}
            assert len(answer.json["items"]) <= 1
