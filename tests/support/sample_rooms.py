"""A domain of which every kind of question has a route, and a function that asks two of them."""

from __future__ import annotations

from daicho import Aggregate, Book, Count, Domain, Edge, Entity, Key, Listing, Search, field, uid


class Shelf(Entity):
    room: str = field()
    id: str = uid()
    name: str = field()

    key = Key(room, id, shards=3)
    search = Search(name)
    named = Listing(name)
    rooms = Aggregate(Count(), room, within=name, ranked=True)


class Stand(Entity):
    shelf: str = field()
    plant: str = field()

    key = Edge(shelf, plant)


domain = Domain("rooms", Shelf, Stand)
domain.resource("/rooms/{room}/shelves/{id}", Shelf, "POST PUT GET LIST")
domain.resource("/shelves/{shelf}/plants/{plant}", Stand, "PUT DELETE LIST")
domain.mount("/shelves", Shelf.search)
domain.mount("/named/{name}", Shelf.named)
domain.mount("/charts/{name}", Shelf.rooms.top)


@domain.route("GET", "/tidy")
def tidy(book: Book, name: str) -> None:
    """Tidy up.

    Not shown.
    """
    for shelf in _named(book, name):
        book.put(Stand(shelf=shelf.id, plant="fern"))


def _named(book: Book, name: str) -> list[Shelf]:
    return book.page(Shelf.named(name)).items
