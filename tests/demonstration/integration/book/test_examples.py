"""The calls that the documentation shows run as they are shown."""

from __future__ import annotations

from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.storage.table import Table
from domains.carts import CartItem
from domains.music import Song
from domains.users import User
from examples import book_queries


def test_the_calls_of_a_book_run(table: Table) -> None:
    book = Book(table, Ledger.load(), "acme")
    book.create(User(id="ann", name="Ann", age=41))
    book.create(CartItem(user="ann", state="wish", sku="tea"))
    book_queries.write_items(book)
    assert book.get(Song.key("heroes")).released == 1977
    assert book.find(CartItem.key("ann", "active", "tea")) is None
    book_queries.read_items(book)
    book_queries.read_lists(book)
    book_queries.read_figures(book)
