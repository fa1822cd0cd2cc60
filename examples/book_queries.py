"""The calls of a `Book` that the functions of a domain use most."""

from __future__ import annotations

from datetime import date, timedelta

from daicho import Book
from domains.carts import CartItem
from domains.devices import Report
from domains.downloads import Download
from domains.music import Artist, Song
from domains.orders import Order
from domains.places import Place
from domains.users import User


def read_items(book: Book) -> None:
    """Read single items by their key."""
    book.get(Song.key("heroes"))  # NotFound if the item does not exist
    book.find(Song.key("unknown"))  # None if the item does not exist
    book.get(Song.key("heroes"), max_age=2.0)  # the item as it was up to two seconds ago
    book.view(User.key("ann"), "name", "age")  # some fields of an item
    book.find_all([User.key("ann"), User.key("bob")])  # in the same order, None if missing


def read_lists(book: Book) -> None:
    """Read pages of lists."""
    book.page(Song.of_year("david-bowie", 1977), limit=20)
    book.page(Artist.search("bow"))
    book.page(Place.key.under("japan", "kanto"))  # whole components: not those of "kantoku"
    book.page(Report.escalated("ann").last(timedelta(minutes=30)))
    # From the index alone, because the rows of the listing copy these fields:
    book.views(Order.of_customer("ann"), names=("id", "status"))


def read_parts_of_lists(book: Book) -> None:
    """Read parts of lists, and lists in the other direction."""
    november = Order.of_customer("ann").between(date(2026, 11, 1), date(2026, 11, 30))
    book.page(november)  # both days are included; the latest date first
    book.page(november.ascending())  # the earliest date first
    book.page(Order.of_customer("ann").between(date(2026, 11, 1), None))  # no end
    book.page(Report.key.all("pump-7").reversed())  # newest first: the key is oldest first
    book.page(Report.key.all("pump-7").between(date(2026, 11, 21), date(2026, 11, 21)))  # a day
    book.page(Place.key.under("japan").starting_with("ka"))  # regions whose name begins so
    # Two lists, merged in order, with one cursor:
    book.page(Order.of_status("open").ascending(), Order.of_status("shipped").ascending())


def read_figures(book: Book) -> None:
    """Read totals and rankings."""
    book.top(Download.chart.top("2026-11"))
    book.read(Download.chart("2026-11", "heroes"), live=True)
    book.read(Download.chart("2026-11", "heroes"), ranked=True)


def write_items(book: Book) -> None:
    """Create, replace, change and remove items."""
    book.create(Artist(id="david-bowie", name="David Bowie"))  # Conflict if it exists
    book.put(Song(id="heroes", title="Heroes", artist="david-bowie", released=1978))
    book.change(Song.key("heroes"), {"released": 1977}, if_match=1)
    book.change(CartItem.key("ann", "wish", "tea"), {"state": "active"})  # moves the item
    book.delete(CartItem.key("ann", "active", "tea"), if_match=2)
