"""What a client sees that follows the cursors of a list while others write (how-to page)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.support.api_client import Client
from tests.support.deployment import Served

Page = list[str]


@dataclass(frozen=True)
class GrowingList:
    """A list, and how it grows: ``add`` makes the item of a number and gives its id."""

    url: str
    id_name: str
    newest_first: bool
    add: Callable[[Client, int], str]
    prepare: Callable[[Client], None] = lambda client: None

    def read_pages(self, client: Client, limit: int = 2) -> Iterator[Page]:
        """The ids of each page."""
        cursor: str | None = ""
        sign = "&" if "?" in self.url else "?"
        while cursor is not None:
            at = f"&cursor={cursor}" if cursor else ""
            page = client.good("GET", f"{self.url}{sign}limit={limit}{at}")
            yield [str(item[self.id_name]) for item in page["items"]]
            cursor = page["cursor"]


def add_song(client: Client, number: int) -> str:
    song = {"title": f"Song {number}", "artist": "grows", "released": 2000 + number % 3}
    return str(client.good("POST", "/songs", song)["id"])


def add_contact(client: Client, number: int) -> str:
    return str(client.good("POST", "/contacts", {"name": f"Growth {number}"})["id"])


def add_download(client: Client, number: int) -> str:
    return str(client.good("POST", "/songs/heroes/downloads", {})["id"])


def add_member(client: Client, number: int) -> str:
    song = f"s{number:02}"
    client.good("PUT", f"/songs/{song}", {"title": "t", "artist": "a", "released": 1})
    client.good("PUT", f"/playlists/grows/songs/{song}", {})
    return song


def add_playlist(client: Client, number: int) -> str:
    playlist = f"p{number:02}"
    client.good("PUT", f"/playlists/{playlist}", {"name": "n"})
    client.good("PUT", f"/playlists/{playlist}/songs/heroes", {})
    return playlist


def add_version(client: Client, number: int) -> str:
    article = {"title": "Growth", "text": f"Text {number}"}
    return str(client.good("PUT", "/articles/grows", article)["version"])


def make_heroes(client: Client) -> None:
    client.good("PUT", "/songs/heroes", {"title": "Heroes", "artist": "b", "released": 1977})


def make_playlist(client: Client) -> None:
    client.good("PUT", "/playlists/grows", {"name": "n"})


LISTS = {
    "listing": GrowingList("/artists/grows/songs", "id", True, add_song),
    "search": GrowingList("/contacts?q=growth", "id", True, add_contact),
    "key": GrowingList("/songs/heroes/downloads", "id", False, add_download, make_heroes),
    "edge": GrowingList("/playlists/grows/songs", "song", False, add_member, make_playlist),
    "far-end": GrowingList("/songs/heroes/playlists", "playlist", False, add_playlist, make_heroes),
    "versions": GrowingList("/articles/grows/versions", "version", True, add_version),
}


@pytest.fixture(params=LISTS)
def growing(request: pytest.FixtureRequest) -> GrowingList:
    return LISTS[request.param]


@pytest.fixture
def client(served: Served, request: pytest.FixtureRequest) -> Client:
    """A tenant of its own for each test."""
    return served.client(f"grows-{abs(hash(request.node.name)) % 10**9}")


def test_each_item_that_is_not_changed_is_read_exactly_once(
    served: Served, client: Client, growing: GrowingList
) -> None:
    growing.prepare(client)
    before = [growing.add(client, number) for number in range(5)]
    served.catch_up()
    pages = growing.read_pages(client)
    seen = next(pages)
    later = [growing.add(client, number) for number in range(5, 8)]
    served.catch_up()
    seen += [id for page in pages for id in page]
    assert len(seen) == len(set(seen))
    assert set(before) <= set(seen)
    if growing.newest_first:
        assert seen == before[::-1]
    else:
        assert set(later) <= set(seen)
        assert seen == sorted(seen)


def test_a_new_item_is_on_the_first_pages_until_one_that_was_read_before(
    served: Served, client: Client
) -> None:
    growing = LISTS["listing"]
    for number in range(5):
        growing.add(client, number)
    served.catch_up()
    remembered = {id for page in growing.read_pages(client) for id in page}
    added = [growing.add(client, number) for number in range(5, 8)]
    served.catch_up()
    new, pages_read = [], 0
    for page in growing.read_pages(client):
        pages_read += 1
        new += [id for id in page if id not in remembered]
        if remembered & set(page):
            break
    assert new == added[::-1]
    assert pages_read == 2


def test_an_item_that_is_removed_or_leaves_the_list_is_not_read_later(
    served: Served, client: Client
) -> None:
    growing = LISTS["listing"]
    ids = [growing.add(client, number) for number in range(6)]
    served.catch_up()
    pages = growing.read_pages(client)
    seen = next(pages)
    assert client("DELETE", f"/songs/{ids[0]}").status == 204
    client.good("PATCH", f"/songs/{ids[1]}", {"artist": "another"})
    # The stream has delivered neither change: the items themselves decide.
    seen += [id for page in pages for id in page]
    assert seen == ids[:1:-1]


def test_a_member_that_overtakes_the_reader_is_not_read(served: Served, client: Client) -> None:
    count_downloads(served, client, a=3, b=2, c=1)
    first = client.good("GET", f"{CHART}?limit=1")
    count_downloads(served, client, c=9)
    rest = client.everything(f"{CHART}?cursor={first['cursor']}")
    assert [each["song"] for each in (*first["items"], *rest)] == ["a", "b"]
    whole = client.everything(CHART)
    assert [(each["song"], each["rank"]) for each in whole] == [("c", 1), ("a", 2), ("b", 3)]


def test_a_member_that_falls_behind_the_reader_is_read_twice(
    served: Served, client: Client
) -> None:
    urls = count_downloads(served, client, a=3, b=2)
    first = client.good("GET", f"{CHART}?limit=1")
    for url in urls[:2]:
        assert client("DELETE", url).status == 204
    served.catch_up()
    rest = client.everything(f"{CHART}?cursor={first['cursor']}")
    assert [each["song"] for each in (*first["items"], *rest)] == ["a", "b", "a"]


CHART = "/charts/2026-11"


def count_downloads(served: Served, client: Client, **numbers: int) -> list[str]:
    """Download songs so many times; where the downloads are."""
    urls = []
    for song, number in numbers.items():
        client.good("PUT", f"/songs/{song}", {"title": song, "artist": "x", "released": 1})
        for _ in range(number):
            made = client("POST", f"/songs/{song}/downloads", {"at": "2026-11-21T00:00:00Z"})
            urls.append(made.headers["Location"])
    served.catch_up()
    return urls
