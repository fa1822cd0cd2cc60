"""The items of the mixed run: the examples of the traffic file, each with keys of its own."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal

from daicho import Entity
from daicho.declare.fields import new_id
from daicho.declare.queries import ListQuery
from daicho_cli.cost.traffic import EntityTraffic
from domains.articles import Article
from domains.contacts import Call, Category, Contact
from domains.devices import Report
from domains.documents import Document
from domains.downloads import Download
from domains.manuals import Manual
from domains.messages import Message
from domains.music import Album, Artist, Song, Track
from domains.orders import Order
from domains.photos import Photo
from domains.places import Place
from domains.polls import Poll
from domains.sales import Product, Sale
from domains.users import User
from domains.votes import Ballot

SONGS, ARTISTS, GENRES = 10, 5, 4
CANDIDATES = ("heroes", "summer-of-69", "deacon-blues")
POLL, FAST_POLL = "01kakz0c7sj7w9v0e3m4n5p6q7", "01kakz0c7sj7w9v0e3m4n5p6qf"
CONTACT, PAGED_CONTACT = "01kakz0c7sj7w9v0e3m4n5p6q7", "01kakz0c7sj7w9v0e3m4n5p6qp"
SALT = "0" * 32

Draw = Callable[[random.Random], dict[str, Any]]

OWN_VALUES: Mapping[str, Draw] = {
    "Track": lambda _: {"song": f"song-{new_id()}"},
    "Product": lambda _: {"song": new_id()},
    "Sale": lambda draw: {"song": f"song-{draw.randrange(SONGS):02d}"},
    "Download": lambda draw: {"song": f"song-{draw.randrange(SONGS):02d}"},
    "Ballot": lambda draw: {"voter": new_id()[-8:], "candidate": draw.choice(CANDIDATES)},
    "CartItem": lambda _: {"sku": new_id()},
    "User": lambda _: {"id": new_id()},
    "Place": lambda _: {"city": f"yokohama-{new_id()[-6:]}"},
}
"""The values of an item that differ from those of its example: its key, and the group it counts in.
Ids that the library makes are not among them; that of a user is its subject, and here is none."""


def make_item(
    entity: type[Entity], traffic: EntityTraffic, number: int, draw: random.Random
) -> Entity:
    """An item of the run, like one of the examples in turn."""
    example = traffic.examples[number % len(traffic.examples)]
    draw_own = OWN_VALUES.get(entity.__name__)
    own = draw_own(draw) if draw_own else {}
    return entity(**select_given({**example, **own}, entity))


def select_given(values: Mapping[str, Any], entity: type[Entity]) -> dict[str, Any]:
    """The values that a caller gives: copied ones are not among them."""
    fields = entity.fields_
    return {name: value for name, value in values.items() if fields[name].role != "copied"}


def list_references() -> list[Entity]:
    """The items that those of the run refer to."""
    polls: Mapping[str, Literal["exact", "fast"]] = {POLL: "exact", FAST_POLL: "fast"}
    return [
        *(
            Song(id=f"song-{n:02d}", title="Heroes", artist=f"artist-{n % ARTISTS}", released=1977)
            for n in range(SONGS)
        ),
        *(
            Product(song=f"song-{n:02d}", genre=f"genre-{n % GENRES}", price=Decimal("1.29"))
            for n in range(SONGS)
        ),
        *(Contact(id=id, name="Ann") for id in (CONTACT, PAGED_CONTACT)),
        *(
            Poll(id=id, candidates=list(CANDIDATES), counting=counting, shards=8, salt=SALT)
            for id, counting in polls.items()
        ),
    ]


def list_page_items() -> list[Entity]:
    """The items that the pages of the run show."""
    song = "song-pager"
    date = dt.date(2026, 11, 21)
    return [
        Song(id=song, title="Pager", artist="artist-0", released=1977),
        Product(song=song, genre="genre-0", price=Decimal("1.29")),
        *(Artist(name="Corge") for _ in range(20)),
        *(Album(title="Aja", artist="pager", genre="Paged") for _ in range(25)),
        *(Song(title="Ziggy Stardust", artist="pager", released=1972) for _ in range(80)),
        *(Song(title="Three", artist="three", released=1972) for _ in range(3)),
        *(Track(playlist="pager", song=f"song-{n}", note="loud") for n in range(30)),
        *(Track(playlist=f"list-{n}", song="pager", note="loud") for n in range(30)),
        *(Category(name="Friends") for _ in range(25)),
        *(Contact(name="Zyx Ann", categories={"pager"}) for _ in range(20)),
        *(User(id=new_id(), name="Quuxe Lee", age=41) for _ in range(20)),
        *(Order(date=date, customer="pager", total=Decimal("1.98")) for _ in range(30)),
        *(Order(date=dt.date(2026, 11, 1), customer="other") for _ in range(50)),
        *(Report(device="pager", escalated_to="pager") for _ in range(10)),
        *(Report(device="pager") for _ in range(10)),
        *(Article(title="Zzap", text="From nine to five.") for _ in range(10)),
        *(Document(title="Xylophone", sections={"summary": {"text": "Good"}}) for _ in range(10)),
    ]


def list_later_page_items() -> list[Entity]:
    """Those that refer to the others."""
    return [
        *(Sale(song="song-pager") for _ in range(30)),
        *(Download(song="song-pager") for _ in range(20)),
        *(Call(contact=PAGED_CONTACT, note="Asked for an offer") for _ in range(20)),
    ]


QUERIES: Mapping[tuple[str, str], Callable[[str], ListQuery[Any]]] = {
    ("Artist", "search"): Artist.search,
    ("Artist", "named"): lambda _: Artist.named("Corge"),
    ("Album", "of_genre"): lambda _: Album.of_genre("Paged"),
    ("Song", "of_artist"): lambda _: Song.of_artist("pager"),
    ("Song", "titled"): lambda _: Song.titled("Three"),
    ("Track", "key"): lambda _: Track.key.all("pager"),
    ("Track", "inverse"): lambda _: Track.key.inverse("pager"),
    ("Sale", "of_song"): lambda _: Sale.of_song("song-pager"),
    ("Download", "key"): lambda _: Download.key.all("song-pager"),
    ("Contact", "search"): Contact.search,
    ("Contact", "in_category"): lambda _: Contact.in_category("pager"),
    ("Call", "latest"): lambda _: Call.latest(PAGED_CONTACT),
    ("User", "search"): User.search,
    ("Order", "of_customer"): lambda _: Order.of_customer("pager"),
    ("Order", "open"): lambda _: Order.open("pager"),
    ("Order", "key"): lambda _: Order.key.all(dt.date(2026, 11, 1)),
    ("Place", "key"): lambda _: Place.key.all(),
    ("Report", "key"): lambda _: Report.key.all("pager"),
    ("Report", "escalated"): lambda _: Report.escalated("pager"),
    ("Article", "search"): Article.search,
    ("Manual", "newest"): lambda _: Manual.newest(),
    ("Document", "titled"): Document.titled,
    ("Photo", "key"): lambda _: Photo.key.all(),
    ("Message", "search"): Message.search,
}
"""The query of each list. Those of searches take the keyword of the traffic file."""

FIGURES: Mapping[tuple[str, str], tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    ("Sale", "revenue"): (Sale.revenue, (), ("2026-11",)),
    ("Sale", "songs"): (Sale.songs, ("2026-11",), ("song-01",)),
    ("Sale", "genres"): (Sale.genres, ("2026-11",), ("genre-1",)),
    ("Sale", "genres_ever"): (Sale.genres_ever, (), ("genre-1",)),
    ("Download", "chart"): (Download.chart, ("2026-11",), ("song-01",)),
    ("Download", "artists"): (Download.artists, ("2026-11",), ("artist-1",)),
    ("Download", "by_hour"): (Download.by_hour, (), ("song-01",)),
    ("Ballot", "votes"): (Ballot.votes, (POLL,), ("heroes",)),
    ("Ballot", "likes"): (Ballot.likes, (FAST_POLL,), ("heroes",)),
    ("Contact", "of_category"): (Contact.of_category, (), ("pager",)),
    ("Contact", "count"): (Contact.count, (), ()),
    ("Article", "count"): (Article.count, (), ()),
    ("Message", "count"): (Message.count, (), ()),
}
"""Each figure, with the values of ``within`` and of ``by`` that are read."""
